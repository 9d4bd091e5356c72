/*
 * Handlers for the exits that only AMD-V has: instructions that it alone
 * intercepts are emulated here for a guest in 64-bit mode at CPL 0, or
 * refused. Neutral code all the same: struct exit, never a VMCB.
 */
#include "hv/handlers.h"

#include "hv/cpu.h"
#include "hv/guest.h"
#include "trace/trace.h"

/* What POPF and IRET change at CPL 0: not VM, VIP, VIF (APM vol 3, POPF). */
#define RFLAGS_POPPED 0x247fd5u

#define ERROR_EXT BIT(0) /* error codes of selectors, APM vol 2, 8.4.1 */
#define ERROR_IDT BIT(1)

/* The low half of a gate, APM vol 2, Figure 4-24. */
#define GATE_PRESENT BIT(47)

/* VMRUN, VMLOAD, VMSAVE, STGI, CLGI, INVLPGA, PAUSE and the like: stepped
 * over, the guest finds nothing changed. */
enum next handle_ignored(struct vcpu *v)
{
    (void)v;
    return NEXT_ADVANCE;
}

/* Trap-like exits: what the guest did is done, or was mended. */
enum next handle_resumed(struct vcpu *v)
{
    (void)v;
    return NEXT_RESUME;
}

static enum next inject(struct vcpu *v, u8 vector, bool has_error, u32 error)
{
    const struct event e = {.type = EVENT_EXCEPTION,
                            .vector = vector,
                            .has_error = has_error,
                            .error = error};

    v->ops->inject(v, &e);
    trace_inject(v->ring, v->exit_tsc, e.type, vector, error);
    v->path |= PATH_INJECT;
    return NEXT_RESUME;
}

/* SKINIT, RSM outside SMM: the guest's machine does not have them. */
enum next handle_undefined(struct vcpu *v)
{
    return inject(v, VECTOR_UD, false, 0);
}

/* n quadwords of the stack from rsp on; an address that is not the guest's
 * memory would be #PF or #SS for the guest, which no scenario asks for. */
static u64 *stack(u64 rsp, u32 n)
{
    return guest_memory(rsp, n * sizeof(u64));
}

enum next handle_pushf(struct vcpu *v)
{
    u64 rsp = v->ops->get(v, REG_RSP) - sizeof(u64);
    u64 *top = stack(rsp, 1);

    if (!top)
        return handle_unexpected(v);
    *top = v->ops->get(v, REG_RFLAGS) & ~(RFLAGS_RF | RFLAGS_VM);
    v->ops->set(v, REG_RSP, rsp);
    v->path |= PATH_WROTE;
    return NEXT_ADVANCE;
}

static void set_flags(struct vcpu *v, u64 value)
{
    u64 kept = v->ops->get(v, REG_RFLAGS) & ~(RFLAGS_POPPED | RFLAGS_RF);

    v->ops->set(v, REG_RFLAGS, kept | (value & RFLAGS_POPPED));
    v->path |= PATH_WROTE;
}

enum next handle_popf(struct vcpu *v)
{
    u64 rsp = v->ops->get(v, REG_RSP);
    const u64 *top = stack(rsp, 1);

    if (!top)
        return handle_unexpected(v);
    set_flags(v, *top);
    v->ops->set(v, REG_RSP, rsp + sizeof(u64));
    return NEXT_ADVANCE;
}

/* Within 64-bit mode at CPL 0: CS and SS stay what they are. */
enum next handle_iret(struct vcpu *v)
{
    const u64 *frame = stack(v->ops->get(v, REG_RSP), 5);

    if (!frame || frame[1] != GUEST_CS)
        return handle_unexpected(v);
    v->ops->advance(v, 0); /* no interrupt shadow any more */
    v->ops->set(v, REG_RIP, frame[0]);
    set_flags(v, frame[2]);
    v->ops->set(v, REG_RSP, frame[3]);
    return NEXT_RESUME;
}

/*
 * INT n and ICEBP through the guest's IDT, by software: without nRIP save
 * hardware cannot inject the first, and the second never (APM 15.20).
 */
static enum next through_gate(struct vcpu *v, u8 vector, u32 ext)
{
    const u64 *gate = guest_copy(guest_idt, u64) + 2 * (size_t)vector;
    u64 old = v->ops->get(v, REG_RSP), rsp = (old & ~0xfull) - 5 * sizeof(u64);
    u64 flags = v->ops->get(v, REG_RFLAGS);
    u64 *frame = stack(rsp, 5);

    if (!frame)
        return handle_unexpected(v);
    if (!(gate[0] & GATE_PRESENT))
        return inject(v, VECTOR_NP, true, vector * 8u | ERROR_IDT | ext);
    v->ops->advance(v, v->exit.length);
    frame[0] = v->ops->get(v, REG_RIP);
    frame[1] = GUEST_CS;
    frame[2] = flags;
    frame[3] = old;
    frame[4] = GUEST_DS;
    v->ops->set(v, REG_RSP, rsp);
    v->ops->set(v, REG_RFLAGS,
                flags & ~(RFLAGS_IF | RFLAGS_TF | RFLAGS_NT | RFLAGS_RF));
    v->ops->set(v, REG_RIP,
                (gate[0] & 0xffff) | (gate[0] >> 32 & 0xffff0000) |
                    gate[1] << 32);
    v->path |= PATH_ADVANCED | PATH_WROTE;
    return NEXT_RESUME;
}

enum next handle_swint(struct vcpu *v)
{
    trace_inject(v->ring, v->exit_tsc, EVENT_SOFT_INT,
                 v->exit.info.swint.vector, 0);
    return through_gate(v, v->exit.info.swint.vector, 0);
}

enum next handle_icebp(struct vcpu *v)
{
    trace_inject(v->ring, v->exit_tsc, EVENT_EXCEPTION, VECTOR_DB, 0);
    return through_gate(v, VECTOR_DB, ERROR_EXT);
}

/* FERR# froze the guest: what a PC's interrupt 13 would do. */
enum next handle_ferr_freeze(struct vcpu *v)
{
    const struct event e = {.type = EVENT_INTR, .vector = VECTOR_FERR};

    v->ops->inject(v, &e);
    trace_inject(v->ring, v->exit_tsc, e.type, e.vector, 0);
    v->path |= PATH_INJECT;
    return NEXT_RESUME;
}

/* A virtual interrupt that may come now: the guest takes it at the entry. */
enum next handle_interrupt_window(struct vcpu *v)
{
    v->ops->arm(v, EXIT_INTERRUPT_WINDOW, 0, false);
    return NEXT_RESUME;
}
