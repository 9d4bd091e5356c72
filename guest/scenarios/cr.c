/*
 * Scenarios: MOV from and to control registers and DR7.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/handlers.h"

/* VT-x has no exit for reads of CR0 and CR4: the guest gets the read shadow
 * (SDM 26.3). What it sees is the same on both. */
GUEST(cr0_read, AT(cr0_read, 1) "mov rbx, cr0\n")
SCENARIO(cr0_read, CR_READ, .item = 0, .arm = {{EXIT_CR_READ, 0}},
         .expect = {{EXIT_CR_READ, 1, .item = 0, .vendor = VENDOR_SVM,
                     .length = 3, .has_info = true,
                     .info.cr = {.nr = 0, .gpr = RBX}}},
         .see = {SAME(RBX, CR0)});

GUEST(cr4_read, AT(cr4_read, 1) "mov r9, cr4\n")
SCENARIO(cr4_read, CR_READ, .item = 4, .arm = {{EXIT_CR_READ, 4}},
         .expect = {{EXIT_CR_READ, 1, .item = 4, .vendor = VENDOR_SVM,
                     .length = 4, .has_info = true,
                     .info.cr = {.nr = 4, .gpr = R9}}},
         .see = {SAME(R9, CR4)});

GUEST(cr3_read, AT(cr3_read, 1) "mov rbx, cr3\n")
SCENARIO(cr3_read, CR_READ, .item = 3, .arm = {{EXIT_CR_READ, 3}},
         .expect = {{EXIT_CR_READ, 1, .item = 3, .length = 3, .has_info = true,
                     .info.cr = {.nr = 3, .gpr = RBX}}},
         .see = {SAME(RBX, CR3)});

GUEST(cr8_read, AT(cr8_read, 1) "mov r9, cr8\n")
SCENARIO(cr8_read, CR_READ, .item = 8, .arm = {{EXIT_CR_READ, 8}},
         .expect = {{EXIT_CR_READ, 1, .item = 8, .length = 4, .has_info = true,
                     .info.cr = {.nr = 8, .gpr = R9}}},
         .see = {GPR(R9, EMULATED_CR8)});

/* Bit 18 is CR0.AM; reading back does not exit. */
GUEST(cr0_write, "mov rax, cr0\n"
                 "xor eax, 1 << 18\n" AT(cr0_write, 1) "mov cr0, rax\n"
                                                       "mov rbx, cr0\n")
SCENARIO(cr0_write, CR_WRITE, .item = 0, .arm = {{EXIT_CR_WRITE, 0}},
         .expect = {{EXIT_CR_WRITE, 1, .item = 0, .length = 3, .has_info = true,
                     .info.cr = {.nr = 0, .gpr = RAX}}},
         .see = {CHANGED(CR0, BIT(18)), SAME(RAX, CR0), SAME(RBX, CR0)});

/* Bit 3 is CR3.PWT. */
GUEST(cr3_write, "mov r9, cr3\n"
                 "xor r9, 8\n" AT(cr3_write, 1) "mov cr3, r9\n"
                                                "mov rbx, cr3\n")
SCENARIO(cr3_write, CR_WRITE, .item = 3, .arm = {{EXIT_CR_WRITE, 3}},
         .expect = {{EXIT_CR_WRITE, 1, .item = 3, .length = 4, .has_info = true,
                     .info.cr = {.nr = 3, .gpr = R9}}},
         .see = {CHANGED(CR3, BIT(3)), SAME(R9, CR3), SAME(RBX, CR3)});

/* Bit 8 is CR4.PCE. */
GUEST(cr4_write, "mov rdi, cr4\n"
                 "xor edi, 1 << 8\n" AT(cr4_write, 1) "mov cr4, rdi\n"
                                                      "mov rbx, cr4\n")
SCENARIO(cr4_write, CR_WRITE, .item = 4, .arm = {{EXIT_CR_WRITE, 4}},
         .expect = {{EXIT_CR_WRITE, 1, .item = 4, .length = 3, .has_info = true,
                     .info.cr = {.nr = 4, .gpr = RDI}}},
         .see = {CHANGED(CR4, BIT(8)), SAME(RDI, CR4), SAME(RBX, CR4)});

GUEST(cr8_write, "mov ebx, 9\n" AT(cr8_write, 1) "mov cr8, rbx\n")
SCENARIO(cr8_write, CR_WRITE, .item = 8, .arm = {{EXIT_CR_WRITE, 8}},
         .expect = {{EXIT_CR_WRITE, 1, .item = 8, .length = 4, .has_info = true,
                     .info.cr = {.nr = 8, .gpr = RBX}}},
         .see = {GPR(RBX, 9), DEVICE(CR8, 9)});

GUEST(dr7_read, AT(dr7_read, 1) "mov r9, dr7\n")
SCENARIO(dr7_read, DR_READ, .item = 7, .arm = {{EXIT_DR_READ, 7}},
         .expect = {{EXIT_DR_READ, 1, .item = 7, .length = 4, .has_info = true,
                     .info.dr = {.nr = 7, .gpr = R9}}},
         .see = {SAME(R9, DR7)});

/* Bits 8 and 9 are DR7.LE and DR7.GE: they change nothing else. */
GUEST(dr7_write, "mov ebx, 0x700\n" AT(dr7_write, 1) "mov dr7, rbx\n")
SCENARIO(dr7_write, DR_WRITE, .item = 7, .arm = {{EXIT_DR_WRITE, 7}},
         .expect = {{EXIT_DR_WRITE, 1, .item = 7, .length = 3, .has_info = true,
                     .info.dr = {.nr = 7, .gpr = RBX}}},
         .see = {GPR(RBX, 0x700), CHANGED(DR7, 0x300)});
