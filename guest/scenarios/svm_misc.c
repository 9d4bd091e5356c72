/*
 * Scenarios: virtual interrupts and the interrupt shadow, virtual GIF, virtual
 * NMI and virtual VMSAVE, the PAUSE filter, MWAIT with an armed monitor, idle
 * HLT, the TSC's offset and ratio, and the freeze for FERR#. AMD-V alone.
 */
/* clang-format off */
#include "guest/fault.h"
#include "hv/apic.h"
#include "hv/cpu.h"
#include "hv/msr.h"

/* VMCB offset 60h (APM Appendix B, Table B-1). */
#define V_TPR(n)      (u64)(n)
#define V_IRQ         BIT(8)
#define V_GIF         BIT(9)
#define V_NMI         BIT(11)
#define V_PRIO(n)     ((u64)(n) << 16)
#define V_IGN_TPR     BIT(20)
#define V_MASKING     BIT(24) /* as after a reset of the vCPU */
#define V_GIF_ENABLE  BIT(25)
#define V_NMI_ENABLE  BIT(26)
#define V_VECTOR(n)   ((u64)(n) << 32)

#define VECTOR_VIRTUAL  0x52
#define VECTOR_PHYSICAL 0x51

#define NO_EVENT     RAW_BUT(EXITINTINFO, 0, ~BIT(31))
#define IN_SHADOW    RAW_BUT(SHADOW, 1, ~1ull)
#define NO_SHADOW    RAW_BUT(SHADOW, 0, ~1ull)

static void if0(struct guest_state *gs)
{
    gs->rflags &= ~RFLAGS_IF;
}

/* ---- virtual interrupts (15.21.4) --------------------------------------- */

#define VIRQ(prio, tpr)                                                        \
    (V_MASKING | V_IRQ | V_PRIO(prio) | V_TPR(tpr) | V_VECTOR(VECTOR_VIRTUAL))
#define SETS_V_INTR(name, value)                                               \
    static void name(struct vcpu *v)                                           \
    {                                                                          \
        v->ops->set_word(v, RAW_V_INTR, value);                                \
    }
SETS_V_INTR(virq_4_3, VIRQ(4, 3))
SETS_V_INTR(virq_4_4, VIRQ(4, 4))
SETS_V_INTR(virq_0_15, VIRQ(0, 15) | V_IGN_TPR)

/* What a VMM does when the window opens: takes the interrupt back, which is
 * still pending then (15.13.5), and injects one. */
static void inject_instead(struct vcpu *v)
{
    const struct event e = {.type = EVENT_INTR, .vector = VECTOR_VIRTUAL};

    if (v->exit.kind != EXIT_INTERRUPT_WINDOW)
        return;
    v->ops->set_word(v, RAW_V_INTR, V_MASKING);
    v->ops->inject(v, &e);
}

/* The window opens one instruction behind STI. */
GUEST(vintr, GOES_ON_AT_2
      "sti\n"
      "nop\n" AT(vintr, 1) "nop\n"
      "ud2\n" HERE)
#define WINDOW(v_intr)                                                         \
    {                                                                          \
        EXIT_INTERRUPT_WINDOW, 1,                                              \
            .raw = {RAW(V_INTR, v_intr), NO_SHADOW, NO_EVENT}                  \
    }
SCENARIO(vintr, INTERRUPT_WINDOW, .vendor = VENDOR_SVM, .state = if0,
         .before = virq_4_3, .exited = inject_instead,
         .arm = {{EXIT_INTERRUPT_WINDOW}},
         .expect = {WINDOW(VIRQ(4, 3))},
         .see = {SEEN(count, 1), SEEN(vector, VECTOR_VIRTUAL), SEEN_AT(1),
                 GPR(R15, 0)});
/* V_IGN_TPR leaves the priority out of it. */
SCENARIO_OF(vintr_ign_tpr, vintr, INTERRUPT_WINDOW, .vendor = VENDOR_SVM,
            .state = if0, .before = virq_0_15, .exited = inject_instead,
            .arm = {{EXIT_INTERRUPT_WINDOW}},
            .expect = {WINDOW(VIRQ(0, 15) | V_IGN_TPR)},
            .see = {SEEN(count, 1), SEEN(vector, VECTOR_VIRTUAL), SEEN_AT(1),
                    GPR(R15, 0)});

/* nRIP is for instructions: any other intercept makes it 0 (15.7.1). */
SCENARIO_OF(vintr_nrip, vintr, INTERRUPT_WINDOW, .vendor = VENDOR_SVM,
            .needs = {FEAT_SVM_NRIPS}, .state = if0, .before = virq_4_3,
            .exited = inject_instead,
            .arm = {{EXIT_INTERRUPT_WINDOW}},
            .expect = {{EXIT_INTERRUPT_WINDOW, 1, .raw = {RAW(NRIP, 0)}}},
            .see = {SEEN(count, 1), SEEN(vector, VECTOR_VIRTUAL), SEEN_AT(1),
                    GPR(R15, 0)});

/* Without the intercept it comes in the same place, and the HLT finds it
 * pending no more. */
GUEST(vintr_off, GOES_ON_AT_2
      "sti\n"
      "nop\n" AT(vintr_off, 1) "nop\n"
      "ud2\n" HERE AT(vintr_off, 2) "hlt\n")
SCENARIO(vintr_off, HLT, .vendor = VENDOR_SVM, .state = if0,
         .before = virq_4_3, .arm = {{EXIT_HLT}},
         .expect = {{EXIT_HLT, 2, .length = 1,
                     .raw = {RAW(V_INTR, VIRQ(4, 3) & ~V_IRQ)}}},
         .see = {SEEN(count, 1), SEEN(vector, VECTOR_VIRTUAL), SEEN_AT(1),
                 GPR(R15, 0)});

/* Its priority must be greater than V_TPR, and IF must be 1. */
GUEST(vintr_tpr, "sti\nnop\nnop\n")
SCENARIO(vintr_tpr, INTERRUPT_WINDOW, .vendor = VENDOR_SVM, .negative = true,
         .before = virq_4_4, .arm = {{EXIT_INTERRUPT_WINDOW}},
         .see = {SEEN(count, 0)});
GUEST(vintr_if0, "nop\nnop\n")
SCENARIO(vintr_if0, INTERRUPT_WINDOW, .vendor = VENDOR_SVM, .negative = true,
         .state = if0, .before = virq_4_3, .arm = {{EXIT_INTERRUPT_WINDOW}},
         .see = {SEEN(count, 0)});

/* Physical interrupts come first (15.21.4): this one is pending already, held
 * off by the host's IF until VMRUN. */
GUEST(vintr_second, AT(vintr_second, 1) "nop\nud2\n" AT(vintr_second, 2)
      "xor r15d, r15d\n")
static void both_pending(struct vcpu *v)
{
    virq_4_3(v);
    v->regs.gpr[R15] = GUEST_GPA(guest_vintr_second_2);
    apic_self_ipi(VECTOR_PHYSICAL);
}

SCENARIO(vintr_second, INTERRUPT_WINDOW, .vendor = VENDOR_SVM,
         .before = both_pending, .exited = inject_instead,
         .arm = {{EXIT_INTERRUPT_WINDOW}},
         .expect = {{EXIT_INTERRUPT, 1, .raw = {RAW(V_INTR, VIRQ(4, 3))}},
                    WINDOW(VIRQ(4, 3))},
         .see = {SEEN(count, 1), SEEN(vector, VECTOR_VIRTUAL), SEEN_AT(1),
                 DEVICE(VECTOR, VECTOR_PHYSICAL), GPR(R15, 0)});

/* ---- interrupt shadow (15.21.5) ----------------------------------------- */

/* VMRUN loads it: one instruction runs before the window opens. */
static void virq_in_shadow(struct vcpu *v)
{
    virq_4_3(v);
    v->ops->set_word(v, RAW_SHADOW, 1);
}

GUEST(shadow_loaded, GOES_ON_AT_2 AT(shadow_loaded, 1) "nop\nud2\n" HERE)
SCENARIO(shadow_loaded, INTERRUPT_WINDOW, .vendor = VENDOR_SVM,
         .before = virq_in_shadow, .exited = inject_instead,
         .arm = {{EXIT_INTERRUPT_WINDOW}},
         .expect = {WINDOW(VIRQ(4, 3))},
         .see = {SEEN(count, 1), SEEN(vector, VECTOR_VIRTUAL), SEEN_AT(1),
                 GPR(R15, 0)});

/* It is saved: HLT exits in the shadow of STI, and of MOV SS, not behind. */
GUEST(shadow_saved, "sti\n" AT(shadow_saved, 1) "hlt\n"
      "mov eax, 0x10\n"
      "mov ss, eax\n" AT(shadow_saved, 2) "hlt\n" AT(shadow_saved, 3) "hlt\n")
SCENARIO(shadow_saved, HLT, .vendor = VENDOR_SVM, .state = if0,
         .arm = {{EXIT_HLT}},
         .expect = {{EXIT_HLT, 1, .length = 1, .raw = {IN_SHADOW}},
                    {EXIT_HLT, 2, .length = 1, .raw = {IN_SHADOW}},
                    {EXIT_HLT, 3, .length = 1, .raw = {NO_SHADOW}}},
         .see = {GPR(RAX, GUEST_DS)});

/* ---- virtual GIF (15.33.2) and virtual NMI (15.21.10) ------------------- */

SETS_V_INTR(vgif_1, V_MASKING | V_GIF_ENABLE | V_GIF)
SETS_V_INTR(vgif_0_virq, VIRQ(4, 3) | V_GIF_ENABLE)

GUEST(vgif, "clgi\n" AT(vgif, 1) "hlt\n"
      "stgi\n" AT(vgif, 2) "hlt\n")
SCENARIO(vgif, HLT, .vendor = VENDOR_SVM, .needs = {FEAT_SVM_VGIF},
         .before = vgif_1, .arm = {{EXIT_HLT}},
         .expect = {{EXIT_HLT, 1, .length = 1,
                     .raw = {RAW(V_INTR, V_MASKING | V_GIF_ENABLE)}},
                    {EXIT_HLT, 2, .length = 1,
                     .raw = {RAW(V_INTR, V_MASKING | V_GIF_ENABLE | V_GIF)}}});
/* The intercepts hold all the same. */
GUEST(vgif_intercept, AT(vgif_intercept, 1) "clgi\n" AT(vgif_intercept, 2)
      "stgi\n")
SCENARIO(vgif_intercept, CLGI, .vendor = VENDOR_SVM, .needs = {FEAT_SVM_VGIF},
         .before = vgif_1, .arm = {{EXIT_CLGI}, {EXIT_STGI}},
         .expect = {{EXIT_CLGI, 1, .length = 3},
                    {EXIT_STGI, 2, .length = 3,
                     .raw = {RAW(V_INTR, V_MASKING | V_GIF_ENABLE | V_GIF)}}});
/* It holds virtual interrupts, not the host's. */
GUEST(vgif_window, GOES_ON_AT_2
      "nop\n"
      "stgi\n" AT(vgif_window, 1) "nop\n"
      "ud2\n" HERE)
SCENARIO(vgif_window, INTERRUPT_WINDOW, .vendor = VENDOR_SVM,
         .needs = {FEAT_SVM_VGIF}, .before = vgif_0_virq,
         .exited = inject_instead,
         .arm = {{EXIT_INTERRUPT_WINDOW}},
         .expect = {WINDOW(VIRQ(4, 3) | V_GIF_ENABLE | V_GIF)},
         .see = {SEEN(count, 1), SEEN(vector, VECTOR_VIRTUAL), SEEN_AT(1),
                 GPR(R15, 0)});

/* A virtual NMI comes with no exit, though physical ones exit. */
GUEST(vnmi, AT(vnmi, 1) "nop\nud2\n" AT(vnmi, 2) "xor r15d, r15d\n")
static void vnmi_pending(struct vcpu *v)
{
    v->regs.gpr[R15] = GUEST_GPA(guest_vnmi_2);
    v->ops->set_word(v, RAW_V_INTR, V_MASKING | V_NMI_ENABLE | V_NMI);
}

SCENARIO(vnmi, NMI, .vendor = VENDOR_SVM, .needs = {FEAT_SVM_VNMI},
         .negative = true, .before = vnmi_pending, .arm = {{EXIT_NMI}},
         .see = {SEEN(count, 1), SEEN(vector, VECTOR_NMI), SEEN_AT(1),
                 GPR(R15, 0)});

/* ---- virtual VMLOAD and VMSAVE (15.33.1) -------------------------------- */

/* RAX is guest-physical and translated: 608h is LSTAR (Table B-2). */
static void virtual_vmsave(struct vcpu *v)
{
    v->ops->set_word(v, RAW_VIRT_EXT, BIT(1));
}

GUEST(vmsave_virtual, "mov ecx, 0xc0000082\n"
      "mov eax, 0x100000\n"
      "xor edx, edx\n"
      "wrmsr\n" AT(vmsave_virtual, 1) "vmsave\n"
      "vmload\n"
      "rdmsr\n")
SCENARIO(vmsave_virtual, VMSAVE, .vendor = VENDOR_SVM, .negative = true,
         .needs = {FEAT_SVM_VLS}, .before = virtual_vmsave,
         .probe = ACCESS_R | ACCESS_W,
         .see = {GPR(RAX, GUEST_PROBE), GPR(RCX, 0xc0000082), GPR(RDX, 0),
                 PROBE(0x608 / 8, GUEST_PROBE)});
SCENARIO_OF(vmsave_virtual_npf, vmsave_virtual, NESTED_FAULT,
            .vendor = VENDOR_SVM, .needs = {FEAT_SVM_VLS},
            .before = virtual_vmsave,
            .expect = {{EXIT_NESTED_FAULT, 1,
                        .raw = {RAW_BUT(EXITINFO2, GUEST_PROBE, 0xfff)}}},
            .see = {GPR(RAX, GUEST_PROBE), GPR(RCX, 0xc0000082), GPR(RDX, 0),
                    PROBE(0x608 / 8, GUEST_PROBE)});

/* ---- PAUSE filter (15.14.4) --------------------------------------------- */

/* The manual is of two minds whether a count of 3 lets two PAUSEs pass ("until
 * it reaches zero", 15.14.4) or three ("below zero", Table 15-7). VMRUN loads
 * the counter again, so that there is one exit, not two. */
static void filter_3(struct vcpu *v)
{
    v->ops->set_word(v, RAW_PAUSE_COUNT, 3);
}

GUEST(pause_filter, "pause\n"
      "pause\n" AT(pause_filter, 1) "pause\n"
      "pause\n" AT(pause_filter, 2) "nop\n")
SCENARIO(pause_filter, PAUSE, .vendor = VENDOR_SVM,
         .needs = {FEAT_SVM_PAUSE_FILTER}, .before = filter_3,
         .arm = {{EXIT_PAUSE}},
         .expect = {{EXIT_PAUSE, 1, .until = 2, .length = 2,
                     .raw = {RAW(PAUSE_COUNT, 3)}}});
GUEST(pause_filter_few, "pause\npause\n")
SCENARIO(pause_filter_few, PAUSE, .vendor = VENDOR_SVM, .negative = true,
         .needs = {FEAT_SVM_PAUSE_FILTER}, .before = filter_3,
         .arm = {{EXIT_PAUSE}});

/* PAUSEs further apart than the threshold, in cycles, start it afresh. */
static void filter_3_close(struct vcpu *v)
{
    filter_3(v);
    v->ops->set_word(v, RAW_PAUSE_THRESHOLD, 16);
}

GUEST(pause_threshold, "mov edx, 8\n"
      "1: mov ecx, 1000\n"
      "2: dec ecx\n"
      "jnz 2b\n"
      "pause\n"
      "dec edx\n"
      "jnz 1b\n")
SCENARIO(pause_threshold, PAUSE, .vendor = VENDOR_SVM, .negative = true,
         .needs = {FEAT_SVM_PAUSE_FILTER, FEAT_SVM_PAUSE_THRESH},
         .before = filter_3_close, .arm = {{EXIT_PAUSE}},
         .see = {GPR(RCX, 0), GPR(RDX, 0)});

/* ---- MWAIT (15.9) ------------------------------------------------------- */

/* With both intercepts the conditional one is looked at first: it is for an
 * MWAIT that would wait, the other for the rest. */
GUEST(mwait_armed, "mov eax, 0x100000\n"
      "xor ecx, ecx\n"
      "xor edx, edx\n"
      "monitor\n" AT(mwait_armed, 1) "mwait\n")
SCENARIO(mwait_armed, MWAIT_ARMED, .vendor = VENDOR_SVM, .probe = ACCESS_R,
         .arm = {{EXIT_MWAIT_ARMED}, {EXIT_MWAIT}},
         .expect = {{EXIT_MWAIT_ARMED, 1, .length = 3, .raw = {NO_EVENT}}},
         .see = {GPR(RAX, GUEST_PROBE), GPR(RCX, 0), GPR(RDX, 0)});
GUEST(mwait_unarmed, "xor ecx, ecx\n" AT(mwait_unarmed, 1) "mwait\n")
SCENARIO(mwait_unarmed, MWAIT, .vendor = VENDOR_SVM,
         .arm = {{EXIT_MWAIT_ARMED}, {EXIT_MWAIT}},
         .expect = {{EXIT_MWAIT, 1, .length = 3, .raw = {NO_EVENT}}},
         .see = {GPR(RCX, 0)});
/* Only the conditional one: an MWAIT that does not wait goes on. One that does
 * waits for the watchdog: in 200 ms. */
static void soon(struct vcpu *v)
{
    (void)v;
    apic_timer_oneshot(WATCHDOG_VECTOR, 200000);
}

SCENARIO_OF(mwait_unarmed_off, mwait_unarmed, MWAIT_ARMED, .vendor = VENDOR_SVM,
            .negative = true, .before = soon, .arm = {{EXIT_MWAIT_ARMED}},
            .see = {GPR(RCX, 0)});

/* MONITORX and MWAITX check the same intercepts. Without a monitor MWAITX goes
 * on. */
GUEST(monitorx, "mov eax, 0x100000\n"
      "xor ecx, ecx\n"
      "xor edx, edx\n" AT(monitorx, 1) ".byte 0x0f, 0x01, 0xfa\n")
SCENARIO(monitorx, MONITOR, .vendor = VENDOR_SVM, .needs = {FEAT_MONITORX},
         .probe = ACCESS_R, .arm = {{EXIT_MONITOR}},
         .expect = {{EXIT_MONITOR, 1, .length = 3, .raw = {NO_EVENT}}},
         .see = {GPR(RAX, GUEST_PROBE), GPR(RCX, 0), GPR(RDX, 0)});
SCENARIO_OF(monitorx_off, monitorx, MONITOR, .vendor = VENDOR_SVM,
            .needs = {FEAT_MONITORX}, .negative = true, .probe = ACCESS_R,
            .see = {GPR(RAX, GUEST_PROBE), GPR(RCX, 0), GPR(RDX, 0)});
GUEST(mwaitx, "xor eax, eax\n"
      "xor ecx, ecx\n" AT(mwaitx, 1) ".byte 0x0f, 0x01, 0xfb\n")
SCENARIO(mwaitx, MWAIT, .vendor = VENDOR_SVM, .needs = {FEAT_MONITORX},
         .arm = {{EXIT_MWAIT}},
         .expect = {{EXIT_MWAIT, 1, .length = 3, .raw = {NO_EVENT}}},
         .see = {GPR(RAX, 0), GPR(RCX, 0)});
SCENARIO_OF(mwaitx_off, mwaitx, MWAIT, .vendor = VENDOR_SVM,
            .needs = {FEAT_MONITORX}, .negative = true, .before = soon,
            .see = {GPR(RAX, 0), GPR(RCX, 0)});

/* ---- idle HLT (15.9) ---------------------------------------------------- */

GUEST(idle_hlt, AT(idle_hlt, 1) "hlt\n")
SCENARIO(idle_hlt, IDLE_HLT, .vendor = VENDOR_SVM, .arm = {{EXIT_IDLE_HLT}},
         .expect = {{EXIT_IDLE_HLT, 1, .length = 1, .raw = {NO_EVENT}}});
/* HLT's own intercept goes first; */
SCENARIO_OF(idle_hlt_both, idle_hlt, HLT, .vendor = VENDOR_SVM,
            .needs = {FEAT_SVM_IDLE_HLT}, .arm = {{EXIT_IDLE_HLT}, {EXIT_HLT}},
            .expect = {{EXIT_HLT, 1, .length = 1}});
/* and with a virtual interrupt pending there is nothing idle about it. */
GUEST(idle_hlt_pending, GOES_ON_AT_2
      "sti\n"
      "hlt\n" AT(idle_hlt_pending, 1) "nop\n"
      "ud2\n" HERE)
SCENARIO(idle_hlt_pending, IDLE_HLT, .vendor = VENDOR_SVM, .negative = true,
         .state = if0, .before = virq_4_3, .arm = {{EXIT_IDLE_HLT}},
         .see = {SEEN(count, 1), SEEN(vector, VECTOR_VIRTUAL), SEEN_AT(1),
                 GPR(R15, 0)});

/* ---- the guest's time (15.30.5, Table B-1) ------------------------------ */

/* No TSC gets as far as bit 60 by itself. */
static void tsc_offset(struct vcpu *v)
{
    v->ops->set_word(v, RAW_TSC_OFFSET, BIT(60));
}

GUEST(tsc_offset, "rdtsc\n"
      "shr edx, 28\n"
      "xor eax, eax\n")
SCENARIO(tsc_offset, RDTSC, .vendor = VENDOR_SVM, .negative = true,
         .before = tsc_offset, .see = {GPR(RAX, 0), GPR(RDX, 1)});

/* 2^-32 is the slowest that there is: a loop of a million turns takes no more
 * than one tick. */
static void tsc_slow(struct vcpu *v)
{
    (void)v;
    wrmsr(MSR_TSC_RATIO, 1);
}

static void tsc_again(struct vcpu *v)
{
    (void)v;
    wrmsr(MSR_TSC_RATIO, TSC_RATIO_1);
}

GUEST(tsc_ratio, "rdtsc\n"
      "mov ebx, eax\n"
      "mov ecx, 1000000\n"
      "1: dec ecx\n"
      "jnz 1b\n"
      "rdtsc\n"
      "sub eax, ebx\n"
      "shr eax, 1\n"
      "xor ebx, ebx\n"
      "xor edx, edx\n")
SCENARIO(tsc_ratio, RDTSC, .vendor = VENDOR_SVM, .negative = true,
         .needs = {FEAT_SVM_TSC_RATE}, .before = tsc_slow, .ended = tsc_again,
         .see = {GPR(RAX, 0), GPR(RBX, 0), GPR(RCX, 0), GPR(RDX, 0)});

/* ---- FERR# (15.14.2) ---------------------------------------------------- */

/* An unmasked x87 exception with CR0.NE = 0 stops the next waiting instruction
 * until an interrupt comes; the handler injects one. */
static void no_ne(struct guest_state *gs)
{
    gs->cr0 &= ~(u64)CR0_NE;
}

GUEST(ferr_freeze, GOES_ON_AT_2
      "fninit\n"
      "push 0x37b\n" /* zero divide unmasked */
      "fldcw [rsp]\n"
      "pop rax\n"
      "fld1\n"
      "fldz\n"
      "fdivp\n" AT(ferr_freeze, 1) "fwait\n"
      "2: fnclex\n"
      "fninit\n"
      "xor r15d, r15d\n")
SCENARIO(ferr_freeze, FERR_FREEZE, .vendor = VENDOR_SVM, .state = no_ne,
         .arm = {{EXIT_FERR_FREEZE}},
         .expect = {{EXIT_FERR_FREEZE, 1, .raw = {NO_EVENT}}},
         .see = {GPR(RAX, 0x37b), SEEN(count, 1), SEEN_AT(1), GPR(R15, 0)});
