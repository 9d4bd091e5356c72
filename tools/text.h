/*
 * Console text made readable: lines without the firmware's terminal control
 * (ECMA-48 escape sequences, carriage returns).
 */
#ifndef TOOLS_TEXT_H
#define TOOLS_TEXT_H

#include "hv/types.h"

struct text {
    enum {
        TEXT_PLAIN,
        TEXT_ESC,     /* after ESC */
        TEXT_CSI,     /* after ESC [, up to its final byte */
        TEXT_STRING,  /* in a control string: ESC ] P X ^ _ ... ESC \ or BEL */
        TEXT_STR_ESC, /* in one, after ESC */
    } state;
    size_t len;
    char line[1024];
};

/* Takes one byte. True: line[] holds a whole line, NUL-terminated and without
 * its end; the next call begins the next one. */
bool text_byte(struct text *t, u8 byte);

/* The text has ended: true when line[] holds an unfinished line. */
bool text_end(struct text *t);

#endif
