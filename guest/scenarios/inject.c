/*
 * Scenarios: events that the host injects at the first entry, of every type;
 * into a guest that takes them well, and into one that faults on the way.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/cpu.h"
#include "hv/guest.h"
#include "hv/scenario.h"

static void fault_address(struct vcpu *v)
{
    v->ops->set(v, REG_CR2, GUEST_UNMAPPED);
}

/* Label 1 is where the guest begins, label 3 what follows there; label 2 tells
 * the host that the guest is still well. */
#define INJECT_AT(id, text)                                                    \
    GUEST(id, AT(id, 1) text "\n" AT(id, 3) "ud2\n" AT(id, 2) CALL_HOST        \
          "xor r15d, r15d\n")
#define WENT_ON {EXIT_HYPERCALL, 2, .length = 3}
#define SAW_SOMEWHERE(count_, vector_, error_)                                 \
    SEEN(count, count_), SEEN(vector, vector_), SEEN(error, error_),           \
    GPR(RAX, GUEST_CANARY + RBX + 1), GPR(R15, 0)
#define SAW(count_, vector_, error_, label_)                                   \
    SAW_SOMEWHERE(count_, vector_, error_), SEEN_AT(label_)
#define INJECTED(id, text, vector_, error_, label_, ...)                       \
    INJECT_AT(id, text)                                                        \
    SCENARIO(id, HYPERCALL, .back_at = 2, .arm = {{EXIT_HYPERCALL}},           \
             .expect = {WENT_ON},                       \
             .see = {SAW(1, vector_, error_, label_)}, __VA_ARGS__)

/* Interrupts, NMIs and exceptions find the guest in front of an instruction
 * that has not begun (SDM 27.6, APM 15.20). */
INJECTED(inject_interrupt, "ud2", 0x52, 0, 1, INJECT(INTR, 0x52));
INJECTED(inject_interrupt_low, "ud2", 0x20, 0, 1, INJECT(INTR, 0x20));
INJECTED(inject_nmi, "ud2", VECTOR_NMI, 0, 1, INJECT(NMI, VECTOR_NMI));
INJECTED(inject_de, "nop", VECTOR_DE, 0, 1, INJECT(EXCEPTION, VECTOR_DE));
INJECTED(inject_ud, "nop", VECTOR_UD, 0, 1, INJECT(EXCEPTION, VECTOR_UD));
INJECTED(inject_gp, "nop", VECTOR_GP, 0x1234, 1,
         INJECT(EXCEPTION, VECTOR_GP, .has_error = true, .error = 0x1234));
INJECTED(inject_ac, "nop", VECTOR_AC, 0, 1,
         INJECT(EXCEPTION, VECTOR_AC, .has_error = true));

/* CR2 is the host's to write. */
INJECT_AT(inject_pf, "nop")
SCENARIO(inject_pf, HYPERCALL, .back_at = 2, .arm = {{EXIT_HYPERCALL}},
         INJECT(EXCEPTION, VECTOR_PF, .has_error = true, .error = 6),
         .before = fault_address, .expect = {WENT_ON},
         .see = {SAW(1, VECTOR_PF, 6, 1), SEEN(cr2, GUEST_UNMAPPED)});

/* Software events return behind their instruction. */
INJECTED(inject_int, "int 0x53", 0x53, 0, 3,
         INJECT(SOFT_INT, 0x53, .length = 2));
INJECTED(inject_int3, "int3", VECTOR_BP, 0, 3,
         INJECT(SOFT_EXCEPTION, VECTOR_BP, .length = 1));
/* AMD-V refuses #OF in 64-bit mode, where INTO is no instruction (APM 15.20). */
INJECTED(inject_into, ".byte 0xce", VECTOR_OF, 0, 3, .vendor = VENDOR_VMX,
         INJECT(SOFT_EXCEPTION, VECTOR_OF, .length = 1));
INJECTED(inject_int1, ".byte 0xf1", VECTOR_DB, 0, 3,
         INJECT(PRIVILEGED_SOFT, VECTOR_DB, .length = 1));

/* An event wakes the guest up (SDM 27.7.2). */
static void asleep(struct vcpu *v)
{
    v->ops->set(v, REG_ACTIVITY, ACTIVITY_HLT);
}

static void shut_down(struct vcpu *v)
{
    v->ops->set(v, REG_ACTIVITY, ACTIVITY_SHUTDOWN);
}

#define INJECTED_ASLEEP(id, gate, hook, vector_, ...)                          \
    SCENARIO_OF(id, inject_interrupt, HYPERCALL, .vendor = VENDOR_VMX,         \
                .needs = {FEAT_##gate}, .arm = {{EXIT_HYPERCALL}},             \
                .back_at = 2, .before = hook,                                  \
                .expect = {{EXIT_HYPERCALL, 2, .length = 3,                    \
                            .raw = {RAW(ACTIVITY, ACTIVITY_ACTIVE)}}},         \
                .see = {SAW(1, vector_, 0, 1)}, __VA_ARGS__)
INJECTED_ASLEEP(inject_hlt, VMX_ACTIVITY_HLT, asleep, 0x52, INJECT(INTR, 0x52));
INJECTED_ASLEEP(inject_shutdown, VMX_ACTIVITY_SHUTDOWN, shut_down, VECTOR_NMI,
                INJECT(NMI, VECTOR_NMI));

/* The IDT ends behind exceptions, behind #DF, or before anything: a vector
 * beyond is #GP with its index, IDT and, but for INT n, EXT (SDM 6.13). */
static void idt_of_exceptions(struct guest_state *gs)
{
    gs->idt_limit = 32 * 16 - 1;
}

static void idt_to_df(struct guest_state *gs)
{
    gs->idt_limit = (VECTOR_DF + 1) * 16 - 1;
}

static void no_idt(struct guest_state *gs)
{
    gs->idt_limit = 0;
}

#define IDT_ERROR(vector) ((vector)*8 + 2)
#define EXT               1u
#define VALID             0x80000000u
#define NO_VECTORING RAW_BUT(VECTORING_INFO, 0, ~BIT(31)),                     \
                     RAW_BUT(EXITINTINFO, 0, ~BIT(31))

/* No exit: the guest sees what became of it. */
INJECTED(bad_gate_interrupt, "ud2", VECTOR_GP, IDT_ERROR(0x52) | EXT, 1,
         INJECT(INTR, 0x52), .state = idt_of_exceptions);
INJECTED(bad_gate_int, "int 0x53", VECTOR_GP, IDT_ERROR(0x53), 1,
         INJECT(SOFT_INT, 0x53, .length = 2), .state = idt_of_exceptions,
         .vendor = VENDOR_VMX);
/* AMD-V: from behind INT n (hv/svm/ops.c), where the fault finds RIP, too.
 * Without nRIP save it would be an interrupt's delivery that faults. */
INJECTED(bad_gate_int_behind, "int 0x53", VECTOR_GP, IDT_ERROR(0x53), 3,
         INJECT(SOFT_INT, 0x53, .length = 2), .state = idt_of_exceptions,
         .vendor = VENDOR_SVM, .needs = {FEAT_SVM_NRIPS});
/* The RIP that #DF's handler finds is undefined (SDM 6.15, APM 8.2.9). */
INJECT_AT(double_fault, "nop")
SCENARIO(double_fault, HYPERCALL, .back_at = 2, .arm = {{EXIT_HYPERCALL}},
         INJECT(EXCEPTION, VECTOR_GP, .has_error = true), .state = idt_to_df,
         .expect = {WENT_ON}, .see = {SAW_SOMEWHERE(1, VECTOR_DF, 0)});

#define EXCEPTION(vector_, error_)                                             \
    .item = vector_, .has_info = true,                                         \
    .info.exception = {.vector = vector_, .has_error = true, .error = error_}

/* The #GP exits: it tells which delivery it interrupted (SDM 28.2.4, APM
 * 15.7.2). Injected in turn it is delivered after a benign event. */
INJECT_AT(vectoring_interrupt, "ud2")
SCENARIO(vectoring_interrupt, EXCEPTION, .item = VECTOR_GP, .back_at = 2,
         .arm = {{EXIT_EXCEPTION, VECTOR_GP}, {EXIT_HYPERCALL}},
         INJECT(INTR, 0x52), .state = idt_of_exceptions,
         .expect = {{EXIT_EXCEPTION, 1,
                     EXCEPTION(VECTOR_GP, IDT_ERROR(0x52) | EXT),
                     .raw = {RAW(INTERRUPTION_INFO, 0x80000b0d),
                             RAW(VECTORING_INFO, VALID | 0x52),
                             RAW(EXITINTINFO, VALID | 0x52)}},
                    WENT_ON},
         .see = {SAW(1, VECTOR_GP, IDT_ERROR(0x52) | EXT, 1)});

/* After #GP the handler makes a double fault of it (SDM Table 6-5). In an
 * exception's delivery the APM leaves EXT open (8.4.1). */
INJECT_AT(vectoring_gp, "nop")
SCENARIO(vectoring_gp, EXCEPTION, .item = VECTOR_GP, .back_at = 2,
         .arm = {{EXIT_EXCEPTION, VECTOR_GP}, {EXIT_HYPERCALL}},
         INJECT(EXCEPTION, VECTOR_GP, .has_error = true, .error = 0x38),
         .state = idt_to_df,
         .expect = {{EXIT_EXCEPTION, 1, .vendor = VENDOR_VMX,
                     EXCEPTION(VECTOR_GP, IDT_ERROR(VECTOR_GP) | EXT),
                     .raw = {RAW(VECTORING_INFO, VALID | 0xb0d),
                             RAW(VECTORING_ERROR, 0x38)}},
                    {EXIT_EXCEPTION, 1, .vendor = VENDOR_SVM,
                     .item = VECTOR_GP,
                     .raw = {RAW_BUT(EXITINFO1, IDT_ERROR(VECTOR_GP), EXT),
                             RAW(EXITINTINFO, 0x3880000b0d)}},
                    WENT_ON},
         .see = {SAW_SOMEWHERE(1, VECTOR_DF, 0)});

/* A double fault that exits itself is no delivery interrupted (SDM 28.2.4);
 * nor is a triple fault. On AMD-V its RIP is undefined, too (APM 15.12.9). */
INJECT_AT(double_fault_exit, "nop")
SCENARIO(double_fault_exit, EXCEPTION, .item = VECTOR_DF, .back_at = 2,
         .arm = {{EXIT_EXCEPTION, VECTOR_DF}, {EXIT_HYPERCALL}},
         INJECT(EXCEPTION, VECTOR_GP, .has_error = true), .state = idt_to_df,
         .expect = {{EXIT_EXCEPTION, 1, .vendor = VENDOR_VMX,
                     EXCEPTION(VECTOR_DF, 0), .raw = {NO_VECTORING}},
                    {EXIT_EXCEPTION, .vendor = VENDOR_SVM, .any_rip = true,
                     .item = VECTOR_DF, .raw = {NO_VECTORING}},
                    WENT_ON},
         .see = {SAW_SOMEWHERE(1, VECTOR_DF, 0)});

GUEST_END(triple_fault_inject, AT(triple_fault_inject, 1) "ud2\n", "")
SCENARIO(triple_fault_inject, TRIPLE_FAULT, .final = true,
         INJECT(EXCEPTION, VECTOR_DF, .has_error = true), .state = no_idt,
         .expect = {{EXIT_TRIPLE_FAULT, .any_rip = true,
                     .raw = {RAW_BUT(VECTORING_INFO, 0, ~BIT(31))}}});

/* Pending debug exceptions are taken before the first instruction (SDM
 * 27.7.3). The pending BS is for a guest in single-step mode. */

static void single_step_due(struct vcpu *v)
{
    v->ops->set(v, REG_PENDING_DEBUG, DEBUG_BS);
}

INJECT_AT(pending_debug, "ud2")
SCENARIO(pending_debug, HYPERCALL, .vendor = VENDOR_VMX, .back_at = 2,
         .arm = {{EXIT_HYPERCALL}}, .before = single_step_due,
         .expect = {WENT_ON}, .see = {SAW(1, VECTOR_DB, 0, 1)});

/* The exit names what was pending. */
SCENARIO_OF(pending_debug_exit, pending_debug, EXCEPTION, .item = VECTOR_DB,
            .vendor = VENDOR_VMX, .back_at = 2,
            .arm = {{EXIT_EXCEPTION, VECTOR_DB}, {EXIT_HYPERCALL}},
            .before = single_step_due,
            .expect = {{EXIT_EXCEPTION, 1, .item = VECTOR_DB,
                        .raw = {RAW(QUALIFICATION, DEBUG_BS),
                                RAW(PENDING_DEBUG, 0), NO_VECTORING}},
                       WENT_ON},
            .see = {SAW(1, VECTOR_DB, 0, 1)});

/* A single step whose trap MOV SS holds off is pending at the exit, and comes
 * behind the instruction that was emulated (SDM 28.3.4). The guest's handler
 * ends the stepping; RDI is how far from there it was called. */
static void own_debug_handler(struct vcpu *v)
{
    guest_set_gate(VECTOR_DB, v->run->scenario->label[3], 0);
}

GUEST(pending_debug_saved,
      "mov ecx, ss\n"
      "mov ebx, 41\n"
      "pushfq\n"
      "or dword ptr [rsp], 0x100\n"
      "popfq\n"
      "mov ss, ecx\n" AT(pending_debug_saved, 1) CALL_HOST
      "1: jmp 9f\n" AT(pending_debug_saved, 3) "mov rdi, [rsp]\n"
      "lea rcx, [rip + 1b]\n"
      "sub rdi, rcx\n"
      "and dword ptr [rsp + 16], ~0x100\n"
      "iretq\n"
      "9: xor ecx, ecx\n")
SCENARIO(pending_debug_saved, HYPERCALL, .vendor = VENDOR_VMX,
         .before = own_debug_handler, .arm = {{EXIT_HYPERCALL}},
         .expect = {{EXIT_HYPERCALL, 1, .length = 3,
                     .raw = {RAW(PENDING_DEBUG, DEBUG_BS),
                             RAW(INTERRUPTIBILITY, BLOCKED_BY_MOV_SS)}}},
         .see = {GPR(RAX, 42), GPR(RBX, 41), GPR(RCX, 0), GPR(RDI, 0)});
