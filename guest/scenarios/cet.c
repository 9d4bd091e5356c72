/*
 * Scenarios: #CP, control protection (SDM vol 1, chapter 17; APM vol 2, 18).
 * The guest is at CPL 3, where IA32_U_CET says what is checked: neither vendor
 * switches that MSR. Its handler, at CPL 0, is not under control.
 */
/* clang-format off */
#include "guest/fault.h"
#include "hv/msr.h"

#define CET_SHADOW_STACK BIT(0) /* of IA32_U_CET */
#define CET_ENDBRANCH    BIT(2)

/* Error codes, SDM 6.15 (Interrupt 21), APM 8.2.20. */
#define NEAR_RET   1
#define ENDBRANCH  3

#define ENDBR64 ".byte 0xf3, 0x0f, 0x1e, 0xfa\n"

static void enable_cet(struct guest_state *gs)
{
    gs->cr4 |= CR4_CET;
}

static void watch_branches(struct vcpu *v)
{
    (void)v;
    wrmsr(MSR_U_CET, CET_ENDBRANCH);
}

static void watch_returns(struct vcpu *v)
{
    (void)v;
    wrmsr(MSR_U_CET, CET_SHADOW_STACK);
}

static void watch_nothing(struct vcpu *v)
{
    (void)v;
    wrmsr(MSR_U_CET, 0);
}

#define CONTROL_PROTECTION(code)                                               \
    .item = VECTOR_CP, .has_info = true,                                       \
    .info.exception = {.vector = VECTOR_CP, .has_error = true, .error = code}, \
    .raw = {RAW(INTERRUPTION_INFO, 0x80000b15), RAW(INTERRUPTION_ERROR, code), \
            RAW(QUALIFICATION, 0), RAW(EXITINFO1, code)}
#define AT_CPL3 .mode = MODE_64_USER, .ended = watch_nothing

/* --- An indirect jump to an instruction that is not ENDBR64: a fault, at its
 * target. The CPU waits for ENDBR64 still when the handler returns. */
GUEST(cp_branch, GOES_ON_AT_2 "lea rax, [rip + 1f]\n"
      "jmp rax\n"
      "1:\n" AT(cp_branch, 1) "ud2\n"
      "2:\n" ENDBR64 "xor r15d, r15d\n"
      "xor eax, eax\n")
#define WATCHES_BRANCHES                                                       \
    AT_CPL3, .vendor = VENDOR_VMX, .needs = {FEAT_CET_IBT},                    \
    .state = enable_cet, .before = watch_branches
SCENARIO(cp_branch, EXCEPTION, .item = VECTOR_CP, WATCHES_BRANCHES,
         .arm = {{EXIT_EXCEPTION, VECTOR_CP}},
         .expect = {{EXIT_EXCEPTION, 1, CONTROL_PROTECTION(ENDBRANCH)}},
         .see = {SAW(VECTOR_CP, ENDBRANCH, 1), GPR(RAX, 0)});
SCENARIO_OF(cp_branch_off, cp_branch, EXCEPTION, .item = VECTOR_CP,
            WATCHES_BRANCHES, .negative = true,
            .arm = {{EXIT_EXCEPTION, VECTOR_VE}},
            .see = {SAW(VECTOR_CP, ENDBRANCH, 1), GPR(RAX, 0)});

/* ENDBR64 is there, or a direct jump needs none. */
GUEST(cp_branch_right, "lea rax, [rip + 1f]\n"
                       "jmp rax\n"
                       "1:" ENDBR64 "jmp 2f\n"
                       "2: xor eax, eax\n")
SCENARIO(cp_branch_right, EXCEPTION, .item = VECTOR_CP, WATCHES_BRANCHES,
         .negative = true, .arm = {{EXIT_EXCEPTION, VECTOR_CP}},
         .see = {GPR(RAX, 0), SEEN(count, 0)});

/* --- RET to where no CALL came from. The shadow stack is in the probe page,
 * which the guest's tables map as one: not writable, dirty (SDM 4.6). A call
 * and its return come first, and are right. */
#define SHADOW_STACK (GUEST_PROBE + 0x800)
#define PTE_RW       BIT(1)
#define PTE_DIRTY    BIT(6)
static void map_shadow_stack(struct guest_state *gs)
{
    u64 *pt = guest_memory(GUEST_GPA(guest_pt), PAGE_SIZE);

    pt[GUEST_PROBE / PAGE_SIZE] &= ~PTE_RW;
    pt[GUEST_PROBE / PAGE_SIZE] |= PTE_DIRTY;
    enable_cet(gs);
}

GUEST(cp_return, GOES_ON_AT_2 "call 1f\n"
      "lea rax, [rip + 3f]\n"
      "push rax\n"
      "jmp 1f\n"
      "3: ud2\n"
      "1:\n" AT(cp_return, 1) "ret\n"
      "2: pop rax\n"
      "xor eax, eax\n"
      "xor r15d, r15d\n")
#define WATCHES_RETURNS                                                        \
    AT_CPL3, .probe = ACCESS_R | ACCESS_W, .state = map_shadow_stack,          \
    .before = watch_returns, .set = {PUT(SSP, SHADOW_STACK)}
#define SEES_CP SAW(VECTOR_CP, NEAR_RET, 1), GPR(RAX, 0)
#define RETURNS(id, who, ...)                                                  \
    SCENARIO_OF(id, cp_return, EXCEPTION, .item = VECTOR_CP, .vendor = who,    \
                WATCHES_RETURNS, .see = {SEES_CP}, __VA_ARGS__)
#define INTERCEPTED                                                            \
    .arm = {{EXIT_EXCEPTION, VECTOR_CP}},                                      \
    .expect = {{EXIT_EXCEPTION, 1, CONTROL_PROTECTION(NEAR_RET)}}

/* VT-x loads SSP from the guest-state area by a control of its own. */
RETURNS(cp_return, VENDOR_VMX, .needs = {FEAT_CET_SS},
        .use = {FEAT_VMX_ENTRY_LOAD_CET}, INTERCEPTED);
RETURNS(cp_return_off, VENDOR_VMX, .needs = {FEAT_CET_SS},
        .use = {FEAT_VMX_ENTRY_LOAD_CET}, .negative = true);
/* AMD-V from the VMCB (APM 15.5.1). */
RETURNS(cp_return_svm, VENDOR_SVM, .needs = {FEAT_CET_SS}, INTERCEPTED);
RETURNS(cp_return_svm_off, VENDOR_SVM, .needs = {FEAT_CET_SS},
        .negative = true);
