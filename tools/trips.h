/*
 * Round trips in a recorded benchmark: how long each took, by exit kind.
 */
#ifndef TOOLS_TRIPS_H
#define TOOLS_TRIPS_H

#include "hv/exit.h"
#include "tools/decode.h"

/* The CPUIDs in a row, as hvm:bench tells of them. */
enum loop { LOOP_BARE, LOOP_UNTRACED, LOOP_TRACED, LOOPS };
struct loop_cost {
    bool seen;
    double ticks, ring_bytes, wire_bytes; /* a trip */
};

struct kind_trips {
    u64 *ticks; /* from its exit event to the entry event, of each trip */
    u32 count;
};

struct trips {
    struct kind_trips of[EXIT_KINDS];
    struct loop_cost loops[LOOPS];
    struct kind_trips between; /* from an entry to the next exit, in a loop */
    u64 outside; /* of a trip's two events: the stubs, and the guest's own
                    instruction */
    u8 kind;     /* of the exit under way, EXIT_NONE: there is none */
    u64 since;   /* when it came, or the entry */
};

/* Takes the next event. */
void trips_event(struct trips *t, const struct event_view *e);

/* The median of a kind's trips, from the guest's instruction to its next one.
 * 0: there was none. */
u64 trips_cost(const struct trips *t, enum exit_kind kind);

void trips_free(struct trips *t);

#endif
