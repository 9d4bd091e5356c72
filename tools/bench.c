/* tollgate bench: what round trips cost, platforms side by side. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/reader.h"
#include "tools/tollgate.h"
#include "tools/trips.h"

#define MAX_PLATFORMS 8
#define DEAREST       10

static const char help[] =
    "usage: tollgate bench PLATFORM=SOURCE...\n"
    "\n"
    "Prints what a round trip costs, from the guest's instruction to its next\n"
    "one, out of streams of runs in mode bench: CPUID's in detail, then one\n"
    "line for each exit kind with the median of its trips and their number.\n"
    "On a platform whose name begins with bochs the unit is an instruction\n"
    "and exact; else it is a cycle of an emulated TSC, which is noisy.\n"
    "\n"
    "  --help       this text\n";

static const struct option options[] = {
    {"help", no_argument, NULL, 'h'},
    {0},
};

/* Why a kind is among the dearest; who makes one dear writes it here. Bochs's
 * model of AMD-V has no decode assists (APM 15.10): what the CPU leaves unsaid
 * is read off the instruction. */
#define DECODED "AMD-V: decoded by software"
static const char *const whys[EXIT_KINDS] = {
    [EXIT_TASK_SWITCH] = "all in software: two TSSs, 8 segments",
    [EXIT_INVLPG] = DECODED ", and its operand",
    [EXIT_SWINT] = DECODED ", through the guest's IDT",
    [EXIT_CR0_SEL_WRITE] = DECODED ", then as CR_WRITE",
    [EXIT_CR_WRITE] = DECODED ", new mode, TLB flush",
    [EXIT_LMSW] = "CR0 by mask and shadow, new mode, TLB flush",
    [EXIT_CLTS] = "CR0 by mask and shadow, new mode, TLB flush",
    [EXIT_DR_WRITE] = DECODED ", mode and CPL looked up",
    [EXIT_DR_READ] = DECODED ", CPL looked up",
    [EXIT_CR_READ] = DECODED,
};

struct platform {
    char *name;
    bool exact; /* a tick is an instruction */
    struct trips trips;
};

static struct platform platforms[MAX_PLATFORMS];
static u32 count;

static void on_event(void *ctx, const struct event_view *e)
{
    trips_event(&((struct platform *)ctx)->trips, e);
}

/* --- CPUID ------------------------------------------------------------------
 */

/* One cell of a table: a number or a word, and what goes with it. */
static void print_cell(u32 p, const char *text, const char *with)
{
    printf(p + 1 < count ? "%9s%-7s" : "%9s%s\n", text, with);
}

static void print_number(u32 p, const char *format, double number)
{
    char text[32];

    snprintf(text, sizeof(text), format, number);
    print_cell(p, text, "");
}

static void print_head(const char *first)
{
    printf("%-33s ", first);
    for (u32 p = 0; p < count; p++)
        print_cell(p, platforms[p].name, "");
    printf("%-33s ", "");
    for (u32 p = 0; p < count; p++)
        print_cell(p, platforms[p].exact ? "instr." : "cycles", "");
}

static void print_loop(const char *what, enum loop loop, bool of_bare)
{
    printf("%-33s ", what);
    for (u32 p = 0; p < count; p++) {
        const struct loop_cost *l = platforms[p].trips.loops;

        print_number(p, "%.1f",
                     l[loop].ticks / (of_bare ? l[LOOP_BARE].ticks : 1));
    }
}

static void print_bytes(const char *what, bool wire)
{
    printf("%-33s ", what);
    for (u32 p = 0; p < count; p++) {
        const struct loop_cost *l = &platforms[p].trips.loops[LOOP_TRACED];

        print_number(p, "%.1f", wire ? l->wire_bytes : l->ring_bytes);
    }
}

static void print_cpuid(void)
{
    print_head("one CPUID round trip");
    print_loop("bare (registers only)", LOOP_BARE, false);
    print_loop("not traced", LOOP_UNTRACED, false);
    print_loop("traced", LOOP_TRACED, false);
    print_loop("not traced, as a multiple of bare", LOOP_UNTRACED, true);
    print_loop("traced, as a multiple of bare", LOOP_TRACED, true);
    print_bytes("bytes in the ring", false);
    print_bytes("bytes on the wire", true);
}

/* --- every kind -------------------------------------------------------------
 */

static void print_kind(enum exit_kind kind, bool dear)
{
    char label[40];
    bool any = false;

    for (u32 p = 0; p < count; p++)
        any = any || platforms[p].trips.of[kind].count;
    if (!any)
        return;
    snprintf(label, sizeof(label), "%s%s", exit_row_of(kind)->name,
             dear ? " *" : "");
    printf("%-33s ", label);
    for (u32 p = 0; p < count; p++) {
        const struct trips *t = &platforms[p].trips;
        char cost[32] = "-", trips[16] = "";

        if (t->of[kind].count) {
            snprintf(cost, sizeof(cost), "%llu",
                     (unsigned long long)trips_cost(t, kind));
            snprintf(trips, sizeof(trips), " x%u", t->of[kind].count);
        }
        print_cell(p, cost, trips);
    }
}

/* The most that it costs where a tick is an instruction, 0: not there. */
static u64 exact_cost(enum exit_kind kind)
{
    u64 most = 0;

    for (u32 p = 0; p < count; p++) {
        u64 cost = trips_cost(&platforms[p].trips, kind);

        if (platforms[p].exact && cost > most)
            most = cost;
    }
    return most;
}

static int dearest_first(const void *a, const void *b)
{
    u64 x = exact_cost(*(const enum exit_kind *)a);
    u64 y = exact_cost(*(const enum exit_kind *)b);

    return (x < y) - (x > y);
}

/* False: one has no reason. */
static bool print_whys(const enum exit_kind *dearest, u32 n)
{
    bool good = true;

    printf("\n* the %d dearest, in instructions\n", DEAREST);
    for (u32 i = 0; i < n; i++) {
        const char *name = exit_row_of(dearest[i])->name;
        const char *why = whys[dearest[i]];

        printf("%-20s %6llu  %s\n", name,
               (unsigned long long)exact_cost(dearest[i]), why ? why : "?");
        if (!why)
            complain("bench: %s is among the dearest now: find out why, and "
                     "write it into whys[] in tools/bench.c",
                     name);
        good = good && why;
    }
    return good;
}

static bool print_kinds(void)
{
    enum exit_kind order[EXIT_KINDS];
    bool dear[EXIT_KINDS] = {false};
    u32 n = 0;

    for (u32 kind = 0; kind < EXIT_KINDS; kind++)
        order[kind] = (enum exit_kind)kind;
    qsort(order, EXIT_KINDS, sizeof(*order), dearest_first);
    for (; n < DEAREST && exact_cost(order[n]); n++)
        dear[order[n]] = true;
    print_head("one round trip, median x trips");
    for (u32 kind = EXIT_NONE + 1; kind < EXIT_KINDS; kind++)
        print_kind((enum exit_kind)kind, dear[kind]);
    return print_whys(order, n);
}

/* --- the command ------------------------------------------------------------
 */

/* Reads PLATFORM=SOURCE. */
static int read_platform(char *operand)
{
    static const struct reader_ops ops = {.event = on_event};
    struct platform *p = &platforms[count];
    char *source = strchr(operand, '=');
    struct reading reading;

    if (!source || count == MAX_PLATFORMS) {
        complain("bench: give PLATFORM=SOURCE, at most %d, not '%s'",
                 MAX_PLATFORMS, operand);
        return STATUS_USAGE;
    }
    *source++ = '\0';
    p->name = operand;
    p->exact = strncmp(operand, "bochs", 5) == 0;
    if (!read_stream(source, &ops, p, &reading))
        return STATUS_USAGE;
    count++;
    for (u32 n = 0; n < LOOPS; n++)
        if (!p->trips.loops[n].seen || reading.damaged) {
            complain("bench: %s: the stream is damaged, or of no complete run "
                     "in mode bench",
                     source);
            return STATUS_ERROR;
        }
    return STATUS_OK;
}

int cmd_bench(int argc, char **argv)
{
    int status = STATUS_OK;

    for (int o; (o = next_option(argc, argv, options, help)) != -1;)
        return o == 'h' ? STATUS_OK : STATUS_USAGE;
    if (optind == argc) {
        complain("bench: give PLATFORM=SOURCE; see tollgate bench --help");
        return STATUS_USAGE;
    }
    for (int i = optind; i < argc && status == STATUS_OK; i++)
        status = read_platform(argv[i]);
    if (status == STATUS_OK) {
        print_cpuid();
        putchar('\n');
        if (!print_kinds())
            status = STATUS_FAIL;
        puts("\ninstructions are exact; cycles are an emulated TSC's, and "
             "noisy");
    }
    while (count)
        trips_free(&platforms[--count].trips);
    return status;
}
