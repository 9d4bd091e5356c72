/*
 * Preflight: can a guest run here, and if not, why? An answer in one line,
 * without the scenarios.
 */
#ifndef HV_PREFLIGHT_H
#define HV_PREFLIGHT_H

#include "hv/shutdown.h"
#include "hv/vcpu.h"

/* wrong: why the extension could not be switched on, NULL: it is on. */
enum run_status preflight_run(struct vcpu *v, const struct caps *caps,
                              const char *wrong);

#endif
