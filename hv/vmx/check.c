/*
 * The rules of VM entry against this CPU: copies what the current VMCS holds,
 * and carries out the recipes that break a rule and mend it.
 */
#include "hv/vmx/rules.h"

#include "hv/cpu.h"
#include "hv/guest.h"
#include "hv/lib.h"
#include "hv/memory.h"
#include "hv/msr.h"

static const u16 encodings[VMCS_FIELDS] = {
#define FIELD(name, encoding) encoding,
#include "hv/vmx/vmcs.def"
};

/* Memory for the recipes. In each page the same word over and over, so that
 * a list of MSR entries reads alike at every multiple of 8: IA32_SYSENTER_ESP
 * with its own number as value, which each exit takes back. */
static struct places {
    u64 page[PAGE_SIZE / 8];
    u64 region[PAGE_SIZE / 8];
    u64 list[PAGE_SIZE / 8];
} * places;
#define LIST_LAST 2 /* index of the second entry, in words */

static struct vmx_state state;   /* the copy */
static struct vmx_state content; /* the valid state that was broken */

/* Bits 11:10 of an encoding are the area (SDM 25.11.2). */
static bool read_only(u32 n)
{
    return (encodings[n] >> 10 & 3) == 1;
}

static void read_cpu(struct vmx_state *s)
{
    u32 out[4];

    cpuid(0x80000008, 0, out);
    s->physical_bits = (u8)out[0];
    s->linear_bits = (u8)(out[0] >> 8);
    cpuid(7, 0, out);
    s->sgx = out[1] >> 2 & 1;
    for (enum vmx_control c = 0; c < CONTROLS; c++)
        s->allowed[c] = vmx_control_allowed(c);
    s->basic = rdmsr(MSR_VMX_BASIC);
    s->misc = rdmsr(MSR_VMX_MISC);
    s->ept_vpid = rdmsr(MSR_VMX_EPT_VPID_CAP);
    if (CONTROL_MAY_BE_1(s->allowed[CONTROL_PROC2]) & PROC2_VMFUNC)
        s->vmfunc = rdmsr(MSR_VMX_VMFUNC);
    if (CONTROL_MAY_BE_1(s->allowed[CONTROL_PROC]) & PROC_TERTIARY)
        s->proc3_allowed = rdmsr(MSR_VMX_PROCBASED_CTLS3);
    if (CONTROL_MAY_BE_1(s->allowed[CONTROL_EXIT]) & EXIT_CTL_SECONDARY)
        s->exit2_allowed = rdmsr(MSR_VMX_EXIT_CTLS2);
    s->cr0_fixed0 = rdmsr(MSR_VMX_CR0_FIXED0);
    s->cr0_fixed1 = rdmsr(MSR_VMX_CR0_FIXED1);
    s->cr4_fixed0 = rdmsr(MSR_VMX_CR4_FIXED0);
    s->cr4_fixed1 = rdmsr(MSR_VMX_CR4_FIXED1);
}

static void fill_places(struct vmx_state *s)
{
    if (!places)
        places = pages_alloc(sizeof(*places) / PAGE_SIZE);
    memset(places, 0, sizeof(*places));
    for (u32 n = 0; n < PAGE_SIZE / 8; n++)
        places->page[n] = places->list[n] = MSR_SYSENTER_ESP;
    places->region[0] = s->basic & VMX_BASIC_REVISION;
    s->page = phys(places->page);
    s->region = phys(places->region);
    s->list = phys(places->list);
    s->directory = GUEST_GPA(guest_pd) | 1;
}

/* The first word at the VMCS link pointer. Only memory that is known to be
 * there is read; any other counts as right. */
static u32 revision_at_link(const struct vcpu *v, const struct vmx_state *s)
{
    u64 link = s->f[INDEX_VMCS_LINK_POINTER];
    u32 shadow = s->f[INDEX_PROC2_CONTROLS] & PROC2_SHADOW_VMCS ? 1u << 31 : 0;

    if (link == s->current)
        return vmx_area(v)->vmcs.revision;
    if (link == s->page)
        return (u32)places->page[0];
    if (link == s->region)
        return (u32)places->region[0];
    return ((u32)s->basic & VMX_BASIC_REVISION) | shadow;
}

static void look(struct vcpu *v)
{
    struct vmx_state *s = &state;

    if (!places) {
        read_cpu(s);
        fill_places(s);
    }
    for (u32 n = 0; n < VMCS_FIELDS; n++) {
        u64 value;

        s->f[n] = vmread_checked(encodings[n], &value) ? value : 0;
    }
    s->current = phys(&vmx_area(v)->vmcs);
    s->link_revision = revision_at_link(v, s);
    s->vtpr = (u8)(vmx_area(v)->apic.vtpr >> 4 & 0xf);
    s->f[INDEX_MSR_LOAD_INDEX] = places->list[LIST_LAST];
    s->f[INDEX_MSR_LOAD_VALUE] = places->list[LIST_LAST + 1];
}

static const struct entry_rule *rule(u32 n)
{
    return &vmx_rules[n].rule;
}

static u32 refused(u32 from)
{
    while (from < VMX_RULES && vmx_rules[from].ok(&state))
        from++;
    return from;
}

static u64 value(u32 n)
{
    return state.f[vmx_rules[n].spoil.index];
}

static void write(u16 index, u64 to)
{
    if (index < VMCS_FIELDS)
        vmwrite(encodings[index], to);
    else
        places->list[LIST_LAST + index - INDEX_MSR_LOAD_INDEX] = to;
}

static void change(struct vcpu *v, const struct vmx_change *c)
{
    write(c->index, vmx_changed(&state, c));
    look(v);
}

/* Some CPUs drop the reserved bits of access rights at VMWRITE, and KVM does as
 * they do: a VMCS never has them there. */
static const char *unmade(struct vcpu *v, u32 n)
{
    const struct vmx_change *c = &vmx_rules[n].spoil;
    u64 want;
    bool kept;

    if (c->index < INDEX_GUEST_ES_RIGHTS || c->index > INDEX_GUEST_TR_RIGHTS)
        return NULL;
    look(v);
    want = vmx_changed(&state, c);
    vmwrite(encodings[c->index], want);
    kept = vmread(encodings[c->index]) == want;
    vmwrite(encodings[c->index], state.f[c->index]);
    return kept ? NULL : "VMWRITE drops the reserved bits of access rights";
}

static void prepare(struct vcpu *v, u32 n)
{
    look(v);
    fill_places(&state);
    for (u32 i = 0; i < MAX_SETUP && vmx_rules[n].setup[i].how; i++)
        change(v, &vmx_rules[n].setup[i]);
}

/* Without EPT the guest's addresses would be the host's: should the CPU take
 * that, its timer ends the guest before the first instruction. */
static void spoil(struct vcpu *v, u32 n)
{
    content = state;
    change(v, &vmx_rules[n].spoil);
    if (!(state.f[INDEX_PROC2_CONTROLS] & PROC2_EPT))
        vmwrite(VMCS_PREEMPTION_TIMER, 0);
}

static void mend(struct vcpu *v, u32 n, bool all)
{
    (void)v;
    write(vmx_rules[n].spoil.index, content.f[vmx_rules[n].spoil.index]);
    if (!(state.f[INDEX_PROC2_CONTROLS] & PROC2_EPT))
        vmwrite(VMCS_PREEMPTION_TIMER, content.f[INDEX_PREEMPTION_TIMER]);
    for (u32 i = 0; all && i < VMCS_FIELDS; i++)
        if (!read_only(i))
            vmwrite(encodings[i], content.f[i]);
}

/* An entry that fails writes read-only fields alone (SDM 27.8, 31.2). */
static u32 changed(struct vcpu *v, bool timer)
{
    u32 count = 0;
    u64 now;

    (void)v;
    for (u32 n = 0; n < VMCS_FIELDS; n++)
        if (!read_only(n) && (timer || n != INDEX_PREEMPTION_TIMER) &&
            vmread_checked(encodings[n], &now) && now != state.f[n])
            count++;
    return count;
}

const struct entry_checks vmx_checks = {
    .count = VMX_RULES,
    .rule = rule,
    .look = look,
    .refused = refused,
    .value = value,
    .unmade = unmade,
    .prepare = prepare,
    .spoil = spoil,
    .mend = mend,
    .changed = changed,
};
