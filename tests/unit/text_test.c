/* Console text: what a firmware does to a terminal, and what is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/text.h"

/* All lines of the input, each followed by '|'. */
static void becomes(const char *input, const char *lines)
{
    struct text t = {0};
    char out[4096] = "";

    for (; *input; input++) {
        if (!text_byte(&t, (u8)*input))
            continue;
        strcat(out, t.line);
        strcat(out, "|");
    }
    if (text_end(&t))
        strcat(strcat(out, t.line), "|");
    assert_string_equal(out, lines);
}

static void lines_are_lines(void **state)
{
    (void)state;
    becomes("one\r\ntwo\n\nlast", "one|two||last|");
    becomes("tab\tbell\a", "tab\tbell|");
    becomes("\xc3\xa4", "\xc3\xa4|");
    becomes("", "");
}

static void escapes_are_gone(void **state)
{
    (void)state;
    becomes("\x1b[1;31mred\x1b[m text\n", "red text|");
    becomes("\x1b[2J\x1b[01;01H\x1b[=3hBdsDxe: a\x1b[2;1HBdsDxe: b\n",
            "BdsDxe: a|BdsDxe: b|");
    becomes("\x1b]0;title\aafter\x1b"
            "7 it\n",
            "after it|");
    becomes("\x1b_not ours\x1b\\x\n", "x|");
    becomes("cut\x1b", "cut|");
    becomes("\x1b\x1b[mx\n", "x|");
}

static void endless_line_comes_in_pieces(void **state)
{
    struct text t = {0};
    u32 lines = 0;

    (void)state;
    for (u32 i = 0; i < 3000; i++)
        lines += text_byte(&t, 'x');
    assert_int_equal(lines, 3000 / (sizeof(t.line) - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_lines),
        cmocka_unit_test(escapes_are_gone),
        cmocka_unit_test(endless_line_comes_in_pieces),
    };

    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
