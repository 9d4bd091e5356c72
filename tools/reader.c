/* Reads a whole stream; see reader.h. */
#include "tools/reader.h"

#include <stdlib.h>
#include <string.h>

#include "tools/tollgate.h"
#include "trace/trace.h"

#define CPUS_MAX 256

struct reader {
    const struct reader_ops *ops;
    void *ctx;
    struct reading *reading;
    u64 discarded[CPUS_MAX]; /* running totals, as the last packets had them */
    u64 bad_packets;
};

/* Complains about the first packet of another version only: all are. */
static void bad_packet(struct reader *r, const struct item *item,
                       const struct decoder *d, bool other_version)
{
    if (!other_version) {
        r->bad_packets++;
        complain("packet at offset %llu, its byte %u: %s",
                 (unsigned long long)item->position, d->error_at, d->error);
    } else if (!r->reading->other_version) {
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

static void on_event(struct reader *r, const struct event_view *e)
{
    if (e->schema->id == TRACE_ID_run_end)
        r->reading->ended = true;
    if (r->ops->event)
        r->ops->event(r->ctx, e);
}

/* Whoever wants no events need not be able to decode them. */
static void on_packet(struct reader *r, const struct item *item)
{
    struct decoder d;
    struct event_view e;
    enum decode_result result;

    if (r->ops->packet)
        r->ops->packet(r->ctx, item);
    result = decode_begin(&d, item->data, item->size);
    if (result == DECODE_OK && r->ops->event)
        count_discarded(r, &d.packet);
    while (result == DECODE_OK) {
        result = decode_next(&d, &e);
        if (result == DECODE_OK)
            on_event(r, &e);
    }
    if (result != DECODE_END && r->ops->event)
        bad_packet(r, item, &d, result == DECODE_OTHER_VERSION);
    if (result == DECODE_OTHER_VERSION)
        r->reading->other_version = true;
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
        r->reading->ended = false;
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

    reading->damaged = stream_damaged(s) || r.bad_packets ||
                       (ops->event && reading->other_version);
    reading->name = s->name;
    reading->frames = s->frames;
    if (reading->discarded)
        complain("%s: %llu events were discarded because the ring was full",
                 s->name, (unsigned long long)reading->discarded);
    memcpy(reading->last_line, s->last_line, sizeof(reading->last_line));
    stream_close(s);
    free(s);
    return true;
}

bool reading_whole(const struct reading *reading)
{
    if (!reading->frames)
        complain("%s: nothing of Tollgate in the stream: give the serial.raw "
                 "of a run, or the line of a machine that boots Tollgate",
                 reading->name);
    else if (!reading->ended && !reading->other_version)
        complain("%s: the stream ends before the run does; `tollgate verdict` "
                 "says how far it came",
                 reading->name);
    else
        return true;
    return false;
}
