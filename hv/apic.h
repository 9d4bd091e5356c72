/*
 * The local APIC in xAPIC mode, memory-mapped (SDM 11.4): QEMU's TCG and
 * Bochs's AMD models have no x2APIC.
 */
#ifndef HV_APIC_H
#define HV_APIC_H

#include "hv/types.h"

#define WATCHDOG_VECTOR 0xe0
#define SPURIOUS_VECTOR 0xff

/* ICR delivery modes (SDM 11.6.1). */
enum delivery {
    DELIVER_FIXED = 0,
    DELIVER_SMI = 2,
    DELIVER_NMI = 4,
    DELIVER_INIT = 5,
    DELIVER_SIPI = 6,
};

/* Takes the interrupt hardware over from the firmware: everything masked,
 * nothing pending; counts the timer against the TSC. Needs the IDT. */
void apic_init(u64 tsc_hz);

u32 apic_id(void);
void apic_eoi(void);

/* An interrupt to this CPU; vector: fixed delivery only. */
void apic_self(enum delivery mode, u8 vector);
void apic_self_ipi(u8 vector);
void apic_self_nmi(void);

/* The same to all other CPUs; the command as the ICR has it (low half). */
void apic_others(enum delivery mode, u8 vector);
u32 apic_command(enum delivery mode, u8 vector);

/* The timer's interrupt once, after so many microseconds; stop: not any more.
 * There is one timer: the last call holds. */
void apic_timer_oneshot(u8 vector, u64 us);
void apic_timer_stop(void);

#endif
