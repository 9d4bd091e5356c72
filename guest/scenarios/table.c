/*
 * Scenarios: the descriptor-table registers, loaded and stored. The handler
 * steps over them, so that the guest sees that nothing was done; unarmed they
 * do what they do.
 */
/* clang-format off */
#include "guest/fault.h"
#include "hv/handlers.h"

/*
 * Instruction information: SDM 28.2.5, one table for SGDT, SIDT, LGDT and
 * LIDT, one for SLDT, STR, LLDT and LTR. Which is in bits 29:28. In 64-bit
 * mode the operand size (bit 11) of the first four is undefined.
 */
#define WHICH(n)        ((u64)(n) << 28)
#define ADDRESS_64      (2 << 7)
#define SEGMENT(n)      ((n) << 15)
#define INDEX(n, scale) ((n) << 18 | (scale))
#define NO_INDEX        (1 << 22)
#define BASE(n)         ((n) << 23)
#define NO_BASE         (1 << 27)
#define REGISTER(n)     (1 << 10 | (n) << 3)
#define UNDEFINED       0xc000787cull /* memory operands, of both tables */
#define NO_INDEX_BUT    (UNDEFINED | 0x3c0003)
#define NO_BASE_BUT     0x07800000ull
#define REGISTER_BUT    (~(WHICH(3) | REGISTER(15)))

#define WITH(displacement, info, but)                                          \
    .raw = {RAW(QUALIFICATION, displacement),                                  \
            RAW_BUT(INSTRUCTION_INFO, info, but)}

/* Base, index * 4 and displacement: 100058h. */
#define SIB_SETUP                                                              \
    "mov ebx, 0x100000\n"                                                      \
    "mov ecx, 8\n"
#define SIB_SEE GPR(RBX, GUEST_PROBE), GPR(RCX, 8)

GUEST(sgdt, SIB_SETUP AT(sgdt, 1) "sgdt [rbx + rcx * 4 + 0x38]\n")
SCENARIO(sgdt, SGDT, .arm = {{EXIT_SGDT}}, .probe = ACCESS_R | ACCESS_W,
         .expect = {{EXIT_SGDT, 1, .length = 5,
                     WITH(0x38,
                          WHICH(0) | ADDRESS_64 | SEGMENT(SEG_DS) |
                              INDEX(RCX, 2) | BASE(RBX),
                          UNDEFINED)}},
         .see = {SIB_SEE, PROBE(11, PROBE_VALUE + 11)});

/* Natively: the base is the guest's GDT, the limit one less than its size. */
GUEST(sgdt_off, "mov ebx, 0x100000\n"
                "sgdt [rbx]\n"
                "lea rcx, [rip + guest_gdt]\n"
                "lea rdx, [rip + guest_gdt_end - 1]\n"
                "sub rdx, rcx\n"
                "sub rcx, [rbx + 2]\n"
                "sub dx, [rbx]\n")
SCENARIO(sgdt_off, SGDT, .negative = true, .probe = ACCESS_R | ACCESS_W,
         .see = {GPR(RBX, GUEST_PROBE), GPR(RCX, 0), GPR(RDX, 0)});

/* A displacement alone, 100010h. */
GUEST(sidt, AT(sidt, 1) "sidt [0x100010]\n")
SCENARIO(sidt, SIDT, .arm = {{EXIT_SIDT}}, .probe = ACCESS_R | ACCESS_W,
         .expect = {{EXIT_SIDT, 1, .length = 8,
                     WITH(GUEST_PROBE + 0x10,
                          WHICH(1) | ADDRESS_64 | SEGMENT(SEG_DS) | NO_INDEX |
                              NO_BASE,
                          NO_INDEX_BUT | NO_BASE_BUT)}},
         .see = {PROBE(2, PROBE_VALUE + 2), PROBE(3, PROBE_VALUE + 3)});

GUEST(sidt_off, "mov ebx, 0x100000\n"
                "sidt [rbx]\n"
                "lea rcx, [rip + guest_idt]\n"
                "sub rcx, [rbx + 2]\n"
                "movzx edx, word ptr [rbx]\n")
SCENARIO(sidt_off, SIDT, .negative = true, .probe = ACCESS_R | ACCESS_W,
         .see = {GPR(RBX, GUEST_PROBE), GPR(RCX, 0), GPR(RDX, 0xfff)});

/* By RSP, so in SS. Limit 0 leaves no selector valid: were it loaded, DS could
 * not be. Natively another limit, which SGDT shows. */
GUEST(lgdt, "push 0\n"
            "push 0\n"
            AT(lgdt, 1) "lgdt [rsp]\n"
            "add rsp, 16\n"
            "mov eax, 0x10\n"
            "mov ds, eax\n")
SCENARIO(lgdt, LGDT, .arm = {{EXIT_LGDT}},
         .expect = {{EXIT_LGDT, 1, .length = 4,
                     WITH(0,
                          WHICH(2) | ADDRESS_64 | SEGMENT(SEG_SS) | NO_INDEX |
                              BASE(RSP),
                          NO_INDEX_BUT)}},
         .see = {GPR(RAX, 0x10)});

GUEST(lgdt_off, "sub rsp, 16\n"
                "sgdt [rsp]\n"
                "mov word ptr [rsp], 0x27\n"
                "lgdt [rsp]\n"
                "mov dword ptr [rsp], 0\n"
                "sgdt [rsp]\n"
                "movzx eax, word ptr [rsp]\n"
                "add rsp, 16\n")
SCENARIO(lgdt_off, LGDT, .negative = true, .see = {GPR(RAX, 0x27)});

/* RIP-relative: the qualification is the sum (SDM 28.2.1). Natively the limit
 * is 0 then, and an exception would find no gate. */
GUEST(lidt, AT(lidt, 1) "lidt [rip + guest_lidt_3]\n"
            "jmp 9f\n"
            AT(lidt, 3) ".word 0\n"
            ".quad 0\n"
            "9:\n")
SCENARIO(lidt, LIDT, .arm = {{EXIT_LIDT}},
         .expect = {{EXIT_LIDT, 1, .length = 7,
                     .raw = {RAW_AT(QUALIFICATION, 3),
                             RAW_BUT(INSTRUCTION_INFO,
                                     WHICH(3) | ADDRESS_64 | SEGMENT(SEG_DS) |
                                         NO_INDEX | NO_BASE,
                                     NO_INDEX_BUT | NO_BASE_BUT)}}});

GUEST(lidt_off, "sub rsp, 16\n"
                "sidt [rsp]\n"
                "mov word ptr [rsp], 0x7ff\n"
                "lidt [rsp]\n"
                "mov dword ptr [rsp], 0\n"
                "sidt [rsp]\n"
                "movzx eax, word ptr [rsp]\n"
                "add rsp, 16\n")
SCENARIO(lidt_off, LIDT, .negative = true, .see = {GPR(RAX, 0x7ff)});

/* SLDT and STR: register and memory, the segment by a prefix. */
GUEST(sldt, AT(sldt, 1) "sldt ecx\n")
SCENARIO(sldt, SLDT, .arm = {{EXIT_SLDT}},
         .expect = {{EXIT_SLDT, 1, .length = 3,
                     .raw = {RAW_BUT(INSTRUCTION_INFO, WHICH(0) | REGISTER(RCX),
                                     REGISTER_BUT)}}});
SCENARIO_OF(sldt_off, sldt, SLDT, .negative = true, .see = {GPR(RCX, 0)});

GUEST(sldt_memory, SIB_SETUP AT(sldt_memory, 1) "sldt [rbx + rcx * 4 + 0x38]\n")
SCENARIO(sldt_memory, SLDT, .arm = {{EXIT_SLDT}}, .probe = ACCESS_R | ACCESS_W,
         .expect = {{EXIT_SLDT, 1, .length = 5,
                     WITH(0x38,
                          WHICH(0) | ADDRESS_64 | SEGMENT(SEG_DS) |
                              INDEX(RCX, 2) | BASE(RBX),
                          UNDEFINED)}},
         .see = {SIB_SEE, PROBE(11, PROBE_VALUE + 11)});

GUEST(str, AT(str, 1) "str r9d\n")
SCENARIO(str, STR, .arm = {{EXIT_STR}},
         .expect = {{EXIT_STR, 1, .length = 4,
                     .raw = {RAW_BUT(INSTRUCTION_INFO, WHICH(1) | REGISTER(R9),
                                     REGISTER_BUT)}}});
SCENARIO_OF(str_off, str, STR, .negative = true, .see = {GPR(R9, GUEST_TR)});

GUEST(str_memory,
      "mov r12d, 0x100020\n" AT(str_memory, 1) "str fs:[r12 - 0x10]\n")
SCENARIO(str_memory, STR, .arm = {{EXIT_STR}}, .probe = ACCESS_R | ACCESS_W,
         .expect = {{EXIT_STR, 1, .length = 7,
                     WITH(~0xfull,
                          WHICH(1) | ADDRESS_64 | SEGMENT(SEG_FS) | NO_INDEX |
                              BASE(R12),
                          NO_INDEX_BUT)}},
         .see = {GPR(R12, GUEST_PROBE + 0x20), PROBE(2, PROBE_VALUE + 2)});

/* LLDT of a null selector; LTR of the TSS that is loaded, made available first
 * (a busy one raises #GP), and busy again when LTR was done. */
GUEST(lldt, "xor edx, edx\n" AT(lldt, 1) "lldt dx\n")
SCENARIO(lldt, LLDT, .arm = {{EXIT_LLDT}},
         .expect = {{EXIT_LLDT, 1, .length = 3,
                     .raw = {RAW_BUT(INSTRUCTION_INFO, WHICH(2) | REGISTER(RDX),
                                     REGISTER_BUT)}}},
         .see = {GPR(RDX, 0)});
SCENARIO_OF(lldt_off, lldt, LLDT, .negative = true, .see = {GPR(RDX, 0)});

GUEST(lldt_memory, "mov r12d, 0x100020\n"
                   "mov word ptr [r12], 0\n" AT(lldt_memory, 1) "lldt [r12]\n")
SCENARIO(lldt_memory, LLDT, .arm = {{EXIT_LLDT}}, .probe = ACCESS_R | ACCESS_W,
         .expect = {{EXIT_LLDT, 1, .length = 5,
                     WITH(0,
                          WHICH(2) | ADDRESS_64 | SEGMENT(SEG_DS) | NO_INDEX |
                              BASE(R12),
                          NO_INDEX_BUT)}},
         .see = {GPR(R12, GUEST_PROBE + 0x20)});

#define TSS_TYPE "byte ptr [rip + guest_gdt + 0x18 + 5]"
GUEST(ltr, "and " TSS_TYPE ", 0xfd\n"
           "mov eax, 0x18\n"
           AT(ltr, 1) "ltr ax\n"
           "movzx ecx, " TSS_TYPE "\n")
SCENARIO(ltr, LTR, .arm = {{EXIT_LTR}},
         .expect = {{EXIT_LTR, 1, .length = 3,
                     .raw = {RAW_BUT(INSTRUCTION_INFO, WHICH(3) | REGISTER(RAX),
                                     REGISTER_BUT)}}},
         .see = {GPR(RAX, GUEST_TR), GPR(RCX, 0x89)});
SCENARIO_OF(ltr_off, ltr, LTR, .negative = true,
            .see = {GPR(RAX, GUEST_TR), GPR(RCX, 0x8b)});

GUEST(ltr_memory, "push 0x18\n"
                  AT(ltr_memory, 1) "ltr [rsp]\n"
                  "pop rax\n")
SCENARIO(ltr_memory, LTR, .arm = {{EXIT_LTR}},
         .expect = {{EXIT_LTR, 1, .length = 4,
                     WITH(0,
                          WHICH(3) | ADDRESS_64 | SEGMENT(SEG_SS) | NO_INDEX |
                              BASE(RSP),
                          NO_INDEX_BUT)}},
         .see = {GPR(RAX, GUEST_TR)});

/* Stores are not privileged, and exit at CPL 3, too; for loads privilege comes
 * first. */
SCENARIO_OF(str_cpl3, str, STR, .arm = {{EXIT_STR}}, .mode = MODE_64_USER,
            .expect = {
                {EXIT_STR, 1, .length = 4,
                 .raw = {RAW_BUT(INSTRUCTION_INFO, WHICH(1) | REGISTER(R9),
                                 REGISTER_BUT)}}});
PRIVILEGE_FIRST(lgdt_cpl3, LGDT, 0, "lgdt [rsp]\n");
PRIVILEGE_FIRST(lidt_cpl3, LIDT, 0, "lidt [rsp]\n");
PRIVILEGE_FIRST(lldt_cpl3, LLDT, 0, "lldt ax\n");
PRIVILEGE_FIRST(ltr_cpl3, LTR, 0, "ltr ax\n");

/* With CR4.UMIP the stores are privileged, too. */
static void set_umip(struct guest_state *gs)
{
    gs->cr4 |= CR4_UMIP;
}
#define UMIP .needs = {FEAT_UMIP}, .state = set_umip
PRIVILEGE_FIRST(sgdt_umip, SGDT, 0, "sgdt [rsp - 16]\n", UMIP);
PRIVILEGE_FIRST(sidt_umip, SIDT, 0, "sidt [rsp - 16]\n", UMIP);
PRIVILEGE_FIRST(sldt_umip, SLDT, 0, "sldt eax\n", UMIP);
PRIVILEGE_FIRST(str_umip, STR, 0, "str eax\n", UMIP);
