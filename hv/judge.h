/*
 * Judges a scenario: exit by exit, and in the end.
 */
#ifndef HV_JUDGE_H
#define HV_JUDGE_H

#include "hv/scenario.h"

/* What the SIMD registers hold when a scenario begins (hv/simd.asm). */
#define SIMD_SEED 0x70116a7e51000000ull
void simd_fill(u64 seed);

/* Lowers the verdict; the first reason stays. */
void judge(struct run *run, enum verdict verdict, const char *reason);

/* One check, of the n-th exit of the run: is what as the text wants it? */
bool judge_exit(struct vcpu *v, const char *what, u64 want, u64 got);

/* The same for what it reports in detail (hv/judge_info.c). */
void judge_info(struct vcpu *v, const union exit_info *want);

/* The run has ended, v->stop says why: what is still missing, and the guest's
 * view. */
void judge_stop(struct vcpu *v);

/* What general-purpose register n begins with. */
u64 judge_canary(const struct scenario *s, u32 n);

/* The vendor's raw code of a kind; item: CR or DR number, vector. */
u32 judge_code(enum vendor vendor, u8 kind, u8 item);

#endif
