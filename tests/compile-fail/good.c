/* The right use of the trace functions: this one compiles. */
#include "trace/trace.h"

void use(struct ring *ring, u64 tsc, u8 kind, u32 code, u64 rip);
void use(struct ring *ring, u64 tsc, u8 kind, u32 code, u64 rip)
{
    trace_vmexit(ring, tsc, kind, code, rip, 2);
    trace_msr(ring, tsc, DIR_READ, code, rip);
    trace_check_failed(ring, tsc, "rip", rip, 0);
}
