/* tollgate verdict: judges a run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/expect.h"
#include "tools/reader.h"
#include "tools/report.h"
#include "tools/tollgate.h"

static const char help[] =
    "usage: tollgate verdict [OPTION...] [SOURCE]\n"
    "\n"
    "Judges a run by what its scenarios report: prints a table, and its exit\n"
    "status is the run's. A complete run also lists the exits that have no\n"
    "scenario yet. A preflight is one line: ready, or why not.\n"
    "\n"
    "  --expect FILE     compare with a list of verdicts: in each line the\n"
    "                    scenario, pass, skip, fail or known-deviation, and\n"
    "                    the evidence of a known deviation\n"
    "  --platform NAME   the platform's name in the outputs\n"
    "  --json FILE       the verdicts as JSON\n"
    "  --tap FILE        the verdicts as TAP version 13\n"
    "  --junit FILE      the verdicts as JUnit XML\n"
    "  --verbose         every failed check, every code not covered, and for\n"
    "                    each kind of exit the scenarios in which it must not\n"
    "                    come\n"
    "  --help            this text\n"
    "\n"
    "Exit status: 0 all as expected; 1 a scenario failed, or differs from the\n"
    "list, or a preflight is not ready; 2 wrong use or unreadable input; 3 an\n"
    "error of Tollgate's or of the environment (a host fault, a damaged\n"
    "stream, one without an end).\n";

enum {
    OPT_EXPECT = 256,
    OPT_PLATFORM,
    OPT_JSON,
    OPT_TAP,
    OPT_JUNIT,
    OPT_VERBOSE
};
static const struct option options[] = {
    {"expect", required_argument, NULL, OPT_EXPECT},
    {"platform", required_argument, NULL, OPT_PLATFORM},
    {"json", required_argument, NULL, OPT_JSON},
    {"tap", required_argument, NULL, OPT_TAP},
    {"junit", required_argument, NULL, OPT_JUNIT},
    {"verbose", no_argument, NULL, OPT_VERBOSE},
    {"help", no_argument, NULL, 'h'},
    {0},
};

struct judge {
    const char *expect_name, *platform, *json, *tap, *junit;
    bool verbose;
    struct run run;
    bool restarted; /* a run before this one had not ended */
};

/* The last run is what counts; one before it that has no end is an error. */
static void on_run(void *ctx)
{
    struct judge *j = ctx;

    if (j->run.begun && !j->run.ended)
        j->restarted = true;
    run_free(&j->run);
}

static void on_event(void *ctx, const struct event_view *e)
{
    struct judge *j = ctx;

    run_event(&j->run, e);
}

/* Why the run as a whole cannot count, NULL: it does. */
static char *run_error(const struct judge *j, const struct reading *reading)
{
    const struct run *r = &j->run;
    char *error = NULL;

    if (!reading->frames)
        replace(&error,
                "no frame of Tollgate in the stream; its last line of text "
                "is: %s",
                *reading->last_line ? reading->last_line : "(none)");
    else if (!r->ended)
        replace(&error,
                "the stream ended before the run did; last event: %s; last "
                "line of text: %s",
                r->last_event ? r->last_event : "(none)",
                *reading->last_line ? reading->last_line : "(none)");
    else if (j->restarted)
        replace(&error, "the machine started again before the run had ended");
    else if (r->host_faults)
        replace(&error, "%u host fault%s: a fault in the hypervisor itself",
                r->host_faults, r->host_faults == 1 ? "" : "s");
    else if (reading->damaged)
        replace(&error, "the stream is damaged: what it lost may matter");
    return error;
}

static int run_status(const struct run *r)
{
    int status = STATUS_OK;

    if (r->preflight.seen)
        return r->preflight.verdict == VERDICT_PASS ? STATUS_OK : STATUS_FAIL;
    for (u32 i = 0; i < r->count; i++) {
        const struct scenario *s = &r->scenarios[i];

        if (s->verdict == VERDICT_ERROR && !s->not_run)
            return STATUS_ERROR;
        if (s->mismatch || (s->verdict == VERDICT_FAIL && !s->expected))
            status = STATUS_FAIL;
    }
    return status;
}

/* Writes one form into the named file. */
static bool write_file(const char *name, const struct report *report,
                       bool (*write)(FILE *f, const struct report *r))
{
    FILE *f = fopen(name, "we");
    bool good = f && write(f, report);

    if (f && fclose(f) != 0)
        good = false;
    if (!good)
        complain("cannot write %s: %s", name, strerror(errno));
    return good;
}

static bool write_tap(FILE *f, const struct report *r)
{
    report_tap(f, r);
    return !ferror(f);
}

static int judge(struct judge *j, struct expect *x,
                 const struct reading *reading)
{
    struct coverage coverage;
    struct report report = {
        .run = &j->run,
        .platform = j->platform,
        .verbose = j->verbose,
    };
    char *error = run_error(j, reading);
    bool written = true;
    int status;

    run_end(&j->run);
    if (x && !j->run.preflight.seen)
        expect_apply(x, &j->run);
    coverage_find(&coverage, &j->run);
    if (run_complete(&j->run))
        report.coverage = &coverage;
    report.error = error;

    report_table(stdout, &report);
    if (j->json)
        written = write_file(j->json, &report, report_json);
    if (j->tap)
        written = write_file(j->tap, &report, write_tap) && written;
    if (j->junit)
        written = write_file(j->junit, &report, report_junit) && written;
    status = error ? STATUS_ERROR : run_status(&j->run);
    coverage_free(&coverage);
    free(error);
    return written ? status : STATUS_USAGE;
}

/* The list of --expect in *x; false: it cannot be read. */
static bool read_expect(struct expect *x, const char *name)
{
    FILE *f = fopen(name, "re");
    bool good;

    if (!f) {
        complain("cannot read %s: %s", name, strerror(errno));
        return false;
    }
    good = expect_read(x, name, f);
    if (ferror(f)) { /* a directory opens, but cannot be read */
        complain("cannot read %s: %s", name, strerror(errno));
        good = false;
    }
    fclose(f);
    return good;
}

static bool parse(struct judge *j, int argc, char **argv, int *status)
{
    for (int o; (o = next_option(argc, argv, options, help)) != -1;) {
        switch (o) {
        case OPT_EXPECT:
            j->expect_name = optarg;
            break;
        case OPT_PLATFORM:
            j->platform = optarg;
            break;
        case OPT_JSON:
            j->json = optarg;
            break;
        case OPT_TAP:
            j->tap = optarg;
            break;
        case OPT_JUNIT:
            j->junit = optarg;
            break;
        case OPT_VERBOSE:
            j->verbose = true;
            break;
        default:
            *status = o == 'h' ? STATUS_OK : STATUS_USAGE;
            return false;
        }
    }
    return true;
}

int cmd_verdict(int argc, char **argv)
{
    static const struct reader_ops ops = {.run = on_run, .event = on_event};
    struct judge j = {.platform = "unknown"};
    struct expect x = {0};
    struct reading reading;
    const char *source;
    int status = STATUS_USAGE;

    if (!parse(&j, argc, argv, &status))
        return status;
    if (only_operand(argc, argv, &source) &&
        (!j.expect_name || read_expect(&x, j.expect_name)) &&
        read_stream(source, &ops, &j, &reading))
        status = judge(&j, j.expect_name ? &x : NULL, &reading);
    run_free(&j.run);
    expect_free(&x);
    return status;
}
