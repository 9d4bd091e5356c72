/*
 * What scenarios share in which the guest takes an exception: its handler
 * notes what came and returns to R15 (guest/entry.asm).
 */
#ifndef GUEST_FAULT_H
#define GUEST_FAULT_H

#include "guest/scenario.h"
#include "hv/cpu.h"
#include "hv/guest.h"

#define GOES_ON_AT_2 "lea r15, [rip + 2f]\n"
#define HERE         "2: xor r15d, r15d\n"

/* The guest saw one exception, with its error code, at label n. */
#define SAW(v, e, n)                                                           \
    SEEN(count, 1), SEEN(vector, v), SEEN(error, e), SEEN_AT(n), GPR(R15, 0)

/* Priority: the exit is armed, but the instruction's own fault comes first, so
 * there is none. */
#define FAULTS_FIRST(id, about, item_, insn, fault, ...)                       \
    GUEST(id, GOES_ON_AT_2 AT(id, 1) insn HERE)                                \
    SCENARIO(id, about, .item = item_, .negative = true,                       \
             .arm = {{EXIT_##about, item_}}, .see = {SAW(fault, 0, 1)},        \
             __VA_ARGS__)

/* The same for privilege: #GP at CPL 3 (SDM 26.1.1, APM 15.9). */
#define PRIVILEGE_FIRST(id, about, item_, insn, ...)                           \
    FAULTS_FIRST(id, about, item_, insn, VECTOR_GP, .mode = MODE_64_USER,      \
                 ##__VA_ARGS__)

/* For .before: the host's own CR2 is another, so that what the guest finds
 * there can only be what it was given. */
static inline void other_cr2(struct vcpu *v)
{
    (void)v;
    write_cr2(0x1111);
}

#endif
