/* The benchmark: what a CPUID round trip costs, bare, untraced and traced. */
#ifndef HV_BENCH_H
#define HV_BENCH_H

#include "hv/vcpu.h"

void bench_run(struct vcpu *v);

#endif
