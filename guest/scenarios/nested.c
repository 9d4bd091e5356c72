/*
 * Scenarios: nested page faults. The probe page has too few rights, the
 * handler gives it all, and the access is made again.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/handlers.h"

#define NPF(a, offset)                                                         \
    .has_info = true, .info.npf = {.gpa = GUEST_PROBE + (offset),              \
                                   .gla = GUEST_PROBE + (offset),              \
                                   .final = true,                              \
                                   .access = (a)}

GUEST(npf_read, "mov ebx, 0x100008\n" AT(npf_read, 1) "mov rax, [rbx]\n")
SCENARIO(npf_read, NESTED_FAULT,
         .expect = {{EXIT_NESTED_FAULT, 1, NPF(ACCESS_R, 8)}},
         .see = {GPR(RBX, GUEST_PROBE + 8), GPR(RAX, PROBE_VALUE + 1)});

/* Present, but read-only. */
GUEST(npf_write, "mov ebx, 0x100010\n" AT(npf_write, 1) "mov [rbx], rbx\n")
SCENARIO(npf_write, NESTED_FAULT, .probe = ACCESS_R,
         .expect = {{EXIT_NESTED_FAULT, 1, NPF(ACCESS_W, 16)}},
         .see = {GPR(RBX, GUEST_PROBE + 16), PROBE(2, GUEST_PROBE + 16),
                 PROBE(1, PROBE_VALUE + 1)});

/* Present, but not executable: RIP is in the probe page already. The byte
 * there is RET (PROBE_CODE). */
GUEST(npf_exec, "mov ebx, 0x100f00\n"
                "call rbx\n")
SCENARIO(npf_exec, NESTED_FAULT, .probe = ACCESS_R | ACCESS_W,
         .expect = {{EXIT_NESTED_FAULT, .rip = GUEST_PROBE + PROBE_CODE,
                     NPF(ACCESS_X, PROBE_CODE)}},
         .see = {GPR(RBX, GUEST_PROBE + PROBE_CODE)});
