/* A text where a number belongs, and the other way round. */
#include "trace/trace.h"

void use(struct ring *ring, u64 want, u64 got);
void use(struct ring *ring, u64 want, u64 got)
{
    trace_check_failed(ring, want, "rip", got);
}
