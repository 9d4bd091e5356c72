/*
 * The instruction decoder: encodings with their known length and operands,
 * encodings that it must refuse, every truncation, and random bytes in
 * buffers of exactly their size (build with -fsanitize=address).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hv/insn.h"

struct bytes {
    const char *text;
    size_t size;
};
#define B(text)                                                                \
    {                                                                          \
        text, sizeof(text) - 1                                                 \
    }
#define X66_12 "\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66"
#define M64    INSN_64
#define M32    INSN_32
#define M16    INSN_16

/* clang-format off */

/* Instructions without a memory operand; reg and rm are 0 without ModRM. */
static const struct {
    const char *text;
    enum insn_mode mode;
    struct bytes bytes;
    enum insn_op op;
    u8 operand_size, reg, rm, imm;
} plain[] = {
    {"cpuid", M64, B("\x0f\xa2"), INSN_CPUID, 4, 0, 0, 0},
    {"rep cpuid", M64, B("\xf3\x0f\xa2"), INSN_CPUID, 4, 0, 0, 0},
    {"rex.w cpuid", M64, B("\x48\x0f\xa2"), INSN_CPUID, 8, 0, 0, 0},
    {"cpuid", M16, B("\x0f\xa2"), INSN_CPUID, 2, 0, 0, 0},
    {"14 bytes", M64, B(X66_12 "\x0f\xa2"), INSN_CPUID, 2, 0, 0, 0},
    {"15 bytes", M64, B(X66_12 "\x66\x0f\xa2"), INSN_CPUID, 2, 0, 0, 0},
    {"hlt", M64, B("\xf4"), INSN_HLT, 4, 0, 0, 0},
    {"cs hlt", M64, B("\x2e\xf4"), INSN_HLT, 4, 0, 0, 0},
    {"rdtsc", M64, B("\x0f\x31"), INSN_RDTSC, 4, 0, 0, 0},
    {"rdtscp", M64, B("\x0f\x01\xf9"), INSN_RDTSCP, 4, 0, 0, 0},
    {"rdpmc", M64, B("\x0f\x33"), INSN_RDPMC, 4, 0, 0, 0},
    {"rdmsr", M64, B("\x0f\x32"), INSN_RDMSR, 4, 0, 0, 0},
    {"wrmsr", M64, B("\x0f\x30"), INSN_WRMSR, 4, 0, 0, 0},
    {"in al, 0x80", M64, B("\xe4\x80"), INSN_IN, 1, 0, 0, 0x80},
    {"in eax, 0x60", M64, B("\xe5\x60"), INSN_IN, 4, 0, 0, 0x60},
    {"in ax, 0x60", M64, B("\x66\xe5\x60"), INSN_IN, 2, 0, 0, 0x60},
    {"in al, dx", M64, B("\xec"), INSN_IN, 1, 0, 0, 0},
    {"in eax, dx", M64, B("\xed"), INSN_IN, 4, 0, 0, 0},
    {"rex.w in eax, dx", M64, B("\x48\xed"), INSN_IN, 4, 0, 0, 0},
    {"in ax, dx", M16, B("\xed"), INSN_IN, 2, 0, 0, 0},
    {"in eax, dx", M16, B("\x66\xed"), INSN_IN, 4, 0, 0, 0},
    {"out 0x80, al", M64, B("\xe6\x80"), INSN_OUT, 1, 0, 0, 0x80},
    {"out 0x80, eax", M64, B("\xe7\x80"), INSN_OUT, 4, 0, 0, 0x80},
    {"out dx, al", M64, B("\xee"), INSN_OUT, 1, 0, 0, 0},
    {"out dx, eax", M64, B("\xef"), INSN_OUT, 4, 0, 0, 0},
    {"out dx, ax", M64, B("\x66\xef"), INSN_OUT, 2, 0, 0, 0},
    {"rep insb", M64, B("\xf3\x6c"), INSN_INS, 1, 0, 0, 0},
    {"insd", M64, B("\x6d"), INSN_INS, 4, 0, 0, 0},
    {"rep insw", M64, B("\xf3\x66\x6d"), INSN_INS, 2, 0, 0, 0},
    {"rep outsb", M64, B("\xf3\x6e"), INSN_OUTS, 1, 0, 0, 0},
    {"fs addr32 rep outsd", M64, B("\x64\x67\xf3\x6f"), INSN_OUTS, 4, 0, 0, 0},
    {"mov rax, cr0", M64, B("\x0f\x20\xc0"), INSN_MOV_FROM_CR, 8, 0, RAX, 0},
    {"mov rcx, cr3", M64, B("\x0f\x20\xd9"), INSN_MOV_FROM_CR, 8, 3, RCX, 0},
    {"mov cr3, rbx", M64, B("\x0f\x22\xdb"), INSN_MOV_TO_CR, 8, 3, RBX, 0},
    {"mov cr4, r9", M64, B("\x41\x0f\x22\xe1"), INSN_MOV_TO_CR, 8, 4, R9, 0},
    {"mov cr8, rax", M64, B("\x44\x0f\x22\xc0"), INSN_MOV_TO_CR, 8, 8, RAX, 0},
    {"mov r15, cr8", M64, B("\x45\x0f\x20\xc7"),
     INSN_MOV_FROM_CR, 8, 8, R15, 0},
    {"mov cr8, r10 (rex.wrb)", M64, B("\x4d\x0f\x22\xc2"),
     INSN_MOV_TO_CR, 8, 8, R10, 0},
    {"rex.r before 66: void", M64, B("\x44\x66\x0f\x22\xc0"),
     INSN_MOV_TO_CR, 8, 0, RAX, 0},
    {"mov cr3, rsp", M64, B("\x0f\x22\xdc"), INSN_MOV_TO_CR, 8, 3, RSP, 0},
    {"mov cr0, rbp, mod 0: no disp32", M64, B("\x0f\x22\x05"),
     INSN_MOV_TO_CR, 8, 0, RBP, 0},
    {"mov cr0, rsp, mod 1: no SIB", M64, B("\x0f\x22\x44"),
     INSN_MOV_TO_CR, 8, 0, RSP, 0},
    {"mov eax, cr0", M32, B("\x0f\x20\xc0"), INSN_MOV_FROM_CR, 4, 0, RAX, 0},
    {"lock mov eax, cr0 = cr8", M32, B("\xf0\x0f\x20\xc0"),
     INSN_MOV_FROM_CR, 4, 8, RAX, 0},
    {"lock mov cr0, rdx = cr8", M64, B("\xf0\x0f\x22\xc2"),
     INSN_MOV_TO_CR, 8, 8, RDX, 0},
    {"o16 mov cr0, eax", M16, B("\x66\x0f\x22\xc0"),
     INSN_MOV_TO_CR, 4, 0, RAX, 0},
    {"mov rdx, dr7", M64, B("\x0f\x21\xfa"), INSN_MOV_FROM_DR, 8, 7, RDX, 0},
    {"mov dr7, rsi", M64, B("\x0f\x23\xfe"), INSN_MOV_TO_DR, 8, 7, RSI, 0},
    {"mov dr0, r8", M64, B("\x41\x0f\x23\xc0"), INSN_MOV_TO_DR, 8, 0, R8, 0},
    {"mov dr15, rax", M64, B("\x44\x0f\x23\xf8"),
     INSN_MOV_TO_DR, 8, 15, RAX, 0},
    {"mov rax, dr6", M64, B("\x0f\x21\xf0"), INSN_MOV_FROM_DR, 8, 6, RAX, 0},
    {"clts", M64, B("\x0f\x06"), INSN_CLTS, 4, 0, 0, 0},
    {"lmsw ax", M64, B("\x0f\x01\xf0"), INSN_LMSW, 4, 6, RAX, 0},
    {"lmsw r11w", M64, B("\x41\x0f\x01\xf3"), INSN_LMSW, 4, 6, R11, 0},
    {"smsw eax", M64, B("\x0f\x01\xe0"), INSN_SMSW, 4, 4, RAX, 0},
    {"smsw rcx", M64, B("\x48\x0f\x01\xe1"), INSN_SMSW, 8, 4, RCX, 0},
    {"smsw dx", M64, B("\x66\x0f\x01\xe2"), INSN_SMSW, 2, 4, RDX, 0},
    {"invd", M64, B("\x0f\x08"), INSN_INVD, 4, 0, 0, 0},
    {"wbinvd", M64, B("\x0f\x09"), INSN_WBINVD, 4, 0, 0, 0},
    {"wbnoinvd", M64, B("\xf3\x0f\x09"), INSN_WBNOINVD, 4, 0, 0, 0},
    {"invlpga", M64, B("\x0f\x01\xdf"), INSN_INVLPGA, 4, 0, 0, 0},
    {"addr32 invlpga", M64, B("\x67\x0f\x01\xdf"), INSN_INVLPGA, 4, 0, 0, 0},
    {"vmrun", M64, B("\x0f\x01\xd8"), INSN_VMRUN, 4, 0, 0, 0},
    {"vmmcall", M64, B("\x0f\x01\xd9"), INSN_VMMCALL, 4, 0, 0, 0},
    {"rep vmmcall (vmgexit)", M64, B("\xf3\x0f\x01\xd9"),
     INSN_VMMCALL, 4, 0, 0, 0},
    {"vmload", M64, B("\x0f\x01\xda"), INSN_VMLOAD, 4, 0, 0, 0},
    {"vmsave", M64, B("\x0f\x01\xdb"), INSN_VMSAVE, 4, 0, 0, 0},
    {"stgi", M64, B("\x0f\x01\xdc"), INSN_STGI, 4, 0, 0, 0},
    {"clgi", M64, B("\x0f\x01\xdd"), INSN_CLGI, 4, 0, 0, 0},
    {"skinit", M64, B("\x0f\x01\xde"), INSN_SKINIT, 4, 0, 0, 0},
    {"vmcall", M64, B("\x0f\x01\xc1"), INSN_VMCALL, 4, 0, 0, 0},
    {"monitor", M64, B("\x0f\x01\xc8"), INSN_MONITOR, 4, 0, 0, 0},
    {"fs monitor", M64, B("\x64\x0f\x01\xc8"), INSN_MONITOR, 4, 0, 0, 0},
    {"mwait", M64, B("\x0f\x01\xc9"), INSN_MWAIT, 4, 0, 0, 0},
    {"monitorx", M64, B("\x0f\x01\xfa"), INSN_MONITORX, 4, 0, 0, 0},
    {"mwaitx", M64, B("\x0f\x01\xfb"), INSN_MWAITX, 4, 0, 0, 0},
    {"mcommit", M64, B("\xf3\x0f\x01\xfa"), INSN_MCOMMIT, 4, 0, 0, 0},
    {"rdpru", M64, B("\x0f\x01\xfd"), INSN_RDPRU, 4, 0, 0, 0},
    {"invlpgb", M64, B("\x0f\x01\xfe"), INSN_INVLPGB, 4, 0, 0, 0},
    {"tlbsync", M64, B("\x0f\x01\xff"), INSN_TLBSYNC, 4, 0, 0, 0},
    {"xsetbv", M64, B("\x0f\x01\xd1"), INSN_XSETBV, 4, 0, 0, 0},
    {"rsm", M64, B("\x0f\xaa"), INSN_RSM, 4, 0, 0, 0},
    {"ud2", M64, B("\x0f\x0b"), INSN_UD2, 4, 0, 0, 0},
    {"pause", M64, B("\xf3\x90"), INSN_PAUSE, 4, 0, 0, 0},
    {"rex.w pause", M64, B("\xf3\x48\x90"), INSN_PAUSE, 8, 0, 0, 0},
    {"pushfq", M64, B("\x9c"), INSN_PUSHF, 8, 0, 0, 0},
    {"pushf", M64, B("\x66\x9c"), INSN_PUSHF, 2, 0, 0, 0},
    {"pushfd", M32, B("\x9c"), INSN_PUSHF, 4, 0, 0, 0},
    {"popfq", M64, B("\x9d"), INSN_POPF, 8, 0, 0, 0},
    {"iretq", M64, B("\x48\xcf"), INSN_IRET, 8, 0, 0, 0},
    {"iretd", M64, B("\xcf"), INSN_IRET, 4, 0, 0, 0},
    {"iret", M16, B("\xcf"), INSN_IRET, 2, 0, 0, 0},
    {"int 0x51", M64, B("\xcd\x51"), INSN_INT, 4, 0, 0, 0x51},
    {"int 0xff", M32, B("\xcd\xff"), INSN_INT, 4, 0, 0, 0xff},
    {"int3", M64, B("\xcc"), INSN_INT3, 4, 0, 0, 0},
    {"into", M32, B("\xce"), INSN_INTO, 4, 0, 0, 0},
    {"jmp 0x58:0", M32, B("\xea\0\0\0\0\x58\0"), INSN_JMP_FAR, 4, 0, 0, 0},
    {"o16 jmp 0x58:0", M32, B("\x66\xea\0\0\x58\0"),
     INSN_JMP_FAR, 2, 0, 0, 0},
    {"call 0x58:0", M16, B("\x9a\0\0\x58\0"), INSN_CALL_FAR, 2, 0, 0, 0},
    {"int1", M64, B("\xf1"), INSN_ICEBP, 4, 0, 0, 0},
    {"sldt eax", M64, B("\x0f\x00\xc0"), INSN_SLDT, 4, 0, RAX, 0},
    {"str r9d", M64, B("\x41\x0f\x00\xc9"), INSN_STR, 4, 1, R9, 0},
    {"lldt ax", M64, B("\x0f\x00\xd0"), INSN_LLDT, 4, 2, RAX, 0},
    {"ltr cx", M64, B("\x0f\x00\xd9"), INSN_LTR, 4, 3, RCX, 0},
};

/* Instructions with one; gpr[n] is (n + 1) << 8 and the next RIP 10000h. */
static const struct {
    const char *text;
    enum insn_mode mode;
    struct bytes bytes;
    enum insn_op op;
    u8 address_size, segment, base, index, scale;
    int32_t disp;
    u64 address;
} memory[] = {
    {"invlpg [rax]", M64, B("\x0f\x01\x38"),
     INSN_INVLPG, 8, SEG_DS, RAX, NO_REG, 1, 0, 0x100},
    {"invlpg [rsp]", M64, B("\x0f\x01\x3c\x24"),
     INSN_INVLPG, 8, SEG_SS, RSP, NO_REG, 1, 0, 0x500},
    {"invlpg [rbp]", M64, B("\x0f\x01\x7d\x00"),
     INSN_INVLPG, 8, SEG_SS, RBP, NO_REG, 1, 0, 0x600},
    {"invlpg [r12]", M64, B("\x41\x0f\x01\x3c\x24"),
     INSN_INVLPG, 8, SEG_DS, R12, NO_REG, 1, 0, 0xd00},
    {"invlpg [r13]", M64, B("\x41\x0f\x01\x7d\x00"),
     INSN_INVLPG, 8, SEG_DS, R13, NO_REG, 1, 0, 0xe00},
    {"invlpg [rip + 0x1234]", M64, B("\x0f\x01\x3d\x34\x12\x00\x00"),
     INSN_INVLPG, 8, SEG_DS, BASE_RIP, NO_REG, 1, 0x1234, 0x11234},
    {"rex.b invlpg [rip - 0x10]", M64, B("\x41\x0f\x01\x3d\xf0\xff\xff\xff"),
     INSN_INVLPG, 8, SEG_DS, BASE_RIP, NO_REG, 1, -0x10, 0xfff0},
    {"invlpg [eip - 0x10001]", M64, B("\x67\x0f\x01\x3d\xff\xff\xfe\xff"),
     INSN_INVLPG, 4, SEG_DS, BASE_RIP, NO_REG, 1, -0x10001, 0xffffffff},
    {"invlpg [abs 0x80000000]", M64, B("\x0f\x01\x3c\x25\x00\x00\x00\x80"),
     INSN_INVLPG, 8, SEG_DS, NO_REG, NO_REG, 1, INT32_MIN, 0xffffffff80000000},
    {"invlpg fs:[0x10]", M64, B("\x64\x0f\x01\x3c\x25\x10\x00\x00\x00"),
     INSN_INVLPG, 8, SEG_FS, NO_REG, NO_REG, 1, 0x10, 0x10},
    {"invlpg gs:[rbx - 1]", M64, B("\x65\x0f\x01\x7b\xff"),
     INSN_INVLPG, 8, SEG_GS, RBX, NO_REG, 1, -1, 0x3ff},
    {"cs invlpg [rbp]: null prefix", M64, B("\x2e\x0f\x01\x7d\x00"),
     INSN_INVLPG, 8, SEG_SS, RBP, NO_REG, 1, 0, 0x600},
    {"invlpg [rax + rcx*4 + 0x10]", M64, B("\x0f\x01\x7c\x88\x10"),
     INSN_INVLPG, 8, SEG_DS, RAX, RCX, 4, 0x10, 0x910},
    {"invlpg [rsp + r12*8]", M64, B("\x42\x0f\x01\x3c\xe4"),
     INSN_INVLPG, 8, SEG_SS, RSP, R12, 8, 0, 0x6d00},
    {"invlpg [rcx*2 + 0x100]", M64, B("\x0f\x01\x3c\x4d\x00\x01\x00\x00"),
     INSN_INVLPG, 8, SEG_DS, NO_REG, RCX, 2, 0x100, 0x500},
    {"invlpg [rbp + r9 - 2G]", M64, B("\x42\x0f\x01\xbc\x0d\x00\x00\x00\x80"),
     INSN_INVLPG, 8, SEG_SS, RBP, R9, 1, INT32_MIN, 0xffffffff80001000},
    {"invlpg [r13 + r13*2 + 1]", M64, B("\x43\x0f\x01\x7c\x6d\x01"),
     INSN_INVLPG, 8, SEG_DS, R13, R13, 2, 1, 0x2a01},
    {"invlpg [eax]", M64, B("\x67\x0f\x01\x38"),
     INSN_INVLPG, 4, SEG_DS, RAX, NO_REG, 1, 0, 0x100},
    {"invlpg [0x12345678]", M32, B("\x0f\x01\x3d\x78\x56\x34\x12"),
     INSN_INVLPG, 4, SEG_DS, NO_REG, NO_REG, 1, 0x12345678, 0x12345678},
    {"invlpg [eax - 0x101]: wraps", M32, B("\x0f\x01\xb8\xff\xfe\xff\xff"),
     INSN_INVLPG, 4, SEG_DS, RAX, NO_REG, 1, -0x101, 0xffffffff},
    {"invlpg es:[edi]", M32, B("\x26\x0f\x01\x3f"),
     INSN_INVLPG, 4, SEG_ES, RDI, NO_REG, 1, 0, 0x800},
    {"invlpg cs:[edi]", M32, B("\x2e\x0f\x01\x3f"),
     INSN_INVLPG, 4, SEG_CS, RDI, NO_REG, 1, 0, 0x800},
    {"invlpg ss:[edi]", M32, B("\x36\x0f\x01\x3f"),
     INSN_INVLPG, 4, SEG_SS, RDI, NO_REG, 1, 0, 0x800},
    {"invlpg ds:[ebp]", M32, B("\x3e\x0f\x01\x7d\x00"),
     INSN_INVLPG, 4, SEG_DS, RBP, NO_REG, 1, 0, 0x600},
    {"bound ebx, [esi]", M32, B("\x62\x1e"),
     INSN_BOUND, 4, SEG_DS, RSI, NO_REG, 1, 0, 0x700},
    {"call far [eax + 8]", M32, B("\xff\x58\x08"),
     INSN_CALL_FAR, 4, SEG_DS, RAX, NO_REG, 1, 8, 0x108},
    {"jmp far [rax]", M64, B("\xff\x28"),
     INSN_JMP_FAR, 8, SEG_DS, RAX, NO_REG, 1, 0, 0x100},
    {"invlpg [bx + si]", M16, B("\x0f\x01\x38"),
     INSN_INVLPG, 2, SEG_DS, RBX, RSI, 1, 0, 0xb00},
    {"invlpg [bx + di + 1]", M16, B("\x0f\x01\x79\x01"),
     INSN_INVLPG, 2, SEG_DS, RBX, RDI, 1, 1, 0xc01},
    {"invlpg [bp + si]", M16, B("\x0f\x01\x3a"),
     INSN_INVLPG, 2, SEG_SS, RBP, RSI, 1, 0, 0xd00},
    {"invlpg [bp + di - 0x8000]", M16, B("\x0f\x01\xbb\x00\x80"),
     INSN_INVLPG, 2, SEG_SS, RBP, RDI, 1, -0x8000, 0x8e00},
    {"invlpg [si]", M16, B("\x0f\x01\x3c"),
     INSN_INVLPG, 2, SEG_DS, RSI, NO_REG, 1, 0, 0x700},
    {"invlpg [di]", M16, B("\x0f\x01\x3d"),
     INSN_INVLPG, 2, SEG_DS, RDI, NO_REG, 1, 0, 0x800},
    {"invlpg [bp - 0x601]: wraps", M16, B("\x0f\x01\xbe\xff\xf9"),
     INSN_INVLPG, 2, SEG_SS, RBP, NO_REG, 1, -0x601, 0xffff},
    {"invlpg [0x1234]", M16, B("\x0f\x01\x3e\x34\x12"),
     INSN_INVLPG, 2, SEG_DS, NO_REG, NO_REG, 1, 0x1234, 0x1234},
    {"invlpg [bx]", M16, B("\x0f\x01\x3f"),
     INSN_INVLPG, 2, SEG_DS, RBX, NO_REG, 1, 0, 0x400},
    {"a32 invlpg [esp + 4]", M16, B("\x67\x0f\x01\x7c\x24\x04"),
     INSN_INVLPG, 4, SEG_SS, RSP, NO_REG, 1, 4, 0x504},
    {"a16 invlpg [bx]", M32, B("\x67\x0f\x01\x3f"),
     INSN_INVLPG, 2, SEG_DS, RBX, NO_REG, 1, 0, 0x400},
    {"sgdt [rsi]", M64, B("\x0f\x01\x06"),
     INSN_SGDT, 8, SEG_DS, RSI, NO_REG, 1, 0, 0x700},
    {"sidt [rsi]", M64, B("\x0f\x01\x0e"),
     INSN_SIDT, 8, SEG_DS, RSI, NO_REG, 1, 0, 0x700},
    {"lgdt [rdx + 8]", M64, B("\x0f\x01\x52\x08"),
     INSN_LGDT, 8, SEG_DS, RDX, NO_REG, 1, 8, 0x308},
    {"lidt [rsp + 8]", M64, B("\x0f\x01\x5c\x24\x08"),
     INSN_LIDT, 8, SEG_SS, RSP, NO_REG, 1, 8, 0x508},
    {"smsw [rax]", M64, B("\x0f\x01\x20"),
     INSN_SMSW, 8, SEG_DS, RAX, NO_REG, 1, 0, 0x100},
    {"lmsw [r8]", M64, B("\x41\x0f\x01\x30"),
     INSN_LMSW, 8, SEG_DS, R8, NO_REG, 1, 0, 0x900},
    {"sldt [rbx]", M64, B("\x0f\x00\x03"),
     INSN_SLDT, 8, SEG_DS, RBX, NO_REG, 1, 0, 0x400},
    {"str [rbx]", M64, B("\x0f\x00\x0b"),
     INSN_STR, 8, SEG_DS, RBX, NO_REG, 1, 0, 0x400},
    {"lldt [rbx]", M64, B("\x0f\x00\x13"),
     INSN_LLDT, 8, SEG_DS, RBX, NO_REG, 1, 0, 0x400},
    {"ltr [rbx]", M64, B("\x0f\x00\x1b"),
     INSN_LTR, 8, SEG_DS, RBX, NO_REG, 1, 0, 0x400},
    {"invpcid rax, [rcx]", M64, B("\x66\x0f\x38\x82\x01"),
     INSN_INVPCID, 8, SEG_DS, RCX, NO_REG, 1, 0, 0x200},
    {"invpcid r9, [rdi + 0x20]", M64, B("\x66\x44\x0f\x38\x82\x4f\x20"),
     INSN_INVPCID, 8, SEG_DS, RDI, NO_REG, 1, 0x20, 0x820},
};

/* Other instructions, and those that raise #UD by their encoding. */
static const struct {
    const char *text;
    enum insn_mode mode;
    struct bytes bytes;
} refused[] = {
    {"nop", M64, B("\x90")},
    {"xchg r8, rax with f3", M64, B("\xf3\x41\x90")},
    {"repne, then no pause", M64, B("\xf3\xf2\x90")},
    {"mov eax, ebx", M64, B("\x89\xd8")},
    {"lock cpuid", M64, B("\xf0\x0f\xa2")},
    {"lock hlt", M64, B("\xf0\xf4")},
    {"lock mov cr3, rax", M64, B("\xf0\x0f\x22\xd8")},
    {"lock mov cr8, rax", M64, B("\xf0\x44\x0f\x22\xc0")},
    {"lock mov dr0, rax", M64, B("\xf0\x0f\x23\xc0")},
    {"rep xsetbv", M64, B("\xf3\x0f\x01\xd1")},
    {"o16 xsetbv", M64, B("\x66\x0f\x01\xd1")},
    {"o16 vmmcall", M64, B("\x66\x0f\x01\xd9")},
    {"rep vmcall", M64, B("\xf3\x0f\x01\xc1")},
    {"o16 monitor", M64, B("\x66\x0f\x01\xc8")},
    {"swapgs", M64, B("\x0f\x01\xf8")},
    {"clac", M64, B("\x0f\x01\xca")},
    {"xgetbv", M64, B("\x0f\x01\xd0")},
    {"clzero", M64, B("\x0f\x01\xfc")},
    {"psmash (f3 tlbsync)", M64, B("\xf3\x0f\x01\xff")},
    {"rmpupdate (f2 invlpgb)", M64, B("\xf2\x0f\x01\xfe")},
    {"verr ax", M64, B("\x0f\x00\xe0")},
    {"lgdt with a register", M64, B("\x0f\x01\xd7")},
    {"invpcid without 66", M64, B("\x0f\x38\x82\x01")},
    {"invpcid with f3", M64, B("\x66\xf3\x0f\x38\x82\x01")},
    {"invpcid with a register", M64, B("\x66\x0f\x38\x82\xc1")},
    {"invept", M64, B("\x66\x0f\x38\x80\x01")},
    {"into in 64-bit mode", M64, B("\xce")},
    {"bound in 64-bit mode", M64, B("\x62\x1e")},
    {"bound of a register", M32, B("\x62\xc0")},
    {"jmp 0x58:0 in 64-bit mode", M64, B("\xea\0\0\0\0\x58\0")},
    {"near call [eax]", M32, B("\xff\x10")},
    {"inc eax, not REX, then cpuid", M32, B("\x40\x0f\xa2")},
    {"rex in the wrong place", M64, B("\x44\x66\x90")},
    {"16 bytes", M64, B(X66_12 "\x66\x66\x0f\xa2")},
    {"15 bytes and an immediate", M64, B(X66_12 "\x66\x66\xe4\x80")},
    {"prefixes alone", M64, B("\x66\x67\xf3\x48")},
    {"no bytes", M64, B("")},
};
/* clang-format on */

/* A copy in a block of exactly its size, so that a sanitizer sees one step
 * too far. */
static bool decode(struct insn *i, const void *bytes, size_t size,
                   enum insn_mode mode)
{
    u8 *block = malloc(size ? size : 1);
    bool known;

    memcpy(block, bytes, size);
    memset(i, 0xa5, sizeof(*i));
    known = insn_decode(i, block + (size ? 0 : 1), size, mode);
    free(block);
    return known;
}

static void assert_refused(const struct insn *i)
{
    static const struct insn nothing;

    assert_memory_equal(i, &nothing, sizeof(nothing));
}

/* The same with bytes behind it, and not with any of its own missing. */
static void check_length(const struct bytes *b, enum insn_mode mode)
{
    u8 padded[32];
    struct insn i;

    memset(padded, 0xff, sizeof(padded));
    memcpy(padded, b->text, b->size);
    assert_true(decode(&i, padded, sizeof(padded), mode));
    assert_int_equal(i.length, b->size);
    for (size_t size = 0; size < b->size; size++) {
        assert_false(decode(&i, b->text, size, mode));
        assert_refused(&i);
    }
}

static void without_memory_operand(void **state)
{
    (void)state;
    for (size_t n = 0; n < ARRAY_SIZE(plain); n++) {
        const struct bytes *b = &plain[n].bytes;
        struct insn i;

        if (!decode(&i, b->text, b->size, plain[n].mode))
            fail_msg("%s: not recognised", plain[n].text);
        if (i.op != plain[n].op || i.length != b->size)
            fail_msg("%s: %s, %u bytes", plain[n].text, insn_name(i.op),
                     i.length);
        if (i.operand_size != plain[n].operand_size || i.reg != plain[n].reg ||
            i.rm != plain[n].rm || i.imm != plain[n].imm || i.has_mem)
            fail_msg("%s: operand size %u reg %u rm %u imm %x mem %d",
                     plain[n].text, i.operand_size, i.reg, i.rm, i.imm,
                     i.has_mem);
        check_length(b, plain[n].mode);
    }
}

static void with_memory_operand(void **state)
{
    u64 gpr[GPRS];

    (void)state;
    for (u64 n = 0; n < GPRS; n++)
        gpr[n] = (n + 1) << 8;
    for (size_t n = 0; n < ARRAY_SIZE(memory); n++) {
        const struct bytes *b = &memory[n].bytes;
        struct insn i;

        if (!decode(&i, b->text, b->size, memory[n].mode))
            fail_msg("%s: not recognised", memory[n].text);
        if (i.op != memory[n].op || i.length != b->size || !i.has_mem)
            fail_msg("%s: %s, %u bytes", memory[n].text, insn_name(i.op),
                     i.length);
        if (i.base != memory[n].base || i.index != memory[n].index ||
            i.scale != memory[n].scale || i.disp != memory[n].disp)
            fail_msg("%s: base %u index %u scale %u disp %x", memory[n].text,
                     i.base, i.index, i.scale, i.disp);
        if (i.address_size != memory[n].address_size ||
            i.segment != memory[n].segment)
            fail_msg("%s: address size %u segment %u", memory[n].text,
                     i.address_size, i.segment);
        if (insn_address(&i, gpr, 0x10000) != memory[n].address)
            fail_msg("%s: address %llx", memory[n].text,
                     (unsigned long long)insn_address(&i, gpr, 0x10000));
        check_length(b, memory[n].mode);
    }
}

/* Registers wider than the address: only their low part counts. */
static void address_size_cuts(void **state)
{
    u64 gpr[GPRS] = {[RAX] = 0xffffffff00000010, [RBX] = 0xabcdef12345678f0};
    struct insn i;

    (void)state;
    assert_true(decode(&i, "\x67\x0f\x01\x38", 4, INSN_64));
    assert_int_equal(insn_address(&i, gpr, 0), 0x10);
    assert_true(decode(&i, "\x0f\x01\x3f", 3, INSN_16));
    assert_int_equal(insn_address(&i, gpr, 0), 0x78f0);
    assert_true(decode(&i, "\x0f\x01\x38", 3, INSN_64));
    assert_true(insn_address(&i, gpr, 0) == gpr[RAX]);
}

static void memory_forms_take_two_bytes(void **state)
{
    struct insn i;

    (void)state;
    assert_true(decode(&i, "\x48\x0f\x01\x20", 4, INSN_64)); /* smsw [rax] */
    assert_int_equal(i.operand_size, 2);
    assert_true(decode(&i, "\x0f\x00\x03", 3, INSN_64)); /* sldt [rbx] */
    assert_int_equal(i.operand_size, 2);
    assert_true(decode(&i, "\x66\x44\x0f\x38\x82\x4f\x20", 7, INSN_64));
    assert_int_equal(i.operand_size, 8); /* invpcid r9, [rdi + 20h] */
    assert_int_equal(i.reg, R9);
    assert_int_equal(i.map, MAP_0F38);
    assert_int_equal(i.opcode, 0x82);
}

static void what_is_not_intercepted(void **state)
{
    (void)state;
    for (size_t n = 0; n < ARRAY_SIZE(refused); n++) {
        const struct bytes *b = &refused[n].bytes;
        struct insn i;

        if (decode(&i, b->text, b->size, refused[n].mode))
            fail_msg("%s: taken for %s", refused[n].text, insn_name(i.op));
        assert_refused(&i);
    }
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(insn_name(INSN_CPUID), "CPUID");
    assert_string_equal(insn_name(INSN_MOV_FROM_CR), "MOV_FROM_CR");
    assert_string_equal(insn_name(INSN_SKINIT), "SKINIT");
    assert_string_equal(insn_name((enum insn_op)200), "UNKNOWN");
}

static u32 random_word(void)
{
    static u32 x = 0x9e3779b9; /* xorshift32, one fixed seed */

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

/* Random bytes, many of them prefixes and opcodes that lead somewhere. */
static void random_bytes(void **state)
{
    static const u8 likely[] = {0x0f, 0x0f, 0x0f, 0x01, 0x00, 0x20, 0x22, 0x38,
                                0x82, 0x66, 0x67, 0xf3, 0xf2, 0x64, 0x2e, 0x41,
                                0x44, 0x48, 0xf0, 0xe4, 0xcd, 0x3c, 0x7c, 0xbc};
    u64 gpr[GPRS] = {0};
    unsigned known = 0;

    (void)state;
    for (u32 round = 0; round < 400000; round++) {
        u8 bytes[20];
        u32 size = random_word() % sizeof(bytes);
        enum insn_mode mode = (enum insn_mode)(random_word() % 3);
        struct insn i, again;

        for (u32 n = 0; n < size; n++) {
            u32 r = random_word();

            bytes[n] = r & 0x100 ? likely[(r >> 9) % sizeof(likely)] : (u8)r;
        }
        if (!decode(&i, bytes, size, mode)) {
            assert_refused(&i);
            continue;
        }
        known++;
        assert_in_range(i.length, 1, size < 15 ? size : 15);
        assert_in_range(i.op, INSN_UNKNOWN + 1, INSN_OPS - 1);
        assert_true(i.base < GPRS || i.base >= BASE_RIP);
        assert_true(i.index < GPRS || i.index == NO_REG);
        assert_true(i.segment < SEGS);
        insn_address(&i, gpr, 0);
        /* Its own bytes alone say the same. */
        assert_true(decode(&again, bytes, i.length, mode));
        assert_memory_equal(&i, &again, sizeof(i));
    }
    assert_true(known > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_operand),
        cmocka_unit_test(with_memory_operand),
        cmocka_unit_test(address_size_cuts),
        cmocka_unit_test(memory_forms_take_two_bytes),
        cmocka_unit_test(what_is_not_intercepted),
        cmocka_unit_test(names),
        cmocka_unit_test(random_bytes),
    };

    return cmocka_run_group_tests_name("insn", tests, NULL, NULL);
}
