/*
 * System-management mode: a handler that counts and returns, for a CPU that
 * still has its SMBASE from reset (SDM 32.4, APM 10.3).
 */
#ifndef HV_SMM_H
#define HV_SMM_H

#include "hv/types.h"

/* Puts the handler where an SMI begins, and tries it. False: the firmware has
 * moved SMRAM, so that SMIs are its own. */
bool smm_init(void);

/* How many SMIs the handler has seen since smm_init(). */
u64 smm_count(void);

#endif
