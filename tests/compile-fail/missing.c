/* An argument is missing: the instruction length. */
#include "trace/trace.h"

void use(struct ring *ring, u8 kind, u32 code, u64 rip);
void use(struct ring *ring, u8 kind, u32 code, u64 rip)
{
    trace_vmexit(ring, kind, code, rip);
}
