/* An argument is missing: the instruction length. */
#include "trace/trace.h"

void use(struct ring *ring, u64 tsc, u8 kind, u32 code, u64 rip);
void use(struct ring *ring, u64 tsc, u8 kind, u32 code, u64 rip)
{
    trace_vmexit(ring, tsc, kind, code, rip);
}
