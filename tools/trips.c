/*
 * Round trips in a recorded benchmark; see trips.h.
 *
 * An exit event is stamped behind the instructions that save the guest's
 * registers, the entry event in front of those that load them. What lies
 * outside is the same for every kind: it is what a trip of the traced CPUID
 * loop takes more than its own events are apart.
 */
#include "tools/trips.h"

#include <stdlib.h>
#include <string.h>

#include "hv/vcpu.h"
#include "tools/tollgate.h"
#include "trace/trace.h"

static void add(struct kind_trips *k, u64 ticks)
{
    u64 *longer = reallocarray(k->ticks, k->count + 1, sizeof(*longer));

    if (!longer) {
        complain("out of memory");
        exit(STATUS_ERROR);
    }
    k->ticks = longer;
    k->ticks[k->count++] = ticks;
}

static int by_size(const void *a, const void *b)
{
    u64 x = *(const u64 *)a, y = *(const u64 *)b;

    return (x > y) - (x < y);
}

/* Of an even number the smaller one, so that it is a trip that was made. */
static u64 median(struct kind_trips *k)
{
    qsort(k->ticks, k->count, sizeof(*k->ticks), by_size);
    return k->ticks[(k->count - 1) / 2];
}

/* A loop has ended. Its own trips are not among those of the scenarios. */
static void on_loop(struct trips *t, const struct event_view *e)
{
    static const char *const names[LOOPS] = {"cpuid-bare", "cpuid-untraced",
                                             "cpuid-traced"};
    struct kind_trips *cpuid = &t->of[EXIT_CPUID];
    double trips = (double)e->value[1];

    for (u32 n = 0; n < LOOPS; n++)
        if (strcmp(e->text[0], names[n]) == 0 && trips > 0)
            t->loops[n] = (struct loop_cost){
                .seen = true,
                .ticks = (double)e->value[2] / trips,
                .ring_bytes = (double)e->value[3] / trips,
                .wire_bytes = (double)e->value[4] / trips,
            };
    if (cpuid->count)
        t->outside = t->loops[LOOP_TRACED].ticks - (double)median(cpuid);
    trips_free(t);
}

void trips_event(struct trips *t, const struct event_view *e)
{
    switch (e->schema->id) {
    case TRACE_ID_vmexit:
        t->kind = e->value[0] < EXIT_KINDS ? (u8)e->value[0] : EXIT_NONE;
        t->since = e->time;
        break;
    case TRACE_ID_vmentry: /* the first of a run ends no trip */
        if (t->kind != EXIT_NONE && !(e->value[0] & PATH_FIRST))
            add(&t->of[t->kind], e->time - t->since);
        t->kind = EXIT_NONE;
        break;
    case TRACE_ID_bench:
        on_loop(t, e);
        break;
    }
}

double trips_cost(const struct trips *t, enum exit_kind kind)
{
    struct kind_trips k = t->of[kind];

    return k.count ? (double)median(&k) + t->outside : -1;
}

void trips_free(struct trips *t)
{
    for (u32 kind = 0; kind < EXIT_KINDS; kind++)
        free(t->of[kind].ticks);
    memset(t->of, 0, sizeof(t->of));
}
