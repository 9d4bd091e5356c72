/*
 * Round trips in a recorded benchmark; see trips.h.
 *
 * An exit event is stamped behind the instructions that save the guest's
 * registers, the entry event in front of those that load them. What lies
 * outside is the same for every kind. The traced CPUID loop shows it: there an
 * entry and the next exit have nothing between them but that, and the one
 * instruction of the guest's that exits.
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
    double trips = (double)e->value[1];

    for (u32 n = 0; n < LOOPS; n++)
        if (strcmp(e->text[0], names[n]) == 0 && trips > 0)
            t->loops[n] = (struct loop_cost){
                .seen = true,
                .ticks = (double)e->value[2] / trips,
                .ring_bytes = (double)e->value[3] / trips,
                .wire_bytes = (double)e->value[4] / trips,
            };
    if (t->between.count)
        t->outside = median(&t->between);
    trips_free(t);
}

static void on_vmexit(struct trips *t, const struct event_view *e)
{
    if (!t->outside && t->since && t->kind == EXIT_NONE)
        add(&t->between, e->time - t->since);
    t->kind = e->value[0] < EXIT_KINDS ? (u8)e->value[0] : EXIT_NONE;
    t->since = e->time;
}

/* The first of a run ends no trip. */
static void on_vmentry(struct trips *t, const struct event_view *e)
{
    if (t->kind != EXIT_NONE && !(e->value[0] & PATH_FIRST))
        add(&t->of[t->kind], e->time - t->since);
    t->kind = EXIT_NONE;
    t->since = e->time;
}

void trips_event(struct trips *t, const struct event_view *e)
{
    switch (e->schema->id) {
    case TRACE_ID_vmexit:
        on_vmexit(t, e);
        break;
    case TRACE_ID_vmentry:
        on_vmentry(t, e);
        break;
    case TRACE_ID_bench:
        on_loop(t, e);
        break;
    }
}

u64 trips_cost(const struct trips *t, enum exit_kind kind)
{
    struct kind_trips k = t->of[kind];

    return k.count ? median(&k) + t->outside : 0;
}

void trips_free(struct trips *t)
{
    for (u32 kind = 0; kind < EXIT_KINDS; kind++)
        free(t->of[kind].ticks);
    free(t->between.ticks);
    memset(t->of, 0, sizeof(t->of));
    memset(&t->between, 0, sizeof(t->between));
}
