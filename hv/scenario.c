/*
 * Runs scenarios one by one, each on a fresh vCPU. What came is compared with
 * their texts in hv/judge.c.
 */
#include "hv/scenario.h"

#include "hv/console.h"
#include "hv/cpu.h"
#include "hv/dumper.h"
#include "hv/fault.h"
#include "hv/format.h"
#include "hv/guest.h"
#include "hv/handlers.h"
#include "hv/judge.h"
#include "hv/lib.h"
#include "hv/nested.h"
#include "hv/run.h"
#include "trace/trace.h"

#define MAX_SCENARIOS 2048u
#define BENCH_ROUNDS  3 /* where time is noisy one would not do */

/* Feature by feature, exit by exit, then what they need. */
static void set_controls(struct vcpu *v)
{
    const struct scenario *s = v->run->scenario;

    for (u32 n = 0; n < MAX_NEEDS && s->use[n]; n++)
        v->ops->use(v, (enum feature)s->use[n], true);
    for (u32 n = 0; n < MAX_ARM && s->arm[n].kind; n++)
        v->ops->arm(v, (enum exit_kind)s->arm[n].kind, s->arm[n].item, true);
    for (u32 n = 0; n < MAX_ARM && s->disarm[n].kind; n++)
        v->ops->arm(v, (enum exit_kind)s->disarm[n].kind, s->disarm[n].item,
                    false);
    for (u32 n = 0; n < MAX_SET && s->set[n].word; n++)
        v->ops->set_word(v, (enum raw_word)s->set[n].word, s->set[n].value);
}

static void run_guest(void *arg)
{
    struct vcpu *v = arg;
    struct run *run = v->run;
    const struct scenario *s = run->scenario;
    u64 nmis;

    guest_load(v, (enum guest_mode)s->mode, s->code, s->probe, &run->initial);
    if (s->tweak.level) {
        u64 *entry = nested_entry_at(GUEST_PROBE, s->tweak.level);

        *entry = (*entry & ~s->tweak.clear) | s->tweak.set;
    }
    if (s->state)
        s->state(&run->initial);
    v->ops->reset(v, &run->initial);
    for (u32 n = 0; n < GPRS; n++)
        if (n != RSP)
            v->regs.gpr[n] = judge_canary(s, n);
    if (s->back_at)
        v->regs.gpr[R15] = GUEST_GPA(s->label[s->back_at]);
    set_controls(v);
    if (s->kind != EXIT_PREEMPTION_TIMER)
        watchdog_arm(v);
    watchdog_start();
    if (s->before)
        s->before(v);
    if (s->inject)
        v->ops->inject(v, s->inject);
    entry_examine(v);
    simd_fill(SIMD_SEED);
    nmis = host_nmi_count();
    if (s->rule)
        entry_run_twice(v);
    else
        vcpu_run(v);
    watchdog_stop();
    host_unblock_nmi(); /* an exit may have left them blocked */
    run->device[DEVICE_NMI] = host_nmi_count() - nmis;
}

static void run_judged(void *arg)
{
    struct vcpu *v = arg;

    ring_attend(v->ring, ATTEND_OWNER, true);
    run_guest(v);
    judge_stop(v);
}

/* What this CPU lacks for the scenario, FEAT_NONE: nothing. */
static enum feature missing(const struct vcpu *v, const struct caps *caps,
                            const struct scenario *s)
{
    const struct exit_row *row = &exit_rows[s->kind];
    enum feature gate = (enum feature)(
        v->ops->vendor == VENDOR_VMX ? row->vmx_gate : row->svm_gate);

    if (!caps_has(caps, gate))
        return gate;
    for (u32 n = 0; n < MAX_NEEDS; n++)
        if (!caps_has(caps, (enum feature)s->needs[n]))
            return (enum feature)s->needs[n];
    for (u32 n = 0; n < MAX_NEEDS; n++)
        if (!caps_has(caps, (enum feature)s->use[n]))
            return (enum feature)s->use[n];
    return FEAT_NONE;
}

/* A feature is missing, or is there and leaves nothing to see; or something
 * that no feature bit tells. */
static bool skipped(struct vcpu *v, const struct caps *caps)
{
    const struct scenario *s = v->run->scenario;
    enum feature lacks = missing(v, caps, s);
    enum feature lifts = (enum feature)s->unless;
    char text[64], reason[sizeof(v->run->reason)];
    const char *machine = NULL;

    if (lacks != FEAT_NONE) {
        judge(v->run, VERDICT_SKIP, feature_text(lacks, text, sizeof(text)));
        return true;
    }
    if (lifts == FEAT_NONE || !caps_has(caps, lifts)) {
        if (s->lacks)
            machine = s->lacks(v);
        else if (s->rule && v->ops->checks->unmade)
            machine = v->ops->checks->unmade(v, s->rule - 1u);
        if (machine)
            judge(v->run, VERDICT_SKIP, machine);
        return machine != NULL;
    }
    format(reason, sizeof(reason), "no such rule with %s",
           feature_text(lifts, text, sizeof(text)));
    judge(v->run, VERDICT_SKIP, reason);
    return true;
}

/* Is name one of the comma-separated list? */
static bool listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (; *list; list++) {
        if (!strncmp(list, name, length) &&
            (list[length] == ',' || !list[length]))
            return true;
        while (*list && *list != ',')
            list++;
        if (!*list)
            break;
    }
    return false;
}

/* Does this machine die of it, and why? */
static const char *fatal(struct vcpu *v, const struct config *config)
{
    const struct scenario *s = v->run->scenario;

    if (listed(config->fatal, s->name))
        return "not run: fatal in tollgate.cfg, for this machine dies of it";
    return s->fatal ? s->fatal(v) : NULL;
}

static void begin(struct vcpu *v, struct run *run)
{
    const struct scenario *s = run->scenario;

    run->device[DEVICE_IN] = EMULATED_IN;
    run->device[DEVICE_MSR] = EMULATED_MSR;
    run->device[DEVICE_CR8] = EMULATED_CR8;
    run->device[DEVICE_TSC] = EMULATED_TSC;
    v->run = run;
    v->device = run->device;
    ring_tick(v->ring, rdtsc());
    trace_scenario_begin(v->ring, s->name, s->kind);
    if (s->negative || s->without)
        trace_forbid(v->ring, s->negative ? s->kind : s->without);
}

/* A fault of the host's ends the scenario and no more. */
static void attempt(struct vcpu *v, void (*guest)(void *v))
{
    const struct host_fault *f;
    char reason[sizeof(v->run->reason)];

    if (host_try(guest, v))
        return;
    f = host_last_fault();
    ring_tick(v->ring, rdtsc());
    trace_host_fault(v->ring, f->vector, f->error, f->rip, f->cr2);
    format(reason, sizeof(reason), "host fault: vector %u at 0x%llx", f->vector,
           (unsigned long long)f->rip);
    judge(v->run, VERDICT_ERROR, reason);
    watchdog_stop();
}

static enum verdict end(struct vcpu *v)
{
    const struct run *run = v->run;
    const struct scenario *s = run->scenario;

    ring_attend(v->ring, ATTEND_OWNER, false);
    ring_tick(v->ring, rdtsc());
    trace_scenario_end(v->ring, s->name, s->kind,
                       judge_code(v->ops->vendor, s->kind, s->item),
                       (u8)run->verdict, run->checks, run->reason);
    v->run = NULL;
    dumper_drain();
    return run->verdict;
}

/* Who names a fatal scenario wants to see what becomes of the machine: what is
 * not out by then is lost with it. */
static enum verdict run_scenario(struct vcpu *v, const struct caps *caps,
                                 const struct config *config,
                                 const struct scenario *s)
{
    struct run run = {.scenario = s, .caps = caps};
    const char *why;

    begin(v, &run);
    if (!skipped(v, caps)) {
        why = fatal(v, config);
        if (why && !*config->scenarios) {
            judge(&run, VERDICT_FAIL, why);
        } else {
            if (why)
                dumper_drain();
            attempt(v, run_judged);
        }
    }
    return end(v);
}

/* The same guest, but nobody looks on: its exits take the short way
 * (hv/crossing.h), and the time stamps of their events tell what they cost. */
static enum verdict measure_scenario(struct vcpu *v, const struct caps *caps,
                                     const struct config *config,
                                     const struct scenario *s)
{
    struct run run = {.scenario = s, .caps = caps};

    begin(v, &run);
    if (s->final || s->negative || s->rule || s->last || fatal(v, config)) {
        judge(&run, VERDICT_SKIP, "no round trip to measure");
    } else if (!skipped(v, caps)) {
        /* Some end by the watchdog when nobody has a hand in their exits. */
        v->stop = STOP_DONE;
        for (u32 n = 0; n < BENCH_ROUNDS && v->stop == STOP_DONE; n++)
            attempt(v, run_guest);
        judge(&run, VERDICT_SKIP, "measured, not judged");
    }
    return end(v);
}

static const struct scenario *find(const char *name, size_t length)
{
    for (const struct scenario *const *s = scenarios_start; s < scenarios_end;
         s++)
        if (!strncmp((*s)->name, name, length) && !(*s)->name[length])
            return *s;
    return NULL;
}

/* A name that no scenario has is the caller's mistake: an error, by name. */
static enum verdict check_names(struct vcpu *v, const char *list,
                                enum verdict worst)
{
    const char *reason = "no scenario is called so";
    char name[32];

    while (*list) {
        size_t length = 0;

        while (list[length] && list[length] != ',')
            length++;
        if (!find(list, length)) {
            format(name, sizeof(name), "%.*s", (int)length, list);
            ring_tick(v->ring, rdtsc());
            trace_scenario_end(v->ring, name, EXIT_NONE, 0, VERDICT_ERROR, 0,
                               reason);
            print("error: %s: %s\n", name, reason);
            worst = VERDICT_ERROR;
        }
        list += length + (list[length] == ',');
    }
    return worst;
}

/* Is it for this vendor, which has its exit at all? */
static bool applies(enum vendor vendor, const struct scenario *s)
{
    const struct exit_row *row = &exit_rows[s->kind];

    if (s->vendor && s->vendor != vendor)
        return false;
    return vendor == VENDOR_VMX ? row->vmx_reason >= 0
                                : row->svm_code != SVM_NONE;
}

/* Does the configuration select it, and is it for this vendor? */
static bool selected(const struct vcpu *v, const struct config *config,
                     const struct scenario *s)
{
    const char *list = config->scenarios;

    if (!applies(v->ops->vendor, s))
        return false;
    return *list ? listed(list, s->name) : !s->demo;
}

/* Puts count scenarios into the order that the configuration asks for. */
static void put_in_order(const struct scenario **list, u32 count,
                         const struct config *config)
{
    u32 random = config->seed;

    for (u32 n = count; n > 1; n--) {
        const struct scenario *last = list[n - 1];
        u32 other = count - n; /* its mirror image, up to the middle */

        if (config->order == ORDER_REVERSE && other >= n - 1)
            return;
        if (config->order == ORDER_RANDOM) {
            random = random * 1664525 + 1013904223; /* Numerical Recipes */
            other = (u32)((u64)random * n >> 32);
        } else if (config->order == ORDER_FORWARD) {
            return;
        }
        list[n - 1] = list[other];
        list[other] = last;
    }
}

/* Moves those to the end that leave the CPU unfit for others. */
static void put_last(const struct scenario **list, u32 count, u8 rank)
{
    for (u32 n = count, end = count; n-- > 0;) {
        const struct scenario *s = list[n];

        if (s->last != rank)
            continue;
        end--;
        for (u32 i = n; i < end; i++)
            list[i] = list[i + 1];
        list[end] = s;
    }
}

enum verdict scenarios_run(struct vcpu *v, const struct caps *caps,
                           const struct config *config)
{
    static const struct scenario *list[MAX_SCENARIOS];
    bool bench = config->mode == MODE_BENCH;
    enum verdict (*run)(struct vcpu * v, const struct caps *caps,
                        const struct config *config, const struct scenario *s) =
        bench ? measure_scenario : run_scenario;
    enum verdict worst = VERDICT_PASS;
    u32 count = 0;

    worst = check_names(v, config->scenarios, worst);
    worst = check_names(v, config->fatal, worst);
    for (const struct scenario *const *s = scenarios_start; s < scenarios_end;
         s++)
        if (selected(v, config, *s) && count < MAX_SCENARIOS)
            list[count++] = *s;
    put_in_order(list, count, config);
    put_last(list, count, LAST); /* whatever the order is */
    put_last(list, count, LAST_OF_ALL);
    for (u32 n = 0; n < count; n++) {
        enum verdict verdict = run(v, caps, config, list[n]);

        if (verdict > worst)
            worst = verdict;
    }
    ring_tick(v->ring, rdtsc());
    trace_run_end(v->ring, count);
    dumper_drain();
    return worst;
}
