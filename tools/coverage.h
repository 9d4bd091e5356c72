/* Which exits of the exit table a run has scenarios for, and provoked. */
#ifndef TOOLS_COVERAGE_H
#define TOOLS_COVERAGE_H

#include "hv/exit.h"
#include "tools/run.h"

/* Codes in a row, of one row of the table, that no scenario is about. */
struct gap {
    const char *kind;
    u32 first, count; /* codes */
    u32 base;         /* the row's first code */
    bool range;       /* the row has several codes: name it KIND(n) */
    const char *reason;
    u8 kind_value; /* enum exit_kind */
};

/* One exit code (on VT-x: basic reason), of whichever kinds share it. Negatives
 * say nothing about it: they prove that it does not come. */
struct code {
    u32 code;
    char name[32]; /* "CPUID", "CR_WRITE(3)", "CR_READ CR_WRITE CLTS LMSW" */
    u8 verdict;    /* of its scenarios the worst, but a skip only when all are;
                      NOT_COVERED: one of its kinds has none */
    bool came;     /* one of them saw it */
};

struct coverage {
    struct gap *gaps;
    u32 gap_count;
    struct code *codes;
    u32 code_count;
    u32 by[VERDICT_COUNT]; /* codes by verdict; an error counts as a fail */
    u32 came;
};

void coverage_find(struct coverage *c, const struct run *r);
void coverage_free(struct coverage *c);

/* Why a run can have no negative for a kind; NULL: it should have one. */
const char *no_negative(const struct exit_row *row, u8 vendor);

/* "CR_READ(5)", "CR_READ(5-15)" or "CPUID" for `count` codes from `first`. */
const char *gap_name(const struct gap *g, u32 first, u32 count, char *buf,
                     size_t size);

#endif
