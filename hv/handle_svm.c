/*
 * Handlers for the exits that only AMD-V has: instructions that it alone
 * intercepts are emulated here for a guest in 64-bit mode at CPL 0, or
 * refused. Neutral code all the same: struct exit, never a VMCB.
 */
#include "hv/handlers.h"

#include "hv/cpu.h"
#include "hv/guest.h"
#include "hv/mode.h"

/* What POPF and IRET change at CPL 0: not VM, VIP, VIF (APM vol 3, POPF). */
#define RFLAGS_POPPED 0x247fd5u

#define ERROR_EXT BIT(0) /* error codes of selectors, APM vol 2, 8.4.1 */
#define ERROR_IDT BIT(1)

/* The low half of a gate, APM vol 2, Figure 4-24. */
#define GATE_PRESENT BIT(47)

/* n quadwords of the stack from rsp on; an address that is not the guest's
 * memory would be #PF or #SS for the guest, which no scenario asks for. */
static u64 *stack(u64 rsp, u32 n)
{
    return guest_memory(rsp, n * sizeof(u64));
}

bool handle_pushf(struct vcpu *v)
{
    u64 rsp = v->ops->get(v, REG_RSP) - sizeof(u64);
    u64 *top = stack(rsp, 1);

    if (!top)
        return handle_unexpected(v);
    *top = v->ops->get(v, REG_RFLAGS) & ~(RFLAGS_RF | RFLAGS_VM);
    v->ops->set(v, REG_RSP, rsp);
    v->path |= PATH_WROTE;
    return advance(v);
}

static void set_flags(struct vcpu *v, u64 value)
{
    u64 kept = v->ops->get(v, REG_RFLAGS) & ~(RFLAGS_POPPED | RFLAGS_RF);

    v->ops->set(v, REG_RFLAGS, kept | (value & RFLAGS_POPPED));
    v->path |= PATH_WROTE;
}

bool handle_popf(struct vcpu *v)
{
    u64 rsp = v->ops->get(v, REG_RSP);
    const u64 *top = stack(rsp, 1);

    if (!top)
        return handle_unexpected(v);
    set_flags(v, *top);
    v->ops->set(v, REG_RSP, rsp + sizeof(u64));
    return advance(v);
}

/* Within 64-bit mode at CPL 0: CS and SS stay what they are. */
bool handle_iret(struct vcpu *v)
{
    const u64 *frame = stack(v->ops->get(v, REG_RSP), 5);

    if (!frame || frame[1] != GUEST_CS)
        return handle_unexpected(v);
    v->ops->advance(v, 0); /* no interrupt shadow any more */
    v->ops->set(v, REG_RIP, frame[0]);
    set_flags(v, frame[2]);
    v->ops->set(v, REG_RSP, frame[3]);
    return resume(v);
}

static bool not_present(struct vcpu *v, u32 error)
{
    const struct event e = {.type = EVENT_EXCEPTION,
                            .vector = VECTOR_NP,
                            .has_error = true,
                            .error = error};

    return inject(v, &e);
}

/*
 * INT n and ICEBP through the guest's IDT, by software: without nRIP save
 * hardware cannot inject the first, and the second never (APM 15.20).
 */
static bool through_gate(struct vcpu *v, u8 vector, u32 ext)
{
    const u64 *gate = guest_copy(guest_idt, u64) + 2 * (size_t)vector;
    u64 old = v->ops->get(v, REG_RSP), rsp = (old & ~0xfull) - 5 * sizeof(u64);
    u64 flags = v->ops->get(v, REG_RFLAGS);
    u64 *frame = stack(rsp, 5);

    if (!frame)
        return handle_unexpected(v);
    if (!(gate[0] & GATE_PRESENT))
        return not_present(v, vector * 8u | ERROR_IDT | ext);
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
    return resume(v);
}

/* In other modes the CPU delivers it, from behind the instruction: there only
 * a fault on the way would find RIP in the wrong place. */
bool handle_swint(struct vcpu *v)
{
    u8 vector = v->exit.info.swint.vector;
    const struct event e = {
        .type = EVENT_SOFT_INT, .vector = vector, .length = v->exit.length};

    if (mode_of_code(v) != INSN_64 || v->ops->get(v, REG_CPL))
        return inject(v, &e);
    trace_inject(v->ring, EVENT_SOFT_INT, vector, 0);
    return through_gate(v, vector, 0);
}

bool handle_icebp(struct vcpu *v)
{
    trace_inject(v->ring, EVENT_EXCEPTION, VECTOR_DB, 0);
    return through_gate(v, VECTOR_DB, ERROR_EXT);
}

/* FERR# froze the guest: what a PC's interrupt 13 would do. */
bool handle_ferr_freeze(struct vcpu *v)
{
    const struct event e = {.type = EVENT_INTR, .vector = VECTOR_FERR};

    return inject(v, &e);
}
