/* tollgate bench: what round trips cost, platforms side by side. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/reader.h"
#include "tools/tollgate.h"
#include "tools/trips.h"
#include "trace/trace.h"

#define MAX_PLATFORMS 8
#define DEAREST       10

static const char help[] =
    "usage: tollgate bench PLATFORM=SOURCE...\n"
    "\n"
    "Prints what a round trip costs, from the guest's instruction to its next\n"
    "one, out of streams of runs in mode bench: CPUID's in detail, then one\n"
    "line for each exit kind with the median of its trips and their number.\n"
    "On a platform whose name begins with bochs the unit is an instruction\n"
    "and exact; else it is a cycle of an emulated TSC, which is noisy, and of\n"
    "no use as a multiple. The dearest are told with why, or a ? where nobody\n"
    "has found out yet.\n"
    "\n"
    "  --help       this text\n";

static const struct option options[] = {
    {"help", no_argument, NULL, 'h'},
    {0},
};

/* Why a kind is among the dearest; who makes one dear writes it here.
 * decoded: besides, on AMD-V. Bochs's model has no decode assists (APM 15.8),
 * so that what the CPU leaves unsaid is read off the instruction. */
struct why {
    const char *text;
    bool decoded;
};
static const struct why whys[EXIT_KINDS] = {
    [EXIT_TASK_SWITCH] = {"all in software: two TSSs, 8 segments", false},
    [EXIT_INVLPG] = {"TLB flush", true},
    [EXIT_SWINT] = {"through the guest's IDT", true},
    [EXIT_ICEBP] = {"through the guest's IDT, in software", false},
    [EXIT_CR0_SEL_WRITE] = {"then as CR_WRITE", true},
    [EXIT_CR_WRITE] = {"new mode, TLB flush", true},
    [EXIT_LMSW] = {"CR0 by mask and shadow, new mode, TLB flush", false},
    [EXIT_CLTS] = {"CR0 by mask and shadow, new mode, TLB flush", false},
    [EXIT_CR_READ] = {"", true},
    [EXIT_DR_WRITE] = {"mode and CPL looked up", true},
    [EXIT_DR_READ] = {"CPL looked up", true},
    [EXIT_INTERRUPT] = {"taken through the host's IDT, watchdog set again",
                        false},
    [EXIT_EXCEPTION] = {"double faults ruled out, queued for the next entry",
                        false},
    [EXIT_NESTED_FAULT] = {"page mapped, TLB flush", false},
    [EXIT_NESTED_MISCONFIG] = {"tables repaired, page mapped, TLB flush",
                               false},
    [EXIT_APIC_ACCESS] = {"control changed, TLB flush", false},
};

#define LABEL    24 /* columns of a table's first column, */
#define COLUMN   16 /* and of each platform's, at least */
#define OF_TRIPS 7  /* of these for the number of trips */

struct platform {
    char *name;
    bool exact; /* a tick is an instruction */
    u8 vendor;  /* enum vendor */
    struct trips trips;
};

static struct platform platforms[MAX_PLATFORMS];
static u32 count;

static void on_event(void *ctx, const struct event_view *e)
{
    struct platform *p = ctx;

    if (e->schema->id == TRACE_ID_run_begin)
        p->vendor = (u8)e->value[0];
    trips_event(&p->trips, e);
}

/* --- CPUID ------------------------------------------------------------------
 */

/* One cell of a table: a number or a word, and what goes with it. */
static void print_cell(u32 p, const char *text, const char *with)
{
    int name = (int)strlen(platforms[p].name) + 2;
    int width = (name > COLUMN ? name : COLUMN) - OF_TRIPS;

    if (p + 1 < count)
        printf("%*s%-*s", width, text, OF_TRIPS, with);
    else
        printf("%*s%s\n", width, text, with);
}

static void print_label(const char *label)
{
    printf("%-*s ", LABEL, label);
}

static void print_number(u32 p, const char *format, double number)
{
    char text[32];

    snprintf(text, sizeof(text), format, number);
    print_cell(p, text, "");
}

/* A name may be longer than the numbers are wide: it is centred. */
static void print_names(const char *first)
{
    print_label(first);
    for (u32 p = 0; p < count; p++) {
        int name = (int)strlen(platforms[p].name);
        int width = name + 2 > COLUMN ? name + 2 : COLUMN;
        int left = (width - name) / 2;

        if (p + 1 < count)
            printf("%*s%-*s", left, "", width - left, platforms[p].name);
        else
            printf("%*s%s\n", left, "", platforms[p].name);
    }
}

static void print_head(const char *first)
{
    print_names(first);
    print_label("");
    for (u32 p = 0; p < count; p++)
        print_cell(p, platforms[p].exact ? "instr." : "cycles", "");
}

static void print_loop(const char *what, enum loop loop)
{
    print_label(what);
    for (u32 p = 0; p < count; p++)
        print_number(p, "%.1f", platforms[p].trips.loops[loop].ticks);
}

/* Of instructions only: a cycle under TCG is the emulator's time, most of it
 * spent on the crossing itself, whatever Tollgate does behind it. */
static void print_multiple(enum loop loop)
{
    print_label("  as a multiple of bare");
    for (u32 p = 0; p < count; p++) {
        const struct loop_cost *l = platforms[p].trips.loops;

        if (platforms[p].exact)
            print_number(p, "%.1f", l[loop].ticks / l[LOOP_BARE].ticks);
        else
            print_cell(p, "-", "");
    }
}

static void print_bytes(const char *what, bool wire)
{
    print_label(what);
    for (u32 p = 0; p < count; p++) {
        const struct loop_cost *l = &platforms[p].trips.loops[LOOP_TRACED];

        print_number(p, "%.1f", wire ? l->wire_bytes : l->ring_bytes);
    }
}

static void print_cpuid(void)
{
    print_head("one CPUID round trip");
    print_loop("bare (registers only)", LOOP_BARE);
    print_loop("not traced", LOOP_UNTRACED);
    print_multiple(LOOP_UNTRACED);
    print_loop("traced", LOOP_TRACED);
    print_multiple(LOOP_TRACED);
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
    print_label(label);
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

/* The platform on which it costs most, of those where a tick is an
 * instruction; NULL: on none of them. */
static const struct platform *dearest_on(enum exit_kind kind)
{
    const struct platform *dearest = NULL;
    u64 most = 0;

    for (u32 p = 0; p < count; p++) {
        u64 cost = trips_cost(&platforms[p].trips, kind);

        if (platforms[p].exact && cost > most) {
            most = cost;
            dearest = &platforms[p];
        }
    }
    return dearest;
}

static u64 exact_cost(enum exit_kind kind)
{
    const struct platform *p = dearest_on(kind);

    return p ? trips_cost(&p->trips, kind) : 0;
}

static int dearest_first(const void *a, const void *b)
{
    u64 x = exact_cost(*(const enum exit_kind *)a);
    u64 y = exact_cost(*(const enum exit_kind *)b);

    return (x < y) - (x > y);
}

static void print_why(enum exit_kind kind)
{
    const struct why *why = &whys[kind];
    bool decoded = why->decoded && dearest_on(kind)->vendor == VENDOR_SVM;

    printf("%-20s %6llu  ", exit_row_of(kind)->name,
           (unsigned long long)exact_cost(kind));
    if (decoded)
        printf("AMD-V: decoded by software%s", *why->text ? ", " : "");
    puts(why->text ? why->text : "?");
}

static void print_kinds(void)
{
    enum exit_kind order[EXIT_KINDS];
    bool dear[EXIT_KINDS] = {false};
    u32 n = 0;

    for (u32 kind = 0; kind < EXIT_KINDS; kind++)
        order[kind] = (enum exit_kind)kind;
    qsort(order, EXIT_KINDS, sizeof(*order), dearest_first);
    for (; n < DEAREST && exact_cost(order[n]); n++)
        dear[order[n]] = true;
    print_head("one round trip (x trips)");
    for (u32 kind = EXIT_NONE + 1; kind < EXIT_KINDS; kind++)
        print_kind((enum exit_kind)kind, dear[kind]);
    if (n)
        printf("\n* the %u dearest, in instructions\n", n);
    for (u32 i = 0; i < n; i++)
        print_why(order[i]);
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
        print_kinds();
        puts("\ninstructions are exact; cycles are an emulated TSC's, and "
             "noisy");
    }
    while (count)
        trips_free(&platforms[--count].trips);
    return status;
}
