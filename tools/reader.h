/*
 * Reads a whole stream and hands out what is in it; damage is complained
 * about on the way and counted.
 */
#ifndef TOOLS_READER_H
#define TOOLS_READER_H

#include "tools/decode.h"
#include "tools/stream.h"

/* Whoever reads; NULL members are not wanted. */
struct reader_ops {
    void (*line)(void *ctx, const char *text);
    void (*run)(void *ctx); /* Tollgate started, or started again */
    void (*metadata)(void *ctx, const struct item *item);
    void (*packet)(void *ctx, const struct item *item);
    void (*event)(void *ctx, const struct event_view *e);
};

struct reading {
    const char *name;   /* of the source */
    bool damaged;       /* frames lost or damaged, packets not decoded */
    bool ended;         /* the last run in it came to its end */
    bool other_version; /* its packets are another schema's */
    u64 frames;
    u64 discarded; /* events that the ring had no room for */
    char last_line[256];
};

/* False: the source cannot be opened (said on stderr). */
bool read_stream(const char *source, const struct reader_ops *ops, void *ctx,
                 struct reading *reading);

/* Does it hold a run, to the end? Says on stderr what is missing. Of another
 * version's stream nobody knows. */
bool reading_whole(const struct reading *reading);

#endif
