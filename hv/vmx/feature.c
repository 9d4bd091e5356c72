/*
 * What a scenario switches on beside exits: features that are a control's bit
 * and nothing else, those that need a structure, and the bitmaps of VMCS
 * shadowing.
 */
#include "hv/vmx/vmx.h"

#include "hv/cpu.h"
#include "hv/lib.h"
#include "hv/memory.h"
#include "hv/msr.h"

/* SDM 25.4.2, 25.10: VMREAD and VMWRITE of the guest go to the VMCS that the
 * link pointer names, unless the bitmaps make them exit. At first all do. */
static void prepare_shadow(struct vmx_area *a, bool on)
{
    memset(a->vmread, 0xff, sizeof(a->vmread));
    memset(a->vmwrite, 0xff, sizeof(a->vmwrite));
    a->shadow.revision =
        ((u32)rdmsr(MSR_VMX_BASIC) & VMX_BASIC_REVISION) | REVISION_SHADOW;
    vmx_clear(phys(&a->shadow));
    vmwrite(VMCS_VMREAD_BITMAP, phys(a->vmread));
    vmwrite(VMCS_VMWRITE_BITMAP, phys(a->vmwrite));
    vmwrite(VMCS_VMCS_LINK_POINTER, on ? phys(&a->shadow) : ~0ull);
}

bool vmx_use(struct vcpu *v, enum feature f, bool on)
{
    u64 eptp;
    u32 msr;
    u8 bit;

    if (f == FEAT_EPT_AD) { /* SDM 25.6.11: bit 6 of the EPT pointer */
        eptp = vmread(VMCS_EPTP);
        vmwrite(VMCS_EPTP, on ? eptp | EPTP_AD : eptp & ~EPTP_AD);
        return true;
    }
    if (!feature_control(f, &msr, &bit) || !vmx_arm_capability(msr, bit, on))
        return false;
    if (f == FEAT_VMX_SHADOW_VMCS)
        prepare_shadow(vmx_area(v), on);
    return true;
}

/* Without VMCS shadowing both instructions exit whatever the field is. */
bool vmx_arm_field(struct vcpu *v, bool write, u32 field, bool on)
{
    struct vmx_area *a = vmx_area(v);

    if (!(vmread(VMCS_PROC2_CONTROLS) & PROC2_SHADOW_VMCS))
        return on;
    return vmx_arm_bit(write ? a->vmwrite : a->vmread, VMCS_FIELD_INDEX(field),
                       on);
}
