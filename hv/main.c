/* hv_main: the hypervisor's way up, step by step, and its end. */
#include "boot/boot.h"
#include "hv/ap.h"
#include "hv/apic.h"
#include "hv/bench.h"
#include "hv/console.h"
#include "hv/cpu.h"
#include "hv/desc.h"
#include "hv/dumper.h"
#include "hv/fault.h"
#include "hv/format.h"
#include "hv/memory.h"
#include "hv/paging.h"
#include "hv/preflight.h"
#include "hv/run.h"
#include "hv/scenario.h"
#include "hv/shutdown.h"
#include "trace/trace.h"

#define STACK_PAGES 16

static struct caps caps;
static struct vcpu vcpu;

static void banner(const struct boot_info *bi)
{
    print("Tollgate: image at 0x%lx, arena %lu KiB at 0x%lx, TSC %lu kHz\n",
          bi->image, bi->arena_size / 1024, bi->arena, bi->tsc_hz / 1000);
}

/* The CPU decides which back end. NULL, or why none can run here. */
static const char *bring_up(const struct hv_ops **ops)
{
    static char none[160];
    const char *wrong;

    caps_gather(&caps);
    exit_tables_init(); /* enable() looks kinds up */
    if (caps_has(&caps, FEAT_VMX))
        *ops = &vmx_ops;
    else if (caps_has(&caps, FEAT_SVM))
        *ops = &svm_ops;
    if (!*ops) {
        format(none, sizeof(none),
               "%s offers neither VT-x (CPUID.1:ECX[5]) nor AMD-V (CPUID "
               "Fn8000_0001_ECX[2]): use a CPU or a CPU model that does",
               caps.cpu);
        return none;
    }
    wrong = (*ops)->probe(&caps);
    if (!wrong)
        wrong = (*ops)->enable(&caps);
    if (!wrong)
        print("%s on %s\n", (*ops)->name, caps.cpu);
    return wrong;
}

/* What run_begin says of the run: a mode, or the scenarios by name. */
static const char *selection(const struct config *config)
{
    switch (config->mode) {
    case MODE_BENCH:
        return "bench";
    case MODE_PREFLIGHT:
        return "preflight";
    default:
        return config->scenarios;
    }
}

static enum run_status run_scenarios(const struct config *config)
{
    bool bench = config->mode == MODE_BENCH;

    switch ((bench ? bench_run : scenarios_run)(&vcpu, &caps, config)) {
    case VERDICT_ERROR:
        return RUN_ERROR;
    case VERDICT_FAIL:
        return RUN_FAIL;
    default:
        return RUN_OK;
    }
}

static enum run_status work(const struct boot_info *bi)
{
    const struct config *config = &bi->config;
    const struct hv_ops *ops = NULL;
    const char *wrong = bring_up(&ops);

    if (wrong && config->mode != MODE_PREFLIGHT)
        panic("%s\n", wrong);
    vcpu.ops = ops;
    watchdog_set(config->watchdog_ms, bi->tsc_hz);
    dumper_init(bi, vcpu.ring, ops ? ops->name : "none", caps.cpu);
    ring_tick(vcpu.ring, rdtsc());
    trace_run_begin(vcpu.ring, (u8)(ops ? ops->vendor : VENDOR_NONE), caps.cpu,
                    bi->tsc_hz, selection(config));
    if (config->mode == MODE_PREFLIGHT)
        return preflight_run(&vcpu, &caps, wrong);
    return run_scenarios(config);
}

/* On our own stack from here on, the firmware's is no longer mapped. */
static void run(void *arg)
{
    const struct boot_info *bi = arg;
    const char *wrong;

    desc_init(); /* first, so that a fault in the next steps is reported */
    paging_init(bi);
    wrong = paging_check(bi);
    if (wrong)
        panic("page tables: %s\n", wrong);
    apic_init(bi->tsc_hz);
    ap_init(bi);
    banner(bi);
    if (bi->config.error[0])
        panic("%s\n", bi->config.error);
    shutdown(work(bi));
}

NORETURN void hv_main(struct boot_info *bi)
{
    u8 *stack;

    console_init(bi->config.transport);
    shutdown_init(bi);
    memory_init(bi->arena, bi->arena_size);
    stack = pages_alloc_guarded(STACK_PAGES);
    stack_switch(stack + STACK_PAGES * PAGE_SIZE, run, bi);
}
