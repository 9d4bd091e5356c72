/*
 * The path of every crossing, written once for both vendors: out of the guest
 * to the handler, and back in. Each back end makes functions of it that have
 * its own decode and advance inside.
 *
 *     stub -> crossing_out() -> a handler -> crossing_step() -> stub
 *                                         -> crossing_in()
 *
 * Every function on this path ends by calling the next one, of which the
 * compiler makes a jump: nobody returns into the middle of another, so nobody
 * has registers to keep. What the short way cannot do it leaves to a long way
 * (hv/run.c) as a whole, for the same reason.
 *
 * The result of them all: is the guest to be entered again?
 */
#ifndef HV_CROSSING_H
#define HV_CROSSING_H

#include "hv/cpu.h"
#include "hv/vcpu.h"
#include "trace/trace.h"

/* By exit kind. A handler handles v->exit, writes its detail event, notes in
 * v->path what it did and ends in one of the four at the end of this file. */
typedef bool handler(struct vcpu *v);
extern handler *const handlers[EXIT_KINDS];

/* The long ways. */
bool crossing_out_slow(struct vcpu *v, u64 tsc);
bool crossing_attend(struct vcpu *v);
bool crossing_in_slow(struct vcpu *v, u32 path);

/* v->exit is there: trace it, handle it. */
static inline bool crossing_decoded(struct vcpu *v)
{
    if (UNLIKELY(!trace_try_vmexit(v->ring, v->exit.kind, v->exit.code,
                                   v->exit.rip, v->exit.length)))
        return crossing_attend(v);
    return handlers[v->exit.kind](v);
}

/* An exit at tsc. decode_plain() decodes the exits that are quickly decoded;
 * false: it is none of them. */
static inline bool crossing_out(struct vcpu *v, u64 tsc,
                                bool (*decode_plain)(struct vcpu *v))
{
    if (UNLIKELY(!decode_plain(v) || !ring_try_tick(v->ring, tsc)))
        return crossing_out_slow(v, tsc);
    return crossing_decoded(v);
}

/* The guest is entered next. path: flags beside those in v->path. */
static inline bool crossing_in(struct vcpu *v, u32 path)
{
    path |= v->path;
    v->path = 0;
    exit_poison(&v->exit);
    if (UNLIKELY(!ring_try_tick(v->ring, rdtsc()) ||
                 !trace_try_vmentry(v->ring, (u16)path)))
        return crossing_in_slow(v, path);
    return true;
}

/* The same, behind the instruction that exited. */
static inline bool crossing_step(struct vcpu *v, u32 path,
                                 void (*advance)(struct vcpu *v, u8 length))
{
    advance(v, v->exit.length);
    return crossing_in(v, path);
}

/* How handlers end. The guest goes on where it is, ... */
static inline bool resume(struct vcpu *v)
{
    return crossing_in(v, 0);
}

/* ... or behind the instruction, ... */
static inline bool advance(struct vcpu *v)
{
    return v->ops->step(v, PATH_ADVANCED);
}

/* ... where it finds the instruction's result, ... */
static inline bool emulated(struct vcpu *v)
{
    return v->ops->step(v, PATH_ADVANCED | PATH_WROTE);
}

/* ... or not at all. */
static inline bool stop(struct vcpu *v, enum stop why)
{
    v->stop = (u8)why;
    return false;
}

#endif
