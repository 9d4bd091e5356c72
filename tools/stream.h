/*
 * A stream from a platform: opened from whatever holds it, read as it comes,
 * taken apart into text and frames. Frames that are missing are counted by
 * their sequence numbers.
 */
#ifndef TOOLS_STREAM_H
#define TOOLS_STREAM_H

#include <stdio.h>
#include <termios.h>

#include "tools/text.h"
#include "tools/wire_rx.h"

enum item_kind {
    ITEM_END,
    ITEM_LINE,     /* a line of console text: text */
    ITEM_RUN,      /* Tollgate started (again): its first frame follows */
    ITEM_METADATA, /* data, size */
    ITEM_PACKET,   /* data, size */
    ITEM_BAD,      /* a damaged frame: text says how */
    ITEM_LOST,     /* count frames are missing here */
};

/* What it points to is valid until the next stream_next(). */
struct item {
    enum item_kind kind;
    u64 position; /* byte of the stream where it begins */
    const char *text;
    const u8 *data;
    u32 size;
    u32 sequence;
    u32 count;
};

struct stream {
    int fd;
    const char *name;
    bool is_tty;
    struct termios saved; /* of a tty, restored by stream_close() */

    u8 buf[4096];
    size_t len, pos;
    bool ended;
    struct wire_rx rx;
    struct text text;
    u8 pending[8]; /* text bytes that the receiver handed out */
    u32 pending_len, pending_pos;
    struct item queue[4];
    u32 queue_len, queue_pos;
    bool in_run;
    u32 next_sequence;

    /* Totals. A frame that arrived damaged is also counted as lost, when the
     * next one shows the gap. */
    u64 frames, runs, bad, lost;
    u32 complaints;      /* printed so far */
    char last_line[256]; /* the last line of text that is not empty */
};

/* source (kept as the name): NULL or "-" is stdin; else a file, a terminal
 * (switched to raw mode) or a Unix socket. False: it says on stderr what is
 * wrong. */
bool stream_open(struct stream *s, const char *source);
void stream_close(struct stream *s);

/* The next item; waits for it. */
struct item stream_next(struct stream *s);

/* Says on stderr what an ITEM_BAD or ITEM_LOST means; the first few only. */
void stream_complain(struct stream *s, const struct item *item);

/* Was anything damaged or lost? Says on stderr how much. */
bool stream_damaged(const struct stream *s);

#endif
