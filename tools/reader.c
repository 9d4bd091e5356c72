/* Reads a whole stream; see reader.h. */
#include "tools/reader.h"

#include <stdlib.h>
#include <string.h>

#include "tools/tollgate.h"

#define CPUS_MAX 256

struct reader {
    const struct reader_ops *ops;
    void *ctx;
    struct reading *reading;
    u64 discarded[CPUS_MAX]; /* running totals, as the last packets had them */
    u64 bad_packets;
    bool other_version;
};

/* Complains about the first packet of another version only: all are. */
static void bad_packet(struct reader *r, const struct item *item,
                       const struct decoder *d, bool other_version)
{
    if (!other_version) {
        r->bad_packets++;
        complain("packet at offset %llu, its byte %u: %s",
                 (unsigned long long)item->position, d->error_at, d->error);
    } else if (!r->other_version) {
        r->other_version = true;
        complain("this stream was %s: only `tollgate record` and babeltrace2 "
                 "can read it",
                 d->error);
    }
}

static void count_discarded(struct reader *r, const struct packet *p)
{
    u64 *last = &r->discarded[p->cpu_id % CPUS_MAX];

    if (p->events_discarded > *last)
        r->reading->discarded += p->events_discarded - *last;
    *last = p->events_discarded;
}

static void on_packet(struct reader *r, const struct item *item)
{
    struct decoder d;
    struct event_view e;
    enum decode_result result;

    if (r->ops->packet)
        r->ops->packet(r->ctx, item);
    if (!r->ops->event)
        return;
    result = decode_begin(&d, item->data, item->size);
    if (result == DECODE_OK)
        count_discarded(r, &d.packet);
    while (result == DECODE_OK) {
        result = decode_next(&d, &e);
        if (result == DECODE_OK)
            r->ops->event(r->ctx, &e);
    }
    if (result != DECODE_END)
        bad_packet(r, item, &d, result == DECODE_OTHER_VERSION);
}

static void on_item(struct reader *r, struct stream *s, const struct item *item)
{
    switch (item->kind) {
    case ITEM_END:
        break;
    case ITEM_LINE:
        if (r->ops->line)
            r->ops->line(r->ctx, item->text);
        break;
    case ITEM_RUN:
        memset(r->discarded, 0, sizeof(r->discarded));
        if (r->ops->run)
            r->ops->run(r->ctx);
        break;
    case ITEM_METADATA:
        if (r->ops->metadata)
            r->ops->metadata(r->ctx, item);
        break;
    case ITEM_PACKET:
        on_packet(r, item);
        break;
    case ITEM_BAD:
    case ITEM_LOST:
        stream_complain(s, item);
        break;
    }
}

bool read_stream(const char *source, const struct reader_ops *ops, void *ctx,
                 struct reading *reading)
{
    struct stream *s = malloc(sizeof(*s));
    struct reader r = {.ops = ops, .ctx = ctx, .reading = reading};
    struct item item;

    memset(reading, 0, sizeof(*reading));
    if (!s || !stream_open(s, source)) {
        free(s);
        return false;
    }
    do {
        item = stream_next(s);
        on_item(&r, s, &item);
    } while (item.kind != ITEM_END);

    reading->damaged = stream_damaged(s) || r.bad_packets || r.other_version;
    reading->frames = s->frames;
    if (reading->discarded)
        complain("%s: %llu events were discarded because the ring was full",
                 s->name, (unsigned long long)reading->discarded);
    memcpy(reading->last_line, s->last_line, sizeof(reading->last_line));
    stream_close(s);
    free(s);
    return true;
}
