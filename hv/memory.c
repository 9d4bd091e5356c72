/* The page arena; see memory.h. */
#include "hv/lib.h"
#include "hv/memory.h"
#include "hv/paging.h"
#include "hv/shutdown.h"

static u64 next, end;

static u64 guards[16];
static u32 guard_count;

void memory_init(u64 base, u64 size)
{
    next = base;
    end = base + size;
}

void *pages_alloc(u32 count)
{
    u64 size = count * PAGE_SIZE;
    void *p = (void *)next;

    if (size > end - next)
        panic("out of memory: %u pages wanted, %lu left of the arena\n", count,
              memory_free_pages());
    next += size;
    memset(p, 0, size);
    return p;
}

void *pages_alloc_guarded(u32 count)
{
    u8 *p = pages_alloc(count + 1);

    if (guard_count == ARRAY_SIZE(guards))
        panic("more than %u guard pages\n", guard_count);
    guards[guard_count++] = phys(p);
    paging_unmap(phys(p));
    return p + PAGE_SIZE;
}

bool memory_is_guard(u64 address)
{
    for (u32 i = 0; i < guard_count; i++)
        if (address - guards[i] < PAGE_SIZE)
            return true;
    return false;
}

u64 memory_free_pages(void)
{
    return (end - next) / PAGE_SIZE;
}
