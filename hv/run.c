/*
 * The dispatcher. Everything that crosses between guest and host passes
 * through vcpu_exited(), whoever made the CPU: decode, trace, observe,
 * handle, trace. The back end's stub calls it after each exit and enters the
 * guest again when it says so.
 */
#include "hv/run.h"

#include "hv/apic.h"
#include "hv/cpu.h"
#include "hv/dumper.h"
#include "hv/fault.h"
#include "hv/handlers.h"
#include "hv/scenario.h"
#include "trace/trace.h"

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

/* The way back in: what was done about the exit, then the entry. */
static inline __attribute__((always_inline)) void enter(struct vcpu *v)
{
    trace_vmentry(v->ring, rdtsc(), v->path);
    v->path = 0;
    exit_poison(&v->exit);
}

/* The raw words are traced apart, and fetched only then. */
static __attribute__((noinline)) void trace_raw(struct vcpu *v)
{
    struct exit_raw raw;

    v->ops->raw(v, &raw);
    trace_exit_raw(v->ring, v->exit_tsc, raw.info1, raw.info2, raw.intr);
}

bool vcpu_exited(struct vcpu *v)
{
    struct ring *ring = v->ring;
    enum next next;

    v->ops->decode(v);
    trace_vmexit(ring, v->exit_tsc, v->exit.kind, v->exit.code, v->exit.rip,
                 v->exit.length);
    if (trace_wanted(ring, CLASS_RAW))
        trace_raw(v);
    if (v->run && !scenario_observe(v))
        return false;
    next = handlers[v->exit.kind](v);
    if (next == NEXT_STOP)
        return false;
    if (next == NEXT_ADVANCE) {
        v->ops->advance(v, v->exit.length);
        v->path |= PATH_ADVANCED;
    }
    if (UNLIKELY(ring->head != ring->tail))
        dumper_poll();
    enter(v);
    return true;
}

void vcpu_run(struct vcpu *v)
{
    v->stop = STOP_NONE;
    v->path = PATH_FIRST;
    enter(v);
    v->ops->run(v);
}
