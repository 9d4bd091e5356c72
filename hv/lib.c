/* <string.h>'s few functions for freestanding code; see lib.h. */
#include "hv/lib.h"

/* REP MOVSB and REP STOSB: short, and fast on every CPU that has VT-x or
 * AMD-V (SDM vol 1 7.3.9.3, "Fast-String Operation"). */
void *memcpy(void *to, const void *from, size_t n)
{
    void *start = to;

    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
    return start;
}

void *memset(void *to, int byte, size_t n)
{
    void *start = to;

    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte) : "memory");
    return start;
}

void *memmove(void *to, const void *from, size_t n)
{
    u8 *t = to;
    const u8 *f = from;

    if ((uintptr_t)t - (uintptr_t)f >= n)
        return memcpy(to, from, n);
    /* The barrier keeps the compiler from making a memmove call of it. */
    while (n--) {
        t[n] = f[n];
        __asm__ volatile("" : : : "memory");
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const u8 *x = a, *y = b;

    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i])
            return x[i] - y[i];
    return 0;
}

size_t strlen(const char *s)
{
    size_t n = 0;

    for (; s[n]; n++)
        __asm__ volatile(""); /* or the compiler calls strlen here */
    return n;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

int strncmp(const char *a, const char *b, size_t n)
{
    for (; n; n--, a++, b++) {
        if (*a != *b)
            return (u8)*a - (u8)*b;
        if (!*a)
            break;
    }
    return 0;
}
