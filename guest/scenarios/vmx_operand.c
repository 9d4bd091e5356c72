/*
 * Scenarios: the operands of VT-x's instructions in all their forms, and who
 * may execute them. As in vmx_insn.c no operand is accessed before the exit.
 */
/* clang-format off */
#include "guest/fault.h"
#include "guest/vmx_info.h"
#include "hv/cpu.h"
#include "hv/handlers.h"

/* What a form leaves undefined is in the masks. */
#define OPERAND(displacement, info, but)                                       \
    .raw = {RAW(QUALIFICATION, displacement),                                  \
            RAW_BUT(INSTRUCTION_INFO, info, UNDEF_MEMORY | (but))}

/* VMfailInvalid, as the handler leaves it. */
#define FAILED CHANGED(RFLAGS, RFLAGS_CF)

/* --- The other eight registers, as base, index and second operand. R12 as a
 * base needs a SIB byte, R13 a displacement. */
GUEST(vmread_registers,
      AT(vmread_registers, 1) "vmread qword ptr [r8 + r15 * 2], r9\n"
      AT(vmread_registers, 2) "vmread qword ptr [r12], r14\n"
      AT(vmread_registers, 3) "vmread qword ptr [r13 + r11 * 8], r10\n")
SCENARIO(vmread_registers, VMREAD,
         .expect = {{EXIT_VMREAD, 1, .length = 5,
                     OPERAND(0, SCALE(1) | ADDRESS_64 | SEGMENT(SEG_DS) |
                                    INDEX(R15) | BASE(R8) | REG2(R9), 0)},
                    {EXIT_VMREAD, 2, .length = 5,
                     OPERAND(0, ADDRESS_64 | SEGMENT(SEG_DS) | NO_INDEX |
                                    BASE(R12) | REG2(R14), UNDEF_INDEX)},
                    {EXIT_VMREAD, 3, .length = 6,
                     OPERAND(0, SCALE(3) | ADDRESS_64 | SEGMENT(SEG_DS) |
                                    INDEX(R11) | BASE(R13) | REG2(R10), 0)}},
         .see = {FAILED});

/* --- Segments: by RSP and RBP it is SS; outside 64-bit mode each may be named
 * by a prefix. The instructions are 0F C7 /7 of [ESI]. */
#define PREFIXED(prefix) ".byte " prefix ", 0x0f, 0xc7, 0x3e\n"
GUEST32(vmptrst_segments,
        AT(vmptrst_segments, 1) PREFIXED("0x26") PREFIXED("0x2e")
        PREFIXED("0x36") PREFIXED("0x3e") PREFIXED("0x64") PREFIXED("0x65")
        AT(vmptrst_segments, 2) ".byte 0x0f, 0xc7, 0x7d, 0x10\n"
        AT(vmptrst_segments, 3) ".byte 0x0f, 0xc7, 0x3c, 0x24\n")
#define BY_SEGMENT(seg)                                                        \
    {EXIT_VMPTRST, 1, .until = 2, .length = 4,                                 \
     OPERAND(0, ADDRESS_32 | SEGMENT(seg) | NO_INDEX | BASE(RSI),              \
             UNDEF_INDEX | UNDEF_REG2)}
SCENARIO(vmptrst_segments, VMPTRST, .mode = MODE_32,
         .expect = {BY_SEGMENT(SEG_ES), BY_SEGMENT(SEG_CS), BY_SEGMENT(SEG_SS),
                    BY_SEGMENT(SEG_DS), BY_SEGMENT(SEG_FS), BY_SEGMENT(SEG_GS),
                    {EXIT_VMPTRST, 2, .length = 4,
                     OPERAND(0x10, ADDRESS_32 | SEGMENT(SEG_SS) | NO_INDEX |
                                       BASE(RBP), UNDEF_INDEX | UNDEF_REG2)},
                    {EXIT_VMPTRST, 3, .length = 4,
                     OPERAND(0, ADDRESS_32 | SEGMENT(SEG_SS) | NO_INDEX |
                                    BASE(RSP), UNDEF_INDEX | UNDEF_REG2)}},
         .see = {FAILED});

/* --- 16-bit addresses: [BX + SI + 1234h], [BP + DI], [1234h], by a prefix in
 * a 32-bit segment. BP means SS. */
#define VMPTRLD_16(modrm) ".byte 0x67, 0x0f, 0xc7, " modrm "\n"
GUEST32(vmptrld_a16, AT(vmptrld_a16, 1) VMPTRLD_16("0xb0, 0x34, 0x12")
        AT(vmptrld_a16, 2) VMPTRLD_16("0x33")
        AT(vmptrld_a16, 3) VMPTRLD_16("0x36, 0x34, 0x12"))
SCENARIO(vmptrld_a16, VMPTRLD, .mode = MODE_32,
         .expect = {{EXIT_VMPTRLD, 1, .length = 6,
                     OPERAND(0x1234, ADDRESS_16 | SEGMENT(SEG_DS) |
                                         INDEX(RSI) | BASE(RBX), UNDEF_REG2)},
                    {EXIT_VMPTRLD, 2, .length = 4,
                     OPERAND(0, ADDRESS_16 | SEGMENT(SEG_SS) | INDEX(RDI) |
                                    BASE(RBP), UNDEF_REG2)},
                    {EXIT_VMPTRLD, 3, .length = 6,
                     OPERAND(0x1234, ADDRESS_16 | SEGMENT(SEG_DS) | NO_INDEX |
                                         NO_BASE,
                             UNDEF_INDEX | UNDEF_REG2 | BASE(15))}},
         .see = {FAILED});

/* --- SGDT, SIDT, LGDT, LIDT: outside 64-bit mode bit 11 is the operand size,
 * of [ESI] with and without a prefix. */
#define SIZE_32      BIT(11)
#define WHICH(n)     ((u64)(n) << 28)
#define UNDEF_TABLE  (0xc000707cull | UNDEF_INDEX)
#define TABLE_SIZES(id, about, which, modrm)                                   \
    GUEST32(id, AT(id, 1) ".byte 0x0f, 0x01, " modrm "\n"                      \
                AT(id, 2) ".byte 0x66, 0x0f, 0x01, " modrm "\n")               \
    SCENARIO(id, about, .vendor = VENDOR_VMX, .mode = MODE_32,                 \
             .arm = {{EXIT_##about}},                                          \
             .expect = {TABLE_SIZE(about, 1, 3, WHICH(which) | SIZE_32),       \
                        TABLE_SIZE(about, 2, 4, WHICH(which))})
#define TABLE_SIZE(about, n, bytes, info)                                      \
    {EXIT_##about, n, .length = bytes,                                         \
     .raw = {RAW(QUALIFICATION, 0),                                            \
             RAW_BUT(INSTRUCTION_INFO, (info) | ADDRESS_32 | SEGMENT(SEG_DS) | \
                                           NO_INDEX | BASE(RSI),               \
                     UNDEF_TABLE)}}
TABLE_SIZES(sgdt_sizes, SGDT, 0, "0x06");
TABLE_SIZES(sidt_sizes, SIDT, 1, "0x0e");
TABLE_SIZES(lgdt_sizes, LGDT, 2, "0x16");
TABLE_SIZES(lidt_sizes, LIDT, 3, "0x1e");

/* --- RDRAND and RDSEED of each size (SDM 28.2.5). */
#define REG_INFO(gpr, size) ((gpr) << 3 | (size) << 11)
#define REG_INFO_BUT        (~(u64)REG_INFO(15, 3))
#define RANDOM(about, n, bytes, gpr, size)                                     \
    {EXIT_##about, n, .length = bytes,                                         \
     .raw = {RAW_BUT(INSTRUCTION_INFO, REG_INFO(gpr, size), REG_INFO_BUT)}}
#define RANDOM_SIZES(id, about, insn)                                          \
    GUEST(id##_16, AT(id##_16, 1) insn " r8w\n")                               \
    SCENARIO(id##_16, about, .vendor = VENDOR_VMX, .needs = {FEAT_##about},    \
             .arm = {{EXIT_##about}}, .expect = {RANDOM(about, 1, 5, R8, 0)}); \
    GUEST(id##_sizes, AT(id##_sizes, 1) insn " edi\n"                          \
                      AT(id##_sizes, 2) insn " r15\n")                         \
    SCENARIO(id##_sizes, about, .vendor = VENDOR_VMX, .needs = {FEAT_##about}, \
             .arm = {{EXIT_##about}},                                          \
             .expect = {RANDOM(about, 1, 3, RDI, 1),                           \
                        RANDOM(about, 2, 4, R15, 2)})
RANDOM_SIZES(rdrand, RDRAND, "rdrand");
RANDOM_SIZES(rdseed, RDSEED, "rdseed");

/* --- INVLPG: the linear address has the segment's base, 32-bit addresses are
 * cut, and a non-canonical address exits as well (SDM 28.2.1). */
static void fs_at_probe(struct guest_state *gs)
{
    gs->seg[SEG_FS].base = GUEST_PROBE;
}
GUEST(invlpg_forms, "mov ebx, 0x18\n"
      AT(invlpg_forms, 1) "invlpg fs:[rbx]\n"
      "mov rbx, 0x8000000000000018\n"
      AT(invlpg_forms, 2) "invlpg [rbx]\n"
      AT(invlpg_forms, 3) "invlpg [ebx]\n")
#define INVLPG_AT(n, bytes, at_)                                               \
    {EXIT_INVLPG, n, .length = bytes, .has_info = true,                        \
     .info.invlpg = {.address = at_}, .raw = {RAW(QUALIFICATION, at_)}}
SCENARIO(invlpg_forms, INVLPG, .vendor = VENDOR_VMX, .state = fs_at_probe,
         .arm = {{EXIT_INVLPG}},
         .expect = {INVLPG_AT(1, 4, GUEST_PROBE + 0x18),
                    INVLPG_AT(2, 3, BIT(63) | 0x18), INVLPG_AT(3, 4, 0x18)},
         .see = {GPR(RBX, BIT(63) | 0x18)});

/* --- At CPL 3 the instructions of VT-x exit: in non-root operation that comes
 * before the check of CPL (SDM chapter 31, each one's operation). */
#define AT_CPL3(id, about, bytes, insn)                                        \
    GUEST(id, AT(id, 1) insn "\n")                                             \
    SCENARIO(id, about, .mode = MODE_64_USER, .vendor = VENDOR_VMX,            \
             .expect = {{EXIT_##about, 1, .length = bytes}}, .see = {FAILED})
AT_CPL3(vmclear_cpl3, VMCLEAR, 4, "vmclear qword ptr [rbx]");
AT_CPL3(vmptrld_cpl3, VMPTRLD, 3, "vmptrld qword ptr [rbx]");
AT_CPL3(vmptrst_cpl3, VMPTRST, 3, "vmptrst qword ptr [rbx]");
AT_CPL3(vmxon_cpl3, VMXON, 4, "vmxon qword ptr [rbx]");
AT_CPL3(vmread_cpl3, VMREAD, 3, "vmread rbx, rcx");
AT_CPL3(vmwrite_cpl3, VMWRITE, 3, "vmwrite rbx, rcx");
AT_CPL3(vmlaunch_cpl3, VMLAUNCH, 3, "vmlaunch");
AT_CPL3(vmresume_cpl3, VMRESUME, 3, "vmresume");
AT_CPL3(vmxoff_cpl3, VMXOFF, 3, "vmxoff");
AT_CPL3(invept_cpl3, INVEPT, 5, "invept rcx, xmmword ptr [rbx]");
AT_CPL3(invvpid_cpl3, INVVPID, 5, "invvpid rcx, xmmword ptr [rbx]");

/* GETSEC, too, whatever CPL is; XSAVES not. */
static void enable_smx(struct guest_state *gs)
{
    gs->cr4 |= CR4_SMXE;
}
GUEST(getsec_cpl3, "xor eax, eax\n" AT(getsec_cpl3, 1) "getsec\n")
SCENARIO(getsec_cpl3, GETSEC, .mode = MODE_64_USER, .state = enable_smx,
         .expect = {{EXIT_GETSEC, 1, .length = 2}}, .see = {GPR(RAX, 0)});

/* --- Real mode, virtual-8086 mode and compatibility mode have none of them:
 * #UD, before any exit. One by one, and the guest counts. [SI] is ModRM 34h,
 * [ESI] 36h, with /6; /7 is 8 more. */
#define NONE_16(bytes) GOES_ON_16 ".byte " bytes "\n2:\n"
#define NONE_32(bytes) GOES_ON_32 ".byte " bytes "\n2:\n"
#define ALL_OF_THEM(step, slash6, slash7, slash0)                              \
    step("0x66, 0x0f, 0xc7, " slash6)       /* VMCLEAR */                      \
    step("0x0f, 0xc7, " slash6)             /* VMPTRLD */                      \
    step("0x0f, 0xc7, " slash7)             /* VMPTRST */                      \
    step("0xf3, 0x0f, 0xc7, " slash6)       /* VMXON */                        \
    step("0x0f, 0x78, " slash0)             /* VMREAD */                       \
    step("0x0f, 0x79, " slash0)             /* VMWRITE */                      \
    step("0x0f, 0x01, 0xc2")                /* VMLAUNCH */                     \
    step("0x0f, 0x01, 0xc3")                /* VMRESUME */                     \
    step("0x0f, 0x01, 0xc4")                /* VMXOFF */                       \
    step("0x66, 0x0f, 0x38, 0x80, " slash0) /* INVEPT */                       \
    step("0x66, 0x0f, 0x38, 0x81, " slash0) /* INVVPID */                      \
    "xor ebp, ebp\n"
GUEST16(none16, ALL_OF_THEM(NONE_16, "0x34", "0x3c", "0x04"))
GUEST32(none32, ALL_OF_THEM(NONE_32, "0x36", "0x3e", "0x06"))
#define NONE_IN(id, m, text)                                                   \
    SCENARIO_OF(id, text, VMXOFF, .negative = true, .mode = m,                 \
                .see = {SEEN(count, 11), SEEN(vector, VECTOR_UD), GPR(RBP, 0)})
NONE_IN(real_no_vmx, MODE_REAL, none16);
NONE_IN(v86_no_vmx, MODE_V86, none16);
NONE_IN(compat_no_vmx, MODE_COMPAT, none32);

/* --- VMCS shadowing: a field whose bits let it through is CPL's to refuse;
 * without a shadow VMCS it is VMfailInvalid, and one that no CPU has is
 * VMfailValid, ZF (SDM chapter 31, VMREAD and VMWRITE): no exit. */
#define FIELD    0x681e
#define NO_FIELD 0x7ffe
#define WITH_SHADOW(field)                                                     \
    .use = {FEAT_VMX_SHADOW_VMCS}, .negative = true,                           \
    .disarm = {{EXIT_VMREAD, field}, {EXIT_VMWRITE, field}}

GUEST(vmread_shadow_cpl3, GOES_ON_AT_2 "mov eax, 0x681e\n"
      AT(vmread_shadow_cpl3, 1) "vmread rcx, rax\n" HERE)
SCENARIO(vmread_shadow_cpl3, VMREAD, .mode = MODE_64_USER, WITH_SHADOW(FIELD),
         .see = {SAW(VECTOR_GP, 0, 1), GPR(RAX, FIELD)});
GUEST(vmwrite_shadow_cpl3, GOES_ON_AT_2 "mov eax, 0x681e\n"
      AT(vmwrite_shadow_cpl3, 1) "vmwrite rax, rcx\n" HERE)
SCENARIO(vmwrite_shadow_cpl3, VMWRITE, .mode = MODE_64_USER,
         WITH_SHADOW(FIELD), .see = {SAW(VECTOR_GP, 0, 1), GPR(RAX, FIELD)});

GUEST(vmread_no_shadow, "mov eax, 0x681e\n"
                        "vmread rcx, rax\n")
SCENARIO(vmread_no_shadow, VMREAD, WITH_SHADOW(FIELD),
         .set = {PUT(LINK_POINTER, ~0ull)}, .see = {GPR(RAX, FIELD), FAILED});
GUEST(vmwrite_no_shadow, "mov eax, 0x681e\n"
                         "vmwrite rax, rcx\n")
SCENARIO(vmwrite_no_shadow, VMWRITE, WITH_SHADOW(FIELD),
         .set = {PUT(LINK_POINTER, ~0ull)}, .see = {GPR(RAX, FIELD), FAILED});

#define FAILED_VALID CHANGED(RFLAGS, RFLAGS_ZF)
GUEST(vmread_no_field, "mov eax, 0x7ffe\n"
                       "vmread rcx, rax\n")
SCENARIO(vmread_no_field, VMREAD, WITH_SHADOW(NO_FIELD),
         .see = {GPR(RAX, NO_FIELD), FAILED_VALID});
GUEST(vmwrite_no_field, "mov eax, 0x7ffe\n"
                        "vmwrite rax, rcx\n")
SCENARIO(vmwrite_no_field, VMWRITE, WITH_SHADOW(NO_FIELD),
         .see = {GPR(RAX, NO_FIELD), FAILED_VALID});

/* To and from memory. */
GUEST(vmread_shadow_memory, "mov eax, 0x681e\n"
                            "mov ebx, 0x100000\n"
                            "vmwrite rax, qword ptr [rbx]\n"
                            "vmread qword ptr [rbx + 16], rax\n")
SCENARIO(vmread_shadow_memory, VMREAD, WITH_SHADOW(FIELD),
         .probe = ACCESS_R | ACCESS_W,
         .see = {GPR(RAX, FIELD), GPR(RBX, GUEST_PROBE),
                 PROBE(2, PROBE_VALUE), CHANGED(RFLAGS, 0)});
