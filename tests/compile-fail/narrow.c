/* The value of an MSR stands where its 32-bit index belongs. */
#include "trace/trace.h"

void use(struct ring *ring, u32 index, u64 value);
void use(struct ring *ring, u32 index, u64 value)
{
    trace_msr(ring, DIR_READ, value, index);
}
