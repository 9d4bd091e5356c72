/* boot/config.c: what tollgate.cfg may say, and what a bad line leads to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "boot/config.h"
#include "trace/enums.h"

static struct config parsed(const char *text)
{
    struct config c;

    config_defaults(&c);
    config_parse(&c, text, strlen(text));
    return c;
}

static void accepts(const char *text)
{
    assert_string_equal(parsed(text).error, "");
}

static void refuses(const char *text, const char *error)
{
    assert_string_equal(parsed(text).error, error);
}

static void defaults(void **state)
{
    struct config c = parsed("");

    (void)state;
    assert_int_equal(c.mode, MODE_CONFORMANCE);
    assert_int_equal(c.shutdown, SHUTDOWN_RESET);
    assert_int_equal(c.transport, TRANSPORT_COM1);
    assert_int_equal(c.trace_mask, (1u << CLASS_COUNT) - 1);
    assert_int_equal(c.watchdog_ms, 1000);
    assert_string_equal(c.scenarios, "");
    assert_string_equal(c.error, "");
}

static void every_key(void **state)
{
    struct config c = parsed("mode = bench\n"
                             "scenarios=cpuid, hlt ,io-out-8\n"
                             "trace = exit,detail\n"
                             "\ttransport = e9\n"
                             "shutdown = isa-debug-exit\n"
                             "watchdog_ms = 250");

    (void)state;
    assert_string_equal(c.error, "");
    assert_int_equal(c.mode, MODE_BENCH);
    assert_string_equal(c.scenarios, "cpuid,hlt,io-out-8");
    assert_int_equal(c.trace_mask,
                     1u << CLASS_EXIT | 1u << CLASS_DETAIL | 1u << CLASS_RUN);
    assert_int_equal(c.transport, TRANSPORT_E9);
    assert_int_equal(c.shutdown, SHUTDOWN_ISA_DEBUG);
    assert_int_equal(c.watchdog_ms, 250);
}

static void layout(void **state)
{
    (void)state;
    accepts("# only a comment\n\n   \n\t# another\n");
    accepts("mode = bench # why not\n");
    accepts("mode = bench\r\nshutdown = bochs\r\n\r\n");
    accepts("scenarios =\n");
    assert_int_equal(parsed("mode=bench\r\n").mode, MODE_BENCH);
    assert_int_equal(parsed("trace = run").trace_mask, 1u << CLASS_RUN);
    /* Lines are added behind the others to override them. */
    assert_int_equal(parsed("watchdog_ms=5\nwatchdog_ms=6\n").watchdog_ms, 6);
}

static void bad_lines(void **state)
{
    (void)state;
    refuses("mode = bench\nmode = fast\n",
            "tollgate.cfg line 2: \"mode = fast\": allowed is conformance, "
            "bench or preflight");
    refuses("\n\nhello\n",
            "tollgate.cfg line 3: \"hello\": allowed is key = value");
    refuses(
        "colour = red",
        "tollgate.cfg line 1: \"colour = red\": allowed is mode, scenarios, "
        "fatal, trace, transport, shutdown, order or watchdog_ms as key");
    refuses("trace = exit,,run",
            "tollgate.cfg line 1: \"trace = exit,,run\": allowed is a list of "
            "exit, detail, raw, run, or all");
    refuses("transport = usb",
            "tollgate.cfg line 1: \"transport = usb\": allowed is com1 or e9");
    refuses("shutdown = now",
            "tollgate.cfg line 1: \"shutdown = now\": allowed is reset, "
            "isa-debug-exit or bochs");
}

static void numbers(void **state)
{
    static const char *const bad[] = {
        "watchdog_ms =",       "watchdog_ms = 0",          "watchdog_ms = -1",
        "watchdog_ms = 1s",    "watchdog_ms = 600001",     "watchdog_ms = 0x10",
        "watchdog_ms = 1 000", "watchdog_ms = 4294967297",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_non_null(strstr(parsed(bad[i]).error, "1 to 600000"));
    assert_int_equal(parsed("watchdog_ms = 600000").watchdog_ms, 600000);
    assert_int_equal(parsed("order = 4294967295").seed, 4294967295u);
    assert_int_equal(parsed("order = 7").order, ORDER_RANDOM);
    assert_int_equal(parsed("order = reverse").order, ORDER_REVERSE);
    assert_int_equal(parsed("").order, ORDER_FORWARD);
    assert_string_equal(parsed("order = 4294967296").error,
                        "tollgate.cfg line 1: \"order = 4294967296\": allowed "
                        "is forward, reverse, or a seed: 0 to 4294967295");
    assert_int_equal(parsed("watchdog_ms = bad").watchdog_ms, 1000);
}

/* The first error is kept; the lines after it still count. */
static void first_error(void **state)
{
    struct config c = parsed("bad\nworse\nmode = bench\n");

    (void)state;
    assert_non_null(strstr(c.error, "line 1"));
    assert_int_equal(c.mode, MODE_BENCH);
}

static void long_values(void **state)
{
    char text[400] = "scenarios = ";
    size_t start = strlen(text);
    struct config c;

    (void)state;
    memset(text + start, 'x', 255);
    c = parsed(text);
    assert_string_equal(c.error, "");
    assert_int_equal(strlen(c.scenarios), 255);
    memset(text + start, 'x', 256);
    c = parsed(text);
    assert_non_null(strstr(c.error, "at most 255 characters"));
    assert_int_equal(strlen(c.scenarios), 0);
    c = parsed("fatal = init, apic_fetch");
    assert_string_equal(c.fatal, "init,apic_fetch");
    memcpy(text, "fatal = ", 8);
    memset(text + 8, 'x', 64);
    text[72] = 0;
    assert_non_null(strstr(parsed(text).error, "at most 63 characters"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),    cmocka_unit_test(every_key),
        cmocka_unit_test(layout),      cmocka_unit_test(bad_lines),
        cmocka_unit_test(numbers),     cmocka_unit_test(first_error),
        cmocka_unit_test(long_values),
    };

    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
