/*
 * What the hypervisor does about an exit: one handler per neutral kind.
 */
#ifndef HV_HANDLERS_H
#define HV_HANDLERS_H

#include "hv/crossing.h"

/* What the guest gets to see of the emulated machine. */
#define CPUID_LEAF          0x40000000u /* hypervisor leaf; signature below */
#define CPUID_SIGNATURE_EBX 0x6c6c6f54u /* "Toll" */
#define CPUID_SIGNATURE_ECX 0x65746167u /* "gate" */
#define CPUID_SIGNATURE_EDX 0x20202020u /* "    " */
#define EMULATED_TSC        0x1122334455667788ull
#define EMULATED_MSR        0x70116a7edeadbeefull
#define EMULATED_IN         0xa1b2c3d4ull
#define EMULATED_CR8        5ull
#define EMULATED_TSC_AUX    0x5ca1ab1eull
#define PROBE_VALUE         0x3132333435363700ull /* first u64, then + 1 each */
#define PROBE_CODE          0xf00                 /* offset of a RET */

#define VECTOR_FERR 0x75 /* where firmware puts IRQ 13 */

/* hv/handlers.c, for handlers: */
handler handle_unexpected; /* says what came, dumps all and stops */
handler handle_ignored;    /* steps over an instruction, to no effect */
handler handle_resumed;    /* goes on where the guest is */
bool inject(struct vcpu *v, const struct event *e);
bool refuse(struct vcpu *v, u8 vector); /* injects #UD, #GP(0), ... */

/* hv/handle_cr.c: control and debug registers. */
handler handle_cr_read, handle_cr_write, handle_dr_read, handle_dr_write;

/* hv/handle_insn.c: other instructions. */
handler handle_undefined, handle_rdtscp, handle_bus_lock;

/* hv/handle_task.c */
handler handle_task_switch;

/* hv/handle_svm.c: the exits of AMD-V alone. */
handler handle_pushf, handle_popf, handle_iret, handle_swint, handle_icebp;
handler handle_ferr_freeze;

/* hv/handle_vmx.c: those of VT-x alone. */
handler handle_vmx_instruction, handle_tpr_threshold, handle_apic_access;
handler handle_nested_misconfig, handle_spp_event, handle_pml_full;
handler handle_preemption_timer;

/* hv/handle_event.c. queue_event(): e comes at the next entry. deliver(): the
 * same for an exception that the exit kept from the guest; if that came in the
 * delivery of another event, what the two make together. redeliver(): queues
 * the event again in whose delivery the exit came, if there was one; for
 * handlers that have mended what was in the way. */
void queue_event(struct vcpu *v, const struct event *e);
bool deliver(struct vcpu *v, const struct event *e);
void redeliver(struct vcpu *v);
handler handle_interrupt, handle_nmi, handle_smi, handle_init, handle_sipi;
handler handle_window;

#endif
