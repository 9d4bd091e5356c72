/* Takes packets apart into events; see decode.h. */
#include "tools/decode.h"

#include <string.h>

static enum decode_result damaged(struct decoder *d, u32 at, const char *error)
{
    d->error = error;
    d->error_at = at;
    d->pos = d->end;
    return DECODE_DAMAGED;
}

enum decode_result decode_begin(struct decoder *d, const u8 *data, u32 size)
{
    u8 uuid[16];

    *d = (struct decoder){.data = data};
    if (size < sizeof(d->packet))
        return damaged(d, size, "shorter than a packet's header");
    memcpy(&d->packet, data, sizeof(d->packet));
    if (d->packet.magic != CTF_MAGIC)
        return damaged(d, 0, "no CTF packet: bad magic");
    if (d->packet.packet_size != (u64)size * 8)
        return damaged(d, offsetof(struct packet, packet_size),
                       "packet size differs from the frame's");
    if (d->packet.content_size > d->packet.packet_size ||
        d->packet.content_size < 8 * sizeof(d->packet))
        return damaged(d, offsetof(struct packet, content_size),
                       "impossible content size");
    schema_uuid(uuid);
    if (memcmp(uuid, d->packet.uuid, sizeof(uuid)) != 0) {
        d->error = "written by another version of Tollgate";
        return DECODE_OTHER_VERSION;
    }
    d->pos = sizeof(d->packet);
    d->end = d->packet.content_size / 8;
    d->time = d->packet.timestamp_begin;
    return DECODE_OK;
}

/* A little-endian integer of `size` bytes; false: it is cut off. */
static bool take(struct decoder *d, u32 size, u64 *value)
{
    *value = 0;
    if (size > d->end - d->pos)
        return false;
    memcpy(value, d->data + d->pos, size);
    d->pos += size;
    return true;
}

static bool take_text(struct decoder *d, const char **text)
{
    const u8 *start = d->data + d->pos;
    const u8 *nul = memchr(start, 0, d->end - d->pos);

    if (!nul)
        return false;
    *text = (const char *)start;
    d->pos += (u32)(nul - start) + 1;
    return true;
}

/* Either header. The compact one has the low bits of the time: they have
 * wrapped at most once since the event before. */
static bool take_header(struct decoder *d, u64 *id)
{
    const u64 wrap = 1ull << EVENT_TIME_BITS;
    u64 word;

    if (d->pos < d->end && (d->data[d->pos] & EVENT_LONG) == EVENT_LONG)
        return take(d, 1, &word) && take(d, 4, id) && take(d, 8, &d->time);
    if (!take(d, EVENT_COMPACT_SIZE, &word))
        return false;
    *id = word & ((1u << EVENT_ID_BITS) - 1);
    d->time += ((word >> EVENT_ID_BITS) - d->time) & (wrap - 1);
    return true;
}

enum decode_result decode_next(struct decoder *d, struct event_view *e)
{
    u32 start = d->pos;
    u64 before = d->time;
    u64 id;

    if (d->pos == d->end)
        return DECODE_END;
    if (!take_header(d, &id))
        return damaged(d, start, "event header is cut off");
    *e = (struct event_view){
        .schema = schema_find((u32)id),
        .time = d->time,
        .cpu = d->packet.cpu_id,
    };
    if (!e->schema)
        return damaged(d, start, "unknown event id");
    if (e->time < before)
        return damaged(d, start, "time runs backwards");
    for (u32 i = 0; i < e->schema->field_count; i++) {
        u32 size = schema_type_size(e->schema->fields[i].type);

        if (size ? !take(d, size, &e->value[i]) : !take_text(d, &e->text[i]))
            return damaged(d, start, "event is cut off");
    }
    return DECODE_OK;
}
