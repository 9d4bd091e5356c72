/*
 * Runs the guest, and the long ways of a crossing (hv/crossing.h): for the
 * exits that take long to decode, and for all that comes up now and then.
 */
#include "hv/run.h"

#include "hv/apic.h"
#include "hv/crossing.h"
#include "hv/dumper.h"
#include "hv/fault.h"
#include "hv/scenario.h"

static u32 watchdog_ms;
static u64 watchdog_tsc;

void watchdog_set(u32 ms, u64 tsc_hz)
{
    watchdog_ms = ms;
    watchdog_tsc = ms * (tsc_hz / 1000);
}

u64 watchdog_cycles(void)
{
    return watchdog_tsc;
}

/* False, and nothing done, where there is no such control. */
void watchdog_arm(struct vcpu *v)
{
    v->ops->arm(v, EXIT_PREEMPTION_TIMER, (u32)(watchdog_tsc / 1024), true);
}

void watchdog_start(void)
{
    apic_timer_oneshot(WATCHDOG_VECTOR, (u64)watchdog_ms * 1000);
}

void watchdog_stop(void)
{
    apic_timer_stop();
    while (host_take_interrupt())
        ;
}

/* The raw words are traced apart, and fetched only then. */
static void trace_raw(struct vcpu *v)
{
    struct exit_raw raw;

    v->ops->raw(v, &raw);
    trace_exit_raw(v->ring, raw.info1, raw.info2, raw.intr);
}

/* There is more to do than to write one event: packets to be sent, a scenario
 * that looks on, raw words. */
bool crossing_attend(struct vcpu *v)
{
    struct ring *ring = v->ring;

    trace_vmexit(ring, v->exit.kind, v->exit.code, v->exit.rip, v->exit.length);
    if (ring->attention & ATTEND_RAW)
        trace_raw(v);
    if (ring->attention & ATTEND_OWNER && !scenario_observe(v))
        return false;
    ring_attend(ring, ATTEND_PACKET, dumper_poll());
    return handlers[v->exit.kind](v);
}

bool crossing_out_slow(struct vcpu *v, u64 tsc)
{
    ring_tick(v->ring, tsc);
    v->ops->decode(v);
    return crossing_decoded(v);
}

bool crossing_in_slow(struct vcpu *v, u32 path)
{
    ring_tick(v->ring, rdtsc());
    trace_vmentry(v->ring, (u16)path);
    return true;
}

void vcpu_run(struct vcpu *v)
{
    v->stop = STOP_NONE;
    v->path = PATH_FIRST;
    crossing_in(v, 0);
    v->ops->run(v);
}
