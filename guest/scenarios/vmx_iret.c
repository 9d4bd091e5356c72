/*
 * Scenarios: IRET that unblocks NMIs and then does not complete, which bit 12
 * tells (SDM 28.2.3); and deliveries that are interrupted by what is VT-x's
 * alone (SDM 28.2.4).
 */
/* clang-format off */
#include "guest/fault.h"
#include "hv/lib.h"
#include "hv/scenario.h"

#define UNBLOCKED BIT(12)
#define VALID     0x80000000u

/* Exit qualification of EPT violations, SDM Table 28-7; undefined here: 6 and
 * 11:9. */
#define LINEAR BIT(7)
#define FINAL  BIT(8)
#define UNDEF  (7ull << 9 | BIT(6))

/* What IRETQ pops stands in the probe page: back to label 2, to the stack that
 * the guest had. */
#define FRAME 0x100
static void frame_in_probe(struct vcpu *v)
{
    const u64 frame[] = {GUEST_GPA(v->run->scenario->label[2]), GUEST_CS,
                         RFLAGS_FIXED | RFLAGS_IF, v->ops->get(v, REG_RSP),
                         GUEST_DS};

    memcpy(guest_memory(GUEST_PROBE + FRAME, sizeof(frame)), frame,
           sizeof(frame));
}

static void blocked(struct vcpu *v)
{
    frame_in_probe(v);
    v->ops->set(v, REG_BLOCKING, BLOCKED_BY_NMI);
}

/* Software that makes the guest execute IRET once more blocks NMIs again
 * first. */
static void block_again(struct vcpu *v)
{
    if (v->exit.kind == EXIT_NESTED_FAULT)
        v->ops->set(v, REG_BLOCKING, BLOCKED_BY_NMI);
}

GUEST(iret_violation, "mov esp, 0x100100\n"
      AT(iret_violation, 1) "iretq\n"
      "ud2\n" AT(iret_violation, 2) "nop\n")
#define IRET_VIOLATION(id, bit, ...)                                           \
    SCENARIO_OF(id, iret_violation, NESTED_FAULT, .vendor = VENDOR_VMX,        \
                .expect = {{EXIT_NESTED_FAULT, 1,                              \
                            .raw = {RAW_BUT(QUALIFICATION,                     \
                                            ACCESS_R | LINEAR | FINAL | (bit), \
                                            UNDEF),                            \
                                    RAW_BUT(GUEST_LINEAR, GUEST_PROBE, 0xfff), \
                                    RAW(INTERRUPTIBILITY, 0),                  \
                                    RAW(VECTORING_INFO, 0)}}},                 \
                .see = {CHANGED(BLOCKING, 0)}, __VA_ARGS__)
IRET_VIOLATION(iret_violation, UNBLOCKED, .before = blocked,
               .exited = block_again);
/* Nothing was blocked: nothing was unblocked. */
IRET_VIOLATION(iret_violation_free, 0, .before = frame_in_probe);
/* Virtual NMIs: it is their blocking that counts. */
IRET_VIOLATION(iret_violation_virtual, UNBLOCKED, .before = blocked,
               .exited = block_again, .needs = {FEAT_VMX_VIRTUAL_NMI},
               .arm = {{EXIT_NMI, ITEM_VIRTUAL}});

/* The same of an instruction that is no IRET, with NMIs blocked: they stay. */
GUEST(pop_violation, "mov ebx, 0x100100\n"
      AT(pop_violation, 1) "mov rax, [rbx]\n"
      "xor eax, eax\n")
SCENARIO(pop_violation, NESTED_FAULT, .vendor = VENDOR_VMX, .before = blocked,
         .expect = {{EXIT_NESTED_FAULT, 1,
                     .raw = {RAW_BUT(QUALIFICATION, ACCESS_R | LINEAR | FINAL,
                                     UNDEF),
                             RAW(INTERRUPTIBILITY, BLOCKED_BY_NMI)}}},
         .see = {GPR(RAX, 0), GPR(RBX, GUEST_PROBE + FRAME),
                 CHANGED(BLOCKING, BLOCKED_BY_NMI)});

/* A fault. The stack is not mapped, so the host finds the guest another one
 * before it injects the fault back. */
static void give_stack(struct vcpu *v)
{
    if (v->exit.kind == EXIT_EXCEPTION)
        v->ops->set(v, REG_RSP, v->run->initial.rsp);
}

GUEST(iret_fault, GOES_ON_AT_2 "mov esp, 0x6000\n"
      AT(iret_fault, 1) "iretq\n" HERE)
#define IRET_FAULT(id, bit, ...)                                               \
    SCENARIO_OF(id, iret_fault, EXCEPTION, .item = VECTOR_PF,                  \
                .vendor = VENDOR_VMX, .exited = give_stack,                    \
                .arm = {{EXIT_EXCEPTION, VECTOR_PF}, __VA_ARGS__},             \
                .expect = {{EXIT_EXCEPTION, 1, .item = VECTOR_PF,              \
                            .raw = {RAW(INTERRUPTION_INFO, 0x80000b0e | (bit)),\
                                    RAW(INTERRUPTION_ERROR, 0),                \
                                    RAW_BUT(QUALIFICATION, GUEST_UNMAPPED,     \
                                            0xfff),                            \
                                    RAW(INTERRUPTIBILITY, 0),                  \
                                    RAW(VECTORING_INFO, 0)}}},                 \
                .see = {SAW(VECTOR_PF, 0, 1), CHANGED(BLOCKING, 0)},           \
                .before = before_##id)
#define before_iret_fault         just_blocked
#define before_iret_fault_free    NULL
#define before_iret_fault_virtual just_blocked
static void just_blocked(struct vcpu *v)
{
    v->ops->set(v, REG_BLOCKING, BLOCKED_BY_NMI);
}
IRET_FAULT(iret_fault, UNBLOCKED, {0});
IRET_FAULT(iret_fault_free, 0, {0});
IRET_FAULT(iret_fault_virtual, UNBLOCKED, {EXIT_NMI, ITEM_VIRTUAL});

/* --- A full page-modification log (SDM 29.3.6). The VMXOFF exit is where the
 * host leaves room for one page, which the guest writes to; its tables are
 * dirty by then. IRET writes where a code segment becomes accessed: the one in
 * the spare slot, in a GDT that lies in the probe page. */
static u64 pml[512] ALIGNED(4096);

static void leave_one(struct vcpu *v)
{
    if (v->exit.kind == EXIT_VMXOFF)
        v->ops->set_word(v, RAW_PML_INDEX, 0);
}
#define FILL_LOG "mov [rsp - 0x1800], rsp\n" /* the stack's other page */

#define WITH_PML                                                               \
    .probe = ACCESS_R | ACCESS_W | ACCESS_X, .use = {FEAT_EPT_AD},             \
    .arm = {{EXIT_PML_FULL}}, .exited = leave_one,                             \
    .set = {PUT(PML_PAGE, (uintptr_t)pml), PUT(PML_INDEX, 511)}

#define GDT_AT      0x200
#define CODE_SPARE  0x00af9a000000ffff /* as GUEST_CS, not accessed yet */
static void gdt_in_probe(struct guest_state *gs)
{
    u64 *gdt = guest_memory(GUEST_PROBE + GDT_AT, gs->gdt_limit + 1u);

    memcpy(gdt, guest_memory(gs->gdt_base, gs->gdt_limit + 1u),
           gs->gdt_limit + 1u);
    gdt[GUEST_SPARE / 8] = CODE_SPARE;
    gs->gdt_base = GUEST_PROBE + GDT_AT;
}

/* A frame on the guest's own stack. */
GUEST(iret_log, "mov rcx, rsp\n"
      "push 0x10\n"
      "push rcx\n"
      "pushfq\n"
      "push 0x90\n"
      "lea rcx, [rip + guest_iret_log_3]\n"
      "push rcx\n"
      ".balign 32\n" AT(iret_log, 1) "vmxoff\n" FILL_LOG
      AT(iret_log, 2) "iretq\n"
      AT(iret_log, 3) "xor ecx, ecx\n")
#define IRET_LOG(id, bit, state_blocking)                                      \
    SCENARIO_OF(id, iret_log, PML_FULL, WITH_PML, .state = gdt_in_probe,       \
                .before = state_blocking,                                      \
                .expect = {{EXIT_VMXOFF, 1, .length = 3},                      \
                           {EXIT_PML_FULL, 2,                                  \
                            .raw = {RAW(QUALIFICATION, bit),                   \
                                    RAW(INTERRUPTIBILITY, 0),                  \
                                    RAW(VECTORING_INFO, 0),                    \
                                    RAW(PML_INDEX, 0xffff)}}},                 \
                .see = {GPR(RCX, 0), CHANGED(BLOCKING, 0)})
IRET_LOG(iret_log, UNBLOCKED, just_blocked);
IRET_LOG(iret_log_free, 0, NULL);

/* The log is full as the CPU pushes onto a clean stack: in a delivery. */
GUEST(pml_delivery, GOES_ON_AT_2 "mov rbp, rsp\n"
      ".balign 32\n" AT(pml_delivery, 1) "vmxoff\n" FILL_LOG
      "mov esp, 0x100800\n"
      AT(pml_delivery, 2) "ud2\n"
      HERE "mov rsp, rbp\n")
SCENARIO(pml_delivery, PML_FULL, WITH_PML,
         .expect = {{EXIT_VMXOFF, 1, .length = 3},
                    {EXIT_PML_FULL, 2,
                     .raw = {RAW(QUALIFICATION, 0),
                             RAW(VECTORING_INFO, VALID | 0x306)}}},
         .see = {SAW(VECTOR_UD, 0, 2), SAME(RBP, RSP)});

/* --- Sub-page permissions and a misconfigured entry, met by a delivery. */
static const u64 no_spp[512] ALIGNED(4096);

static void stack_in_probe(struct guest_state *gs)
{
    gs->rsp = GUEST_PROBE + 0x800;
}

static void idt_in_probe(struct guest_state *gs)
{
    memcpy(guest_memory(GUEST_PROBE, PAGE_SIZE),
           guest_memory(gs->idt_base, PAGE_SIZE), PAGE_SIZE);
    gs->idt_base = GUEST_PROBE;
}

GUEST(ud_delivery, GOES_ON_AT_2 AT(ud_delivery, 1) "ud2\n" HERE)
SCENARIO_OF(spp_delivery, ud_delivery, SPP_EVENT, .probe = ACCESS_R,
            .use = {FEAT_VMX_SPP}, .tweak = {1, 0, BIT(61)},
            .set = {PUT(SPP_TABLE, (uintptr_t)no_spp)},
            .state = stack_in_probe,
            .expect = {{EXIT_SPP_EVENT, 1,
                        .raw = {RAW(QUALIFICATION, BIT(11)),
                                RAW_BUT(GUEST_PHYSICAL, GUEST_PROBE, 0xfff),
                                RAW(VECTORING_INFO, VALID | 0x306)}}},
            .see = {SAW(VECTOR_UD, 0, 1)});
SCENARIO_OF(misconfig_delivery, ud_delivery, NESTED_MISCONFIG,
            .probe = ACCESS_R, .tweak = {1, ACCESS_R, ACCESS_W},
            .state = idt_in_probe,
            .expect = {{EXIT_NESTED_MISCONFIG, 1,
                        .raw = {RAW_BUT(GUEST_PHYSICAL, GUEST_PROBE + 0x60, 8),
                                RAW(VECTORING_INFO, VALID | 0x306)}}},
            .see = {SAW(VECTOR_UD, 0, 1)});

/* --- MOV CR3 that loads the entries of PAE paging: they are accessed by their
 * physical address, so there is no linear one (Table 28-7, bit 7). */
#define PDPT_AT 0x20
static void pdpt_in_probe(struct guest_state *gs)
{
    memcpy(guest_memory(GUEST_PROBE + PDPT_AT, sizeof(gs->pdpte)), gs->pdpte,
           sizeof(gs->pdpte));
}

GUEST32(ept_pdpte, "mov eax, 0x100020\n" AT(ept_pdpte, 1) "mov cr3, eax\n")
SCENARIO(ept_pdpte, NESTED_FAULT, .vendor = VENDOR_VMX, .mode = MODE_32_PAE,
         .state = pdpt_in_probe,
         .expect = {{EXIT_NESTED_FAULT, 1,
                     .raw = {RAW_BUT(QUALIFICATION, ACCESS_R, UNDEF),
                             RAW_BUT(GUEST_PHYSICAL, GUEST_PROBE + PDPT_AT,
                                     0x1f)}}},
         .see = {GPR(RAX, GUEST_PROBE + PDPT_AT), SAME(RAX, CR3)});
