/*
 * Scenarios: exits in the middle of a delivery. The guest's IDT, stack or TSS
 * lies in the probe page, where nested paging refuses it: the exit names the
 * event, the handler mends the page and delivers the event again.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/cpu.h"
#include "hv/guest.h"
#include "hv/lib.h"

#define VALID      0x80000000u
#define TSS_IST1   0x24 /* offset in a 64-bit TSS (SDM 8.7, Figure 8-11) */
#define STACK_TOP  0x800
#define IST_BELOW  0x400 /* the IST stack's top, below that of the guest's */

static void idt_in_probe(struct guest_state *gs)
{
    gs->idt_base = GUEST_PROBE;
}

static void stack_in_probe(struct guest_state *gs)
{
    gs->rsp = GUEST_PROBE + STACK_TOP;
}

static void tss_in_probe(struct guest_state *gs)
{
    gs->seg[SEG_TR].base = GUEST_PROBE;
}

static void copy_idt(struct vcpu *v)
{
    (void)v;
    memcpy(guest_memory(GUEST_PROBE, PAGE_SIZE),
           guest_memory(GUEST_GPA(guest_idt), PAGE_SIZE), PAGE_SIZE);
}

static void use_ist(struct vcpu *v)
{
    u64 top = GUEST_GPA(guest_stack_top) - IST_BELOW;

    (void)v;
    memcpy(guest_memory(GUEST_PROBE + TSS_IST1, sizeof(top)), &top,
           sizeof(top));
    guest_set_gate(0x52, guest_vectors + 0x52 * GUEST_STUB, 1);
}

/* Label 1 is where the guest begins, label 3 what follows there. */
#define TEXT(id, text)                                                         \
    GUEST(id, AT(id, 1) text "\n" AT(id, 3) "ud2\n" AT(id, 2)                  \
          "xor r15d, r15d\n")
TEXT(delivery, "nop")
TEXT(delivery_int, "int 0x53")
TEXT(delivery_int3, "int3")
TEXT(delivery_int1, ".byte 0xf1")
TEXT(delivery_ud, "ud2")

#define FAULT(access_, offset)                                                 \
    .has_info = true, .info.npf = {.gpa = GUEST_PROBE + (offset),              \
                                   .gla = GUEST_PROBE + (offset),              \
                                   .final = true,                              \
                                   .access = (access_)}
#define SAW(vector_, error_, label_)                                           \
    SEEN(count, 1), SEEN(vector, vector_), SEEN(error, error_),                \
    SEEN_AT(label_), GPR(R15, 0)

/* VT-x has the vectoring type of INT1, INT3 and INT n, and tells their length
 * (SDM 28.2.4, 28.2.5); AMD-V counts the first two among the exceptions. */
#define AT_IDT(vector_, type_, svm_type, code, length_)                        \
    {EXIT_NESTED_FAULT, 1, .vendor = VENDOR_VMX, .length = length_,            \
     FAULT(ACCESS_R, 16 * (vector_)),                                          \
     .raw = {RAW(VECTORING_INFO, VALID | (code) | (type_) << 8 | (vector_)),   \
             RAW(INTERRUPTION_INFO, 0)}},                                      \
    {EXIT_NESTED_FAULT, 1, .vendor = VENDOR_SVM, FAULT(ACCESS_R, 16 * (vector_)), \
     .raw = {RAW(EXITINTINFO, VALID | (code) | (svm_type) << 8 | (vector_))}}
#define BY_IDT(id, text, vector_, type_, svm_type, length_, at, ...)           \
    SCENARIO_OF(id, text, NESTED_FAULT, .state = idt_in_probe,                 \
                .back_at = 2, .before = copy_idt,                              \
                .expect = {AT_IDT(vector_, type_, svm_type, 0, length_)},      \
                .see = {SAW(vector_, 0, at)}, __VA_ARGS__)

/* Injected events. */
BY_IDT(idt_interrupt, delivery, 0x52, EVENT_INTR, EVENT_INTR, 0, 1,
       INJECT(INTR, 0x52));
BY_IDT(idt_nmi, delivery, VECTOR_NMI, EVENT_NMI, EVENT_NMI, 0, 1,
       INJECT(NMI, VECTOR_NMI));
BY_IDT(idt_exception, delivery, VECTOR_UD, EVENT_EXCEPTION, EVENT_EXCEPTION, 0,
       1, INJECT(EXCEPTION, VECTOR_UD));
BY_IDT(idt_soft, delivery_int, 0x53, EVENT_SOFT_INT, EVENT_SOFT_INT, 2, 3,
       INJECT(SOFT_INT, 0x53, .length = 2), .vendor = VENDOR_VMX);

/* The guest's own. */
BY_IDT(idt_int, delivery_int, 0x53, EVENT_SOFT_INT, EVENT_SOFT_INT, 2, 3, );
BY_IDT(idt_int3, delivery_int3, VECTOR_BP, EVENT_SOFT_EXCEPTION,
       EVENT_EXCEPTION, 1, 3, );
BY_IDT(idt_int1, delivery_int1, VECTOR_DB, EVENT_PRIVILEGED_SOFT,
       EVENT_EXCEPTION, 1, 3, );
BY_IDT(idt_ud, delivery_ud, VECTOR_UD, EVENT_EXCEPTION, EVENT_EXCEPTION, 0, 1, );

/* With an error code: it goes along. */
#define GP_ERROR 0x38
#define HAS_CODE BIT(11)
SCENARIO_OF(idt_error, delivery, NESTED_FAULT, .state = idt_in_probe,
            .back_at = 2, .before = copy_idt,
            INJECT(EXCEPTION, VECTOR_GP, .has_error = true, .error = GP_ERROR),
            .expect = {{EXIT_NESTED_FAULT, 1, FAULT(ACCESS_R, 16 * VECTOR_GP),
                        .raw = {RAW(VECTORING_INFO, VALID | 0xb0d),
                                RAW(VECTORING_ERROR, GP_ERROR),
                                RAW(EXITINTINFO,
                                    (u64)GP_ERROR << 32 | VALID | 0xb0d)}}},
            .see = {SAW(VECTOR_GP, GP_ERROR, 1)});

/* Which of the words on the stack is written first is the CPU's business: any
 * address in that page. */
#define ON_STACK                                                               \
    RAW_BUT(GUEST_PHYSICAL, GUEST_PROBE, PAGE_SIZE - 1),                       \
        RAW_BUT(EXITINFO2, GUEST_PROBE, PAGE_SIZE - 1)
SCENARIO_OF(stack_interrupt, delivery, NESTED_FAULT, .probe = ACCESS_R,
            .back_at = 2, .state = stack_in_probe, INJECT(INTR, 0x52),
            .expect = {{EXIT_NESTED_FAULT, 1,
                        .raw = {ON_STACK, RAW(VECTORING_INFO, VALID | 0x52),
                                RAW(EXITINTINFO, VALID | 0x52)}}},
            .see = {SAW(0x52, 0, 1)});
SCENARIO_OF(stack_ud, delivery_ud, NESTED_FAULT, .probe = ACCESS_R,
            .back_at = 2, .state = stack_in_probe,
            .expect = {{EXIT_NESTED_FAULT, 1,
                        .raw = {ON_STACK,
                                RAW(VECTORING_INFO, VALID | 0x306),
                                RAW(EXITINTINFO, VALID | 0x306)}}},
            .see = {SAW(VECTOR_UD, 0, 1)});

/* The gate asks for a stack of the TSS. */
SCENARIO_OF(tss_interrupt, delivery, NESTED_FAULT, .state = tss_in_probe,
            .back_at = 2, .before = use_ist, INJECT(INTR, 0x52),
            .expect = {{EXIT_NESTED_FAULT, 1, FAULT(ACCESS_R, TSS_IST1),
                        .raw = {RAW(VECTORING_INFO, VALID | 0x52),
                                RAW(EXITINTINFO, VALID | 0x52)}}},
            .see = {SAW(0x52, 0, 1)});
