/*
 * Scenarios: events that come from outside the instruction stream.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/apic.h"
#include "hv/cpu.h"
#include "hv/run.h"

#define TIMER_VECTOR 0x51
#define TIMER_US     200

static void start_timer(struct vcpu *v)
{
    (void)v;
    apic_timer_oneshot(TIMER_VECTOR, TIMER_US);
}

/* R13: when the guest gives up, some time before the watchdog would end it. */
static void start_timer_if0(struct vcpu *v)
{
    v->ops->set(v, REG_RFLAGS, RFLAGS_FIXED);
    v->regs.gpr[R13] = rdtsc() + watchdog_cycles() / 2;
    start_timer(v);
}

/* The guest spins until the host, having taken the timer interrupt that made
 * it exit, sets the flag. */
GUEST(interrupt,
      AT(interrupt, 1) "cmp qword ptr [rip + guest_flag], 0\n"
                       "je guest_interrupt_1\n" AT(interrupt, 2) "nop\n")
SCENARIO(interrupt, INTERRUPT, .before = start_timer,
         .expect = {{EXIT_INTERRUPT, 1, .until = 2}},
         .see = {DEVICE(VECTOR, TIMER_VECTOR), SEEN(count, 0)});

/* The same with interrupts off in the guest from its first entry on: external
 * interrupts exit all the same (SDM 26.2; APM 15.13.1 and 15.21.1, by
 * V_INTR_MASKING). Where they do not, the watchdog does not come either, so
 * the guest itself gives up in the end. */
GUEST(interrupt_if0, AT(interrupt_if0, 1)
                     "rdtsc\n"
                     "shl rdx, 32\n"
                     "or rax, rdx\n"
                     "cmp rax, r13\n"
                     "ja 2f\n"
                     "cmp qword ptr [rip + guest_flag], 0\n"
                     "je guest_interrupt_if0_1\n"
                     "2:\n"
                     AT(interrupt_if0, 2) "xor eax, eax\n"
                     "xor edx, edx\n"
                     "xor r13d, r13d\n")
SCENARIO(interrupt_if0, INTERRUPT, .before = start_timer_if0,
         .expect = {{EXIT_INTERRUPT, 1, .until = 2}},
         .see = {GPR(RAX, 0), GPR(RDX, 0), GPR(R13, 0),
            DEVICE(VECTOR, TIMER_VECTOR), SEEN(count, 0)});

/* No IDT to deliver #UD, none for #DF: shutdown. The state is undefined on
 * AMD-V (APM 15.14.3), so RIP is not looked at. */
GUEST_END(triple_fault,
          "lidt [rip + 3f]\n"
          "ud2\n"
          "3: .word 0\n"
          ".quad 0\n",
          "")
SCENARIO(triple_fault, TRIPLE_FAULT, .final = true,
         .expect = {{EXIT_TRIPLE_FAULT, .any_rip = true}});
