/*
 * Scenarios: what comes from outside and stops the guest, what holds it off,
 * and the windows that open when nothing does any more.
 */
/* clang-format off */
#include "guest/send.h"
#include "hv/ap.h"
#include "hv/apic.h"
#include "hv/cpu.h"
#include "hv/guest.h"
#include "hv/handlers.h"
#include "hv/run.h"
#include "hv/scenario.h"
#include "hv/smm.h"

#define TIMER_VECTOR 0x51
#define TIMER_US     200
#define WINDOW_VECTOR 0x52 /* what an interrupt window lets in */
#define SIPI_VECTOR  0x56
/* By then the guest has reached its HLT, even where each VMREAD on the way in
 * is an exit of its own. */
#define HLT_US       200000

#define NO_INTERRUPTION RAW_BUT(INTERRUPTION_INFO, 0, ~BIT(31))
#define NO_VECTORING RAW_BUT(VECTORING_INFO, 0, ~BIT(31)),                     \
                     RAW_BUT(EXITINTINFO, 0, ~BIT(31))

static void start_timer(struct vcpu *v)
{
    (void)v;
    apic_timer_oneshot(TIMER_VECTOR, TIMER_US);
}

/* R13: when the guest gives up, some time before the watchdog would end it. */
static void start_timer_if0(struct vcpu *v)
{
    v->ops->set(v, REG_RFLAGS, RFLAGS_FIXED);
    v->regs.gpr[R13] = rdtsc() + watchdog_cycles() / 2;
    start_timer(v);
}

/* The guest spins until the host, having taken the timer interrupt that made
 * it exit, sets the flag. */
GUEST(interrupt,
      AT(interrupt, 1) "cmp qword ptr [rip + guest_flag], 0\n"
                       "je guest_interrupt_1\n" AT(interrupt, 2) "nop\n")
SCENARIO(interrupt, INTERRUPT, .before = start_timer,
         .expect = {{EXIT_INTERRUPT, 1, .until = 2, .has_info = true,
                     .raw = {NO_INTERRUPTION, RAW(QUALIFICATION, 0),
                             NO_VECTORING}}},
         .see = {DEVICE(VECTOR, TIMER_VECTOR), SEEN(count, 0)});

SCENARIO_OF(interrupt_nrip, interrupt, INTERRUPT, .vendor = VENDOR_SVM,
            .needs = {FEAT_SVM_NRIPS}, .before = start_timer,
            .expect = {{EXIT_INTERRUPT, 1, .until = 2, .raw = {RAW(NRIP, 0)}}},
            .see = {DEVICE(VECTOR, TIMER_VECTOR), SEEN(count, 0)});

/* The same with interrupts off in the guest from its first entry on: external
 * interrupts exit all the same (SDM 26.2; APM 15.13.1 and 15.21.1, by
 * V_INTR_MASKING). Where they do not, the watchdog does not come either, so
 * the guest itself gives up in the end. */
GUEST(interrupt_if0, AT(interrupt_if0, 1)
                     "rdtsc\n"
                     "shl rdx, 32\n"
                     "or rax, rdx\n"
                     "cmp rax, r13\n"
                     "ja 2f\n"
                     "cmp qword ptr [rip + guest_flag], 0\n"
                     "je guest_interrupt_if0_1\n"
                     "2:\n"
                     AT(interrupt_if0, 2) "xor eax, eax\n"
                     "xor edx, edx\n"
                     "xor r13d, r13d\n")
SCENARIO(interrupt_if0, INTERRUPT, .before = start_timer_if0,
         .expect = {{EXIT_INTERRUPT, 1, .until = 2}},
         .see = {GPR(RAX, 0), GPR(RDX, 0), GPR(R13, 0),
            DEVICE(VECTOR, TIMER_VECTOR), SEEN(count, 0)});

/* Acknowledged by the exit: the vector is known, and only EOI is left. */
SCENARIO_OF(interrupt_ack, interrupt, INTERRUPT, .vendor = VENDOR_VMX,
            .needs = {FEAT_VMX_EXIT_ACK}, .before = start_timer,
            .arm = {{EXIT_INTERRUPT, ITEM_ACKNOWLEDGE}},
            .expect = {{EXIT_INTERRUPT, 1, .until = 2, .has_info = true,
                        .info.interrupt = {.vector = TIMER_VECTOR,
                                           .acknowledged = true},
                        .raw = {RAW(INTERRUPTION_INFO, 0x80000051),
                                NO_VECTORING}}},
            .see = {DEVICE(VECTOR, TIMER_VECTOR), SEEN(count, 0)});

static void let_interrupts_in(struct vcpu *v)
{
    guest_map_apic(v);
    v->ops->arm(v, EXIT_INTERRUPT, 0, false);
}

/* With no such exit the guest takes the interrupt by its own IDT. */
GUEST(interrupt_off, "lea r15, [rip + 2f]\n" SEND(0x4051) AWAIT_GUEST
      "2: mov dword ptr [rbx + 0xb0], 0\n" /* EOI */
      "xor r15d, r15d\n")
SCENARIO(interrupt_off, INTERRUPT, .negative = true,
         .before = let_interrupts_in,
         .see = {SENT(0x4051), GPR(R15, 0), SEEN(count, 1),
                 SEEN(vector, 0x51), DEVICE(VECTOR, 0)});

/* Not intercepted, HLT waits in the guest; the exit finds it behind HLT. */
static void start_late_timer(struct vcpu *v)
{
    (void)v;
    apic_timer_oneshot(TIMER_VECTOR, HLT_US);
}

GUEST(hlt_wait, "hlt\n" AT(hlt_wait, 1) "nop\n")
SCENARIO(hlt_wait, INTERRUPT, .before = start_late_timer,
         .expect = {{EXIT_INTERRUPT, 1}},
         .see = {DEVICE(VECTOR, TIMER_VECTOR)});

/* Asleep from the entry on: nothing has been executed. It becomes active only
 * once the exit is complete: what is saved is HLT (SDM 28.1). */
static void sleep_before(struct vcpu *v)
{
    start_late_timer(v);
    v->ops->set(v, REG_ACTIVITY, ACTIVITY_HLT);
}

GUEST(activity_hlt, AT(activity_hlt, 1) "nop\n")
SCENARIO(activity_hlt, INTERRUPT, .vendor = VENDOR_VMX,
         .needs = {FEAT_VMX_ACTIVITY_HLT}, .before = sleep_before,
         .expect = {{EXIT_INTERRUPT, 1,
                     .raw = {RAW(ACTIVITY, ACTIVITY_HLT)}}},
         .see = {DEVICE(VECTOR, TIMER_VECTOR)});

/* VT-x: the exit takes the NMI. AMD-V: it is pending until STGI (APM
 * 15.13.2). */
GUEST(nmi, SEND(0x4400) AWAIT_HOST(nmi))
SCENARIO(nmi, NMI, .before = guest_map_apic, .arm = {{EXIT_NMI}},
         .expect = {{EXIT_NMI, 1, .until = 2, .vendor = VENDOR_VMX,
                     .has_info = true,
                     .info.interrupt = {.vector = VECTOR_NMI,
                                        .acknowledged = true},
                     .raw = {RAW(INTERRUPTION_INFO, 0x80000202),
                             RAW(QUALIFICATION, 0),
                             RAW_BUT(VECTORING_INFO, 0, ~BIT(31))}},
                    {EXIT_NMI, 1, .until = 2, .vendor = VENDOR_SVM,
                     .has_info = true,
                     .info.interrupt = {.vector = VECTOR_NMI},
                     .raw = {RAW_BUT(EXITINTINFO, 0, ~BIT(31))}}},
         .see = {SENT(0x4400), DEVICE(NMI, 1), SEEN(count, 0)});

SCENARIO_OF(nmi_nrip, nmi, NMI, .vendor = VENDOR_SVM,
            .needs = {FEAT_SVM_NRIPS}, .before = guest_map_apic,
            .arm = {{EXIT_NMI}},
            .expect = {{EXIT_NMI, 1, .until = 2, .raw = {RAW(NRIP, 0)}}},
            .see = {SENT(0x4400), DEVICE(NMI, 1)});

/* Further NMIs are blocked only once the exit is complete: the state that it
 * saves does not know of it yet (SDM 28.1). */
SCENARIO_OF(nmi_state, nmi, NMI, .vendor = VENDOR_VMX,
            .before = guest_map_apic, .arm = {{EXIT_NMI}},
            .expect = {{EXIT_NMI, 1, .until = 2,
                        .raw = {RAW(INTERRUPTIBILITY, 0)}}},
            .see = {SENT(0x4400), DEVICE(NMI, 1)});

GUEST(nmi_off, "lea r15, [rip + 2f]\n" SEND(0x4400) AWAIT_GUEST
      "2: xor r15d, r15d\n")
SCENARIO(nmi_off, NMI, .negative = true, .before = guest_map_apic,
         .see = {SENT(0x4400), GPR(R15, 0), SEEN(count, 1),
                 SEEN(vector, VECTOR_NMI), DEVICE(NMI, 0)});

/* A window is open: in comes what it was for. */
static void let_in(struct vcpu *v)
{
    static const struct event interrupt = {.type = EVENT_INTR,
                                           .vector = WINDOW_VECTOR},
                              nmi = {.type = EVENT_NMI, .vector = VECTOR_NMI};

    if (v->exit.kind == EXIT_INTERRUPT_WINDOW)
        queue_event(v, &interrupt);
    if (v->exit.kind == EXIT_NMI_WINDOW)
        queue_event(v, &nmi);
}

static void own_nmi_handler(struct vcpu *v)
{
    guest_map_apic(v);
    guest_set_gate(VECTOR_NMI, v->run->scenario->label[3], 0);
}

/* The guest's handler sends itself another NMI: it comes behind IRET and not
 * before (SDM 6.7.1). RSI counts; RDI is what it was when IRET was due. */
GUEST(nmi_blocks,
      "lea rcx, [rsi + 2]\n" SEND(0x4400)
      "1: cmp rsi, rcx\n" /* both have been taken */
      "jne 1b\n"
      "xor ecx, ecx\n"
      "jmp 9f\n" AT(nmi_blocks, 3) "inc rsi\n"
      "test esi, 1\n" /* it was 6 */
      "jz 3f\n"
      "push rax\n" SEND(0x4400) "mov eax, 1000\n"
      "2: dec eax\n"
      "jnz 2b\n"
      "pop rax\n"
      "mov rdi, rsi\n"
      "3: iretq\n"
      "9:\n")
SCENARIO(nmi_blocks, NMI, .negative = true, .before = own_nmi_handler,
         .see = {SENT(0x4400), GPR(RCX, 0), GPR(RDI, GUEST_CANARY + RSI + 1),
                 GPR(RSI, GUEST_CANARY + RSI + 2), DEVICE(NMI, 0),
                 CHANGED(BLOCKING, 0)});

/* Virtual NMIs: the injected one blocks those to be injected, until IRET; the
 * CPU's own exit all the same (SDM 25.6.1, Table 25-5). */
GUEST(nmi_virtual,
      "jmp 9f\n" AT(nmi_virtual, 3) SEND(0x4400)
      AT(nmi_virtual, 1) "cmp qword ptr [rip + guest_flag], 0\n"
      "je guest_nmi_virtual_1\n" AT(nmi_virtual, 2) CALL_HOST
      "iretq\n"
      "9:\n")
SCENARIO(nmi_virtual, NMI, .vendor = VENDOR_VMX,
         .needs = {FEAT_VMX_VIRTUAL_NMI}, .before = own_nmi_handler,
         INJECT(NMI, VECTOR_NMI),
         .arm = {{EXIT_NMI, ITEM_VIRTUAL}},
         .expect = {{EXIT_NMI, 1, .until = 2,
                     .raw = {RAW(INTERRUPTION_INFO, 0x80000202),
                             RAW(INTERRUPTIBILITY, BLOCKED_BY_NMI)}},
                    {EXIT_HYPERCALL, 2, .length = 3,
                     .raw = {RAW(INTERRUPTIBILITY, BLOCKED_BY_NMI)}}},
         .see = {GPR(RBX, GUEST_APIC), GPR(RAX, GUEST_APIC + 1),
                 DEVICE(NMI, 1), CHANGED(BLOCKING, 0)});

/* The window is open at once; what comes in has the handler count. */
GUEST(nmi_window, AT(nmi_window, 1) "jmp 9f\n"
                  AT(nmi_window, 3) "inc rsi\n"
                  "iretq\n"
                  "9:\n")
SCENARIO(nmi_window, NMI_WINDOW, .vendor = VENDOR_VMX,
         .needs = {FEAT_VMX_VIRTUAL_NMI}, .before = own_nmi_handler,
         .arm = {{EXIT_NMI_WINDOW}}, .exited = let_in,
         .expect = {{EXIT_NMI_WINDOW, 1,
                     .raw = {RAW(QUALIFICATION, 0), NO_INTERRUPTION,
                             RAW(INTERRUPTIBILITY, 0)}}},
         .see = {GPR(RSI, GUEST_CANARY + RSI + 1), CHANGED(BLOCKING, 0)});

SCENARIO_OF(nmi_window_off, nmi_window, NMI_WINDOW, .vendor = VENDOR_VMX,
            .negative = true, .needs = {FEAT_VMX_VIRTUAL_NMI},
            .before = own_nmi_handler, .see = {CHANGED(BLOCKING, 0)});

static void blocked_by_nmi(struct vcpu *v)
{
    own_nmi_handler(v);
    v->ops->set(v, REG_BLOCKING, BLOCKED_BY_NMI);
}

/* The guest is in an NMI handler, as it were: the window opens behind IRET. */
GUEST(nmi_window_iret,
      "mov rax, rsp\n"
      "mov ecx, ss\n"
      "push rcx\n"
      "push rax\n"
      "pushfq\n"
      "mov ecx, cs\n"
      "push rcx\n"
      "lea rcx, [rip + 1f]\n"
      "push rcx\n"
      "iretq\n"
      "1:\n" AT(nmi_window_iret, 1) "jmp 9f\n" AT(nmi_window_iret, 3)
      "inc rsi\n"
      "iretq\n"
      "9: xor ecx, ecx\n")
SCENARIO(nmi_window_iret, NMI_WINDOW, .vendor = VENDOR_VMX,
         .needs = {FEAT_VMX_VIRTUAL_NMI}, .before = blocked_by_nmi,
         .arm = {{EXIT_NMI_WINDOW}}, .exited = let_in,
         .expect = {{EXIT_NMI_WINDOW, 1}},
         .see = {SAME(RAX, RSP), GPR(RCX, 0),
                 GPR(RSI, GUEST_CANARY + RSI + 1), CHANGED(BLOCKING, 0)});

static void interrupts_off(struct guest_state *gs)
{
    gs->rflags = RFLAGS_FIXED;
}

/* Opens behind the instruction that follows STI (SDM 26.2). */
GUEST(interrupt_window, "lea r15, [rip + 2f]\n"
                        "sti\n"
                        "nop\n"
                        AT(interrupt_window, 1) "nop\n"
                        "2: xor r15d, r15d\n")
SCENARIO(interrupt_window, INTERRUPT_WINDOW, .vendor = VENDOR_VMX,
         .state = interrupts_off, .arm = {{EXIT_INTERRUPT_WINDOW}},
         .exited = let_in,
         .expect = {{EXIT_INTERRUPT_WINDOW, 1,
                     .raw = {RAW(QUALIFICATION, 0), NO_INTERRUPTION,
                             RAW(INTERRUPTIBILITY, 0)}}},
         .see = {SEEN(count, 1), SEEN(vector, WINDOW_VECTOR), SEEN_AT(1),
                 GPR(R15, 0)});

SCENARIO_OF(interrupt_window_off, interrupt_window, INTERRUPT_WINDOW,
            .vendor = VENDOR_VMX, .negative = true, .state = interrupts_off,
            .see = {SEEN(count, 0), GPR(R15, 0)});

/* Interrupts are on, but the entry itself brings a shadow: it lasts for one
 * instruction (SDM 27.7.1). */
static void shadow_of_sti(struct vcpu *v)
{
    v->ops->set(v, REG_BLOCKING, BLOCKED_BY_STI);
}

static void shadow_of_mov_ss(struct vcpu *v)
{
    v->ops->set(v, REG_BLOCKING, BLOCKED_BY_MOV_SS);
}

GUEST(window_shadow, "lea r15, [rip + 2f]\n" AT(window_shadow, 1)
                     "nop\n"
                     "2: xor r15d, r15d\n")
#define WINDOW_SHADOW(id, shadow)                                              \
    SCENARIO_OF(id, window_shadow, INTERRUPT_WINDOW, .vendor = VENDOR_VMX,     \
                .before = shadow, .arm = {{EXIT_INTERRUPT_WINDOW}},            \
                .exited = let_in,                                              \
                .expect = {{EXIT_INTERRUPT_WINDOW, 1}},                        \
                .see = {SEEN(count, 1), SEEN(vector, WINDOW_VECTOR),           \
                        SEEN_AT(1), GPR(R15, 0)})
WINDOW_SHADOW(window_sti, shadow_of_sti);
WINDOW_SHADOW(window_mov_ss, shadow_of_mov_ss);

/* Both windows are open to a guest that sleeps, and end its sleep (SDM 26.2);
 * it has not executed anything yet. */
static void asleep(struct vcpu *v)
{
    own_nmi_handler(v);
    v->ops->set(v, REG_ACTIVITY, ACTIVITY_HLT);
}

GUEST(window_hlt, AT(window_hlt, 1) "jmp guest_abort\n" AT(window_hlt, 2)
                  "xor r15d, r15d\n"
                  "jmp 9f\n" AT(window_hlt, 3) "inc rsi\n"
                  "mov [rsp], r15\n"
                  "iretq\n"
                  "9:\n")
#define ASLEEP(id, KIND, ...)                                                  \
    SCENARIO_OF(id, window_hlt, KIND, .vendor = VENDOR_VMX,                    \
                .needs = {FEAT_VMX_ACTIVITY_HLT, FEAT_VMX_VIRTUAL_NMI},        \
                .before = asleep, .back_at = 2, .arm = {{EXIT_##KIND}},        \
                .exited = let_in, .expect = {{EXIT_##KIND, 1}},                \
                .see = {GPR(R15, 0), CHANGED(BLOCKING, 0), __VA_ARGS__})
ASLEEP(window_hlt, INTERRUPT_WINDOW, SEEN(count, 1),
       SEEN(vector, WINDOW_VECTOR), SEEN_AT(1));
ASLEEP(nmi_window_hlt, NMI_WINDOW, GPR(RSI, GUEST_CANARY + RSI + 1));

/* An exit in the shadow reports it; the instruction that was emulated has
 * used it up. */
#define SHADOW(id, text, vmx, svm)                                             \
    GUEST(id, "mov eax, 0x40000000\n"                                          \
              "mov edx, ss\n" text AT(id, 1) "cpuid\n")                        \
    SCENARIO(id, CPUID, .arm = {{EXIT_CPUID}},                                 \
             .expect = {{EXIT_CPUID, 1, .length = 2,                           \
                         .raw = {RAW(INTERRUPTIBILITY, vmx),                   \
                                 RAW(SHADOW, svm)}}},                          \
             .see = {GPR(RAX, 0x40000000), GPR(RBX, CPUID_SIGNATURE_EBX),      \
                     GPR(RCX, CPUID_SIGNATURE_ECX),                            \
                     GPR(RDX, CPUID_SIGNATURE_EDX), CHANGED(BLOCKING, 0)})
SHADOW(shadow_sti, "cli\nsti\n", BLOCKED_BY_STI, 1);
SHADOW(shadow_mov_ss, "mov ss, edx\n", BLOCKED_BY_MOV_SS, 1);

/* AMD-V: an SMI waits for STGI, as an NMI does (APM 15.22.2). EXITINFO1 tells
 * SMIs of I/O trapping from others; whether an IPI's is "external" is not said
 * (15.13.3). */
static const char *own_smm(struct vcpu *v)
{
    (void)v;
    return smm_init() ? NULL
                      : "needs SMBASE 30000h: the firmware handles SMIs here";
}

GUEST(smi, SEND(0x4200) AWAIT_HOST(smi))
SCENARIO(smi, SMI, .vendor = VENDOR_SVM, .lacks = own_smm,
         .before = guest_map_apic,
         .arm = {{EXIT_SMI}},
         .expect = {{EXIT_SMI, 1, .until = 2,
                     .raw = {RAW_BUT(EXITINTINFO, 0, ~BIT(31))}}},
         .see = {SENT(0x4200), DEVICE(SMI, 1), SEEN(count, 0)});

/* By the default treatment of SMIs there is no exit, and the guest does not
 * notice (SDM 32.14). */
GUEST(smi_off, SEND(0x4200) "mov ecx, 1000\n"
      "1: dec ecx\n"
      "jnz 1b\n")
SCENARIO(smi_off, SMI, .vendor = VENDOR_VMX, .negative = true,
         .before = guest_map_apic,
         .see = {SENT(0x4200), GPR(RCX, 0), SEEN(count, 0)});

/* AMD-V: the handler runs, outside the guest and its nested paging (APM
 * 15.22). An emulator that fails is in system-management mode from then on:
 * last, therefore. */
static void handler_ran(struct vcpu *v)
{
    guest_check(v, "smis handled", 1, smm_count());
}

SCENARIO_OF(smi_off_svm, smi_off, SMI, .vendor = VENDOR_SVM, .negative = true,
            .last = LAST, .lacks = own_smm, .before = guest_map_apic,
            .see = {SENT(0x4200), GPR(RCX, 0), SEEN(count, 0)},
            .ended = handler_ran);

static const char *second_cpu(struct vcpu *v)
{
    (void)v;
    return ap_start() ? NULL : "needs a second CPU: --cpus 2";
}

static void wait_for_sipi(struct vcpu *v)
{
    v->ops->set(v, REG_ACTIVITY, ACTIVITY_WAIT_FOR_SIPI);
    ap_send(DELIVER_SIPI, SIPI_VECTOR);
}

static void no_more_sipi(struct vcpu *v)
{
    if (v->exit.kind == EXIT_SIPI)
        ap_stop();
}

/* Asleep until another CPU sends a SIPI: it makes the guest exit, and does
 * nothing else to it (SDM 26.2). */
GUEST(sipi, AT(sipi, 1) "nop\n")
SCENARIO(sipi, SIPI, .lacks = second_cpu, .vendor = VENDOR_VMX, .final = true,
         .before = wait_for_sipi, .exited = no_more_sipi,
         .expect = {{EXIT_SIPI, 1, .has_info = true,
                     .info.interrupt = {.vector = SIPI_VECTOR,
                                        .acknowledged = true},
                     .raw = {RAW(QUALIFICATION, SIPI_VECTOR), NO_INTERRUPTION,
                             RAW_BUT(VECTORING_INFO, 0, ~BIT(31))}}});

/* It was still waiting when the exit came (SDM 28.1); awake, it goes on. */
SCENARIO_OF(sipi_resume, sipi, SIPI, .lacks = second_cpu,
            .vendor = VENDOR_VMX, .before = wait_for_sipi,
            .exited = no_more_sipi,
            .expect = {{EXIT_SIPI, 1,
                        .raw = {RAW(ACTIVITY, ACTIVITY_WAIT_FOR_SIPI),
                                RAW(INTERRUPTIBILITY, 0)}}});

/* No IDT to deliver #UD, none for #DF: shutdown. The state is undefined on
 * AMD-V (APM 15.14.3), so RIP is not looked at. */
GUEST_END(triple_fault,
          "lidt [rip + 3f]\n"
          "ud2\n"
          "3: .word 0\n"
          ".quad 0\n",
          "")
SCENARIO(triple_fault, TRIPLE_FAULT, .final = true,
         .expect = {{EXIT_TRIPLE_FAULT, .any_rip = true}});
