/* The end of a run. */
#ifndef HV_SHUTDOWN_H
#define HV_SHUTDOWN_H

#include "boot/boot.h"

/* RUN_FAIL is the platform's fault, RUN_ERROR ours or the environment's. */
enum run_status {
    RUN_OK = 0,
    RUN_FAIL = 1,
    RUN_ERROR = 2,
};

/* What is written to isa-debug-exit is this plus the status, and QEMU exits
 * with twice that plus 1: 33, 35, 37. QEMU's own failures exit with 1. */
#define ISA_DEBUG_BASE 0x10u

/* How the machine is to be ended; until then only the debug ports are used. */
void shutdown_init(const struct boot_info *bi);

/* Called once, first thing in shutdown(): to flush what is still to go out.
 * NULL: nothing. */
void shutdown_set_flush(void (*flush)(void));

/* Sends what is left on the line and ends the machine. */
NORETURN void shutdown(enum run_status status);

/* Whether the end has begun: a fault then must not lead back into the run. */
bool shutdown_begun(void);

/* Ends the machine without touching anything that may be broken: the line,
 * the firmware, our own data. Last of all a triple fault. */
NORETURN void shutdown_at_once(void);

/* Prints a line that starts with "error: " and ends the run. */
NORETURN void panic(const char *fmt, ...) PRINTF(1, 2);

#endif
