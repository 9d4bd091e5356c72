/*
 * Preflight: enters the least of all guests, whose one instruction is the
 * hypercall that ends a scenario. What comes back is the answer.
 */
#include "hv/preflight.h"

#include "hv/console.h"
#include "hv/cpu.h"
#include "hv/dumper.h"
#include "hv/fault.h"
#include "hv/format.h"
#include "hv/guest.h"
#include "hv/lib.h"
#include "hv/run.h"
#include "trace/trace.h"

static void enter_guest(void *arg)
{
    struct vcpu *v = arg;
    struct guest_state gs;

    guest_load(v, MODE_64, guest_done, 0, &gs);
    v->ops->reset(v, &gs);
    v->ops->arm(v, EXIT_HYPERCALL, 0, true);
    watchdog_arm(v);
    watchdog_start();
    vcpu_run(v);
    watchdog_stop();
}

/* An entry that failed comes as an exit whose code says so: VT-x's VMfail
 * with its error number (hv/vmx/exit.c), a reason with bit 31 set, AMD-V's
 * VMEXIT_INVALID. */
static void explain_exit(const struct vcpu *v, char *why, size_t size)
{
    u32 code = v->exit.code;

    if (v->exit.kind == EXIT_ENTRY_INVALID && v->ops->vendor == VENDOR_SVM)
        format(why, size,
               "VMRUN refused the guest's state: VMEXIT_INVALID "
               "(APM 15.5.1)");
    else if (code >> 16 == 0xffff)
        format(why, size, "VM entry failed: VM-instruction error %u (SDM 31.4)",
               code & 0xffff);
    else if (code >> 31)
        format(why, size, "VM entry failed: %s, exit reason %u (SDM 27.8)",
               exit_row_of(v->exit.kind)->name, code & 0xffff);
    else
        format(why, size,
               "VM entry works, but the first exit is %s, code "
               "0x%x, not the guest's hypercall",
               exit_row_of(v->exit.kind)->name, code);
}

/* False: *why says what came instead of the guest's hypercall. */
static bool try_guest(struct vcpu *v, char *why, size_t size)
{
    const struct host_fault *f;

    if (!host_try(enter_guest, v)) {
        watchdog_stop();
        f = host_last_fault();
        format(why, size, "VM entry ends in a host fault: vector %u at 0x%llx",
               f->vector, (unsigned long long)f->rip);
        return false;
    }
    if (v->stop == STOP_DONE)
        return true;
    if (v->stop == STOP_TIMEOUT)
        format(why, size, "VM entry works, but the guest does not come back");
    else
        explain_exit(v, why, size);
    return false;
}

/* One line of text, in pieces that print() takes. */
static void say(const struct caps *caps, enum vendor vendor, const char *answer)
{
    static char text[1024];
    const char *rest = text;

    print("preflight: %s", answer);
    if (vendor != VENDOR_NONE) {
        caps_text(caps, vendor, text, sizeof(text));
        print("; ");
        for (; strlen(rest) > 256; rest += 256)
            print("%.256s", rest);
        print("%s", rest);
    }
    print("\n");
}

enum run_status preflight_run(struct vcpu *v, const struct caps *caps,
                              const char *wrong)
{
    enum vendor vendor = v->ops ? v->ops->vendor : VENDOR_NONE;
    char why[160];
    bool ready = !wrong && try_guest(v, why, sizeof(why));

    if (!ready && !wrong)
        wrong = why;
    ring_tick(v->ring, rdtsc());
    trace_preflight(v->ring, (u8)vendor, ready ? VERDICT_PASS : VERDICT_FAIL,
                    caps->has[0], caps->has[1], caps->has[2],
                    ready ? "" : wrong);
    trace_run_end(v->ring, 0);
    dumper_drain();
    say(caps, vendor, ready ? "ready: a first VM entry works" : wrong);
    return ready ? RUN_OK : RUN_FAIL;
}
