/*
 * Scenarios: system instructions that exit and are stepped over.
 */
/* clang-format off */
#include "guest/fault.h"
#include "hv/cpu.h"
#include "hv/handlers.h"

/* INVD has no negative on AMD-V: what the caches hold would be lost. */
GUEST(invd, AT(invd, 1) "invd\n")
SCENARIO(invd, INVD, .arm = {{EXIT_INVD}},
         .expect = {{EXIT_INVD, 1, .length = 2}});
PRIVILEGE_FIRST(invd_cpl3, INVD, 0, "invd\n");

GUEST(wbinvd, AT(wbinvd, 1) "wbinvd\n")
SCENARIO(wbinvd, WBINVD, .arm = {{EXIT_WBINVD}},
         .expect = {{EXIT_WBINVD, 1, .length = 2}});
SCENARIO_OF(wbinvd_off, wbinvd, WBINVD, .negative = true);
PRIVILEGE_FIRST(wbinvd_cpl3, WBINVD, 0, "wbinvd\n");

/* A CPU that does not know WBNOINVD ignores the prefix. */
GUEST(wbnoinvd, AT(wbnoinvd, 1) ".byte 0xf3, 0x0f, 0x09\n")
SCENARIO(wbnoinvd, WBINVD, .arm = {{EXIT_WBINVD}},
         .expect = {{EXIT_WBINVD, 1, .length = 3}});

/* Natively it gives a counter: whatever that holds, it is not the canaries. */
GUEST(rdpmc, "xor ecx, ecx\n" AT(rdpmc, 1) "rdpmc\n")
SCENARIO(rdpmc, RDPMC, .arm = {{EXIT_RDPMC}},
         .expect = {{EXIT_RDPMC, 1, .length = 2}}, .see = {GPR(RCX, 0)});
GUEST(rdpmc_off, "xor ecx, ecx\n"
                 "rdpmc\n"
                 "shr rax, 32\n"
                 "shr rdx, 32\n")
/* On VT-x CPUID says whether there is one; AMD-V has four (APM 13.2.1). */
static const char *counts(struct vcpu *v)
{
    u32 out[4];

    cpuid(0xa, 0, out);
    return v->ops->vendor == VENDOR_SVM || out[0] & 0xff
               ? NULL
               : "CPUID.Ah:EAX[7:0]: no performance counter";
}

SCENARIO(rdpmc_off, RDPMC, .negative = true, .lacks = counts,
         .see = {GPR(RCX, 0), GPR(RAX, 0), GPR(RDX, 0)});
/* CR4.PCE is 0. */
PRIVILEGE_FIRST(rdpmc_cpl3, RDPMC, 0, "rdpmc\n");

/* MONITOR and MWAIT: on VT-x the qualification says whether a monitor is
 * armed; without one MWAIT waits for nothing. */
GUEST(monitor, "lea rax, [rip + guest_flag]\n"
               "xor ecx, ecx\n"
               "xor edx, edx\n"
               AT(monitor, 1) "monitor\n"
               "xor eax, eax\n")
SCENARIO(monitor, MONITOR, .arm = {{EXIT_MONITOR}},
         .expect = {{EXIT_MONITOR, 1, .length = 3}},
         .see = {GPR(RAX, 0), GPR(RCX, 0), GPR(RDX, 0)});
SCENARIO_OF(monitor_off, monitor, MONITOR, .negative = true,
            .see = {GPR(RAX, 0), GPR(RCX, 0), GPR(RDX, 0)});

GUEST(mwait, "xor eax, eax\n"
             "xor ecx, ecx\n" AT(mwait, 1) "mwait\n")
SCENARIO(mwait, MWAIT, .arm = {{EXIT_MWAIT}},
         .expect = {{EXIT_MWAIT, 1, .length = 3,
                     .raw = {RAW(QUALIFICATION, 0)}}},
         .see = {GPR(RAX, 0), GPR(RCX, 0)});
SCENARIO_OF(mwait_off, mwait, MWAIT, .negative = true,
            .see = {GPR(RAX, 0), GPR(RCX, 0)});

GUEST(mwait_monitored, "lea rax, [rip + guest_flag]\n"
                       "xor ecx, ecx\n"
                       "xor edx, edx\n"
                       "monitor\n"
                       "xor eax, eax\n" AT(mwait_monitored, 1) "mwait\n")
SCENARIO(mwait_monitored, MWAIT, .arm = {{EXIT_MWAIT}},
         .expect = {{EXIT_MWAIT, 1, .length = 3,
                     .raw = {RAW(QUALIFICATION, 1)}}},
         .see = {GPR(RAX, 0), GPR(RCX, 0), GPR(RDX, 0)});

/* At CPL 3 they are no instructions (SDM vol 2, APM vol 3: MONITOR). */
FAULTS_FIRST(monitor_cpl3, MONITOR, 0, "monitor\n", VECTOR_UD,
             .mode = MODE_64_USER);
FAULTS_FIRST(mwait_cpl3, MWAIT, 0, "mwait\n", VECTOR_UD,
             .mode = MODE_64_USER);

GUEST(pause, AT(pause, 1) "pause\n")
SCENARIO(pause, PAUSE, .arm = {{EXIT_PAUSE}},
         .expect = {{EXIT_PAUSE, 1, .length = 2}});
SCENARIO_OF(pause_off, pause, PAUSE, .negative = true);
SCENARIO_OF(pause_cpl3, pause, PAUSE, .arm = {{EXIT_PAUSE}},
            .mode = MODE_64_USER, .expect = {{EXIT_PAUSE, 1, .length = 2}});

/* XSETBV: the exit comes before the checks of the value, here one that no CPU
 * takes (XCR0.x87 is 0). XGETBV in front and behind: nothing was written. */
static void set_osxsave(struct guest_state *gs)
{
    gs->cr4 |= CR4_OSXSAVE;
}

GUEST(xsetbv, "xor ecx, ecx\n"
              "xgetbv\n"
              "mov ebx, eax\n"
              "xor eax, eax\n"
              AT(xsetbv, 1) "xsetbv\n"
              "xgetbv\n"
              "sub ebx, eax\n"
              "and eax, 1\n")
SCENARIO(xsetbv, XSETBV, .arm = {{EXIT_XSETBV}}, .state = set_osxsave,
         .expect = {{EXIT_XSETBV, 1, .length = 3}},
         .see = {GPR(RCX, 0), GPR(RDX, 0), GPR(RBX, 0), GPR(RAX, 1)});

/* Natively, with the value that is there already. */
GUEST(xsetbv_off, "xor ecx, ecx\n"
                  "xgetbv\n"
                  "xsetbv\n"
                  "and eax, 1\n")
SCENARIO(xsetbv_off, XSETBV, .negative = true, .vendor = VENDOR_SVM,
         .state = set_osxsave, .see = {GPR(RCX, 0), GPR(RDX, 0), GPR(RAX, 1)});

/* Without CR4.OSXSAVE it is no instruction; at CPL 3 privilege is first. */
FAULTS_FIRST(xsetbv_ud, XSETBV, 0, "xsetbv\n", VECTOR_UD);
FAULTS_FIRST(xsetbv_cpl3, XSETBV, 0, "xsetbv\n", VECTOR_GP,
             .vendor = VENDOR_VMX, .mode = MODE_64_USER, .state = set_osxsave);

/* On VT-x armed by RDTSC exiting; the secondary control that is on lets the
 * guest have it at all. */
GUEST(rdtscp, AT(rdtscp, 1) "rdtscp\n")
SCENARIO(rdtscp, RDTSCP, .arm = {{EXIT_RDTSCP}},
         .expect = {{EXIT_RDTSCP, 1, .length = 3}},
         .see = {DEVICE(TSC, EMULATED_TSC), GPR(RAX, EMULATED_TSC & 0xffffffff),
                 GPR(RDX, EMULATED_TSC >> 32), GPR(RCX, EMULATED_TSC_AUX)});

/* Natively ECX is IA32_TSC_AUX, the guest's own. */
GUEST(rdtscp_off, "mov ecx, 0xc0000103\n"
                  "mov eax, 0x5150\n"
                  "xor edx, edx\n"
                  "wrmsr\n"
                  "rdtscp\n"
                  "xor eax, eax\n"
                  "xor edx, edx\n")
SCENARIO(rdtscp_off, RDTSCP, .negative = true,
         .see = {GPR(RCX, 0x5150), GPR(RAX, 0), GPR(RDX, 0)});

/* Without that control it is no instruction, armed or not (SDM 26.3). */
#define PROC2_RDTSCP  BIT(3)
#define PROC2_INVPCID BIT(12)
static void forbid(struct vcpu *v, u64 control)
{
    u64 controls = 0;

    v->ops->word(v, RAW_SECONDARY, &controls);
    v->ops->set_word(v, RAW_SECONDARY, controls & ~control);
}
static void forbid_rdtscp(struct vcpu *v)
{
    forbid(v, PROC2_RDTSCP);
}
FAULTS_FIRST(rdtscp_ud, RDTSCP, 0, "rdtscp\n", VECTOR_UD, .vendor = VENDOR_VMX,
             .before = forbid_rdtscp);

/* INVPCID of everything (type 2). The operand is there to be decoded:
 * displacement, index * 4 (scale 2), base, DS, 64-bit addresses, and the type
 * in R9 (SDM 28.2.5, which leaves bits 6:2 and 14:11 undefined). */
GUEST(invpcid, "mov r9d, 2\n"
               "mov ebx, 0x100000\n"
               "mov ecx, 4\n"
               "mov qword ptr [rbx + 0x48], 0\n"
               "mov qword ptr [rbx + 0x50], 0\n"
               AT( invpcid, 1) "invpcid r9, [rbx + rcx * 4 + 0x38]\n")
#define INVPCID_INFO                                                           \
    (2 | 2 << 7 | 3 << 15 | RCX << 18 | RBX << 23 | (u64)R9 << 28)
#define INVPCID_SEE .see = {GPR(R9, 2), GPR(RBX, GUEST_PROBE), GPR(RCX, 4)}
SCENARIO(invpcid, INVPCID, .arm = {{EXIT_INVPCID}}, .needs = {FEAT_INVPCID},
         .probe = ACCESS_R | ACCESS_W,
         .expect = {{EXIT_INVPCID, 1, .length = 8,
                     .raw = {RAW(QUALIFICATION, 0x38),
                             RAW_BUT(INSTRUCTION_INFO, INVPCID_INFO, 0x787c)}}},
         INVPCID_SEE);
SCENARIO_OF(invpcid_off, invpcid, INVPCID, .negative = true,
            .needs = {FEAT_INVPCID}, .probe = ACCESS_R | ACCESS_W, INVPCID_SEE);
static void forbid_invpcid(struct vcpu *v)
{
    forbid(v, PROC2_INVPCID);
}
FAULTS_FIRST(invpcid_ud, INVPCID, 0, "invpcid r9, [rbx]\n", VECTOR_UD,
             .vendor = VENDOR_VMX, .before = forbid_invpcid);

/* RDRAND and RDSEED: VT-x alone. The destination and the operand size are in
 * the instruction information (SDM 28.2.5): RCX, 64 bits; R10, 32. */
#define REG_INFO(gpr, size) ((gpr) << 3 | (size) << 11)
#define REG_INFO_BUT        (~(u64)REG_INFO(15, 3))
GUEST(rdrand, AT(rdrand, 1) "rdrand rcx\n")
SCENARIO(rdrand, RDRAND, .arm = {{EXIT_RDRAND}}, .vendor = VENDOR_VMX,
         .needs = {FEAT_RDRAND},
         .expect = {{EXIT_RDRAND, 1, .length = 4,
                     .raw = {RAW_BUT(INSTRUCTION_INFO, REG_INFO(RCX, 2),
                                     REG_INFO_BUT)}}});
GUEST(rdseed, AT(rdseed, 1) "rdseed r10d\n")
SCENARIO(rdseed, RDSEED, .arm = {{EXIT_RDSEED}}, .vendor = VENDOR_VMX,
         .needs = {FEAT_RDSEED},
         .expect = {{EXIT_RDSEED, 1, .length = 4,
                     .raw = {RAW_BUT(INSTRUCTION_INFO, REG_INFO(R10, 1),
                                     REG_INFO_BUT)}}});

/* Natively they leave something other than the canary, CF = 1; or nothing to
 * be had, CF = 0 and zero. */
GUEST(rdrand_off, "rdrand rcx\n"
                  "mov eax, 0x70116a7e\n"
                  "shr rcx, 32\n"
                  "cmp ecx, eax\n"
                  "setne al\n"
                  "movzx eax, al\n"
                  "xor ecx, ecx\n")
SCENARIO(rdrand_off, RDRAND, .negative = true, .vendor = VENDOR_VMX,
         .needs = {FEAT_RDRAND}, .see = {GPR(RAX, 1), GPR(RCX, 0)});
GUEST(rdseed_off, "rdseed r10d\n"
                  "shr r10, 32\n")
SCENARIO(rdseed_off, RDSEED, .negative = true, .vendor = VENDOR_VMX,
         .needs = {FEAT_RDSEED}, .see = {GPR(R10, 0)});
