/*
 * Nested paging on AMD-V (APM 15.25). The walk is shared with VT-x; here is
 * only what an entry looks like.
 */
#include "hv/svm/svm.h"

/* A long-mode entry; every guest access counts as a user one (15.25.5). What
 * it cannot say: write or execute without read. */
u64 svm_nested_entry(u64 pa, u32 access, bool table)
{
    (void)table;
    if (!(access & ACCESS_R))
        return 0;
    return pa | NPT_P | NPT_US | (access & ACCESS_W ? NPT_RW : 0) |
           (access & ACCESS_X ? 0 : NPT_NX);
}

/* The guest's translations, nested ones included (15.16.1); svm_decode()
 * clears the command behind the entry. */
void svm_flush(struct vcpu *v)
{
    svm_vmcb(v)->tlb_control =
        v->vendor[SLOT_CAPS] & SVM_HAS_FLUSH ? TLB_FLUSH_GUEST : TLB_FLUSH_ALL;
}
