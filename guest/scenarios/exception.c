/*
 * Scenarios: exceptions that exit, are injected back as they were, and are
 * then seen by the guest's own handler, which returns to R15. Each once more
 * with nothing armed: then the guest sees the same without an exit.
 */
/* clang-format off */
#include "guest/fault.h"

/* Interruption information on VT-x (SDM Table 25-19): valid, hardware
 * exception, with or without an error code. */
#define INFO(v)       (0x80000300u | (v))
#define INFO_ERROR(v) (0x80000b00u | (v))
#define NO_DELIVERY   RAW_BUT(VECTORING_INFO, 0, ~BIT(31)), RAW(EXITINTINFO, 0)

#define PLAIN(v)                                                               \
    .item = v, .has_info = true, .info.exception = {.vector = v},              \
    .raw = {RAW(INTERRUPTION_INFO, INFO(v)), NO_DELIVERY}
#define WITH_ERROR(v, e)                                                       \
    .item = v, .has_info = true,                                               \
    .info.exception = {.vector = v, .has_error = true, .error = e},            \
    .raw = {RAW(INTERRUPTION_INFO, INFO_ERROR(v)), RAW(INTERRUPTION_ERROR, e), \
            RAW(EXITINFO1, e), NO_DELIVERY}

/* One that exits at label 1, and is seen there; with its negative. */
#define EXCEPTION(id, v, e, how, ...)                                          \
    SCENARIO(id, EXCEPTION, .item = v, .arm = {{EXIT_EXCEPTION, v}},           \
             .expect = {{EXIT_EXCEPTION, 1, how}},                             \
             .see = {SAW(v, e, 1), __VA_ARGS__}, STATE_##id);                  \
    SCENARIO_OF(id##_off, id, EXCEPTION, .item = v, .negative = true,          \
                .see = {SAW(v, e, 1), __VA_ARGS__}, STATE_##id)

/* Division by zero leaves RDX:RAX alone. */
#define STATE_exc_de
GUEST(exc_de, GOES_ON_AT_2 "xor ecx, ecx\n" AT(exc_de, 1) "div ecx\n" HERE)
EXCEPTION(exc_de, VECTOR_DE, 0, PLAIN(VECTOR_DE), GPR(RCX, 0));

#define STATE_exc_ud
GUEST(exc_ud, GOES_ON_AT_2 AT(exc_ud, 1) "ud2\n" HERE)
EXCEPTION(exc_ud, VECTOR_UD, 0, PLAIN(VECTOR_UD));

/* AMD-V: nRIP is for instructions' intercepts and for INT3, INTO and BOUND;
 * it is 0 with any other exception (APM 15.7.1), and with an interrupt, too. */
SCENARIO_OF(exc_ud_nrip, exc_ud, EXCEPTION, .item = VECTOR_UD,
            .vendor = VENDOR_SVM, .needs = {FEAT_SVM_NRIPS},
            .arm = {{EXIT_EXCEPTION, VECTOR_UD}},
            .expect = {{EXIT_EXCEPTION, 1, .item = VECTOR_UD,
                        .raw = {RAW(NRIP, 0)}}},
            .see = {SAW(VECTOR_UD, 0, 1)});

/* INT3 is a trap for the guest (it returns behind it), but the exit finds RIP
 * at the instruction: whoever injects it back must say how long it was. */
GUEST(exc_bp, GOES_ON_AT_2 AT(exc_bp, 1) "int3\n" AT(exc_bp, 2) "nop\n" HERE)
SCENARIO(exc_bp, EXCEPTION, .item = VECTOR_BP,
         .arm = {{EXIT_EXCEPTION, VECTOR_BP}},
         .expect = {{EXIT_EXCEPTION, 1, .item = VECTOR_BP, .length = 1,
                     .has_info = true, .info.exception = {.vector = VECTOR_BP},
                     .raw = {RAW(INTERRUPTION_INFO, 0x80000603), NO_DELIVERY}}},
         .see = {SAW(VECTOR_BP, 0, 2)});
SCENARIO_OF(exc_bp_off, exc_bp, EXCEPTION, .item = VECTOR_BP, .negative = true,
            .see = {SAW(VECTOR_BP, 0, 2)});

/* INT1: on VT-x a #DB of a type of its own, privileged software exception. */
GUEST(exc_int1,
      GOES_ON_AT_2 AT(exc_int1, 1) ".byte 0xf1\n" AT(exc_int1, 2) "nop\n" HERE)
SCENARIO(exc_int1, EXCEPTION, .item = VECTOR_DB, .vendor = VENDOR_VMX,
         .arm = {{EXIT_EXCEPTION, VECTOR_DB}},
         .expect = {{EXIT_EXCEPTION, 1, .item = VECTOR_DB, .length = 1,
                     .has_info = true, .info.exception = {.vector = VECTOR_DB},
                     .raw = {RAW(INTERRUPTION_INFO, 0x80000501), NO_DELIVERY}}},
         .see = {SAW(VECTOR_DB, 0, 2)});
SCENARIO_OF(exc_int1_off, exc_int1, EXCEPTION, .item = VECTOR_DB,
            .negative = true, .vendor = VENDOR_VMX,
            .see = {SAW(VECTOR_DB, 0, 2)});

static void set_ts(struct guest_state *gs)
{
    gs->cr0 |= CR0_TS;
}
#define STATE_exc_nm .state = set_ts
GUEST(exc_nm, GOES_ON_AT_2 AT(exc_nm, 1) "fnop\n" HERE)
EXCEPTION(exc_nm, VECTOR_NM, 0, PLAIN(VECTOR_NM));

/* The x87 says so only at the next waiting instruction (CR0.NE is 1). */
#define STATE_exc_mf
GUEST(exc_mf, GOES_ON_AT_2
              "fninit\n"
              "push 0x37b\n" /* zero divide unmasked */
              "fldcw [rsp]\n"
              "pop rax\n"
              "fld1\n"
              "fldz\n"
              "fdivp\n"
              AT(exc_mf, 1) "fwait\n"
              HERE
              "fninit\n")
EXCEPTION(exc_mf, VECTOR_MF, 0, PLAIN(VECTOR_MF), GPR(RAX, 0x37b));

/* Invalid operation unmasked: an infinity as an integer. No XMM register is
 * written; without CR4.OSXMMEXCPT it is #UD in place of #XM. */
static void set_osxmmexcpt(struct guest_state *gs)
{
    gs->cr4 |= CR4_OSXMMEXCPT;
}
#define SIMD_FAULT(id)                                                         \
    GUEST(id, GOES_ON_AT_2                                                     \
          "mov rdx, 0x7f80000000001f00\n"                                      \
          "push rdx\n"                                                         \
          "ldmxcsr [rsp]\n" AT(id,                                             \
                               1) "cvttss2si eax, dword ptr [rsp + 4]\n" HERE  \
                                  "mov dword ptr [rsp], 0x1f80\n"              \
                                  "ldmxcsr [rsp]\n"                            \
                                  "pop rdx\n"                                  \
                                  "xor edx, edx\n")
#define STATE_exc_xm .state = set_osxmmexcpt
SIMD_FAULT(exc_xm)
EXCEPTION(exc_xm, VECTOR_XM, 0, PLAIN(VECTOR_XM), GPR(RDX, 0));
SIMD_FAULT(exc_xm_ud)
SCENARIO(exc_xm_ud, EXCEPTION, .item = VECTOR_XM, .negative = true,
         .arm = {{EXIT_EXCEPTION, VECTOR_XM}},
         .see = {SAW(VECTOR_UD, 0, 1), GPR(RDX, 0)});

/* Alignment: at CPL 3, with CR0.AM and RFLAGS.AC. */
static void check_alignment(struct guest_state *gs)
{
    gs->cr0 |= CR0_AM;
    gs->rflags |= RFLAGS_AC;
}
#define STATE_exc_ac .mode = MODE_64_USER, .state = check_alignment, .probe = ACCESS_R
GUEST(exc_ac,
      GOES_ON_AT_2 "mov ebx, 0x100001\n" AT(exc_ac, 1) "mov eax, [rbx]\n" HERE)
EXCEPTION(exc_ac, VECTOR_AC, 0, WITH_ERROR(VECTOR_AC, 0),
          GPR(RBX, GUEST_PROBE + 1));

/* A selector beyond the GDT: its index is the error code. */
#define STATE_exc_gp
GUEST(exc_gp,
      GOES_ON_AT_2 "mov eax, 0x7f8\n" AT(exc_gp, 1) "mov ds, eax\n" HERE)
EXCEPTION(exc_gp, VECTOR_GP, GUEST_BAD_SEL,
          WITH_ERROR(VECTOR_GP, GUEST_BAD_SEL), GPR(RAX, GUEST_BAD_SEL));

/* A data segment that is not present, in the GDT's spare slot: #NP for DS, #SS
 * for SS. */
#define SPARE_NOT_PRESENT                                                      \
    "mov rax, 0x00cf13000000ffff\n"                                            \
    "mov [rip + guest_gdt + 0x90], rax\n"                                      \
    "mov eax, 0x90\n"
#define STATE_exc_np
GUEST(exc_np, GOES_ON_AT_2 SPARE_NOT_PRESENT AT(exc_np, 1) "mov ds, eax\n" HERE)
EXCEPTION(exc_np, VECTOR_NP, GUEST_SPARE, WITH_ERROR(VECTOR_NP, GUEST_SPARE),
          GPR(RAX, GUEST_SPARE));

#define STATE_exc_ss
GUEST(exc_ss, GOES_ON_AT_2 SPARE_NOT_PRESENT AT(exc_ss, 1) "mov ss, eax\n" HERE)
EXCEPTION(exc_ss, VECTOR_SS, GUEST_SPARE, WITH_ERROR(VECTOR_SS, GUEST_SPARE),
          GPR(RAX, GUEST_SPARE));

/* By RBP an address that is not canonical is #SS(0), not #GP. */
#define STATE_exc_ss_address
GUEST(exc_ss_address, GOES_ON_AT_2
                      "mov rbp, 0x8000000000000000\n"
                      AT(exc_ss_address, 1) "mov rax, [rbp]\n"
                      HERE)
EXCEPTION(exc_ss_address, VECTOR_SS, 0, WITH_ERROR(VECTOR_SS, 0),
          GPR(RBP, BIT(63)));

/*
 * An exception in the delivery of another event: the exit says of which. INT
 * 40h by a gate that is not present is #NP with the gate's offset (bit 1: in
 * the IDT); by a gate with a stack of its own that is beyond the TSS's limit
 * it is #TS. VT-x also knows how long INT was (SDM 28.2.5).
 */
#define INT_40  0x80000440u /* valid, software interrupt, vector 40h */
#define GATE_40 "[rip + guest_idt + 0x40 * 16 + "
#define IN_INT_40(v, e, length_)                                               \
    .item = v, .length = length_, .has_info = true,                            \
    .info.exception = {.vector = v, .has_error = true, .error = e},            \
    .raw = {RAW(INTERRUPTION_INFO, INFO_ERROR(v)), RAW(INTERRUPTION_ERROR, e), \
            RAW(EXITINFO1, e), RAW(VECTORING_INFO, INT_40),                    \
            RAW(EXITINTINFO, INT_40)}
#define FAULT_IN_INT_40(id, v, e, state_)                                      \
    SCENARIO(id, EXCEPTION, .item = v, .arm = {{EXIT_EXCEPTION, v}},           \
             .state = state_,                                                  \
             .expect = {{EXIT_EXCEPTION, 1, .vendor = VENDOR_VMX,              \
                         IN_INT_40(v, e, 2)},                                  \
                        {EXIT_EXCEPTION, 1, .vendor = VENDOR_SVM,              \
                         IN_INT_40(v, e, 0)}},                                 \
             .see = {SAW(v, e, 1)});                                           \
    SCENARIO_OF(id##_off, id, EXCEPTION, .item = v, .negative = true,          \
                .state = state_, .see = {SAW(v, e, 1)})

GUEST(exc_np_gate, GOES_ON_AT_2
      "and byte ptr " GATE_40 "5], 0x7f\n" AT(exc_np_gate, 1) "int 0x40\n" HERE)
FAULT_IN_INT_40(exc_np_gate, VECTOR_NP, 0x40 * 8 + 2, NULL);

static void shorten_tss(struct guest_state *gs)
{
    gs->seg[SEG_TR].limit = 0x23; /* IST1 is at 24h */
}
GUEST(exc_ts, GOES_ON_AT_2
              "mov byte ptr " GATE_40 "4], 1\n"
              AT(exc_ts, 1) "int 0x40\n"
              HERE)
FAULT_IN_INT_40(exc_ts, VECTOR_TS, GUEST_TR, shorten_tss);

/* In the delivery of an exception VT-x sets EXT (bit 0) in the error code (SDM
 * 6.13); the APM only says that it means a source outside the processor. */
GUEST(exc_np_in_ud, GOES_ON_AT_2
                    "and byte ptr [rip + guest_idt + 6 * 16 + 5], 0x7f\n"
                    AT(exc_np_in_ud, 1) "ud2\n"
                    HERE)
SCENARIO(exc_np_in_ud, EXCEPTION, .item = VECTOR_NP, .vendor = VENDOR_VMX,
         .arm = {{EXIT_EXCEPTION, VECTOR_NP}},
         .expect = {{EXIT_EXCEPTION, 1, .item = VECTOR_NP, .has_info = true,
                     .info.exception = {.vector = VECTOR_NP,
                                        .has_error = true,
                                        .error = VECTOR_UD * 8 + 3},
                     .raw = {RAW(INTERRUPTION_INFO, INFO_ERROR(VECTOR_NP)),
                             RAW(INTERRUPTION_ERROR, VECTOR_UD * 8 + 3),
                             RAW(VECTORING_INFO, INFO(VECTOR_UD))}}},
         .see = {SAW(VECTOR_NP, VECTOR_UD * 8 + 3, 1)});

/* So there the error code is not looked at, but of whom it was in the way is. */
SCENARIO_OF(exc_np_in_ud_svm, exc_np_in_ud, EXCEPTION, .item = VECTOR_NP,
            .vendor = VENDOR_SVM, .arm = {{EXIT_EXCEPTION, VECTOR_NP}},
            .expect = {{EXIT_EXCEPTION, 1, .item = VECTOR_NP,
                        .raw = {RAW(EXITINTINFO, INFO(VECTOR_UD))}}},
            .see = {SEEN(count, 1), SEEN(vector, VECTOR_NP), SEEN_AT(1),
                    GPR(R15, 0)});

/* #NP in the delivery of #DE is a double fault, and that is no delivery any
 * more (SDM 28.2.4, APM 15.7.3). The RIP that its handler finds is undefined
 * (SDM 6.15, APM 8.2.9), and on AMD-V so are the one in the VMCB and EXITINFO1
 * (APM 15.12.9). */
#define SAW_DF                                                                 \
    SEEN(count, 1), SEEN(vector, VECTOR_DF), SEEN(error, 0), GPR(R15, 0),      \
        GPR(RCX, 0)
GUEST(exc_df, GOES_ON_AT_2
              "and byte ptr [rip + guest_idt + 5], 0x7f\n"
              "xor ecx, ecx\n"
              AT(exc_df, 1) "div ecx\n"
              HERE)
SCENARIO(exc_df, EXCEPTION, .item = VECTOR_DF,
         .arm = {{EXIT_EXCEPTION, VECTOR_DF}},
         .expect = {{EXIT_EXCEPTION, 1, .vendor = VENDOR_VMX,
                     .item = VECTOR_DF, .has_info = true,
                     .info.exception = {.vector = VECTOR_DF,
                                        .has_error = true},
                     .raw = {RAW(INTERRUPTION_INFO, INFO_ERROR(VECTOR_DF)),
                             RAW(INTERRUPTION_ERROR, 0),
                             RAW_BUT(VECTORING_INFO, 0, ~BIT(31))}},
                    {EXIT_EXCEPTION, .vendor = VENDOR_SVM, .item = VECTOR_DF,
                     .any_rip = true,
                     .raw = {RAW_BUT(EXITINTINFO, 0, ~BIT(31))}}},
         .see = {SAW_DF});
SCENARIO_OF(exc_df_off, exc_df, EXCEPTION, .item = VECTOR_DF, .negative = true,
            .see = {SAW_DF});
