/* Text for people: print() and where it goes. */
#include "hv/console.h"
#include "hv/format.h"
#include "hv/serial.h"

static enum transport line;
static console_sink *sink;

static void e9_write(const char *text, size_t size)
{
    e9_put((const u8 *)text, (u32)size);
}

static console_sink *direct(void)
{
    return line == TRANSPORT_E9 ? e9_write : serial_write;
}

void console_init(enum transport transport)
{
    line = transport;
    if (line == TRANSPORT_COM1)
        serial_init();
    console_set_sink(NULL);
}

void console_set_sink(console_sink *s)
{
    sink = s ? s : direct();
}

void print(const char *fmt, ...)
{
    char text[512];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vformat(text, sizeof(text), fmt, ap);
    va_end(ap);
    sink(text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

void console_drain(void)
{
    if (line == TRANSPORT_COM1)
        serial_drain();
}
