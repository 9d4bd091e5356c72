/*
 * The handlers of instructions that need little: stepped over, or refused.
 */
#include "hv/handlers.h"

#include "guest/scenario.h"
#include "hv/cpu.h"
#include "trace/trace.h"

/* The guest's CPU has no such instruction. */
bool handle_undefined(struct vcpu *v)
{
    return refuse(v, VECTOR_UD);
}

bool handle_rdtscp(struct vcpu *v)
{
    u64 value = v->device[DEVICE_TSC];

    v->regs.gpr[RAX] = (u32)value;
    v->regs.gpr[RDX] = value >> 32;
    v->regs.gpr[RCX] = EMULATED_TSC_AUX;
    trace_tsc(v->ring, value);
    return emulated(v);
}

/* One is enough: disarmed, the guest goes on where it is. On VT-x the access
 * is done (SDM 26.2), on AMD-V it is not yet (APM 15.14.5). */
bool handle_bus_lock(struct vcpu *v)
{
    v->ops->arm(v, EXIT_BUS_LOCK, 0, false);
    return resume(v);
}
