/*
 * The dumper: one frame at a time, from one of three sources (packet,
 * metadata, text).
 */
#include "trace/dump.h"

void dump_init(struct dump *d, const struct dump_transport *transport)
{
    *d = (struct dump){.transport = transport};
}

static u32 wait_room(struct dump *d)
{
    u32 room;

    while (!(room = d->transport->room()))
        __builtin_ia32_pause();
    return room;
}

static void put_wait(struct dump *d, const u8 *bytes, u32 count)
{
    while (count) {
        u32 room = wait_room(d), n = count < room ? count : room;

        d->transport->put(bytes, n);
        bytes += n;
        count -= n;
    }
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

/* As many bytes of the frame under way as the line takes. */
static void frame_put(struct dump *d, u32 room)
{
    u8 bytes[DUMP_BURST];
    u32 n = 0;

    while (n < room && n < DUMP_BURST && frame_next(d, &bytes[n]))
        n++;
    if (n)
        d->transport->put(bytes, n);
}

static void frame_finish(struct dump *d)
{
    while (d->busy)
        frame_put(d, wait_room(d));
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
    if (d->hold || (!d->busy && !packet_begin(d, r)))
        return;
    frame_put(d, d->transport->room());
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
    u8 bytes[DUMP_BURST];
    u32 n = 0;

    frame_finish(d);
    for (; len; s++, len--) {
        if (*s == '\n')
            bytes[n++] = '\r';
        bytes[n++] = (u8)*s;
        if (n >= DUMP_BURST - 1 || len == 1) {
            put_wait(d, bytes, n);
            n = 0;
        }
    }
}

void dump_abort(struct dump *d)
{
    if (d->busy)
        put_wait(d, (const u8 *)WIRE_END, sizeof(WIRE_END) - 1);
    d->busy = false;
    d->ring = NULL;
}
