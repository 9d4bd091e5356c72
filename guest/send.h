/*
 * What scenarios share in which something comes from outside: the guest sends
 * it to itself, and waits.
 */
#ifndef GUEST_SEND_H
#define GUEST_SEND_H

#include "guest/scenario.h"

/* clang-format off */

/* The guest writes to the interrupt command register (SDM 11.6.1): to its own
 * APIC ID, which stands in the ID register where the ICR wants it. */
#define SEND(command)                                                          \
    "mov ebx, 0x101000\n"                                                      \
    "mov eax, [rbx + 0x20]\n"                                                  \
    "mov [rbx + 0x310], eax\n"                                                 \
    "mov eax, " #command "\n"                                                  \
    "mov [rbx + 0x300], eax\n"
#define SENT(command) GPR(RBX, GUEST_APIC), GPR(RAX, command)

/* Spins until the host has set the flag; until the guest's handler ran. */
#define AWAIT_HOST(id)                                                         \
    AT(id, 1) "cmp qword ptr [rip + guest_flag], 0\n"                          \
    "je guest_" #id "_1\n" AT(id, 2) "nop\n"
#define AWAIT_GUEST "1: cmp qword ptr [rip + guest_seen], 0\n" "je 1b\n"

/* clang-format on */

#endif
