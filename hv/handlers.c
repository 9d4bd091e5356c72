/*
 * The neutral handlers: one small function per exit kind. They see struct
 * exit, never a VMCS or a VMCB; the trace calls of all exits stand here and
 * in hv/run.c, once for both vendors.
 */
#include "hv/handlers.h"

#include "guest/scenario.h"
#include "hv/console.h"
#include "hv/cpu.h"
#include "hv/entry.h"
#include "hv/guest.h"
#include "hv/mode.h"
#include "hv/msr.h"
#include "hv/nested.h"
#include "hv/scenario.h"
#include "trace/trace.h"

/* Never silent: what came, and the whole control block. */
bool handle_unexpected(struct vcpu *v)
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
static bool handle_entry_failed(struct vcpu *v)
{
    if (v->run && v->run->scenario->rule)
        return stop(v, STOP_FINAL);
    entry_explain(v);
    return handle_unexpected(v);
}

static bool handle_cpuid(struct vcpu *v)
{
    u64 *gpr = v->regs.gpr;
    u32 leaf = (u32)gpr[RAX], subleaf = (u32)gpr[RCX];
    u64 rax = leaf, rbx, rcx = subleaf, rdx;

    if (leaf == CPUID_LEAF) {
        rbx = CPUID_SIGNATURE_EBX;
        rcx = CPUID_SIGNATURE_ECX;
        rdx = CPUID_SIGNATURE_EDX;
    } else {
        cpuid_registers(&rax, &rbx, &rcx, &rdx);
    }
    gpr[RAX] = rax;
    gpr[RBX] = rbx;
    gpr[RCX] = rcx;
    gpr[RDX] = rdx;
    trace_cpuid(v->ring, leaf, subleaf, (u32)rax, (u32)rbx, (u32)rcx, (u32)rdx);
    return emulated(v);
}

/* HLT, PAUSE, VMLOAD, GETSEC and their like: stepped over, the guest finds
 * nothing changed. */
bool handle_ignored(struct vcpu *v)
{
    return advance(v);
}

/* Trap-like exits: what the guest did is done, or was mended. */
bool handle_resumed(struct vcpu *v)
{
    return resume(v);
}

static bool handle_rdtsc(struct vcpu *v)
{
    u64 value = v->device[DEVICE_TSC];

    v->regs.gpr[RAX] = (u32)value;
    v->regs.gpr[RDX] = value >> 32;
    trace_tsc(v->ring, value);
    return emulated(v);
}

static bool handle_invlpg(struct vcpu *v)
{
    trace_invlpg(v->ring, v->exit.info.invlpg.address);
    v->ops->flush(v);
    v->path |= PATH_FLUSH;
    return advance(v);
}

/* The two that end a scenario are known by where they are, so that they need
 * no register of the guest's. */
static bool handle_hypercall(struct vcpu *v)
{
    u64 *gpr = v->regs.gpr, at = mode_linear_rip(v);

    trace_hypercall(v->ring, gpr[RAX], gpr[RBX]);
    if (at == GUEST_GPA(guest_done))
        return stop(v, STOP_DONE);
    if (at == GUEST_GPA(guest_abort))
        return stop(v, STOP_ABORT);
    gpr[RAX] = gpr[RBX] + 1;
    return emulated(v);
}

/* One emulated MSR stands for all but EFER, on which the mode depends. */
static bool handle_msr_read(struct vcpu *v)
{
    u64 value = v->exit.info.msr.index == MSR_EFER ? v->ops->get(v, REG_EFER)
                                                   : v->device[DEVICE_MSR];

    v->regs.gpr[RAX] = (u32)value;
    v->regs.gpr[RDX] = value >> 32;
    trace_msr(v->ring, DIR_READ, v->exit.info.msr.index, value);
    return emulated(v);
}

static bool handle_msr_write(struct vcpu *v)
{
    u64 value = (u32)v->regs.gpr[RAX] | v->regs.gpr[RDX] << 32;

    v->device[DEVICE_MSR] = value;
    if (v->exit.info.msr.index == MSR_EFER) {
        v->ops->set(v, REG_EFER, value);
        mode_changed(v);
    }
    trace_msr(v->ring, DIR_WRITE, v->exit.info.msr.index, value);
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
static bool handle_string_io(struct vcpu *v, u32 in_value)
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
    trace_io(v->ring, in ? DIR_INS : DIR_OUTS, v->exit.info.io.port, size,
             (u32)count, value);
    return emulated(v);
}

static bool handle_io(struct vcpu *v)
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
    trace_io(v->ring, in ? DIR_IN : DIR_OUT, v->exit.info.io.port, size, 1,
             value);
    return emulated(v);
}

bool inject(struct vcpu *v, const struct event *e)
{
    queue_event(v, e);
    return resume(v);
}

bool refuse(struct vcpu *v, u8 vector)
{
    const struct event e = {.type = EVENT_EXCEPTION,
                            .vector = vector,
                            .has_error = vector == VECTOR_GP};

    return inject(v, &e);
}

/* What the CPU does when it delivers an exception, but neither vendor when it
 * exits or injects: CR2 (SDM 28.1, APM 15.12.15); on VT-x DR6 and DR7.GD, too
 * (on AMD-V they are done, 15.12.2, and doing them twice does no harm). */
static void note_exception(struct vcpu *v)
{
    u64 debug = v->exit.info.exception.debug;

    if (v->exit.info.exception.vector == VECTOR_PF)
        v->ops->set(v, REG_CR2, v->exit.info.exception.address);
    if (debug)
        v->ops->set(v, REG_DR6, v->ops->get(v, REG_DR6) | debug);
    if (debug & DEBUG_BD)
        v->ops->set(v, REG_DR7, v->ops->get(v, REG_DR7) & ~DR7_GD);
}

/* Back into the guest as it was, or as the double fault that it makes. The
 * software exceptions return behind the instruction, so its length goes
 * along. */
static bool handle_exception(struct vcpu *v)
{
    struct event e = {
        .type = v->exit.info.exception.type,
        .vector = v->exit.info.exception.vector,
        /* Real mode has none to deliver (SDM 27.2.1.3). */
        .has_error = v->exit.info.exception.has_error &&
                     (v->ops->get(v, REG_CR0) & CR0_PE),
        .length = v->exit.length,
        .error = v->exit.info.exception.error,
    };

    trace_exception(v->ring, e.vector, e.error, v->exit.info.exception.address);
    note_exception(v);
    return deliver(v, &e);
}

/* A hole that a scenario made in the probe page or the large page is filled;
 * any other fault is the guest going astray. */
static bool handle_nested_fault(struct vcpu *v)
{
    u64 gpa = v->exit.info.npf.gpa;
    u8 access = v->exit.info.npf.access;
    u32 all = ACCESS_R | ACCESS_W | ACCESS_X;

    trace_nested_fault(v->ring,
                       access & ACCESS_X   ? DIR_EXECUTE
                       : access & ACCESS_W ? DIR_WRITE
                                           : DIR_READ,
                       gpa,
                       v->exit.info.npf.gla_valid ? v->exit.info.npf.gla : 0);
    if (gpa / PAGE_SIZE == GUEST_PROBE / PAGE_SIZE)
        nested_map(v, GUEST_PROBE, guest_probe_page(), all);
    else if (gpa / GUEST_LARGE_SIZE == GUEST_LARGE / GUEST_LARGE_SIZE)
        nested_map_large(v, GUEST_LARGE, guest_large_page(), all);
    else
        return handle_unexpected(v);
    v->ops->flush(v);
    v->path |= PATH_MAPPED | PATH_FLUSH;
    redeliver(v);
    return resume(v);
}

static bool handle_triple_fault(struct vcpu *v)
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
    [EXIT_HLT] = handle_ignored,
    [EXIT_RDTSC] = handle_rdtsc,
    [EXIT_INVLPG] = handle_invlpg,
    [EXIT_HYPERCALL] = handle_hypercall,
    [EXIT_MSR_READ] = handle_msr_read,
    [EXIT_MSR_WRITE] = handle_msr_write,
    [EXIT_CR_READ] = handle_cr_read,
    [EXIT_CR_WRITE] = handle_cr_write,
    [EXIT_CLTS] = handle_cr_write,
    [EXIT_LMSW] = handle_cr_write,
    [EXIT_CR0_SEL_WRITE] = handle_cr_write,
    [EXIT_DR_READ] = handle_dr_read,
    [EXIT_DR_WRITE] = handle_dr_write,
    [EXIT_RDTSCP] = handle_rdtscp,
    [EXIT_BUS_LOCK] = handle_bus_lock,
    [EXIT_RSM] = handle_undefined,
    [EXIT_INVD] = handle_ignored,
    [EXIT_WBINVD] = handle_ignored,
    [EXIT_RDPMC] = handle_ignored,
    [EXIT_MONITOR] = handle_ignored,
    [EXIT_MWAIT] = handle_ignored,
    [EXIT_PAUSE] = handle_ignored,
    [EXIT_XSETBV] = handle_ignored,
    [EXIT_INVPCID] = handle_ignored,
    [EXIT_RDRAND] = handle_ignored,
    [EXIT_RDSEED] = handle_ignored,
    [EXIT_SGDT] = handle_ignored,
    [EXIT_SIDT] = handle_ignored,
    [EXIT_LGDT] = handle_ignored,
    [EXIT_LIDT] = handle_ignored,
    [EXIT_SLDT] = handle_ignored,
    [EXIT_STR] = handle_ignored,
    [EXIT_LLDT] = handle_ignored,
    [EXIT_LTR] = handle_ignored,
    [EXIT_PCONFIG] = handle_ignored,
    [EXIT_UMWAIT] = handle_ignored,
    [EXIT_TPAUSE] = handle_ignored,
    [EXIT_LOADIWKEY] = handle_ignored,
    [EXIT_ENQCMD] = handle_ignored,
    [EXIT_ENQCMDS] = handle_ignored,
    [EXIT_SEAMCALL] = handle_ignored,
    [EXIT_TDCALL] = handle_ignored,
    [EXIT_RDMSRLIST] = handle_ignored,
    [EXIT_WRMSRLIST] = handle_ignored,
    [EXIT_URDMSR] = handle_ignored,
    [EXIT_UWRMSR] = handle_ignored,
    [EXIT_RDMSR_IMM] = handle_ignored,
    [EXIT_WRMSRNS_IMM] = handle_ignored,
    [EXIT_RDPRU] = handle_ignored,
    [EXIT_INVLPGB] = handle_ignored,
    [EXIT_INVLPGB_ILLEGAL] = handle_ignored,
    [EXIT_MCOMMIT] = handle_ignored,
    [EXIT_TLBSYNC] = handle_ignored,
    [EXIT_IO] = handle_io,
    [EXIT_EXCEPTION] = handle_exception,
    [EXIT_INTERRUPT] = handle_interrupt,
    [EXIT_NMI] = handle_nmi,
    [EXIT_SMI] = handle_smi,
    [EXIT_INIT] = handle_init,
    [EXIT_SIPI] = handle_sipi,
    [EXIT_INTERRUPT_WINDOW] = handle_window,
    [EXIT_NMI_WINDOW] = handle_window,
    [EXIT_PREEMPTION_TIMER] = handle_preemption_timer,
    [EXIT_NESTED_FAULT] = handle_nested_fault,
    [EXIT_TRIPLE_FAULT] = handle_triple_fault,
    [EXIT_TASK_SWITCH] = handle_task_switch,
    [EXIT_PUSHF] = handle_pushf,
    [EXIT_POPF] = handle_popf,
    [EXIT_IRET] = handle_iret,
    [EXIT_SWINT] = handle_swint,
    [EXIT_ICEBP] = handle_icebp,
    [EXIT_SKINIT] = handle_undefined,
    [EXIT_VMRUN] = handle_ignored,
    [EXIT_VMLOAD] = handle_ignored,
    [EXIT_VMSAVE] = handle_ignored,
    [EXIT_STGI] = handle_ignored,
    [EXIT_CLGI] = handle_ignored,
    [EXIT_INVLPGA] = handle_ignored,
    [EXIT_MWAIT_ARMED] = handle_ignored,
    [EXIT_IDLE_HLT] = handle_ignored,
    [EXIT_FERR_FREEZE] = handle_ferr_freeze,
    [EXIT_AVIC_INCOMPLETE_IPI] = handle_resumed,
    [EXIT_AVIC_NOACCEL] = handle_resumed,
    [EXIT_ENTRY_INVALID] = handle_entry_failed,
    [EXIT_ENTRY_MSR_LOAD] = handle_entry_failed,
    [EXIT_VMCLEAR] = handle_vmx_instruction,
    [EXIT_VMLAUNCH] = handle_vmx_instruction,
    [EXIT_VMPTRLD] = handle_vmx_instruction,
    [EXIT_VMPTRST] = handle_vmx_instruction,
    [EXIT_VMREAD] = handle_vmx_instruction,
    [EXIT_VMRESUME] = handle_vmx_instruction,
    [EXIT_VMWRITE] = handle_vmx_instruction,
    [EXIT_VMXOFF] = handle_vmx_instruction,
    [EXIT_VMXON] = handle_vmx_instruction,
    [EXIT_INVEPT] = handle_vmx_instruction,
    [EXIT_INVVPID] = handle_vmx_instruction,
    [EXIT_GETSEC] = handle_ignored,
    [EXIT_VMFUNC] = handle_ignored,
    [EXIT_ENCLS] = handle_ignored,
    [EXIT_ENCLV] = handle_ignored,
    [EXIT_XSAVES] = handle_ignored,
    [EXIT_XRSTORS] = handle_ignored,
    [EXIT_MONITOR_TRAP] = handle_resumed,
    [EXIT_NOTIFY] = handle_resumed,
    [EXIT_APIC_WRITE] = handle_resumed,
    [EXIT_VIRTUAL_EOI] = handle_resumed,
    [EXIT_TPR_THRESHOLD] = handle_tpr_threshold,
    [EXIT_APIC_ACCESS] = handle_apic_access,
    [EXIT_NESTED_MISCONFIG] = handle_nested_misconfig,
    [EXIT_SPP_EVENT] = handle_spp_event,
    [EXIT_PML_FULL] = handle_pml_full,
};
#pragma GCC diagnostic pop
