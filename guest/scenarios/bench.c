/*
 * The guest of the benchmark: nothing but round trips.
 */
/* clang-format off */
#include "guest/bench.h"

__asm__(".pushsection .guest.text,\"ax\",@progbits\n"
        ".globl guest_bench\n"
        ".hidden guest_bench\n"
        "guest_bench:\n"
        ".rept " BENCH_TRIPS_TEXT "\n"
        "cpuid\n"
        ".endr\n"
        "jmp guest_done\n"
        ".popsection\n");
