/* A judged run as a table and as TAP; see report.h. */
#include "tools/report.h"

#include <string.h>

#include "trace/schema.h"

const char *verdict_name(u8 verdict)
{
    const char *name = schema_value_name(STYLE_verdict, verdict);

    return name ? name : "?";
}

static const char *kind_name(u8 kind)
{
    const char *name = schema_value_name(STYLE_kind, kind);

    return name ? name : "?";
}

void report_counts(const struct report *r, u32 counts[])
{
    memset(counts, 0, VERDICT_COUNT * sizeof(*counts));
    for (u32 i = 0; i < r->run->count; i++)
        counts[r->run->scenarios[i].verdict] += !r->run->scenarios[i].not_run;
    for (u32 i = 0; r->coverage && i < r->coverage->gap_count; i++)
        counts[VERDICT_NOT_COVERED] += r->coverage->gaps[i].count;
}

/* Each line of `lines` with `before` in front. */
static void put_lines(FILE *f, const char *before, const char *lines)
{
    while (*lines) {
        int len = (int)strcspn(lines, "\n");

        fprintf(f, "%s%.*s\n", before, len, lines);
        lines += len + (lines[len] == '\n');
    }
}

/* The table's first column: as wide as the longest name needs. */
static int name_width(const struct run *r)
{
    size_t width = 20;

    for (u32 i = 0; i < r->count; i++) {
        size_t length = strlen(r->scenarios[i].name);

        if (length > width && !r->scenarios[i].not_run)
            width = length;
    }
    return (int)width;
}

static void table_row(FILE *f, int width, const char *name, const char *kind,
                      u32 code, u8 verdict, const char *checks,
                      const char *reason)
{
    char hex[16];

    snprintf(hex, sizeof(hex), "0x%x", code);
    fprintf(f, "%-*s %-20s %10s  %-15s %6s%s%s\n", width, name, kind, hex,
            verdict_name(verdict), checks, *reason ? "  " : "", reason);
}

static void table_scenarios(FILE *f, const struct report *r)
{
    int width = name_width(r->run);

    for (u32 i = 0; i < r->run->count; i++) {
        const struct scenario *s = &r->run->scenarios[i];
        char checks[16];

        if (s->not_run)
            continue;
        snprintf(checks, sizeof(checks), "%u", s->checks);
        table_row(f, width, s->name, kind_name(s->kind), s->code, s->verdict,
                  checks, s->reason);
        if (r->verbose || s->verdict >= VERDICT_FAIL)
            put_lines(f, "    ", s->failures);
    }
}

/* A line for each run of adjacent codes, or for each code. */
static void table_gaps(FILE *f, const struct report *r)
{
    int width = name_width(r->run);
    char name[64];

    for (u32 i = 0; i < r->coverage->gap_count; i++) {
        const struct gap *g = &r->coverage->gaps[i];
        u32 step = r->verbose ? 1 : g->count;

        for (u32 n = 0; n < g->count; n += step)
            table_row(f, width, "-",
                      gap_name(g, g->first + n, step, name, sizeof(name)),
                      g->first + n, VERDICT_NOT_COVERED, "-", g->reason);
    }
}

/* What shows that exits of a kind do not come when they must not: scenarios
 * with the control off, or with a neighbour's on. */
static void table_negatives(FILE *f, const struct report *r)
{
    fprintf(f, "\nnegatives: scenarios in which the exit must not come\n");
    for (u32 kind = EXIT_NONE + 1; kind < EXIT_KINDS; kind++) {
        const struct exit_row *row = &exit_rows[kind];
        const char *why = no_negative(row, r->run->vendor);
        bool any = false;

        if (r->run->vendor == VENDOR_SVM ? row->svm_code == SVM_NONE
                                         : row->vmx_reason < 0)
            continue;
        for (u32 i = 0; i < r->run->count; i++) {
            const struct scenario *s = &r->run->scenarios[i];

            if (s->not_run || s->without != kind)
                continue;
            fprintf(f, "%-20s %s: %s, %u checks\n", any ? "" : row->name,
                    s->name, verdict_name(s->verdict), s->checks);
            any = true;
        }
        if (!any && !why)
            why = run_complete(r->run) ? "no scenario" : "not run here";
        if (!any)
            fprintf(f, "%-20s none: %s\n", row->name, why);
    }
}

static void put_verdicts(FILE *f, const u32 counts[], u8 without)
{
    const char *between = "";

    for (u32 v = 0; v < VERDICT_COUNT; v++) {
        if (v == without || (!counts[v] && v != VERDICT_PASS))
            continue;
        fprintf(f, "%s%u %s", between, counts[v], verdict_name((u8)v));
        between = ", ";
    }
    fprintf(f, "\n");
}

static void table_summary(FILE *f, const struct report *r)
{
    const struct coverage *c = r->coverage;
    u32 counts[VERDICT_COUNT];

    report_counts(r, counts);
    if (c) {
        const char *codes =
            r->run->vendor == VENDOR_SVM ? "exit codes" : "exit reasons";

        if (r->run->exits)
            fprintf(f, "coverage: %u of %u %s provoked; of all: ", c->came,
                    c->code_count, codes);
        else
            fprintf(f, "coverage: exits were not traced; of %u %s: ",
                    c->code_count, codes);
        put_verdicts(f, c->by, VERDICT_COUNT);
    }
    fprintf(f, "scenarios: ");
    put_verdicts(f, counts, VERDICT_NOT_COVERED);
}

/* The whole answer, on one line. */
static void preflight_line(FILE *f, const struct report *r)
{
    const struct preflight *p = &r->run->preflight;
    const char *vendor = schema_value_name(STYLE_vendor, p->vendor);
    char text[2048];

    if (p->verdict == VERDICT_PASS)
        fprintf(f, "%s: ready: %s on %s, a first VM entry works", r->platform,
                vendor ? vendor : "?", r->run->cpu ? r->run->cpu : "?");
    else
        fprintf(f, "%s: not ready: %s", r->platform, p->reason);
    if (p->vendor == VENDOR_VMX || p->vendor == VENDOR_SVM)
        fprintf(f, "; %s", caps_text(&p->caps, p->vendor, text, sizeof(text)));
    fputc('\n', f);
}

void report_table(FILE *f, const struct report *r)
{
    const struct run *run = r->run;

    if (run->preflight.seen && !r->error) {
        preflight_line(f, r);
        return;
    }
    if (run->begun)
        fprintf(f, "%s: %s on %s\n\n", r->platform,
                schema_value_name(STYLE_vendor, run->vendor) ?: "?", run->cpu);
    fprintf(f, "%-*s %-20s %10s  %-15s %6s  %s\n", name_width(run), "scenario",
            "kind", "code", "verdict", "checks", "reason");
    table_scenarios(f, r);
    if (r->coverage)
        table_gaps(f, r);
    if (r->verbose)
        table_negatives(f, r);
    fprintf(f, "\n");
    table_summary(f, r);
    for (u32 i = 0; i < run->count; i++)
        if (run->scenarios[i].mismatch)
            fprintf(f, "not as expected: %s: %s\n", run->scenarios[i].name,
                    run->scenarios[i].mismatch);
    if (r->error)
        fprintf(f, "error: %s\n", r->error);
}

/* A description may hold neither '#' nor a line's end. */
static void tap_text(FILE *f, const char *s)
{
    for (; *s; s++)
        fputc(*s == '#' || (u8)*s < ' ' ? '.' : *s, f);
}

/* The directive that excuses a test, NULL: it must be "ok" by itself. */
static const char *tap_directive(const struct scenario *s)
{
    if (s->mismatch)
        return NULL;
    if (s->verdict == VERDICT_SKIP)
        return " # SKIP ";
    if (s->verdict == VERDICT_KNOWN_DEVIATION)
        return " # TODO known deviation: ";
    return s->expected ? " # TODO expected to fail: " : NULL;
}

static void tap_scenario(FILE *f, u32 number, const struct scenario *s)
{
    bool good = s->verdict == VERDICT_PASS || s->verdict == VERDICT_SKIP;
    const char *directive = tap_directive(s);

    fprintf(f, "%sok %u - ", good && !s->mismatch ? "" : "not ", number);
    tap_text(f, s->name);
    if (directive) {
        fputs(directive, f);
        tap_text(f, s->reason);
    }
    fputc('\n', f);
    if (s->mismatch)
        put_lines(f, "# ", s->mismatch);
    if (!directive)
        put_lines(f, "# ", s->reason);
    put_lines(f, "# ", s->failures);
}

static void tap_preflight(FILE *f, u32 number, const struct preflight *p)
{
    fprintf(f, "%sok %u - preflight\n",
            p->verdict == VERDICT_PASS ? "" : "not ", number);
    put_lines(f, "# ", p->reason);
}

void report_tap(FILE *f, const struct report *r)
{
    u32 counts[VERDICT_COUNT];
    u32 number = 0;
    char name[64];

    report_counts(r, counts);
    fprintf(f, "TAP version 13\n1..%u\n",
            r->run->count + counts[VERDICT_NOT_COVERED] +
                r->run->preflight.seen);
    if (r->run->preflight.seen)
        tap_preflight(f, ++number, &r->run->preflight);
    for (u32 i = 0; i < r->run->count; i++)
        tap_scenario(f, ++number, &r->run->scenarios[i]);
    for (u32 i = 0; r->coverage && i < r->coverage->gap_count; i++) {
        const struct gap *g = &r->coverage->gaps[i];

        for (u32 n = 0; n < g->count; n++) {
            fprintf(f, "not ok %u - %s # TODO not covered: ", ++number,
                    gap_name(g, g->first + n, 1, name, sizeof(name)));
            tap_text(f, g->reason);
            fputc('\n', f);
        }
    }
    if (r->error) {
        fputs("Bail out! ", f);
        tap_text(f, r->error);
        fputc('\n', f);
    }
}
