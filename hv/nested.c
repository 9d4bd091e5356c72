/*
 * Nested paging, neutral part: one table for each of the four levels covers
 * the guest's first 2 MiB (SDM 29.3.2, APM 15.25.5: the same 9-bit indices).
 */
#include "hv/nested.h"

#include "hv/lib.h"
#include "hv/memory.h"

#define LEVELS      4
#define ALL_ACCESS  (ACCESS_R | ACCESS_W | ACCESS_X)
#define ENTRY_COUNT 512
#define LARGE       BIT(7) /* of a level-2 entry: maps 2 MiB itself */

/* Top level first; allocated once and used again for each scenario. */
static u64 *tables[LEVELS];

void nested_reset(struct vcpu *v)
{
    for (int level = 0; level < LEVELS; level++) {
        if (!tables[level])
            tables[level] = pages_alloc(1);
        memset(tables[level], 0, PAGE_SIZE);
    }
    nested_repair(v);
    v->nested_root = phys(tables[0]);
}

void nested_repair(struct vcpu *v)
{
    for (int level = 0; level < LEVELS - 1; level++)
        tables[level][0] =
            v->ops->nested_entry(phys(tables[level + 1]), ALL_ACCESS, true);
}

u64 *nested_entry_at(u64 gpa, u32 level)
{
    u32 shift = 12 + 9 * (level - 1);

    return &tables[LEVELS - level][gpa >> shift & (ENTRY_COUNT - 1)];
}

void nested_map(struct vcpu *v, u64 gpa, u64 pa, u32 access)
{
    u64 index = gpa / PAGE_SIZE;

    if (index < ENTRY_COUNT)
        tables[LEVELS - 1][index] = v->ops->nested_entry(pa, access, false);
}

void nested_map_large(struct vcpu *v, u64 gpa, u64 pa, u32 access)
{
    u64 entry = v->ops->nested_entry(pa, access, false);

    *nested_entry_at(gpa, 2) = entry ? entry | LARGE : 0;
}
