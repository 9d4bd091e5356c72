/*
 * The dumper: one frame at a time, from one of three sources (packet,
 * metadata, text).
 */
#include "trace/dump.h"

void dump_init(struct dump *d, const struct dump_transport *transport)
{
    *d = (struct dump){.transport = transport};
}

static void put_wait(struct dump *d, u8 byte)
{
    while (!d->transport->ready())
        __builtin_ia32_pause();
    d->transport->put(byte);
}

static void frame_begin(struct dump *d, enum frame_type type, const void *data,
                        u32 size)
{
    wire_begin(&d->tx, type, d->sequence++, data, size);
    d->busy = true;
}

/* The next byte of the frame under way; false: it has ended, and the packet
 * that it carried is released. */
static bool frame_next(struct dump *d, u8 *byte)
{
    if (wire_next(&d->tx, byte)) {
        d->bytes++;
        return true;
    }
    d->busy = false;
    if (d->ring)
        ring_release(d->ring);
    d->ring = NULL;
    return false;
}

static void frame_finish(struct dump *d)
{
    u8 byte;

    while (d->busy && frame_next(d, &byte))
        put_wait(d, byte);
}

/* Begins a frame with the ring's oldest packet; false: there is none. */
static bool packet_begin(struct dump *d, struct ring *r)
{
    const struct packet *p = ring_peek(r);

    if (!p)
        return false;
    d->ring = r;
    frame_begin(d, FRAME_PACKET, p, p->packet_size / 8);
    return true;
}

void dump_metadata(struct dump *d, const char *text, size_t len)
{
    frame_finish(d);
    while (len) {
        u32 piece = len < DUMP_PIECE ? (u32)len : DUMP_PIECE;

        frame_begin(d, FRAME_METADATA, text, piece);
        frame_finish(d);
        text += piece;
        len -= piece;
    }
}

void dump_poll(struct dump *d, struct ring *r)
{
    u8 byte;

    if (d->hold || (!d->busy && !packet_begin(d, r)))
        return;
    for (int i = 0; i < DUMP_BURST && d->transport->ready(); i++) {
        if (!frame_next(d, &byte))
            return;
        d->transport->put(byte);
    }
}

static void send_all(struct dump *d, struct ring *r)
{
    frame_finish(d);
    while (packet_begin(d, r))
        frame_finish(d);
}

void dump_drain(struct dump *d, struct ring *r, u64 tsc)
{
    ring_flush(r, tsc);
    send_all(d, r);
    /* A full ring had no packet left to tell how much it discarded. */
    ring_flush(r, tsc);
    send_all(d, r);
}

void dump_text(struct dump *d, const char *s, size_t len)
{
    frame_finish(d);
    for (; len; s++, len--) {
        if (*s == '\n')
            put_wait(d, '\r');
        put_wait(d, (u8)*s);
    }
}

void dump_abort(struct dump *d)
{
    if (d->busy)
        for (const char *s = WIRE_END; *s; s++)
            put_wait(d, (u8)*s);
    d->busy = false;
    d->ring = NULL;
}
