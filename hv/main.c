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
#include "hv/memory.h"
#include "hv/paging.h"
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

/* The CPU decides which back end; the run ends here when none can. */
static const struct hv_ops *bring_up(void)
{
    const struct hv_ops *ops = NULL;
    const char *wrong;

    caps_gather(&caps);
    exit_tables_init(); /* enable() looks kinds up */
    if (caps_has(&caps, FEAT_VMX))
        ops = &vmx_ops;
    else if (caps_has(&caps, FEAT_SVM))
        ops = &svm_ops;
    if (!ops)
        panic("%s offers neither VT-x (CPUID.1:ECX[5]) nor AMD-V (CPUID "
              "Fn8000_0001_ECX[2]): use a CPU or a CPU model that does\n",
              caps.cpu);
    wrong = ops->probe(&caps);
    if (!wrong)
        wrong = ops->enable(&caps);
    if (wrong)
        panic("%s\n", wrong);
    print("%s on %s\n", ops->name, caps.cpu);
    return ops;
}

static enum run_status work(const struct boot_info *bi)
{
    const struct config *config = &bi->config;
    enum verdict worst;

    vcpu.ops = bring_up();
    watchdog_set(config->watchdog_ms, bi->tsc_hz);
    dumper_init(bi, vcpu.ring, vcpu.ops->name, caps.cpu);
    ring_tick(vcpu.ring, rdtsc());
    trace_run_begin(vcpu.ring, (u8)vcpu.ops->vendor, caps.cpu, bi->tsc_hz,
                    config->mode == MODE_BENCH ? "bench" : config->scenarios);
    if (config->mode == MODE_BENCH) {
        bench_run(&vcpu);
        return RUN_OK;
    }
    worst = scenarios_run(&vcpu, &caps, config);
    return worst == VERDICT_ERROR  ? RUN_ERROR
           : worst == VERDICT_FAIL ? RUN_FAIL
                                   : RUN_OK;
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
