/*
 * printf's useful part, without a C library. Pure: unit-tested on the host.
 *
 *   %[-][0][width][l|ll|z](d|i|u|x|X)   %[-][width]s   %c   %p   %%
 *   precision: only %.Ns and %.*s, at most N bytes; width may be *
 *
 * An unknown conversion is printed as it stands, so that it shows.
 */
#ifndef HV_FORMAT_H
#define HV_FORMAT_H

#include <stdarg.h>

#include "hv/types.h"

/* As snprintf: writes at most size bytes, NUL included (size 0: none), and
 * returns the length that the whole text would have had. */
int format(char *buf, size_t size, const char *fmt, ...) PRINTF(3, 4);
int vformat(char *buf, size_t size, const char *fmt, va_list ap) PRINTF(3, 0);

#endif
