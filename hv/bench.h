/* The benchmark: what a CPUID round trip costs, bare, untraced and traced, and
 * what one for each other exit. */
#ifndef HV_BENCH_H
#define HV_BENCH_H

#include "hv/scenario.h"

/* As scenarios_run(). */
enum verdict bench_run(struct vcpu *v, const struct caps *caps,
                       const struct config *config);

#endif
