/*
 * Failed VM entries, neutral part: compares what the CPU says about a state
 * with what the rules say, and tells a user which rule it was.
 */
#include "hv/entry.h"

#include "hv/console.h"
#include "hv/format.h"
#include "hv/guest.h"
#include "hv/judge.h"
#include "hv/run.h"
#include "hv/scenario.h"

static const struct entry_checks *checks_of(const struct vcpu *v)
{
    return v->ops->checks;
}

static bool is_refusal(u8 kind)
{
    return kind == EXIT_ENTRY_INVALID || kind == EXIT_ENTRY_MSR_LOAD;
}

static void form_opinion(struct vcpu *v, struct entry_opinion *o)
{
    const struct entry_checks *c = checks_of(v);

    o->refusals = 0;
    c->look(v);
    for (u32 n = c->refused(0); n < c->count; n = c->refused(n + 1)) {
        if (o->refusals < ENTRY_OPINIONS) {
            o->rule[o->refusals] = (u16)n;
            o->value[o->refusals] = c->value(n);
        }
        o->refusals++;
    }
}

void entry_examine(struct vcpu *v)
{
    form_opinion(v, &v->run->opinion);
}

void entry_compare(struct vcpu *v)
{
    const struct entry_opinion *o = &v->run->opinion;
    const struct entry_rule *rule;
    bool refused = is_refusal(v->exit.kind);
    char reason[128] = "CPU refuses the entry, no rule does";

    if (o->refusals && !refused) {
        rule = checks_of(v)->rule(o->rule[0]);
        format(reason, sizeof(reason),
               "rule %s, %s: CPU accepts, predicate refuses", rule->name,
               rule->section);
    }
    if (refused != (o->refusals != 0))
        judge(v->run, VERDICT_FAIL, reason);
    guest_check(v, "entry refused", o->refusals != 0, refused);
}

/* A CPU may have written over the state that it refused (AMD-V says nothing
 * about it), so what was seen before the first entry counts if it was that. */
void entry_explain(struct vcpu *v)
{
    struct entry_opinion now;
    const struct entry_opinion *o = &now;

    if (v->run && v->run->exits <= 1 && v->run->opinion.refusals)
        o = &v->run->opinion;
    else
        form_opinion(v, &now);
    if (!o->refusals)
        print("VM entry failed, and no rule says why\n");
    for (u32 i = 0; i < o->refusals && i < ENTRY_OPINIONS; i++) {
        const struct entry_rule *rule = checks_of(v)->rule(o->rule[i]);

        print("VM entry failed: rule %s of %s: %s is 0x%llx, but %s\n",
              rule->name, rule->section, rule->field,
              (unsigned long long)o->value[i], rule->must);
    }
}

/* The rule of this number, and no other, is broken; none: no rule is. */
static void check_only(struct vcpu *v, const char *what, u32 rule)
{
    const struct entry_checks *c = checks_of(v);
    u32 first;

    c->look(v);
    first = c->refused(0);
    guest_check(v, what, rule, first);
    if (first < c->count)
        guest_check(v, "second rule that the state breaks", c->count,
                    c->refused(first + 1));
}

static u32 rule_number(const struct vcpu *v)
{
    return v->run->scenario->rule - 1u;
}

void entry_spoil(struct vcpu *v)
{
    u32 n = rule_number(v);

    /* Where the base state injects an event, its handler goes there. */
    v->regs.gpr[R15] = GUEST_GPA(guest_done);
    checks_of(v)->prepare(v, n);
    check_only(v, "rule that the valid state breaks", checks_of(v)->count);
    checks_of(v)->spoil(v, n);
    check_only(v, "rule that the broken state breaks", n);
}

/* When the CPU took the broken state, the guest has run to its end; the
 * second entry still has to be made, for its exit loads the host's own state
 * again, whatever the first one loaded. */
void entry_run_twice(struct vcpu *v)
{
    u32 n = rule_number(v);
    bool refused;

    vcpu_run(v);
    if (v->stop == STOP_TIMEOUT)
        v->run->strays = 0; /* they were the watchdog's */
    refused = is_refusal(v->exit.kind);
    if (refused)
        guest_check(v, "fields that the failed entry changed", 0,
                    checks_of(v)->changed(v, v->run->scenario->timer));
    checks_of(v)->mend(v, n, !refused);
    check_only(v, "rule that the mended state breaks", checks_of(v)->count);
    v->regs.gpr[R15] = GUEST_GPA(guest_done);
    watchdog_start();
    vcpu_run(v);
    guest_check(v, "r15", GUEST_GPA(guest_done), v->regs.gpr[R15]);
    v->regs.gpr[R15] = GUEST_CANARY + R15;
}
