/*
 * The run loop: the one path of every crossing.
 */
#ifndef HV_RUN_H
#define HV_RUN_H

#include "hv/vcpu.h"

/* Runs the guest until a handler or an observed scenario stops it; v->stop
 * says why. */
void vcpu_run(struct vcpu *v);

/* The time that a run of the guest may take, and its (re)start: a timer
 * interrupt, which exits. VT-x has a second one that needs no interrupt. */
void watchdog_set(u32 ms, u64 tsc_hz);
void watchdog_start(void);
u64 watchdog_cycles(void); /* the same time in TSC cycles */
void watchdog_arm(struct vcpu *v);

/* No timer any more, and no interrupt of this run left for the next. */
void watchdog_stop(void);

#endif
