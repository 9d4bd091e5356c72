/*
 * A judged run as JSON:
 *
 *   {"platform", "vendor", "scenarios": [{"name", "kind", "code", "verdict",
 *    "reason", "checks", "without", "provoked"}], "exits": [{"name", "code",
 *    "verdict", "provoked"}], "summary": {...}}
 *
 * "without" is the kind of exit that a negative shows not to come, or "";
 * "provoked": an exit of this kind and code came. "exits" has each code of the
 * vendor once, when the run was complete.
 *
 * A preflight has no scenarios, but "preflight": {"verdict", "reason",
 * "features"}: what the CPU has of its extension, in words.
 *
 * An ERROR is verdict "fail" with "error": true; the summary counts it among
 * the fails, and once more as "error".
 */
#include <jansson.h>

#include "tools/report.h"
#include "trace/schema.h"

static json_t *entry(const char *name, const char *kind, u32 code, u8 verdict,
                     const char *reason, u32 checks)
{
    bool error = verdict == VERDICT_ERROR;
    json_t *e = json_pack("{s:s, s:s, s:I, s:s, s:s, s:i}", "name", name,
                          "kind", kind, "code", (json_int_t)code, "verdict",
                          verdict_name(error ? VERDICT_FAIL : verdict),
                          "reason", reason, "checks", (int)checks);

    if (error)
        json_object_set_new(e, "error", json_true());
    return e;
}

/* Text from the stream may be no UTF-8, which JSON needs. */
static json_t *scenario_entry(const struct scenario *s)
{
    const char *kind = schema_value_name(STYLE_kind, s->kind);
    const char *without = schema_value_name(STYLE_kind, s->without);
    json_t *e;

    e = entry(s->name, kind ? kind : "?", s->code, s->verdict, s->reason,
              s->checks);
    if (!e)
        e = entry("?", kind ? kind : "?", s->code, s->verdict,
                  "(text is not UTF-8)", s->checks);
    json_object_set_new(e, "without",
                        json_string(s->without && without ? without : ""));
    json_object_set_new(e, "provoked", json_boolean(s->came));
    return e;
}

static json_t *exits(const struct report *r)
{
    json_t *list = json_array();

    for (u32 i = 0; r->coverage && i < r->coverage->code_count; i++) {
        const struct code *c = &r->coverage->codes[i];

        json_array_append_new(
            list, json_pack("{s:s, s:I, s:s, s:b}", "name", c->name, "code",
                            (json_int_t)c->code, "verdict",
                            verdict_name(c->verdict), "provoked", c->came));
    }
    return list;
}

static json_t *scenarios(const struct report *r)
{
    json_t *list = json_array();
    char name[64];

    for (u32 i = 0; i < r->run->count; i++)
        if (!r->run->scenarios[i].not_run)
            json_array_append_new(list, scenario_entry(&r->run->scenarios[i]));
    for (u32 i = 0; r->coverage && i < r->coverage->gap_count; i++) {
        const struct gap *g = &r->coverage->gaps[i];

        for (u32 n = 0; n < g->count; n++)
            json_array_append_new(
                list,
                entry(gap_name(g, g->first + n, 1, name, sizeof(name)), g->kind,
                      g->first + n, VERDICT_NOT_COVERED, g->reason, 0));
    }
    return list;
}

static json_t *summary(const struct report *r)
{
    u32 counts[VERDICT_COUNT];
    json_t *s = json_object();

    report_counts(r, counts);
    counts[VERDICT_FAIL] += counts[VERDICT_ERROR];
    for (u32 v = 0; v < VERDICT_COUNT; v++)
        json_object_set_new(s, verdict_name((u8)v), json_integer(counts[v]));
    return s;
}

static json_t *preflight(const struct preflight *p)
{
    char text[2048];

    return json_pack("{s:s, s:s, s:s}", "verdict", verdict_name(p->verdict),
                     "reason", p->reason, "features",
                     caps_text(&p->caps, p->vendor, text, sizeof(text)));
}

bool report_json(FILE *f, const struct report *r)
{
    const char *vendor = schema_value_name(STYLE_vendor, r->run->vendor);
    json_t *root =
        json_pack("{s:s, s:s, s:o, s:o, s:o}", "platform", r->platform,
                  "vendor", vendor ? vendor : "none", "scenarios", scenarios(r),
                  "exits", exits(r), "summary", summary(r));
    bool good;

    if (r->run->preflight.seen)
        json_object_set_new(root, "preflight", preflight(&r->run->preflight));
    good = root && json_dumpf(root, f, JSON_INDENT(2)) == 0;
    fputc('\n', f);
    json_decref(root);
    return good;
}
