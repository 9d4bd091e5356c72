/*
 * The run loop: the one path of every crossing.
 */
#ifndef HV_RUN_H
#define HV_RUN_H

#include "hv/vcpu.h"

/* Runs the guest until a handler or an observed scenario stops it; v->stop
 * says why. */
void vcpu_run(struct vcpu *v);

/* The time that a run of the guest may take, and its (re)start. */
void watchdog_set(u32 ms);
void watchdog_start(void);

/* No timer any more, and no interrupt of this run left for the next. */
void watchdog_stop(void);

#endif
