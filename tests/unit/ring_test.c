/*
 * The ring, through the functions that handlers call: sizes, headers, packets
 * and their context, discarding, and a random run against a simple model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"
#include "tools/decode.h"
#include "trace/trace.h"

#define SUB   512u
#define COUNT 4u
#define MASK  (1u << CLASS_EXIT | 1u << CLASS_DETAIL)

static struct ring ring;
static u8 *memory; /* exactly the ring's size, so that ASan sees an overrun */

static int setup(void **state)
{
    u8 uuid[16];

    (void)state;
    memory = malloc(SUB * COUNT);
    schema_uuid(uuid);
    ring_init(&ring, memory, SUB, COUNT, 3, uuid, MASK);
    return memory ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    free(memory);
    return 0;
}

/* As hv/crossing.h does it: the short way, or the long one. */
static void cross_out(u64 now, u64 rip)
{
    if (!ring_try_tick(&ring, now))
        ring_tick(&ring, now);
    if (!trace_try_vmexit(&ring, 1, 0x72, rip, 2))
        trace_vmexit(&ring, 1, 0x72, rip, 2);
}

static void cross_in(u64 now, u16 path)
{
    if (!ring_try_tick(&ring, now))
        ring_tick(&ring, now);
    if (!trace_try_vmentry(&ring, path))
        trace_vmentry(&ring, path);
}

/* The oldest packet must hold exactly this many events; the last of them. */
static struct event_view decoded(u32 count)
{
    const struct packet *p = ring_peek(&ring);
    struct event_view e = {0};
    struct decoder d;

    assert_non_null(p);
    assert_int_equal(decode_begin(&d, (const u8 *)p, p->packet_size / 8),
                     DECODE_OK);
    while (count--)
        assert_int_equal(decode_next(&d, &e), DECODE_OK);
    assert_true(d.time <= p->timestamp_end);
    assert_int_equal(decode_next(&d, &e), DECODE_END);
    return e;
}

/* The size that the project promises for a CPUID round trip. */
static void round_trip_takes_52_bytes(void **state)
{
    (void)state;
    cross_out(1000, 0x1000);
    trace_cpuid(&ring, 1, 0, 2, 3, 4, 5);
    cross_in(1020, 0);
    assert_int_equal(ring_bytes(&ring), 52);
    ring_flush(&ring, 1020);
    assert_int_equal(ring_bytes(&ring), 52);
}

static void fields_come_back(void **state)
{
    struct event_view e;

    (void)state;
    cross_out(5000, 0x1000);
    trace_io(&ring, DIR_OUT, 0x3f8, 1, 7, 0x41);
    ring_flush(&ring, 6000);
    e = decoded(2);
    assert_string_equal(e.schema->name, "io");
    assert_int_equal(e.time, 5000);
    assert_int_equal(e.cpu, 3);
    assert_int_equal(e.value[0], DIR_OUT);
    assert_int_equal(e.value[1], 0x3f8);
    assert_int_equal(e.value[2], 1);
    assert_int_equal(e.value[3], 7);
    assert_int_equal(e.value[4], 0x41);
}

static void text_is_cut_at_255(void **state)
{
    struct event_view e;
    char text[300];

    (void)state;
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = 0;
    trace_check_failed(&ring, text, 1, 2);
    ring_flush(&ring, 1);
    e = decoded(1);
    assert_int_equal(strlen(e.text[0]), 255);
    assert_int_equal(e.value[2], 2);
}

static void masked_classes_are_not_written(void **state)
{
    (void)state;
    ring_set_mask(&ring, 1u << CLASS_EXIT);
    trace_cpuid(&ring, 1, 0, 2, 3, 4, 5);
    trace_exit_raw(&ring, 1, 2, 3);
    assert_int_equal(ring_bytes(&ring), 0);
    cross_in(1, 0);
    assert_int_equal(ring_bytes(&ring), 6);
    ring_set_mask(&ring, 0);
    cross_in(2, 0);
    trace_run_end(&ring, 1); /* class RUN cannot be masked out */
    assert_int_equal(ring_bytes(&ring), 14);
    ring_set_mask(&ring, 1u << CLASS_RAW); /* about an exit event */
    cross_in(3, 0);
    assert_int_equal(ring_bytes(&ring), 20);
    assert_int_equal(ring.discarded, 0);
}

/* With nothing to attend to the short way does, and else it does not. */
static void attention_shuts_the_short_way(void **state)
{
    (void)state;
    assert_false(trace_try_vmentry(&ring, 0)); /* no packet is open */
    trace_vmentry(&ring, 0);
    assert_true(trace_try_vmentry(&ring, 0));
    ring_attend(&ring, ATTEND_OWNER, true);
    assert_false(trace_try_vmentry(&ring, 0));
    ring_attend(&ring, ATTEND_OWNER, false);
    assert_true(trace_try_vmentry(&ring, 0));
    ring_flush(&ring, 1); /* a packet waits */
    trace_vmentry(&ring, 0);
    assert_false(trace_try_vmentry(&ring, 0));
    ring_attend(&ring, ATTEND_PACKET, false);
    assert_true(trace_try_vmentry(&ring, 0));
    ring_set_mask(&ring, MASK | 1u << CLASS_RAW);
    assert_false(trace_try_vmentry(&ring, 0));
    ring_set_mask(&ring, 0); /* nothing to write, nothing to attend to */
    ring_attend(&ring, ATTEND_PACKET, false);
    assert_true(trace_try_vmentry(&ring, 0));
}

/* However full the packet is, the details follow their exit event in it. */
static void an_exit_makes_room_for_its_details(void **state)
{
    const u32 details = RING_CROSSING / (EVENT_COMPACT_SIZE + 24);

    (void)state;
    for (u32 i = 0; i < SUB; i++) {
        u32 head;

        cross_in(1, 0);
        cross_out(1, 0);
        head = ring.head;
        for (u32 n = 0; n < details; n++)
            trace_cpuid(&ring, 1, 0, 2, 3, 4, 5);
        assert_int_equal(ring.head, head);
        assert_int_equal(ring.discarded, 0);
        while (ring_peek(&ring))
            ring_release(&ring);
        ring_attend(&ring, ATTEND_PACKET, false);
    }
}

/* The last tick of the window that the first event began, the first behind it,
 * and many windows. */
static void long_header_on_gaps(void **state)
{
    static const struct {
        u64 gap;
        u32 header;
    } cases[] = {
        {0, EVENT_COMPACT_SIZE},
        {(1u << 27) - 1, EVENT_COMPACT_SIZE},
        {1u << 27, EVENT_LONG_SIZE},
        {1ull << 40, EVENT_LONG_SIZE},
    };
    u64 now = 0x123456789abc;
    u64 bytes;

    (void)state;
    cross_in(now, 0);
    bytes = ring_bytes(&ring);
    for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
        now += cases[i].gap;
        cross_in(now, (u16)i);
        assert_int_equal(ring_bytes(&ring) - bytes, cases[i].header + 2);
        bytes = ring_bytes(&ring);
    }
    ring_flush(&ring, now);
    assert_int_equal(decoded(1 + ARRAY_SIZE(cases)).time, now);
}

static void time_never_runs_backwards(void **state)
{
    (void)state;
    ring_tick(&ring, 5000);
    trace_vmentry(&ring, 0);
    ring_tick(&ring, 4000);
    trace_vmentry(&ring, 1);
    ring_flush(&ring, 3000);
    assert_int_equal(decoded(2).time, 5000);
    ring_release(&ring);
    ring_tick(&ring, 2000);
    trace_vmentry(&ring, 2);
    ring_flush(&ring, 2000);
    assert_int_equal(ring_peek(&ring)->timestamp_begin, 5000);
}

/* Whatever is left of a packet when more details come than anybody writes. */
static void packets_stay_in_their_sub_buffer(void **state)
{
    char text[100];

    (void)state;
    for (u32 len = 0; len < sizeof(text); len++) {
        memset(text, 'x', len);
        text[len] = 0;
        trace_check_failed(&ring, text, 1, 2);
        for (u64 before = ring.discarded; ring.discarded == before;)
            trace_cpuid(&ring, 1, 0, 2, 3, 4, 5);
        ring_flush(&ring, 1);
        assert_true(ring_peek(&ring)->packet_size <= SUB * 8);
        ring_release(&ring);
    }
}

static void flush_without_news_writes_nothing(void **state)
{
    (void)state;
    ring_flush(&ring, 1);
    assert_null(ring_peek(&ring));
    assert_false(ring_waiting(&ring));
    cross_in(2, 0);
    assert_null(ring_peek(&ring));
    ring_flush(&ring, 3);
    assert_true(ring_waiting(&ring));
    ring_flush(&ring, 4);
    ring_release(&ring);
    assert_null(ring_peek(&ring));
}

/* Nothing overtakes what was written first; the loss is counted, and reported
 * by the first packet that there is room for. */
static void full_ring_discards_and_counts(void **state)
{
    u32 written = 0;

    (void)state;
    while (!ring.discarded)
        cross_in(++written, 0);
    trace_cpuid(&ring, 1, 0, 2, 3, 4, 5);
    assert_int_equal(ring.discarded, 2);
    for (u32 i = 0; i < COUNT; i++) {
        assert_int_equal(ring_peek(&ring)->packet_seq_num, i);
        assert_int_equal(ring_peek(&ring)->events_discarded, 0);
        ring_release(&ring);
    }
    assert_null(ring_peek(&ring));
    ring_flush(&ring, written);
    decoded(0);
    assert_int_equal(ring_peek(&ring)->events_discarded, 2);
    assert_int_equal(ring_peek(&ring)->packet_seq_num, COUNT);
    ring_release(&ring);
    ring_flush(&ring, written);
    assert_null(ring_peek(&ring));
}

/* A random producer and consumer; the model is the list of values that were
 * accepted, which must come back in order, none lost, none twice. */
struct model {
    u64 value[1 << 16], time[1 << 16];
    u32 in, out;
    u64 packets;
};

static void consume(struct model *m)
{
    const struct packet *p = ring_peek(&ring);
    struct event_view e;
    struct decoder d;

    if (!p)
        return;
    assert_int_equal(p->packet_seq_num, m->packets++);
    assert_true(p->packet_size <= SUB * 8);
    assert_int_equal(decode_begin(&d, (const u8 *)p, p->packet_size / 8),
                     DECODE_OK);
    while (decode_next(&d, &e) == DECODE_OK) {
        assert_true(m->out < m->in);
        assert_int_equal(e.time, m->time[m->out]);
        assert_int_equal(e.value[e.schema->id == TRACE_ID_vmexit ? 2 : 0],
                         m->value[m->out++]);
    }
    assert_null(d.error);
    ring_release(&ring);
}

static void produce(struct model *m, u64 now, u64 value, bool text)
{
    u64 before = ring.discarded;

    if (text) {
        ring_tick(&ring, now);
        trace_run_end(&ring, (u32)value);
    } else {
        cross_out(now, value);
        ring_attend(&ring, ATTEND_PACKET, ring_waiting(&ring));
    }
    if (ring.discarded != before)
        return;
    m->value[m->in] = text ? (u32)value : value;
    m->time[m->in++] = now;
}

static void random_run_agrees_with_the_model(void **state)
{
    struct model *m = calloc(1, sizeof(*m));
    u64 seed = 42, now = 1;

    (void)state;
    assert_non_null(m);
    while (m->in < ARRAY_SIZE(m->value)) {
        u32 dice = random_below(&seed, 1000);

        if (dice < 20)
            consume(m);
        else if (dice < 25)
            ring_flush(&ring, now);
        else
            produce(m, now, random_next(&seed), dice & 1);
        now += dice == 30 ? random_next(&seed) >> 20 : dice;
    }
    assert_true(ring.discarded > 0);
    for (u32 i = 0; i <= COUNT; i++) {
        consume(m);
        ring_flush(&ring, now);
    }
    assert_int_equal(m->in, m->out);
    free(m);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(round_trip_takes_52_bytes),
        TEST(fields_come_back),
        TEST(text_is_cut_at_255),
        TEST(masked_classes_are_not_written),
        TEST(attention_shuts_the_short_way),
        TEST(an_exit_makes_room_for_its_details),
        TEST(long_header_on_gaps),
        TEST(time_never_runs_backwards),
        TEST(packets_stay_in_their_sub_buffer),
        TEST(flush_without_news_writes_nothing),
        TEST(full_ring_discards_and_counts),
        TEST(random_run_agrees_with_the_model),
    };

    return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
