/*
 * Scenarios: an exit that competes with a fault of the same instruction's. VT-x
 * exits before anything but privilege, #UD, the I/O permission bitmap and the
 * fetching of an operand on which the exit depends (SDM 26.1.1). AMD-V looks
 * first at all that needs no memory, a value that is refused, say (APM 15.9,
 * Table 15-7). Privilege and #UD stand with each instruction.
 *
 * Label 1 is the instruction; the exit steps over it, the fault goes on at 2.
 */
/* clang-format off */
#include "guest/fault.h"
#include "hv/handlers.h"
#include "hv/lib.h"

#define EXITS(id, text, about, item_, armed, length_, ...)                     \
    SCENARIO_OF(id, text, about, .item = item_, .arm = {{EXIT_##about, armed}},\
                .expect = {{EXIT_##about, 1, .item = item_,                    \
                            .length = length_}}, __VA_ARGS__)
#define EXIT_FIRST(id, text, about, item, length, ...)                         \
    EXITS(id, text, about, item, item, length, __VA_ARGS__)
#define FAULT_FIRST(id, text, about, item_, ...)                               \
    SCENARIO_OF(id, text, about, .item = item_, .negative = true,              \
                .arm = {{EXIT_##about, item_}}, __VA_ARGS__)
#define TEXT(id, setup, insn)                                                  \
    GUEST(id, GOES_ON_AT_2 setup AT(id, 1) insn "\n" HERE)
#define WENT_BY SEEN(count, 0), GPR(R15, 0)

/* ---- values that are refused: VT-x exits, AMD-V raises #GP --------------- */

/* After the exit RBX is made what RAX is, so that the handler can go on. */
static void as_rax(struct vcpu *v)
{
    if (v->exit.kind == EXIT_CR_WRITE)
        v->regs.gpr[RBX] = v->regs.gpr[RAX];
}

#define BAD_CR(nr, bad)                                                        \
    TEXT(cr##nr##_bad, "mov rax, cr" #nr "\nmov rbx, " #bad "\n",              \
         "mov cr" #nr ", rbx")                                                 \
    EXIT_FIRST(cr##nr##_bad, cr##nr##_bad, CR_WRITE, nr, 3,                    \
               .vendor = VENDOR_VMX, .exited = as_rax,                         \
               .see = {WENT_BY, SAME(RAX, CR##nr), SAME(RBX, CR##nr)});        \
    FAULT_FIRST(cr##nr##_bad_gp, cr##nr##_bad, CR_WRITE, nr,                   \
                .vendor = VENDOR_SVM, .exited = as_rax,                        \
                .see = {SAW(VECTOR_GP, 0, 1), SAME(RAX, CR##nr), GPR(RBX, bad)})
BAD_CR(0, 0xa0010031);         /* NW without CD */
BAD_CR(3, 0x1000000000000000); /* beyond the physical-address width */
BAD_CR(4, 0x80000000);         /* a reserved bit */

TEXT(cr8_bad, "mov ebx, 0x10\n", "mov cr8, rbx")
EXIT_FIRST(cr8_bad, cr8_bad, CR_WRITE, 8, 4, .vendor = VENDOR_VMX,
           .see = {WENT_BY, GPR(RBX, 0x10), DEVICE(CR8, 0x10)});
FAULT_FIRST(cr8_bad_gp, cr8_bad, CR_WRITE, 8, .vendor = VENDOR_SVM,
            .see = {SAW(VECTOR_GP, 0, 1), GPR(RBX, 0x10)});

/* A counter that no CPU has. */
#define NO_COUNTER 0x3fffff0f
TEXT(rdpmc_bad, "mov ecx, 0x3fffff0f\n", "rdpmc")
EXIT_FIRST(rdpmc_bad, rdpmc_bad, RDPMC, 0, 2, .vendor = VENDOR_VMX,
           .see = {WENT_BY, GPR(RCX, NO_COUNTER)});
FAULT_FIRST(rdpmc_bad_gp, rdpmc_bad, RDPMC, 0, .vendor = VENDOR_SVM,
            .see = {SAW(VECTOR_GP, 0, 1), GPR(RCX, NO_COUNTER)});

/* Extensions in ECX that do not exist. */
#define EXTENSIONS                                                             \
    GPR(RAX, GUEST_PROBE), GPR(RCX, BIT(30)), GPR(RDX, 0)
#define EXTENDED(id, insn, about)                                              \
    TEXT(id, "mov eax, 0x100000\n"                                             \
             "mov ecx, 0x40000000\n"                                           \
             "xor edx, edx\n", insn)                                           \
    EXIT_FIRST(id, id, about, 0, 3, .vendor = VENDOR_VMX, .probe = ACCESS_R,   \
               .see = {WENT_BY, EXTENSIONS});                                  \
    FAULT_FIRST(id##_gp, id, about, 0, .vendor = VENDOR_SVM,                   \
                .probe = ACCESS_R, .see = {SAW(VECTOR_GP, 0, 1), EXTENSIONS})
EXTENDED(monitor_bad, "monitor", MONITOR);
EXTENDED(mwait_bad, "mwait", MWAIT);

/* A VMCB must be aligned to a page (APM vol 3: VMRUN, VMLOAD, VMSAVE). */
#define UNALIGNED(id, insn, about)                                             \
    TEXT(id, "mov eax, 0x100001\n", insn)                                      \
    FAULT_FIRST(id, id, about, 0, .vendor = VENDOR_SVM, .probe = ACCESS_R,     \
                .see = {SAW(VECTOR_GP, 0, 1), GPR(RAX, GUEST_PROBE + 1)})
UNALIGNED(vmrun_unaligned, "vmrun", VMRUN);
UNALIGNED(vmload_unaligned, "vmload", VMLOAD);
UNALIGNED(vmsave_unaligned, "vmsave", VMSAVE);

/* ---- what only one MSR or one type refuses: both exit -------------------- */

/* Memory type 2 in the PAT. */
TEXT(msr_write_bad, "mov ecx, 0x277\nmov eax, 2\nxor edx, edx\n", "wrmsr")
EXITS(msr_write_bad, msr_write_bad, MSR_WRITE, 0, 0x277, 2,
      .see = {WENT_BY, GPR(RCX, 0x277), GPR(RAX, 2), GPR(RDX, 0),
              DEVICE(MSR, 2)});
/* No such type, and no operand either. */
TEXT(invpcid_bad, "mov r9d, 9\nmov ebx, 0x6000\n", "invpcid r9, [rbx]")
EXIT_FIRST(invpcid_bad, invpcid_bad, INVPCID, 0, 6, .needs = {FEAT_INVPCID},
           .see = {WENT_BY, GPR(R9, 9), GPR(RBX, GUEST_UNMAPPED)});

/* ---- operands in memory that is not mapped: both exit -------------------- */

#define NO_PAGE(id, insn, about, length)                                       \
    TEXT(id, "mov ebx, 0x6000\n", insn)                                        \
    EXIT_FIRST(id, id, about, 0, length,                                       \
               .see = {WENT_BY, GPR(RBX, GUEST_UNMAPPED)})
NO_PAGE(sgdt_no_page, "sgdt [rbx]", SGDT, 3);
NO_PAGE(sidt_no_page, "sidt [rbx]", SIDT, 3);
NO_PAGE(lgdt_no_page, "lgdt [rbx]", LGDT, 3);
NO_PAGE(lidt_no_page, "lidt [rbx]", LIDT, 3);
NO_PAGE(sldt_no_page, "sldt word ptr [rbx]", SLDT, 3);
NO_PAGE(lldt_no_page, "lldt word ptr [rbx]", LLDT, 3);
NO_PAGE(ltr_no_page, "ltr word ptr [rbx]", LTR, 3);
NO_PAGE(vmptrld_no_page, "vmptrld qword ptr [rbx]", VMPTRLD, 3);
NO_PAGE(vmptrst_no_page, "vmptrst qword ptr [rbx]", VMPTRST, 3);
NO_PAGE(vmclear_no_page, "vmclear qword ptr [rbx]", VMCLEAR, 4);
NO_PAGE(vmxon_no_page, "vmxon qword ptr [rbx]", VMXON, 4);
NO_PAGE(vmread_no_page, "vmread qword ptr [rbx], rsi", VMREAD, 3);
NO_PAGE(vmwrite_no_page, "vmwrite rdi, qword ptr [rbx]", VMWRITE, 3);
NO_PAGE(invept_no_page, "invept rbp, xmmword ptr [rbx]", INVEPT, 5);
NO_PAGE(invvpid_no_page, "invvpid rax, xmmword ptr [rbx]", INVVPID, 5);

/* The handler of OUTS and INS gets an address that is mapped. */
static void as_probe(struct vcpu *v)
{
    v->regs.gpr[v->exit.info.io.in ? RDI : RSI] = GUEST_PROBE;
}

#define PORT 0x1230
TEXT(outs_no_page, "mov esi, 0x6000\nmov edx, 0x1230\n", "outsd")
EXITS(outs_no_page, outs_no_page, IO, 0, PORT, 1, .probe = ACCESS_R,
      .exited = as_probe,
      .see = {WENT_BY, GPR(RDX, PORT), GPR(RSI, GUEST_PROBE + 4),
              DEVICE(OUT_COUNT, 1), DEVICE(OUT, (u32)PROBE_VALUE)});
TEXT(ins_no_page, "mov edi, 0x6000\nmov edx, 0x1230\n", "insb")
EXITS(ins_no_page, ins_no_page, IO, 0, PORT, 1, .probe = ACCESS_R | ACCESS_W,
      .exited = as_probe,
      .see = {WENT_BY, GPR(RDX, PORT), GPR(RDI, GUEST_PROBE + 1),
              PROBE(0, (PROBE_VALUE & ~0xffull) | (EMULATED_IN & 0xff))});

/* LMSW's exit depends on what it loads, so VT-x has to fetch that first; AMD-V
 * exits in front of it. The handler of LMSW and SMSW gets a page that is
 * there, and LMSW's finds in it what CR0 is already. */
static void msw_in_probe(struct vcpu *v)
{
    u64 cr0 = v->ops->get(v, REG_CR0);

    v->exit.info.cr.address = GUEST_PROBE;
    memcpy(guest_memory(GUEST_PROBE, sizeof(u16)), &cr0, sizeof(u16));
}

#define MSW (CR0_PE | CR0_ET | CR0_NE)
#define MSW_SEEN                                                               \
    WENT_BY, GPR(RBX, GUEST_UNMAPPED),                                         \
        PROBE(0, (PROBE_VALUE & ~0xffffull) | MSW)
TEXT(lmsw_no_page, "mov ebx, 0x6000\n", "lmsw [rbx]")
FAULT_FIRST(lmsw_no_page, lmsw_no_page, LMSW, 0, .vendor = VENDOR_VMX,
            .see = {SAW(VECTOR_PF, 0, 1), SEEN(cr2, GUEST_UNMAPPED),
                    GPR(RBX, GUEST_UNMAPPED)});
EXIT_FIRST(lmsw_no_page_exit, lmsw_no_page, CR_WRITE, 0, 3,
           .vendor = VENDOR_SVM, .exited = msw_in_probe, .see = {MSW_SEEN});
TEXT(smsw_no_page, "mov ebx, 0x6000\n", "smsw [rbx]")
EXIT_FIRST(smsw_no_page, smsw_no_page, CR_READ, 0, 3, .vendor = VENDOR_SVM,
           .exited = msw_in_probe, .see = {MSW_SEEN});
