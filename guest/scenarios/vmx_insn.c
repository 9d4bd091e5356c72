/*
 * Scenarios: the instructions of VT-x, and those near to them, executed by the
 * guest. None of the operands is accessed before the exit (SDM 26.1.2): they
 * point where the guest maps nothing.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "guest/vmx_info.h"
#include "hv/cpu.h"

/* Of a register operand (SDM Tables 28-12 to 28-14). */
#define REG1(gpr)       ((u64)(gpr) << 3)
#define REGISTER        BIT(10)
#define UNDEF_REGISTER  (0xffff807ull & ~REGISTER & ~(0x3ull << 8) & ~BIT(7))
#define UNDEF_ADDRESS   (7ull << 7)

/* VMfailInvalid, as the handler leaves it; the guest had no status flag. */
#define FAILED CHANGED(RFLAGS, RFLAGS_CF)
#define SUCCEEDED CHANGED(RFLAGS, 0)

/*
 * A memory operand in three forms: base, index times eight and a negative
 * displacement; relative to RIP, where the qualification is the sum; with a
 * segment, 32-bit addresses, an index and no base.
 */
#define OPERANDS(id, before, after)                                            \
    GUEST(id, "mov ebx, 0x6000\n"                                              \
              "mov ecx, 0x10\n"                                                \
              "mov edx, 0x20\n"                                                \
              AT(id, 1) before "[rbx + rcx * 8 - 0x20]" after "\n"             \
              AT(id, 2) before "[rip + guest_" #id "_3]" after "\n"            \
              AT(id, 3) before "fs:[edx * 2 + 0x1234]" after "\n")

/* opcode: bytes up to ModRM; reg2: the second operand, or what of it is
 * undefined. */
#define OPERAND_EXITS(kind_, opcode, reg2, undef)                              \
    .expect =                                                                  \
        {{kind_, 1, .length = (opcode) + 3,                                    \
          .raw = {RAW(QUALIFICATION, -0x20ull),                                \
                  RAW_BUT(INSTRUCTION_INFO,                                    \
                          SCALE(3) | ADDRESS_64 | SEGMENT(SEG_DS) |            \
                              INDEX(RCX) | BASE(RBX) | (reg2),                 \
                          UNDEF_MEMORY | (undef))}},                           \
         {kind_, 2, .length = (opcode) + 5,                                    \
          .raw = {RAW_AT(QUALIFICATION, 3),                                    \
                  RAW_BUT(INSTRUCTION_INFO,                                    \
                          ADDRESS_64 | SEGMENT(SEG_DS) | NO_INDEX | NO_BASE |  \
                              (reg2),                                          \
                          UNDEF_MEMORY | UNDEF_INDEX | UNDEF_BASE |            \
                              (undef))}},                                      \
         {kind_, 3, .length = (opcode) + 8,                                    \
          .raw = {RAW(QUALIFICATION, 0x1234),                                  \
                  RAW_BUT(INSTRUCTION_INFO,                                    \
                          SCALE(1) | ADDRESS_32 | SEGMENT(SEG_FS) |            \
                              INDEX(RDX) | NO_BASE | (reg2),                   \
                          UNDEF_MEMORY | UNDEF_BASE | (undef))}}}

#define OPERANDS_SEEN                                                          \
    .see = {GPR(RBX, GUEST_UNMAPPED), GPR(RCX, 0x10), GPR(RDX, 0x20), FAILED,  \
            SEEN(count, 0)}

OPERANDS(vmclear, "vmclear qword ptr ", "")
SCENARIO(vmclear, VMCLEAR, OPERAND_EXITS(EXIT_VMCLEAR, 3, 0, UNDEF_REG2),
         OPERANDS_SEEN);

OPERANDS(vmptrld, "vmptrld qword ptr ", "")
SCENARIO(vmptrld, VMPTRLD, OPERAND_EXITS(EXIT_VMPTRLD, 2, 0, UNDEF_REG2),
         OPERANDS_SEEN);

OPERANDS(vmptrst, "vmptrst qword ptr ", "")
SCENARIO(vmptrst, VMPTRST, OPERAND_EXITS(EXIT_VMPTRST, 2, 0, UNDEF_REG2),
         OPERANDS_SEEN);

OPERANDS(vmxon, "vmxon qword ptr ", "")
SCENARIO(vmxon, VMXON, OPERAND_EXITS(EXIT_VMXON, 3, 0, UNDEF_REG2),
         OPERANDS_SEEN);

OPERANDS(vmread_memory, "vmread qword ptr ", ", rsi")
SCENARIO(vmread_memory, VMREAD,
         OPERAND_EXITS(EXIT_VMREAD, 2, REG2(RSI), 0), OPERANDS_SEEN);

OPERANDS(vmwrite_memory, "vmwrite rdi, qword ptr ", "")
SCENARIO(vmwrite_memory, VMWRITE,
         OPERAND_EXITS(EXIT_VMWRITE, 2, REG2(RDI), 0), OPERANDS_SEEN);

OPERANDS(invept, "invept rbp, xmmword ptr ", "")
SCENARIO(invept, INVEPT, OPERAND_EXITS(EXIT_INVEPT, 4, REG2(RBP), 0),
         OPERANDS_SEEN);

OPERANDS(invvpid, "invvpid rax, xmmword ptr ", "")
SCENARIO(invvpid, INVVPID, OPERAND_EXITS(EXIT_INVVPID, 4, REG2(RAX), 0),
         OPERANDS_SEEN);

/* With a register operand Reg1 is the one that ModRM's r/m field names. The
 * handler fails it: the destination keeps its canary. */
GUEST(vmread, AT(vmread, 1) "vmread rbx, rcx\n"
              AT(vmread, 2) "vmread r9, r10\n")
SCENARIO(vmread, VMREAD,
         .expect = {{EXIT_VMREAD, 1, .length = 3,
                     .raw = {RAW_BUT(INSTRUCTION_INFO,
                                     REG1(RBX) | REGISTER | REG2(RCX),
                                     UNDEF_REGISTER | UNDEF_ADDRESS)}},
                    {EXIT_VMREAD, 2, .length = 4,
                     .raw = {RAW_BUT(INSTRUCTION_INFO,
                                     REG1(R9) | REGISTER | REG2(R10),
                                     UNDEF_REGISTER | UNDEF_ADDRESS)}}},
         .see = {FAILED});

GUEST(vmwrite, AT(vmwrite, 1) "vmwrite rcx, rbx\n"
               AT(vmwrite, 2) "vmwrite r10, r9\n")
SCENARIO(vmwrite, VMWRITE,
         .expect = {{EXIT_VMWRITE, 1, .length = 3,
                     .raw = {RAW_BUT(INSTRUCTION_INFO,
                                     REG1(RBX) | REGISTER | REG2(RCX),
                                     UNDEF_REGISTER | UNDEF_ADDRESS)}},
                    {EXIT_VMWRITE, 2, .length = 4,
                     .raw = {RAW_BUT(INSTRUCTION_INFO,
                                     REG1(R9) | REGISTER | REG2(R10),
                                     UNDEF_REGISTER | UNDEF_ADDRESS)}}},
         .see = {FAILED});

#define NO_OPERAND(id, KIND)                                                   \
    GUEST(id, AT(id, 1) #id "\n")                                              \
    SCENARIO(id, KIND,                                                         \
             .expect = {{EXIT_##KIND, 1, .length = 3,                          \
                         .raw = {RAW(QUALIFICATION, 0)}}},                     \
             .see = {FAILED})

NO_OPERAND(vmlaunch, VMLAUNCH);
NO_OPERAND(vmresume, VMRESUME);
NO_OPERAND(vmxoff, VMXOFF);

/*
 * VMCS shadowing (SDM 25.6.15, 26.1.3): a field whose bit is 0 in the bitmaps
 * is read and written without an exit, in the shadow VMCS; its neighbours
 * exit, and so does any encoding above 7FFFh.
 */
#define FIELD 0x681e

#define WITH_SHADOW                                                            \
    .use = {FEAT_VMX_SHADOW_VMCS},                                             \
    .disarm = {{EXIT_VMREAD, FIELD}, {EXIT_VMWRITE, FIELD}}

GUEST(vmread_shadow, "mov eax, 0x681e\n"
                     "mov ebx, 0x1234567\n"
                     "vmwrite rax, rbx\n"
                     "vmread rcx, rax\n")
SCENARIO(vmread_shadow, VMREAD, WITH_SHADOW, .negative = true,
         .see = {GPR(RAX, FIELD), GPR(RBX, 0x1234567), GPR(RCX, 0x1234567),
                 SUCCEEDED});

#define NEIGHBOURS(id, insn)                                                   \
    GUEST(id, "mov eax, 0x681c\n"                                              \
              "mov ebx, 0x6820\n"                                              \
              "mov ecx, 0x2681e\n"                                             \
              AT(id, 1) insn("rax") AT(id, 2) insn("rbx") AT(id, 3) insn("rcx"))
#define NEIGHBOURS_SEEN                                                        \
    .see = {GPR(RAX, FIELD - 2), GPR(RBX, FIELD + 2),                          \
            GPR(RCX, FIELD | 0x20000), FAILED}
#define VMREAD_TEXT(field)  "vmread rdx, " field "\n"
#define VMWRITE_TEXT(field) "vmwrite " field ", rdx\n"

NEIGHBOURS(vmread_neighbours, VMREAD_TEXT)
SCENARIO(vmread_neighbours, VMREAD, WITH_SHADOW,
         .expect = {{EXIT_VMREAD, 1, .length = 3},
                    {EXIT_VMREAD, 2, .length = 3},
                    {EXIT_VMREAD, 3, .length = 3}},
         NEIGHBOURS_SEEN);

NEIGHBOURS(vmwrite_neighbours, VMWRITE_TEXT)
SCENARIO(vmwrite_neighbours, VMWRITE, WITH_SHADOW,
         .expect = {{EXIT_VMWRITE, 1, .length = 3},
                    {EXIT_VMWRITE, 2, .length = 3},
                    {EXIT_VMWRITE, 3, .length = 3}},
         NEIGHBOURS_SEEN);

/* The two bitmaps are two: here only reads are let through. */
GUEST(vmwrite_alone, "mov eax, 0x681e\n"
                     AT(vmwrite_alone, 1) "vmwrite rax, rbx\n")
SCENARIO(vmwrite_alone, VMWRITE, .use = {FEAT_VMX_SHADOW_VMCS},
         .disarm = {{EXIT_VMREAD, FIELD}},
         .expect = {{EXIT_VMWRITE, 1, .length = 3}},
         .see = {GPR(RAX, FIELD), FAILED});

/*
 * VMFUNC (SDM 26.5.6): exits for a function that is not enabled; #UD for one
 * beyond 63, and for any while the control is off.
 */
static u64 eptp_list[512] ALIGNED(4096); /* 0: the one in use; else invalid */

static void fill_eptp_list(struct vcpu *v)
{
    v->ops->word(v, RAW_EPT_POINTER, &eptp_list[0]);
}

#define SWITCHING                                                              \
    .needs = {FEAT_VMX_EPTP_SWITCH}, .before = fill_eptp_list,                 \
    .set = {PUT(FUNCTIONS, BIT(0)), PUT(EPTP_LIST, (uintptr_t)eptp_list)}

GUEST(vmfunc, "mov eax, 5\n"
              AT(vmfunc, 1) "vmfunc\n"
              "xor eax, eax\n"
              AT(vmfunc, 2) "vmfunc\n")
SCENARIO(vmfunc, VMFUNC, .arm = {{EXIT_VMFUNC}},
         .expect = {{EXIT_VMFUNC, 1, .length = 3,
                     .raw = {RAW(QUALIFICATION, 0)}},
                    {EXIT_VMFUNC, 2, .length = 3}},
         .see = {GPR(RAX, 0)});

/* EPTP switching, function 0: an index beyond the list, then an entry that
 * is no EPT pointer. */
GUEST(vmfunc_eptp, "xor eax, eax\n"
                   "mov ecx, 512\n"
                   AT(vmfunc_eptp, 1) "vmfunc\n"
                   "mov ecx, 1\n"
                   AT(vmfunc_eptp, 2) "vmfunc\n")
SCENARIO(vmfunc_eptp, VMFUNC, .arm = {{EXIT_VMFUNC}}, SWITCHING,
         .expect = {{EXIT_VMFUNC, 1, .length = 3},
                    {EXIT_VMFUNC, 2, .length = 3}},
         .see = {GPR(RAX, 0), GPR(RCX, 1)});

GUEST(vmfunc_switches, "xor eax, eax\n"
                       "xor ecx, ecx\n"
                       "vmfunc\n")
SCENARIO(vmfunc_switches, VMFUNC, .arm = {{EXIT_VMFUNC}}, SWITCHING,
         .negative = true, .see = {GPR(RAX, 0), GPR(RCX, 0), SEEN(count, 0)});

#define SEES_UD SEEN(count, 1), SEEN(vector, 6), SEEN_AT(1), GPR(R15, 0)

GUEST(vmfunc_64, "lea r15, [rip + 2f]\n"
                 "mov eax, 64\n"
                 AT(vmfunc_64, 1) "vmfunc\n"
                 "2: xor r15d, r15d\n")
SCENARIO(vmfunc_64, VMFUNC, .arm = {{EXIT_VMFUNC}}, .negative = true,
         .see = {GPR(RAX, 64), SEES_UD});

GUEST(vmfunc_off, "lea r15, [rip + 2f]\n"
                  "xor eax, eax\n"
                  AT(vmfunc_off, 1) "vmfunc\n"
                  "2: xor r15d, r15d\n")
SCENARIO(vmfunc_off, VMFUNC, .negative = true, .see = {GPR(RAX, 0), SEES_UD});

/* GETSEC: CR4.SMXE first (#UD), then the exit, before the leaf is looked at
 * (SDM vol 2D, chapter 7). */
static void enable_smx(struct guest_state *gs)
{
    gs->cr4 |= CR4_SMXE;
}

GUEST(getsec, "xor eax, eax\n"
              AT(getsec, 1) "getsec\n")
SCENARIO(getsec, GETSEC, .state = enable_smx,
         .expect = {{EXIT_GETSEC, 1, .length = 2,
                     .raw = {RAW(QUALIFICATION, 0)}}},
         .see = {GPR(RAX, 0)});

GUEST(getsec_ud, "lea r15, [rip + 2f]\n"
                 "xor eax, eax\n"
                 AT(getsec_ud, 1) "getsec\n"
                 "2: xor r15d, r15d\n")
SCENARIO(getsec_ud, GETSEC, .negative = true, .see = {GPR(RAX, 0), SEES_UD});

/* ENCLS and ENCLV (SDM 25.6.16, 26.1.3): the leaf in EAX has its bit in the
 * bitmap, leaves from 63 on share the last. */
GUEST(encls, "mov eax, 2\n"
             AT(encls, 1) "encls\n"
             "mov eax, 70\n"
             AT(encls, 2) "encls\n")
SCENARIO(encls, ENCLS, .arm = {{EXIT_ENCLS}},
         .set = {PUT(ENCLS_BITMAP, BIT(2) | BIT(63))},
         .expect = {{EXIT_ENCLS, 1, .length = 3, .raw = {RAW(QUALIFICATION, 0)}},
                    {EXIT_ENCLS, 2, .length = 3}},
         .see = {GPR(RAX, 70)});

/* Leaf 3 is not in the bitmap: #GP, for the operands are no pages of EPC. */
GUEST(encls_leaf, "lea r15, [rip + 2f]\n"
                  "mov eax, 3\n"
                  "xor ecx, ecx\n"
                  AT(encls_leaf, 1) "encls\n"
                  "2: xor r15d, r15d\n")
SCENARIO(encls_leaf, ENCLS, .arm = {{EXIT_ENCLS}}, .negative = true,
         .set = {PUT(ENCLS_BITMAP, BIT(2) | BIT(4))},
         .see = {GPR(RAX, 3), GPR(RCX, 0), SEEN(count, 1), SEEN_AT(1),
                 GPR(R15, 0)});

GUEST(enclv, "xor eax, eax\n"
             AT(enclv, 1) ".byte 0x0f, 0x01, 0xc0\n")
SCENARIO(enclv, ENCLV, .arm = {{EXIT_ENCLV}},
         .set = {PUT(ENCLV_BITMAP, BIT(0))},
         .expect = {{EXIT_ENCLV, 1, .length = 3,
                     .raw = {RAW(QUALIFICATION, 0)}}},
         .see = {GPR(RAX, 0)});
GUEST(enclv_leaf, "lea r15, [rip + 2f]\n"
                  "xor eax, eax\n"
                  AT(enclv_leaf, 1) ".byte 0x0f, 0x01, 0xc0\n"
                  "2: xor r15d, r15d\n")
SCENARIO(enclv_leaf, ENCLV, .arm = {{EXIT_ENCLV}}, .negative = true,
         .set = {PUT(ENCLV_BITMAP, BIT(1))},
         .see = {GPR(RAX, 0), SEEN(count, 1), SEEN_AT(1), GPR(R15, 0)});
