/* What a run said about itself; see run.h. */
#include "tools/run.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/render.h"
#include "tools/tollgate.h"
#include "trace/trace.h"

static NORETURN void no_memory(void)
{
    complain("out of memory");
    exit(STATUS_ERROR);
}

void replace(char **s, const char *fmt, ...)
{
    char *text;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        no_memory();
    va_end(ap);
    free(*s);
    *s = text;
}

void run_free(struct run *r)
{
    for (u32 i = 0; i < r->count; i++) {
        free(r->scenarios[i].name);
        free(r->scenarios[i].reason);
        free(r->scenarios[i].failures);
        free(r->scenarios[i].mismatch);
    }
    free(r->scenarios);
    free(r->preflight.reason);
    free(r->cpu);
    free(r->selection);
    free(r->last_event);
    free(r->mismatch);
    memset(r, 0, sizeof(*r));
}

struct scenario *run_add(struct run *r, const char *name)
{
    struct scenario *longer;

    longer = reallocarray(r->scenarios, r->count + 1, sizeof(*longer));
    if (!longer)
        no_memory();
    r->scenarios = longer;

    struct scenario *s = &r->scenarios[r->count++];
    *s = (struct scenario){0};
    replace(&s->name, "%s", name);
    replace(&s->reason, "%s", "");
    replace(&s->failures, "%s", "");
    return s;
}

/* The event's text, allocated. */
static char *event_text(const struct event_view *e)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        no_memory();
    render_text(f, e);
    fclose(f);
    return text;
}

static struct scenario *last(struct run *r)
{
    return &r->scenarios[r->count - 1];
}

static void on_scenario_begin(struct run *r, const struct event_view *e)
{
    struct scenario *s;

    run_end(r);
    s = run_add(r, e->text[0]);
    s->kind = (u8)e->value[1];
    r->open = true;
    r->code_count = 0;
}

static bool came(const struct run *r, u32 code)
{
    for (u32 i = 0; i < r->code_count; i++)
        if (r->codes[i] == code)
            return true;
    return false;
}

static void on_vmexit(struct run *r, const struct event_view *e)
{
    u32 code = (u32)e->value[1];

    /* Bits above the basic reason say more of this exit (SDM 25.9.1). */
    if (r->vendor == VENDOR_VMX)
        code &= 0xffff;
    r->exits++;
    if (r->open && e->value[0] == last(r)->kind && !came(r, code) &&
        r->code_count < RUN_CODES)
        r->codes[r->code_count++] = code;
}

static void on_scenario_end(struct run *r, const struct event_view *e)
{
    struct scenario *s;

    /* Its beginning may be among what was lost. */
    if (!r->open || strcmp(last(r)->name, e->text[0]) != 0) {
        run_end(r);
        run_add(r, e->text[0]);
        r->code_count = 0;
    }
    s = last(r);
    s->kind = (u8)e->value[1];
    s->code = (u32)e->value[2];
    s->came = came(r, s->code);
    s->verdict = (u8)e->value[3];
    s->checks = (u32)e->value[4];
    replace(&s->reason, "%s", e->text[5]);
    if (s->verdict >= VERDICT_COUNT) {
        replace(&s->reason, "unknown verdict %u", s->verdict);
        s->verdict = VERDICT_ERROR;
    }
    r->open = false;
}

static void on_preflight(struct run *r, const struct event_view *e)
{
    struct preflight *p = &r->preflight;

    p->seen = true;
    p->vendor = (u8)e->value[0];
    p->verdict = (u8)e->value[1];
    for (u32 i = 0; i < FEATURE_WORDS; i++)
        p->caps.has[i] = e->value[2 + i];
    replace(&p->reason, "%s", e->text[5]);
}

void run_event(struct run *r, const struct event_view *e)
{
    char *text = event_text(e);

    replace(&r->last_event, "hvm:%s %s", e->schema->name, text);
    switch (e->schema->id) {
    case TRACE_ID_run_begin:
        r->begun = true;
        r->vendor = (u8)e->value[0];
        replace(&r->cpu, "%s", e->text[1]);
        replace(&r->selection, "%s", e->text[3]);
        break;
    case TRACE_ID_vmexit:
        on_vmexit(r, e);
        break;
    case TRACE_ID_scenario_begin:
        on_scenario_begin(r, e);
        break;
    case TRACE_ID_forbid:
        if (r->open)
            last(r)->without = (u8)e->value[0];
        break;
    case TRACE_ID_scenario_end:
        on_scenario_end(r, e);
        break;
    case TRACE_ID_check_failed:
        if (r->count)
            replace(&last(r)->failures, "%s%s\n", last(r)->failures, text);
        break;
    case TRACE_ID_preflight:
        on_preflight(r, e);
        break;
    case TRACE_ID_host_fault:
        r->host_faults++;
        if (r->count)
            replace(&last(r)->failures, "%shost fault: %s\n", last(r)->failures,
                    text);
        break;
    case TRACE_ID_run_end:
        run_end(r);
        r->ended = true;
        break;
    }
    free(text);
}

void run_end(struct run *r)
{
    if (r->open) {
        last(r)->verdict = VERDICT_ERROR;
        replace(&last(r)->reason, "the scenario has no end in the stream");
    }
    r->open = false;
}

bool run_complete(const struct run *r)
{
    return r->ended && r->selection && !*r->selection;
}
