/*
 * The dispatcher. Everything that crosses between guest and host passes
 * through vcpu_run(), whoever made the CPU: the back end enters and decodes,
 * the rest is here, in handlers.c and in trace/.
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

void watchdog_set(u32 ms)
{
    watchdog_ms = ms;
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

void vcpu_run(struct vcpu *v, u32 limit)
{
    const struct hv_ops *ops = v->ops;
    struct ring *ring = v->ring;
    enum next next;

    v->stop = STOP_NONE;
    do {
        trace_vmentry(ring, rdtsc(), v->path);
        v->path = 0;
        exit_poison(&v->exit);
        ops->run(v);
        ops->decode(v);
        trace_vmexit(ring, v->exit_tsc, v->exit.kind, v->exit.code, v->exit.rip,
                     v->exit.length);
        trace_exit_raw(ring, v->exit_tsc, v->exit.raw1, v->exit.raw2,
                       v->exit.intr);
        if (v->run)
            scenario_observe(v);
        next = handle_exit(v);
        if (UNLIKELY(ring->head != ring->tail))
            dumper_poll();
        if (UNLIKELY(--limit == 0) && next == NEXT_RESUME) {
            v->stop = STOP_LIMIT;
            next = NEXT_STOP;
        }
    } while (next == NEXT_RESUME);
}
