/*
 * Handlers of the exits that only VT-x has. Neutral like the others: what
 * they change goes through the seam.
 */
#include "hv/handlers.h"

#include "guest/scenario.h"
#include "hv/cpu.h"
#include "hv/guest.h"
#include "hv/nested.h"
#include "hv/scenario.h"
#include "trace/trace.h"

#define PML_ENTRIES 512

/* CF, PF, AF, ZF, SF, OF: all that a VMX instruction writes (SDM 31.2). */
#define RFLAGS_STATUS 0x8d5ull

/* The guest has no VMCS of its own, so every VMX instruction fails without an
 * error number: VMfailInvalid (SDM 31.2), and its operands stay as they are. */
bool handle_vmx_instruction(struct vcpu *v)
{
    u64 flags = v->ops->get(v, REG_RFLAGS);

    v->ops->set(v, REG_RFLAGS, (flags & ~RFLAGS_STATUS) | RFLAGS_CF);
    v->path |= PATH_WROTE;
    return advance(v);
}

/* Only a threshold that is not above the TPR lets the guest go on without
 * another exit (SDM 27.7.7), or go on at all (SDM 27.2.1.1). */
bool handle_tpr_threshold(struct vcpu *v)
{
    v->ops->set_word(v, RAW_TPR_THRESHOLD, 0);
    return resume(v);
}

/* No APIC is emulated behind the page: the access is made again, to the
 * memory that lies there. */
bool handle_apic_access(struct vcpu *v)
{
    v->ops->use(v, FEAT_VMX_APIC_ACCESS, false);
    v->ops->flush(v);
    v->path |= PATH_FLUSH;
    redeliver(v);
    return resume(v);
}

/* Whatever a scenario broke is mended, and the access made again. */
bool handle_nested_misconfig(struct vcpu *v)
{
    trace_nested_fault(v->ring, DIR_READ, v->exit.info.npf.gpa, 0);
    nested_repair(v);
    nested_map(v, GUEST_PROBE, guest_probe_page(),
               ACCESS_R | ACCESS_W | ACCESS_X);
    v->ops->flush(v);
    v->path |= PATH_MAPPED | PATH_FLUSH;
    redeliver(v);
    return resume(v);
}

/* The sub-page table does not say: the page as a whole becomes writable. */
bool handle_spp_event(struct vcpu *v)
{
    nested_map(v, GUEST_PROBE, guest_probe_page(),
               ACCESS_R | ACCESS_W | ACCESS_X);
    v->ops->flush(v);
    v->path |= PATH_MAPPED | PATH_FLUSH;
    redeliver(v);
    return resume(v);
}

/* The log is empty again; it fills from its last entry down (SDM 29.3.6). */
bool handle_pml_full(struct vcpu *v)
{
    v->ops->set_word(v, RAW_PML_INDEX, PML_ENTRIES - 1);
    redeliver(v);
    return resume(v);
}

/* A scenario of the timer's own goes on without it; anywhere else it is the
 * watchdog's second way in (hv/run.c). */
bool handle_preemption_timer(struct vcpu *v)
{
    if (!v->run || v->run->scenario->kind != EXIT_PREEMPTION_TIMER) {
        v->stop = STOP_TIMEOUT;
        return false;
    }
    *guest_copy(guest_flag, u64) = 1;
    v->ops->arm(v, EXIT_PREEMPTION_TIMER, 0, false);
    return resume(v);
}
