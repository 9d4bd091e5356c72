/*
 * Scenarios: the guest itself changes from one mode to another, as a boot
 * loader does, with each step emulated and with none.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/cpu.h"
#include "hv/handlers.h"
#include "hv/msr.h"

/* The entry control "IA-32e mode guest" at an exit: an exit stores EFER.LMA in
 * it (SDM 28.3.1). */
#define IA32E(on) RAW_BUT(ENTRY_CONTROLS, (on) ? BIT(9) : 0, ~BIT(9))

/* ---- CR0.PE back and forth ------------------------------------------------ */

#define PE_TEXT(id)                                                            \
    "mov eax, cr0\n"                                                           \
    "or al, 1\n" AT(id, 1) "mov cr0, eax\n"                                    \
    "mov ebx, cr0\n"                                                           \
    "and al, 0xfe\n" AT(id, 2) "mov cr0, eax\n"
GUEST16(pe, PE_TEXT(pe))
SCENARIO_OF(real_pe, pe, CR_WRITE, .mode = MODE_REAL,
            .arm = {{EXIT_CR_WRITE, 0}},
            .expect = {{EXIT_CR_WRITE, 1, .length = 3, .has_info = true,
                        .info.cr = {.gpr = RAX}, .raw = {IA32E(false)}},
                       {EXIT_CR_WRITE, 2, .length = 3, .has_info = true,
                        .info.cr = {.gpr = RAX}, .raw = {IA32E(false)}}},
            .see = {CHANGED(CR0, 0), GPR(RAX, CR0_ET | CR0_NE),
                    GPR(RBX, CR0_ET | CR0_NE | CR0_PE)});
SCENARIO_OF(real_pe_free, pe, CR_WRITE, .negative = true, .mode = MODE_REAL,
            .see = {CHANGED(CR0, 0), GPR(RAX, CR0_ET | CR0_NE),
                    GPR(RBX, CR0_ET | CR0_NE | CR0_PE)});

/* ---- CR0.NE: VT-x fixes it to 1, unrestricted guest or not (SDM 24.8). A
 * guest that has it at 0 reads 0, and its first write of 1 exits. ----------- */

static void without_ne(struct guest_state *gs)
{
    gs->cr0 &= ~CR0_NE;
}

#define NE_TEXT(id)                                                            \
    "mov ebx, cr0\n"                                                           \
    "mov eax, ebx\n"                                                           \
    "or al, 0x20\n" AT(id, 1) "mov cr0, eax\n"                                 \
    "mov edx, cr0\n"                                                           \
    "mov cr0, edx\n"
GUEST16(ne, NE_TEXT(ne))
SCENARIO_OF(real_ne, ne, CR_WRITE, .mode = MODE_REAL, .state = without_ne,
            .expect = {{EXIT_CR_WRITE, 1, .vendor = VENDOR_VMX, .length = 3,
                        .has_info = true, .info.cr = {.gpr = RAX}}},
            .vendor = VENDOR_VMX,
            .see = {CHANGED(CR0, CR0_NE), GPR(RBX, CR0_ET),
                    GPR(RAX, CR0_ET | CR0_NE), GPR(RDX, CR0_ET | CR0_NE)});
SCENARIO_OF(real_ne_free, ne, CR_WRITE, .negative = true, .mode = MODE_REAL,
            .state = without_ne, .vendor = VENDOR_SVM,
            .see = {CHANGED(CR0, CR0_NE), GPR(RBX, CR0_ET),
                    GPR(RAX, CR0_ET | CR0_NE), GPR(RDX, CR0_ET | CR0_NE)});

/* ---- the way of a boot loader --------------------------------------------- */

/* To EBX, GUEST_BASE being the segment's base: local label `to`. */
#define LINEAR_16(to)                                                          \
    ".byte 0xe8\n"                                                             \
    ".word 0\n"                                                                \
    "97: pop bx\n"                                                             \
    "movzx ebx, bx\n"                                                          \
    ".byte 0x66, 0x81, 0xc3\n"                                                 \
    ".long " to " - 97b + 0x10000\n"
#define LINEAR_32(to)                                                          \
    "call 97f\n"                                                               \
    "97: pop ebx\n"                                                            \
    ".byte 0x81, 0xc3\n"                                                       \
    ".long " to " - 97b\n"

/* RETF to a selector and EBX, with 32-bit operands in any mode. The stack is
 * real mode's until the end. */
#define FAR_TO_16(sel) ".byte 0x66, 0x6a, " sel "\npush ebx\n.byte 0x66, 0xcb\n"
#define FAR_TO_32(sel) "push " sel "\npush ebx\n.byte 0xcb\n"

/* Real mode, protected mode, PAE and EFER.LME, compatibility mode by CR0.PG,
 * 64-bit mode by a far return. */
#define BOOT_TEXT(id)                                                          \
    ".code16\n" LINEAR_16("3f") AT(id, 1)                                      \
    "mov eax, cr0\n"                                                           \
    "or al, 1\n"                                                               \
    "mov cr0, eax\n" FAR_TO_16("0x38")                                         \
    ".code32\n"                                                                \
    "3: mov eax, cr4\n"                                                        \
    "or al, 1 << 5\n"                                                          \
    "mov cr4, eax\n"                                                           \
    "mov eax, cr3\n"                                                           \
    "mov cr3, eax\n"                                                           \
    "mov ecx, 0xc0000080\n"                                                    \
    "rdmsr\n"                                                                  \
    "or ah, 1\n"                                                               \
    "wrmsr\n"                                                                  \
    "mov eax, cr0\n"                                                           \
    "or eax, 1 << 31\n"                                                        \
    "mov cr0, eax\n" AT(id, 2) LINEAR_32("4f") FAR_TO_32("8")                  \
    ".code64\n"                                                                \
    "4: mov eax, 0x40000000\n" AT(id, 3) "cpuid\n"
#define BOOT_SEES                                                              \
    .see = {CHANGED(CR0, CR0_PE | CR0_PG), CHANGED(CR4, CR4_PAE),              \
            CHANGED(CR3, 0), CHANGED(EFER, EFER_LME | EFER_LMA),               \
            GPR(RAX, CPUID_LEAF), GPR(RBX, CPUID_SIGNATURE_EBX),               \
            GPR(RCX, CPUID_SIGNATURE_ECX), GPR(RDX, CPUID_SIGNATURE_EDX)}
#define BOOT_CPUID {EXIT_CPUID, 3, .length = 2, .raw = {IA32E(true)}}
#define BOOT_CR(n)                                                             \
    {EXIT_CR_WRITE, 1, .until = 2, .item = n, .length = 3, .has_info = true,   \
     .info.cr = {.nr = n, .gpr = RAX}, .raw = {IA32E(false)}}

GUEST(boot, BOOT_TEXT(boot))
SCENARIO_OF(boot_emulated, boot, CR_WRITE, .mode = MODE_REAL,
            .arm = {{EXIT_CR_WRITE, 0}, {EXIT_CR_WRITE, 3}, {EXIT_CR_WRITE, 4},
                    {EXIT_MSR_READ, MSR_EFER}, {EXIT_MSR_WRITE, MSR_EFER},
                    {EXIT_CPUID}},
            .expect = {BOOT_CR(0), BOOT_CR(4), BOOT_CR(3),
                       {EXIT_MSR_READ, 1, .until = 2, .length = 2,
                        .has_info = true, .info.msr = {.index = MSR_EFER}},
                       {EXIT_MSR_WRITE, 1, .until = 2, .length = 2,
                        .has_info = true, .info.msr = {.index = MSR_EFER}},
                       BOOT_CR(0), BOOT_CPUID},
            BOOT_SEES);
SCENARIO_OF(boot_native, boot, CPUID, .mode = MODE_REAL,
            .arm = {{EXIT_CPUID}}, .expect = {BOOT_CPUID}, BOOT_SEES);

/* ---- and out of long mode: CR0.PG off in compatibility mode --------------- */

GUEST32(leave_long, "mov eax, cr0\n"
                    "btr eax, 31\n" AT(leave_long, 1) "mov cr0, eax\n"
                    "mov ecx, 0xc0000080\n"
                    "rdmsr\n"
                    "and ah, 0xfe\n"
                    "wrmsr\n"
                    "mov eax, 0x40000000\n" AT(leave_long, 2) "cpuid\n")
#define LEFT_LONG                                                              \
    .see = {CHANGED(CR0, CR0_PG), CHANGED(EFER, EFER_LME | EFER_LMA),          \
            GPR(RAX, CPUID_LEAF), GPR(RBX, CPUID_SIGNATURE_EBX),               \
            GPR(RCX, CPUID_SIGNATURE_ECX), GPR(RDX, CPUID_SIGNATURE_EDX)}
SCENARIO_OF(leave_long_emulated, leave_long, CR_WRITE, .mode = MODE_COMPAT,
            .arm = {{EXIT_CR_WRITE, 0}, {EXIT_CPUID}},
            .expect = {{EXIT_CR_WRITE, 1, .length = 3, .has_info = true,
                        .info.cr = {.gpr = RAX}, .raw = {IA32E(true)}},
                       {EXIT_CPUID, 2, .length = 2, .raw = {IA32E(false)}}},
            LEFT_LONG);
SCENARIO_OF(leave_long_native, leave_long, CPUID, .mode = MODE_COMPAT,
            .arm = {{EXIT_CPUID}},
            .expect = {{EXIT_CPUID, 2, .length = 2, .raw = {IA32E(false)}}},
            LEFT_LONG);

/* ---- PAE paging on: on VT-x the emulator of CR0 loads the PDPTEs ---------- */

static void pae_tables(struct guest_state *gs)
{
    gs->cr0 &= ~CR0_PG;
    for (u32 n = 0; n < PDPTES; n++)
        gs->pdpte[n] = 0;
}

GUEST32(pae_on, "mov eax, cr0\n"
                "bts eax, 31\n" AT(pae_on, 1) "mov cr0, eax\n"
                "mov ebx, [0x100008]\n")
SCENARIO_OF(pae_on, pae_on, CR_WRITE, .mode = MODE_32_PAE, .state = pae_tables,
            .probe = ACCESS_R, .arm = {{EXIT_CR_WRITE, 0}},
            .expect = {{EXIT_CR_WRITE, 1, .length = 3, .has_info = true,
                        .info.cr = {.gpr = RAX}, .raw = {IA32E(false)}}},
            .see = {CHANGED(CR0, CR0_PG), SAME(RAX, CR0),
                    GPR(RBX, (PROBE_VALUE + 1) & 0xffffffff)});
