/* An event that the schema does not have. */
#include "trace/trace.h"

void use(struct ring *ring, u64 tsc);
void use(struct ring *ring, u64 tsc)
{
    trace_no_such_event(ring, tsc);
}
