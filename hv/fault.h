/*
 * Exceptions, NMIs and external interrupts that the hypervisor itself takes.
 */
#ifndef HV_FAULT_H
#define HV_FAULT_H

#include "hv/types.h"

/* What the stubs in hv/vectors.asm leave on the stack. */
struct frame {
    u64 r15, r14, r13, r12, r11, r10, r9, r8;
    u64 rdi, rsi, rbp, rbx, rdx, rcx, rax;
    u64 vector, error;
    u64 rip, cs, rflags, rsp, ss;
};
_Static_assert(sizeof(struct frame) == 22 * 8, "hv/vectors.asm");

struct host_fault {
    u8 vector;
    u64 error, rip, cr2;
};

/* Calls fn(arg). False: a host fault ended it; the stack and the callee-saved
 * registers are back, and host_last_fault() says what it was. Nests. */
bool host_try(void (*fn)(void *), void *arg);

/* The last exception, for the trace; NULL: none yet. */
const struct host_fault *host_last_fault(void);

/* How many NMIs the hypervisor has taken. */
u64 host_nmi_count(void);

/* Lets a blocked NMI in; so far as the host knows, none is being served. */
void host_unblock_nmi(void);

/* Serves an NMI that an exit has taken: as if it came now. */
void host_raise_nmi(void);

/* Lets a pending external interrupt in. Returns its vector, 0: none came.
 * Of several, the highest; the others are returned by the next calls. */
u8 host_take_interrupt(void);

/* Goes on in fn(arg) on the stack that ends at top; never returns. */
NORETURN void stack_switch(void *top, void (*fn)(void *), void *arg);

/* Called by the stubs. */
void host_vector(struct frame *f);

#endif
