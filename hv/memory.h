/*
 * The page arena: all memory that the hypervisor ever allocates. Pages are
 * handed out in order and never given back. Virtual is physical.
 */
#ifndef HV_MEMORY_H
#define HV_MEMORY_H

#include "hv/types.h"

/* base and size are page-aligned. */
void memory_init(u64 base, u64 size);

/* count pages in a row, page-aligned, zeroed. When the arena is exhausted a
 * line says so and the run ends with error status. */
void *pages_alloc(u32 count);

/* As pages_alloc(), for a stack: the page below is never mapped, so that an
 * overflow faults instead of writing to somebody else's page. Returns the
 * lowest usable address; the stack's top is count pages above. */
void *pages_alloc_guarded(u32 count);

/* Whether a guard page of pages_alloc_guarded() lies at this address. */
bool memory_is_guard(u64 address);

/* The address as a hardware structure needs it. */
static inline u64 phys(const void *p)
{
    return (u64)(uintptr_t)p;
}

/* What is left, for the banner. */
u64 memory_free_pages(void);

#endif
