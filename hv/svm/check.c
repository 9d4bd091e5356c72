/*
 * The rules of VMRUN against this CPU: copies the VMCB, and carries out the
 * recipes that break a rule and mend it.
 */
#include "hv/svm/rules.h"

#include "hv/cpu.h"
#include "hv/lib.h"
#include "hv/memory.h"
#include "hv/msr.h"

static struct svm_state state; /* the copy */
static union vmcb content;     /* the valid state that was broken */
static u64 content_rax;        /* RAX goes through the VMCB (entry.asm) */

/* CR4: which bit needs which feature (APM 3.1.3); bits 0 to 10 are always
 * there. */
static u64 allowed_cr4(void)
{
    u32 leaf1[4], leaf7[4];
    u64 allowed = 0x7ff;

    cpuid(1, 0, leaf1);
    cpuid(7, 0, leaf7);
    allowed |= leaf7[2] & BIT(2) ? CR4_UMIP : 0;
    allowed |= leaf7[2] & BIT(16) ? CR4_LA57 : 0;
    allowed |= leaf7[1] & BIT(0) ? CR4_FSGSBASE : 0;
    allowed |= leaf1[2] & BIT(17) ? CR4_PCIDE : 0;
    allowed |= leaf1[2] & BIT(26) ? CR4_OSXSAVE : 0;
    allowed |= leaf7[1] & BIT(7) ? CR4_SMEP : 0;
    allowed |= leaf7[1] & BIT(20) ? CR4_SMAP : 0;
    allowed |= leaf7[2] & BIT(3) ? CR4_PKE : 0;
    allowed |= leaf7[2] & BIT(7) ? CR4_CET : 0;
    return allowed | ~0ull << 32; /* these have a rule of their own */
}

static void look(struct vcpu *v)
{
    if (!state.physical_bits) {
        u32 out[4];

        cpuid(0x80000008, 0, out);
        state.physical_bits = (u8)out[0];
        state.cr4_allowed = allowed_cr4();
        state.page = phys(pages_alloc(3));
    }
    if (state.cr4_allowed & CR4_CET)
        state.u_cet = rdmsr(MSR_U_CET);
    state.vmcb = *svm_vmcb(v);
}

static const struct entry_rule *rule(u32 n)
{
    return &svm_rules[n].rule;
}

static u32 refused(u32 from)
{
    while (from < SVM_RULES && svm_rules[from].ok(&state))
        from++;
    return from;
}

static u64 value(u32 n)
{
    return svm_field(&state.vmcb, &svm_rules[n].spoil);
}

static void prepare(struct vcpu *v, u32 n)
{
    for (u32 i = 0; i < MAX_SETUP; i++)
        svm_apply(&state, svm_vmcb(v), &svm_rules[n].setup[i]);
}

static void spoil(struct vcpu *v, u32 n)
{
    content = *svm_vmcb(v);
    content_rax = v->regs.gpr[RAX];
    svm_apply(&state, svm_vmcb(v), &svm_rules[n].spoil);
}

/* The manual does not say what a VMRUN that fails leaves in the VMCB, so all
 * of it is what it was before the field was broken. */
static void mend(struct vcpu *v, u32 n, bool all)
{
    (void)n;
    (void)all;
    *svm_vmcb(v) = content;
    v->regs.gpr[RAX] = content_rax;
}

static u32 changed(struct vcpu *v, bool timer)
{
    (void)timer;
    (void)v;
    return 0;
}

const struct entry_checks svm_checks = {
    .count = SVM_RULES,
    .rule = rule,
    .look = look,
    .refused = refused,
    .value = value,
    .prepare = prepare,
    .spoil = spoil,
    .mend = mend,
    .changed = changed,
};
