/*
 * The neutral handlers: one small function per exit kind. They see struct
 * exit, never a VMCS or a VMCB; the trace calls of all exits stand here and
 * in hv/run.c, once for both vendors.
 */
#include "hv/handlers.h"

#include "guest/scenario.h"
#include "hv/apic.h"
#include "hv/console.h"
#include "hv/cpu.h"
#include "hv/entry.h"
#include "hv/fault.h"
#include "hv/guest.h"
#include "hv/mode.h"
#include "hv/msr.h"
#include "hv/nested.h"
#include "hv/run.h"
#include "hv/scenario.h"
#include "trace/trace.h"

static enum next stop(struct vcpu *v, enum stop why)
{
    v->stop = (u8)why;
    return NEXT_STOP;
}

/* The instruction was emulated: the guest finds its result behind it. */
static enum next emulated(struct vcpu *v)
{
    v->path |= PATH_WROTE;
    return NEXT_ADVANCE;
}

/* Never silent: what came, and the whole control block. */
enum next handle_unexpected(struct vcpu *v)
{
    struct exit_raw raw;

    v->ops->raw(v, &raw);
    print("unexpected exit: %s, code 0x%x, rip 0x%llx, info 0x%llx 0x%llx\n",
          exit_row_of(v->exit.kind)->name, v->exit.code,
          (unsigned long long)v->exit.rip, (unsigned long long)raw.info1,
          (unsigned long long)raw.info2);
    v->ops->dump(v);
    return stop(v, STOP_UNEXPECTED);
}

/* Expected where a scenario breaks a rule; else the user wants to know which
 * rule it was. */
static enum next handle_entry_failed(struct vcpu *v)
{
    if (v->run && v->run->scenario->rule)
        return stop(v, STOP_FINAL);
    entry_explain(v);
    return handle_unexpected(v);
}

static enum next handle_cpuid(struct vcpu *v)
{
    u64 *gpr = v->regs.gpr;
    u32 leaf = (u32)gpr[RAX], subleaf = (u32)gpr[RCX];
    u32 out[4] = {CPUID_LEAF, CPUID_SIGNATURE_EBX, CPUID_SIGNATURE_ECX,
                  CPUID_SIGNATURE_EDX};

    if (leaf != CPUID_LEAF)
        cpuid(leaf, subleaf, out);
    gpr[RAX] = out[0];
    gpr[RBX] = out[1];
    gpr[RCX] = out[2];
    gpr[RDX] = out[3];
    trace_cpuid(v->ring, v->exit_tsc, leaf, subleaf, out[0], out[1], out[2],
                out[3]);
    return emulated(v);
}

static enum next handle_hlt(struct vcpu *v)
{
    (void)v;
    return NEXT_ADVANCE;
}

static enum next handle_rdtsc(struct vcpu *v)
{
    u64 value = v->device[DEVICE_TSC];

    v->regs.gpr[RAX] = (u32)value;
    v->regs.gpr[RDX] = value >> 32;
    trace_tsc(v->ring, v->exit_tsc, value);
    return emulated(v);
}

static enum next handle_invlpg(struct vcpu *v)
{
    trace_invlpg(v->ring, v->exit_tsc, v->exit.info.invlpg.address);
    v->ops->flush(v);
    v->path |= PATH_FLUSH;
    return NEXT_ADVANCE;
}

/* The two that end a scenario are known by where they are, so that they need
 * no register of the guest's. */
static enum next handle_hypercall(struct vcpu *v)
{
    u64 *gpr = v->regs.gpr, at = mode_linear_rip(v);

    trace_hypercall(v->ring, v->exit_tsc, gpr[RAX], gpr[RBX]);
    if (at == GUEST_GPA(guest_done))
        return stop(v, STOP_DONE);
    if (at == GUEST_GPA(guest_abort))
        return stop(v, STOP_ABORT);
    gpr[RAX] = gpr[RBX] + 1;
    return emulated(v);
}

/* One emulated MSR stands for all but EFER, on which the mode depends. */
static enum next handle_msr_read(struct vcpu *v)
{
    u64 value = v->exit.info.msr.index == MSR_EFER ? v->ops->get(v, REG_EFER)
                                                   : v->device[DEVICE_MSR];

    v->regs.gpr[RAX] = (u32)value;
    v->regs.gpr[RDX] = value >> 32;
    trace_msr(v->ring, v->exit_tsc, DIR_READ, v->exit.info.msr.index, value);
    return emulated(v);
}

static enum next handle_msr_write(struct vcpu *v)
{
    u64 value = (u32)v->regs.gpr[RAX] | v->regs.gpr[RDX] << 32;

    v->device[DEVICE_MSR] = value;
    if (v->exit.info.msr.index == MSR_EFER) {
        v->ops->set(v, REG_EFER, value);
        mode_changed(v);
    }
    trace_msr(v->ring, v->exit_tsc, DIR_WRITE, v->exit.info.msr.index, value);
    return emulated(v);
}

static enum guest_reg cr_reg(u8 nr)
{
    return nr == 0 ? REG_CR0 : nr == 3 ? REG_CR3 : REG_CR4;
}

static enum next handle_cr_read(struct vcpu *v)
{
    u8 nr = v->exit.info.cr.nr;
    u64 value = nr == 8 ? v->device[DEVICE_CR8] : v->ops->get(v, cr_reg(nr));

    v->regs.gpr[v->exit.info.cr.gpr & 15] = value;
    trace_cr(v->ring, v->exit_tsc, DIR_READ, nr, value);
    return emulated(v);
}

static enum next handle_cr_write(struct vcpu *v)
{
    u8 nr = v->exit.info.cr.nr;
    u64 value = v->regs.gpr[v->exit.info.cr.gpr & 15];

    if (mode_of_code(v) != INSN_64)
        value = (u32)value;
    trace_cr(v->ring, v->exit_tsc, DIR_WRITE, nr, value);
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

static enum next handle_dr_read(struct vcpu *v)
{
    u8 nr = v->exit.info.dr.nr;
    u64 value;

    if (nr != 7)
        return handle_unexpected(v);
    value = v->ops->get(v, REG_DR7);
    v->regs.gpr[v->exit.info.dr.gpr & 15] = value;
    trace_dr(v->ring, v->exit_tsc, DIR_READ, nr, value);
    return emulated(v);
}

static enum next handle_dr_write(struct vcpu *v)
{
    u8 nr = v->exit.info.dr.nr;
    u64 value = v->regs.gpr[v->exit.info.dr.gpr & 15];

    if (nr != 7)
        return handle_unexpected(v);
    if (mode_of_code(v) != INSN_64)
        value = (u32)value;
    v->ops->set(v, REG_DR7, value);
    trace_dr(v->ring, v->exit_tsc, DIR_WRITE, nr, value);
    return emulated(v);
}

/* Adds to a register of which the address size says how much counts: 16 bits
 * leave the rest alone, 32 clear the upper half. */
static void step(u64 *reg, u64 delta, u8 address_size)
{
    u64 sum = *reg + delta;

    *reg = address_size == 2   ? (*reg & ~0xffffull) | (sum & 0xffff)
           : address_size == 4 ? (u32)sum
                               : sum;
}

static u64 address_mask(u8 address_size)
{
    return address_size == 8 ? ~0ull : BIT(8 * address_size) - 1;
}

/* INS and OUTS: all the items at once, between the emulated port and the
 * guest's memory. */
static enum next handle_string_io(struct vcpu *v, u32 in_value)
{
    bool in = v->exit.info.io.in;
    u8 size = v->exit.info.io.size, width = v->exit.info.io.address_size;
    u64 *gpr = v->regs.gpr;
    u64 *pointer = in ? &gpr[RDI] : &gpr[RSI];
    u64 mask = address_mask(width);
    u64 count = v->exit.info.io.rep ? gpr[RCX] & mask : 1;
    u64 delta = v->ops->get(v, REG_RFLAGS) & RFLAGS_DF ? -(u64)size : size;
    u32 value = in_value;

    if (count > PAGE_SIZE)
        return handle_unexpected(v);
    for (u64 n = 0; n < count; n++, step(pointer, delta, width)) {
        u8 *memory = guest_memory(
            mode_linear(v, (enum seg)v->exit.info.io.segment, *pointer & mask),
            size);

        if (!memory)
            return handle_unexpected(v);
        if (in) {
            __builtin_memcpy(memory, &in_value, size);
            continue;
        }
        value = 0;
        __builtin_memcpy(&value, memory, size);
        v->device[DEVICE_OUT] = value;
        v->device[DEVICE_OUT_COUNT]++;
    }
    if (v->exit.info.io.rep)
        step(&gpr[RCX], -count, width);
    trace_io(v->ring, v->exit_tsc, in ? DIR_INS : DIR_OUTS,
             v->exit.info.io.port, size, (u32)count, value);
    return emulated(v);
}

static enum next handle_io(struct vcpu *v)
{
    bool in = v->exit.info.io.in;
    u8 size = v->exit.info.io.size;
    u64 *rax = &v->regs.gpr[RAX];
    u32 mask = size == 1 ? 0xff : size == 2 ? 0xffff : ~0u;
    u32 value;

    if (size != 1 && size != 2 && size != 4)
        return handle_unexpected(v);
    if (v->exit.info.io.string)
        return handle_string_io(v, (u32)v->device[DEVICE_IN] & mask);
    if (in) {
        value = (u32)v->device[DEVICE_IN] & mask;
        *rax = size == 4 ? value : (*rax & ~(u64)mask) | value;
    } else {
        value = (u32)*rax & mask;
        v->device[DEVICE_OUT] = value;
        v->device[DEVICE_OUT_COUNT]++;
    }
    trace_io(v->ring, v->exit_tsc, in ? DIR_IN : DIR_OUT, v->exit.info.io.port,
             size, 1, value);
    return emulated(v);
}

/* Back into the guest as it was. INT3 and INTO are software exceptions: they
 * return behind the instruction, so their length goes along. */
static enum next handle_exception(struct vcpu *v)
{
    u8 vector = v->exit.info.exception.vector;
    bool soft = vector == VECTOR_BP || vector == VECTOR_OF;
    struct event e = {
        .type = soft ? EVENT_SOFT_EXCEPTION : EVENT_EXCEPTION,
        .vector = vector,
        /* Real mode has none to deliver (SDM 27.2.1.3). */
        .has_error = v->exit.info.exception.has_error &&
                     (v->ops->get(v, REG_CR0) & CR0_PE),
        .length = v->exit.length,
        .error = v->exit.info.exception.error,
    };

    trace_exception(v->ring, v->exit_tsc, vector, e.error,
                    v->exit.info.exception.address);
    /* Neither vendor writes CR2 when #PF exits (SDM 28.1, APM 15.12.15). */
    if (vector == VECTOR_PF)
        v->ops->set(v, REG_CR2, v->exit.info.exception.address);
    v->ops->inject(v, &e);
    trace_inject(v->ring, v->exit_tsc, e.type, vector, e.error);
    v->path |= PATH_INJECT;
    return NEXT_RESUME;
}

/* The interrupt is still pending: the host takes it now, by its own IDT. */
static enum next handle_interrupt(struct vcpu *v)
{
    u8 vector = host_take_interrupt();

    trace_interrupt(v->ring, v->exit_tsc, vector);
    v->path |= PATH_HOSTIRQ;
    if (vector == WATCHDOG_VECTOR)
        return stop(v, STOP_TIMEOUT);
    v->device[DEVICE_VECTOR] = vector;
    *guest_copy(guest_flag, u64) = 1;
    watchdog_start(); /* a scenario's own use of the timer ends here */
    return NEXT_RESUME;
}

/* Armed as the watchdog's second way in (hv/run.c). */
static enum next handle_preemption_timer(struct vcpu *v)
{
    return stop(v, STOP_TIMEOUT);
}

/* A hole that a scenario made in the probe page is filled; any other fault is
 * the guest going astray. */
static enum next handle_nested_fault(struct vcpu *v)
{
    u64 gpa = v->exit.info.npf.gpa;
    u8 access = v->exit.info.npf.access;

    trace_nested_fault(v->ring, v->exit_tsc,
                       access & ACCESS_X   ? DIR_EXECUTE
                       : access & ACCESS_W ? DIR_WRITE
                                           : DIR_READ,
                       gpa,
                       v->exit.info.npf.gla_valid ? v->exit.info.npf.gla : 0);
    if (gpa / PAGE_SIZE != GUEST_PROBE / PAGE_SIZE)
        return handle_unexpected(v);
    nested_map(v, GUEST_PROBE, guest_probe_page(),
               ACCESS_R | ACCESS_W | ACCESS_X);
    v->ops->flush(v);
    v->path |= PATH_MAPPED | PATH_FLUSH;
    return NEXT_RESUME;
}

static enum next handle_triple_fault(struct vcpu *v)
{
    return stop(v, STOP_FINAL);
}

/* A kind that has no handler is unexpected, EXIT_NONE first of all. */
#define EXIT(kind, ...) [EXIT_##kind] = handle_unexpected,
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
handler *const handlers[EXIT_KINDS] = {
    [EXIT_NONE] = handle_unexpected,
#include "hv/exit.def"
    [EXIT_CPUID] = handle_cpuid,
    [EXIT_HLT] = handle_hlt,
    [EXIT_RDTSC] = handle_rdtsc,
    [EXIT_INVLPG] = handle_invlpg,
    [EXIT_HYPERCALL] = handle_hypercall,
    [EXIT_MSR_READ] = handle_msr_read,
    [EXIT_MSR_WRITE] = handle_msr_write,
    [EXIT_CR_READ] = handle_cr_read,
    [EXIT_CR_WRITE] = handle_cr_write,
    [EXIT_DR_READ] = handle_dr_read,
    [EXIT_DR_WRITE] = handle_dr_write,
    [EXIT_IO] = handle_io,
    [EXIT_EXCEPTION] = handle_exception,
    [EXIT_INTERRUPT] = handle_interrupt,
    [EXIT_PREEMPTION_TIMER] = handle_preemption_timer,
    [EXIT_NESTED_FAULT] = handle_nested_fault,
    [EXIT_TRIPLE_FAULT] = handle_triple_fault,
    [EXIT_TASK_SWITCH] = handle_task_switch,
    [EXIT_INTERRUPT_WINDOW] = handle_interrupt_window,
    [EXIT_PUSHF] = handle_pushf,
    [EXIT_POPF] = handle_popf,
    [EXIT_IRET] = handle_iret,
    [EXIT_SWINT] = handle_swint,
    [EXIT_ICEBP] = handle_icebp,
    [EXIT_RSM] = handle_undefined,
    [EXIT_SKINIT] = handle_undefined,
    [EXIT_VMRUN] = handle_ignored,
    [EXIT_VMLOAD] = handle_ignored,
    [EXIT_VMSAVE] = handle_ignored,
    [EXIT_STGI] = handle_ignored,
    [EXIT_CLGI] = handle_ignored,
    [EXIT_INVLPGA] = handle_ignored,
    [EXIT_PAUSE] = handle_ignored,
    [EXIT_MWAIT_ARMED] = handle_ignored,
    [EXIT_MWAIT] = handle_ignored,
    [EXIT_IDLE_HLT] = handle_ignored,
    [EXIT_FERR_FREEZE] = handle_ferr_freeze,
    [EXIT_AVIC_INCOMPLETE_IPI] = handle_resumed,
    [EXIT_AVIC_NOACCEL] = handle_resumed,
    [EXIT_ENTRY_INVALID] = handle_entry_failed,
    [EXIT_ENTRY_MSR_LOAD] = handle_entry_failed,
};
#pragma GCC diagnostic pop
