/* printf's useful part, without a C library; see format.h. */
#include "hv/format.h"

/* Where the text goes. len counts what the whole text would take, so that
 * the caller can see a truncation, as with snprintf. */
struct out {
    char *buf;
    size_t size, len;
};

/* One conversion: %[-][0][width][.precision][l|ll|z]letter. */
struct spec {
    bool left, zero;
    int width;
    int precision; /* -1: none */
    bool wide;     /* l, ll, z: all 64 bits here */
};

static void put(struct out *o, char c)
{
    if (o->len + 1 < o->size)
        o->buf[o->len] = c;
    o->len++;
}

static void pad(struct out *o, char c, int count)
{
    while (count-- > 0)
        put(o, c);
}

static void put_text(struct out *o, const struct spec *s, const char *text)
{
    int n = 0;

    if (!text)
        text = "(null)";
    while ((s->precision < 0 || n < s->precision) && text[n])
        n++;
    if (!s->left)
        pad(o, ' ', s->width - n);
    for (int i = 0; i < n; i++)
        put(o, text[i]);
    if (s->left)
        pad(o, ' ', s->width - n);
}

static void put_number(struct out *o, const struct spec *s, u64 value,
                       bool negative, u32 base, const char *digits)
{
    char text[20]; /* 2^64 - 1 has 20 decimal digits */
    int n = 0, fill;

    do {
        text[n++] = digits[value % base];
        value /= base;
    } while (value);
    fill = s->width - n - negative;
    if (!s->left && !s->zero)
        pad(o, ' ', fill);
    if (negative)
        put(o, '-');
    if (!s->left && s->zero)
        pad(o, '0', fill);
    while (n > 0)
        put(o, text[--n]);
    if (s->left)
        pad(o, ' ', fill);
}

static int number(const char **fmt, va_list *ap)
{
    int n = 0;

    if (**fmt == '*') {
        (*fmt)++;
        return va_arg(*ap, int);
    }
    while (**fmt >= '0' && **fmt <= '9')
        n = n * 10 + *(*fmt)++ - '0';
    return n;
}

/* Reads flags, width, precision and size; returns the conversion letter's
 * place. */
static const char *parse(const char *fmt, struct spec *s, va_list *ap)
{
    *s = (struct spec){.precision = -1};
    for (;; fmt++) {
        if (*fmt == '-')
            s->left = true;
        else if (*fmt == '0')
            s->zero = true;
        else
            break;
    }
    s->width = number(&fmt, ap);
    if (*fmt == '.') {
        fmt++;
        s->precision = number(&fmt, ap);
    }
    for (; *fmt == 'l' || *fmt == 'z'; fmt++)
        s->wide = true;
    return fmt;
}

static void put_signed(struct out *o, const struct spec *s, int64_t value)
{
    u64 magnitude = value < 0 ? -(u64)value : (u64)value;

    put_number(o, s, magnitude, value < 0, 10, "0123456789");
}

/* Converts one argument; false: no such conversion. */
static bool convert(struct out *o, const struct spec *s, char letter,
                    va_list *ap)
{
    const char *digits =
        letter == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    struct spec pointer = {.zero = true, .width = 16};
    char c[2] = {0};

    switch (letter) {
    case 's':
        put_text(o, s, va_arg(*ap, const char *));
        return true;
    case 'c':
        c[0] = (char)va_arg(*ap, int);
        put_text(o, s, c);
        return true;
    case 'd':
    case 'i':
        put_signed(o, s, s->wide ? va_arg(*ap, long) : va_arg(*ap, int));
        return true;
    case 'u':
    case 'x':
    case 'X':
        put_number(o, s, s->wide ? va_arg(*ap, u64) : va_arg(*ap, u32), false,
                   letter == 'u' ? 10 : 16, digits);
        return true;
    case 'p':
        put_number(o, &pointer, (uintptr_t)va_arg(*ap, void *), false, 16,
                   digits);
        return true;
    case '%':
        put(o, '%');
        return true;
    default:
        return false;
    }
}

int vformat(char *buf, size_t size, const char *fmt, va_list ap)
{
    struct out o = {buf, size, 0};
    struct spec s;
    va_list args;

    va_copy(args, ap); /* a va_list parameter cannot be passed by address */
    while (*fmt) {
        const char *start = fmt;

        if (*fmt++ != '%') {
            put(&o, *start);
            continue;
        }
        fmt = parse(fmt, &s, &args);
        if (*fmt && convert(&o, &s, *fmt, &args)) {
            fmt++;
            continue;
        }
        while (start < fmt)
            put(&o, *start++);
    }
    va_end(args);
    if (size)
        buf[o.len < size ? o.len : size - 1] = 0;
    return (int)o.len;
}

int format(char *buf, size_t size, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vformat(buf, size, fmt, ap);
    va_end(ap);
    return n;
}
