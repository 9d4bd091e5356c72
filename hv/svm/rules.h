/*
 * The rules of VMRUN as data and pure functions over a copy of the VMCB:
 * nothing here touches a CPU, so the unit tests run all of it.
 */
#ifndef HV_SVM_RULES_H
#define HV_SVM_RULES_H

#include "hv/entry.h"
#include "hv/svm/svm.h"

/* All that the checks look at. */
struct svm_state {
    union vmcb vmcb;
    u64 cr4_allowed; /* by CPUID */
    u64 u_cet;       /* the MSR, 0 where there is none */
    u64 page;        /* where PAGE() points to: zeroed, three in a row */
    u8 physical_bits;
};

struct svm_change {
    u16 offset; /* in the VMCB */
    u8 size;
    u8 how; /* enum svm_how */
    u64 value;
};

#define MAX_SETUP 5

struct svm_rule {
    struct entry_rule rule; /* first: what the neutral side sees */
    bool (*ok)(const struct svm_state *s);
    struct svm_change spoil;
    struct svm_change setup[MAX_SETUP];
};

enum svm_how {
    HOW_NOTHING,
    HOW_SET,
    HOW_OR,
    HOW_CLEAR,
    HOW_TOP,  /* the end of the physical address space, less `value` */
    HOW_PAGE, /* `value` bytes behind the state's page */
};

enum {
#define RULE(id, ...) SVM_RULE_##id,
#define ONLY(id, ...) RULE(id, )
#include "hv/svm/rules.def"
    SVM_RULES
};

extern const struct svm_rule svm_rules[SVM_RULES];

/* The field that a change is about. */
u64 svm_field(const union vmcb *b, const struct svm_change *c);

/* Makes the change. */
void svm_apply(const struct svm_state *s, union vmcb *b,
               const struct svm_change *c);

#endif
