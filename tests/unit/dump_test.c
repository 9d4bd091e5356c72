/*
 * The dumper: it sends only when the line is ready, waits only where it may,
 * and text never stands inside a frame.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"
#include "tools/wire_rx.h"
#include "trace/dump.h"
#include "trace/schema.h"
#include "trace/trace.h"

static struct ring ring;
static u8 memory[4 * 512];
static struct dump dump;
static struct wire_rx rx;

/* The line: it has room for `budget` bytes, or at random. */
static u32 budget;
static bool fickle;
static u32 granted; /* by the last room(), less what was put since */
static u64 seed;
static u32 sent, frames, bad, next_sequence;
static char text[4096];
static u32 text_len;
static char metadata[4096];
static u32 metadata_len;

static u32 room(void)
{
    granted = fickle ? random_below(&seed, 4) : budget;
    return granted;
}

static void take(u8 byte)
{
    enum wire_event event;

    budget -= budget > 0;
    sent++;
    event = wire_rx_byte(&rx, byte);
    bad += event == WIRE_BAD;
    for (u32 i = 0; i < rx.text_len && text_len + 1 < sizeof(text); i++)
        text[text_len++] = (char)rx.text[i];
    if (event != WIRE_FRAME)
        return;
    frames++;
    assert_int_equal(rx.sequence, next_sequence++);
    if (rx.type == FRAME_METADATA) {
        assert_true(rx.size <= DUMP_PIECE);
        memcpy(metadata + metadata_len, rx.data, rx.size);
        metadata_len += rx.size;
    }
}

static void put(const u8 *bytes, u32 count)
{
    assert_true(count > 0 && count <= granted);
    granted -= count;
    while (count--)
        take(*bytes++);
}

static const struct dump_transport transport = {room, put};

static int setup(void **state)
{
    u8 uuid[16];

    (void)state;
    schema_uuid(uuid);
    ring_init(&ring, memory, 512, 4, 0, uuid, ~0u);
    dump_init(&dump, &transport);
    wire_rx_init(&rx);
    budget = 0;
    fickle = false;
    seed = 7;
    sent = frames = bad = next_sequence = text_len = metadata_len = 0;
    memset(text, 0, sizeof(text));
    return 0;
}

static void poll_never_waits(void **state)
{
    (void)state;
    trace_vmexit(&ring, 1, 2, 0x1234, 4);
    dump_poll(&dump, &ring);
    assert_int_equal(sent, 0); /* no packet is closed yet */
    ring_flush(&ring, 2);
    dump_poll(&dump, &ring);
    assert_int_equal(sent, 0); /* the line is not ready */
    budget = 3;
    dump_poll(&dump, &ring);
    assert_int_equal(sent, 3);
    budget = 1000;
    dump_poll(&dump, &ring);
    assert_int_equal(sent, 3 + DUMP_BURST);
    for (int i = 0; i < 20; i++)
        dump_poll(&dump, &ring);
    assert_int_equal(frames, 1);
    assert_int_equal(sent, dump.bytes);
    assert_false(ring_waiting(&ring));
}

static void hold_keeps_it_quiet(void **state)
{
    (void)state;
    trace_vmexit(&ring, 1, 2, 0x1234, 4);
    ring_flush(&ring, 2);
    budget = 1000;
    dump.hold = true;
    dump_poll(&dump, &ring);
    assert_int_equal(sent, 0);
    dump.hold = false;
    dump_poll(&dump, &ring);
    assert_int_equal(sent, DUMP_BURST);
}

/* Everything, the discard count of a full ring included. */
static void drain_sends_all(void **state)
{
    u64 now = 0;

    (void)state;
    fickle = true;
    while (ring.discarded < 5)
        trace_vmexit(&ring, 1, 2, now++, 4);
    dump_drain(&dump, &ring, now);
    assert_int_equal(frames, 4 + 1);
    assert_int_equal(bad, 0);
    assert_false(ring_waiting(&ring));
    struct packet last;
    memcpy(&last, rx.data, sizeof(last));
    assert_int_equal(last.events_discarded, 5);
}

static void metadata_arrives_in_pieces(void **state)
{
    char sample[3000];

    (void)state;
    fickle = true;
    for (u32 i = 0; i < sizeof(sample); i++)
        sample[i] = (char)('a' + i % 26);
    dump_metadata(&dump, sample, sizeof(sample));
    assert_int_equal(frames, 3);
    assert_int_equal(metadata_len, sizeof(sample));
    assert_memory_equal(metadata, sample, sizeof(sample));
}

/* Whatever part of a frame has been sent when the text comes. */
static void text_is_never_inside_a_frame(void **state)
{
    (void)state;
    for (u32 part = 0; part < 200; part++) {
        setup(state);
        trace_vmexit(&ring, 1, 2, 0x1234567890abcdef, 4);
        ring_flush(&ring, 2);
        budget = part;
        for (u32 i = 0; i <= part / DUMP_BURST; i++)
            dump_poll(&dump, &ring);
        fickle = true;
        dump_text(&dump, "one\ntwo\n", 8);
        assert_string_equal(text, "one\r\ntwo\r\n");
        assert_int_equal(bad, 0);
        dump_drain(&dump, &ring, 3);
        assert_int_equal(frames, 1);
    }
}

/* A fault handler cuts the frame: its text is whole, and the packet is sent
 * again under the next number. */
static void abort_loses_no_packet(void **state)
{
    (void)state;
    trace_vmexit(&ring, 1, 2, 0x1234567890abcdef, 4);
    ring_flush(&ring, 2);
    budget = 30;
    dump_poll(&dump, &ring);
    dump_poll(&dump, &ring);
    fickle = true;
    dump_abort(&dump);
    dump_text(&dump, "host fault\n", 11);
    assert_string_equal(text, "host fault\r\n");
    assert_int_equal(bad, 1);
    next_sequence = 1;
    dump_drain(&dump, &ring, 3);
    assert_int_equal(frames, 1);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(poll_never_waits),
        TEST(hold_keeps_it_quiet),
        TEST(drain_sends_all),
        TEST(metadata_arrives_in_pieces),
        TEST(text_is_never_inside_a_frame),
        TEST(abort_loses_no_packet),
    };

    return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
