/*
 * The per-CPU ring behind the fast path: opening and closing packets, the
 * long event header, discarding, and the consumer's side.
 */
#include "trace/ring.h"
#include "trace/trace.h"

static struct packet *slot(const struct ring *r, u32 n)
{
    return (struct packet *)(r->base +
                             (size_t)(n & (r->sub_count - 1)) * r->sub_size);
}

void ring_init(struct ring *r, void *mem, u32 sub_size, u32 sub_count, u32 cpu,
               const u8 uuid[16], u32 mask)
{
    *r = (struct ring){
        .mask = mask,
        .cpu = cpu,
        .sub_size = sub_size,
        .sub_count = sub_count,
        .base = mem,
    };
    __builtin_memcpy(r->uuid, uuid, sizeof(r->uuid));
}

/* Opens the next sub-buffer as a packet; false when every one is full. The
 * acquire pairs with the release in ring_release(): the consumer has done
 * with the bytes that are overwritten now. */
static bool packet_open(struct ring *r, u64 tsc)
{
    if (r->head - __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) == r->sub_count)
        return false;

    struct packet *p = slot(r, r->head);
    *p = (struct packet){
        .magic = CTF_MAGIC,
        .timestamp_begin = tsc,
        .packet_seq_num = r->head,
        .cpu_id = r->cpu,
    };
    __builtin_memcpy(p->uuid, r->uuid, sizeof(p->uuid));
    r->last = tsc;
    r->cur = (u8 *)(p + 1);
    r->limit = (u8 *)p + r->sub_size - TRACE_FIXED_MAX + 1;
    return true;
}

/* Completes the packet under way and hands it to the consumer. Nothing pads
 * it: packet and content end together, and only so much is sent. */
static void packet_close(struct ring *r)
{
    struct packet *p = slot(r, r->head);
    u32 size = (u32)(r->cur - (u8 *)p);

    p->timestamp_end = r->last;
    p->content_size = size * 8;
    p->packet_size = size * 8;
    p->events_discarded = r->discarded;
    r->reported = r->discarded;
    r->bytes += size - sizeof(*p);
    r->cur = NULL;
    r->limit = NULL;
    __atomic_store_n(&r->head, r->head + 1, __ATOMIC_RELEASE);
}

/* Time never runs backwards inside a stream: readers refuse that. */
static u64 forward(const struct ring *r, u64 tsc)
{
    return tsc < r->last ? r->last : tsc;
}

void ring_flush(struct ring *r, u64 tsc)
{
    if (!r->cur &&
        (r->discarded == r->reported || !packet_open(r, forward(r, tsc))))
        return;
    packet_close(r);
}

const struct packet *ring_peek(const struct ring *r)
{
    if (__atomic_load_n(&r->head, __ATOMIC_ACQUIRE) == r->tail)
        return NULL;
    return slot(r, r->tail);
}

void ring_release(struct ring *r)
{
    __atomic_store_n(&r->tail, r->tail + 1, __ATOMIC_RELEASE);
}

u64 ring_bytes(const struct ring *r)
{
    const u8 *start = (const u8 *)slot(r, r->head) + sizeof(struct packet);

    return r->bytes + (r->cur ? (u64)(r->cur - start) : 0);
}

static u32 room(const struct ring *r)
{
    return r->cur ? (u32)((u8 *)slot(r, r->head) + r->sub_size - r->cur) : 0;
}

u8 *ring_reserve_slow(struct ring *r, u32 id, u64 tsc, u32 size)
{
    tsc = forward(r, tsc);
    bool compact = id <= EVENT_ID_MAX && tsc - r->last < 1u << EVENT_TIME_BITS;
    u32 header = compact ? EVENT_COMPACT_SIZE : EVENT_LONG_SIZE;

    if (room(r) < header + size) {
        /* A fresh packet carries the whole time of its first event, so that
         * the gap before it no longer matters. */
        compact = id <= EVENT_ID_MAX;
        header = compact ? EVENT_COMPACT_SIZE : EVENT_LONG_SIZE;
        if (r->cur)
            packet_close(r);
        if (sizeof(struct packet) + header + size > r->sub_size ||
            !packet_open(r, tsc)) {
            r->discarded++;
            return NULL;
        }
    }

    u8 *p = r->cur;
    if (compact) {
        u32 word = (u32)tsc << EVENT_ID_BITS | id;
        __builtin_memcpy(p, &word, sizeof(word));
    } else {
        p[0] = EVENT_LONG;
        __builtin_memcpy(p + 1, &id, sizeof(id));
        __builtin_memcpy(p + 1 + sizeof(id), &tsc, sizeof(tsc));
    }
    r->last = tsc;
    r->cur = p + header + size;
    return p + header;
}

u32 ring_str_size(const char *s)
{
    u32 n = 0;

    while (n < RING_STR_MAX && s[n])
        n++;
    return n + 1;
}

u8 *ring_put_str(u8 *p, const char *s)
{
    u32 n = ring_str_size(s) - 1;

    for (u32 i = 0; i < n; i++)
        *p++ = (u8)s[i];
    *p++ = 0;
    return p;
}
