/*
 * Scenarios: instructions that exit and are stepped over or answered.
 */
/* clang-format off */
#include "guest/fault.h"
#include "hv/apic.h"
#include "hv/handlers.h"
#include "hv/msr.h"

#define HLT_VECTOR 0x52

/* CPUID exits always on VT-x, by intercept on AMD-V; the answer is ours. */
GUEST(cpuid, "mov eax, 0x40000000\n"
             "xor ecx, ecx\n" AT(cpuid, 1) "cpuid\n")
SCENARIO(cpuid, CPUID, .arm = {{EXIT_CPUID}},
         .expect = {{EXIT_CPUID, 1, .length = 2}},
         .see = {GPR(RAX, 0x40000000), GPR(RBX, CPUID_SIGNATURE_EBX),
                 GPR(RCX, CPUID_SIGNATURE_ECX), GPR(RDX, CPUID_SIGNATURE_EDX)});

/* It is not privileged: it exits at CPL 3 as well. */
SCENARIO_OF(cpuid_cpl3, cpuid, CPUID, .arm = {{EXIT_CPUID}},
            .mode = MODE_64_USER, .expect = {{EXIT_CPUID, 1, .length = 2}},
            .see = {GPR(RAX, 0x40000000), GPR(RBX, CPUID_SIGNATURE_EBX),
                    GPR(RCX, CPUID_SIGNATURE_ECX),
                    GPR(RDX, CPUID_SIGNATURE_EDX)});

/* The CPU's own answer to leaf 0: it has a leaf 1. */
GUEST(cpuid_off, "xor eax, eax\n"
                 "cpuid\n"
                 "test eax, eax\n"
                 "setnz al\n"
                 "movzx eax, al\n"
                 "xor ebx, ebx\n"
                 "xor ecx, ecx\n"
                 "xor edx, edx\n")
SCENARIO(cpuid_off, CPUID, .negative = true, .vendor = VENDOR_SVM,
         .see = {GPR(RAX, 1), GPR(RBX, 0), GPR(RCX, 0), GPR(RDX, 0)});

GUEST(hlt, AT(hlt, 1) "hlt\n")
SCENARIO(hlt, HLT, .arm = {{EXIT_HLT}}, .expect = {{EXIT_HLT, 1, .length = 1}});
PRIVILEGE_FIRST(hlt_cpl3, HLT, 0, "hlt\n");

/* Not armed the CPU halts, in the guest, until an interrupt exits: RIP is
 * behind HLT, and VT-x has noted the activity state (SDM 28.3.4), which the
 * host ends as an interrupt of the guest's would. */
static void start_timer(struct vcpu *v)
{
    (void)v;
    apic_timer_oneshot(HLT_VECTOR, 200000); /* late enough */
}

static void wake_up(struct vcpu *v)
{
    v->ops->set_word(v, RAW_ACTIVITY, 0);
}

GUEST(hlt_off, "hlt\n" AT(hlt_off, 1) "nop\n")
SCENARIO(hlt_off, INTERRUPT, .without = EXIT_HLT,
         .before = start_timer, .exited = wake_up,
         .expect = {{EXIT_INTERRUPT, 1}}, .see = {DEVICE(VECTOR, HLT_VECTOR)});

GUEST(rdtsc, AT(rdtsc, 1) "rdtsc\n")
SCENARIO(rdtsc, RDTSC, .arm = {{EXIT_RDTSC}},
         .expect = {{EXIT_RDTSC, 1, .length = 2}},
         .see = {DEVICE(TSC, EMULATED_TSC), GPR(RAX, EMULATED_TSC & 0xffffffff),
                 GPR(RDX, EMULATED_TSC >> 32)});

/* Twice the CPU's own: it does not go back. */
GUEST(rdtsc_off, "rdtsc\n"
                 "shl rdx, 32\n"
                 "lea rbx, [rax + rdx]\n"
                 "rdtsc\n"
                 "shl rdx, 32\n"
                 "add rax, rdx\n"
                 "cmp rax, rbx\n"
                 "setae al\n"
                 "movzx eax, al\n"
                 "xor ebx, ebx\n"
                 "xor edx, edx\n")
SCENARIO(rdtsc_off, RDTSC, .negative = true,
         .see = {GPR(RAX, 1), GPR(RBX, 0), GPR(RDX, 0),
                 DEVICE(TSC, EMULATED_TSC)});

static void set_tsd(struct guest_state *gs)
{
    gs->cr4 |= CR4_TSD;
}

FAULTS_FIRST(rdtsc_tsd, RDTSC, 0, "rdtsc\n", VECTOR_GP, .mode = MODE_64_USER,
             .state = set_tsd);

/* A SIB operand: without decode assists its address must be worked out. */
GUEST(invlpg,
      "mov ebx, 0x12340000\n"
      "mov ecx, 0x1590\n" AT(invlpg, 1) "invlpg [rbx + rcx * 4 + 0x38]\n")
SCENARIO(invlpg, INVLPG, .arm = {{EXIT_INVLPG}},
         .expect = {{EXIT_INVLPG, 1, .length = 5, .has_info = true,
                     .info.invlpg = {.address = 0x12345678},
                     .raw = {RAW(QUALIFICATION, 0x12345678),
                             RAW_IF(SVM_DECODE, EXITINFO1, 0x12345678)}}},
         .see = {GPR(RBX, 0x12340000), GPR(RCX, 0x1590)});
SCENARIO_OF(invlpg_off, invlpg, INVLPG, .negative = true,
            .see = {GPR(RBX, 0x12340000), GPR(RCX, 0x1590)});
PRIVILEGE_FIRST(invlpg_cpl3, INVLPG, 0, "invlpg [rbx]\n");

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
                     .info.msr = {.index = 0xc0000082},
                     .raw = {RAW(EXITINFO1, 0)}}},
         .see = {GPR(RCX, 0xc0000082), GPR(RAX, EMULATED_MSR & 0xffffffff),
                 GPR(RDX, EMULATED_MSR >> 32)});

/* Only writes are armed: the guest reads back what the CPU holds, still 0. */
GUEST(msr_write, "mov ecx, 0x175\n" /* IA32_SYSENTER_ESP */
                 "mov eax, 0x89abcdef\n"
                 "mov edx, 0x01234567\n"
                 AT(msr_write, 1) "wrmsr\n"
                 "rdmsr\n")
SCENARIO(msr_write, MSR_WRITE, .arm = {{EXIT_MSR_WRITE, 0x175}},
         .expect = {{EXIT_MSR_WRITE, 1, .length = 2, .has_info = true,
                     .info.msr = {.index = 0x175}, .raw = {RAW(EXITINFO1, 1)}}},
         .see = {GPR(RCX, 0x175), GPR(RAX, 0), GPR(RDX, 0),
                 DEVICE(MSR, 0x0123456789abcdef)});

/* Not armed: the CPU's own MSR. */
GUEST(msr_off, "mov ecx, 0xc0000082\n"
               "mov eax, 0x89abcdef\n"
               "xor edx, edx\n"
               "wrmsr\n"
               "xor eax, eax\n"
               "rdmsr\n")
#define MSR_UNSEEN                                                             \
    .see = {GPR(RCX, MSR_LSTAR), GPR(RAX, 0x89abcdef), GPR(RDX, 0),            \
            DEVICE(MSR, EMULATED_MSR)}
SCENARIO(msr_off, MSR_READ, .negative = true, MSR_UNSEEN);
PRIVILEGE_FIRST(msr_read_cpl3, MSR_READ, (u32)GUEST_CANARY + RCX, "rdmsr\n");
PRIVILEGE_FIRST(msr_write_cpl3, MSR_WRITE, (u32)GUEST_CANARY + RCX, "wrmsr\n");
