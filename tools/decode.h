/*
 * Takes packets apart into events, by the schema tables. Never reads outside
 * a packet, whatever is in it.
 */
#ifndef TOOLS_DECODE_H
#define TOOLS_DECODE_H

#include "trace/ring.h"
#include "trace/schema.h"

/* One event; texts point into the packet. */
struct event_view {
    const struct schema_event *schema;
    u64 time; /* all 64 bits */
    u32 cpu;
    u64 value[SCHEMA_FIELDS_MAX]; /* of integer fields */
    const char *text[SCHEMA_FIELDS_MAX];
};

enum decode_result {
    DECODE_OK,
    DECODE_END,           /* no event is left */
    DECODE_OTHER_VERSION, /* another schema's packet: error says so */
    DECODE_DAMAGED,       /* error and error_at say what and where */
};

struct decoder {
    struct packet packet; /* its header and context */
    const u8 *data;
    u32 pos, end; /* bytes */
    u64 time;     /* of the last event */
    const char *error;
    u32 error_at; /* byte of the packet */
};

/* Checks the packet's own description of itself. */
enum decode_result decode_begin(struct decoder *d, const u8 *data, u32 size);

/* The next event. After anything but DECODE_OK the packet is done with. */
enum decode_result decode_next(struct decoder *d, struct event_view *e);

#endif
