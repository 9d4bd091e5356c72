/*
 * The VT-x back end: struct hv_ops over one VMCS per vCPU. There is one vCPU
 * for each CPU, so its VMCS stays current from reset to reset.
 */
#include "hv/vmx/vmx.h"

#include "hv/cpu.h"
#include "hv/crossing.h"
#include "hv/desc.h"
#include "hv/lib.h"
#include "hv/memory.h"
#include "hv/msr.h"

_Static_assert(BLOCKED_BY_STI == BLOCKING_BY_STI &&
                   BLOCKED_BY_MOV_SS == BLOCKING_BY_MOV_SS &&
                   BLOCKED_BY_NMI == BLOCKING_BY_NMI,
               "encoded as they stand");

#define GUEST_VPID 1 /* 0 is the host's (SDM 29.1) */

u64 vmx_bare_trips, vmx_bare_length;

static bool vmxon(u64 region)
{
    bool failed;

    __asm__ volatile("vmxon %1" : "=@ccbe"(failed) : "m"(region) : "memory");
    return !failed;
}

static void vmptrld(u64 vmcs)
{
    __asm__ volatile("vmptrld %0" : : "m"(vmcs) : "cc", "memory");
}

static const char *vmx_probe(const struct caps *c)
{
    const char *missing;
    u64 ept;

    /* CPUID.1:ECX[5] (SDM 24.6, Discovering Support for VMX). */
    if (!caps_has(c, FEAT_VMX))
        return "this CPU has no VT-x (CPUID.1:ECX[5] is 0): use another CPU, "
               "or let the outer hypervisor offer nested VT-x";

    /* Locked without VMX: nothing before the next reset changes that. */
    if ((rdmsr(MSR_FEATURE_CONTROL) &
         (FEATURE_CONTROL_LOCK | FEATURE_CONTROL_VMX_OUTSIDE)) ==
        FEATURE_CONTROL_LOCK)
        return "VT-x is locked off by the firmware (IA32_FEATURE_CONTROL): "
               "enable Intel Virtualization Technology in the firmware setup";

    /* Every control that a vCPU has on, one by one. */
    missing = vmx_controls_missing();
    if (missing)
        return missing;

    /* The form of EPT that Tollgate builds; the MSR exists with EPT. */
    ept = rdmsr(MSR_VMX_EPT_VPID_CAP);
    if (!(ept & EPT_CAP_WALK4))
        return "VT-x here lacks four-level EPT: use another CPU";
    if (!(ept & EPT_CAP_WB))
        return "VT-x here lacks write-back EPT tables: use another CPU";
    if (!(ept & EPT_CAP_INVEPT) ||
        !(ept & (EPT_CAP_INVEPT_SINGLE | EPT_CAP_INVEPT_ALL)))
        return "VT-x here lacks INVEPT: use another CPU";
    return NULL;
}

/* SDM 24.7 (Enabling and Entering VMX Operation), 24.8 (Restrictions). */
static const char *vmx_enable(const struct caps *c)
{
    u64 control = rdmsr(MSR_FEATURE_CONTROL);
    struct vmx_region *region = pages_alloc(1);

    (void)c;
    vmx_decode_init();
    if (!(control & FEATURE_CONTROL_LOCK))
        wrmsr(MSR_FEATURE_CONTROL,
              control | FEATURE_CONTROL_VMX_OUTSIDE | FEATURE_CONTROL_LOCK);
    write_cr0((read_cr0() | rdmsr(MSR_VMX_CR0_FIXED0)) &
              rdmsr(MSR_VMX_CR0_FIXED1));
    write_cr4((read_cr4() | CR4_VMXE | rdmsr(MSR_VMX_CR4_FIXED0)) &
              rdmsr(MSR_VMX_CR4_FIXED1));
    region->revision = (u32)rdmsr(MSR_VMX_BASIC) & VMX_BASIC_REVISION;
    if (!vmxon(phys(region)))
        return "VMXON failed: the firmware left VMX operation on; switch its "
               "own hypervisor off in the firmware setup";
    return NULL;
}

/* Every field of the VMCS to 0, so that nothing of the last scenario is left
 * and what is said below is the whole difference. */
static void reset_fields(void)
{
    static const u16 fields[] = {
#define FIELD(name, encoding) encoding,
#include "hv/vmx/vmcs.def"
    };

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (!FIELD_READ_ONLY(fields[i]))
            vmwrite(fields[i], 0);
    vmwrite(VMCS_VMCS_LINK_POINTER, ~0ull); /* none (SDM 25.4.2) */
}

static void reset_controls(struct vcpu *v)
{
    struct vmx_area *a = vmx_area(v);

    for (enum vmx_control c = 0; c < CONTROLS; c++)
        vmwrite(vmx_control_field(c), vmx_control_base(c));
    memset(&a->msr, 0, sizeof(a->msr));
    memset(&a->io, 0, sizeof(a->io));
    memset(&a->apic, 0, sizeof(a->apic));
    vmwrite(VMCS_MSR_BITMAP, phys(&a->msr));
    vmwrite(VMCS_IO_BITMAP_A, phys(a->io.a));
    vmwrite(VMCS_IO_BITMAP_B, phys(a->io.b));
    vmwrite(VMCS_VIRTUAL_APIC_ADDRESS, phys(&a->apic));
    vmwrite(VMCS_LOW_PASID_DIRECTORY, phys(a->empty));
    vmwrite(VMCS_HIGH_PASID_DIRECTORY, phys(a->empty));
    /* One bit for each leaf: all of them, once the control is on. */
    vmwrite(VMCS_PCONFIG_EXITING_BITMAP, ~0ull);
    vmwrite(VMCS_EPTP, vmx_eptp(v->nested_root));
    if (vmx_control_base(CONTROL_PROC2) & PROC2_VPID)
        vmwrite(VMCS_VPID, GUEST_VPID);
}

/* The fields of the eight segment registers lie in the order of enum seg. */
static void vmx_set_segment(struct vcpu *v, enum seg i, const struct segment *s)
{
    u32 rights = s->attr == SEG_UNUSABLE ? RIGHTS_UNUSABLE : s->attr;

    (void)v;
    vmwrite(VMCS_GUEST_ES_SELECTOR + 2 * i, s->selector);
    vmwrite(VMCS_GUEST_ES_LIMIT + 2 * i, s->limit);
    vmwrite(VMCS_GUEST_ES_RIGHTS + 2 * i, rights);
    vmwrite(VMCS_GUEST_ES_BASE + 2 * i, s->base);
}

static void vmx_get_segment(struct vcpu *v, enum seg i, struct segment *s)
{
    u64 rights = vmread(VMCS_GUEST_ES_RIGHTS + 2 * i);

    (void)v;
    s->selector = (u16)vmread(VMCS_GUEST_ES_SELECTOR + 2 * i);
    s->limit = (u32)vmread(VMCS_GUEST_ES_LIMIT + 2 * i);
    s->attr = rights & RIGHTS_UNUSABLE ? (u16)SEG_UNUSABLE : (u16)rights;
    s->base = vmread(VMCS_GUEST_ES_BASE + 2 * i);
}

static void vmx_set(struct vcpu *v, enum guest_reg r, u64 value);

static void reset_guest(struct vcpu *v, const struct guest_state *gs)
{
    for (enum seg i = 0; i < SEGS; i++)
        vmx_set_segment(v, i, &gs->seg[i]);
    vmwrite(VMCS_GUEST_GDTR_BASE, gs->gdt_base);
    vmwrite(VMCS_GUEST_GDTR_LIMIT, gs->gdt_limit);
    vmwrite(VMCS_GUEST_IDTR_BASE, gs->idt_base);
    vmwrite(VMCS_GUEST_IDTR_LIMIT, gs->idt_limit);
    vmwrite(VMCS_GUEST_PAT, gs->pat);
    vmx_set(v, REG_RIP, gs->rip);
    vmx_set(v, REG_RSP, gs->rsp);
    vmx_set(v, REG_RFLAGS, gs->rflags);
    vmx_set(v, REG_CR0, gs->cr0);
    vmx_set(v, REG_CR2, 0);
    vmx_set(v, REG_CR3, gs->cr3);
    vmx_set(v, REG_CR4, gs->cr4);
    vmx_set(v, REG_DR7, gs->dr7);
    for (u32 n = 0; n < 4; n++)
        write_dr(n, 0);
    vmx_set(v, REG_DR6, DR6_RESET);
    vmx_set(v, REG_EFER, gs->efer);
    for (u32 n = 0; n < PDPTES; n++)
        vmx_set(v, (enum guest_reg)(REG_PDPTE0 + n), gs->pdpte[n]);
}

/* What an exit loads (SDM 28.5): the host as it is now. The selectors' RPL
 * must be 0, as they are (SDM 27.2.3). */
static void reset_host(struct vcpu *v)
{
    vmwrite(VMCS_HOST_CR0, read_cr0());
    vmwrite(VMCS_HOST_CR3, read_cr3());
    /* The host has no CET, whatever a rule's recipe has brought it. */
    vmwrite(VMCS_HOST_CR4, read_cr4() & ~CR4_CET);
    vmwrite(VMCS_HOST_CS_SELECTOR, read_cs());
    vmwrite(VMCS_HOST_SS_SELECTOR, read_ss());
    vmwrite(VMCS_HOST_DS_SELECTOR, read_ds());
    vmwrite(VMCS_HOST_ES_SELECTOR, read_es());
    vmwrite(VMCS_HOST_FS_SELECTOR, read_fs());
    vmwrite(VMCS_HOST_GS_SELECTOR, read_gs());
    vmwrite(VMCS_HOST_TR_SELECTOR, str());
    vmwrite(VMCS_HOST_FS_BASE, rdmsr(MSR_FS_BASE));
    vmwrite(VMCS_HOST_GS_BASE, rdmsr(MSR_GS_BASE));
    vmwrite(VMCS_HOST_TR_BASE, desc_tss_base());
    vmwrite(VMCS_HOST_GDTR_BASE, desc_gdt_base());
    vmwrite(VMCS_HOST_IDTR_BASE, desc_idt_base());
    vmwrite(VMCS_HOST_EFER, rdmsr(MSR_EFER));
    vmwrite(VMCS_HOST_PAT, rdmsr(MSR_PAT));
    vmwrite(VMCS_HOST_RSP, (u64)(uintptr_t)v); /* see entry.asm */
    vmwrite(VMCS_HOST_RIP, (u64)(uintptr_t)vmx_exit);
}

static void vmx_reset(struct vcpu *v, const struct guest_state *gs)
{
    struct vmx_area *a = vmx_area(v);

    if (!a) {
        a = pages_alloc(sizeof(*a) / PAGE_SIZE);
        a->vmcs.revision = (u32)rdmsr(MSR_VMX_BASIC) & VMX_BASIC_REVISION;
        v->vendor[SLOT_AREA] = phys(a);
    }
    /* The launch state becomes "clear" (SDM 25.11.3). */
    vmx_clear(phys(&a->vmcs));
    vmptrld(phys(&a->vmcs));
    v->vendor[SLOT_LAUNCHED] = 0;
    v->vendor[SLOT_VMFAIL] = 0;
    reset_fields();
    reset_controls(v);
    reset_guest(v, gs);
    reset_host(v);
    vmx_flush(v);
}

/* SDM 25.8.3 (VM-Entry Controls for Event Injection). The CPU clears the
 * valid bit when the event has been delivered. An NMI whose delivery was
 * interrupted has blocked NMIs already, but to come again it must find them
 * unblocked (SDM 27.3.1.5). */
static void vmx_inject(struct vcpu *v, const struct event *e)
{
    u64 info = INTR_VALID | (u64)e->type << INTR_TYPE_SHIFT | e->vector;

    (void)v;
    if (e->has_error) {
        info |= INTR_HAS_ERROR;
        vmwrite(VMCS_ENTRY_EXCEPTION_ERROR, e->error);
    }
    if (e->type >= EVENT_SOFT_INT)
        vmwrite(VMCS_ENTRY_INSTRUCTION_LENGTH, e->length);
    if (e->type == EVENT_NMI)
        vmwrite(VMCS_GUEST_INTERRUPTIBILITY,
                vmread(VMCS_GUEST_INTERRUPTIBILITY) & ~BLOCKING_BY_NMI);
    vmwrite(VMCS_ENTRY_INTERRUPTION_INFO, info);
}

/* From the RIP of the exit: decode() has read it already. */
static void vmx_advance(struct vcpu *v, u8 length)
{
    u64 blocking = vmread(VMCS_GUEST_INTERRUPTIBILITY);

    vmwrite(VMCS_GUEST_RIP, v->exit.rip + length);
    if (UNLIKELY(blocking & (BLOCKING_BY_STI | BLOCKING_BY_MOV_SS)))
        vmwrite(VMCS_GUEST_INTERRUPTIBILITY,
                blocking & ~(BLOCKING_BY_STI | BLOCKING_BY_MOV_SS));
}

static bool vmx_step(struct vcpu *v, u32 path)
{
    return crossing_step(v, path, vmx_advance);
}

/* Registers that are one field and nothing else. */
static enum vmcs_field register_field(enum guest_reg r)
{
    switch (r) {
    case REG_RIP:
        return VMCS_GUEST_RIP;
    case REG_RSP:
        return VMCS_GUEST_RSP;
    case REG_RFLAGS:
        return VMCS_GUEST_RFLAGS;
    case REG_CR3:
        return VMCS_GUEST_CR3;
    case REG_DR7:
        return VMCS_GUEST_DR7;
    case REG_ACTIVITY:
        return VMCS_GUEST_ACTIVITY;
    case REG_BLOCKING: /* BLOCKED_BY_* are the VMCS's own */
        return VMCS_GUEST_INTERRUPTIBILITY;
    case REG_PENDING_DEBUG:
        return VMCS_GUEST_PENDING_DEBUG;
    case REG_GDTR_BASE:
        return VMCS_GUEST_GDTR_BASE;
    case REG_GDTR_LIMIT:
        return VMCS_GUEST_GDTR_LIMIT;
    case REG_PDPTE0:
    case REG_PDPTE1:
    case REG_PDPTE2:
    case REG_PDPTE3: /* 64-bit fields: encodings two apart */
        return VMCS_GUEST_PDPTE0 + 2 * (r - REG_PDPTE0);
    default:
        return VMCS_GUEST_EFER;
    }
}

static u64 vmx_get(struct vcpu *v, enum guest_reg r)
{
    switch (r) {
    case REG_CR0:
        return vmx_cr_read(0);
    case REG_CR4:
        return vmx_cr_read(4);
    case REG_CR2: /* see vmx_set() */
        return read_cr2();
    case REG_CR8: /* VTPR[7:4] (SDM 30.3) */
        return vmx_area(v)->apic.vtpr >> 4 & 0xf;
    case REG_DR0 ... REG_DR3: /* the host has no use for them either */
        return read_dr(r - REG_DR0);
    case REG_DR6:
        return read_dr6();
    case REG_CPL: /* SS.DPL (SDM 25.4.1) */
        return RIGHTS_DPL(vmread(VMCS_GUEST_SS_RIGHTS));
    default:
        return vmread(register_field(r));
    }
}

static void vmx_set(struct vcpu *v, enum guest_reg r, u64 value)
{
    switch (r) {
    case REG_CR0:
        vmx_cr_write(0, value);
        break;
    case REG_CR4:
        vmx_cr_write(4, value);
        break;
    case REG_CR2:
        /* VT-x does not switch CR2. The host has no use for its own (a page
         * fault of the host ends the scenario), so the guest's stays there. */
        write_cr2(value);
        break;
    case REG_CR8:
        vmx_area(v)->apic.vtpr = (u32)(value & 0xf) << 4;
        break;
    case REG_DR0 ... REG_DR3:
        write_dr(r - REG_DR0, value);
        break;
    case REG_DR6:
        write_dr6(value);
        break;
    case REG_CPL:
        break;
    case REG_EFER: {
        /* EFER.LMA and the entry control must agree (SDM 27.3.1.1). */
        u64 entry = vmread(VMCS_ENTRY_CONTROLS) & ~ENTRY_CTL_GUEST_64;

        vmwrite(VMCS_ENTRY_CONTROLS,
                entry | (value & EFER_LMA ? ENTRY_CTL_GUEST_64 : 0));
        vmwrite(VMCS_GUEST_EFER, value);
        break;
    }
    default:
        vmwrite(register_field(r), value);
        break;
    }
}

/* Interrupts must be kept away: their exits would count as trips too. */
static void vmx_bare(struct vcpu *v, u64 trips, u64 length)
{
    vmx_bare_trips = trips;
    vmx_bare_length = length;
    vmwrite(VMCS_HOST_RIP, (u64)(uintptr_t)vmx_bare_exit);
    vmx_run(v);
    vmwrite(VMCS_HOST_RIP, (u64)(uintptr_t)vmx_exit);
    if (!v->vendor[SLOT_VMFAIL])
        v->vendor[SLOT_LAUNCHED] = 1;
}

const struct hv_ops vmx_ops = {
    .name = "VT-x",
    .vendor = VENDOR_VMX,
    .probe = vmx_probe,
    .enable = vmx_enable,
    .reset = vmx_reset,
    .arm = vmx_arm,
    .use = vmx_use,
    .run = vmx_run,
    .decode = vmx_decode,
    .raw = vmx_raw,
    .word = vmx_word,
    .stray = vmx_stray,
    .set_word = vmx_set_word,
    .inject = vmx_inject,
    .vectoring = vmx_vectoring,
    .advance = vmx_advance,
    .step = vmx_step,
    .get = vmx_get,
    .set = vmx_set,
    .get_segment = vmx_get_segment,
    .set_segment = vmx_set_segment,
    .nested_entry = vmx_nested_entry,
    .flush = vmx_flush,
    .dump = vmx_dump,
    .bare = vmx_bare,
    .checks = &vmx_checks,
};
