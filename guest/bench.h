/* What hv/bench.c has to know of its guest. */
#ifndef GUEST_BENCH_H
#define GUEST_BENCH_H

#include "hv/types.h"

#define BENCH_TRIPS      1000
#define BENCH_TRIPS_TEXT "1000"

extern const u8 guest_bench[] __attribute__((visibility("hidden")));

#endif
