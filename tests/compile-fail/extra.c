/* One argument too many. */
#include "trace/trace.h"

void use(struct ring *ring, u64 value);
void use(struct ring *ring, u64 value)
{
    trace_tsc(ring, value, 1);
}
