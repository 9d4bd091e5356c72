/* Repeatable random numbers for the unit tests: xorshift64*. */
#ifndef TESTS_UNIT_RANDOM_H
#define TESTS_UNIT_RANDOM_H

#include "hv/types.h"

static inline u64 random_next(u64 *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1d;
}

/* 0 .. n - 1 */
static inline u32 random_below(u64 *state, u32 n)
{
    return (u32)((random_next(state) >> 32) * n >> 32);
}

#endif
