/*
 * Scenarios: exceptions in the other modes, each injected back and seen by the
 * guest's own handler, and those that 64-bit mode cannot raise.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/cpu.h"
#include "hv/handlers.h"

#define EACH_16(X, text)                                                       \
    X(real, MODE_REAL, text) X(p16, MODE_16, text) X(v86, MODE_V86, text)
#define EACH_32(X, text)                                                       \
    X(p32, MODE_32, text) X(paged, MODE_32_PAGED, text)                        \
    X(pae, MODE_32_PAE, text) X(compat, MODE_COMPAT, text)

/* A hardware exception; VT-x's interruption information, too (SDM Table 25-19:
 * valid, has an error code, type 3). */
#define INTR_INFO(n, coded) (0x80000300 | (coded) << 11 | (n))
#define FAULT(n, coded, code)                                                  \
    .item = n, .has_info = true,                                               \
    .info.exception = {.vector = n, .has_error = coded, .error = code},        \
    .raw = {RAW_BUT(INTERRUPTION_INFO, INTR_INFO(n, coded), BIT(12)),          \
            RAW(VECTORING_INFO, 0), RAW(EXITINTINFO, 0)}
#define SEES(n, code, where, reg)                                              \
    SEEN(count, 1), SEEN(vector, n), SEEN(error, code), SEEN_AT(where),        \
        GPR(reg, 0)

/* ---- #UD: injected through the IDT of 32-bit and 64-bit mode, the IVT ----- */

GUEST16(ud16, GOES_ON_16 AT(ud16, 1) "ud2\n" HERE_32)
GUEST32(ud32, GOES_ON_32 AT(ud32, 1) "ud2\n" HERE_32)
GUEST(ud_ring3, "lea r15, [rip + 2f]\n" AT(ud_ring3, 1) "ud2\n"
               "2: xor r15d, r15d\n")
#define UD_IN(name, m, text, reg)                                              \
    SCENARIO_OF(name##_exc_ud, text, EXCEPTION, .item = VECTOR_UD, .mode = m,  \
                .arm = {{EXIT_EXCEPTION, VECTOR_UD}},                          \
                .expect = {{EXIT_EXCEPTION, 1, FAULT(VECTOR_UD, 0, 0)}},       \
                .see = {SEES(VECTOR_UD, 0, 1, reg)});
#define UD_IN_RBP(name, m, text) UD_IN(name, m, text, RBP)
EACH_16(UD_IN_RBP, ud16)
EACH_32(UD_IN_RBP, ud32)
UD_IN(user, MODE_64_USER, ud_ring3, R15)

/* ---- #GP: real mode has no error codes, neither to report nor to inject --- */

/* An instruction of 16 bytes. */
GUEST16(gp16, GOES_ON_16 AT(gp16, 1) ".fill 15, 1, 0x66\nnop\n" HERE_32)
#define GP_IN(name, m, text, coded)                                            \
    SCENARIO_OF(name##_exc_gp, text, EXCEPTION, .item = VECTOR_GP, .mode = m,  \
                .arm = {{EXIT_EXCEPTION, VECTOR_GP}},                          \
                .expect = {{EXIT_EXCEPTION, 1, FAULT(VECTOR_GP, coded, 0)}},   \
                .see = {SEES(VECTOR_GP, 0, 1, RBP)});
GP_IN(real, MODE_REAL, gp16, 0)
GP_IN(p16, MODE_16, gp16, 1)
GP_IN(v86, MODE_V86, gp16, 1)

/* A word that crosses the segment's limit. */
GUEST16(limit16, GOES_ON_16
        "mov si, 0xffff\n" AT(limit16, 1) "mov ax, [si]\n" HERE_32)
SCENARIO_OF(p16_exc_limit, limit16, EXCEPTION, .item = VECTOR_GP,
            .mode = MODE_16, .arm = {{EXIT_EXCEPTION, VECTOR_GP}},
            .expect = {{EXIT_EXCEPTION, 1, FAULT(VECTOR_GP, 1, 0)}},
            .see = {SEES(VECTOR_GP, 0, 1, RBP),
                    GPR(RSI, (GUEST_CANARY_LOW & 0xffff0000) | 0xffff)});

/* ---- #PF with 32-bit tables: the error code's bits, CR2 ------------------- */

GUEST32(pf32, GOES_ON_32
        "mov ebx, 0x10000\n" AT(pf32, 1) "mov [ebx], eax\n" HERE_32)
#define PF_IN(name, m, text)                                                   \
    SCENARIO_OF(name##_exc_pf, text, EXCEPTION, .item = VECTOR_PF, .mode = m,  \
                .arm = {{EXIT_EXCEPTION, VECTOR_PF}},                          \
                .expect = {{EXIT_EXCEPTION, 1, .item = VECTOR_PF,              \
                            .has_info = true,                                  \
                            .info.exception = {.vector = VECTOR_PF,            \
                                               .has_error = true, .error = 3,  \
                                               .address = GUEST_BASE}}},       \
                .see = {SEES(VECTOR_PF, 3, 1, RBP), SEEN(cr2, GUEST_BASE),     \
                        GPR(RBX, GUEST_BASE)});
PF_IN(paged, MODE_32_PAGED, pf32)
PF_IN(pae, MODE_32_PAE, pf32)
PF_IN(compat, MODE_COMPAT, pf32)

/* Real mode with paging, which only VMRUN can bring about: page faults go
 * through the IVT and push no error code, but EXITINFO1 has it (APM 15.19). */
GUEST16(pf16, GOES_ON_16
        "xor esi, esi\n"
        "mov ds, si\n"
        "mov si, 0x6010\n" AT(pf16, 1) "mov [si], al\n" HERE_32)
SCENARIO_OF(real_paged_exc_pf, pf16, EXCEPTION, .item = VECTOR_PF,
            .vendor = VENDOR_SVM, .mode = MODE_REAL_PAGED,
            .arm = {{EXIT_EXCEPTION, VECTOR_PF}},
            .expect = {{EXIT_EXCEPTION, 1, .item = VECTOR_PF, .has_info = true,
                        .info.exception = {.vector = VECTOR_PF,
                                           .address = GUEST_UNMAPPED + 0x10},
                        .raw = {RAW(EXITINFO1, 2),
                                RAW(EXITINFO2, GUEST_UNMAPPED + 0x10)}}},
            .see = {SEES(VECTOR_PF, 0, 1, RBP),
                    GPR(RSI, GUEST_UNMAPPED + 0x10)});

/* ---- #BR by BOUND: a fault. AMD-V reports where the next instruction is,
 * VT-x does not (APM 15.7.1, SDM 28.2.5). ---------------------------------- */

GUEST16(br16, GOES_ON_16
        "mov esi, 0x10\n" AT(br16, 1) ".byte 0x62, 0x1c\n" HERE_32)
GUEST32(br32, GOES_ON_32
        "mov esi, 0x100000\n" AT(br32, 1) ".byte 0x62, 0x1e\n" HERE_32)
#define BR_IN(name, m, text, si)                                               \
    SCENARIO_OF(name##_exc_br, text, EXCEPTION, .item = VECTOR_BR, .mode = m,  \
                .probe = ACCESS_R, .arm = {{EXIT_EXCEPTION, VECTOR_BR}},       \
                .expect = {{EXIT_EXCEPTION, 1, .vendor = VENDOR_VMX,           \
                            FAULT(VECTOR_BR, 0, 0)},                           \
                           {EXIT_EXCEPTION, 1, .vendor = VENDOR_SVM,           \
                            .length = 2, FAULT(VECTOR_BR, 0, 0)}},             \
                .see = {SEES(VECTOR_BR, 0, 1, RBP), GPR(RSI, si)});
#define BR_IN16(name, m, text) BR_IN(name, m, text, GUEST_REAL_PROBE)
#define BR_IN32(name, m, text) BR_IN(name, m, text, GUEST_PROBE)
EACH_16(BR_IN16, br16)
EACH_32(BR_IN32, br32)

/* ---- #OF by INTO: a trap, with its length on both; type 6 on VT-x --------- */

GUEST16(of16, GOES_ON_16
        "mov ax, 0x7fff\n"
        "inc ax\n" AT(of16, 1) ".byte 0xce\n" AT(of16, 2) "nop\n" HERE_32)
GUEST32(of32, GOES_ON_32
        "mov eax, 0x7fffffff\n"
        "inc eax\n" AT(of32, 1) ".byte 0xce\n" AT(of32, 2) "nop\n" HERE_32)
#define OF_IN(name, m, text, ax)                                               \
    SCENARIO_OF(name##_exc_of, text, EXCEPTION, .item = VECTOR_OF, .mode = m,  \
                .arm = {{EXIT_EXCEPTION, VECTOR_OF}},                          \
                .expect = {{EXIT_EXCEPTION, 1, .item = VECTOR_OF,              \
                            .length = 1, .has_info = true,                     \
                            .info.exception = {.vector = VECTOR_OF},           \
                            .raw = {RAW_BUT(INTERRUPTION_INFO, 0x80000604,     \
                                            BIT(12))}}},                       \
                .see = {SEES(VECTOR_OF, 0, 2, RBP), GPR(RAX, ax)});
#define OF_IN16(name, m, text)                                                 \
    OF_IN(name, m, text, (GUEST_CANARY_LOW & 0xffff0000) | 0x8000)
#define OF_IN32(name, m, text) OF_IN(name, m, text, 0x80000000)
EACH_16(OF_IN16, of16)
EACH_32(OF_IN32, of32)

/* INTO with OF clear does nothing. */
GUEST32(of_clear, "xor eax, eax\n"
                  ".byte 0xce\n")
SCENARIO(of_clear, EXCEPTION, .item = VECTOR_OF, .negative = true,
         .mode = MODE_COMPAT, .arm = {{EXIT_EXCEPTION, VECTOR_OF}},
         .see = {GPR(RAX, 0), SEEN(count, 0)});

/* ---- #NP, #SS and #TS: the selector is the error code --------------------- */

#define LOADS(id, vector_text, load)                                           \
    GUEST32(id, GOES_ON_32 "mov eax, 0x88\n" AT(id, 1) load "\n" HERE_32)
LOADS(np32, "np", "mov ds, eax")
LOADS(ss32, "ss", "mov ss, eax")
#define SELECTOR_IN(name, m, text, n)                                          \
    SCENARIO_OF(name, text, EXCEPTION, .item = n, .mode = m,                   \
                .arm = {{EXIT_EXCEPTION, n}},                                  \
                .expect = {{EXIT_EXCEPTION, 1, FAULT(n, 1, GUEST_NP_SEL)}},    \
                .see = {SEES(n, GUEST_NP_SEL, 1, RBP),                         \
                        GPR(RAX, GUEST_NP_SEL)});
SELECTOR_IN(p32_exc_np, MODE_32, np32, VECTOR_NP)
SELECTOR_IN(pae_exc_np, MODE_32_PAE, np32, VECTOR_NP)
SELECTOR_IN(compat_exc_np, MODE_COMPAT, np32, VECTOR_NP)
SELECTOR_IN(p32_exc_ss, MODE_32, ss32, VECTOR_SS)
SELECTOR_IN(compat_exc_ss, MODE_COMPAT, ss32, VECTOR_SS)

/* A TSS that is too short: #TS, before there is a task switch to exit for (SDM
 * 26.4.2). */
GUEST32(ts32, GOES_ON_32 AT(ts32, 1)
        ".byte 0xea\n"
        ".long 0\n"
        ".word 0x78\n" HERE_32)
SCENARIO_OF(p32_exc_ts, ts32, EXCEPTION, .item = VECTOR_TS, .mode = MODE_32,
            .arm = {{EXIT_EXCEPTION, VECTOR_TS}, {EXIT_TASK_SWITCH}},
            .expect = {{EXIT_EXCEPTION, 1,
                        FAULT(VECTOR_TS, 1, GUEST_TASK_SHORT)}},
            .see = {SEES(VECTOR_TS, GUEST_TASK_SHORT, 1, RBP)});
