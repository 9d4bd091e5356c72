/*
 * Nested paging on VT-x: extended page tables (SDM 29.3). The walk is shared
 * with AMD-V; here is only what an entry looks like.
 */
#include "hv/vmx/vmx.h"

#include "hv/cpu.h"
#include "hv/msr.h"

_Static_assert(ACCESS_R == EPT_READ && ACCESS_W == EPT_WRITE &&
                   ACCESS_X == EPT_EXECUTE,
               "rights are encoded as they stand");

/* All rights 0 is "not present" (SDM 29.3.2). The memory type exists in
 * leaves only; in a table entry its bits are reserved. */
u64 vmx_nested_entry(u64 pa, u32 access, bool table)
{
    if (access == 0)
        return 0;
    return (pa & EPT_ADDRESS) | access |
           (table ? 0 : MEMTYPE_WB << EPT_MEMTYPE_SHIFT);
}

/* Write-back table accesses, four levels, no accessed and dirty flags. */
u64 vmx_eptp(u64 root)
{
    return root | MEMTYPE_WB << EPTP_MEMTYPE_SHIFT | 3ull << EPTP_WALK_SHIFT;
}

/* With EPT on, the only translations that a guest uses are the combined ones,
 * and INVEPT drops them for every VPID (SDM 29.4.3.1): INVVPID adds nothing. */
void vmx_flush(struct vcpu *v)
{
    struct invept_descriptor d = {.eptp = vmx_eptp(v->nested_root)};
    bool single = (rdmsr(MSR_VMX_EPT_VPID_CAP) & EPT_CAP_INVEPT_SINGLE) != 0;

    if (!single)
        d.eptp = 0;
    __asm__ volatile("invept %0, %1"
                     :
                     : "m"(d),
                       "r"(single ? INVEPT_SINGLE_CONTEXT : INVEPT_ALL_CONTEXTS)
                     : "cc", "memory");
}
