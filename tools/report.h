/* A judged run in its forms: table, JSON, TAP, JUnit XML. */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include <stdio.h>

#include "tools/coverage.h"
#include "tools/run.h"

struct report {
    const struct run *run;
    const struct coverage *coverage; /* NULL: no complete run */
    const char *platform;
    const char *error; /* why the run as a whole cannot count, NULL */
    bool verbose;      /* each failed check, each code not covered, negatives */
};

/* The table, the coverage line, and what is not as expected. */
void report_table(FILE *f, const struct report *r);

/* TAP version 13. */
void report_tap(FILE *f, const struct report *r);

/* False: cannot be written. */
bool report_json(FILE *f, const struct report *r);

/* The same. */
bool report_junit(FILE *f, const struct report *r);

/* Scenarios (and codes not covered) by verdict; not_run ones do not count. */
void report_counts(const struct report *r, u32 counts[]);

/* The verdict's name; never NULL. */
const char *verdict_name(u8 verdict);

#endif
