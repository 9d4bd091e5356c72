/* hv/format.c against what snprintf says, and at the edges of the buffer. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hv/format.h"

/* The same text and length as the C library. */
#define SAME(...)                                                              \
    do {                                                                       \
        char ours[128], theirs[128];                                           \
        int n = format(ours, sizeof(ours), __VA_ARGS__);                       \
                                                                               \
        assert_int_equal(n, snprintf(theirs, sizeof(theirs), __VA_ARGS__));    \
        assert_string_equal(ours, theirs);                                     \
    } while (0)

static void numbers(void **state)
{
    (void)state;
    SAME("%d %d %i", 0, -1, 12345);
    SAME("%d %u", INT_MIN, UINT_MAX);
    SAME("%x %X", 0xdeadbeefu, 0xdeadbeefu);
    SAME("%ld %lu %lx", LONG_MIN, ULONG_MAX, ULONG_MAX);
    SAME("%lld %llx", -5ll, 0x123456789abcdefull);
    SAME("%zu", (size_t)77);
}

static void widths(void **state)
{
    (void)state;
    SAME("[%5d][%-5d][%05d]", 42, 42, 42);
    SAME("[%5d][%-5d][%05d]", -42, -42, -42);
    SAME("[%2d][%02d]", 12345, 12345);
    SAME("[%016lx][%8x][%-8x]", 0x1234ul, 0xabu, 0xabu);
    SAME("[%*d][%*d]", 6, 1, 2, 345);
}

static void strings(void **state)
{
    (void)state;
    SAME("%s|%8s|%-8s|%c|%%", "text", "text", "text", 'x');
    SAME("[%.2s][%.9s][%.*s]", "abc", "abc", 1, "abc");
    SAME("[%-5.2s][%5.2s][%.0s]", "abc", "abc", "abc");
    SAME("%s", "");
}

static void pointers(void **state)
{
    char text[32];

    (void)state;
    assert_int_equal(format(text, sizeof(text), "%p", (void *)0xe05u), 16);
    assert_string_equal(text, "0000000000000e05");
}

/* The length counts what did not fit; the text always ends with NUL. */
static void truncation(void **state)
{
    char text[8];

    (void)state;
    memset(text, '#', sizeof(text));
    assert_int_equal(format(text, 4, "%s", "abcdef"), 6);
    assert_string_equal(text, "abc");
    assert_int_equal(text[4], '#');
    assert_int_equal(format(text, 1, "%d", 99), 2);
    assert_string_equal(text, "");
    memset(text, '#', sizeof(text));
    assert_int_equal(format(text, 0, "%d", 99), 2);
    assert_int_equal(text[0], '#');
    assert_int_equal(format(NULL, 0, "abc"), 3);
    assert_int_equal(format(text, 4, "abc"), 3);
    assert_string_equal(text, "abc");
}

/* What is not known, or cut off, is printed as it stands. */
static void unknown(void **state)
{
    static const char *const odd[] = {"%q", "%5k|", "100%", "%-", "%l", "%.3"};
    char text[16];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
        const char *fmt = odd[i]; /* keeps the compiler from checking it */

        format(text, sizeof(text), fmt, 1, 2);
        assert_string_equal(text, odd[i]);
    }
}

static void null_string(void **state)
{
    const char *volatile none = NULL;
    char text[16];

    (void)state;
    format(text, sizeof(text), "%s", none);
    assert_string_equal(text, "(null)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),     cmocka_unit_test(widths),
        cmocka_unit_test(strings),     cmocka_unit_test(pointers),
        cmocka_unit_test(truncation),  cmocka_unit_test(unknown),
        cmocka_unit_test(null_string),
    };

    return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
