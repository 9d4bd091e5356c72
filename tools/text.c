/* Console text made readable; see text.h. */
#include "tools/text.h"

#include <string.h>

/* Ends the line; an empty one counts only where it was ended by '\n'. */
static bool line_end(struct text *t, bool even_empty)
{
    bool whole = t->len || even_empty;

    t->line[t->len] = 0;
    t->len = 0;
    return whole;
}

static bool plain_byte(struct text *t, u8 byte)
{
    if (byte == 0x1b)
        t->state = TEXT_ESC;
    else if (byte == '\n')
        return line_end(t, true);
    else if (byte == '\t' || (byte >= ' ' && byte != 0x7f))
        t->line[t->len++] = (char)byte;
    /* A line without end is handed out in pieces. */
    return t->len == sizeof(t->line) - 1 && line_end(t, false);
}

static bool esc_byte(struct text *t, u8 byte)
{
    if (byte == '[')
        t->state = TEXT_CSI;
    else if (memchr("]PX^_", byte, 5))
        t->state = TEXT_STRING;
    else
        t->state = byte == 0x1b ? TEXT_ESC : TEXT_PLAIN;
    return false;
}

/* Moving the cursor (H, f) and clearing the screen (J) begin a new line: what
 * follows stands elsewhere on the terminal. */
static bool csi_byte(struct text *t, u8 byte)
{
    if (byte < 0x40 || byte > 0x7e)
        return false;
    t->state = TEXT_PLAIN;
    return memchr("HfJ", byte, 3) && line_end(t, false);
}

bool text_byte(struct text *t, u8 byte)
{
    switch (t->state) {
    case TEXT_ESC:
        return esc_byte(t, byte);
    case TEXT_CSI:
        return csi_byte(t, byte);
    case TEXT_STRING:
        if (byte == 0x1b)
            t->state = TEXT_STR_ESC;
        else if (byte == '\a' || byte == '\n')
            t->state = TEXT_PLAIN;
        return false;
    case TEXT_STR_ESC:
        t->state = byte == '\\' ? TEXT_PLAIN : TEXT_STRING;
        return false;
    case TEXT_PLAIN:
        break;
    }
    return plain_byte(t, byte);
}

bool text_end(struct text *t)
{
    t->state = TEXT_PLAIN;
    return line_end(t, false);
}
