/* Which exits have scenarios; see coverage.h. */
#include "tools/coverage.h"

#include <stdio.h>
#include <stdlib.h>

#include "hv/feature.h"
#include "tools/tollgate.h"

/* Codes up to here are indices of intercept bits (APM Appendix C). */
#define LAST_INTERCEPT 0xdf

/* The codes of a row on the run's vendor: how many, from *first on. */
static u32 row_codes(const struct exit_row *row, u8 vendor, u32 *first)
{
    if (vendor == VENDOR_SVM) {
        *first = (u32)row->svm_code;
        return row->svm_code == SVM_NONE ? 0 : row->svm_count;
    }
    *first = (u32)row->vmx_reason;
    return row->vmx_reason < 0 ? 0 : 1;
}

static void *grow(void *list, u32 count, size_t size)
{
    list = reallocarray(list, count + 1, size);
    if (!list) {
        complain("out of memory");
        exit(STATUS_ERROR);
    }
    return list;
}

/* How the worst of two verdicts on one code reads: a scenario that was skipped
 * says nothing when another ran, an error is a failure. */
static u8 worse(u8 a, u8 b)
{
    if (b == VERDICT_ERROR)
        b = VERDICT_FAIL;
    if (a == VERDICT_NOT_COVERED || a == VERDICT_SKIP)
        return b;
    return b == VERDICT_SKIP || a > b ? a : b;
}

/* Adds what the run's scenarios of one kind say about a code. */
static void add_kind(struct code *c, const struct run *r, u32 kind)
{
    u8 verdict = VERDICT_NOT_COVERED;

    for (u32 i = 0; i < r->count; i++) {
        const struct scenario *s = &r->scenarios[i];

        if (s->not_run || s->kind != kind || s->without == kind ||
            s->code != c->code)
            continue;
        verdict = worse(verdict, s->verdict);
        c->came = c->came || s->came;
    }
    if (verdict == VERDICT_NOT_COVERED || c->verdict == VERDICT_NOT_COVERED)
        c->verdict = VERDICT_NOT_COVERED;
    else
        c->verdict = worse(c->verdict, verdict);
}

static bool covered(const struct run *r, u32 kind, u32 code)
{
    struct code c = {.code = code, .verdict = VERDICT_SKIP};

    add_kind(&c, r, kind);
    return c.verdict != VERDICT_NOT_COVERED;
}

static void add_gap(struct coverage *c, u8 vendor, u32 kind, u32 code, u32 base,
                    u32 count)
{
    const struct exit_row *row = &exit_rows[kind];
    struct gap *g = c->gap_count ? &c->gaps[c->gap_count - 1] : NULL;

    if (g && g->kind_value == kind && g->first + g->count == code) {
        g->count++;
        return;
    }
    c->gaps = grow(c->gaps, c->gap_count, sizeof(*g));
    c->gaps[c->gap_count++] = (struct gap){
        .kind = row->name,
        .first = code,
        .count = 1,
        .base = base,
        .range = count > 1,
        .reason =
            vendor == VENDOR_SVM ? row->svm_uncovered : row->vmx_uncovered,
        .kind_value = (u8)kind,
    };
}

/* The code, once: by the first of the kinds that share it. */
static void add_code(struct coverage *c, const struct run *r, u32 kind,
                     u32 code)
{
    struct code all = {.code = code, .verdict = VERDICT_SKIP};
    size_t length = 0;

    for (u32 k = 1; k < EXIT_KINDS; k++) {
        u32 first;
        u32 n = row_codes(&exit_rows[k], r->vendor, &first);

        if (code - first >= n)
            continue;
        if (k < kind)
            return;
        add_kind(&all, r, k);
        if (length < sizeof(all.name))
            length +=
                (size_t)snprintf(all.name + length, sizeof(all.name) - length,
                                 "%s%s", length ? " " : "", exit_rows[k].name);
        if (n > 1 && length < sizeof(all.name))
            length +=
                (size_t)snprintf(all.name + length, sizeof(all.name) - length,
                                 "(%u)", code - first);
    }
    c->codes = grow(c->codes, c->code_count, sizeof(all));
    c->codes[c->code_count++] = all;
    c->by[all.verdict]++;
    c->came += all.came;
}

static int by_code(const void *a, const void *b)
{
    const struct code *x = a, *y = b;

    return x->code < y->code ? -1 : x->code > y->code;
}

void coverage_find(struct coverage *c, const struct run *r)
{
    *c = (struct coverage){0};
    for (u32 kind = 1; kind < EXIT_KINDS; kind++) {
        u32 first;
        u32 n = row_codes(&exit_rows[kind], r->vendor, &first);

        for (u32 code = first; n && code - first < n; code++) {
            add_code(c, r, kind, code);
            if (!covered(r, kind, code))
                add_gap(c, r->vendor, kind, code, first, n);
        }
    }
    qsort(c->codes, c->code_count, sizeof(*c->codes), by_code);
}

static const char *no_svm_negative(const struct exit_row *row)
{
    if (row->svm_code < 0 || row->svm_code > LAST_INTERCEPT)
        return "no intercept of its own";
    switch ((enum exit_kind)(row - exit_rows)) {
    case EXIT_TRIPLE_FAULT:
        return "without the intercept the machine shuts down (APM 15.14.3)";
    case EXIT_FERR_FREEZE:
        return "without the intercept the CPU freezes (APM 15.14.2)";
    case EXIT_INIT:
        return "without the intercept the CPU is reset (APM 15.13.4)";
    case EXIT_CR_WRITE_TRAP:
        return row->svm_uncovered; /* all of its codes */
    case EXIT_INVLPGB_ILLEGAL:
        return "unarmed, INVLPGB is not enabled and #UD: see INVLPGB's own";
    default:
        return row->svm_count == 1 && *row->svm_uncovered ? row->svm_uncovered
                                                          : NULL;
    }
}

const char *no_negative(const struct exit_row *row, u8 vendor)
{
    if (vendor == VENDOR_SVM)
        return no_svm_negative(row);
    switch (row->vmx_control >> 8) {
    case CTL_ALWAYS:
        return "exits always (SDM 26.1.2)";
    case CTL_ENTRY:
        return "an entry that fails (SDM 27.8)";
    case CTL_NONE:
        return "nothing that software arms";
    default:
        return NULL;
    }
}

void coverage_free(struct coverage *c)
{
    free(c->gaps);
    free(c->codes);
    *c = (struct coverage){0};
}

const char *gap_name(const struct gap *g, u32 first, u32 count, char *buf,
                     size_t size)
{
    u32 n = first - g->base;

    if (!g->range)
        snprintf(buf, size, "%s", g->kind);
    else if (count == 1)
        snprintf(buf, size, "%s(%u)", g->kind, n);
    else
        snprintf(buf, size, "%s(%u-%u)", g->kind, n, n + count - 1);
    return buf;
}
