/*
 * The AMD-V back end: struct hv_ops over the VMCB. Sections are those of the
 * APM volume 2, chapter 15.
 */
#include "hv/svm/svm.h"

#include "hv/cpu.h"
#include "hv/crossing.h"
#include "hv/lib.h"
#include "hv/memory.h"
#include "hv/msr.h"

#define TR_BUSY 2u /* in the type of a TSS (12.2.2) */

static u64 available; /* SVM_HAS_* of this CPU */

/* What the CPU must offer: a comment, a test, a named failure each. */
static const char *svm_probe(const struct caps *c)
{
    /* require SVM itself (15.4) */
    if (!caps_has(c, FEAT_SVM))
        return "this CPU has no AMD-V (CPUID Fn8000_0001_ECX[2]): use another "
               "CPU or CPU model";
    /* require it not to be disabled (15.30.1): VM_CR.SVMDIS */
    if (rdmsr(MSR_VM_CR) & VM_CR_SVMDIS)
        return "AMD-V is disabled (VM_CR.SVMDIS): enable SVM in the firmware "
               "setup";
    /* require nested paging (15.25): the only mapping that a guest has */
    if (!caps_has(c, FEAT_SVM_NP))
        return "AMD-V here lacks nested paging (CPUID Fn8000_000A_EDX[0]): use "
               "another CPU, or let the outer hypervisor offer it";
    return NULL;
}

/* 15.4: EFER.SVME; 15.30.4: VM_HSAVE_PA is where VMRUN saves the host. */
static const char *svm_enable(const struct caps *c)
{
    wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_SVME);
    wrmsr(MSR_VM_HSAVE_PA, phys(pages_alloc(1)));
    if (caps_has(c, FEAT_SVM_NRIPS))
        available |= SVM_HAS_NRIPS;
    if (caps_has(c, FEAT_SVM_DECODE))
        available |= SVM_HAS_DECODE;
    if (caps_has(c, FEAT_SVM_FLUSHBYASID))
        available |= SVM_HAS_FLUSH;
    svm_decode_init(caps_has(c, FEAT_SVM_NRIPS));
    return NULL;
}

static struct vmcb_segment segment(const struct segment *s)
{
    struct vmcb_segment out = {s->selector, 0, s->limit, s->base};

    if (s->attr != SEG_UNUSABLE)
        out.attr = (u16)((s->attr & 0xff) | (s->attr >> 4 & 0xf00));
    return out;
}

/* Of TR only the size of the TSS counts (15.5.1). VMSAVE need not show that it
 * is busy, and QEMU's TCG, which never does, aborts when the VMCB says so. */
static struct vmcb_segment task_segment(const struct segment *s)
{
    struct vmcb_segment out = segment(s);

    out.attr &= (u16)~TR_BUSY;
    return out;
}

static void encode_state(union vmcb *b, const struct guest_state *gs)
{
    b->es = segment(&gs->seg[SEG_ES]);
    b->cs = segment(&gs->seg[SEG_CS]);
    b->ss = segment(&gs->seg[SEG_SS]);
    b->ds = segment(&gs->seg[SEG_DS]);
    b->fs = segment(&gs->seg[SEG_FS]);
    b->gs = segment(&gs->seg[SEG_GS]);
    b->ldtr = segment(&gs->seg[SEG_LDTR]);
    b->tr = task_segment(&gs->seg[SEG_TR]);
    b->gdtr = (struct vmcb_segment){0, 0, gs->gdt_limit, gs->gdt_base};
    b->idtr = (struct vmcb_segment){0, 0, gs->idt_limit, gs->idt_base};
    b->cpl = gs->seg[SEG_SS].attr >> 5 & 3;
    b->rip = gs->rip;
    b->rsp = gs->rsp;
    b->rflags = gs->rflags;
    b->cr0 = gs->cr0;
    b->cr3 = gs->cr3;
    b->cr4 = gs->cr4;
    b->efer = gs->efer | EFER_SVME; /* must be set (15.5.1) */
    b->dr6 = DR6_RESET;
    b->dr7 = gs->dr7;
    b->g_pat = gs->pat;
    for (u32 n = 0; n < 4; n++)
        write_dr(n, 0);
}

static void svm_reset(struct vcpu *v, const struct guest_state *gs)
{
    struct svm_area *a = svm_area(v);
    union vmcb *b;

    if (!a) {
        a = pages_alloc(sizeof(*a) / PAGE_SIZE);
        v->vendor[SLOT_VMCB] = phys(a);
        v->vendor[SLOT_HOST] = phys(&a->host);
        v->vendor[SLOT_CAPS] = available;
        __asm__ volatile("vmsave %0" : : "a"(phys(&a->host)) : "memory");
    }
    b = &a->vmcb;
    memset(b, 0, sizeof(*b));
    svm_controls_reset(a);
    b->iopm_base = phys(a->iopm);
    b->msrpm_base = phys(a->msrpm);
    b->asid = 1; /* 0 is the host's (15.5.1) */
    svm_flush(v);
    /* RFLAGS.IF of the host decides about physical interrupts, so that a
     * guest with interrupts off is interrupted, too (15.21.1). */
    b->v_intr = V_INTR_MASKING;
    b->np_enable = NP_ENABLE;
    b->n_cr3 = v->nested_root;
    encode_state(b, gs);
}

/* INT n, INT1, INT3 and INTO return behind the instruction. Hardware that
 * saves nRIP takes it from there (15.20); for older one RIP itself must have
 * moved, and with both equal either kind pushes the same. Older one cannot
 * inject INT n properly, either, and the VMM has to emulate it: an interrupt
 * of that vector differs by the DPL of the gate, which all here allow. */
static void svm_inject(struct vcpu *v, const struct event *e)
{
    union vmcb *b = svm_vmcb(v);
    u64 type = e->type;

    if (type >= EVENT_SOFT_INT) {
        u64 behind = b->rip + e->length;

        if (type != EVENT_SOFT_INT)
            type = EVENT_EXCEPTION;
        else if (!(v->vendor[SLOT_CAPS] & SVM_HAS_NRIPS))
            type = EVENT_INTR;
        b->rip = behind;
        b->nrip = behind;
    }
    b->eventinj = EVENTINJ_VALID | type << EVENTINJ_TYPE_SHIFT | e->vector;
    if (e->has_error)
        b->eventinj |= EVENTINJ_ERROR_VALID | (u64)e->error
                                                  << EVENTINJ_ERROR_SHIFT;
}

static void svm_advance(struct vcpu *v, u8 length)
{
    union vmcb *b = svm_vmcb(v);

    b->rip += length;
    b->interrupt_shadow = 0;
}

static bool svm_step(struct vcpu *v, u32 path)
{
    return crossing_step(v, path, svm_advance);
}

static struct vmcb_segment *segment_field(struct vcpu *v, enum seg seg)
{
    union vmcb *b = svm_vmcb(v);

    switch (seg) {
    case SEG_ES:
        return &b->es;
    case SEG_CS:
        return &b->cs;
    case SEG_SS:
        return &b->ss;
    case SEG_DS:
        return &b->ds;
    case SEG_FS:
        return &b->fs;
    case SEG_GS:
        return &b->gs;
    case SEG_LDTR:
        return &b->ldtr;
    default:
        return &b->tr;
    }
}

static void svm_get_segment(struct vcpu *v, enum seg seg, struct segment *s)
{
    const struct vmcb_segment *from = segment_field(v, seg);
    u16 attr = (u16)((from->attr & 0xff) | (from->attr & 0xf00) << 4);

    *s = (struct segment){from->selector,
                          attr & SEG_ATTR_P ? attr : (u16)SEG_UNUSABLE,
                          from->limit, from->base};
    if (seg == SEG_TR)
        s->attr |= TR_BUSY;
}

/* The CPL is that of SS (15.5.1 has it in a field of its own). */
static void svm_set_segment(struct vcpu *v, enum seg seg,
                            const struct segment *s)
{
    *segment_field(v, seg) = seg == SEG_TR ? task_segment(s) : segment(s);
    if (seg == SEG_SS)
        svm_vmcb(v)->cpl = s->attr >> 5 & 3;
}

/* Registers that are one field and nothing else. */
static u64 *reg_field(struct vcpu *v, enum guest_reg r)
{
    union vmcb *b = svm_vmcb(v);

    switch (r) {
    case REG_RIP:
        return &b->rip;
    case REG_RSP:
        return &b->rsp;
    case REG_RFLAGS:
        return &b->rflags;
    case REG_CR0:
        return &b->cr0;
    case REG_CR2:
        return &b->cr2;
    case REG_CR3:
        return &b->cr3;
    case REG_CR4:
        return &b->cr4;
    case REG_DR6:
        return &b->dr6;
    case REG_DR7:
        return &b->dr7;
    case REG_EFER:
        return &b->efer;
    default:
        return &b->dr7;
    }
}

/* V_TPR, bits 7:0 of v_intr, is CR8 (15.21.1); EFER.SVME is hidden. PDPTEs
 * are not part of the state: the CPU reads them from memory (15.25.10). */
static u64 svm_get(struct vcpu *v, enum guest_reg r)
{
    union vmcb *b = svm_vmcb(v);

    switch (r) {
    case REG_CR8:
        return b->v_intr & 0xf;
    case REG_BLOCKING:
        return b->interrupt_shadow & INTERRUPT_SHADOW ? BLOCKED_BY_STI : 0;
    case REG_ACTIVITY:
    case REG_PENDING_DEBUG:
    case REG_PDPTE0 ... REG_PDPTE3: /* read from memory when they are used */
        return 0;
    case REG_GDTR_BASE:
        return b->gdtr.base;
    case REG_GDTR_LIMIT:
        return b->gdtr.limit;
    case REG_DR0 ... REG_DR3: /* the host has no use for them either */
        return read_dr(r - REG_DR0);
    case REG_CPL:
        return b->cpl;
    case REG_EFER:
        return b->efer & ~EFER_SVME;
    default:
        return *reg_field(v, r);
    }
}

static void svm_set(struct vcpu *v, enum guest_reg r, u64 value)
{
    union vmcb *b = svm_vmcb(v);

    switch (r) {
    case REG_CR8:
        b->v_intr = (b->v_intr & ~0xfull) | (value & 0xf);
        break;
    case REG_BLOCKING:
        b->interrupt_shadow =
            value & (BLOCKED_BY_STI | BLOCKED_BY_MOV_SS) ? INTERRUPT_SHADOW : 0;
        break;
    case REG_ACTIVITY:
    case REG_PENDING_DEBUG: /* there is neither */
    case REG_CPL:
    case REG_PDPTE0 ... REG_PDPTE3:
        break;
    case REG_GDTR_BASE:
        b->gdtr.base = value;
        break;
    case REG_GDTR_LIMIT:
        b->gdtr.limit = (u32)value;
        break;
    case REG_DR0 ... REG_DR3:
        write_dr(r - REG_DR0, value);
        break;
    case REG_EFER:
        b->efer = value | EFER_SVME;
        break;
    default:
        *reg_field(v, r) = value;
        break;
    }
}

static void svm_bare(struct vcpu *v, u64 trips, u64 length)
{
    svm_vmcb(v)->rax = v->regs.gpr[RAX];
    svm_bare_loop(v, trips, length);
    v->regs.gpr[RAX] = svm_vmcb(v)->rax;
}

/* Behind its exit an INIT is still pending: STGI brings #SX, or else a reset of
 * this CPU (15.13.4, 15.28). Then there must be none any more. */
static void svm_enter(struct vcpu *v)
{
    u32 armed = svm_vmcb(v)->intercept[VMEXIT_INIT / 32];
    bool redirected = rdmsr(MSR_VM_CR) & VM_CR_R_INIT;

    if (armed >> VMEXIT_INIT % 32 & 1 && !redirected)
        svm_run_held(v);
    else
        svm_run(v);
}

const struct hv_ops svm_ops = {
    .name = "AMD-V",
    .vendor = VENDOR_SVM,
    .probe = svm_probe,
    .enable = svm_enable,
    .reset = svm_reset,
    .arm = svm_arm,
    .use = svm_use,
    .run = svm_enter,
    .decode = svm_decode,
    .raw = svm_raw,
    .word = svm_word,
    .set_word = svm_set_word,
    .inject = svm_inject,
    .vectoring = svm_vectoring,
    .advance = svm_advance,
    .step = svm_step,
    .get = svm_get,
    .set = svm_set,
    .get_segment = svm_get_segment,
    .set_segment = svm_set_segment,
    .nested_entry = svm_nested_entry,
    .flush = svm_flush,
    .dump = svm_dump,
    .bare = svm_bare,
    .checks = &svm_checks,
};
