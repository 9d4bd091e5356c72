/*
 * Scenarios: APIC virtualization (SDM chapter 30). The probe page is the
 * APIC-access page; the virtual-APIC page begins as zeros, and the guest
 * looks at it by reads that do not exit.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/cpu.h"
#include "hv/guest.h"
#include "hv/handlers.h"

#define ALL_ACCESS (ACCESS_R | ACCESS_W | ACCESS_X)

/* Exit qualification of APIC accesses, SDM Table 28-6: the offset and, in
 * bits 15:12, the kind of access. */
#define READ      0x0000
#define WRITE     0x1000
#define FETCH     0x2000
#define DELIVERY  0x3000
/* By guest-physical address: the offset is undefined. */
#define PHYSICAL_DELIVERY 0xa000
#define PHYSICAL          0xf000

/* The TPR class that the guest has in CR8; reads of CR8 give bits 7:4. */
#define VTPR(class) ((class) << 4)

static void virtualize_page(struct vcpu *v)
{
    v->ops->set_word(v, RAW_APIC_ACCESS_PAGE, guest_probe_page());
}

#define APIC_PAGE                                                              \
    .probe = ALL_ACCESS, .before = virtualize_page
#define PROBE_TEXT "mov ebx, 0x100000\n"

/* --- APIC access: what is not virtualized exits, and is made again as the
 * handler leaves it, to the memory behind the page. */
GUEST(apic_read, PROBE_TEXT AT(apic_read, 1) "mov eax, [rbx + 0x20]\n")
SCENARIO(apic_read, APIC_ACCESS, APIC_PAGE, .arm = {{EXIT_APIC_ACCESS}},
         .expect = {{EXIT_APIC_ACCESS, 1,
                     .raw = {RAW(QUALIFICATION, READ | 0x20),
                             RAW_BUT(VECTORING_INFO, 0, ~BIT(31))}}},
         .see = {GPR(RBX, GUEST_PROBE), GPR(RAX, (PROBE_VALUE + 4) & ~0u)});

GUEST(apic_write, PROBE_TEXT AT(apic_write, 1) "mov [rbx + 0x30], ebx\n")
SCENARIO(apic_write, APIC_ACCESS, APIC_PAGE, .arm = {{EXIT_APIC_ACCESS}},
         .expect = {{EXIT_APIC_ACCESS, 1,
                     .raw = {RAW(QUALIFICATION, WRITE | 0x30)}}},
         .see = {GPR(RBX, GUEST_PROBE),
                 PROBE(6, (PROBE_VALUE & ~0xffffffffull) | GUEST_PROBE)});

/* The byte there is RET (PROBE_CODE). */
GUEST(apic_fetch, "mov ebx, 0x100f00\n"
                  "call rbx\n")
SCENARIO(apic_fetch, APIC_ACCESS, APIC_PAGE,
         .arm = {{EXIT_APIC_ACCESS}},
         .expect = {{EXIT_APIC_ACCESS, .rip = GUEST_PROBE + PROBE_CODE,
                     .raw = {RAW(QUALIFICATION, FETCH | PROBE_CODE)}}},
         .see = {GPR(RBX, GUEST_PROBE + PROBE_CODE)});

/* The IDT lies in the page: the access is part of the delivery of #UD, which
 * the exit reports and the handler makes again. */
static void move_idt(struct guest_state *gs)
{
    u64 *from = guest_memory(gs->idt_base, PAGE_SIZE);
    u64 *to = guest_memory(GUEST_PROBE, PAGE_SIZE);

    for (u32 n = 0; n < PAGE_SIZE / 8; n++)
        to[n] = from[n];
    gs->idt_base = GUEST_PROBE;
}

GUEST(apic_delivery, "lea r15, [rip + 2f]\n"
                     AT(apic_delivery, 1) "ud2\n"
                     "2: xor r15d, r15d\n")
SCENARIO(apic_delivery, APIC_ACCESS, APIC_PAGE, .arm = {{EXIT_APIC_ACCESS}},
         .state = move_idt,
         .expect = {{EXIT_APIC_ACCESS, 1,
                     .raw = {RAW_BUT(QUALIFICATION, DELIVERY | 0x60, 8),
                             RAW(VECTORING_INFO, BIT(31) | 0x306)}}},
         .see = {GPR(R15, 0), SEEN(count, 1), SEEN(vector, 6), SEEN_AT(1)});

/* The guest's PML4 lies in the page: the first walk of all accesses it. */
static void move_pml4(struct guest_state *gs)
{
    *(u64 *)guest_memory(GUEST_PROBE, 8) = *guest_copy(guest_pml4, u64);
    gs->cr3 = GUEST_PROBE;
}

GUEST(apic_walk, AT(apic_walk, 1) "nop\n")
SCENARIO(apic_walk, APIC_ACCESS, APIC_PAGE, .arm = {{EXIT_APIC_ACCESS}},
         .state = move_pml4,
         .expect = {{EXIT_APIC_ACCESS, 1,
                     .raw = {RAW_BUT(QUALIFICATION, PHYSICAL, 0xfff)}}});

/* A page table of the guest's lies in the page, by which nothing is mapped but
 * the IDT: the walk is part of a delivery. */
#define WALKED_AT 0x400000
static void idt_by_walk(struct guest_state *gs)
{
    u64 *pd = guest_memory(GUEST_GPA(guest_pd), PAGE_SIZE);

    pd[WALKED_AT / GUEST_LARGE_SIZE] = GUEST_PROBE | 3;
    *(u64 *)guest_memory(GUEST_PROBE, 8) = gs->idt_base | 3;
    gs->idt_base = WALKED_AT;
}

SCENARIO_OF(apic_walk_delivery, apic_delivery, APIC_ACCESS, APIC_PAGE,
            .arm = {{EXIT_APIC_ACCESS}}, .state = idt_by_walk,
            .expect = {{EXIT_APIC_ACCESS, 1,
                        .raw = {RAW_BUT(QUALIFICATION, PHYSICAL_DELIVERY,
                                        0xfff),
                                RAW(VECTORING_INFO, BIT(31) | 0x306)}}},
            .see = {GPR(R15, 0), SEEN(count, 1), SEEN(vector, 6), SEEN_AT(1)});

/* The TPR is virtualized, 32 bits of it: more exits (SDM 30.4.2). */
GUEST(apic_wide, PROBE_TEXT
      "mov cr8, rcx\n"
      "mov eax, [rbx + 0x80]\n" AT(apic_wide, 1) "mov rdx, [rbx + 0x80]\n")
static void with_class_9(struct vcpu *v)
{
    virtualize_page(v);
    v->regs.gpr[RCX] = 9;
}
SCENARIO(apic_wide, APIC_ACCESS, .probe = ALL_ACCESS, .before = with_class_9,
         .arm = {{EXIT_APIC_ACCESS}},
         .expect = {{EXIT_APIC_ACCESS, 1,
                     .raw = {RAW(QUALIFICATION, READ | 0x80)}}},
         .see = {GPR(RBX, GUEST_PROBE), GPR(RCX, 9), GPR(RAX, VTPR(9)),
                 GPR(RDX, PROBE_VALUE + 16)});

/* Off: the page is memory like any other. */
SCENARIO_OF(apic_read_off, apic_read, APIC_ACCESS, APIC_PAGE, .negative = true,
            .see = {GPR(RBX, GUEST_PROBE), GPR(RAX, (PROBE_VALUE + 4) & ~0u)});

/* --- TPR below threshold (SDM 30.1.2, 27.7.7). The handler lowers the
 * threshold; equal is not below. */
static void class_9(struct vcpu *v)
{
    v->ops->set(v, REG_CR8, 9);
}

GUEST(tpr_cr8, "mov eax, 5\n"
               "mov cr8, rax\n"
               "mov eax, 4\n"
               "mov cr8, rax\n" AT(tpr_cr8, 1) "mov rbx, cr8\n")
SCENARIO(tpr_cr8, TPR_THRESHOLD, .before = class_9,
         .set = {PUT(TPR_THRESHOLD, 5)},
         .expect = {{EXIT_TPR_THRESHOLD, 1, .raw = {RAW(QUALIFICATION, 0)}}},
         .see = {GPR(RAX, 4), GPR(RBX, 4)});

SCENARIO_OF(tpr_cr8_off, tpr_cr8, TPR_THRESHOLD, .before = class_9,
            .negative = true, .see = {GPR(RAX, 4), GPR(RBX, 4)});

/* The same by the APIC-access page. */
static void virtualize_class_9(struct vcpu *v)
{
    virtualize_page(v);
    class_9(v);
}

GUEST(tpr_page, PROBE_TEXT
                "mov dword ptr [rbx + 0x80], 0x5f\n"
                "mov dword ptr [rbx + 0x80], 0x4f\n"
                AT(tpr_page, 1) "mov eax, [rbx + 0x80]\n")
SCENARIO(tpr_page, TPR_THRESHOLD, .probe = ALL_ACCESS,
         .before = virtualize_class_9, .arm = {{EXIT_APIC_ACCESS}},
         .set = {PUT(TPR_THRESHOLD, 5)},
         .expect = {{EXIT_TPR_THRESHOLD, 1, .raw = {RAW(QUALIFICATION, 0)}}},
         .see = {GPR(RBX, GUEST_PROBE), GPR(RAX, 0x4f)});

/* At the entry itself, before the first instruction: allowed only while APIC
 * accesses are virtualized (SDM 27.2.1.1). */
GUEST(tpr_entry, AT(tpr_entry, 1) "mov rax, cr8\n")
SCENARIO(tpr_entry, TPR_THRESHOLD, APIC_PAGE, .arm = {{EXIT_APIC_ACCESS}},
         .set = {PUT(TPR_THRESHOLD, 5)},
         .expect = {{EXIT_TPR_THRESHOLD, 1, .raw = {RAW(QUALIFICATION, 0)}}},
         .see = {GPR(RAX, 0)});

/* By the TPR's MSR in x2APIC mode (SDM 30.5); EDX:EAX of RDMSR is VTPR. */
GUEST(tpr_x2apic, "mov ecx, 0x808\n"
                  "mov eax, 0x40\n"
                  "xor edx, edx\n"
                  "wrmsr\n" AT(tpr_x2apic, 1) "xor eax, eax\n"
                  "rdmsr\n")
SCENARIO(tpr_x2apic, TPR_THRESHOLD, .before = class_9,
         .use = {FEAT_VMX_X2APIC}, .set = {PUT(TPR_THRESHOLD, 5)},
         .expect = {{EXIT_TPR_THRESHOLD, 1, .raw = {RAW(QUALIFICATION, 0)}}},
         .see = {GPR(RCX, 0x808), GPR(RAX, 0x40), GPR(RDX, 0)});

/* --- APIC write (SDM 30.4.3.2): trap-like, the data is in the virtual-APIC
 * page, whence the guest reads it back without an exit. */
GUEST(apic_svr, PROBE_TEXT
                AT(apic_svr, 2) "mov dword ptr [rbx + 0xf0], 0x1ff\n"
                AT(apic_svr, 1) "mov eax, [rbx + 0xf0]\n")
SCENARIO(apic_svr, APIC_WRITE, APIC_PAGE,
         .arm = {{EXIT_APIC_ACCESS}, {EXIT_APIC_WRITE}},
         .expect = {{EXIT_APIC_WRITE, 1, .raw = {RAW(QUALIFICATION, 0xf0)}}},
         .see = {GPR(RBX, GUEST_PROBE), GPR(RAX, 0x1ff)});

/* Without APIC-register virtualization it is an access like any other. */
SCENARIO_OF(apic_svr_off, apic_svr, APIC_ACCESS, APIC_PAGE,
            .without = EXIT_APIC_WRITE, .arm = {{EXIT_APIC_ACCESS}},
            .expect = {{EXIT_APIC_ACCESS, 2,
                        .raw = {RAW(QUALIFICATION, WRITE | 0xf0)}}},
            .see = {GPR(RBX, GUEST_PROBE), GPR(RAX, 0x1ff)});

/* An IPI to another CPU is for the host to send; ICR_HI alone is not. */
GUEST(apic_icr, PROBE_TEXT
                "mov dword ptr [rbx + 0x310], 0x01000000\n"
                "mov dword ptr [rbx + 0x300], 0x61\n"
                AT(apic_icr, 1) "mov eax, [rbx + 0x310]\n")
SCENARIO(apic_icr, APIC_WRITE, APIC_PAGE,
         .arm = {{EXIT_APIC_ACCESS}, {EXIT_APIC_WRITE}},
         .expect = {{EXIT_APIC_WRITE, 1, .raw = {RAW(QUALIFICATION, 0x300)}}},
         .see = {GPR(RBX, GUEST_PROBE), GPR(RAX, 0x01000000)});

/* Without virtual-interrupt delivery an EOI is a write like the others. */
GUEST(apic_eoi, PROBE_TEXT "mov dword ptr [rbx + 0xb0], 0\n"
                           AT(apic_eoi, 1) "nop\n")
SCENARIO(apic_eoi, APIC_WRITE, APIC_PAGE,
         .arm = {{EXIT_APIC_ACCESS}, {EXIT_APIC_WRITE}},
         .expect = {{EXIT_APIC_WRITE, 1, .raw = {RAW(QUALIFICATION, 0xb0)}}},
         .see = {GPR(RBX, GUEST_PROBE)});

/* Vectors below 16 cannot be sent (SDM 30.5). */
GUEST(apic_self_ipi, "mov ecx, 0x83f\n"
                     "mov eax, 15\n"
                     "xor edx, edx\n"
                     "wrmsr\n" AT(apic_self_ipi, 1) "nop\n")
SCENARIO(apic_self_ipi, APIC_WRITE, .use = {FEAT_VMX_X2APIC},
         .arm = {{EXIT_VIRTUAL_EOI}},
         .expect = {{EXIT_APIC_WRITE, 1, .raw = {RAW(QUALIFICATION, 0x3f0)}}},
         .see = {GPR(RCX, 0x83f), GPR(RAX, 15), GPR(RDX, 0)});

/* --- Virtual interrupts and their EOI (SDM 30.2, 30.1.4). The guest sends
 * itself vector 61h; whether its EOI exits is the bitmap's. */
#define SELF_IPI "mov dword ptr [rbx + 0x300], 0x40061\n"
#define VIRTUAL_INTERRUPTS                                                     \
    APIC_PAGE, .arm = {{EXIT_APIC_ACCESS}, {EXIT_VIRTUAL_EOI}}
#define EOI_EXITS PUT(EOI_BITMAP1, BIT(0x61 - 64))
#define SEES_61 GPR(RBX, GUEST_PROBE), GPR(R15, 0), SEEN(count, 1),            \
        SEEN(vector, 0x61), SEEN_AT(1), WORD(INTERRUPT_STATUS, 0)

GUEST(virtual_eoi, PROBE_TEXT "lea r15, [rip + 2f]\n"
      SELF_IPI AT(virtual_eoi, 1) "jmp guest_abort\n"
      "2: xor r15d, r15d\n"
      "mov dword ptr [rbx + 0xb0], 0\n" AT(virtual_eoi, 2) "nop\n")
SCENARIO(virtual_eoi, VIRTUAL_EOI, VIRTUAL_INTERRUPTS, .set = {EOI_EXITS},
         .expect = {{EXIT_VIRTUAL_EOI, 2, .raw = {RAW(QUALIFICATION, 0x61)}}},
         .see = {SEES_61});

/* The bits of the neighbours are set, its own is not. */
SCENARIO_OF(virtual_eoi_off, virtual_eoi, VIRTUAL_EOI, VIRTUAL_INTERRUPTS,
            .set = {PUT(EOI_BITMAP1, BIT(0x60 - 64) | BIT(0x62 - 64))},
            .negative = true, .see = {SEES_61});

/* Class 7 in the TPR holds vector 61h back until it is lowered; RVI keeps it
 * meanwhile. */
GUEST(virtual_tpr, PROBE_TEXT "lea r15, [rip + 2f]\n"
      "mov dword ptr [rbx + 0x80], 0x70\n"
      SELF_IPI "nop\n"
      "mov dword ptr [rbx + 0x80], 0x50\n" AT(virtual_tpr, 1)
      "jmp guest_abort\n"
      "2: xor r15d, r15d\n"
      "mov dword ptr [rbx + 0xb0], 0\n")
SCENARIO(virtual_tpr, VIRTUAL_EOI, VIRTUAL_INTERRUPTS, .negative = true,
         .see = {SEES_61});

/* RVI set by the host: delivered once the guest has IF set, after the
 * instruction that follows STI. */
static void interrupts_off(struct guest_state *gs)
{
    gs->rflags &= ~RFLAGS_IF;
}

GUEST(virtual_entry, PROBE_TEXT "lea r15, [rip + 2f]\n"
      "nop\n"
      "sti\n"
      "nop\n" AT(virtual_entry, 1) "jmp guest_abort\n"
      "2: xor r15d, r15d\n"
      "mov dword ptr [rbx + 0xb0], 0\n" AT(virtual_entry, 2) "nop\n")
SCENARIO(virtual_entry, VIRTUAL_EOI, VIRTUAL_INTERRUPTS,
         .state = interrupts_off,
         .set = {EOI_EXITS, PUT(INTERRUPT_STATUS, 0x61)},
         .expect = {{EXIT_VIRTUAL_EOI, 2, .raw = {RAW(QUALIFICATION, 0x61)}}},
         .see = {SEES_61});

/* In x2APIC mode by MSRs: self-IPI and EOI. */
GUEST(virtual_x2apic, "lea r15, [rip + 2f]\n"
      "xor edx, edx\n"
      "mov ecx, 0x83f\n"
      "mov eax, 0x61\n"
      "wrmsr\n" AT(virtual_x2apic, 1) "jmp guest_abort\n"
      "2: xor r15d, r15d\n"
      "mov ecx, 0x80b\n"
      "xor eax, eax\n"
      "wrmsr\n" AT(virtual_x2apic, 2) "nop\n")
SCENARIO(virtual_x2apic, VIRTUAL_EOI, .use = {FEAT_VMX_X2APIC},
         .arm = {{EXIT_VIRTUAL_EOI}}, .set = {EOI_EXITS},
         .expect = {{EXIT_VIRTUAL_EOI, 2, .raw = {RAW(QUALIFICATION, 0x61)}}},
         .see = {GPR(RAX, 0), GPR(RCX, 0x80b), GPR(RDX, 0), GPR(R15, 0),
                 SEEN(count, 1), SEEN(vector, 0x61), SEEN_AT(1),
                 WORD(INTERRUPT_STATUS, 0)});
