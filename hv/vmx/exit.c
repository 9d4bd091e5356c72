/*
 * From a VM exit to struct exit. A VMREAD costs, so only those fields are
 * read that the manual defines for the reason (SDM 28.2).
 */
#include "hv/vmx/vmx.h"

#include "hv/cpu.h"
#include "hv/crossing.h"
#include "hv/mode.h"
#include "hv/msr.h"

/* What the CPU reports with a basic exit reason, beside the reason itself. */
#define LEN  1u /* VM-exit instruction length (SDM 28.2.5) */
#define QUAL 2u /* exit qualification (SDM 28.2.1) */
#define GPA  4u /* guest-physical address */
#define INFO 8u /* more to decode: decode_info() */

/* clang-format off */
static const u8 reports[] = {
    [0]  = INFO,        /* exception or NMI */
    [1]  = INFO,        /* external interrupt */
    [4]  = QUAL | INFO, /* SIPI */
    [9]  = QUAL | INFO, /* task switch */
    [10] = LEN,         /* CPUID */
    [11] = LEN,         /* GETSEC */
    [12] = LEN,         /* HLT */
    [13] = LEN,         /* INVD */
    [14] = LEN | QUAL | INFO, /* INVLPG */
    [15] = LEN,         /* RDPMC */
    [16] = LEN,         /* RDTSC */
    [17] = LEN,         /* RSM */
    [18] = LEN,         /* VMCALL */
    [19] = LEN | QUAL,  /* VMCLEAR */
    [20] = LEN,         /* VMLAUNCH */
    [21] = LEN | QUAL,  /* VMPTRLD */
    [22] = LEN | QUAL,  /* VMPTRST */
    [23] = LEN | QUAL,  /* VMREAD */
    [24] = LEN,         /* VMRESUME */
    [25] = LEN | QUAL,  /* VMWRITE */
    [26] = LEN,         /* VMXOFF */
    [27] = LEN | QUAL,  /* VMXON */
    [28] = LEN | QUAL | INFO, /* control-register access */
    [29] = LEN | QUAL | INFO, /* MOV DR */
    [30] = LEN | QUAL | INFO, /* I/O instruction */
    [31] = LEN | INFO,  /* RDMSR */
    [32] = LEN | INFO,  /* WRMSR */
    [36] = LEN | QUAL,  /* MWAIT */
    [39] = LEN,         /* MONITOR */
    [40] = LEN,         /* PAUSE */
    [44] = QUAL | INFO, /* APIC access */
    [45] = QUAL,        /* virtualized EOI */
    [46] = LEN | QUAL | INFO, /* GDTR or IDTR access */
    [47] = LEN | QUAL | INFO, /* LDTR or TR access */
    [48] = QUAL | GPA | INFO, /* EPT violation */
    [49] = GPA | INFO,  /* EPT misconfiguration */
    [50] = LEN | QUAL,  /* INVEPT */
    [51] = LEN,         /* RDTSCP */
    [53] = LEN | QUAL,  /* INVVPID */
    [54] = LEN,         /* WBINVD, WBNOINVD */
    [55] = LEN,         /* XSETBV */
    [56] = QUAL,        /* APIC write */
    [57] = LEN,         /* RDRAND */
    [58] = LEN | QUAL,  /* INVPCID */
    [59] = LEN,         /* VMFUNC */
    [60] = LEN,         /* ENCLS */
    [61] = LEN,         /* RDSEED */
    [62] = QUAL | INFO, /* page-modification log full */
    [63] = LEN | QUAL,  /* XSAVES */
    [64] = LEN | QUAL,  /* XRSTORS */
    [65] = LEN,         /* PCONFIG */
    [66] = QUAL | GPA | INFO, /* SPP-related event */
    [67] = LEN,         /* UMWAIT */
    [68] = LEN,         /* TPAUSE */
    [69] = LEN,         /* LOADIWKEY */
    [70] = LEN,         /* ENCLV */
    [72] = LEN | QUAL,  /* ENQCMD PASID failure */
    [73] = LEN | QUAL,  /* ENQCMDS PASID failure */
    [75] = QUAL,        /* instruction timeout */
    [76] = LEN,         /* SEAMCALL */
    [77] = LEN,         /* TDCALL */
    [78] = LEN | QUAL,  /* RDMSRLIST */
    [79] = LEN | QUAL,  /* WRMSRLIST */
    [80] = LEN | QUAL,  /* URDMSR */
    [81] = LEN | QUAL,  /* UWRMSR */
    [84] = LEN | QUAL,  /* RDMSR, immediate form */
    [85] = LEN | QUAL,  /* WRMSRNS, immediate form */
};
/* clang-format on */

/*
 * The kind of an exit of which struct exit holds the length and no more, 0 for
 * the others. Most instructions are like that, and for them decode_plain() is
 * three VMREADs and a look-up.
 */
static u8 plain_kinds[ARRAY_SIZE(reports)];

void vmx_decode_init(void)
{
    for (u32 reason = 0; reason < ARRAY_SIZE(reports); reason++)
        if ((reports[reason] & (LEN | INFO)) == LEN)
            plain_kinds[reason] = (u8)exit_kind_vmx(reason);
}

/* SDM 28.2.4 (Information for VM Exits During Event Delivery). The length of
 * the instruction is reported for the soft types, and for nothing else (SDM
 * 28.2.5). */
bool vmx_vectoring(struct vcpu *v, struct event *e)
{
    u32 info = (u32)vmread(VMCS_IDT_VECTORING_INFO);

    (void)v;
    if (!(info & INTR_VALID))
        return false;
    *e = (struct event){
        .type = (u8)INTR_TYPE(info),
        .vector = INTR_VECTOR(info),
        .has_error = (info & INTR_HAS_ERROR) != 0,
    };
    if (e->has_error)
        e->error = (u32)vmread(VMCS_IDT_VECTORING_ERROR);
    if (e->type >= EVENT_SOFT_INT)
        e->length = (u8)vmread(VMCS_EXIT_INSTRUCTION_LENGTH);
    return true;
}

/* The instruction whose event delivery the exit interrupted. */
static u8 delivery_length(void)
{
    struct event e;

    return vmx_vectoring(NULL, &e) ? e.length : 0;
}

/* Reason 0, SDM 28.2.2 (Information for VM Exits Due to Vectored Events). */
static void decode_exception(struct exit *e)
{
    u32 info = (u32)vmread(VMCS_EXIT_INTERRUPTION_INFO);
    u8 vector = INTR_VECTOR(info), type = INTR_TYPE(info);

    if (type == EVENT_NMI) {
        e->kind = EXIT_NMI;
        e->info.interrupt.vector = VECTOR_NMI;
        e->info.interrupt.acknowledged = true;
        return;
    }
    e->kind = EXIT_EXCEPTION;
    if (type == EVENT_SOFT_EXCEPTION || type == EVENT_PRIVILEGED_SOFT)
        e->length = (u8)vmread(VMCS_EXIT_INSTRUCTION_LENGTH);
    else
        e->length = delivery_length();
    e->info.exception.vector = vector;
    e->info.exception.has_error = (info & INTR_HAS_ERROR) != 0;
    e->info.exception.error = e->info.exception.has_error
                                  ? (u32)vmread(VMCS_EXIT_INTERRUPTION_ERROR)
                                  : 0;
    /* For #PF the qualification is the linear address. */
    e->info.exception.address =
        vector == VECTOR_PF ? vmread(VMCS_EXIT_QUALIFICATION) : 0;
    /* For #DB it has DR6's bits, in their places (Table 28-1). */
    e->info.exception.debug =
        vector == VECTOR_DB ? vmread(VMCS_EXIT_QUALIFICATION) & DEBUG_BITS : 0;
    e->info.exception.type = type;
}

/* Reason 1: the vector only with acknowledge-on-exit (SDM 28.2.2). */
static void decode_interrupt(struct exit *e)
{
    u32 info = (u32)vmread(VMCS_EXIT_INTERRUPTION_INFO);
    bool acknowledged = (info & INTR_VALID) != 0;

    e->info.interrupt.acknowledged = acknowledged;
    e->info.interrupt.vector = acknowledged ? INTR_VECTOR(info) : 0;
}

/* SDM Table 28-3. */
static void decode_cr(struct exit *e, u64 qualification)
{
    static const u8 kinds[] = {
        [QUAL_CR_TO] = EXIT_CR_WRITE,
        [QUAL_CR_FROM] = EXIT_CR_READ,
        [QUAL_CR_CLTS] = EXIT_CLTS,
        [QUAL_CR_LMSW] = EXIT_LMSW,
    };

    e->kind = kinds[QUAL_CR_ACCESS(qualification)];
    e->info.cr.nr = QUAL_CR_NUMBER(qualification);
    e->info.cr.gpr = QUAL_CR_GPR(qualification);
    e->info.cr.insn = e->kind == EXIT_CLTS   ? CR_CLTS
                      : e->kind == EXIT_LMSW ? CR_LMSW
                                             : CR_MOV;
    e->info.cr.memory =
        e->kind == EXIT_LMSW && (qualification & QUAL_CR_MEMORY) != 0;
    e->info.cr.source =
        e->kind == EXIT_LMSW ? QUAL_CR_SOURCE(qualification) : 0;
    e->info.cr.address =
        e->info.cr.memory ? vmread(VMCS_GUEST_LINEAR_ADDRESS) : 0;
}

/* SDM Table 28-4. */
static void decode_dr(struct exit *e, u64 qualification)
{
    e->kind = qualification & QUAL_DR_FROM ? EXIT_DR_READ : EXIT_DR_WRITE;
    e->info.dr.nr = QUAL_DR_NUMBER(qualification);
    e->info.dr.gpr = QUAL_DR_GPR(qualification);
}

/* SDM Table 28-5. For the string forms the instruction information, where the
 * CPU has it (SDM A.1, IA32_VMX_BASIC[54]), else the instruction itself. */
static void decode_io(struct vcpu *v, u64 qualification)
{
    struct exit *e = &v->exit;
    struct insn i;
    u32 info;

    e->info.io.port = QUAL_IO_PORT(qualification);
    e->info.io.size = QUAL_IO_SIZE(qualification);
    e->info.io.in = (qualification & QUAL_IO_IN) != 0;
    e->info.io.string = (qualification & QUAL_IO_STRING) != 0;
    e->info.io.rep = (qualification & QUAL_IO_REP) != 0;
    if (!e->info.io.string)
        return;
    e->info.io.segment = e->info.io.in ? SEG_ES : SEG_DS;
    if (rdmsr(MSR_VMX_BASIC) & VMX_BASIC_INS_OUTS) {
        info = (u32)vmread(VMCS_EXIT_INSTRUCTION_INFO);
        e->info.io.address_size = (u8)(2 << INFO_IO_ADDRESS(info));
        if (!e->info.io.in)
            e->info.io.segment = INFO_IO_SEGMENT(info);
    } else if (mode_decode(v, &i)) {
        e->info.io.address_size = i.address_size;
        if (!e->info.io.in && (i.prefixes & PREFIX_SEG))
            e->info.io.segment = i.segment;
    }
}

/* SDM Table 28-7; a misconfiguration has the address alone. */
static void decode_ept(struct exit *e, u64 qualification, bool violation)
{
    e->info.npf.gpa = vmread(VMCS_GUEST_PHYSICAL_ADDRESS);
    e->info.npf.gla_valid = violation && (qualification & QUAL_EPT_GLA_VALID);
    e->info.npf.gla =
        e->info.npf.gla_valid ? vmread(VMCS_GUEST_LINEAR_ADDRESS) : 0;
    e->info.npf.final =
        e->info.npf.gla_valid && (qualification & QUAL_EPT_FINAL) != 0;
    e->info.npf.access = violation ? QUAL_EPT_ACCESS(qualification) : 0;
    e->length = delivery_length();
}

/* SDM 26.4.2 and Table 28-2: by an instruction, or by an event's gate, whose
 * error code goes along with the IDT-vectoring information. */
static void decode_task(struct exit *e, u64 qualification)
{
    u32 event = (u32)vmread(VMCS_IDT_VECTORING_INFO);
    bool gate = QUAL_TASK_SOURCE(qualification) == TASK_GATE;
    bool has_error = gate && (event & INTR_VALID) && (event & INTR_HAS_ERROR);

    e->length =
        gate ? delivery_length() : (u8)vmread(VMCS_EXIT_INSTRUCTION_LENGTH);
    e->info.task.selector = (u16)qualification;
    e->info.task.source = QUAL_TASK_SOURCE(qualification);
    e->info.task.rf = (vmread(VMCS_GUEST_RFLAGS) & RFLAGS_RF) != 0;
    e->info.task.has_error = has_error;
    e->info.task.error = has_error ? (u32)vmread(VMCS_IDT_VECTORING_ERROR) : 0;
}

/* Reasons 46 and 47, SDM 28.2.5: which of four instructions. */
static void decode_table(struct exit *e, bool system)
{
    static const u8 kinds[2][4] = {
        {EXIT_SGDT, EXIT_SIDT, EXIT_LGDT, EXIT_LIDT},
        {EXIT_SLDT, EXIT_STR, EXIT_LLDT, EXIT_LTR},
    };
    u32 info = (u32)vmread(VMCS_EXIT_INSTRUCTION_INFO);

    e->kind = kinds[system][INFO_TABLE_INSTRUCTION(info)];
}

static void decode_info(struct vcpu *v, u32 reason, u64 qualification)
{
    struct exit *e = &v->exit;

    switch (reason) {
    case REASON_EXCEPTION_NMI:
        decode_exception(e);
        break;
    case REASON_EXTERNAL_INT:
        decode_interrupt(e);
        break;
    case REASON_SIPI: /* SDM 28.2.1: the vector, in bits 7:0 */
        e->info.interrupt.vector = (u8)qualification;
        e->info.interrupt.acknowledged = true;
        break;
    case REASON_TASK_SWITCH:
        decode_task(e, qualification);
        break;
    case REASON_INVLPG:
        e->info.invlpg.address = qualification;
        break;
    case REASON_CR_ACCESS:
        decode_cr(e, qualification);
        break;
    case REASON_DR_ACCESS:
        decode_dr(e, qualification);
        break;
    case REASON_IO:
        decode_io(v, qualification);
        break;
    case REASON_RDMSR:
    case REASON_WRMSR:
        e->info.msr.index = (u32)v->regs.gpr[RCX];
        break;
    case REASON_GDTR_IDTR:
    case REASON_LDTR_TR:
        decode_table(e, reason == REASON_LDTR_TR);
        break;
    case REASON_EPT_VIOLATION:
    case REASON_EPT_MISCONFIG:
        decode_ept(e, qualification, reason == REASON_EPT_VIOLATION);
        break;
    default: /* APIC access, log full, SPP: in the middle of a delivery? */
        e->length = delivery_length();
        break;
    }
}

/*
 * The entry did not begin (SDM 27.1, 27.2): no exit, no reason, the guest's
 * state untouched. The code cannot be taken for a reason; its low half is the
 * VM-instruction error (SDM 31.4), 0 for VMfailInvalid: no current VMCS.
 */
static void decode_vmfail(struct vcpu *v)
{
    struct exit *e = &v->exit;
    u64 error = 0;

    v->vendor[SLOT_VMFAIL] = 0;
    if (!vmread_checked(VMCS_VM_INSTRUCTION_ERROR, &error))
        error = 0;
    e->kind = EXIT_ENTRY_INVALID;
    e->code = 0xffff0000u | (u32)error;
    e->rip = error ? vmread(VMCS_GUEST_RIP) : 0;
    e->length = 0;
}

/* The entry had begun (SDM 27.8): no guest ran, and the launch state stays as
 * it was. Whatever the basic reason, bit 31 says what it means. */
static void decode_failed_entry(struct exit *e, u32 basic)
{
    enum exit_kind kind = exit_kind_vmx(basic);

    e->kind = kind == EXIT_ENTRY_MSR_LOAD || kind == EXIT_ENTRY_MACHINE_CHECK
                  ? (u8)kind
                  : EXIT_ENTRY_INVALID;
    e->length = 0;
}

void vmx_decode(struct vcpu *v)
{
    struct exit *e = &v->exit;
    u32 reason, basic;
    u8 what;

    if (v->vendor[SLOT_VMFAIL]) {
        decode_vmfail(v);
        return;
    }
    reason = (u32)vmread(VMCS_EXIT_REASON);
    basic = reason & REASON_BASIC;
    what = basic < ARRAY_SIZE(reports) ? reports[basic] : 0;
    e->code = reason;
    e->rip = vmread(VMCS_GUEST_RIP);
    if (reason & REASON_ENTRY_FAILED) {
        decode_failed_entry(e, basic);
        return;
    }
    v->vendor[SLOT_LAUNCHED] = 1;
    e->kind = (u8)exit_kind_vmx(basic);
    e->length = what & LEN ? (u8)vmread(VMCS_EXIT_INSTRUCTION_LENGTH) : 0;
    if (what & INFO)
        decode_info(v, basic,
                    what & QUAL ? vmread(VMCS_EXIT_QUALIFICATION) : 0);
}

static bool decode_plain(struct vcpu *v)
{
    struct exit *e = &v->exit;
    u32 reason = (u32)vmread(VMCS_EXIT_REASON);
    /* A reason with flags above its basic part is out of range here. */
    u8 kind = reason < ARRAY_SIZE(reports) ? plain_kinds[reason] : 0;

    if (!kind || v->vendor[SLOT_VMFAIL])
        return false;
    v->vendor[SLOT_LAUNCHED] = 1;
    e->kind = kind;
    e->code = reason;
    e->rip = vmread(VMCS_GUEST_RIP);
    e->length = (u8)vmread(VMCS_EXIT_INSTRUCTION_LENGTH);
    return true;
}

bool vmx_exited(struct vcpu *v, u64 tsc)
{
    return crossing_out(v, tsc, decode_plain);
}

/* Does the basic reason come with an exit qualification? */
bool vmx_qualifies(u32 basic)
{
    return basic < ARRAY_SIZE(reports) && (reports[basic] & QUAL);
}

/* The qualification of these is the displacement of a memory operand; with a
 * register operand it is undefined (SDM 28.2.1). */
static bool register_operand(u32 reason)
{
    return (reason == REASON_VMREAD || reason == REASON_VMWRITE ||
            reason == REASON_LDTR_TR) &&
           (vmread(VMCS_EXIT_INSTRUCTION_INFO) & INFO_REGISTER_OPERAND) != 0;
}

void vmx_raw(struct vcpu *v, struct exit_raw *raw)
{
    u32 basic = (u32)vmread(VMCS_EXIT_REASON) & REASON_BASIC;
    u8 what = basic < ARRAY_SIZE(reports) ? reports[basic] : 0;

    (void)v;
    raw->info1 = register_operand(basic) ? 0 : vmread(VMCS_EXIT_QUALIFICATION);
    raw->info2 = what & GPA ? vmread(VMCS_GUEST_PHYSICAL_ADDRESS) : 0;
    raw->intr = basic == REASON_EXCEPTION_NMI || basic == REASON_EXTERNAL_INT
                    ? (u32)vmread(VMCS_EXIT_INTERRUPTION_INFO)
                    : 0;
}
