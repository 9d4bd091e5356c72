/*
 * The rules of VM entry: what the manuals' chapters on consistency checks ask
 * of a state, one row for each, as a second opinion beside the CPU's.
 *
 * A vendor has its rows in hv/<vendor>/rules.def. Each is a predicate over a
 * copy of the state and, as a rule, a recipe that breaks it and nothing else;
 * of each recipe guest/scenarios/entry.c makes a scenario. The same predicates
 * explain a failed entry to a user.
 */
#ifndef HV_ENTRY_H
#define HV_ENTRY_H

#include "hv/vcpu.h"

struct entry_rule {
    const char *name;    /* "rflags_fixed" */
    const char *section; /* "SDM 27.3.1.4" */
    const char *field;   /* "GUEST_RFLAGS" */
    const char *must;    /* "bit 1 must be 1" */
};

/* The rows of one vendor. There is one copy of the state: look() fills it,
 * refused() and value() read it. */
struct entry_checks {
    u32 count;
    const struct entry_rule *(*rule)(u32 n);

    /* Copies the state that the next entry would start from. */
    void (*look)(struct vcpu *v);

    /* The first rule from number `from` on that the copy breaks, or count. */
    u32 (*refused)(u32 from);

    /* What the copy has in the field that rule n is about. */
    u64 (*value)(u32 n);

    /* Before the reset: why this CPU cannot be given the state that breaks
     * rule n, NULL: it can. NULL itself where that does not happen. */
    const char *(*unmade)(struct vcpu *v, u32 n);

    /* After a reset: makes the state one that rule n applies to, valid still;
     * then breaks it in one field; then mends that field. all: the CPU did
     * not refuse the state and may have changed any of it. */
    void (*prepare)(struct vcpu *v, u32 n);
    void (*spoil)(struct vcpu *v, u32 n);
    void (*mend)(struct vcpu *v, u32 n, bool all);

    /* How many fields of the state, as look() found it, a refused entry has
     * changed; 0 where the manual does not say. timer: count VT-x's
     * preemption timer, too. */
    u32 (*changed)(struct vcpu *v, bool timer);
};

#define ENTRY_OPINIONS 4

/* What the rules say about the first entry of a run. */
struct entry_opinion {
    u32 refusals;
    u16 rule[ENTRY_OPINIONS];
    u64 value[ENTRY_OPINIONS];
};

/* Before the first entry, and at the exit after it: the two opinions must be
 * the same. */
void entry_examine(struct vcpu *v);
void entry_compare(struct vcpu *v);

/* Prints each rule that a failed entry broke. */
void entry_explain(struct vcpu *v);

/* The scenario of a rule: .before breaks the state; then it is entered twice,
 * the second time mended. */
void entry_spoil(struct vcpu *v);
void entry_run_twice(struct vcpu *v);

#endif
