/*
 * The sending end of the wire: packs, encodes and checksums a frame while it
 * is being sent, a few bytes at a time.
 */
#include "trace/wire.h"

const char WIRE_DIGITS[85 + 1] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 ".-:+=^!/*?&<>()[]{}@%$#";

/* A nibble at a time: 64 bytes of table, two look-ups a byte. Entry n is the
 * CRC register after shifting out n; 0x82F63B78 is the polynomial reflected. */
static const u32 crc_nibble[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
    0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
    0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

u32 crc32c(u32 crc, const void *data, size_t size)
{
    const u8 *p = data;

    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ crc_nibble[crc & 15];
        crc = crc >> 4 ^ crc_nibble[crc & 15];
    }
    return ~crc;
}

static void put(struct wire_tx *w, u8 byte)
{
    w->out[w->out_len++] = byte;
}

void wire_begin(struct wire_tx *w, enum frame_type type, u32 sequence,
                const void *data, u32 size)
{
    *w = (struct wire_tx){
        .data = data,
        .size = WIRE_HEAD + size + WIRE_TAIL,
        .head = {(u8)type, (u8)sequence, (u8)(sequence >> 8),
                 (u8)(sequence >> 16), (u8)(sequence >> 24)},
    };
    for (const char *s = WIRE_START; *s; s++)
        put(w, (u8)*s);
}

/* The payload byte at pos. The CRC is complete when its own turn comes. */
static u8 payload_next(struct wire_tx *w)
{
    u32 data_end = w->size - WIRE_TAIL;
    u32 pos = w->pos++;
    u8 byte;

    if (pos >= data_end)
        return (u8)(w->crc >> 8 * (pos - data_end));
    byte = pos < WIRE_HEAD ? w->head[pos] : w->data[pos - WIRE_HEAD];
    w->crc = crc32c(w->crc, &byte, 1);
    return byte;
}

/* Zero-packs the next group, at most 9 bytes; false: it was the last one. */
static bool pack_group(struct wire_tx *w)
{
    u8 *map = &w->packed[w->packed_len++];
    u32 left = w->size - w->pos;
    u32 n = left < 8 ? left : 8;

    *map = 0;
    for (u32 i = 0; i < n; i++) {
        u8 byte = payload_next(w);

        if (!byte)
            continue;
        *map = (u8)(*map | 1u << i);
        w->packed[w->packed_len++] = byte;
    }
    if (n == 8)
        return true;
    *map = (u8)(*map | 1u << n);
    return false;
}

/* The first n packed bytes as one number, in n + 1 digits. */
static void encode(struct wire_tx *w, u32 n)
{
    u32 value = 0;

    for (u32 i = 0; i < n; i++)
        value = value << 8 | w->packed[i];
    for (u32 i = n + 1; i-- > 0; value /= 85)
        w->out[w->out_len + i] = (u8)WIRE_DIGITS[value % 85];
    w->out_len = (u8)(w->out_len + n + 1);

    w->packed_len = (u8)(w->packed_len - n);
    for (u32 i = 0; i < w->packed_len; i++)
        w->packed[i] = w->packed[n + i];
}

/* Encodes the next group of the payload into out, which is empty. At most
 * 3 + 9 bytes are packed then: 15 digits, and 2 bytes of the end. */
static void refill(struct wire_tx *w)
{
    w->out_len = 0;
    w->out_pos = 0;
    w->last = !pack_group(w);
    while (w->packed_len >= 4)
        encode(w, 4);
    if (!w->last)
        return;
    if (w->packed_len)
        encode(w, w->packed_len);
    for (const char *s = WIRE_END; *s; s++)
        put(w, (u8)*s);
}

bool wire_next(struct wire_tx *w, u8 *byte)
{
    while (w->out_pos == w->out_len) {
        if (w->last)
            return false;
        refill(w);
    }
    *byte = w->out[w->out_pos++];
    return true;
}
