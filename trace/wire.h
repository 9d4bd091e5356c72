/*
 * The wire: how packets share one serial line with plain text.
 *
 *   frame   = ESC '_' 'T' 'G' body ESC '\'
 *   body    = base85(zeropack(payload))
 *   payload = type(1) sequence(4) data(n) crc32c(4), little-endian; the CRC
 *             (Castagnoli, as iSCSI, RFC 3720 B.4) covers all before it
 *
 * ESC '_' ... ESC '\' is the Application Program Command string of ECMA-48
 * 8.3.2: a terminal swallows it and shows only the text around it. ESC occurs
 * nowhere in a body (85 printable characters), so a reader that lost its
 * place finds the next frame at the next ESC '_'. The sequence number counts
 * all frames, so that lost ones can be counted.
 *
 * Zero packing, which more than pays for base85: each 8 bytes become a map
 * byte (bit n: byte n is not zero), then the bytes that are not. The last
 * group has 0..7 bytes; its map has the bit above its last byte set as well,
 * and that byte is missing: where a byte is announced and none follows, the
 * payload ends.
 *
 * Base85: each 4 bytes, read as a big-endian number, become 5 digits of
 * WIRE_DIGITS (the alphabet of ZeroMQ's Z85), the highest first. A tail of
 * n < 4 bytes is the number that they form, in n + 1 digits.
 *
 * This header and wire.c compile into the hypervisor and the host tool alike;
 * the receiving end is in tools/wire_rx.h.
 */
#ifndef TRACE_WIRE_H
#define TRACE_WIRE_H

#include "hv/types.h"

enum frame_type {
    FRAME_METADATA = 'M', /* a piece of the CTF metadata text, in order */
    FRAME_PACKET = 'P',   /* one CTF packet, whole */
};

#define WIRE_ESC         0x1b
#define WIRE_START       "\x1b_TG"
#define WIRE_END         "\x1b\\"
#define WIRE_MAX_PAYLOAD 65536u
#define WIRE_HEAD        5u /* type and sequence */
#define WIRE_TAIL        4u /* CRC */
extern const char WIRE_DIGITS[85 + 1];

/* Sender: hands out the frame byte by byte, so that a slow line can take
 * them when it is ready. */
struct wire_tx {
    const u8 *data; /* the caller's, until the frame has ended */
    u32 size, pos;  /* of the payload: head, data and tail */
    u32 crc;        /* of what is before pos */
    u8 head[WIRE_HEAD];
    u8 out[32]; /* encoded, not yet handed out */
    u8 out_len, out_pos;
    u8 packed[16]; /* zero-packed, not yet a whole base85 group */
    u8 packed_len;
    bool last; /* out holds the end of the frame */
};

/* size: at most WIRE_MAX_PAYLOAD - WIRE_HEAD - WIRE_TAIL. */
void wire_begin(struct wire_tx *w, enum frame_type type, u32 sequence,
                const void *data, u32 size);

/* The next byte of the frame in *byte, or false: the frame has ended. */
bool wire_next(struct wire_tx *w, u8 *byte);

/* CRC-32C of size bytes, continuing from crc (0 at the start). */
u32 crc32c(u32 crc, const void *data, size_t size);

#endif
