/* What a run said about itself: its scenarios and how it ended. */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

#include "hv/feature.h"
#include "tools/decode.h"

struct scenario {
    char *name;
    u8 kind;    /* enum exit_kind */
    u32 code;   /* the vendor's raw exit code */
    u8 without; /* enum exit_kind of which there must be no exit: a negative */
    bool came;  /* an exit of this kind and code is in the stream */
    u8 verdict; /* enum verdict */
    u32 checks;
    char *reason;
    char *failures; /* a line for each check_failed, "" */
    char *mismatch; /* what is not as expected, NULL: nothing */
    bool expected;  /* a FAIL that the list expects */
    bool not_run;   /* only the list of expected verdicts knows it */
};

/* The answer of a preflight, which runs no scenario. */
struct preflight {
    bool seen;
    u8 vendor;  /* enum vendor */
    u8 verdict; /* enum verdict */
    struct caps caps;
    char *reason; /* why a guest cannot run, "": it can */
};

#define RUN_CODES 16 /* different codes of one kind in one scenario */

struct run {
    bool begun, ended;
    u8 vendor; /* enum vendor */
    char *cpu;
    char *selection; /* "" : a complete run */
    struct scenario *scenarios;
    u32 count;
    bool open;            /* the last scenario has not ended */
    u32 exits;            /* in the stream; 0: they were not traced */
    u32 codes[RUN_CODES]; /* those of the open scenario's kind */
    u32 code_count;
    struct preflight preflight;
    u32 host_faults;
    char *last_event; /* what the last event said */
    char *mismatch;   /* as a scenario's */
};

void run_free(struct run *r);

/* Takes the next event of the run. */
void run_event(struct run *r, const struct event_view *e);

/* The stream has ended: a scenario that has not is an ERROR. */
void run_end(struct run *r);

/* A new scenario at the end of the list, all empty. */
struct scenario *run_add(struct run *r, const char *name);

/* Did the whole list of scenarios run, to the end? */
bool run_complete(const struct run *r);

/* asprintf that does not fail; replaces *s, which it frees. */
void replace(char **s, const char *fmt, ...) PRINTF(2, 3);

#endif
