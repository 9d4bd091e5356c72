/*
 * Text for people. It goes to a sink: at first straight to the line, later
 * wherever console_set_sink() says (through the trace's sender, so that text
 * and frames share the line in order).
 */
#ifndef HV_CONSOLE_H
#define HV_CONSOLE_H

#include "boot/boot.h"

typedef void console_sink(const char *text, size_t size);

/* Initializes the line and makes it the sink. */
void console_init(enum transport transport);

/* NULL: back to the line itself. */
void console_set_sink(console_sink *sink);

/* As printf, with hv/format.h's conversions; at most 511 bytes a call. */
void print(const char *fmt, ...) PRINTF(1, 2);

/* Waits until the line has sent everything. */
void console_drain(void);

#endif
