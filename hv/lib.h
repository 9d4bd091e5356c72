/*
 * The few functions of <string.h> that freestanding code needs. The compiler
 * may call memcpy, memset, memmove and memcmp on its own accord.
 */
#ifndef HV_LIB_H
#define HV_LIB_H

#include "hv/types.h"

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);

/* Copies at most size - 1 bytes and always ends with NUL (size > 0). */
static inline void string_copy(char *to, const char *from, size_t size)
{
    size_t n = 0;

    while (n + 1 < size && from[n]) {
        to[n] = from[n];
        n++;
    }
    to[n] = 0;
}

#endif
