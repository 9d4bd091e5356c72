/*
 * Scenarios: instructions that only AMD-V intercepts: SVM's own, executed by
 * the guest, and PUSHF, POPF, IRET, INT n, ICEBP and RSM (APM 15.9, Table
 * 15-7, which also gives the order of intercept and exceptions).
 */
/* clang-format off */
#include "guest/fault.h"
#include "hv/guest.h"

/* What each of these exits reports: no event was being delivered (15.7.2). */
#define QUIET .raw = {RAW_BUT(EXITINTINFO, 0, ~BIT(31))}

#define AT_CPL3 .mode = MODE_64_USER

/*
 * An SVM instruction with the intercept; and at CPL 3, where #GP comes before
 * it. EFER.SVME is 1 in any guest (15.5.1); to clear it under a running one is
 * undefined (15.4), so that #UD cannot be had this way.
 */
#define SVM_INSN(id, about, text, bytes)                                       \
    GUEST(id, "mov eax, 0x100000\n"                                            \
              "mov ecx, 1\n" AT(id, 1) text "\n")                              \
    SCENARIO(id, about, .vendor = VENDOR_SVM, .arm = {{EXIT_##about}},         \
             .expect = {{EXIT_##about, 1, .length = bytes, QUIET}},            \
             .see = {GPR(RAX, GUEST_PROBE), GPR(RCX, 1)});                     \
    GUEST(id##_cpl3,                                                           \
          GOES_ON_AT_2 "mov eax, 0x100000\n" AT(id##_cpl3, 1) text "\n" HERE)  \
    SCENARIO(id##_cpl3, about, .vendor = VENDOR_SVM, .negative = true,         \
             .arm = {{EXIT_##about}}, AT_CPL3,                                 \
             .see = {SEEN(count, 1), SEEN(vector, 13), SEEN(error, 0),         \
                     SEEN_AT(1), GPR(RAX, GUEST_PROBE), GPR(R15, 0)})

SVM_INSN(vmrun, VMRUN, "vmrun", 3);
SVM_INSN(vmload, VMLOAD, "vmload", 3);
SVM_INSN(vmsave, VMSAVE, "vmsave", 3);
SVM_INSN(stgi, STGI, "stgi", 3);
SVM_INSN(clgi, CLGI, "clgi", 3);
SVM_INSN(invlpga, INVLPGA, "invlpga", 3);

/* Their operand is EAX with an address-size prefix: one byte more. */
GUEST(vmrun_eax, "mov eax, 0x100000\n" AT(vmrun_eax, 1) ".byte 0x67\nvmrun\n")
SCENARIO(vmrun_eax, VMRUN, .vendor = VENDOR_SVM, .arm = {{EXIT_VMRUN}},
         .expect = {{EXIT_VMRUN, 1, .length = 4, QUIET}},
         .see = {GPR(RAX, GUEST_PROBE)});
GUEST(invlpga_eax, "mov eax, 0x100000\n"
                   "mov ecx, 1\n" AT(invlpga_eax, 1) ".byte 0x67\ninvlpga\n")
SCENARIO(invlpga_eax, INVLPGA, .vendor = VENDOR_SVM, .arm = {{EXIT_INVLPGA}},
         .expect = {{EXIT_INVLPGA, 1, .length = 4, QUIET}},
         .see = {GPR(RAX, GUEST_PROBE), GPR(RCX, 1)});

/* The guest's machine has no secure start-up: the handler answers #UD. */
GUEST(skinit, GOES_ON_AT_2 "mov eax, 0x100000\n" AT(skinit, 1) "skinit\n" HERE)
SCENARIO(skinit, SKINIT, .vendor = VENDOR_SVM, .arm = {{EXIT_SKINIT}},
         .expect = {{EXIT_SKINIT, 1, .length = 3, QUIET}},
         .see = {SEEN(count, 1), SEEN(vector, 6), SEEN_AT(1),
                 GPR(RAX, GUEST_PROBE), GPR(R15, 0)});
SCENARIO_OF(skinit_cpl3, skinit, SKINIT, .vendor = VENDOR_SVM, .negative = true,
            .arm = {{EXIT_SKINIT}}, AT_CPL3,
            .see = {SEEN(count, 1), SEEN(vector, 13), SEEN(error, 0),
                    SEEN_AT(1), GPR(RAX, GUEST_PROBE), GPR(R15, 0)});

/*
 * The negatives. VMSAVE and VMLOAD that do not exit take a system-physical
 * address (15.5.2): before() gives them the page behind the probe page. LSTAR
 * stands there where the VMCB has it, 608h (Table B-2). The last VMSAVE names
 * the guest's own VMCB, where VMSAVE puts the same after each exit anyway: in
 * Bochs the page that was named last becomes the VMCB into which the next
 * exit is written (cpu/svm.cc, VMLOAD and VMSAVE call set_VMCBPTR).
 */
static void pages_in_rax_rsi(struct vcpu *v)
{
    v->regs.gpr[RAX] = guest_probe_page();
    v->regs.gpr[RSI] = v->vendor[0];
}

#define OWN_VMCB "mov rax, rsi\nvmsave\nxor esi, esi\n"

GUEST(vmsave_off, "mov rbx, rax\n"
                  "mov ecx, 0xc0000082\n" /* LSTAR */
                  "mov eax, 0x12345678\n"
                  "xor edx, edx\n"
                  "wrmsr\n"
                  "mov rax, rbx\n"
                  "vmsave\n" OWN_VMCB "xor eax, eax\n"
                  "xor ebx, ebx\n")
SCENARIO(vmsave_off, VMSAVE, .vendor = VENDOR_SVM, .negative = true,
         .before = pages_in_rax_rsi,
         .see = {GPR(RAX, 0), GPR(RBX, 0), GPR(RCX, 0xc0000082), GPR(RDX, 0),
                 GPR(RSI, 0), PROBE(0x608 / 8, 0x12345678)});
/* All that VMLOAD loads is first saved there, so that only LSTAR changes. */
GUEST(vmload_off, "vmsave\n"
                  "mov ebx, 0x100608\n"
                  "mov dword ptr [rbx], 0x7654321\n"
                  "vmload\n" OWN_VMCB "mov ecx, 0xc0000082\n"
                  "rdmsr\n")
SCENARIO(vmload_off, VMLOAD, .vendor = VENDOR_SVM, .negative = true,
         .probe = ACCESS_R | ACCESS_W, .before = pages_in_rax_rsi,
         .see = {GPR(RAX, 0x7654321), GPR(RBX, GUEST_PROBE + 0x608),
                 GPR(RCX, 0xc0000082), GPR(RDX, 0), GPR(RSI, 0)});

/* GIF goes down and up again before anything can come of it. */
GUEST(clgi_off, "clgi\nstgi\n")
SCENARIO(clgi_off, CLGI, .vendor = VENDOR_SVM, .negative = true);
SCENARIO_OF(stgi_off, clgi_off, STGI, .vendor = VENDOR_SVM, .negative = true);
GUEST(invlpga_off, "mov eax, 0x100000\n"
                   "xor ecx, ecx\n"
                   "invlpga\n")
SCENARIO(invlpga_off, INVLPGA, .vendor = VENDOR_SVM, .negative = true,
         .see = {GPR(RAX, GUEST_PROBE), GPR(RCX, 0)});

/* VMMCALL without its intercept is #UD (15.18). The scenarios end by a
 * VMMCALL, so the CPUID behind it arms it again. */
static void no_vmmcall(struct vcpu *v)
{
    v->ops->arm(v, EXIT_HYPERCALL, 0, false);
}

static void vmmcall_again(struct vcpu *v)
{
    if (v->exit.kind == EXIT_CPUID)
        v->ops->arm(v, EXIT_HYPERCALL, 0, true);
}

GUEST(
    vmmcall_off,
    GOES_ON_AT_2 AT(vmmcall_off, 1) "vmmcall\n" HERE "mov eax, 0x40000000\n" AT(
        vmmcall_off,
        2) "cpuid\n"
           "xor eax, eax\nxor ebx, ebx\nxor ecx, ecx\nxor edx, edx\n")
SCENARIO(vmmcall_off, HYPERCALL, .vendor = VENDOR_SVM, .arm = {{EXIT_CPUID}},
         .before = no_vmmcall, .exited = vmmcall_again,
         .expect = {{EXIT_CPUID, 2, .length = 2},
                    {EXIT_HYPERCALL, .any_rip = true, .length = 3}},
         .see = {SEEN(count, 1), SEEN(vector, 6), SEEN_AT(1), GPR(RAX, 0),
                 GPR(RBX, 0), GPR(RCX, 0), GPR(RDX, 0), GPR(R15, 0)});

/* VMMCALL is the one that works at CPL 3, too (15.18). */
GUEST(vmmcall_cpl3, "mov eax, 1\n"
                    "mov ebx, 41\n" AT(vmmcall_cpl3, 1) "vmmcall\n")
SCENARIO(vmmcall_cpl3, HYPERCALL, .vendor = VENDOR_SVM, AT_CPL3,
         .expect = {{EXIT_HYPERCALL, 1, .length = 3, QUIET}},
         .see = {GPR(RAX, 42), GPR(RBX, 41)});

/* VMGEXIT (F3 or F2 0F 01 D9) is a VMMCALL in any guest that SEV-ES does not
 * encrypt (15.35.6). */
#define VMGEXIT(id, prefix)                                                    \
    GUEST(id, "mov eax, 1\n"                                                   \
              "mov ebx, 41\n" AT(id, 1) ".byte " prefix "\nvmmcall\n")         \
    SCENARIO(id, HYPERCALL, .vendor = VENDOR_SVM,                              \
             .expect = {{EXIT_HYPERCALL, 1, .length = 4, QUIET}},              \
             .see = {GPR(RAX, 42), GPR(RBX, 41)})
VMGEXIT(vmgexit, "0xf3");
VMGEXIT(vmgexit_f2, "0xf2");

/* ---- PUSHF and POPF: the intercept comes before any exception ----------- */

GUEST(pushf, AT(pushf, 1) "pushfq\n"
             "pop rbx\n")
SCENARIO(pushf, PUSHF, .vendor = VENDOR_SVM, .arm = {{EXIT_PUSHF}},
         .expect = {{EXIT_PUSHF, 1, .length = 1, QUIET}},
         .see = {SAME(RBX, RFLAGS)});
SCENARIO_OF(pushf_off, pushf, PUSHF, .vendor = VENDOR_SVM, .negative = true,
            .see = {SAME(RBX, RFLAGS)});

/* A stack that is not mapped would be #PF: the exit is first. The hook gives
 * the guest its stack back, so that the handler can push or pop. */
static void stack_again(struct vcpu *v)
{
    enum exit_kind kind = (enum exit_kind)v->exit.kind;

    if (kind == EXIT_PUSHF || kind == EXIT_POPF || kind == EXIT_IRET)
        v->ops->set(v, REG_RSP, v->regs.gpr[RBX]);
}

GUEST(pushf_no_stack, "mov rbx, rsp\n"
                      "mov esp, 0x6010\n"
                      AT(pushf_no_stack, 1) "pushfq\n"
                      "pop rbx\n")
SCENARIO(pushf_no_stack, PUSHF, .vendor = VENDOR_SVM, .arm = {{EXIT_PUSHF}},
         .exited = stack_again, .expect = {{EXIT_PUSHF, 1, .length = 1, QUIET}},
         .see = {SAME(RBX, RFLAGS)});

/* Bits 0, 2, 4, 6, 7, 11: CF, PF, AF, ZF, SF, OF; IF (9) stays. */
#define ARITHMETIC 0x8d5
GUEST(popf, "push 0xad7\n" AT(popf, 1) "popfq\n")
SCENARIO(popf, POPF, .vendor = VENDOR_SVM, .arm = {{EXIT_POPF}},
         .expect = {{EXIT_POPF, 1, .length = 1, QUIET}},
         .see = {CHANGED(RFLAGS, ARITHMETIC)});
SCENARIO_OF(popf_off, popf, POPF, .vendor = VENDOR_SVM, .negative = true,
            .see = {CHANGED(RFLAGS, ARITHMETIC)});
GUEST(popf_no_stack, "push 0xad7\n"
                     "mov rbx, rsp\n"
                     "mov esp, 0x6010\n"
                     AT(popf_no_stack, 1) "popfq\n"
                     "mov ebx, 0\n")
SCENARIO(popf_no_stack, POPF, .vendor = VENDOR_SVM, .arm = {{EXIT_POPF}},
         .exited = stack_again, .expect = {{EXIT_POPF, 1, .length = 1, QUIET}},
         .see = {GPR(RBX, 0), CHANGED(RFLAGS, ARITHMETIC)});

/* ---- IRET --------------------------------------------------------------- */

/* Returns to label 2 with the stack as it was and CF, ZF set. */
GUEST(iret, "mov rbx, rsp\n"
            "push 0x10\n" /* GUEST_DS */
            "push rbx\n"
            "push 0x243\n"
            "push 8\n" /* GUEST_CS */
            "lea rbx, [rip + 2f]\n"
            "push rbx\n"
            AT(iret, 1) "iretq\n"
            "ud2\n"
            "2: mov ebx, 0\n")
SCENARIO(iret, IRET, .vendor = VENDOR_SVM, .arm = {{EXIT_IRET}},
         .expect = {{EXIT_IRET, 1, .length = 2, QUIET}},
         .see = {GPR(RBX, 0), CHANGED(RFLAGS, 0x41)});
SCENARIO_OF(iret_off, iret, IRET, .vendor = VENDOR_SVM, .negative = true,
            .see = {GPR(RBX, 0), CHANGED(RFLAGS, 0x41)});
GUEST(iret_no_stack, "mov rbx, rsp\n"
                     "push 0x10\n"
                     "push rbx\n"
                     "push 0x243\n"
                     "push 8\n"
                     "lea rbx, [rip + 2f]\n"
                     "push rbx\n"
                     "mov rbx, rsp\n"
                     "mov esp, 0x6010\n"
                     AT(iret_no_stack, 1) "iretq\n"
                     "ud2\n"
                     "2: mov ebx, 0\n")
SCENARIO(iret_no_stack, IRET, .vendor = VENDOR_SVM, .arm = {{EXIT_IRET}},
         .exited = stack_again, .expect = {{EXIT_IRET, 1, .length = 2, QUIET}},
         .see = {GPR(RBX, 0), CHANGED(RFLAGS, 0x41)});

/* ---- INT n -------------------------------------------------------------- */

#define INT_VECTOR 0x51
GUEST(swint, GOES_ON_AT_2 AT(swint, 1) "int 0x51\n" AT(swint, 2) "nop\n" HERE)
SCENARIO(swint, SWINT, .vendor = VENDOR_SVM, .arm = {{EXIT_SWINT}},
         .expect = {{EXIT_SWINT, 1, .length = 2, .has_info = true,
                     .info.swint = {.vector = INT_VECTOR},
                     .raw = {RAW_BUT(EXITINTINFO, 0, ~BIT(31)),
                             RAW_IF(SVM_DECODE, EXITINFO1, INT_VECTOR)}}},
         .see = {SEEN(count, 1), SEEN(vector, INT_VECTOR), SEEN_AT(2),
                 GPR(R15, 0)});
SCENARIO_OF(swint_off, swint, SWINT, .vendor = VENDOR_SVM, .negative = true,
            .see = {SEEN(count, 1), SEEN(vector, INT_VECTOR), SEEN_AT(2),
                    GPR(R15, 0)});

/* The intercept comes before any exception: a gate that is not present is
 * found by the handler, which then injects #NP. */
static void no_gate(struct vcpu *v)
{
    u64 *idt = guest_memory(GUEST_GPA(guest_idt), PAGE_SIZE);

    (void)v;
    idt[2 * INT_VECTOR] &= ~BIT(47); /* present */
}

#define NP_ERROR (INT_VECTOR * 8 + 2) /* the IDT's entry */
SCENARIO_OF(swint_no_gate, swint, SWINT, .vendor = VENDOR_SVM,
            .arm = {{EXIT_SWINT}}, .before = no_gate,
            .expect = {{EXIT_SWINT, 1, .length = 2, .has_info = true,
                        .info.swint = {.vector = INT_VECTOR}, QUIET}},
            .see = {SEEN(count, 1), SEEN(vector, 11), SEEN(error, NP_ERROR),
                    SEEN_AT(1), GPR(R15, 0)});

/* INT n looks at no exception's intercept (15.12), INT3 not at INT n's. */
GUEST(swint_exception,
      GOES_ON_AT_2 "int 6\n" AT(swint_exception, 2) "nop\n" HERE)
SCENARIO(swint_exception, EXCEPTION, .item = 6, .vendor = VENDOR_SVM,
         .negative = true, .arm = {{EXIT_EXCEPTION, 6}},
         .see = {SEEN(count, 1), SEEN(vector, 6), SEEN_AT(2), GPR(R15, 0)});
GUEST(swint_int3, GOES_ON_AT_2 "int3\n" AT(swint_int3, 2) "nop\n" HERE)
SCENARIO(swint_int3, SWINT, .vendor = VENDOR_SVM, .negative = true,
         .arm = {{EXIT_SWINT}},
         .see = {SEEN(count, 1), SEEN(vector, 3), SEEN_AT(2), GPR(R15, 0)});

/* ---- ICEBP -------------------------------------------------------------- */

GUEST(icebp, GOES_ON_AT_2 AT(icebp, 1) ".byte 0xf1\n" AT(icebp, 2) "nop\n" HERE)
SCENARIO(icebp, ICEBP, .vendor = VENDOR_SVM, .arm = {{EXIT_ICEBP}},
         .expect = {{EXIT_ICEBP, 1, .length = 1, QUIET}},
         .see = {SEEN(count, 1), SEEN(vector, 1), SEEN_AT(2), GPR(R15, 0)});
/* Vector 1, yet not by #DB's intercept (15.12.2). */
SCENARIO_OF(icebp_off, icebp, ICEBP, .vendor = VENDOR_SVM, .negative = true,
            .arm = {{EXIT_EXCEPTION, 1}},
            .see = {SEEN(count, 1), SEEN(vector, 1), SEEN_AT(2), GPR(R15, 0)});

/* ---- RSM: before #UD, which it is outside SMM --------------------------- */

GUEST(rsm, GOES_ON_AT_2 AT(rsm, 1) "rsm\n" HERE)
SCENARIO(rsm, RSM, .vendor = VENDOR_SVM, .arm = {{EXIT_RSM}},
         .expect = {{EXIT_RSM, 1, .length = 2, QUIET}},
         .see = {SEEN(count, 1), SEEN(vector, 6), SEEN_AT(1), GPR(R15, 0)});
SCENARIO_OF(rsm_off, rsm, RSM, .vendor = VENDOR_SVM, .negative = true,
            .see = {SEEN(count, 1), SEEN(vector, 6), SEEN_AT(1), GPR(R15, 0)});
