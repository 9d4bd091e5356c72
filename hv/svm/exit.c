/*
 * From EXITCODE, EXITINFO1 and EXITINFO2 to struct exit (APM 15.7 to 15.25,
 * Appendix C), one short function per sort of exit.
 *
 * What newer CPUs report (nRIP save 15.7.1, decode assists 15.8), older ones
 * and QEMU's TCG do not: there hv/insn.c reads it off the instruction.
 */
#include "hv/svm/svm.h"

#include "hv/cpu.h"
#include "hv/crossing.h"
#include "hv/insn.h"
#include "hv/lib.h"
#include "hv/mode.h"

/* Is the exit an instruction's, taken in front of it? Then nRIP holds: the
 * intercepts of 15.9, IOIO, MSR, and the exceptions of INT3, INTO and BOUND
 * (15.7.1). */
static bool has_length(u64 code)
{
    if (code <= VMEXIT_DR15_WRITE)
        return true;
    if (code <= VMEXIT_EXCP31)
        return code >= VMEXIT_EXCP_BP && code <= VMEXIT_EXCP_BR;
    return (code >= VMEXIT_CR0_SEL_WRITE && code < VMEXIT_TASK_SWITCH) ||
           (code >= VMEXIT_VMRUN && code <= VMEXIT_RDPRU) ||
           (code >= VMEXIT_INVLPGB && code <= VMEXIT_TLBSYNC) ||
           code == VMEXIT_IDLE_HLT;
}

static u8 insn_length(struct vcpu *v, const union vmcb *b)
{
    struct insn i;

    if (v->vendor[SLOT_CAPS] & SVM_HAS_NRIPS)
        return (u8)(b->nrip - b->rip);
    if (b->exitcode == VMEXIT_IOIO) /* EXITINFO2: the next RIP (15.10.2) */
        return (u8)(b->exitinfo2 - b->rip);
    return mode_decode(v, &i) ? i.length : 0;
}

/* The linear address of i's memory operand. */
static u64 operand_address(struct vcpu *v, const union vmcb *b,
                           const struct insn *i)
{
    v->regs.gpr[RSP] = b->rsp; /* whose cell the stub leaves alone */
    return mode_linear(v, (enum seg)i->segment,
                       insn_address(i, v->regs.gpr, b->rip + i->length));
}

/* MOV DRn: the general-purpose register is in EXITINFO1[3:0] with decode
 * assists (15.8.1), else in ModRM.rm. */
static u8 moved_gpr(struct vcpu *v, const union vmcb *b)
{
    struct insn i;

    if (v->vendor[SLOT_CAPS] & SVM_HAS_DECODE)
        return b->exitinfo1 & 15;
    return mode_decode(v, &i) ? i.rm : 0xff;
}

/* 15.8.2: INT n's vector, with decode assists, else its immediate. */
static u8 swint_vector(struct vcpu *v, const union vmcb *b)
{
    struct insn i;

    if (v->vendor[SLOT_CAPS] & SVM_HAS_DECODE)
        return (u8)b->exitinfo1;
    return mode_decode(v, &i) ? i.imm : 0xff;
}

/* CR0's codes come from CLTS, LMSW and SMSW, too: then decode assists leave
 * bit 63 clear and say no more (15.8.1). */
static void decode_cr(struct vcpu *v, const union vmcb *b, u8 nr)
{
    static const u8 kinds[INSN_OPS] = {
        [INSN_CLTS] = CR_CLTS, [INSN_LMSW] = CR_LMSW, [INSN_SMSW] = CR_SMSW};
    struct exit *e = &v->exit;
    struct insn i;

    e->info.cr.nr = nr;
    e->info.cr.insn = CR_MOV;
    e->info.cr.memory = false;
    e->info.cr.source = 0;
    e->info.cr.address = 0;
    if ((v->vendor[SLOT_CAPS] & SVM_HAS_DECODE) &&
        (b->exitinfo1 & CR_INFO_MOV)) {
        e->info.cr.gpr = b->exitinfo1 & 15;
        return;
    }
    if (!mode_decode(v, &i)) {
        e->info.cr.gpr = 0xff;
        return;
    }
    e->info.cr.gpr = i.rm;
    e->info.cr.insn = kinds[i.op];
    e->info.cr.memory = i.has_mem;
    if (i.has_mem)
        e->info.cr.address = operand_address(v, b, &i);
}

/* 15.12: the vector is part of the code; EXITINFO1 the error code, for #PF
 * EXITINFO2 the address. Real mode has no error codes (8.6). */
static void decode_exception(struct vcpu *v, const union vmcb *b, u8 vector)
{
    const u32 with_error = 1u << 8 | 1u << 10 | 1u << 11 | 1u << 12 | 1u << 13 |
                           1u << 14 | 1u << 17 | 1u << 21 | 1u << 29 | 1u << 30;
    struct exit *e = &v->exit;

    e->info.exception.vector = vector;
    e->info.exception.has_error =
        (b->cr0 & CR0_PE) && (with_error >> (vector & 31) & 1);
    e->info.exception.error =
        e->info.exception.has_error ? (u32)b->exitinfo1 : 0;
    e->info.exception.address =
        b->exitcode == VMEXIT_EXCP_PF ? b->exitinfo2 : 0;
    /* DR6 is as the guest's handler would find it (15.12.2). */
    e->info.exception.debug =
        b->exitcode == VMEXIT_EXCP_DB ? b->dr6 & DEBUG_BITS : 0;
    e->info.exception.type =
        b->exitcode == VMEXIT_EXCP_BP || b->exitcode == VMEXIT_EXCP_OF
            ? EVENT_SOFT_EXCEPTION
            : EVENT_EXCEPTION;
}

/* 15.10.2, Figure 15-2. Where a string form has its memory is read off the
 * instruction: EXITINFO1 has the segment with decode assists only, and not
 * every CPU model that is emulated fills in the address size. */
static void decode_io(struct vcpu *v, u64 info)
{
    struct exit *e = &v->exit;
    struct insn i;

    e->info.io.port = (u16)(info >> IOIO_PORT_SHIFT);
    e->info.io.size = info >> IOIO_SIZE_SHIFT & 7;
    e->info.io.in = (info & IOIO_IN) != 0;
    e->info.io.string = (info & IOIO_STRING) != 0;
    e->info.io.rep = (info & IOIO_REP) != 0;
    if (!e->info.io.string)
        return;
    e->info.io.segment = e->info.io.in ? SEG_ES : SEG_DS;
    if (mode_decode(v, &i)) {
        e->info.io.address_size = i.address_size;
        if (!e->info.io.in && (i.prefixes & PREFIX_SEG))
            e->info.io.segment = i.segment;
    }
}

/* 15.25.6: a page-fault error code, and in bit 32 that it was the access
 * itself, not the walk of the guest's own tables. No linear address. */
static void decode_npf(struct exit *e, const union vmcb *b)
{
    u64 info = b->exitinfo1;

    e->info.npf.gpa = b->exitinfo2;
    e->info.npf.gla = 0;
    e->info.npf.gla_valid = false;
    e->info.npf.final = (info & NPF_FINAL) != 0;
    e->info.npf.access = info & NPF_FETCH   ? ACCESS_X
                         : info & NPF_WRITE ? ACCESS_W
                                            : ACCESS_R;
}

/* 15.8.3: the linear address in EXITINFO1 with decode assists. */
static void decode_invlpg(struct vcpu *v, const union vmcb *b)
{
    struct exit *e = &v->exit;
    struct insn i;

    if (v->vendor[SLOT_CAPS] & SVM_HAS_DECODE)
        e->info.invlpg.address = b->exitinfo1;
    else if (mode_decode(v, &i)) /* if not, the poison stays */
        e->info.invlpg.address = operand_address(v, b, &i);
}

/* 15.14.1. EXITINTINFO tells a gate in the IDT from CALL. nRIP is not saved;
 * behind what the old task goes on is read off the instruction, if it was one:
 * INT n, INT3 and INTO go through a gate, too. */
static void decode_task(struct vcpu *v, const union vmcb *b)
{
    struct exit *e = &v->exit;
    u64 info = b->exitinfo2, event = b->exitintinfo;
    u8 type = event >> EVENTINJ_TYPE_SHIFT & 7, vector = (u8)event;
    bool gate = (event & EVENTINJ_VALID) != 0;
    bool soft = type == EVENT_SOFT_INT ||
                (type == EVENT_EXCEPTION &&
                 (vector == VECTOR_BP || vector == VECTOR_OF));
    struct insn i;

    e->info.task.selector = (u16)b->exitinfo1;
    e->info.task.source = gate                    ? TASK_GATE
                          : info & TASK_INFO_IRET ? TASK_IRET
                          : info & TASK_INFO_JMP  ? TASK_JMP
                                                  : TASK_CALL;
    e->info.task.rf = (info & TASK_INFO_RF) != 0;
    e->info.task.has_error = (info & TASK_INFO_ERROR) != 0;
    e->info.task.error = e->info.task.has_error ? (u32)info : 0;
    e->length = (!gate || soft) && mode_decode(v, &i) ? i.length : 0;
}

static void decode_info(struct vcpu *v, const union vmcb *b, u8 item)
{
    struct exit *e = &v->exit;

    switch (exit_rows[e->kind].detail) {
    case DETAIL_cr:
        decode_cr(v, b, item);
        break;
    case DETAIL_dr:
        e->info.dr.nr = item;
        e->info.dr.gpr = moved_gpr(v, b);
        break;
    case DETAIL_msr:
        e->info.msr.index = (u32)v->regs.gpr[RCX];
        break;
    case DETAIL_io:
        decode_io(v, b->exitinfo1);
        break;
    case DETAIL_exception:
        decode_exception(v, b, item);
        break;
    case DETAIL_npf:
        decode_npf(e, b);
        break;
    case DETAIL_invlpg:
        decode_invlpg(v, b);
        break;
    case DETAIL_swint:
        e->info.swint.vector = swint_vector(v, b);
        break;
    case DETAIL_interrupt: /* still pending; comes at STGI (15.13) */
        e->info.interrupt.vector = e->kind == EXIT_NMI ? VECTOR_NMI : 0;
        e->info.interrupt.acknowledged = false;
        break;
    case DETAIL_task:
        decode_task(v, b);
        break;
    }
}

/*
 * The kind of an exit that reports its length and no more, 0 for the others.
 * Most instructions are like that, and with nRIP save decode_plain() is for
 * them a look-up and a subtraction.
 */
static u8 plain_kinds[INTERCEPT_CODES];

void svm_decode_init(bool nrips)
{
    for (u32 code = 0; code < INTERCEPT_CODES; code++) {
        u8 item;
        enum exit_kind kind = exit_kind_svm(code, &item);
        bool plain = nrips && has_length(code) &&
                     exit_row_of(kind)->detail == DETAIL_none;

        plain_kinds[code] = (u8)(plain ? kind : EXIT_NONE);
    }
}

/* What was for the last entry only. */
static void entry_over(union vmcb *b)
{
    b->eventinj = 0;
    b->tlb_control = 0;
}

void svm_decode(struct vcpu *v)
{
    union vmcb *b = svm_vmcb(v);
    struct exit *e = &v->exit;
    u64 code = b->exitcode;
    u8 item = 0;

    entry_over(b);
    e->code = (u32)code;
    e->rip = b->rip;
    e->kind = (u8)exit_kind_svm(code, &item);
    if (code == VMEXIT_MSR) /* one code for both ways (15.11) */
        e->kind =
            b->exitinfo1 & MSR_INFO_WRITE ? EXIT_MSR_WRITE : EXIT_MSR_READ;
    e->length = has_length(code) ? insn_length(v, b) : 0;
    decode_info(v, b, item);
}

static bool decode_plain(struct vcpu *v)
{
    union vmcb *b = svm_vmcb(v);
    struct exit *e = &v->exit;
    u64 code = b->exitcode, rip = b->rip;
    u8 kind = code < INTERCEPT_CODES ? plain_kinds[code] : 0;

    if (!kind)
        return false;
    entry_over(b);
    e->kind = kind;
    e->code = (u32)code;
    e->rip = rip;
    e->length = (u8)(b->nrip - rip);
    return true;
}

bool svm_exited(struct vcpu *v, u64 tsc)
{
    return crossing_out(v, tsc, decode_plain);
}

void svm_raw(struct vcpu *v, struct exit_raw *raw)
{
    const union vmcb *b = svm_vmcb(v);

    raw->info1 = b->exitinfo1;
    raw->info2 = b->exitinfo2;
    raw->intr = (u32)b->exitintinfo;
}

/* The length of the instruction that raised the event, 0 where RIP is behind
 * it already, as svm_inject() leaves it. */
static u8 raised_by(struct vcpu *v, enum insn_op op, u8 vector)
{
    struct insn i;

    if (!mode_decode(v, &i) || i.op != op)
        return 0;
    return op != INSN_INT || i.imm == vector ? i.length : 0;
}

/* EXITINTINFO (15.7.2) tells the software exceptions from the others only by
 * their vector. */
bool svm_vectoring(struct vcpu *v, struct event *e)
{
    u64 info = svm_vmcb(v)->exitintinfo;
    u8 vector = (u8)info;

    if (!(info & EVENTINJ_VALID))
        return false;
    *e = (struct event){
        .type = info >> EVENTINJ_TYPE_SHIFT & 7,
        .vector = vector,
        .has_error = (info & EVENTINJ_ERROR_VALID) != 0,
    };
    if (e->has_error)
        e->error = (u32)(info >> EVENTINJ_ERROR_SHIFT);
    if (e->type == EVENT_SOFT_INT) {
        e->length = raised_by(v, INSN_INT, vector);
    } else if (e->type == EVENT_EXCEPTION && vector == VECTOR_BP) {
        e->type = EVENT_SOFT_EXCEPTION;
        e->length = raised_by(v, INSN_INT3, vector);
    } else if (e->type == EVENT_EXCEPTION && vector == VECTOR_OF) {
        e->type = EVENT_SOFT_EXCEPTION;
        e->length = raised_by(v, INSN_INTO, vector);
    } else if (e->type == EVENT_EXCEPTION && vector == VECTOR_DB) {
        e->length = raised_by(v, INSN_ICEBP, vector);
        if (e->length)
            e->type = EVENT_PRIVILEGED_SOFT;
    }
    return true;
}

/* Where a word stands; those that only the CPU writes cannot be set. */
static const struct {
    u16 offset;
    u8 size;  /* 0: VT-x's */
    bool set; /* by software */
} words[] = {
#define WORD(word, field, set)                                                 \
    [RAW_##word] = {offsetof(union vmcb, field),                               \
                    sizeof(((union vmcb *)0)->field), set}
    WORD(EXITINFO1, exitinfo1, false),
    WORD(EXITINFO2, exitinfo2, false),
    WORD(EXITINTINFO, exitintinfo, false),
    WORD(V_INTR, v_intr, true),
    WORD(SHADOW, interrupt_shadow, true),
    WORD(NRIP, nrip, false),
    WORD(FETCHED, fetched, false),
    WORD(PAUSE_COUNT, pause_count, true),
    WORD(PAUSE_THRESHOLD, pause_threshold, true),
    WORD(TSC_OFFSET, tsc_offset, true),
    WORD(NESTED_CTL, np_enable, true),
    WORD(VIRT_EXT, virt_ext, true),
    WORD(AVIC_BAR, avic_apic_bar, true),
    WORD(AVIC_BACKING, avic_backing_page, true),
    WORD(AVIC_LOGICAL, avic_logical_table, true),
    WORD(AVIC_PHYSICAL, avic_physical_table, true),
    WORD(BUS_LOCK, bus_lock, true),
    WORD(SSP, ssp, true),
#undef WORD
};

bool svm_word(struct vcpu *v, enum raw_word word, u64 *value)
{
    if (word >= ARRAY_SIZE(words) || !words[word].size)
        return false;
    *value = 0;
    memcpy(value, svm_vmcb(v)->bytes + words[word].offset, words[word].size);
    return true;
}

bool svm_set_word(struct vcpu *v, enum raw_word word, u64 value)
{
    if (word >= ARRAY_SIZE(words) || !words[word].set)
        return false;
    memcpy(svm_vmcb(v)->bytes + words[word].offset, &value, words[word].size);
    return true;
}
