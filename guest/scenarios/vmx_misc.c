/*
 * Scenarios: exits of VT-x that come by themselves: after each instruction,
 * after a time, at a full log; and those of its save-state instructions.
 */
/* clang-format off */
#include "guest/fault.h"
#include "hv/handlers.h"
#include "hv/msr.h"
#include "hv/scenario.h"

/* --- Monitor trap flag (SDM 26.5.2): trap-like, no qualification. The second
 * exit turns it off. */
static void stop_at_second(struct vcpu *v)
{
    if (v->run->next == 1)
        v->ops->arm(v, EXIT_MONITOR_TRAP, 0, false);
}

GUEST(mtf, "xor eax, eax\n" AT(mtf, 1) "xor ebx, ebx\n"
                            AT(mtf, 2) "xor ecx, ecx\n")
SCENARIO(mtf, MONITOR_TRAP, .arm = {{EXIT_MONITOR_TRAP}},
         .exited = stop_at_second,
         .expect = {{EXIT_MONITOR_TRAP, 1,
                     .raw = {RAW(QUALIFICATION, 0), RAW(PENDING_DEBUG, 0)}},
                    {EXIT_MONITOR_TRAP, 2}},
         .see = {GPR(RAX, 0), GPR(RBX, 0), GPR(RCX, 0)});

/* An instruction that exits does not complete, so nothing is pending after
 * it: the next exit is behind the one that follows. */
GUEST(mtf_exit, AT(mtf_exit, 1) "vmxoff\n"
                "xor eax, eax\n" AT(mtf_exit, 2) "xor ebx, ebx\n")
SCENARIO(mtf_exit, MONITOR_TRAP, .arm = {{EXIT_MONITOR_TRAP}},
         .exited = stop_at_second,
         .expect = {{EXIT_VMXOFF, 1, .length = 3},
                    {EXIT_MONITOR_TRAP, 2}},
         .see = {GPR(RAX, 0), GPR(RBX, 0)});

SCENARIO_OF(mtf_off, mtf, MONITOR_TRAP, .negative = true,
            .see = {GPR(RAX, 0), GPR(RBX, 0), GPR(RCX, 0)});

/* Injected as an event of type 7 it comes at the entry, without the control
 * and before the first instruction (SDM 27.6.2). */
static void inject_mtf(struct vcpu *v)
{
    struct event mtf = {.type = EVENT_OTHER};

    v->ops->inject(v, &mtf);
}

GUEST(mtf_injected, AT(mtf_injected, 1) "xor eax, eax\n")
SCENARIO(mtf_injected, MONITOR_TRAP, .before = inject_mtf,
         .expect = {{EXIT_MONITOR_TRAP, 1, .raw = {RAW(QUALIFICATION, 0)}}},
         .see = {GPR(RAX, 0)});

/* --- VMX-preemption timer (SDM 26.5.1). The handler sets the flag. */
#define WAIT(id)                                                               \
    AT(id, 1) "cmp qword ptr [rip + guest_flag], 0\n"                          \
              "je guest_" #id "_1\n" AT(id, 2) "nop\n"

GUEST(timer, WAIT(timer))
SCENARIO(timer, PREEMPTION_TIMER, .arm = {{EXIT_PREEMPTION_TIMER, 64}},
         .expect = {{EXIT_PREEMPTION_TIMER, 1, .until = 2,
                     .raw = {RAW(QUALIFICATION, 0), RAW(TIMER, 0)}}});

/* A value of 0 ends before the first instruction. */
GUEST(timer_zero, AT(timer_zero, 1) "xor eax, eax\n")
SCENARIO(timer_zero, PREEMPTION_TIMER, .arm = {{EXIT_PREEMPTION_TIMER, 0}},
         .expect = {{EXIT_PREEMPTION_TIMER, 1, .raw = {RAW(TIMER, 0)}}},
         .see = {GPR(RAX, 0)});

/* It runs on while the guest sleeps, and ends that (SDM 26.5.1). */
static void sleep_before(struct vcpu *v)
{
    v->ops->set(v, REG_ACTIVITY, ACTIVITY_HLT);
}

static void wake_up(struct vcpu *v)
{
    if (v->exit.kind == EXIT_PREEMPTION_TIMER)
        v->ops->set(v, REG_ACTIVITY, ACTIVITY_ACTIVE);
}

SCENARIO_OF(timer_hlt, timer_zero, PREEMPTION_TIMER,
            .needs = {FEAT_VMX_ACTIVITY_HLT}, .before = sleep_before,
            .arm = {{EXIT_PREEMPTION_TIMER, 64}}, .exited = wake_up,
            .expect = {{EXIT_PREEMPTION_TIMER, 1, .raw = {RAW(TIMER, 0)}}},
            .see = {GPR(RAX, 0)});

/* Any other exit saves what is left or, with the exit control off, leaves the
 * field as it was; then the host makes it short. */
#define LONG_TIME 0x40000000ull

static void shorten_at_second(struct vcpu *v)
{
    if (v->run->next == 1)
        v->ops->set_word(v, RAW_TIMER, 1000);
}

static void save_nothing(struct vcpu *v)
{
    v->ops->use(v, FEAT_VMX_EXIT_SAVE_TIMER, false);
}

GUEST(timer_saved, "mov ecx, 20000\n"
                   "1: dec ecx\n"
                   "jnz 1b\n" AT(timer_saved, 1) "vmxoff\n"
                   AT(timer_saved, 2) "vmxoff\n"
                   "1: cmp qword ptr [rip + guest_flag], 0\n"
                   "je 1b\n")
SCENARIO(timer_saved, PREEMPTION_TIMER, .needs = {FEAT_VMX_EXIT_SAVE_TIMER},
         .arm = {{EXIT_PREEMPTION_TIMER}}, .set = {PUT(TIMER, LONG_TIME)},
         .exited = shorten_at_second,
         .expect = {{EXIT_VMXOFF, 1, .length = 3,
                     .raw = {RAW_BUT(TIMER, LONG_TIME - 0x1000000, 0xffffff)}},
                    {EXIT_VMXOFF, 2, .length = 3},
                    {EXIT_PREEMPTION_TIMER, .any_rip = true}},
         .see = {GPR(RCX, 0)});

SCENARIO_OF(timer_unsaved, timer_saved, PREEMPTION_TIMER,
            .arm = {{EXIT_PREEMPTION_TIMER}}, .set = {PUT(TIMER, LONG_TIME)},
            .before = save_nothing, .exited = shorten_at_second,
            .expect = {{EXIT_VMXOFF, 1, .length = 3,
                        .raw = {RAW(TIMER, LONG_TIME)}},
                       {EXIT_VMXOFF, 2, .length = 3},
                       {EXIT_PREEMPTION_TIMER, .any_rip = true}},
            .see = {GPR(RCX, 0)});

SCENARIO_OF(timer_off, timer_zero, PREEMPTION_TIMER, .negative = true,
            .see = {GPR(RAX, 0)});

/* --- PAUSE-loop exiting (SDM 26.1.3): a loop that PAUSEs again within the gap
 * and does so for longer than the window. */
static void end_loop(struct vcpu *v)
{
    *guest_copy(guest_flag, u64) = 1;
    (void)v;
}

GUEST(pause_loop, AT(pause_loop, 1) "pause\n"
                  "cmp qword ptr [rip + guest_flag], 0\n"
                  "je guest_pause_loop_1\n")
SCENARIO(pause_loop, PAUSE, .vendor = VENDOR_VMX, .use = {FEAT_VMX_PAUSE_LOOP},
         .set = {PUT(PLE_GAP, 0x1000), PUT(PLE_WINDOW, 0x8000)},
         .exited = end_loop,
         .expect = {{EXIT_PAUSE, 1, .length = 2,
                     .raw = {RAW(QUALIFICATION, 0)}}});

/* The same window, but more than the gap between one PAUSE and the next. */
GUEST(pause_slow, "mov ebx, 300\n"
                  "1: pause\n"
                  "mov ecx, 200\n"
                  "2: dec ecx\n"
                  "jnz 2b\n"
                  "dec ebx\n"
                  "jnz 1b\n")
SCENARIO(pause_slow, PAUSE, .vendor = VENDOR_VMX, .use = {FEAT_VMX_PAUSE_LOOP},
         .set = {PUT(PLE_GAP, 16), PUT(PLE_WINDOW, 0x8000)}, .negative = true,
         .see = {GPR(RBX, 0), GPR(RCX, 0)});

/* At CPL 3 loops do not exit, whatever they do; at CPL 0 the same one does. */
GUEST(pause_loop_cpl3, "mov ebx, 2000\n"
                       "1: pause\n"
                       "dec ebx\n"
                       "jnz 1b\n")
SCENARIO(pause_loop_cpl3, PAUSE, .vendor = VENDOR_VMX,
         .use = {FEAT_VMX_PAUSE_LOOP}, .mode = MODE_64_USER,
         .set = {PUT(PLE_GAP, 0x1000), PUT(PLE_WINDOW, 0x400)},
         .negative = true, .see = {GPR(RBX, 0)});

/* --- Notify window (SDM 26.2): the guest has had no chance to take an event
 * for so long. Here each delivery of #DB writes where a breakpoint is, by a
 * stack of its own in the same place every time, and so makes the next one due
 * before the first instruction of the handler. */
#define NOTIFY_WINDOW 0x20000
#define TSS_IST1      0x24
#define LOOP_STACK    0x400 /* its top, below that of the guest's */

static void loop_stack(struct vcpu *v)
{
    u64 top = GUEST_GPA(guest_stack_top) - LOOP_STACK;
    u8 *ist = guest_memory(GUEST_GPA(guest_tss) + TSS_IST1, sizeof(top));

    __builtin_memcpy(ist, &top, sizeof(top));
    guest_set_gate(VECTOR_DB, v->run->scenario->label[3], 1);
}

/* Without the breakpoint the handler runs. */
static void end_db_loop(struct vcpu *v)
{
    if (v->exit.kind != EXIT_NOTIFY)
        return;
    v->ops->set(v, REG_DR7, DR7_RESET);
    v->ops->set_word(v, RAW_PENDING_DEBUG, 0);
}

GUEST(notify, "mov rbp, rsp\n"
      "lea rax, [rip + guest_stack_top - 0x408]\n"
      "mov dr0, rax\n"
      "mov ecx, 0x90401\n" /* L0, writes, 8 bytes */
      "mov dr7, rcx\n" AT(notify, 1) "mov [rax], rcx\n"
      "jmp guest_abort\n" AT(notify, 3) "mov rsp, rbp\n"
      "xor eax, eax\n"
      "xor ecx, ecx\n")
SCENARIO(notify, NOTIFY, .arm = {{EXIT_NOTIFY}}, .before = loop_stack,
         .set = {PUT(NOTIFY_WINDOW, NOTIFY_WINDOW)}, .exited = end_db_loop,
         .expect = {{EXIT_NOTIFY, .any_rip = true,
                     .raw = {RAW(QUALIFICATION, 0),
                             RAW_BUT(VECTORING_INFO, 0, ~0ull)}}},
         .see = {GPR(RAX, 0), GPR(RCX, 0), SAME(RBP, RSP)});

/* Work that takes longer than the window, but with interrupts between. */
GUEST(notify_open, "mov ecx, 200000\n"
                   "1: dec ecx\n"
                   "jnz 1b\n")
SCENARIO(notify_open, NOTIFY, .arm = {{EXIT_NOTIFY}}, .negative = true,
         .set = {PUT(NOTIFY_WINDOW, NOTIFY_WINDOW)}, .see = {GPR(RCX, 0)});

/* --- RSM is for SMM alone, where it exits only under the dual-monitor
 * treatment (SDM 32.15.3). */
GUEST(rsm_ud, GOES_ON_AT_2 AT(rsm_ud, 1) ".byte 0x0f, 0xaa\n" HERE)
SCENARIO(rsm_ud, EXCEPTION, .item = VECTOR_UD, .vendor = VENDOR_VMX,
         .negative = true, .see = {SAW(VECTOR_UD, 0, 1)});

/* --- XSAVES and XRSTORS (SDM 26.1.3): they exit for a component that
 * EDX:EAX, IA32_XSS and the bitmap all have. IA32_XSS is not switched: the
 * guest puts back what it found, 0. */
#define XSS_CET 0x1800

static void enable_xsave(struct guest_state *gs)
{
    gs->cr4 |= CR4_OSXSAVE;
}

#define SET_XSS(value)                                                         \
    "mov ecx, 0xda0\n"                                                         \
    "mov eax, " value "\n"                                                     \
    "xor edx, edx\n"                                                           \
    "wrmsr\n"
#define XSS_SEEN GPR(RAX, 0), GPR(RCX, 0xda0), GPR(RDX, 0)
/* SDM 28.2.5: 64-bit address, DS, base RSI, index RDI times four. */
#define XSAVE_INFO RAW_BUT(INSTRUCTION_INFO, 0x031d8102, 0xf000787c)

#define XSTATE(id, KIND, insn)                                                 \
    GUEST(id, "mov esi, 0x6000\n"                                              \
              "mov edi, 0x10\n"                                                \
              SET_XSS("0x1800") "mov eax, 0x800\n"                             \
              AT(id, 1) insn " [rsi + rdi * 4 + 0x40]\n" SET_XSS("0"))         \
    SCENARIO(id, KIND, .needs = {FEAT_CET_SS, FEAT_CET_IBT},                   \
             .state = enable_xsave, .arm = {{EXIT_##KIND}},                    \
             .set = {PUT(XSS_BITMAP, 0x800)},                                  \
             .expect = {{EXIT_##KIND, 1, .length = 5,                          \
                         .raw = {RAW(QUALIFICATION, 0x40), XSAVE_INFO}}},      \
             .see = {XSS_SEEN, GPR(RSI, GUEST_UNMAPPED), GPR(RDI, 0x10)})

XSTATE(xsaves, XSAVES, "xsaves");
XSTATE(xrstors, XRSTORS, "xrstors");

/* The neighbour in the bitmap alone: no exit. Component 11 (CET_U) is saved:
 * XCOMP_BV says compacted, with bit 11. */
GUEST(xsaves_other, "mov esi, 0x100200\n"
                    SET_XSS("0x1800") "mov eax, 0x800\n"
                    "xsaves [rsi]\n"
                    "xrstors [rsi]\n" SET_XSS("0"))
#define XSAVES_OTHER(id, KIND)                                                 \
    SCENARIO_OF(id, xsaves_other, KIND, .negative = true,                      \
                .probe = ACCESS_R | ACCESS_W,                                  \
                .needs = {FEAT_CET_SS, FEAT_CET_IBT}, .state = enable_xsave,   \
                .arm = {{EXIT_##KIND}}, .set = {PUT(XSS_BITMAP, 0x1000)},      \
                .before = clear_header,                                        \
                .see = {XSS_SEEN, GPR(RSI, GUEST_PROBE + 0x200),               \
                        PROBE(0x408 / 8, BIT(63) | 0x800)})
/* Its reserved bytes must be 0 for XRSTORS. */
static void clear_header(struct vcpu *v)
{
    u64 *header = guest_memory(GUEST_PROBE + 0x400, 64);

    (void)v;
    for (u32 n = 0; n < 8; n++)
        header[n] = 0;
}
XSAVES_OTHER(xsaves_other, XSAVES);
XSAVES_OTHER(xrstors_other, XRSTORS);

/* Without the control they are no instructions (SDM 26.3). */
#define PROC2_XSAVES BIT(20)
static void forbid_xsaves(struct vcpu *v)
{
    u64 controls = 0;

    v->ops->word(v, RAW_SECONDARY, &controls);
    v->ops->set_word(v, RAW_SECONDARY, controls & ~PROC2_XSAVES);
}
FAULTS_FIRST(xsaves_ud, XSAVES, 0, "xsaves [rsi]\n", VECTOR_UD,
             .needs = {FEAT_XSAVES}, .state = enable_xsave,
             .before = forbid_xsaves);
FAULTS_FIRST(xrstors_ud, XRSTORS, 0, "xrstors [rsi]\n", VECTOR_UD,
             .needs = {FEAT_XSAVES}, .state = enable_xsave,
             .before = forbid_xsaves);

/* Privilege comes first: the host has set IA32_XSS for the guest. */
static void set_xss(struct vcpu *v)
{
    (void)v;
    wrmsr(MSR_XSS, XSS_CET);
}
static void clear_xss(struct vcpu *v)
{
    (void)v;
    wrmsr(MSR_XSS, 0);
}
#define XSTATE_CPL3(id, KIND, insn)                                            \
    PRIVILEGE_FIRST(id, KIND, 0, insn " [rsi]\n", .state = enable_xsave,       \
                    .needs = {FEAT_CET_SS, FEAT_CET_IBT},                      \
                    .set = {PUT(XSS_BITMAP, ~0ull)}, .before = set_xss,        \
                    .ended = clear_xss)
XSTATE_CPL3(xsaves_cpl3, XSAVES, "xsaves");
XSTATE_CPL3(xrstors_cpl3, XRSTORS, "xrstors");
