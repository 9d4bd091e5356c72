/*
 * Scenarios: the same exits from the other modes. One text serves all modes of
 * a width: real mode, virtual-8086 mode and 16-bit protected mode; protected
 * mode without and with both sorts of paging, and compatibility mode; 64-bit
 * mode at CPL 3.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/cpu.h"
#include "hv/handlers.h"

/* X(prefix of the scenarios' names, mode, text) */
#define CPL0_16(X, text) X(real, MODE_REAL, text) X(p16, MODE_16, text)
#define EACH_16(X, text) CPL0_16(X, text) X(v86, MODE_V86, text)
#define EACH_32(X, text)                                                       \
    X(p32, MODE_32, text) X(paged, MODE_32_PAGED, text)                        \
    X(pae, MODE_32_PAE, text) X(compat, MODE_COMPAT, text)

/* A register of which only 16 bits were written. */
#define LOW_WORD(v) ((GUEST_CANARY_LOW & 0xffff0000) | (v))

/* The way on after an exception at CPL 3 of 64-bit mode. */
#define GOES_ON_64 "lea r15, [rip + 2f]\n"
#define HERE_64    "2: xor r15d, r15d\n"

/* ---- CPUID ------------------------------------------------------------- */

#define CPUID_TEXT(id)                                                         \
    "mov eax, 0x40000000\n"                                                    \
    "xor ecx, ecx\n" AT(id, 1) "cpuid\n"
GUEST16(cpuid16, CPUID_TEXT(cpuid16))
GUEST32(cpuid32, CPUID_TEXT(cpuid32))
GUEST(cpuid_ring3, CPUID_TEXT(cpuid_ring3))
#define CPUID_IN(name, m, text)                                                \
    SCENARIO_OF(name##_cpuid, text, CPUID, .mode = m, .arm = {{EXIT_CPUID}},   \
                .expect = {{EXIT_CPUID, 1, .length = 2}},                      \
                .see = {GPR(RAX, 0x40000000), GPR(RBX, CPUID_SIGNATURE_EBX),   \
                        GPR(RCX, CPUID_SIGNATURE_ECX),                         \
                        GPR(RDX, CPUID_SIGNATURE_EDX)});
EACH_16(CPUID_IN, cpuid16)
EACH_32(CPUID_IN, cpuid32)
CPUID_IN(user, MODE_64_USER, cpuid_ring3)

/* Real mode with paging: VMRUN alone can bring it about (APM 15.19). */
SCENARIO_OF(real_paged_cpuid, cpuid16, CPUID, .mode = MODE_REAL_PAGED,
            .vendor = VENDOR_SVM, .arm = {{EXIT_CPUID}},
            .expect = {{EXIT_CPUID, 1, .length = 2}},
            .see = {CHANGED(CR0, 0), GPR(RAX, 0x40000000),
                    GPR(RBX, CPUID_SIGNATURE_EBX),
                    GPR(RCX, CPUID_SIGNATURE_ECX),
                    GPR(RDX, CPUID_SIGNATURE_EDX)});

/* ---- the hypercall: every mode has it, CPL 3 too ------------------------- */

#define CALL_TEXT(id)                                                          \
    "mov eax, 1\n"                                                             \
    "mov ebx, 41\n" AT(id, 1) CALL_HOST
GUEST16(call16, CALL_TEXT(call16))
GUEST32(call32, CALL_TEXT(call32))
GUEST(call_ring3, CALL_TEXT(call_ring3))
#define CALL_IN(name, m, text)                                                 \
    SCENARIO_OF(name##_hypercall, text, HYPERCALL, .mode = m,                  \
                .expect = {{EXIT_HYPERCALL, 1, .length = 3}},                  \
                .see = {GPR(RAX, 42), GPR(RBX, 41)});
EACH_16(CALL_IN, call16)
EACH_32(CALL_IN, call32)
CALL_IN(user, MODE_64_USER, call_ring3)

/* ---- IN and OUT: the operand-size prefix counts the other way round ------ */

#define IN_TEXT(id) "mov edx, 0x1230\n" AT(id, 1) "in eax, dx\n"
GUEST16(in16, IN_TEXT(in16))
GUEST32(in32, IN_TEXT(in32))
GUEST(in_ring3, IN_TEXT(in_ring3))
#define IN_IN(name, m, text, bytes)                                            \
    SCENARIO_OF(name##_in_dx, text, IO, .mode = m, .arm = {{EXIT_IO, 0x1230}}, \
                .expect = {{EXIT_IO, 1, .length = bytes, .has_info = true,     \
                            .info.io = {.port = 0x1230, .size = 4,             \
                                        .in = true},                           \
                            .raw = {RAW(QUALIFICATION, 0x1230000b)}}},         \
                .see = {GPR(RDX, 0x1230), GPR(RAX, EMULATED_IN)});
#define IN_IN16(name, m, text) IN_IN(name, m, text, 2)
#define IN_IN32(name, m, text) IN_IN(name, m, text, 1)
EACH_16(IN_IN16, in16)
EACH_32(IN_IN32, in32)
IN_IN32(user, MODE_64_USER, in_ring3)

#define OUT_TEXT(id) "mov eax, 0x5a6b7c8d\n" AT(id, 1) "out 0xe0, ax\n"
GUEST16(out16, OUT_TEXT(out16))
GUEST32(out32, OUT_TEXT(out32))
GUEST(out_ring3, OUT_TEXT(out_ring3))
#define OUT_IN(name, m, text, bytes)                                           \
    SCENARIO_OF(name##_out_imm, text, IO, .mode = m, .arm = {{EXIT_IO, 0xe0}}, \
                .expect = {{EXIT_IO, 1, .length = bytes, .has_info = true,     \
                            .info.io = {.port = 0xe0, .size = 2},              \
                            .raw = {RAW(QUALIFICATION, 0xe00041)}}},           \
                .see = {GPR(RAX, 0x5a6b7c8d), DEVICE(OUT_COUNT, 1),            \
                        DEVICE(OUT, 0x7c8d)});
#define OUT_IN16(name, m, text) OUT_IN(name, m, text, 2)
#define OUT_IN32(name, m, text) OUT_IN(name, m, text, 3)
EACH_16(OUT_IN16, out16)
EACH_32(OUT_IN32, out32)
OUT_IN32(user, MODE_64_USER, out_ring3)

/* CPL 3, and virtual-8086 mode whatever IOPL is: a port that the TSS's bitmap
 * denies is #GP before it is an exit (SDM 26.1.1, APM 15.9). */
GUEST16(denied16, GOES_ON_16
        "mov edx, 0x1238\n" AT(denied16, 1) "in al, dx\n" HERE_32)
GUEST(denied_ring3, GOES_ON_64
      "mov edx, 0x1238\n" AT(denied_ring3, 1) "in al, dx\n" HERE_64)
#define DENIED(name, m, text, reg)                                             \
    SCENARIO_OF(name##_in_denied, text, IO, .negative = true, .mode = m,       \
                .arm = {{EXIT_IO, GUEST_PORT_DENIED}},                         \
                .see = {GPR(RDX, GUEST_PORT_DENIED), SEEN(count, 1),           \
                        SEEN(vector, VECTOR_GP), SEEN(error, 0), SEEN_AT(1),   \
                        GPR(reg, 0)});
DENIED(v86, MODE_V86, denied16, RBP)
DENIED(user, MODE_64_USER, denied_ring3, R15)

/* ---- INS and OUTS: address size, segment override and base --------------- */

/* The instruction information of OUTS: address size, segment; the rest of it
 * is undefined (SDM 28.2.5). AMD-V tells the segment by decode assists
 * only; the address size has scenarios of its own below (APM 15.10.2). */
#define STRING_INFO(size, seg)                                                 \
    RAW_BUT(INSTRUCTION_INFO, (size) << 7 | (u32)(seg) << 15,                  \
            ~(u64)(7 << 7 | 7 << 15))
#define STRING_EXITINFO1(v) RAW_BUT(EXITINFO1, v, 0x3f << 7)

GUEST16(outs16, "mov si, 0x15\n"
                "mov dx, 0x1230\n"
                "mov cx, 3\n" AT(outs16, 1) ".byte 0x64, 0xf3, 0x6e\n")
#define OUTS_IN16(name, m, text)                                               \
    SCENARIO_OF(name##_fs_rep_outsb, text, IO, .mode = m, .probe = ACCESS_R,   \
                .arm = {{EXIT_IO, 0x1230}},                                    \
                .expect = {{EXIT_IO, 1, .length = 3, .has_info = true,         \
                            .info.io = {.port = 0x1230, .size = 1,             \
                                        .string = true, .rep = true,           \
                                        .address_size = 2,                     \
                                        .segment = SEG_FS},                    \
                            .raw = {RAW(QUALIFICATION, 0x12300030),            \
                                    RAW(GUEST_LINEAR, GUEST_PROBE + 5),        \
                                    STRING_INFO(0, SEG_FS),                    \
                                    STRING_EXITINFO1(0x1230001c)}}},           \
                .see = {GPR(RDX, LOW_WORD(0x1230)), GPR(RCX, LOW_WORD(0)),             \
                        GPR(RSI, LOW_WORD(0x18)), DEVICE(OUT_COUNT, 3),            \
                        DEVICE(OUT, PROBE_VALUE >> 56)});
EACH_16(OUTS_IN16, outs16)

/* Backwards, with the other address size. */
GUEST32(outs32, "mov si, 0\n"
                "std\n"
                "mov edx, 0x1230\n" AT(outs32, 1) ".byte 0x67, 0x6f\n"
                "cld\n")
#define OUTS_IN32(name, m, text)                                               \
    SCENARIO_OF(name##_outsd_a16, text, IO, .mode = m, .probe = ACCESS_R,      \
                .state = data_at_probe, .arm = {{EXIT_IO, 0x1230}},            \
                .expect = {{EXIT_IO, 1, .length = 2, .has_info = true,         \
                            .info.io = {.port = 0x1230, .size = 4,             \
                                        .string = true, .address_size = 2,     \
                                        .segment = SEG_DS},                    \
                            .raw = {RAW(QUALIFICATION, 0x12300013),            \
                                    RAW(GUEST_LINEAR, GUEST_PROBE),            \
                                    STRING_INFO(0, SEG_DS),                    \
                                    STRING_EXITINFO1(0x12300044)}}},           \
                .see = {GPR(RDX, 0x1230), GPR(RSI, LOW_WORD(0xfffc)),              \
                        DEVICE(OUT_COUNT, 1),                                  \
                        DEVICE(OUT, PROBE_VALUE & 0xffffffff)});
static void data_at_probe(struct guest_state *gs)
{
    gs->seg[SEG_DS].base = GUEST_PROBE;
}
EACH_32(OUTS_IN32, outs32)

#define INS_TEXT(id, di)                                                       \
    "mov edi, " di "\n"                                                        \
    "mov edx, 0x1230\n"                                                        \
    "mov ecx, 2\n" AT(id, 1) ".byte 0xf3, 0x6d\n"
GUEST16(ins16, INS_TEXT(ins16, "0x18"))
GUEST32(ins32, INS_TEXT(ins32, "0x100008"))
#define INS_IN(name, m, text, bytes, a, pattern, di, value)                    \
    SCENARIO_OF(name##_rep_ins, text, IO, .mode = m,                           \
                .probe = ACCESS_R | ACCESS_W, .arm = {{EXIT_IO, 0x1230}},      \
                .expect = {{EXIT_IO, 1, .length = 2, .has_info = true,         \
                            .info.io = {.port = 0x1230, .size = bytes,         \
                                        .in = true, .string = true,            \
                                        .rep = true, .address_size = bytes,    \
                                        .segment = SEG_ES},                    \
                            .raw = {RAW(QUALIFICATION, 0x12300037 + a),        \
                                    RAW(GUEST_LINEAR, GUEST_PROBE + 8),        \
                                    STRING_EXITINFO1(pattern)}}},              \
                .see = {GPR(RDX, 0x1230), GPR(RCX, 0), GPR(RDI, di),           \
                        PROBE(0, PROBE_VALUE), PROBE(1, value)});
#define INS_IN16(name, m, text)                                                \
    INS_IN(name, m, text, 2, 2, 0x1230002d, 0x1c,                              \
           (PROBE_VALUE & 0xffffffff00000000) |                                \
               (EMULATED_IN & 0xffff) << 16 | (EMULATED_IN & 0xffff))
#define INS_IN32(name, m, text)                                                \
    INS_IN(name, m, text, 4, 4, 0x1230004d, GUEST_PROBE + 16,                  \
           EMULATED_IN << 32 | EMULATED_IN)
EACH_16(INS_IN16, ins16)
EACH_32(INS_IN32, ins32)

/* Bits 7 to 9 of EXITINFO1 are the address size. */
GUEST16(outs_a16, "mov si, 0x10\n"
                  "mov edx, 0x1230\n" AT(outs_a16, 1) "outsb\n")
GUEST32(outs_a32, "mov esi, 0x100000\n"
                  "mov edx, 0x1230\n" AT(outs_a32, 1) "outsb\n")
#define OUTS_SIZE(name, m, text, si, pattern)                                  \
    SCENARIO_OF(name##_outs_exitinfo, text, IO, .vendor = VENDOR_SVM,          \
                .mode = m, .probe = ACCESS_R, .arm = {{EXIT_IO, 0x1230}},      \
                .expect = {{EXIT_IO, 1, .length = 1,                           \
                            .raw = {RAW_BUT(EXITINFO1, pattern, 7 << 10)}}},   \
                .see = {GPR(RDX, 0x1230), GPR(RSI, si), DEVICE(OUT_COUNT, 1)});
OUTS_SIZE(real, MODE_REAL, outs_a16, LOW_WORD(0x11), 0x12300094)
OUTS_SIZE(p32, MODE_32, outs_a32, GUEST_PROBE + 1, 0x12300114)

/* ---- MOV CR, HLT, RDMSR: at CPL 0 exits, at CPL 3 #GP before it ---------- */

#define CR0_TEXT(id)                                                           \
    "mov eax, cr0\n"                                                           \
    "xor eax, 1 << 18\n" AT(id, 1) "mov cr0, eax\n"                            \
    "mov ebx, cr0\n"
GUEST16(cr16, CR0_TEXT(cr16))
GUEST32(cr32, CR0_TEXT(cr32))
#define CR0_IN(name, m, text)                                                  \
    SCENARIO_OF(name##_cr0_write, text, CR_WRITE, .mode = m,                   \
                .arm = {{EXIT_CR_WRITE, 0}},                                   \
                .expect = {{EXIT_CR_WRITE, 1, .length = 3, .has_info = true,   \
                            .info.cr = {.nr = 0, .gpr = RAX},                  \
                            .raw = {RAW(QUALIFICATION, 0)}}},                  \
                .see = {CHANGED(CR0, CR0_AM), SAME(RAX, CR0),                  \
                        SAME(RBX, CR0)});
CPL0_16(CR0_IN, cr16)
EACH_32(CR0_IN, cr32)

#define CR3_TEXT(id) AT(id, 1) "mov ebx, cr3\n"
GUEST16(cr3_16, CR3_TEXT(cr3_16))
GUEST32(cr3_32, CR3_TEXT(cr3_32))
#define CR3_IN(name, m, text)                                                  \
    SCENARIO_OF(name##_cr3_read, text, CR_READ, .item = 3, .mode = m,          \
                .arm = {{EXIT_CR_READ, 3}},                                    \
                .expect = {{EXIT_CR_READ, 1, .item = 3, .length = 3,           \
                            .has_info = true,                                  \
                            .info.cr = {.nr = 3, .gpr = RBX},                  \
                            .raw = {RAW(QUALIFICATION, 0x313)}}},              \
                .see = {SAME(RBX, CR3)});
CPL0_16(CR3_IN, cr3_16)
EACH_32(CR3_IN, cr3_32)

#define HLT_TEXT(id) AT(id, 1) "hlt\n"
GUEST16(hlt16, HLT_TEXT(hlt16))
GUEST32(hlt32, HLT_TEXT(hlt32))
#define HLT_IN(name, m, text)                                                  \
    SCENARIO_OF(name##_hlt, text, HLT, .mode = m, .arm = {{EXIT_HLT}},         \
                .expect = {{EXIT_HLT, 1, .length = 1}});
CPL0_16(HLT_IN, hlt16)
EACH_32(HLT_IN, hlt32)

#define MSR_TEXT(id) "mov ecx, 0xc0000082\n" AT(id, 1) "rdmsr\n"
GUEST16(msr16, MSR_TEXT(msr16))
GUEST32(msr32, MSR_TEXT(msr32))
#define MSR_IN(name, m, text)                                                  \
    SCENARIO_OF(name##_rdmsr, text, MSR_READ, .mode = m,                       \
                .arm = {{EXIT_MSR_READ, 0xc0000082}},                          \
                .expect = {{EXIT_MSR_READ, 1, .length = 2, .has_info = true,   \
                            .info.msr = {.index = 0xc0000082}}},               \
                .see = {GPR(RCX, 0xc0000082),                                  \
                        GPR(RAX, EMULATED_MSR & 0xffffffff),                   \
                        GPR(RDX, EMULATED_MSR >> 32)});
CPL0_16(MSR_IN, msr16)
EACH_32(MSR_IN, msr32)

#define PRIVILEGED(insn, about, who, ...)                                      \
    GUEST16(insn##_v86, GOES_ON_16 AT(insn##_v86, 1) __VA_ARGS__ "\n" HERE_32) \
    GUEST(insn##_ring3, GOES_ON_64 AT(insn##_ring3, 1) __VA_ARGS__ "\n" HERE_64) \
    PRIVILEGED_IN(v86_##insn, insn##_v86, about, who, MODE_V86, RBP)           \
    PRIVILEGED_IN(user_##insn, insn##_ring3, about, who, MODE_64_USER, R15)
#define PRIVILEGED_IN(name, text, about, who, m, reg)                          \
    SCENARIO_OF(name##_gp, text, about, .negative = true, .mode = m,           \
                .vendor = who, .arm = {{EXIT_##about, privileged_##about}},    \
                .see = {SEEN(count, 1), SEEN(vector, VECTOR_GP),               \
                        SEEN(error, 0), SEEN_AT(1), GPR(reg, 0)});
#define privileged_HLT      0
#define privileged_CR_READ  3
#define privileged_CR_WRITE 3
#define privileged_DR_READ  7
#define privileged_MSR_READ 0x175 /* near the canary in RCX is no MSR */
#define BOTH 0
PRIVILEGED(hlt, HLT, BOTH, "hlt")
PRIVILEGED(cr3_read, CR_READ, BOTH, ".byte 0x0f, 0x20, 0xd8")
PRIVILEGED(cr3_write, CR_WRITE, BOTH, ".byte 0x0f, 0x22, 0xd8")
PRIVILEGED(dr7_read, DR_READ, VENDOR_SVM, ".byte 0x0f, 0x21, 0xf8")
PRIVILEGED(rdmsr, MSR_READ, BOTH, "rdmsr")

/* The exception to the rule: on VT-x the exit of MOV DR comes before #GP (SDM
 * 26.1.3), which the hypervisor then makes. */
GUEST16(dr7_v86, GOES_ON_16 AT(dr7_v86, 1) ".byte 0x0f, 0x21, 0xf8\n" HERE_32)
GUEST(dr7_user, GOES_ON_64 AT(dr7_user, 1) ".byte 0x0f, 0x21, 0xf8\n" HERE_64)
#define DR7_IN(name, m, text, reg)                                             \
    SCENARIO_OF(name##_dr7_read, text, DR_READ, .item = 7, .mode = m,          \
                .vendor = VENDOR_VMX, .arm = {{EXIT_DR_READ, 7}},              \
                .expect = {{EXIT_DR_READ, 1, .item = 7, .length = 3,           \
                            .has_info = true,                                  \
                            .info.dr = {.nr = 7, .gpr = RAX},                  \
                            .raw = {RAW(QUALIFICATION, 0x17)}}},               \
                .see = {SEEN(count, 1), SEEN(vector, VECTOR_GP),               \
                        SEEN(error, 0), SEEN_AT(1), GPR(reg, 0)});
DR7_IN(v86, MODE_V86, dr7_v86, RBP)
DR7_IN(user, MODE_64_USER, dr7_user, R15)

/* ---- INT n: its intercept is AMD-V's alone, off and on ------------------- */

#define INT_TEXT(id) AT(id, 2) "int 0x51\n" AT(id, 1) "nop\n"
GUEST16(int16, GOES_ON_16 INT_TEXT(int16) HERE_32)
GUEST32(int32, GOES_ON_32 INT_TEXT(int32) HERE_32)
GUEST(int_ring3, GOES_ON_64 INT_TEXT(int_ring3) HERE_64)
#define INT_IN(name, m, text, reg)                                             \
    SCENARIO_OF(name##_int_n, text, HYPERCALL, .negative = true, .mode = m,    \
                .see = {SEEN(count, 1), SEEN(vector, 0x51), SEEN(error, 0),    \
                        SEEN_AT(1), GPR(reg, 0)});                             \
    SCENARIO_OF(name##_swint, text, SWINT, .vendor = VENDOR_SVM, .mode = m,    \
                .arm = {{EXIT_SWINT}},                                         \
                .expect = {{EXIT_SWINT, 2, .length = 2, .has_info = true,      \
                            .info.swint = {.vector = 0x51},                    \
                            .raw = {RAW_IF(SVM_DECODE, EXITINFO1, 0x51)}}},    \
                .see = {SEEN(count, 1), SEEN(vector, 0x51), SEEN(error, 0),    \
                        SEEN_AT(1), GPR(reg, 0)});
#define INT_IN_RBP(name, m, text) INT_IN(name, m, text, RBP)
EACH_16(INT_IN_RBP, int16)
EACH_32(INT_IN_RBP, int32)
INT_IN(user, MODE_64_USER, int_ring3, R15)
