/*
 * The benchmark. The guest executes BENCH_TRIPS CPUID instructions in a row
 * and nothing else, so that ticks / trips is the round trip; on Bochs a tick
 * is an instruction. The same trips three times: by the back end's bare loop,
 * by vcpu_run() without and with trace (exit, detail and entry events).
 *
 * Then the scenarios, for the other exits: of these the trace tells what they
 * cost (tollgate bench).
 */
#include "hv/bench.h"

#include "guest/bench.h"
#include "guest/scenario.h"
#include "hv/cpu.h"
#include "hv/dumper.h"
#include "hv/guest.h"
#include "hv/handlers.h"
#include "hv/run.h"
#include "trace/trace.h"

#define CPUID_LENGTH 2
#define TRACED       (1u << CLASS_EXIT | 1u << CLASS_DETAIL)

/* A fresh guest in front of its CPUIDs. */
static void prepare(struct vcpu *v, u64 device[DEVICE_CELLS])
{
    struct guest_state gs;

    guest_load(v, MODE_64, guest_bench, 0, &gs);
    v->ops->reset(v, &gs);
    v->ops->arm(v, EXIT_CPUID, 0, true);
    v->regs.gpr[RAX] = CPUID_LEAF;
    v->device = device;
}

static void measure(struct vcpu *v, const char *what, bool bare, u32 mask)
{
    u64 device[DEVICE_CELLS] = {0};
    u64 wire = dumper_bytes(), bytes = ring_bytes(v->ring), ticks;
    u32 saved = v->ring->mask;

    prepare(v, device);
    ring_set_mask(v->ring, mask);
    dumper_hold(true); /* the line's speed is not what is measured */
    ticks = rdtsc();
    if (bare)
        v->ops->bare(v, BENCH_TRIPS, CPUID_LENGTH);
    else
        vcpu_run(v);
    ticks = rdtsc() - ticks;
    bytes = ring_bytes(v->ring) - bytes;
    dumper_hold(false);
    ring_set_mask(v->ring, saved);
    dumper_drain();
    wire = dumper_bytes() - wire;
    ring_tick(v->ring, rdtsc());
    trace_bench(v->ring, what, BENCH_TRIPS, ticks, bytes,
                bare || !mask ? 0 : wire);
    dumper_drain();
}

enum verdict bench_run(struct vcpu *v, const struct caps *caps,
                       const struct config *config)
{
    u32 saved = v->ring->mask;
    enum verdict worst;

    measure(v, "cpuid-bare", true, 0);
    measure(v, "cpuid-untraced", false, 0);
    measure(v, "cpuid-traced", false, TRACED);
    ring_set_mask(v->ring, TRACED);
    dumper_hold(true);
    worst = scenarios_run(v, caps, config);
    dumper_hold(false);
    ring_set_mask(v->ring, saved);
    return worst;
}
