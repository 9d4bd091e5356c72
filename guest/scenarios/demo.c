/*
 * Scenarios that go wrong on purpose, to show what is seen then. They run
 * only when they are named.
 */
/* clang-format off */
#include "guest/scenario.h"

/* A guest that never leaves: the watchdog ends it. */
GUEST(demo_hang, "1: jmp 1b\n")
SCENARIO(demo_hang, CPUID, .demo = true,
         .expect = {{EXIT_CPUID, .any_rip = true}});

/* A check that fails: CPUID does not leave 1 in RBX. */
GUEST(demo_fail, AT(demo_fail, 1) "cpuid\n")
SCENARIO(demo_fail, CPUID, .demo = true, .arm = {{EXIT_CPUID}},
         .expect = {{EXIT_CPUID, 1, .length = 2}}, .see = {GPR(RBX, 1)});

/* An exception that the guest did not expect. */
GUEST(demo_exception, "ud2\n")
SCENARIO(demo_exception, CPUID, .demo = true,
         .expect = {{EXIT_CPUID, .any_rip = true}});

static void read_page_zero(struct vcpu *v)
{
    (void)v;
    /* Through inline assembly: C has no way to mean it. */
    __asm__ volatile("movq 0x10, %%rax" ::: "rax", "memory");
}

/* A fault in the hypervisor itself, while it handles an exit. */
GUEST(demo_host_fault, AT(demo_host_fault, 1) "cpuid\n")
SCENARIO(demo_host_fault, CPUID, .demo = true, .arm = {{EXIT_CPUID}},
         .exited = read_page_zero, .expect = {{EXIT_CPUID, 1, .length = 2}});

static void long_mode_without_pae(struct guest_state *gs)
{
    gs->cr4 &= ~0x20ull; /* CR4.PAE */
}

/* A state that no CPU enters: the user is told which rule it breaks. */
GUEST(demo_entry, "")
SCENARIO(demo_entry, CPUID, .demo = true, .state = long_mode_without_pae,
         .expect = {{EXIT_CPUID, .any_rip = true}});
