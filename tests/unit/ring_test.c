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

static struct ring ring;
static u8 *memory; /* exactly the ring's size, so that ASan sees an overrun */

static int setup(void **state)
{
    u8 uuid[16];

    (void)state;
    memory = malloc(SUB * COUNT);
    schema_uuid(uuid);
    ring_init(&ring, memory, SUB, COUNT, 3, uuid, ~0u);
    return memory ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    free(memory);
    return 0;
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
    assert_int_equal(d.time, p->timestamp_end);
    assert_int_equal(decode_next(&d, &e), DECODE_END);
    return e;
}

/* The size that the project promises for a CPUID round trip. */
static void round_trip_takes_52_bytes(void **state)
{
    (void)state;
    trace_vmexit(&ring, 1000, 1, 0x72, 0x1000, 2);
    trace_cpuid(&ring, 1010, 1, 0, 2, 3, 4, 5);
    trace_vmentry(&ring, 1020, 0);
    assert_int_equal(ring_bytes(&ring), 52);
    ring_flush(&ring, 1020);
    assert_int_equal(ring_bytes(&ring), 52);
}

static void fields_come_back(void **state)
{
    struct event_view e;

    (void)state;
    trace_io(&ring, 5000, DIR_OUT, 0x3f8, 1, 7, 0x41);
    ring_flush(&ring, 6000);
    e = decoded(1);
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
    trace_check_failed(&ring, 1, text, 1, 2);
    ring_flush(&ring, 1);
    e = decoded(1);
    assert_int_equal(strlen(e.text[0]), 255);
    assert_int_equal(e.value[2], 2);
}

static void masked_classes_are_not_written(void **state)
{
    (void)state;
    ring.mask = 1u << CLASS_EXIT;
    trace_cpuid(&ring, 1, 1, 0, 2, 3, 4, 5);
    trace_exit_raw(&ring, 1, 1, 2, 3);
    assert_int_equal(ring_bytes(&ring), 0);
    trace_vmentry(&ring, 1, 0);
    assert_int_equal(ring_bytes(&ring), 6);
    ring.mask = 0;
    trace_run_end(&ring, 1, 1); /* class RUN cannot be masked out */
    assert_int_equal(ring_bytes(&ring), 14);
}

/* The largest gap that fits 27 bits, the smallest that does not, and a whole
 * wrap of the low bits. */
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
    trace_vmentry(&ring, now, 0);
    bytes = ring_bytes(&ring);
    for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
        now += cases[i].gap;
        trace_vmentry(&ring, now, (u16)i);
        assert_int_equal(ring_bytes(&ring) - bytes, cases[i].header + 2);
        bytes = ring_bytes(&ring);
    }
    ring_flush(&ring, now);
    assert_int_equal(decoded(1 + ARRAY_SIZE(cases)).time, now);
}

static void time_never_runs_backwards(void **state)
{
    (void)state;
    trace_vmentry(&ring, 5000, 0);
    trace_vmentry(&ring, 4000, 1);
    ring_flush(&ring, 3000);
    assert_int_equal(decoded(2).time, 5000);
    ring_release(&ring);
    trace_vmentry(&ring, 2000, 2);
    ring_flush(&ring, 2000);
    assert_int_equal(ring_peek(&ring)->timestamp_begin, 5000);
}

/* Whatever is left of a packet when the largest event without text comes. */
static void packets_stay_in_their_sub_buffer(void **state)
{
    const u32 size = TRACE_FIXED_MAX - EVENT_COMPACT_SIZE;
    char text[100];

    (void)state;
    for (u32 len = 0; len < sizeof(text); len++) {
        memset(text, 'x', len);
        text[len] = 0;
        trace_check_failed(&ring, 1, text, 1, 2);
        for (u32 last = ring.head; ring.head == last;) {
            u8 *p = ring_reserve(&ring, 1, 1, size);

            if (!p)
                p = ring_reserve_slow(&ring, 1, 1, size);
            memset(p, 0, size);
        }
        assert_true(ring_peek(&ring)->packet_size <= SUB * 8);
        ring_release(&ring);
        ring_flush(&ring, 1);
        ring_release(&ring);
    }
}

static void flush_without_news_writes_nothing(void **state)
{
    (void)state;
    ring_flush(&ring, 1);
    assert_null(ring_peek(&ring));
    assert_false(ring_waiting(&ring));
    trace_vmentry(&ring, 2, 0);
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
        trace_vmentry(&ring, ++written, 0);
    trace_vmentry(&ring, written, 0);
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
        assert_int_equal(e.value[0], m->value[m->out++]);
    }
    assert_null(d.error);
    ring_release(&ring);
}

static void produce(struct model *m, u64 now, u64 value, bool text)
{
    u64 before = ring.discarded;

    if (text)
        trace_run_end(&ring, now, (u32)value);
    else
        trace_invlpg(&ring, now, value);
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
        TEST(long_header_on_gaps),
        TEST(time_never_runs_backwards),
        TEST(packets_stay_in_their_sub_buffer),
        TEST(flush_without_news_writes_nothing),
        TEST(full_ring_discards_and_counts),
        TEST(random_run_agrees_with_the_model),
    };

    return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
