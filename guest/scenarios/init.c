/*
 * Scenarios: INIT. It resets a CPU that does not hold it, so these come last,
 * and the one that leaves it pending last of all.
 */
/* clang-format off */
#include "guest/fault.h"
#include "guest/send.h"
#include "hv/apic.h"
#include "hv/msr.h"

#define NO_INTERRUPTION RAW_BUT(INTERRUPTION_INFO, 0, ~BIT(31))

/* Is that the hypervisor below us? */
static bool runs_under(u32 signature)
{
    u32 out[4];

    cpuid(0x40000000, 0, out);
    return out[1] == signature;
}
#define KVMK 0x4b4d564bu
#define TCGT 0x54474354u

/* AMD-V: after its exit INIT is pending. At STGI it comes to the host as #SX,
 * when VM_CR.R_INIT is set; else it resets the CPU (APM 15.13.4, 15.28). */
static const char *ignores_r_init(struct vcpu *v)
{
    (void)v;
    /* KVM keeps the bit and does nothing with it (arch/x86/kvm/svm/svm.c,
     * svm_set_vm_cr): the machine would begin anew. */
    if (runs_under(KVMK))
        return "not run: KVM redirects no INIT, whatever VM_CR.R_INIT says";
    wrmsr(MSR_VM_CR, rdmsr(MSR_VM_CR) | VM_CR_R_INIT);
    return rdmsr(MSR_VM_CR) & VM_CR_R_INIT
               ? NULL
               : "not run: VM_CR.R_INIT (MSR C0010114h[1]) does not stay set";
}

GUEST(init_redirected, SEND(0x4500) AWAIT_HOST(init_redirected))
SCENARIO(init_redirected, INIT, .vendor = VENDOR_SVM, .last = LAST,
         .fatal = ignores_r_init, .before = guest_map_apic,
         .arm = {{EXIT_INIT}},
         .expect = {{EXIT_INIT, 1, .until = 2,
                     .raw = {RAW_BUT(EXITINTINFO, 0, ~BIT(31))}}},
         .see = {SENT(0x4500), SEEN(count, 0)});

/* Not intercepted it is #SX in the guest, with error code 1 (APM 15.28), which
 * has an intercept like any exception. */
GUEST(init_sx, GOES_ON_AT_2 SEND(0x4500)
      AT(init_sx, 1) "cmp qword ptr [rip + guest_seen], 0\n"
      "je guest_init_sx_1\n"
      AT(init_sx, 2) HERE)
#define SAW_SX                                                                 \
    .see = {SENT(0x4500), SEEN(count, 1), SEEN(vector, VECTOR_SX),             \
            SEEN(error, 1), GPR(R15, 0)}
SCENARIO(init_sx, EXCEPTION, .item = VECTOR_SX, .vendor = VENDOR_SVM,
         .last = LAST, .fatal = ignores_r_init, .before = guest_map_apic,
         .arm = {{EXIT_EXCEPTION, VECTOR_SX}},
         .expect = {{EXIT_EXCEPTION, 1, .until = 2, .item = VECTOR_SX,
                     .has_info = true,
                     .info.exception = {.vector = VECTOR_SX, .has_error = true,
                                        .error = 1},
                     .raw = {RAW(EXITINFO1, 1)}}},
         SAW_SX);
SCENARIO_OF(init_sx_off, init_sx, EXCEPTION, .item = VECTOR_SX,
            .vendor = VENDOR_SVM, .negative = true, .last = LAST,
            .fatal = ignores_r_init, .before = guest_map_apic, SAW_SX);

/* TCG exits as it should, but then resets the CPU at once, whatever GIF is
 * (accel/tcg/cpu-exec.c, cpu_handle_interrupt): nobody is left to tell. */
static const char *resets_at_once(struct vcpu *v)
{
    return v->ops->vendor == VENDOR_SVM && runs_under(TCGT)
               ? "not run: TCG resets the CPU after the exit, though GIF is 0"
               : NULL;
}

/* VT-x: blocked in the host, INIT stops the guest (SDM 26.2). Some CPUs keep
 * it. AMD-V: where it is not redirected, GIF = 0 holds it for the rest of the
 * run. Last of all, therefore. */
GUEST(init, SEND(0x4500) AWAIT_HOST(init))
SCENARIO(init, INIT, .last = LAST_OF_ALL, .final = true,
         .fatal = resets_at_once, .before = guest_map_apic, .arm = {{EXIT_INIT}},
         .expect = {{EXIT_INIT, 1, .until = 2, .vendor = VENDOR_VMX,
                     .raw = {RAW(QUALIFICATION, 0), NO_INTERRUPTION,
                             RAW_BUT(VECTORING_INFO, 0, ~BIT(31))}},
                    {EXIT_INIT, 1, .until = 2, .vendor = VENDOR_SVM,
                     .raw = {RAW_BUT(EXITINTINFO, 0, ~BIT(31))}}});
