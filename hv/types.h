/* Fixed-width names and the few macros that every freestanding file uses. */
#ifndef HV_TYPES_H
#define HV_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define PAGE_SIZE 4096ul
#define BIT(n)    (1ull << (n))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PACKED        __attribute__((packed))
#define ALIGNED(n)    __attribute__((aligned(n)))
#define NORETURN      __attribute__((noreturn))
#define LIKELY(x)     __builtin_expect(!!(x), 1)
#define UNLIKELY(x)   __builtin_expect(!!(x), 0)
#define PRINTF(f, a)  __attribute__((format(printf, f, a)))

#endif
