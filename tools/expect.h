/*
 * The list of verdicts that are expected of a platform. A line each:
 *
 *     scenario verdict [evidence]
 *
 * verdict is pass, skip, fail or known-deviation; the evidence is what a
 * known deviation shows as its reason. '#' begins a comment line.
 */
#ifndef TOOLS_EXPECT_H
#define TOOLS_EXPECT_H

#include <stdio.h>

#include "tools/run.h"

struct expected {
    char *name;
    u8 verdict; /* enum verdict */
    char *evidence;
    bool seen;
};

struct expect {
    struct expected *list;
    u32 count;
};

/* False: `name` cannot be read or has a bad line (said on stderr). */
bool expect_read(struct expect *x, const char *name, FILE *f);
void expect_free(struct expect *x);

/* Compares: makes KNOWN_DEVIATION of a FAIL that is listed as one, sets the
 * scenarios' `mismatch`, and adds those that a complete run did not run. */
void expect_apply(struct expect *x, struct run *r);

#endif
