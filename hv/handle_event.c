/*
 * Handlers of events: interrupts, NMIs, INIT, SIPI and SMI, the windows for
 * them, and what becomes of an event in whose delivery an exit came.
 */
#include "hv/handlers.h"

#include "guest/scenario.h"
#include "hv/apic.h"
#include "hv/cpu.h"
#include "hv/fault.h"
#include "hv/guest.h"
#include "hv/run.h"
#include "hv/smm.h"
#include "trace/trace.h"

void queue_event(struct vcpu *v, const struct event *e)
{
    v->ops->inject(v, e);
    trace_inject(v->ring, e->type, e->vector, e->error);
    v->path |= PATH_INJECT;
}

/* Classes of exceptions, SDM Table 6-4; APM 8.2.9. */
enum severity { BENIGN, CONTRIBUTORY, PAGE_FAULT, DOUBLE_FAULT };

static enum severity severity_of(const struct event *e)
{
    if (e->type != EVENT_EXCEPTION)
        return BENIGN;
    switch (e->vector) {
    case VECTOR_DE:
    case VECTOR_TS:
    case VECTOR_NP:
    case VECTOR_SS:
    case VECTOR_GP:
        return CONTRIBUTORY;
    case VECTOR_PF:
        return PAGE_FAULT;
    case VECTOR_DF:
        return DOUBLE_FAULT;
    default:
        return BENIGN;
    }
}

/* SDM Table 6-5: with a benign one first the second alone is delivered, and
 * the first is lost. */
bool deliver(struct vcpu *v, const struct event *e)
{
    static const struct event df = {
        .type = EVENT_EXCEPTION, .vector = VECTOR_DF, .has_error = true};
    enum severity second = severity_of(e), first = BENIGN;
    struct event before;

    if (v->ops->vectoring(v, &before))
        first = severity_of(&before);
    if (first == DOUBLE_FAULT && second != BENIGN) {
        v->stop = STOP_FINAL;
        return false;
    }
    if ((first == CONTRIBUTORY && second == CONTRIBUTORY) ||
        (first == PAGE_FAULT && second != BENIGN))
        e = &df;
    queue_event(v, e);
    return resume(v);
}

void redeliver(struct vcpu *v)
{
    struct event e;

    if (v->ops->vectoring(v, &e))
        queue_event(v, &e);
}

/* The guest goes on, also from HLT, and learns that something came. */
static bool wake(struct vcpu *v)
{
    v->ops->set(v, REG_ACTIVITY, ACTIVITY_ACTIVE);
    *guest_copy(guest_flag, u64) = 1;
    redeliver(v);
    return resume(v);
}

/* The exit has acknowledged the interrupt, or it is still pending and the
 * host takes it now, by its own IDT. */
bool handle_interrupt(struct vcpu *v)
{
    u8 vector = v->exit.info.interrupt.vector;

    if (v->exit.info.interrupt.acknowledged)
        apic_eoi();
    else
        vector = host_take_interrupt();
    trace_interrupt(v->ring, vector);
    v->path |= PATH_HOSTIRQ;
    if (vector == WATCHDOG_VECTOR) {
        v->stop = STOP_TIMEOUT;
        return false;
    }
    v->device[DEVICE_VECTOR] = vector;
    watchdog_start(); /* a scenario's own use of the timer ends here */
    return wake(v);
}

/* On VT-x the exit took the NMI, and the host stays blocked until its next
 * IRET: the host's own handler is what serves and unblocks (SDM 28.5.3). On
 * AMD-V the NMI came at STGI. */
bool handle_nmi(struct vcpu *v)
{
    if (v->exit.info.interrupt.acknowledged)
        host_raise_nmi();
    trace_interrupt(v->ring, VECTOR_NMI);
    v->path |= PATH_HOSTIRQ;
    return wake(v);
}

/* AMD-V: it came at STGI, and was counted by the handler in SMRAM. */
bool handle_smi(struct vcpu *v)
{
    v->device[DEVICE_SMI] = smm_count();
    return wake(v);
}

/* VT-x: the exit has taken it. AMD-V: it came at STGI, as #SX. */
bool handle_init(struct vcpu *v)
{
    return wake(v);
}

bool handle_sipi(struct vcpu *v)
{
    trace_interrupt(v->ring, v->exit.info.interrupt.vector);
    return wake(v);
}

/* What was waiting for the window comes now: the guest's virtual interrupt,
 * or what the scenario queues. */
bool handle_window(struct vcpu *v)
{
    v->ops->arm(v, (enum exit_kind)v->exit.kind, 0, false);
    return resume(v);
}
