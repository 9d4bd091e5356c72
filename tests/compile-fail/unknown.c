/* An event that the schema does not have. */
#include "trace/trace.h"

void use(struct ring *ring);
void use(struct ring *ring)
{
    trace_no_such_event(ring);
}
