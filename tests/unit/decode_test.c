/*
 * The decoder on packets that are not as they should be: cut, with unknown
 * ids, of another version, random. Build with -fsanitize=address,undefined;
 * each packet lies in a buffer of exactly its size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/random.h"
#include "tools/render.h"
#include "trace/trace.h"

static struct ring ring;
static u8 memory[4096];
static FILE *nowhere;

/* A packet with one event of each kind that the tests need, in memory. */
static u32 sample(void)
{
    u8 uuid[16];

    schema_uuid(uuid);
    ring_init(&ring, memory, sizeof(memory), 1, 0, uuid, ~0u);
    ring_tick(&ring, 1000);
    trace_run_begin(&ring, VENDOR_SVM, "cpu", 1, "");
    ring_tick(&ring, 1ull << 40);
    trace_vmexit(&ring, 1, 0x72, 0x1000, 2);
    trace_cpuid(&ring, 1, 0, 2, 3, 4, 5);
    ring_tick(&ring, (1ull << 40) + 1);
    trace_scenario_end(&ring, "name", 1, 2, 0, 3, "reason");
    ring_flush(&ring, 0);
    return ring_peek(&ring)->packet_size / 8;
}

/* A packet that claims to be exactly as long as the buffer that it is in. */
static u8 *copy_of(u32 size)
{
    u8 *data = malloc(size ? size : 1);

    assert_non_null(data);
    memcpy(data, memory, size);
    if (size >= sizeof(struct packet)) {
        struct packet *p = (struct packet *)data;

        p->content_size = p->packet_size = size * 8;
    }
    return data;
}

/* Decodes all of it and renders each event. */
static enum decode_result run(struct decoder *d, const u8 *data, u32 size,
                              u32 *events)
{
    enum decode_result result = decode_begin(d, data, size);
    struct event_view e;

    *events = 0;
    while (result == DECODE_OK) {
        result = decode_next(d, &e);
        if (result != DECODE_OK)
            break;
        ++*events;
        render_text(nowhere, &e);
        render_raw(nowhere, &e);
    }
    return result;
}

static void whole_packet_decodes(void **state)
{
    u32 size = sample(), events;
    struct decoder d;

    (void)state;
    assert_int_equal(run(&d, memory, size, &events), DECODE_END);
    assert_int_equal(events, 4);
    assert_int_equal(d.time, (1ull << 40) + 1);
}

static void every_truncation_stops_in_place(void **state)
{
    u32 size = sample(), events;
    struct decoder d;

    (void)state;
    for (u32 len = 0; len < size; len++) {
        u8 *data = copy_of(len);
        enum decode_result result = run(&d, data, len, &events);

        assert_true(events < 4);
        if (result == DECODE_DAMAGED)
            assert_in_range(d.error_at, 0, len);
        else /* cut between two events: nothing in the packet tells */
            assert_true(result == DECODE_END && len >= sizeof(d.packet));
        free(data);
    }
}

static void sizes_must_agree(void **state)
{
    u32 size = sample(), events;
    struct packet *p = (struct packet *)memory;
    struct decoder d;

    (void)state;
    assert_int_equal(run(&d, memory, size - 1, &events), DECODE_DAMAGED);
    p->content_size = p->packet_size + 8;
    assert_int_equal(run(&d, memory, size, &events), DECODE_DAMAGED);
    p->content_size = 8;
    assert_int_equal(run(&d, memory, size, &events), DECODE_DAMAGED);
    p->magic = 0;
    assert_int_equal(run(&d, memory, size, &events), DECODE_DAMAGED);
}

static void unknown_id_stops_with_its_position(void **state)
{
    u32 size = sample(), events;
    struct decoder d;

    (void)state;
    memory[sizeof(struct packet)] =
        (u8)((memory[sizeof(struct packet)] & ~EVENT_LONG) | 30);
    assert_int_equal(run(&d, memory, size, &events), DECODE_DAMAGED);
    assert_string_equal(d.error, "unknown event id");
    assert_int_equal(d.error_at, sizeof(struct packet));
    assert_int_equal(events, 0);
}

static void other_version_is_said(void **state)
{
    u32 size = sample(), events;
    struct decoder d;

    (void)state;
    memory[offsetof(struct packet, uuid)] ^= 1;
    assert_int_equal(run(&d, memory, size, &events), DECODE_OTHER_VERSION);
}

/* Random events behind a good header, and good packets with random bytes
 * changed: whatever comes out, nothing is read outside the packet. */
static void fuzz(void **state)
{
    u32 size = sample(), events;
    u64 seed = 2024;
    struct decoder d;

    (void)state;
    for (u32 round = 0; round < 200000; round++) {
        u32 len = (u32)sizeof(struct packet) + random_below(&seed, 120);
        u8 *data = copy_of(round & 1 ? len : size);

        for (u32 i = sizeof(struct packet); round & 1 && i < len; i++)
            data[i] = (u8)random_next(&seed);
        for (u32 i = 0; !(round & 1) && i < 1 + random_below(&seed, 4); i++)
            data[random_below(&seed, size)] = (u8)random_next(&seed);
        run(&d, data, round & 1 ? len : size, &events);
        free(data);
    }
}

/* What a rendered event looks like. */
static void events_render(void **state)
{
    static const char *const texts[] = {
        "SVM on cpu, TSC 1 Hz, selection ''",
        "EXCEPTION code 0x72 rip 0x1000 length 2",
        "leaf 0x1.0x0 -> eax 0x2 ebx 0x3 ecx 0x4 edx 0x5",
        "name (EXCEPTION code 0x2): pass, 3 checks reason",
    };
    u32 size = sample();
    struct decoder d;
    struct event_view e;

    (void)state;
    decode_begin(&d, memory, size);
    for (u32 i = 0; i < ARRAY_SIZE(texts); i++) {
        char *text = NULL;
        size_t len;
        FILE *f = open_memstream(&text, &len);

        assert_int_equal(decode_next(&d, &e), DECODE_OK);
        render_text(f, &e);
        fclose(f);
        assert_string_equal(text, texts[i]);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_packet_decodes),
        cmocka_unit_test(every_truncation_stops_in_place),
        cmocka_unit_test(sizes_must_agree),
        cmocka_unit_test(unknown_id_stops_with_its_position),
        cmocka_unit_test(other_version_is_said),
        cmocka_unit_test(fuzz),
        cmocka_unit_test(events_render),
    };

    nowhere = fopen("/dev/null", "w");
    return nowhere ? cmocka_run_group_tests_name("decode", tests, NULL, NULL)
                   : 1;
}
