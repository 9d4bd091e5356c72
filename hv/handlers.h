/*
 * What the hypervisor does about an exit: one handler per neutral kind.
 */
#ifndef HV_HANDLERS_H
#define HV_HANDLERS_H

#include "hv/vcpu.h"

/* What the guest gets to see of the emulated machine. */
#define CPUID_LEAF          0x40000000u /* hypervisor leaf; signature below */
#define CPUID_SIGNATURE_EBX 0x6c6c6f54u /* "Toll" */
#define CPUID_SIGNATURE_ECX 0x65746167u /* "gate" */
#define CPUID_SIGNATURE_EDX 0x20202020u /* "    " */
#define EMULATED_TSC        0x1122334455667788ull
#define EMULATED_MSR        0x70116a7edeadbeefull
#define EMULATED_IN         0xa1b2c3d4ull
#define EMULATED_CR8        5ull
#define PROBE_VALUE         0x3132333435363700ull /* first u64, then + 1 each */
#define PROBE_CODE          0xf00                 /* offset of a RET */

enum next {
    NEXT_RESUME,  /* enter the guest again, as it is */
    NEXT_ADVANCE, /* enter it behind the instruction that exited */
    NEXT_STOP,    /* the run is over, for the reason that v->stop gives */
};

#define VECTOR_FERR 0x75 /* where firmware puts IRQ 13 */

/* By exit kind: handles v->exit, writes its detail event, sets v->path. */
typedef enum next handler(struct vcpu *v);
extern handler *const handlers[EXIT_KINDS];

/* hv/handlers.c: says what came, dumps the control block and stops. */
handler handle_unexpected;

/* hv/handle_task.c */
handler handle_task_switch;

/* hv/handle_svm.c: the exits of AMD-V alone. */
handler handle_ignored, handle_undefined, handle_pushf, handle_popf;
handler handle_iret, handle_swint, handle_icebp, handle_interrupt_window;
handler handle_ferr_freeze, handle_resumed;

#endif
