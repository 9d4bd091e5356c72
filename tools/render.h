/* An event as text. */
#ifndef TOOLS_RENDER_H
#define TOOLS_RENDER_H

#include <stdio.h>

#include "tools/decode.h"

/* Field n as a person reads it: "CPUID", "0x72", "READ|WRITE". */
void render_field(FILE *f, const struct event_view *e, u32 n);

/* The row's own text, its %1 ... filled in. */
void render_text(FILE *f, const struct event_view *e);

/* "name=value ..." with plain numbers: nothing is interpreted. */
void render_raw(FILE *f, const struct event_view *e);

#endif
