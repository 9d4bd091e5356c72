/*
 * The per-CPU ring: sub-buffers that are CTF 1.8 packets. One producer (the
 * CPU), one consumer (the dumper); no lock and no atomic read-modify-write.
 * When every sub-buffer is full a new event is discarded and counted; the
 * running total stands in each packet's context.
 *
 * This header and ring.c compile into the hypervisor and the host tool alike.
 */
#ifndef TRACE_RING_H
#define TRACE_RING_H

#include "hv/types.h"

#define CTF_MAGIC 0xC1FC1FC1u

/* Packet header and context, as the metadata declares them. */
struct packet {
    u32 magic;
    u8 uuid[16]; /* of the schema: schema_uuid() */
    u32 stream_id;
    u64 timestamp_begin;
    u64 timestamp_end;
    u32 content_size; /* bits, header and context included */
    u32 packet_size;  /* bits */
    u64 events_discarded;
    u64 packet_seq_num;
    u32 cpu_id;
} PACKED;
_Static_assert(sizeof(struct packet) == 68, "the metadata says so");

/*
 * Event header. Compact, 4 bytes: bits 0-4 the id, bits 5-31 the low 27 bits
 * of the time. Long, 13 bytes: EVENT_LONG in the first byte, then the id (4)
 * and the whole time (8); written when the time since the event before does
 * not fit 27 bits.
 */
#define EVENT_ID_BITS      5
#define EVENT_ID_MAX       30u /* of the compact header */
#define EVENT_LONG         31u
#define EVENT_TIME_BITS    27
#define EVENT_COMPACT_SIZE 4u
#define EVENT_LONG_SIZE    13u

struct ring {
    /* Producer's side. While no packet is open cur and limit are NULL, so
     * that the fast path's one comparison (cur < limit) also catches that. */
    u8 *cur;
    u8 *limit; /* below it the largest event without text fits */
    u64 last;  /* timestamp of the last event */
    u32 mask;  /* bit n: enum trace_class n is written */
    u32 head;  /* packets closed so far; store-release publishes one */
    u64 discarded;
    /* Consumer's side. */
    u32 tail; /* packets released so far */
    /* Constants. */
    u32 cpu, sub_size, sub_count;
    u64 reported; /* discarded, as the last closed packet carried it */
    u64 bytes;    /* event bytes in closed packets: ring_bytes() */
    u8 *base;
    u8 uuid[16];
};

/* mem: sub_size * sub_count bytes, sub_count a power of two. */
void ring_init(struct ring *r, void *mem, u32 sub_size, u32 sub_count, u32 cpu,
               const u8 uuid[16], u32 mask);

/* Closes the packet under way, so that the consumer sees all events so far.
 * Writes an empty packet when only a new discard count is to be reported. */
void ring_flush(struct ring *r, u64 tsc);

/* The oldest closed packet or NULL; it stays valid until ring_release(). */
const struct packet *ring_peek(const struct ring *r);
void ring_release(struct ring *r);

/* Is a closed packet waiting? What the exit path asks before dump_poll(). */
static inline bool ring_waiting(const struct ring *r)
{
    return __atomic_load_n(&r->head, __ATOMIC_RELAXED) != r->tail;
}

/* Event bytes, headers included, written so far: for the benchmark. */
u64 ring_bytes(const struct ring *r);

/* Room for an event of `size` payload bytes after its header, or NULL when it
 * is discarded: opens and closes packets, writes the long header when the gap
 * to the last event does not fit the compact one. The fast path is
 * ring_reserve() in trace.h. */
u8 *ring_reserve_slow(struct ring *r, u32 id, u64 tsc, u32 size);

/* A text field: at most RING_STR_MAX bytes and the NUL. */
#define RING_STR_MAX 255u
u32 ring_str_size(const char *s);       /* bytes it takes, NUL included */
u8 *ring_put_str(u8 *p, const char *s); /* writes it; returns its end */

#endif
