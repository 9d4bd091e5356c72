/*
 * Runs scenarios and judges them.
 */
#ifndef HV_SCENARIO_H
#define HV_SCENARIO_H

#include "boot/boot.h"
#include "guest/scenario.h"
#include "hv/entry.h"
#include "trace/enums.h"

/* A scenario under way. */
struct run {
    const struct scenario *scenario;
    const struct caps *caps;
    struct guest_state initial;
    u64 device[DEVICE_CELLS];
    u32 next;   /* index of the next struct expect */
    u32 exits;  /* so far */
    u32 strays; /* timer exits that it did not expect */
    u32 checks; /* made so far */
    enum verdict verdict;
    char reason[128]; /* of the first that failed */
    struct entry_opinion opinion;
};

/* hv/judge.c: compares v->exit with what the scenario expects next; between
 * trace and handler. False: there have been too many exits, v->stop says so. */
bool scenario_observe(struct vcpu *v);

/* Runs the scenarios that the configuration selects, or all that are no
 * demos; in mode bench without judging them. Returns the worst verdict. */
enum verdict scenarios_run(struct vcpu *v, const struct caps *caps,
                           const struct config *config);

#endif
