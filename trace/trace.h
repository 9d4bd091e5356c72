/*
 * The functions that write events, one per row of trace.def, made by the
 * preprocessor:
 *
 *     trace_cpuid(ring, leaf, subleaf, eax, ebx, ecx, edx);
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

/* Bytes of the largest event without text, compact header included. */
union trace_fixed {
#define EVENT(id, name, class, vendors, when, text, ...)                       \
    u8 name[FOR_EACH(FIELD_FIXED, __VA_ARGS__)];
#include "trace/trace.def"
};
#define TRACE_FIXED_MAX (EVENT_COMPACT_SIZE + sizeof(union trace_fixed))

/* The room that an exit event leaves behind it for the details of what is done
 * about it. No handler writes more than two today. */
#define RING_CROSSING (4 * TRACE_FIXED_MAX)

/* How an event of each class gets its room. */
#define RESERVE_EXIT(...)   ring_reserve(ring, CLASS_EXIT, __VA_ARGS__)
#define RESERVE_DETAIL(...) ring_reserve_detail(ring, __VA_ARGS__)
#define RESERVE_RAW(...)    ring_reserve(ring, CLASS_RAW, __VA_ARGS__)
#define RESERVE_RUN(...)    ring_reserve(ring, CLASS_RUN, __VA_ARGS__)

#define EVENT(id, name, class, vendors, when, text, ...)                       \
    _Static_assert(                                                            \
        CLASS_##class == CLASS_RUN ||                                          \
            (id <= EVENT_ID_MAX && !(FOR_EACH(FIELD_TEXT, __VA_ARGS__))),      \
        #name " stands on the path of an exit: no text");                      \
    static inline void trace_##name(                                           \
        struct ring *ring FOR_EACH(FIELD_PARAM, __VA_ARGS__))                  \
    {                                                                          \
        u8 *p = RESERVE_##class(id, FOR_EACH(FIELD_SIZE, __VA_ARGS__));        \
        if (!p)                                                                \
            return;                                                            \
        FOR_EACH(FIELD_PUT, __VA_ARGS__)                                       \
    }                                                                          \
    TRY_##class(id, name, __VA_ARGS__)

/*
 * Class EXIT has a short way besides, for the path of every crossing:
 * trace_try_vmexit() and trace_try_vmentry(). False: nothing has happened, and
 * the long way is to be taken.
 */
#define TRY_EXIT(id, name, ...)                                                \
    static inline bool trace_try_##name(                                       \
        struct ring *ring FOR_EACH(FIELD_PARAM, __VA_ARGS__))                  \
    {                                                                          \
        u8 *p = ring_try_reserve(ring, ring->exit_limit, id,                   \
                                 FOR_EACH(FIELD_SIZE, __VA_ARGS__));           \
        if (UNLIKELY(!p))                                                      \
            return !ring->attention;                                           \
        FOR_EACH(FIELD_PUT, __VA_ARGS__)                                       \
        return true;                                                           \
    }
#define TRY_DETAIL(...)
#define TRY_RAW(...)
#define TRY_RUN(...)
#include "trace/trace.def"

#endif
