/* The list of expected verdicts; see expect.h. */
#include "tools/expect.h"

#include <stdlib.h>
#include <string.h>

#include "tools/tollgate.h"
#include "trace/schema.h"

static struct expected *find(const struct expect *x, const char *name)
{
    for (u32 i = 0; i < x->count; i++)
        if (strcmp(x->list[i].name, name) == 0)
            return &x->list[i];
    return NULL;
}

/* -1: not a verdict that can be expected. */
static int parse_verdict(const char *word)
{
    static const u8 allowed[] = {VERDICT_PASS, VERDICT_SKIP, VERDICT_FAIL,
                                 VERDICT_KNOWN_DEVIATION};

    for (size_t i = 0; i < ARRAY_SIZE(allowed); i++)
        if (strcmp(word, schema_value_name(STYLE_verdict, allowed[i])) == 0)
            return allowed[i];
    return -1;
}

/* One line; NULL, or what is wrong with it. */
static const char *parse_line(struct expect *x, char *line)
{
    const char *blank = " \t\r\n";
    char *rest;
    char *name = strtok_r(line, blank, &rest);
    char *word;
    int verdict;

    if (!name || *name == '#')
        return NULL;
    word = strtok_r(NULL, blank, &rest);
    if (!word)
        return "no verdict after the scenario's name";
    verdict = parse_verdict(word);
    if (verdict < 0)
        return "the verdict is none of pass, skip, fail, known-deviation";
    rest += strspn(rest, blank);
    rest[strcspn(rest, "\r\n")] = 0;
    if (verdict == VERDICT_KNOWN_DEVIATION && !*rest)
        return "a known deviation needs its evidence";
    if (find(x, name))
        return "the scenario is listed twice";

    struct expected *list;
    list = reallocarray(x->list, x->count + 1, sizeof(*list));
    if (!list)
        return "out of memory";
    x->list = list;
    list += x->count++;
    *list = (struct expected){.verdict = (u8)verdict};
    replace(&list->name, "%s", name);
    replace(&list->evidence, "%s", rest);
    return NULL;
}

bool expect_read(struct expect *x, const char *name, FILE *f)
{
    char *line = NULL;
    size_t size = 0;
    bool good = true;

    *x = (struct expect){0};
    for (int number = 1; getline(&line, &size, f) >= 0; number++) {
        const char *wrong = parse_line(x, line);

        if (wrong) {
            complain("%s: line %d: %s", name, number, wrong);
            good = false;
        }
    }
    free(line);
    return good;
}

void expect_free(struct expect *x)
{
    for (u32 i = 0; i < x->count; i++) {
        free(x->list[i].name);
        free(x->list[i].evidence);
    }
    free(x->list);
    *x = (struct expect){0};
}

static void apply_one(struct expected *e, struct scenario *s)
{
    const char *want = schema_value_name(STYLE_verdict, e->verdict);
    const char *got = schema_value_name(STYLE_verdict, s->verdict);

    e->seen = true;
    if (e->verdict == VERDICT_KNOWN_DEVIATION && s->verdict == VERDICT_FAIL) {
        s->verdict = VERDICT_KNOWN_DEVIATION;
        replace(&s->reason, "%s", e->evidence);
    } else if (e->verdict == VERDICT_KNOWN_DEVIATION &&
               s->verdict == VERDICT_PASS) {
        replace(&s->mismatch, "expected known-deviation, got pass: take it off "
                              "the list of deviations");
    } else if (e->verdict == s->verdict) {
        s->expected = s->verdict == VERDICT_FAIL;
    } else {
        replace(&s->mismatch, "expected %s, got %s", want, got);
    }
}

void expect_apply(struct expect *x, struct run *r)
{
    u32 count = r->count;

    for (u32 i = 0; i < count; i++) {
        struct scenario *s = &r->scenarios[i];
        struct expected *e = find(x, s->name);

        if (e)
            apply_one(e, s);
        else if (run_complete(r)) /* else it was picked: judged by itself */
            replace(&s->mismatch, "not in the list of expected verdicts");
    }
    for (u32 i = 0; i < x->count && run_complete(r); i++) {
        struct scenario *s;

        if (x->list[i].seen)
            continue;
        s = run_add(r, x->list[i].name);
        s->not_run = true;
        s->verdict = VERDICT_ERROR;
        replace(&s->mismatch, "in the list of expected verdicts, but not run");
    }
}
