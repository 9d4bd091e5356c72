/* Which exits have scenarios; see coverage.h. */
#include "tools/coverage.h"

#include <stdio.h>
#include <stdlib.h>

#include "hv/exit.h"
#include "hv/feature.h"
#include "tools/tollgate.h"

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

static bool has_scenario(const struct run *r, u32 kind, u32 code)
{
    for (u32 i = 0; i < r->count; i++)
        if (!r->scenarios[i].not_run && r->scenarios[i].kind == kind &&
            r->scenarios[i].code == code)
            return true;
    return false;
}

static void add_gap(struct coverage *c, u32 kind, u32 code, u32 base, u32 count)
{
    const struct exit_row *row = &exit_rows[kind];
    struct gap *g = c->gap_count ? &c->gaps[c->gap_count - 1] : NULL;

    if (g && g->kind_value == kind && g->first + g->count == code) {
        g->count++;
        return;
    }
    g = reallocarray(c->gaps, c->gap_count + 1, sizeof(*g));
    if (!g) {
        complain("out of memory");
        exit(STATUS_ERROR);
    }
    c->gaps = g;
    g[c->gap_count++] = (struct gap){
        .kind = row->name,
        .first = code,
        .count = 1,
        .base = base,
        .range = count > 1,
        .reason = *row->uncovered ? row->uncovered
                                  : "no scenario named it, and the exit table "
                                    "gives no reason",
        .kind_value = (u8)kind,
    };
}

/* Is this the code's first row, and has each row that shares it a scenario? */
static void count_code(struct coverage *c, const struct run *r, u32 kind,
                       u32 code)
{
    bool covered = true;

    for (u32 k = 1; k < EXIT_KINDS; k++) {
        u32 first;
        u32 n = row_codes(&exit_rows[k], r->vendor, &first);

        if (code - first >= n)
            continue;
        if (k < kind)
            return;
        covered = covered && has_scenario(r, k, code);
    }
    c->codes++;
    c->covered += covered;
}

void coverage_find(struct coverage *c, const struct run *r)
{
    *c = (struct coverage){0};
    for (u32 kind = 1; kind < EXIT_KINDS; kind++) {
        u32 first;
        u32 n = row_codes(&exit_rows[kind], r->vendor, &first);

        for (u32 code = first; n && code - first < n; code++) {
            count_code(c, r, kind, code);
            if (!has_scenario(r, kind, code))
                add_gap(c, kind, code, first, n);
        }
    }
}

void coverage_free(struct coverage *c)
{
    free(c->gaps);
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
