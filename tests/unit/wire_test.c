/*
 * Both ends of the wire: round trips, every single flipped bit, every
 * truncation, and text of all kinds between the frames.
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

static struct wire_rx *rx;
static u8 line[WIRE_MAX_BODY + 16]; /* a frame as it is sent */
static u32 line_len;

static int setup(void **state)
{
    (void)state;
    rx = malloc(sizeof(*rx));
    if (!rx)
        return -1;
    wire_rx_init(rx);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(rx);
    return 0;
}

static void encode(u32 sequence, const void *data, u32 size)
{
    struct wire_tx tx;

    line_len = 0;
    wire_begin(&tx, FRAME_PACKET, sequence, data, size);
    while (wire_next(&tx, &line[line_len]))
        assert_true(++line_len < sizeof(line));
}

/* What a run of bytes led to. */
struct seen {
    u32 frames, bad;
    char text[256];
    u32 text_len;
};

static void note(struct seen *s, enum wire_event event)
{
    s->frames += event == WIRE_FRAME;
    s->bad += event == WIRE_BAD;
    assert_true(event == WIRE_TEXT || event == WIRE_BAD || !rx->text_len);
    for (u32 i = 0; i < rx->text_len && s->text_len + 1 < sizeof(s->text); i++)
        s->text[s->text_len++] = (char)rx->text[i];
}

static void feed(struct seen *s, const void *bytes, u32 len)
{
    for (u32 i = 0; i < len; i++)
        note(s, wire_rx_byte(rx, ((const u8 *)bytes)[i]));
}

static void feed_text(struct seen *s, const char *text)
{
    feed(s, text, (u32)strlen(text));
}

static void round_trip(u32 sequence, const u8 *data, u32 size)
{
    struct seen s = {0};

    encode(sequence, data, size);
    feed(&s, line, line_len);
    assert_int_equal(s.frames, 1);
    assert_int_equal(s.bad, 0);
    assert_int_equal(s.text_len, 0);
    assert_int_equal(rx->type, FRAME_PACKET);
    assert_int_equal(rx->sequence, sequence);
    assert_int_equal(rx->size, size);
    assert_memory_equal(rx->data, data, size);
}

/* RFC 3720 B.4 gives these. */
static void crc_is_castagnoli(void **state)
{
    u8 bytes[32] = {0};

    (void)state;
    assert_int_equal(crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, 32);
    assert_int_equal(crc32c(0, bytes, 32), 0x62a8ab43);
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
}

static void every_length_round_trips(void **state)
{
    u8 data[200];
    u64 seed = 1;

    (void)state;
    for (u32 size = 0; size < sizeof(data); size++) {
        for (u32 i = 0; i < size; i++)
            data[i] = random_below(&seed, 2) ? (u8)random_next(&seed) : 0;
        round_trip((u32)random_next(&seed), data, size);
        memset(data, 0, size);
        round_trip(0, data, size);
        memset(data, 0xff, size);
        round_trip(~0u, data, size);
    }
}

static void largest_frame_round_trips(void **state)
{
    u32 size = WIRE_MAX_PAYLOAD - WIRE_HEAD - WIRE_TAIL;
    u8 *data = malloc(size);

    (void)state;
    assert_non_null(data);
    memset(data, 0xa5, size);
    round_trip(1, data, size);
    free(data);
}

/* A frame without end is reported once, and what follows is found. */
static void endless_frame_is_too_long(void **state)
{
    struct seen s = {0};
    u8 data[8] = {0};

    (void)state;
    feed_text(&s, WIRE_START);
    for (u32 i = 0; i < 2 * WIRE_MAX_BODY; i++)
        feed_text(&s, "x");
    assert_int_equal(s.bad, 1);
    assert_string_equal(rx->why, "too long");
    encode(0, data, sizeof(data));
    feed(&s, line, line_len);
    assert_int_equal(s.frames, 1);
    assert_int_equal(s.bad, 1);
}

static void sample(u8 data[64])
{
    for (u32 i = 0; i < 64; i++)
        data[i] = (u8)(i % 3 ? i * 37 : 0);
}

/* No flipped bit gets through, and the frame after it always does. */
static void every_flipped_bit_is_caught(void **state)
{
    u8 data[64];

    (void)state;
    sample(data);
    for (u32 bit = 0;; bit++) {
        struct seen s = {0};

        encode(5, data, sizeof(data));
        if (bit == 8 * line_len)
            return;
        line[bit / 8] ^= (u8)(1 << bit % 8);
        feed(&s, line, line_len);
        assert_int_equal(s.frames, 0);
        if (bit >= 8 * strlen(WIRE_START) && bit < 8 * (line_len - 2)) {
            assert_int_equal(s.bad, 1);
            assert_int_equal(rx->start, rx->position - line_len);
        }
        encode(6, data, sizeof(data));
        feed(&s, line, line_len);
        assert_int_equal(s.frames, 1);
        assert_int_equal(rx->sequence, 6);
    }
}

/* Five digits reach beyond 32 bits; such a group means nothing. Here it would
 * stand for the same bytes as the right one: the first group of this frame is
 * a small number, to which 2^32 can be added. */
static void digits_beyond_32_bits_are_bad(void **state)
{
    u8 *group = line + strlen(WIRE_START);
    const u8 data[64] = {0};
    struct seen s = {0};
    u64 value = 0;

    (void)state;
    encode(0, data, sizeof(data));
    for (u32 i = 0; i < 5; i++)
        value = value * 85 + (u64)(strchr(WIRE_DIGITS, group[i]) - WIRE_DIGITS);
    value += 1ull << 32;
    for (u32 i = 5; i-- > 0; value /= 85)
        group[i] = (u8)WIRE_DIGITS[value % 85];
    assert_int_equal(value, 0);
    feed(&s, line, line_len);
    assert_int_equal(s.frames, 0);
    assert_int_equal(s.bad, 1);
}

/* Cut anywhere: by the next frame, by text with an escape, by the end. */
static void every_truncation_is_caught(void **state)
{
    u8 data[64];

    (void)state;
    sample(data);
    encode(5, data, sizeof(data));
    for (u32 len = 0; len < line_len; len++) {
        bool in_frame = len >= strlen(WIRE_START);
        struct seen s = {0};

        feed(&s, line, len);
        feed(&s, line, line_len);
        assert_int_equal(s.frames, 1);
        assert_int_equal(s.bad, in_frame);

        s = (struct seen){0};
        feed(&s, line, len);
        feed_text(&s, "\x1b[2Jhello\n");
        assert_int_equal(s.frames, 0);
        assert_int_equal(s.bad, in_frame);
        assert_non_null(strstr(s.text, "[2Jhello\n"));

        s = (struct seen){0};
        feed(&s, line, len);
        note(&s, wire_rx_end(rx));
        assert_int_equal(s.bad, in_frame);
    }
}

/* A frame that lost bytes in its middle, its end too: the line is skipped,
 * the next one is text again. */
static void text_after_a_lost_end_comes_back(void **state)
{
    struct seen s = {0};

    (void)state;
    feed_text(&s, WIRE_START "0123 lost\nfound\n");
    assert_int_equal(s.bad, 1);
    assert_string_equal(rx->why, "bad character");
    assert_string_equal(s.text, "\nfound\n");
}

static void text_between_frames_is_text(void **state)
{
    static const char *const texts[] = {
        "plain\r\n", "\x1b[2J\x1b[01;01H", "\x1b_not ours\x1b\\",
        "\x1b_Tx",   "\x1b\x1b[m",         "ESC _TG",
        "\\",        "\x1b_T\x1b_T",       "\xc3\xa4\x80\xff",
    };
    u8 data[64];

    (void)state;
    sample(data);
    encode(7, data, sizeof(data));
    for (u32 i = 0; i < ARRAY_SIZE(texts); i++) {
        struct seen s = {0};

        feed_text(&s, texts[i]);
        feed(&s, line, line_len);
        assert_string_equal(s.text, texts[i]);
        assert_int_equal(s.frames, 1);
        assert_int_equal(s.bad, 0);
    }
}

static void random_bytes_do_no_harm(void **state)
{
    static const char digits[] = "\x1b\x1b_TG\\\n0123456789abc";
    u64 seed = 99;
    u8 data[64];
    struct seen s = {0};

    (void)state;
    sample(data);
    for (u32 i = 0; i < 300000; i++) {
        u8 byte = (u8)random_next(&seed);

        if (byte & 1)
            byte = (u8)digits[random_below(&seed, sizeof(digits) - 1)];
        note(&s, wire_rx_byte(rx, byte));
    }
    assert_int_equal(s.frames, 0);
    encode(8, data, sizeof(data));
    feed(&s, line, line_len);
    assert_int_equal(s.frames, 1);
}

/* Zero packing pays: a typical event payload shrinks below its own size. */
static void zeros_cost_little(void **state)
{
    u8 data[1024] = {0};

    (void)state;
    for (u32 i = 0; i < sizeof(data); i += 4)
        data[i] = (u8)i;
    encode(0, data, sizeof(data));
    assert_true(line_len < sizeof(data) / 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(crc_is_castagnoli),
        TEST(every_length_round_trips),
        TEST(largest_frame_round_trips),
        TEST(endless_frame_is_too_long),
        TEST(every_flipped_bit_is_caught),
        TEST(digits_beyond_32_bits_are_bad),
        TEST(every_truncation_is_caught),
        TEST(text_after_a_lost_end_comes_back),
        TEST(text_between_frames_is_text),
        TEST(random_bytes_do_no_harm),
        TEST(zeros_cost_little),
    };

    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
