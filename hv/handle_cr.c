/*
 * The handlers of control and debug registers: MOV, CLTS, LMSW and SMSW. What
 * the guest wrote is put where the CPU reads it, so that it takes effect.
 */
#include "hv/handlers.h"

#include "guest/scenario.h"
#include "hv/cpu.h"
#include "hv/guest.h"
#include "hv/lib.h"
#include "hv/mode.h"
#include "trace/trace.h"

#define MSW_BITS  0xffffull /* what SMSW stores with a 16-bit operand */
#define LMSW_BITS (CR0_PE | CR0_MP | CR0_EM | CR0_TS)

/* A general-purpose operand. RSP is in the control block, not among the
 * registers that the stubs save. */
static u64 operand(struct vcpu *v, u8 gpr)
{
    gpr &= GPRS - 1;
    return gpr == RSP ? v->ops->get(v, REG_RSP) : v->regs.gpr[gpr];
}

static void set_operand(struct vcpu *v, u8 gpr, u64 value)
{
    gpr &= GPRS - 1;
    if (gpr == RSP)
        v->ops->set(v, REG_RSP, value);
    else
        v->regs.gpr[gpr] = value;
}

static enum guest_reg cr_reg(u8 nr)
{
    return nr == 0 ? REG_CR0 : nr == 2 ? REG_CR2 : nr == 3 ? REG_CR3 : REG_CR4;
}

/* The source or destination of LMSW and SMSW in memory, NULL: outside the
 * guest's. Flat segments, so the linear address is as good as physical. */
static void *msw_operand(const struct vcpu *v)
{
    return guest_memory(v->exit.info.cr.address, sizeof(u16));
}

/* SMSW to a register stores all of CR0, in the operand size; the one that the
 * guest uses here is 32 bits (SDM vol 2, APM vol 3: SMSW). */
static bool read_msw(struct vcpu *v, u64 cr0)
{
    void *memory;

    if (!v->exit.info.cr.memory) {
        set_operand(v, v->exit.info.cr.gpr, (u32)cr0);
        return emulated(v);
    }
    memory = msw_operand(v);
    if (!memory)
        return handle_unexpected(v);
    memcpy(memory, &cr0, sizeof(u16));
    return emulated(v);
}

bool handle_cr_read(struct vcpu *v)
{
    u8 nr = v->exit.info.cr.nr;
    u64 value = nr == 8 ? v->device[DEVICE_CR8] : v->ops->get(v, cr_reg(nr));

    trace_cr(v->ring, DIR_READ, nr, value);
    if (v->exit.info.cr.insn == CR_SMSW)
        return read_msw(v, value);
    set_operand(v, v->exit.info.cr.gpr, value);
    return emulated(v);
}

/* LMSW can set PE but not clear it. */
static bool load_msw(struct vcpu *v, u64 *cr0)
{
    const void *memory;
    u16 source;

    if (v->exit.info.cr.memory) {
        memory = msw_operand(v);
        if (!memory)
            return false;
        memcpy(&source, memory, sizeof(source));
    } else if (v->exit.kind == EXIT_LMSW) {
        source = v->exit.info.cr.source; /* VT-x names no register */
    } else {
        source = (u16)operand(v, v->exit.info.cr.gpr);
    }
    *cr0 = (*cr0 & ~(LMSW_BITS & ~CR0_PE)) | (source & LMSW_BITS);
    return true;
}

bool handle_cr_write(struct vcpu *v)
{
    u8 nr = v->exit.info.cr.nr;
    u64 value;

    switch (v->exit.info.cr.insn) {
    case CR_CLTS:
        value = v->ops->get(v, REG_CR0) & ~CR0_TS;
        break;
    case CR_LMSW:
        value = v->ops->get(v, REG_CR0);
        if (!load_msw(v, &value))
            return handle_unexpected(v);
        break;
    default:
        value = operand(v, v->exit.info.cr.gpr);
        if (mode_of_code(v) != INSN_64)
            value = (u32)value;
        break;
    }
    trace_cr(v->ring, DIR_WRITE, nr, value);
    if (nr == 8) {
        v->device[DEVICE_CR8] = value;
        return emulated(v);
    }
    v->ops->set(v, cr_reg(nr), value);
    mode_changed(v);
    v->ops->flush(v);
    v->path |= PATH_FLUSH;
    return emulated(v);
}

/*
 * On VT-x the exit comes before the checks that would refuse the access (SDM
 * 26.1.3, MOV DR), so they are made here; on AMD-V it comes behind them.
 * Returns the vector of the refusal, 0 for none.
 */
static u8 dr_refused(struct vcpu *v)
{
    u8 nr = v->exit.info.dr.nr;

    if ((nr == 4 || nr == 5) && (v->ops->get(v, REG_CR4) & CR4_DE))
        return VECTOR_UD;
    return v->ops->get(v, REG_CPL) ? VECTOR_GP : 0;
}

/* The upper halves of DR6 and DR7 are reserved (SDM 18.2.6, APM 13.1.1). */
static bool dr_reserved(enum guest_reg reg, u64 value)
{
    return (reg == REG_DR6 || reg == REG_DR7) && value >> 32;
}

/* Without CR4.DE, DR4 and DR5 are other names of DR6 and DR7 (SDM 18.2.2). */
static enum guest_reg dr_reg(u8 nr)
{
    return nr < 4               ? (enum guest_reg)(REG_DR0 + nr)
           : nr == 4 || nr == 6 ? REG_DR6
                                : REG_DR7;
}

bool handle_dr_read(struct vcpu *v)
{
    u8 nr = v->exit.info.dr.nr, vector = dr_refused(v);
    u64 value;

    if (vector)
        return refuse(v, vector);
    value = v->ops->get(v, dr_reg(nr));
    set_operand(v, v->exit.info.dr.gpr, value);
    trace_dr(v->ring, DIR_READ, nr, value);
    return emulated(v);
}

bool handle_dr_write(struct vcpu *v)
{
    u8 nr = v->exit.info.dr.nr, vector = dr_refused(v);
    u64 value = operand(v, v->exit.info.dr.gpr);

    if (mode_of_code(v) != INSN_64)
        value = (u32)value;
    if (!vector && dr_reserved(dr_reg(nr), value))
        vector = VECTOR_GP;
    if (vector)
        return refuse(v, vector);
    v->ops->set(v, dr_reg(nr), value);
    trace_dr(v->ring, DIR_WRITE, nr, value);
    return emulated(v);
}
