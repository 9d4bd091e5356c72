/*
 * Nested paging: the four-level walk that EPT and NPT share. Entries are the
 * back end's (hv_ops.nested_entry).
 */
#ifndef HV_NESTED_H
#define HV_NESTED_H

#include "hv/vcpu.h"

/* Starts v->nested_root afresh: nothing is mapped. */
void nested_reset(struct vcpu *v);

/* Maps the 4 KiB page at guest-physical gpa to pa with ACCESS_* rights, 0: not
 * present. Gpa is below 2 MiB: the guest needs no more (guest/layout.h). */
void nested_map(struct vcpu *v, u64 gpa, u64 pa, u32 access);

/* The same for the 2 MiB page at gpa, below 1 GiB; pa aligned alike. */
void nested_map_large(struct vcpu *v, u64 gpa, u64 pa, u32 access);

/* Makes the entries sound again that lead to the lowest 2 MiB. */
void nested_repair(struct vcpu *v);

/* The entry of a level, 1: the page itself, on the way to gpa. */
u64 *nested_entry_at(u64 gpa, u32 level);

#endif
