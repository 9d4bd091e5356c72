/*
 * The dumper: sends the ring's packets, the metadata and plain text over one
 * line, frame by frame (trace/wire.h). It never makes a running guest wait:
 * dump_poll() sends only what the line takes at once.
 */
#ifndef TRACE_DUMP_H
#define TRACE_DUMP_H

#include "trace/ring.h"
#include "trace/wire.h"

/* The line. It takes several bytes at a time, for where each access to it is
 * expensive: under a hypervisor every one is an exit. */
struct dump_transport {
    u32 (*room)(void); /* how many bytes it takes at once, 0: it is busy */
    void (*put)(const u8 *bytes, u32 count); /* at most as many */
};

struct dump {
    const struct dump_transport *transport;
    struct wire_tx tx;
    struct ring *ring; /* whose oldest packet is being sent, NULL: none */
    u32 sequence;      /* of the next frame */
    bool busy;         /* a frame is under way */
    bool hold;         /* dump_poll() keeps quiet: set by the benchmark */
    u64 bytes;         /* sent in frames so far, for the benchmark */
};

void dump_init(struct dump *d, const struct dump_transport *transport);

/* Sends the CTF metadata in frames of at most DUMP_PIECE bytes; waits. */
#define DUMP_PIECE 1024u
void dump_metadata(struct dump *d, const char *text, size_t len);

/* On the exit path, when ring_waiting(): at most DUMP_BURST bytes of the
 * ring's packets, and only while the line is ready. Never waits. */
#define DUMP_BURST 16
void dump_poll(struct dump *d, struct ring *r);

/* Closes the packet under way and sends all that the ring holds; waits. */
void dump_drain(struct dump *d, struct ring *r, u64 tsc);

/* Sends text, "\n" as "\r\n"; a frame under way is finished first, so that
 * text never stands inside one. Waits. */
void dump_text(struct dump *d, const char *s, size_t len);

/* Cuts the frame under way short, for a fault handler that must print
 * whatever state this is in. The reader reports a damaged frame; the packet
 * stays in the ring and is sent again. */
void dump_abort(struct dump *d);

#endif
