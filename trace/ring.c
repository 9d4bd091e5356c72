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
        .cpu = cpu,
        .sub_size = sub_size,
        .sub_count = sub_count,
        .base = mem,
        .until = EVENT_WINDOW,
    };
    __builtin_memcpy(r->uuid, uuid, sizeof(r->uuid));
    ring_set_mask(r, mask);
}

/* Opens or shuts the fast path, whatever has changed. */
static void limits_set(struct ring *r)
{
    bool open = r->cur && !r->lapsed;
    u8 *limit = (u8 *)slot(r, r->head) + r->sub_size - TRACE_FIXED_MAX + 1;

    r->detail_limit = open && ring_wants(r, CLASS_DETAIL) ? limit : NULL;
    open = open && r->attention == ATTEND_EXIT;
    r->exit_limit = open ? limit - RING_CROSSING : NULL;
}

void ring_attend(struct ring *r, enum attention what, bool on)
{
    r->attention = (r->attention & ~(u32)what) | (on ? what : 0);
    limits_set(r);
}

void ring_set_mask(struct ring *r, u32 mask)
{
    if (mask & (1u << CLASS_DETAIL | 1u << CLASS_RAW))
        mask |= 1u << CLASS_EXIT;
    r->mask = mask | 1u << CLASS_RUN;
    ring_attend(r, ATTEND_EXIT, ring_wants(r, CLASS_EXIT));
    ring_attend(r, ATTEND_RAW, ring_wants(r, CLASS_RAW));
}

/* The whole time of the last tick: the window ends at `until`, and the stamp
 * has the low bits. */
static u64 now(const struct ring *r)
{
    u64 begin = r->until - EVENT_WINDOW;
    u64 low = (r->stamp >> EVENT_ID_BITS) - begin;

    return begin + low % EVENT_WINDOW;
}

/* Here a clock that runs backwards, which readers refuse, would stand still. */
void ring_tick(struct ring *r, u64 tsc)
{
    if (tsc < now(r) || ring_try_tick(r, tsc))
        return;
    r->until = tsc + EVENT_WINDOW;
    r->stamp = (u32)tsc << EVENT_ID_BITS;
    r->lapsed = true;
    limits_set(r);
}

/* Opens the next sub-buffer as a packet; false when every one is full. The
 * acquire pairs with the release in ring_release(): the consumer has done
 * with the bytes that are overwritten now. */
static bool packet_open(struct ring *r)
{
    if (r->head - __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) == r->sub_count)
        return false;

    struct packet *p = slot(r, r->head);
    *p = (struct packet){
        .magic = CTF_MAGIC,
        .timestamp_begin = now(r),
        .packet_seq_num = r->head,
        .cpu_id = r->cpu,
    };
    __builtin_memcpy(p->uuid, r->uuid, sizeof(p->uuid));
    r->cur = (u8 *)(p + 1);
    r->lapsed = false;
    return true;
}

/* Completes the packet under way and hands it to the consumer. Nothing pads
 * it: packet and content end together, and only so much is sent. */
static void packet_close(struct ring *r)
{
    struct packet *p = slot(r, r->head);
    u32 size = (u32)(r->cur - (u8 *)p);

    p->timestamp_end = now(r);
    p->content_size = size * 8;
    p->packet_size = size * 8;
    p->events_discarded = r->discarded;
    r->reported = r->discarded;
    r->bytes += size - sizeof(*p);
    r->cur = NULL;
    r->attention |= ATTEND_PACKET;
    __atomic_store_n(&r->head, r->head + 1, __ATOMIC_RELEASE);
}

void ring_flush(struct ring *r, u64 tsc)
{
    ring_tick(r, tsc);
    if (!r->cur && (r->discarded == r->reported || !packet_open(r)))
        return;
    packet_close(r);
    limits_set(r);
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

u8 *ring_reserve(struct ring *r, enum trace_class class, u32 id, u32 size)
{
    bool compact = id <= EVENT_ID_MAX && !r->lapsed;
    u32 header = compact ? EVENT_COMPACT_SIZE : EVENT_LONG_SIZE;

    if (!ring_wants(r, class))
        return NULL;
    if (room(r) < header + size + RING_CROSSING) {
        /* A fresh packet carries the whole time of its first event. */
        compact = id <= EVENT_ID_MAX;
        header = compact ? EVENT_COMPACT_SIZE : EVENT_LONG_SIZE;
        if (r->cur)
            packet_close(r);
        if (sizeof(struct packet) + header + size > r->sub_size ||
            !packet_open(r)) {
            r->discarded++;
            limits_set(r);
            return NULL;
        }
    }

    u8 *p = r->cur;
    if (compact) {
        u32 word = r->stamp | id;
        __builtin_memcpy(p, &word, sizeof(word));
    } else {
        u64 time = now(r);
        p[0] = EVENT_LONG;
        __builtin_memcpy(p + 1, &id, sizeof(id));
        __builtin_memcpy(p + 1 + sizeof(id), &time, sizeof(time));
    }
    r->cur = p + header + size;
    r->lapsed = false;
    limits_set(r);
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
