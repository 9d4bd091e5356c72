/*
 * The per-CPU ring: sub-buffers that are CTF 1.8 packets. One producer (the
 * CPU), one consumer (the dumper); no lock and no atomic read-modify-write.
 *
 * Events are written at the ring's clock. An exit event makes room for all the
 * events of its crossing, so that those fit without a question.
 *
 * When every sub-buffer is full a new event is discarded and counted; the
 * running total stands in each packet's context.
 *
 * This header and ring.c compile into the hypervisor and the host tool alike.
 */
#ifndef TRACE_RING_H
#define TRACE_RING_H

#include "hv/types.h"
#include "trace/enums.h"

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
 * and the whole time (8). A packet begins with the whole time, and a long
 * header tells it again; in the EVENT_WINDOW ticks from there the low bits say
 * enough.
 */
#define EVENT_ID_BITS      5
#define EVENT_ID_MAX       30u /* of the compact header */
#define EVENT_LONG         31u
#define EVENT_TIME_BITS    27
#define EVENT_WINDOW       (1ull << EVENT_TIME_BITS)
#define EVENT_COMPACT_SIZE 4u
#define EVENT_LONG_SIZE    13u

/* What the exit path must see to besides its events: as a rule, nothing. */
enum attention {
    ATTEND_EXIT = 1,   /* class EXIT is written */
    ATTEND_RAW = 2,    /* class RAW is: its words must be fetched */
    ATTEND_PACKET = 4, /* a closed packet waits for the dumper */
    ATTEND_OWNER = 8,  /* the ring's owner has something of its own */
};

struct ring {
    /*
     * Producer's side. The fast path's one question is whether cur is below a
     * limit: then the largest such event fits. The limit is NULL when the fast
     * path does not do wherever cur is: no packet is open, the class is not
     * written, the event needs the long header, or, for an exit event, there
     * is something to attend to.
     */
    u8 *cur;
    u8 *exit_limit;   /* an exit event, and RING_CROSSING bytes behind it */
    u8 *detail_limit; /* a detail event */
    u64 until;        /* the clock's window ends here */
    u32 stamp;        /* the clock, as a compact header has it: id 0 */
    u32 mask;         /* bit n: enum trace_class n is written */
    u32 attention;    /* enum attention */
    u32 head;         /* packets closed so far; store-release publishes one */
    bool lapsed; /* a window has ended: the next event has the long header */
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

/* The classes that are written from now on. RUN always is: no verdict without
 * it; EXIT is with DETAIL or RAW, whose events are about an exit event. */
void ring_set_mask(struct ring *r, u32 mask);

static inline bool ring_wants(const struct ring *r, enum trace_class class)
{
    return (r->mask & 1u << class) != 0;
}

/* Something to attend to has come up, or is done with. */
void ring_attend(struct ring *r, enum attention what, bool on);

/*
 * Moves the clock to now. The TSC of a CPU does not run backwards, so no event
 * is older than the one before it. ring_try_tick() is the short way; false: it
 * does not do, and nothing has happened.
 */
void ring_tick(struct ring *r, u64 tsc);
static inline bool ring_try_tick(struct ring *r, u64 tsc)
{
    if (tsc >= r->until)
        return false;
    r->stamp = (u32)tsc << EVENT_ID_BITS;
    return true;
}

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

/* Room for an event of `size` payload bytes after its header, and for the
 * events of a crossing behind it; opens and closes packets, writes the header.
 * NULL: the class is not written, or the event is discarded. */
u8 *ring_reserve(struct ring *r, enum trace_class class, u32 id, u32 size);

/* The short way when cur is below limit: no packet changes, the header is
 * compact. NULL: it does not do, and nothing has happened. */
static inline u8 *ring_try_reserve(struct ring *r, const u8 *limit, u32 id,
                                   u32 size)
{
    u8 *p = r->cur;
    u32 header = r->stamp | id;

    if (UNLIKELY(p >= limit))
        return NULL;
    __builtin_memcpy(p, &header, sizeof(header));
    r->cur = p + sizeof(header) + size;
    return p + sizeof(header);
}

/* The same for class DETAIL, whose room the exit event has made. So there is
 * the short way only: the event is discarded just when the exit event was. */
static inline u8 *ring_reserve_detail(struct ring *r, u32 id, u32 size)
{
    u8 *p = ring_try_reserve(r, r->detail_limit, id, size);

    if (UNLIKELY(!p))
        r->discarded += ring_wants(r, CLASS_DETAIL);
    return p;
}

/* A text field: at most RING_STR_MAX bytes and the NUL. */
#define RING_STR_MAX 255u
u32 ring_str_size(const char *s);       /* bytes it takes, NUL included */
u8 *ring_put_str(u8 *p, const char *s); /* writes it; returns its end */

#endif
