/* The receiving end of the wire; see wire_rx.h. */
#include "tools/wire_rx.h"

#include <string.h>

void wire_rx_init(struct wire_rx *rx)
{
    rx->state = RX_TEXT;
    rx->held = 0;
    rx->position = 0;
    rx->esc = 0;
    rx->start = 0;
    rx->text_len = 0;
    rx->body_len = 0;
}

/* The value of a base85 digit, -1: it is none. */
static int digit(u8 c)
{
    const char *at = c ? strchr(WIRE_DIGITS, c) : NULL;

    return at ? (int)(at - WIRE_DIGITS) : -1;
}

/* Undoes base85: the packed bytes and their number, -1: not possible. */
static long base85(const u8 *body, u32 len, u8 *packed)
{
    u8 *out = packed;

    while (len > 1) {
        u32 bytes = len > 4 ? 4 : len - 1;
        u32 digits = bytes + 1;
        u64 value = 0;

        for (u32 i = 0; i < digits; i++)
            value = value * 85 + (u64)digit(body[i]);
        if (value >> 8 * bytes)
            return -1;
        for (u32 i = bytes; i-- > 0;)
            *out++ = (u8)(value >> 8 * i);
        body += digits;
        len -= digits;
    }
    return len ? -1 : out - packed;
}

/* Undoes zero packing: the payload's length, -1: it has no end, has bytes
 * after its end, or is too long. */
static long unpack(const u8 *packed, long len, u8 *payload)
{
    const u8 *end = packed + len;
    long n = 0;

    while (packed < end) {
        u8 map = *packed++;

        if (n > (long)WIRE_MAX_PAYLOAD)
            return -1;
        for (int i = 0; i < 8; i++) {
            if (!(map >> i & 1))
                payload[n++] = 0;
            else if (packed < end)
                payload[n++] = *packed++;
            else
                return map >> i == 1 ? n : -1;
        }
    }
    return -1;
}

/* The whole body is there: NULL, or what is wrong with it. */
static const char *decode(struct wire_rx *rx)
{
    long len = base85(rx->body, rx->body_len, rx->packed);
    u32 crc;

    if (len >= 0)
        len = unpack(rx->packed, len, rx->payload);
    if (len < (long)(WIRE_HEAD + WIRE_TAIL) || len > (long)WIRE_MAX_PAYLOAD)
        return "bad encoding";
    len -= WIRE_TAIL;
    memcpy(&crc, rx->payload + len, sizeof(crc));
    if (crc != crc32c(0, rx->payload, (size_t)len))
        return "bad CRC";
    rx->type = rx->payload[0];
    memcpy(&rx->sequence, rx->payload + 1, sizeof(rx->sequence));
    rx->data = rx->payload + WIRE_HEAD;
    rx->size = (u32)len - WIRE_HEAD;
    return NULL;
}

static enum wire_event bad(struct wire_rx *rx, const char *why)
{
    rx->why = why;
    return WIRE_BAD;
}

/* A byte between frames, after `held` bytes of WIRE_START. */
static enum wire_event between_frames(struct wire_rx *rx, u8 byte)
{
    rx->state = RX_TEXT;
    if (byte == (u8)WIRE_START[rx->held]) {
        if (rx->held++ == 0)
            rx->esc = rx->position - 1;
        if (rx->held == strlen(WIRE_START)) {
            rx->held = 0;
            rx->body_len = 0;
            rx->start = rx->esc;
            rx->state = RX_BODY;
        }
        return WIRE_MORE;
    }
    memcpy(rx->text, WIRE_START, rx->held);
    rx->text_len = rx->held;
    rx->held = byte == WIRE_ESC;
    if (rx->held)
        rx->esc = rx->position - 1;
    else
        rx->text[rx->text_len++] = byte;
    return rx->text_len ? WIRE_TEXT : WIRE_MORE;
}

/* The byte after an ESC inside a frame, where it does not end the frame: the
 * two may begin the next one. */
static enum wire_event after_esc(struct wire_rx *rx, u8 byte)
{
    rx->held = 1;
    rx->esc = rx->position - 2;
    return between_frames(rx, byte);
}

static enum wire_event body_byte(struct wire_rx *rx, u8 byte)
{
    if (byte == WIRE_ESC) {
        rx->state = RX_BODY_ESC;
        return WIRE_MORE;
    }
    if (digit(byte) < 0) {
        rx->state = RX_SKIP;
        if (byte == '\n')
            between_frames(rx, byte);
        return bad(rx, "bad character");
    }
    if (rx->body_len == WIRE_MAX_BODY) {
        rx->state = RX_SKIP;
        return bad(rx, "too long");
    }
    rx->body[rx->body_len++] = byte;
    return WIRE_MORE;
}

static enum wire_event body_esc_byte(struct wire_rx *rx, u8 byte)
{
    if (byte == (u8)WIRE_END[1]) {
        const char *why = decode(rx);

        rx->state = RX_TEXT;
        return why ? bad(rx, why) : WIRE_FRAME;
    }
    after_esc(rx, byte);
    return bad(rx, "cut short");
}

/* The rest of a damaged frame ends as a frame does, or with the line: if its
 * end was lost, the text after it should not be. */
static enum wire_event skip_byte(struct wire_rx *rx, u8 byte)
{
    if (byte == '\n')
        return between_frames(rx, byte);
    if (byte == WIRE_ESC)
        rx->state = RX_SKIP_ESC;
    return WIRE_MORE;
}

static enum wire_event skip_esc_byte(struct wire_rx *rx, u8 byte)
{
    if (byte != (u8)WIRE_END[1])
        return after_esc(rx, byte);
    rx->state = RX_TEXT;
    return WIRE_MORE;
}

enum wire_event wire_rx_byte(struct wire_rx *rx, u8 byte)
{
    rx->position++;
    rx->text_len = 0;
    switch (rx->state) {
    case RX_BODY:
        return body_byte(rx, byte);
    case RX_BODY_ESC:
        return body_esc_byte(rx, byte);
    case RX_SKIP:
        return skip_byte(rx, byte);
    case RX_SKIP_ESC:
        return skip_esc_byte(rx, byte);
    case RX_TEXT:
        break;
    }
    return between_frames(rx, byte);
}

enum wire_event wire_rx_end(struct wire_rx *rx)
{
    bool in_frame = rx->state == RX_BODY || rx->state == RX_BODY_ESC;

    memcpy(rx->text, WIRE_START, rx->held);
    rx->text_len = rx->held;
    rx->held = 0;
    rx->state = RX_TEXT;
    if (in_frame)
        return bad(rx, "cut short by the end of the stream");
    return rx->text_len ? WIRE_TEXT : WIRE_MORE;
}
