/*
 * The functions that write events, one per row of trace.def, made by the
 * preprocessor:
 *
 *     trace_cpuid(ring, tsc, leaf, subleaf, eax, ebx, ecx, edx);
 *
 * Each has exactly the row's fields as parameters, so that a wrong or missing
 * argument does not compile (narrowing included, under -Wconversion).
 * tests/compile_fail.sh proves that.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include "trace/enums.h"
#include "trace/foreach.h"
#include "trace/ring.h"

/* TRACE_ID_vmexit, ...: the event ids. */
enum trace_id {
#define EVENT(id, name, ...) TRACE_ID_##name = id,
#include "trace/trace.def"
};

/* What a field of each type is as a parameter, ... */
#define PARAM_u8  u8
#define PARAM_u16 u16
#define PARAM_u32 u32
#define PARAM_u64 u64
#define PARAM_str const char *

/* ... how many bytes it takes (without text: known at compile time), ... */
#define FIXED_u8        1
#define FIXED_u16       2
#define FIXED_u32       4
#define FIXED_u64       8
#define FIXED_str       0
#define SIZE_u8(value)  FIXED_u8
#define SIZE_u16(value) FIXED_u16
#define SIZE_u32(value) FIXED_u32
#define SIZE_u64(value) FIXED_u64
#define SIZE_str(value) ring_str_size(value)

/* ... and how it is written at p, which moves on. */
#define PUT_INT(value)                                                         \
    (__builtin_memcpy(p, &(value), sizeof(value)), p += sizeof(value))
#define PUT_u8(value)  PUT_INT(value)
#define PUT_u16(value) PUT_INT(value)
#define PUT_u32(value) PUT_INT(value)
#define PUT_u64(value) PUT_INT(value)
#define PUT_str(value) (p = ring_put_str(p, value))

/* The same for one (type, name, style) tuple of a row. */
#define FIELD_PARAM(type, name, style) , PARAM_##type name
#define FIELD_ARG(type, name, style)   , name
#define FIELD_FIXED(type, name, style) +FIXED_##type
#define FIELD_SIZE(type, name, style)  +SIZE_##type(name)
#define FIELD_TEXT(type, name, style)  +(FIXED_##type == 0)
#define FIELD_PUT(type, name, style)   PUT_##type(name);

/* Bytes of the largest event without text, compact header included. The ring
 * keeps so much room below its limit. */
union trace_fixed {
#define EVENT(id, name, class, vendors, when, text, ...)                       \
    u8 name[FOR_EACH(FIELD_FIXED, __VA_ARGS__)];
#include "trace/trace.def"
};
#define TRACE_FIXED_MAX (EVENT_COMPACT_SIZE + sizeof(union trace_fixed))

/* The fast path: where the payload goes, the compact header already written,
 * or NULL when it is not as simple as that. One comparison for room, one for
 * the time since the last event. */
static inline u8 *ring_reserve(struct ring *r, u32 id, u64 tsc, u32 size)
{
    u8 *p = r->cur;
    u32 header = (u32)tsc << EVENT_ID_BITS | id;

    if (id > EVENT_ID_MAX || UNLIKELY(p >= r->limit) ||
        UNLIKELY(tsc - r->last >= 1u << EVENT_TIME_BITS))
        return NULL;
    __builtin_memcpy(p, &header, sizeof(header));
    r->last = tsc;
    r->cur = p + sizeof(header) + size;
    return p + sizeof(header);
}

/* Is the class written? Class RUN always is: no verdict without it. */
static inline bool trace_wanted(const struct ring *r, enum trace_class class)
{
    return class == CLASS_RUN || (r->mask & 1u << class) != 0;
}

/* The slow path is a function of its own that starts over, so that nothing
 * has to be kept across a call on the fast one. Text always goes there. */
#define EVENT(id, name, class, vendors, when, text, ...)                       \
    static __attribute__((cold, noinline, unused)) void trace_slow_##name(     \
        struct ring *ring, u64 tsc FOR_EACH(FIELD_PARAM, __VA_ARGS__))         \
    {                                                                          \
        u8 *p = ring_reserve_slow(ring, id, tsc,                               \
                                  FOR_EACH(FIELD_SIZE, __VA_ARGS__));          \
        if (!p)                                                                \
            return;                                                            \
        FOR_EACH(FIELD_PUT, __VA_ARGS__)                                       \
    }                                                                          \
    static inline void trace_##name(                                           \
        struct ring *ring, u64 tsc FOR_EACH(FIELD_PARAM, __VA_ARGS__))         \
    {                                                                          \
        if (!trace_wanted(ring, CLASS_##class))                                \
            return;                                                            \
        u8 *p = NULL;                                                          \
        if (!(FOR_EACH(FIELD_TEXT, __VA_ARGS__)))                              \
            p = ring_reserve(ring, id, tsc,                                    \
                             FOR_EACH(FIELD_FIXED, __VA_ARGS__));              \
        if (UNLIKELY(!p)) {                                                    \
            trace_slow_##name(ring, tsc FOR_EACH(FIELD_ARG, __VA_ARGS__));     \
            return;                                                            \
        }                                                                      \
        FOR_EACH(FIELD_PUT, __VA_ARGS__)                                       \
    }
#include "trace/trace.def"

#endif
