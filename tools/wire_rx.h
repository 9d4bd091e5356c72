/*
 * The receiving end of the wire (trace/wire.h): takes a line byte by byte and
 * tells frames and text apart. After any damage it finds its place again at
 * the next frame; what is damaged is reported, never guessed at.
 */
#ifndef TOOLS_WIRE_RX_H
#define TOOLS_WIRE_RX_H

#include "trace/wire.h"

enum wire_event {
    WIRE_MORE,  /* the byte belongs to a frame, or nothing is certain yet */
    WIRE_TEXT,  /* text[0..text_len) is plain text */
    WIRE_FRAME, /* a whole frame: type, sequence, data, size are valid */
    WIRE_BAD,   /* a damaged frame, begun at byte `start`: why says how;
                   text[0..text_len), if any, is plain text after it */
};

/* Characters of the longest body: 9 bytes packed for 8, 5 digits for 4. */
#define WIRE_MAX_PACKED (WIRE_MAX_PAYLOAD / 8 * 9 + 1)
#define WIRE_MAX_BODY   (WIRE_MAX_PACKED / 4 * 5 + 4)

struct wire_rx {
    enum {
        RX_TEXT,     /* between frames; `held` bytes of WIRE_START seen */
        RX_BODY,     /* in a frame */
        RX_BODY_ESC, /* in a frame, after ESC */
        RX_SKIP,     /* in the rest of a damaged frame */
        RX_SKIP_ESC,
    } state;
    u32 held;
    u64 position; /* bytes taken so far */
    u64 esc;      /* where the ESC is that may begin a frame */
    u64 start;    /* where the frame under way, or the last one, began */

    u8 text[8];
    u32 text_len;
    const char *why;
    u8 type;
    u32 sequence;
    const u8 *data;
    u32 size;

    u32 body_len;
    u8 body[WIRE_MAX_BODY];
    u8 packed[WIRE_MAX_PACKED];
    u8 payload[WIRE_MAX_PAYLOAD + 8]; /* the last group may overshoot */
};

void wire_rx_init(struct wire_rx *rx);
enum wire_event wire_rx_byte(struct wire_rx *rx, u8 byte);

/* The line has ended: WIRE_BAD when that was inside a frame, WIRE_TEXT when
 * bytes were held back, else WIRE_MORE. */
enum wire_event wire_rx_end(struct wire_rx *rx);

#endif
