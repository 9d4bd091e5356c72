/*
 * Scenarios: instructions that exit and are stepped over or answered.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/handlers.h"

/* CPUID exits always on VT-x, by intercept on AMD-V; the answer is ours. */
GUEST(cpuid, "mov eax, 0x40000000\n"
             "xor ecx, ecx\n" AT(cpuid, 1) "cpuid\n")
SCENARIO(cpuid, CPUID, .arm = {{EXIT_CPUID}},
         .expect = {{EXIT_CPUID, 1, .length = 2}},
         .see = {GPR(RAX, 0x40000000), GPR(RBX, CPUID_SIGNATURE_EBX),
                 GPR(RCX, CPUID_SIGNATURE_ECX), GPR(RDX, CPUID_SIGNATURE_EDX)});

GUEST(hlt, AT(hlt, 1) "hlt\n")
SCENARIO(hlt, HLT, .arm = {{EXIT_HLT}}, .expect = {{EXIT_HLT, 1, .length = 1}});

GUEST(rdtsc, AT(rdtsc, 1) "rdtsc\n")
SCENARIO(rdtsc, RDTSC, .arm = {{EXIT_RDTSC}},
         .expect = {{EXIT_RDTSC, 1, .length = 2}},
         .see = {DEVICE(TSC, EMULATED_TSC), GPR(RAX, EMULATED_TSC & 0xffffffff),
                 GPR(RDX, EMULATED_TSC >> 32)});

/* A SIB operand: without decode assists its address must be worked out. */
GUEST(invlpg,
      "mov ebx, 0x12340000\n"
      "mov ecx, 0x1590\n" AT(invlpg, 1) "invlpg [rbx + rcx * 4 + 0x38]\n")
SCENARIO(invlpg, INVLPG, .arm = {{EXIT_INVLPG}},
         .expect = {{EXIT_INVLPG, 1, .length = 5, .has_info = true,
                     .info.invlpg = {.address = 0x12345678}}},
         .see = {GPR(RBX, 0x12340000), GPR(RCX, 0x1590)});

/* VMCALL or VMMCALL; the answer is the argument plus one. */
GUEST(hypercall, "mov eax, 1\n"
                 "mov ebx, 41\n" AT(hypercall, 1) CALL_HOST)
SCENARIO(hypercall, HYPERCALL, .arm = {{EXIT_HYPERCALL}},
         .expect = {{EXIT_HYPERCALL, 1, .length = 3}},
         .see = {GPR(RAX, 42), GPR(RBX, 41)});

/* An MSR inside the bitmaps' ranges: the emulated one answers, not the CPU. */
GUEST(msr_read, "mov ecx, 0xc0000082\n" AT(msr_read, 1) "rdmsr\n")
SCENARIO(msr_read, MSR_READ, .arm = {{EXIT_MSR_READ, 0xc0000082}},
         .expect = {{EXIT_MSR_READ, 1, .length = 2, .has_info = true,
                     .info.msr = {.index = 0xc0000082}}},
         .see = {GPR(RCX, 0xc0000082), GPR(RAX, EMULATED_MSR & 0xffffffff),
                 GPR(RDX, EMULATED_MSR >> 32)});

/* Only writes are armed: the guest reads back what the CPU holds, still 0. */
GUEST(msr_write, "mov ecx, 0x175\n" /* IA32_SYSENTER_ESP */
                 "mov eax, 0x89abcdef\n"
                 "mov edx, 0x01234567\n" AT(msr_write, 1) "wrmsr\n"
                                                          "rdmsr\n")
SCENARIO(msr_write, MSR_WRITE, .arm = {{EXIT_MSR_WRITE, 0x175}},
         .expect = {{EXIT_MSR_WRITE, 1, .length = 2, .has_info = true,
                     .info.msr = {.index = 0x175}}},
         .see = {GPR(RCX, 0x175), GPR(RAX, 0), GPR(RDX, 0),
                 DEVICE(MSR, 0x0123456789abcdef)});
