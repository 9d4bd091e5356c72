/*
 * Scenarios: instructions and events of newer CPUs. Each waits for a CPU that
 * has the feature; the encodings stand as bytes, since assemblers differ in
 * what they know.
 */
/* clang-format off */
#include "guest/fault.h"
#include "hv/handlers.h"
#include "hv/msr.h"

/* A locked access that straddles two cache lines. On VT-x the exit is a trap,
 * the access is done (SDM 26.2), and bit 26 of the exit reason says so here as
 * in any exit that a bus lock came before (SDM 25.9.1); on AMD-V it comes
 * before, when the VMCB's counter is 0 (APM 15.14.5). The handler disarms it. */
#define BUS_LOCKED (74 | BIT(26))
GUEST(bus_lock, "mov ebx, 0x10003e\n"
                AT(bus_lock, 1) "lock add dword ptr [rbx], 0\n"
                AT(bus_lock, 2) "nop\n")
SCENARIO(bus_lock, BUS_LOCK, .arm = {{EXIT_BUS_LOCK}},
         .probe = ACCESS_R | ACCESS_W,
         .expect = {{EXIT_BUS_LOCK, 2, .vendor = VENDOR_VMX, .code = BUS_LOCKED,
                     .raw = {RAW(QUALIFICATION, 0)}},
                    {EXIT_BUS_LOCK, 1, .vendor = VENDOR_SVM,
                     .raw = {RAW(EXITINFO1, 0), RAW(EXITINFO2, 0)}}},
         .see = {GPR(RBX, GUEST_PROBE + 0x3e), PROBE(7, PROBE_VALUE + 7),
                 PROBE(8, PROBE_VALUE + 8)});
SCENARIO_OF(bus_lock_off, bus_lock, BUS_LOCK, .negative = true,
            .probe = ACCESS_R | ACCESS_W,
            .see = {GPR(RBX, GUEST_PROBE + 0x3e)});

/* The control that would make it exit is the one that gives it to the guest:
 * without it #UD (SDM 26.3; APM vol 3, INVLPGB). */
#define NOT_GIVEN(id, about, bytes, ...)                                       \
    GUEST(id, GOES_ON_AT_2 AT(id, 1) ".byte " bytes "\n" HERE)                 \
    SCENARIO(id, about, .negative = true, .see = {SAW(VECTOR_UD, 0, 1)},       \
             __VA_ARGS__)

/* UMWAIT ECX and TPAUSE ECX, armed by RDTSC exiting (SDM 26.1.3); the operand
 * as RDRAND's (28.2.5). Unarmed, with a deadline that is over. */
#define REG_INFO(gpr, size) ((gpr) << 3 | (size) << 11)
#define REG_INFO_BUT        (~(u64)REG_INFO(15, 3))
#define USER_WAIT(id, about, bytes)                                            \
    GUEST(id, "xor eax, eax\n"                                                 \
              "xor edx, edx\n"                                                 \
              "xor ecx, ecx\n" AT(id, 1) ".byte " bytes "\n")                  \
    SCENARIO(id, about, .arm = {{EXIT_##about}}, .vendor = VENDOR_VMX,         \
             .needs = {FEAT_WAITPKG},                                          \
             .expect = {{EXIT_##about, 1, .length = 4,                         \
                         .raw = {RAW_BUT(INSTRUCTION_INFO, REG_INFO(RCX, 1),   \
                                         REG_INFO_BUT)}}},                     \
             .see = {GPR(RAX, 0), GPR(RDX, 0), GPR(RCX, 0)});                  \
    SCENARIO_OF(id##_off, id, about, .negative = true, .vendor = VENDOR_VMX,   \
                .needs = {FEAT_WAITPKG},                                       \
                .see = {GPR(RAX, 0), GPR(RDX, 0), GPR(RCX, 0)})
USER_WAIT(umwait, UMWAIT, "0xf2, 0x0f, 0xae, 0xf1");
USER_WAIT(tpause, TPAUSE, "0x66, 0x0f, 0xae, 0xf1");

/* PCONFIG: EAX 0 is its leaf, whose bit in the bitmap is armed with it. */
GUEST(pconfig, "xor eax, eax\n"
               AT(pconfig, 1) ".byte 0x0f, 0x01, 0xc5\n")
SCENARIO(pconfig, PCONFIG, .arm = {{EXIT_PCONFIG}}, .vendor = VENDOR_VMX,
         .needs = {FEAT_PCONFIG}, .expect = {{EXIT_PCONFIG, 1, .length = 3}},
         .see = {GPR(RAX, 0)});

NOT_GIVEN(pconfig_off, PCONFIG, "0x0f, 0x01, 0xc5", .vendor = VENDOR_VMX,
          .needs = {FEAT_PCONFIG});

/* LOADIWKEY XMM1, XMM2: the registers are in the information (SDM
 * 28.2.5), bits 6:3 and 31:28. Stepped over: no key is loaded. */
static void set_kl(struct guest_state *gs)
{
    gs->cr4 |= CR4_KL;
}
GUEST(loadiwkey, "xor eax, eax\n"
                 AT(loadiwkey, 1) ".byte 0xf3, 0x0f, 0x38, 0xdc, 0xca\n")
SCENARIO(loadiwkey, LOADIWKEY, .arm = {{EXIT_LOADIWKEY}}, .vendor = VENDOR_VMX,
         .needs = {FEAT_KEY_LOCKER}, .state = set_kl,
         .expect = {{EXIT_LOADIWKEY, 1, .length = 5,
                     .raw = {RAW_BUT(INSTRUCTION_INFO, 1 << 3 | 2ull << 28,
                                     ~0xf0000078ull)}}},
         .see = {GPR(RAX, 0)});

SCENARIO_OF(loadiwkey_off, loadiwkey, LOADIWKEY, .negative = true,
            .vendor = VENDOR_VMX, .needs = {FEAT_KEY_LOCKER}, .state = set_kl,
            .see = {GPR(RAX, 0)});

/* ENQCMD and ENQCMDS RBX, [RSI]: the PASID directories have no entry, so its
 * translation fails (SDM 26.5.7.1). ENQCMD takes the PASID from IA32_PASID,
 * whose bit 31 makes it valid; ENQCMDS from the first bytes of the command.
 * Without translation the command goes out, to memory that takes none. */
#define ENQUEUE(id, about, prefix)                                             \
    GUEST(id,                                                                  \
          "mov ecx, 0xd93\n"                                                   \
          "mov eax, 0x80000001\n"                                              \
          "xor edx, edx\n"                                                     \
          "wrmsr\n"                                                            \
          "mov ebx, 0x100f40\n"                                                \
          "mov esi, 0x100080\n"                                                \
          "mov qword ptr [rsi], 1\n"                                           \
          AT(id, 1) ".byte " prefix ", 0x0f, 0x38, 0xf8, 0x1e\n"               \
          "xor eax, eax\n"                                                     \
          "wrmsr\n")                                                           \
    SCENARIO(id, about, .arm = {{EXIT_##about}}, .vendor = VENDOR_VMX,         \
             .needs = {FEAT_ENQCMD}, .probe = ACCESS_R | ACCESS_W,             \
             .expect = {{EXIT_##about, 1, .length = 5}},                       \
             .see = {GPR(RAX, 0), GPR(RDX, 0), GPR(RCX, 0xd93),                \
                     GPR(RBX, GUEST_PROBE + 0xf40),                            \
                     GPR(RSI, GUEST_PROBE + 0x80)});                           \
    SCENARIO_OF(id##_off, id, about, .negative = true, .vendor = VENDOR_VMX,   \
                .needs = {FEAT_ENQCMD}, .probe = ACCESS_R | ACCESS_W,          \
                .see = {GPR(RAX, 0), GPR(RDX, 0), GPR(RCX, 0xd93),             \
                        GPR(RBX, GUEST_PROBE + 0xf40),                         \
                        GPR(RSI, GUEST_PROBE + 0x80)})
ENQUEUE(enqcmd, ENQCMD, "0xf2");
ENQUEUE(enqcmds, ENQCMDS, "0xf3");

/* The MSR lists: RSI addresses of the indices, RDI of the values, RCX which of
 * them. The control enables the instruction, the bitmap makes it exit; the
 * qualification is the MSR (SDM 28.2.1), and a field of its own has the value
 * that was to be written. */
#define MSR_LIST(id, about, armed, prefix, ...)                                \
    GUEST(id, "mov esi, 0x100200\n"                                            \
              "mov edi, 0x100400\n"                                            \
              "mov qword ptr [rsi], 0x175\n"                                   \
              "mov ecx, 1\n"                                                   \
              AT(id, 1) ".byte " prefix ", 0x0f, 0x01, 0xc6\n")                \
    SCENARIO(id, about, .arm = {{EXIT_##about}, {armed, MSR_SYSENTER_ESP}},    \
             .vendor = VENDOR_VMX, .needs = {FEAT_MSRLIST},                    \
             .probe = ACCESS_R | ACCESS_W,                                     \
             .expect = {{EXIT_##about, 1, .length = 4,                         \
                         .raw = {RAW(QUALIFICATION, MSR_SYSENTER_ESP),         \
                                 __VA_ARGS__}}},                               \
             .see = {GPR(RSI, GUEST_PROBE + 0x200),                            \
                     GPR(RDI, GUEST_PROBE + 0x400), GPR(RCX, 1),               \
                     PROBE(128, PROBE_VALUE + 128)});                          \
    NOT_GIVEN(id##_off, about, prefix ", 0x0f, 0x01, 0xc6",                    \
              .vendor = VENDOR_VMX, .needs = {FEAT_MSRLIST})
MSR_LIST(rdmsrlist, RDMSRLIST, EXIT_MSR_READ, "0xf2", );
MSR_LIST(wrmsrlist, WRMSRLIST, EXIT_MSR_WRITE, "0xf3",
         RAW(MSR_DATA, PROBE_VALUE + 128));

/* Given, and the bitmap armed for the MSR beside it: it reads. */
SCENARIO_OF(rdmsrlist_beside, rdmsrlist, RDMSRLIST, .negative = true,
            .arm = {{EXIT_RDMSRLIST}, {EXIT_MSR_READ, MSR_SYSENTER_ESP + 1}},
            .vendor = VENDOR_VMX, .needs = {FEAT_MSRLIST},
            .probe = ACCESS_R | ACCESS_W,
            .see = {GPR(RSI, GUEST_PROBE + 0x200),
                    GPR(RDI, GUEST_PROBE + 0x400), GPR(RCX, 0),
                    PROBE(128, 0)});

/* URDMSR and UWRMSR: IA32_USER_MSR_CTL (1Ch) holds the address of the user's
 * own bitmap, which allows the MSR here, and the bit that enables them; then
 * the host's bitmap counts. RBX (ModRM.reg) is the MSR's index, RAX the value
 * (ModRM.r/m), which bits 6:3 of the information name. Whatever the user's
 * bitmap, UWRMSR has two MSRs that it may write, among them
 * IA32_UARCH_MISC_CTL (1B01h). */
#define USER_MSR(id, about, armed, msr, at, prefix)                            \
    GUEST(id, "mov ebx, 0x100000\n"                                            \
              "mov byte ptr [rbx + " at " + " #msr " / 8], 0xff\n"             \
              "mov ecx, 0x1c\n"                                                \
              "lea eax, [rbx + 1]\n"                                           \
              "xor edx, edx\n"                                                 \
              "wrmsr\n"                                                        \
              "xor eax, eax\n"                                                 \
              "mov ebx, " #msr "\n"                                            \
              AT(id, 1) ".byte " prefix ", 0x0f, 0x38, 0xf8, 0xd8\n"           \
              "xor eax, eax\n"                                                 \
              "wrmsr\n")                                                       \
    SCENARIO(id, about, .arm = {{armed, msr}}, .vendor = VENDOR_VMX,           \
             .probe = ACCESS_R | ACCESS_W,                                     \
             .expect = {{EXIT_##about, 1, .length = 5,                         \
                         .raw = {RAW(QUALIFICATION, msr),                      \
                                 RAW_BUT(INSTRUCTION_INFO, RAX << 3,           \
                                         ~0x78ull)}}},                         \
             .see = {GPR(RAX, 0), GPR(RBX, msr), GPR(RCX, 0x1c),               \
                     GPR(RDX, 0)});                                            \
    SCENARIO_OF(id##_beside, id, about, .negative = true,                      \
                .arm = {{armed, msr + 1}}, .vendor = VENDOR_VMX,               \
                .probe = ACCESS_R | ACCESS_W,                                  \
                .see = {GPR(RAX, 0), GPR(RBX, msr), GPR(RCX, 0x1c),            \
                        GPR(RDX, 0)})
USER_MSR(urdmsr, URDMSR, EXIT_MSR_READ, 0x175, "0", "0xf2");
USER_MSR(uwrmsr, UWRMSR, EXIT_MSR_WRITE, 0x1b01, "0x800", "0xf3");

/* The immediate forms, in VEX map 7: the MSR is the qualification, the
 * register (RBX) in bits 6:3 of the information. */
#define MSR_IMMEDIATE(id, about, armed, pp, seen)                                  \
    GUEST(id, AT(id, 1) ".byte 0xc4, 0xe7, " pp ", 0xf6, 0xc3\n"               \
                        ".long 0x175\n")                                       \
    SCENARIO(                                                                  \
        id, about, .arm = {{armed, MSR_SYSENTER_ESP}}, .vendor = VENDOR_VMX,   \
        .expect = {{EXIT_##about, 1, .length = 9,                              \
                    .raw = {RAW(QUALIFICATION, MSR_SYSENTER_ESP),              \
                            RAW_BUT(INSTRUCTION_INFO, RBX << 3, ~0x78ull)}}}); \
    SCENARIO_OF(id##_beside, id, about, .negative = true,                      \
                .arm = {{armed, MSR_SYSENTER_ESP + 1}}, .vendor = VENDOR_VMX,  \
                .see = {GPR(RBX, seen)})
MSR_IMMEDIATE(rdmsr_imm, RDMSR_IMM, EXIT_MSR_READ, "0x7b", 0);
MSR_IMMEDIATE(wrmsrns_imm, WRMSRNS_IMM, EXIT_MSR_WRITE, "0x7a",
              GUEST_CANARY + RBX);

/* SEAMCALL and TDCALL exit wherever they exist. */
GUEST(seamcall, AT(seamcall, 1) ".byte 0x66, 0x0f, 0x01, 0xcf\n")
SCENARIO(seamcall, SEAMCALL, .vendor = VENDOR_VMX,
         .expect = {{EXIT_SEAMCALL, 1, .length = 4}});
GUEST(tdcall, AT(tdcall, 1) ".byte 0x66, 0x0f, 0x01, 0xcc\n")
SCENARIO(tdcall, TDCALL, .vendor = VENDOR_VMX,
         .expect = {{EXIT_TDCALL, 1, .length = 4}});

/* RDPRU of MPERF (ECX 0). */
GUEST(rdpru, "xor ecx, ecx\n"
             AT(rdpru, 1) ".byte 0x0f, 0x01, 0xfd\n")
SCENARIO(rdpru, RDPRU, .arm = {{EXIT_RDPRU}}, .vendor = VENDOR_SVM,
         .expect = {{EXIT_RDPRU, 1, .length = 3}}, .see = {GPR(RCX, 0)});
GUEST(rdpru_off, "xor ecx, ecx\n"
                 ".byte 0x0f, 0x01, 0xfd\n"
                 "xor eax, eax\n"
                 "xor edx, edx\n")
SCENARIO(rdpru_off, RDPRU, .negative = true, .vendor = VENDOR_SVM,
         .see = {GPR(RCX, 0), GPR(RAX, 0), GPR(RDX, 0)});

/* MCOMMIT, which EFER.MCOMMIT lets the guest have; CF says that it is done. */
static void set_mcommit(struct guest_state *gs)
{
    gs->efer |= EFER_MCOMMIT;
}
GUEST(mcommit, AT(mcommit, 1) ".byte 0xf3, 0x0f, 0x01, 0xfa\n")
SCENARIO(mcommit, MCOMMIT, .arm = {{EXIT_MCOMMIT}}, .vendor = VENDOR_SVM,
         .state = set_mcommit, .expect = {{EXIT_MCOMMIT, 1, .length = 4}});
SCENARIO_OF(mcommit_off, mcommit, MCOMMIT, .negative = true,
            .vendor = VENDOR_SVM, .state = set_mcommit);
FAULTS_FIRST(mcommit_ud, MCOMMIT, 0, ".byte 0xf3, 0x0f, 0x01, 0xfa\n",
             VECTOR_UD, .vendor = VENDOR_SVM);

/* INVLPGB of one page (RAX bit 0: the address counts; ECX 0: one page), and
 * one that names an ASID (bit 2), which a guest may not: that is an exit of its
 * own (APM vol 3, INVLPGB). TLBSYNC waits for it. Arming them enables them. */
GUEST(invlpgb, "mov eax, 0x100001\n"
               "xor ecx, ecx\n"
               "xor edx, edx\n"
               AT(invlpgb, 1) ".byte 0x0f, 0x01, 0xfe\n")
SCENARIO(invlpgb, INVLPGB, .arm = {{EXIT_INVLPGB}}, .vendor = VENDOR_SVM,
         .needs = {FEAT_SVM_TLBI_CTL},
         .expect = {{EXIT_INVLPGB, 1, .length = 3}},
         .see = {GPR(RAX, GUEST_PROBE + 1), GPR(RCX, 0), GPR(RDX, 0)});
GUEST(invlpgb_illegal, "mov eax, 0x100005\n"
                       "xor ecx, ecx\n"
                       "mov edx, 5\n"
                       AT(invlpgb_illegal, 1) ".byte 0x0f, 0x01, 0xfe\n")
SCENARIO(invlpgb_illegal, INVLPGB_ILLEGAL, .arm = {{EXIT_INVLPGB_ILLEGAL}},
         .vendor = VENDOR_SVM, .needs = {FEAT_SVM_TLBI_CTL},
         .expect = {{EXIT_INVLPGB_ILLEGAL, 1, .length = 3}},
         .see = {GPR(RAX, GUEST_PROBE + 5), GPR(RCX, 0), GPR(RDX, 5)});
GUEST(tlbsync, AT(tlbsync, 1) ".byte 0x0f, 0x01, 0xff\n")
SCENARIO(tlbsync, TLBSYNC, .arm = {{EXIT_TLBSYNC}}, .vendor = VENDOR_SVM,
         .needs = {FEAT_SVM_TLBI_CTL},
         .expect = {{EXIT_TLBSYNC, 1, .length = 3}});
NOT_GIVEN(invlpgb_off, INVLPGB, "0x0f, 0x01, 0xfe", .vendor = VENDOR_SVM,
          .needs = {FEAT_SVM_TLBI_CTL});
NOT_GIVEN(tlbsync_off, TLBSYNC, "0x0f, 0x01, 0xff", .vendor = VENDOR_SVM,
          .needs = {FEAT_SVM_TLBI_CTL});
