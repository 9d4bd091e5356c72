/*
 * The rules of VM entry as data and pure functions over a copy of the VMCS:
 * nothing here touches a CPU, so the unit tests run all of it.
 */
#ifndef HV_VMX_RULES_H
#define HV_VMX_RULES_H

#include "hv/entry.h"
#include "hv/vmx/vmx.h"

/* The fields of the VMCS, counted; then what a rule may be about besides: the
 * last entry of the VM-entry MSR-load area. */
enum vmcs_index {
#define FIELD(name, encoding) INDEX_##name,
#include "hv/vmx/vmcs.def"
    VMCS_FIELDS,
    INDEX_MSR_LOAD_INDEX = VMCS_FIELDS,
    INDEX_MSR_LOAD_VALUE,
    VMX_STATE_FIELDS
};

/* All that the checks of SDM chapter 27 look at. */
struct vmx_state {
    u64 f[VMX_STATE_FIELDS]; /* 0 for a field that this CPU does not have */

    /* The CPU: capability MSRs (SDM Appendix A) and address widths. */
    u64 allowed[CONTROLS];
    u64 proc3_allowed, exit2_allowed, basic, misc, ept_vpid, vmfunc;
    u64 cr0_fixed0, cr0_fixed1, cr4_fixed0, cr4_fixed1;
    u8 physical_bits, linear_bits;
    bool sgx;

    /* Memory that the state points to. */
    u64 current;       /* this VMCS */
    u32 link_revision; /* first word at the VMCS link pointer */
    u8 vtpr;           /* VTPR[7:4] */

    /* Places for the recipes: a page for anything, one that begins with the
     * VMCS revision, a list of two valid MSR entries. */
    u64 page, region, list;
    u64 directory; /* the guest's page directory, as an entry present */
};

struct vmx_change {
    u16 index; /* enum vmcs_index */
    u8 how;    /* enum vmx_how */
    u64 value;
};

#define MAX_SETUP 5

struct vmx_rule {
    struct entry_rule rule; /* first: what the neutral side sees */
    bool (*ok)(const struct vmx_state *s);
    struct vmx_change spoil; /* how HOW_NOTHING: there is no recipe */
    struct vmx_change setup[MAX_SETUP];
};

enum vmx_how {
    HOW_NOTHING,
    HOW_SET,
    HOW_OR,
    HOW_CLEAR,
    HOW_FLIP,
    HOW_BEYOND,    /* sets the first bit beyond the physical-address width */
    HOW_TOP,       /* the last 16 bytes of physical memory */
    HOW_PAGE,      /* state.page, plus value */
    HOW_REGION,    /* state.region */
    HOW_LIST,      /* state.list, plus value */
    HOW_CURRENT,   /* state.current */
    HOW_DIRECTORY, /* state.directory */
    HOW_DENIED,    /* sets the highest bit that control word `value` may not */
};

enum {
#define RULE(id, ...) VMX_RULE_##id,
#define ONLY(id, ...) RULE(id, )
#include "hv/vmx/rules.def"
    VMX_RULES
};

extern const struct vmx_rule vmx_rules[VMX_RULES];

/* What the change makes of its field. */
u64 vmx_changed(const struct vmx_state *s, const struct vmx_change *c);

#endif
