/* Which exits of the exit table a run has scenarios for. */
#ifndef TOOLS_COVERAGE_H
#define TOOLS_COVERAGE_H

#include "tools/run.h"

/* Codes in a row, of one row of the table, that no scenario names. */
struct gap {
    const char *kind;
    u32 first, count; /* codes */
    u32 base;         /* the row's first code */
    bool range;       /* the row has several codes: name it KIND(n) */
    const char *reason;
    u8 kind_value; /* enum exit_kind */
};

struct coverage {
    struct gap *gaps;
    u32 gap_count;
    /* Distinct codes (on VT-x: basic reasons). One that several kinds share
     * counts as covered when each of them is. */
    u32 codes, covered;
};

void coverage_find(struct coverage *c, const struct run *r);
void coverage_free(struct coverage *c);

/* "CR_READ(5)", "CR_READ(5-15)" or "CPUID" for `count` codes from `first`. */
const char *gap_name(const struct gap *g, u32 first, u32 count, char *buf,
                     size_t size);

#endif
