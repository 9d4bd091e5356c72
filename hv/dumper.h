/*
 * The hypervisor's one dumper (trace/dump.h), on the line that the
 * configuration names, and the console's way onto the same line.
 */
#ifndef HV_DUMPER_H
#define HV_DUMPER_H

#include "boot/boot.h"
#include "trace/ring.h"

/* Takes the console's text and ring r's packets from here on, and sends the
 * metadata. mask: enum trace_class bits. */
void dumper_init(const struct boot_info *bi, struct ring *r, const char *vendor,
                 const char *cpu);

/* A few bytes, if the line is ready: for the exit path. False: there is no
 * more to send for now. */
bool dumper_poll(void);

/* All that the ring holds. */
void dumper_drain(void);

/* Keeps dumper_poll() quiet while something is measured. */
void dumper_hold(bool hold);

/* Bytes sent in frames so far. */
u64 dumper_bytes(void);

#endif
