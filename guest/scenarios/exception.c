/*
 * Scenarios: exceptions that exit, are injected back as they were, and are
 * then seen by the guest's own handler, which returns to R15.
 */
/* clang-format off */
#include "guest/scenario.h"

#define GOES_ON_AT_2 "lea r15, [rip + 2f]\n"
#define HERE         "2: xor r15d, r15d\n"

GUEST(exc_ud, GOES_ON_AT_2 AT(exc_ud, 1) "ud2\n" HERE)
SCENARIO(exc_ud, EXCEPTION, .item = 6, .arm = {{EXIT_EXCEPTION, 6}},
         .expect = {{EXIT_EXCEPTION, 1, .item = 6, .has_info = true,
                     .info.exception = {.vector = 6}}},
         .see = {SEEN(count, 1), SEEN(vector, 6), SEEN(error, 0), SEEN_AT(1),
                 GPR(R15, 0)});

/* INT3 is a trap for the guest (it returns behind it), but the exit finds RIP
 * at the instruction: whoever injects it back must say how long it was. */
GUEST(exc_bp, GOES_ON_AT_2 AT(exc_bp, 1) "int3\n" AT(exc_bp, 2) "nop\n" HERE)
SCENARIO(exc_bp, EXCEPTION, .item = 3, .arm = {{EXIT_EXCEPTION, 3}},
         .expect = {{EXIT_EXCEPTION, 1, .item = 3, .length = 1,
                     .has_info = true, .info.exception = {.vector = 3}}},
         .see = {SEEN(count, 1), SEEN(vector, 3), SEEN(error, 0), SEEN_AT(2),
                 GPR(R15, 0)});

/* A selector beyond the GDT: its index is the error code. */
GUEST(exc_gp,
      GOES_ON_AT_2 "mov eax, 0x7f8\n" AT(exc_gp, 1) "mov ds, eax\n" HERE)
SCENARIO(exc_gp, EXCEPTION, .item = 13, .arm = {{EXIT_EXCEPTION, 13}},
         .expect = {{EXIT_EXCEPTION, 1, .item = 13, .has_info = true,
                     .info.exception = {.vector = 13,
                                        .has_error = true,
                                        .error = GUEST_BAD_SEL}}},
         .see = {SEEN(count, 1), SEEN(vector, 13), SEEN(error, GUEST_BAD_SEL),
                 SEEN_AT(1), GPR(RAX, GUEST_BAD_SEL), GPR(R15, 0)});

/* The exit reports the address; CR2 is the handler's to write. */
GUEST(exc_pf_read, GOES_ON_AT_2
      "mov ebx, 0x6010\n" AT(exc_pf_read, 1) "mov rax, [rbx]\n" HERE)
SCENARIO(exc_pf_read, EXCEPTION, .item = 14, .arm = {{EXIT_EXCEPTION, 14}},
         .expect = {{EXIT_EXCEPTION, 1, .item = 14, .has_info = true,
                     .info.exception = {.vector = 14,
                                        .has_error = true,
                                        .address = GUEST_UNMAPPED + 0x10}}},
         .see = {SEEN(count, 1), SEEN(vector, 14), SEEN(error, 0), SEEN_AT(1),
                 SEEN(cr2, GUEST_UNMAPPED + 0x10),
                 GPR(RBX, GUEST_UNMAPPED + 0x10), GPR(R15, 0)});

/* A write to the guest's own text: error code present and write. */
GUEST(exc_pf_write, GOES_ON_AT_2
      "mov ebx, 0x10000\n" AT(exc_pf_write, 1) "mov [rbx], rax\n" HERE)
SCENARIO(exc_pf_write, EXCEPTION, .item = 14, .arm = {{EXIT_EXCEPTION, 14}},
         .expect = {{EXIT_EXCEPTION, 1, .item = 14, .has_info = true,
                     .info.exception = {.vector = 14,
                                        .has_error = true,
                                        .error = 3,
                                        .address = GUEST_BASE}}},
         .see = {SEEN(count, 1), SEEN(vector, 14), SEEN(error, 3), SEEN_AT(1),
                 SEEN(cr2, GUEST_BASE), GPR(RBX, GUEST_BASE), GPR(R15, 0)});
