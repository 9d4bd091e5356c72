/*
 * Scenarios: nested page faults. The probe page has too few rights, the
 * handler gives it all, and the access is made again.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/guest.h"
#include "hv/handlers.h"
#include "hv/nested.h"

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

/* 2 MiB by one entry. First none is there; the handler maps the page, and its
 * memory is that of the probe page too: the guest finds it where the host
 * says, in guest_flag. */
static void tell_where(struct vcpu *v)
{
    (void)v;
    *guest_copy(guest_flag, u64) =
        GUEST_LARGE + guest_probe_page() - guest_large_page();
}

GUEST(npf_large, "mov ebx, 0x201230\n" AT(npf_large, 1) "mov rax, [rbx]\n"
                 "mov rbx, [rip + guest_flag]\n"
                 "mov rax, [rbx]\n"
                 "xor ebx, ebx\n")
SCENARIO(npf_large, NESTED_FAULT, .before = tell_where,
         .expect = {{EXIT_NESTED_FAULT, 1, .has_info = true,
                     .info.npf = {.gpa = GUEST_LARGE + 0x1230,
                                  .gla = GUEST_LARGE + 0x1230,
                                  .final = true,
                                  .access = ACCESS_R}}},
         .see = {GPR(RBX, 0), GPR(RAX, PROBE_VALUE)});

/* Present, but read-only. */
static void map_read_only(struct vcpu *v)
{
    nested_map_large(v, GUEST_LARGE, guest_large_page(), ACCESS_R);
    v->ops->flush(v);
    tell_where(v);
}

GUEST(npf_large_write, "mov rbx, [rip + guest_flag]\n"
                       "mov rax, [rbx + 8]\n"
                       AT(npf_large_write, 1) "mov [rbx + 16], rax\n"
                       "xor ebx, ebx\n")
SCENARIO(npf_large_write, NESTED_FAULT, .before = map_read_only,
         .expect = {{EXIT_NESTED_FAULT, 1,
                     .raw = {RAW_BUT(QUALIFICATION, 0x18a, 0xe40)}}},
         .see = {GPR(RBX, 0), GPR(RAX, PROBE_VALUE + 1),
                 PROBE(2, PROBE_VALUE + 1)});
