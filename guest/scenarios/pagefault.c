/*
 * Scenarios: page faults of the guest's own, and VT-x's filter for them.
 */
/* clang-format off */
#include "guest/fault.h"

/* The exit reports the address; CR2 is the handler's to write. */
#define PAGE_FAULT(e, a)                                                       \
    .item = VECTOR_PF, .has_info = true,                                       \
    .info.exception = {.vector = VECTOR_PF,                                    \
                       .has_error = true,                                      \
                       .error = e,                                             \
                       .address = a},                                          \
    .raw = {RAW(INTERRUPTION_INFO, 0x80000b0e), RAW(INTERRUPTION_ERROR, e),    \
            RAW(QUALIFICATION, a), RAW(EXITINFO1, e), RAW(EXITINFO2, a),     \
            ASSIST_BYTES(15)}

GUEST(exc_pf_read, GOES_ON_AT_2
      "mov ebx, 0x6010\n" AT(exc_pf_read, 1) "mov rax, [rbx]\n" HERE)
SCENARIO(exc_pf_read, EXCEPTION, .item = VECTOR_PF,
         .arm = {{EXIT_EXCEPTION, VECTOR_PF}}, .before = other_cr2,
         .expect = {{EXIT_EXCEPTION, 1, PAGE_FAULT(0, GUEST_UNMAPPED + 0x10)}},
         .see = {SAW(VECTOR_PF, 0, 1), SEEN(cr2, GUEST_UNMAPPED + 0x10),
                 GPR(RBX, GUEST_UNMAPPED + 0x10)});
SCENARIO_OF(exc_pf_off, exc_pf_read, EXCEPTION, .item = VECTOR_PF,
            .negative = true, .arm = {{EXIT_EXCEPTION, VECTOR_GP}},
            .see = {SAW(VECTOR_PF, 0, 1), SEEN(cr2, GUEST_UNMAPPED + 0x10),
                    GPR(RBX, GUEST_UNMAPPED + 0x10)});

/* A write to the guest's own text: error code present and write; from CPL 3
 * also user. */
GUEST(exc_pf_write, GOES_ON_AT_2
      "mov ebx, 0x10000\n" AT(exc_pf_write, 1) "mov [rbx], rax\n" HERE)
SCENARIO(exc_pf_write, EXCEPTION, .item = VECTOR_PF,
         .arm = {{EXIT_EXCEPTION, VECTOR_PF}}, .before = other_cr2,
         .expect = {{EXIT_EXCEPTION, 1, PAGE_FAULT(3, GUEST_BASE)}},
         .see = {SAW(VECTOR_PF, 3, 1), SEEN(cr2, GUEST_BASE),
                 GPR(RBX, GUEST_BASE)});
SCENARIO_OF(exc_pf_user, exc_pf_write, EXCEPTION, .item = VECTOR_PF,
            .arm = {{EXIT_EXCEPTION, VECTOR_PF}}, .mode = MODE_64_USER,
            .before = other_cr2,
            .expect = {{EXIT_EXCEPTION, 1, PAGE_FAULT(7, GUEST_BASE)}},
            .see = {SAW(VECTOR_PF, 7, 1), SEEN(cr2, GUEST_BASE),
                    GPR(RBX, GUEST_BASE)});

/*
 * VT-x compares the error code under a mask (SDM 25.6.3): equal, bit 14 of the
 * exception bitmap counts, else its opposite. Here the mask is the write bit,
 * and the guest reads, then writes.
 */
static void match_writes(struct vcpu *v)
{
    v->ops->set_word(v, RAW_PF_MASK, 2);
    v->ops->set_word(v, RAW_PF_MATCH, 2);
}
static void match_nothing(struct vcpu *v)
{
    v->ops->set_word(v, RAW_PF_MATCH, 1); /* under a mask of 0 */
}

#define TWO_FAULTS_SEEN                                                        \
    .see = {SEEN(count, 2), SEEN(vector, VECTOR_PF),                           \
            SEEN(error, 3), SEEN(cr2, GUEST_BASE),                             \
            SEEN_AT(2),     GPR(RBX, GUEST_BASE),                              \
            GPR(R15, 0)}
GUEST(exc_pf_match, "lea r15, [rip + 3f]\n"
                    "mov ebx, 0x6010\n"
                    AT(exc_pf_match, 1) "mov rax, [rbx]\n"
                    "3:\n"
                    GOES_ON_AT_2
                    "mov ebx, 0x10000\n"
                    AT( exc_pf_match, 2) "mov [rbx], rax\n"
                    HERE)
SCENARIO(exc_pf_match, EXCEPTION, .item = VECTOR_PF, .vendor = VENDOR_VMX,
         .arm = {{EXIT_EXCEPTION, VECTOR_PF}}, .before = match_writes,
         .expect = {{EXIT_EXCEPTION, 2, PAGE_FAULT(3, GUEST_BASE)}},
         TWO_FAULTS_SEEN);
SCENARIO_OF(exc_pf_mismatch, exc_pf_match, EXCEPTION, .item = VECTOR_PF,
            .vendor = VENDOR_VMX, .before = match_writes,
            .expect = {{EXIT_EXCEPTION, 1,
                        PAGE_FAULT(0, GUEST_UNMAPPED + 0x10)}},
            TWO_FAULTS_SEEN);
SCENARIO_OF(exc_pf_no_match, exc_pf_match, EXCEPTION, .item = VECTOR_PF,
            .vendor = VENDOR_VMX, .negative = true,
            .arm = {{EXIT_EXCEPTION, VECTOR_PF}}, .before = match_nothing,
            TWO_FAULTS_SEEN);
