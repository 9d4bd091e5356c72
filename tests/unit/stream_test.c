/*
 * A stream as items: lost frames are counted by their numbers, a restart is
 * a new run, damage is placed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/stream.h"

static struct stream stream;
static FILE *file;

static int setup(void **state)
{
    (void)state;
    file = tmpfile();
    return file ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    stream_close(&stream);
    return fclose(file);
}

static void text(const char *s)
{
    fputs(s, file);
}

static void frame(enum frame_type type, u32 sequence)
{
    struct wire_tx tx;
    u8 byte;

    wire_begin(&tx, type, sequence, "data", 4);
    while (wire_next(&tx, &byte))
        fputc(byte, file);
}

/* The file has no name but this one. */
static void opened(void)
{
    static char path[64]; /* the stream keeps it as its name */

    fflush(file);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
    assert_true(stream_open(&stream, path));
}

static struct item next(enum item_kind kind)
{
    struct item item = stream_next(&stream);

    assert_int_equal(item.kind, kind);
    return item;
}

static void items_come_in_order(void **state)
{
    (void)state;
    text("hello\nto");
    frame(FRAME_METADATA, 0);
    text("gether\n");
    frame(FRAME_PACKET, 1);
    text("end");
    opened();
    assert_string_equal(next(ITEM_LINE).text, "hello");
    next(ITEM_RUN);
    assert_int_equal(next(ITEM_METADATA).position, 8);
    assert_string_equal(next(ITEM_LINE).text, "together");
    struct item item = next(ITEM_PACKET);
    assert_int_equal(item.size, 4);
    assert_memory_equal(item.data, "data", 4);
    assert_string_equal(next(ITEM_LINE).text, "end");
    next(ITEM_END);
    next(ITEM_END);
    assert_false(stream_damaged(&stream));
    assert_string_equal(stream.last_line, "end");
}

static void gaps_are_counted(void **state)
{
    (void)state;
    frame(FRAME_METADATA, 0);
    frame(FRAME_PACKET, 4);
    opened();
    next(ITEM_RUN);
    next(ITEM_METADATA);
    assert_int_equal(next(ITEM_LOST).count, 3);
    next(ITEM_PACKET);
    next(ITEM_END);
    assert_int_equal(stream.lost, 3);
    assert_true(stream_damaged(&stream));
}

static void restart_is_a_new_run(void **state)
{
    (void)state;
    frame(FRAME_METADATA, 0);
    frame(FRAME_PACKET, 1);
    frame(FRAME_METADATA, 0);
    frame(FRAME_PACKET, 1);
    frame(FRAME_PACKET, 1); /* its frame 0 is lost */
    opened();
    for (int i = 0; i < 2; i++) {
        next(ITEM_RUN);
        next(ITEM_METADATA);
        next(ITEM_PACKET);
    }
    next(ITEM_RUN);
    assert_int_equal(next(ITEM_LOST).count, 1);
    next(ITEM_PACKET);
    next(ITEM_END);
    assert_int_equal(stream.runs, 3);
}

static void damage_is_placed(void **state)
{
    (void)state;
    frame(FRAME_METADATA, 0);
    text("x\n" WIRE_START "0123" WIRE_END);
    frame('?', 1);
    text(WIRE_START "01");
    opened();
    next(ITEM_RUN);
    next(ITEM_METADATA);
    next(ITEM_LINE);
    struct item bad = next(ITEM_BAD);
    assert_string_equal(bad.text, "bad encoding");
    assert_string_equal(next(ITEM_BAD).text, "unknown frame type");
    assert_string_equal(next(ITEM_BAD).text,
                        "cut short by the end of the stream");
    next(ITEM_END);
    assert_int_equal(stream.bad, 3);
}

static void missing_source_is_refused(void **state)
{
    (void)state;
    opened();
    stream_close(&stream);
    assert_false(stream_open(&stream, "/nonexistent/stream"));
    assert_false(stream_open(&stream, "/"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(items_come_in_order),       TEST(gaps_are_counted),
        TEST(restart_is_a_new_run),      TEST(damage_is_placed),
        TEST(missing_source_is_refused),
    };

    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
