/* The right use of the trace functions: this one compiles. */
#include "trace/trace.h"

void use(struct ring *ring, u8 kind, u32 code, u64 rip);
void use(struct ring *ring, u8 kind, u32 code, u64 rip)
{
    trace_vmexit(ring, kind, code, rip, 2);
    trace_msr(ring, DIR_READ, code, rip);
    trace_check_failed(ring, "rip", rip, 0);
}
