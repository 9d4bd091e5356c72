/*
 * A second CPU, for what one CPU cannot do to itself: it sends one
 * interprocessor interrupt when it is told to, and nothing else.
 */
#ifndef HV_AP_H
#define HV_AP_H

#include "boot/boot.h"
#include "hv/apic.h"

void ap_init(const struct boot_info *bi);

/* Starts every CPU but this one (SDM 9.4.4, MP Initialization Example).
 * False: there is no other, or none that comes up. */
bool ap_start(void);

/* From now on it sends that to this CPU, until ap_stop(). */
void ap_send(enum delivery mode, u8 vector);
void ap_stop(void);

#endif
