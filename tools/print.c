/* tollgate print: a stream as it comes, a line for each event. */
#include <unistd.h>

#include "tools/reader.h"
#include "tools/render.h"
#include "tools/tollgate.h"
#include "trace/trace.h"

static const char help[] =
    "usage: tollgate print [OPTION...] [SOURCE]\n"
    "\n"
    "Prints a stream as it comes. Each event is a line: cycles since the "
    "event\n"
    "before it, CPU, event, and what it says. Lines of console text have '|'\n"
    "in front.\n"
    "\n"
    "  --raw         whole time stamps, and field=value with plain numbers\n"
    "  --crossings   only the exits, for comparison with an emulator's log:\n"
    "                exit CODE RIP INFO1 INFO2, in hexadecimal\n"
    "  --no-text     without the console text\n"
    "  --partial     a stream without a run, or a run without an end, is no\n"
    "                error\n"
    "  --help        this text\n"
    "\n"
    "Exit status: 0 a whole run is printed; 2 wrong use; 3 what there is is\n"
    "printed, but something is missing or damaged.\n";

enum { OPT_RAW = 256, OPT_CROSSINGS, OPT_NO_TEXT, OPT_PARTIAL };
static const struct option options[] = {
    {"raw", no_argument, NULL, OPT_RAW},
    {"crossings", no_argument, NULL, OPT_CROSSINGS},
    {"no-text", no_argument, NULL, OPT_NO_TEXT},
    {"partial", no_argument, NULL, OPT_PARTIAL},
    {"help", no_argument, NULL, 'h'},
    {0},
};

struct printer {
    bool raw, crossings, text, color, partial;
    u64 last;       /* time of the event before, 0: none yet in this run */
    bool exit_open; /* --crossings: a vmexit waits for its exit_raw */
    u32 code;
    u64 rip;
    u64 bare; /* crossings without raw words */
};

/* The crossing whose vmexit came last, with its raw words if there are any. */
static void print_crossing(struct printer *p, const struct event_view *raw)
{
    if (!p->exit_open)
        return;
    p->exit_open = false;
    printf("exit %08x %016llx ", p->code, (unsigned long long)p->rip);
    if (raw)
        printf("%016llx %016llx\n", (unsigned long long)raw->value[0],
               (unsigned long long)raw->value[1]);
    else
        puts("- -");
    p->bare += !raw;
}

static void print_crossing_event(struct printer *p, const struct event_view *e)
{
    if (e->schema->id == TRACE_ID_exit_raw)
        print_crossing(p, e);
    if (e->schema->id != TRACE_ID_vmexit)
        return;
    print_crossing(p, NULL);
    p->exit_open = true;
    p->code = (u32)e->value[1];
    p->rip = e->value[2];
}

static void print_event(struct printer *p, const struct event_view *e)
{
    u64 delta = p->last && e->time > p->last ? e->time - p->last : 0;

    p->last = e->time;
    if (p->raw)
        printf("%20llu cpu%u %-14s ", (unsigned long long)e->time, e->cpu,
               e->schema->name);
    else
        printf("%+10lld cpu%u %-14s ", (long long)delta, e->cpu,
               e->schema->name);
    if (p->raw)
        render_raw(stdout, e);
    else
        render_text(stdout, e);
    putchar('\n');
}

static void on_event(void *ctx, const struct event_view *e)
{
    struct printer *p = ctx;

    if (p->crossings)
        print_crossing_event(p, e);
    else
        print_event(p, e);
}

static void on_run(void *ctx)
{
    struct printer *p = ctx;

    print_crossing(p, NULL);
    p->last = 0;
}

/* Text is told apart by a bar, and on a terminal also by being dim. */
static void on_line(void *ctx, const char *text)
{
    struct printer *p = ctx;

    if (p->text)
        printf(p->color ? "\x1b[2m| %s\x1b[m\n" : "| %s\n", text);
}

static const struct reader_ops ops = {
    .line = on_line,
    .run = on_run,
    .event = on_event,
};

static int print(struct printer *p, const char *source)
{
    struct reading reading;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!read_stream(source, &ops, p, &reading))
        return STATUS_USAGE;
    print_crossing(p, NULL);
    if (p->bare)
        complain("%llu exits have no exit_raw event: the trace mask left out "
                 "class raw",
                 (unsigned long long)p->bare);
    if (!p->partial && !reading_whole(&reading))
        return STATUS_ERROR;
    return reading.damaged || p->bare ? STATUS_ERROR : STATUS_OK;
}

int cmd_print(int argc, char **argv)
{
    struct printer p = {.text = true, .color = isatty(STDOUT_FILENO)};
    const char *source;

    for (int o; (o = next_option(argc, argv, options, help)) != -1;) {
        if (o == OPT_RAW)
            p.raw = true;
        else if (o == OPT_CROSSINGS)
            p.crossings = true;
        else if (o == OPT_NO_TEXT)
            p.text = false;
        else if (o == OPT_PARTIAL)
            p.partial = true;
        else
            return o == 'h' ? STATUS_OK : STATUS_USAGE;
    }
    if (!only_operand(argc, argv, &source))
        return STATUS_USAGE;
    p.text = p.text && !p.crossings;
    return print(&p, source);
}
