/*
 * A judged run as JUnit XML, for continuous integration: a test suite, a test
 * case for each scenario and for each code not covered. A verdict that stands
 * on the list of expected ones is no failure there: a known deviation counts
 * as skipped, with its evidence.
 */
#include <libxml/xmlwriter.h>

#include "tools/report.h"
#include "trace/schema.h"

/* Text from the stream may hold what XML cannot. */
static const xmlChar *clean(const char *s)
{
    static char text[4096];
    size_t n = 0;

    for (; *s && n + 1 < sizeof(text); s++)
        text[n++] = (*s >= ' ' && *s <= '~') || *s == '\n' ? *s : '?';
    text[n] = '\0';
    return (const xmlChar *)text;
}

static void attribute(xmlTextWriter *w, const char *name, const char *value)
{
    xmlTextWriterWriteAttribute(w, (const xmlChar *)name, clean(value));
}

static void number(xmlTextWriter *w, const char *name, u32 value)
{
    xmlTextWriterWriteFormatAttribute(w, (const xmlChar *)name, "%u", value);
}

static void start(xmlTextWriter *w, const char *name)
{
    xmlTextWriterStartElement(w, (const xmlChar *)name);
}

static void end(xmlTextWriter *w)
{
    xmlTextWriterEndElement(w);
}

/* What became of a test case; "" has none of its own: it passed. */
static void outcome(xmlTextWriter *w, const char *element, const char *message,
                    const char *text)
{
    start(w, element);
    attribute(w, "message", message);
    if (*text)
        xmlTextWriterWriteString(w, clean(text));
    end(w);
}

static void start_case(xmlTextWriter *w, const struct report *r,
                       const char *name)
{
    start(w, "testcase");
    attribute(w, "classname", r->platform);
    attribute(w, "name", name);
}

static const char *element_of(const struct scenario *s)
{
    if (s->verdict == VERDICT_ERROR)
        return "error";
    if (s->mismatch)
        return "failure";
    if (s->verdict == VERDICT_SKIP || s->verdict == VERDICT_KNOWN_DEVIATION)
        return "skipped";
    if (s->verdict == VERDICT_FAIL)
        return s->expected ? "skipped" : "failure";
    return NULL;
}

static void scenario_case(xmlTextWriter *w, const struct report *r,
                          const struct scenario *s)
{
    const char *element = element_of(s);

    start_case(w, r, s->name);
    number(w, "assertions", s->checks);
    if (element)
        outcome(w, element, s->mismatch ? s->mismatch : s->reason, s->failures);
    end(w);
}

static void gap_cases(xmlTextWriter *w, const struct report *r,
                      const struct gap *g)
{
    char name[64];

    for (u32 n = 0; n < g->count; n++) {
        start_case(w, r, gap_name(g, g->first + n, 1, name, sizeof(name)));
        outcome(w, "skipped", g->reason, "not covered");
        end(w);
    }
}

static void preflight_case(xmlTextWriter *w, const struct report *r)
{
    start_case(w, r, "preflight");
    if (r->run->preflight.verdict != VERDICT_PASS)
        outcome(w, "failure", r->run->preflight.reason, "");
    end(w);
}

/* The numbers that the suite has as attributes. */
struct sums {
    u32 tests, failures, errors, skipped;
};

static struct sums count(const struct report *r)
{
    const struct preflight *p = &r->run->preflight;
    struct sums n = {.tests = r->run->count + p->seen + (r->error != NULL),
                     .errors = r->error != NULL,
                     .failures = p->seen && p->verdict != VERDICT_PASS};

    for (u32 i = 0; i < r->run->count; i++) {
        const char *element = element_of(&r->run->scenarios[i]);

        n.failures += element && element[0] == 'f';
        n.errors += element && element[0] == 'e';
        n.skipped += element && element[0] == 's';
    }
    for (u32 i = 0; r->coverage && i < r->coverage->gap_count; i++) {
        n.tests += r->coverage->gaps[i].count;
        n.skipped += r->coverage->gaps[i].count;
    }
    return n;
}

static void suite(xmlTextWriter *w, const struct report *r)
{
    struct sums n = count(r);

    start(w, "testsuite");
    attribute(w, "name", r->platform);
    number(w, "tests", n.tests);
    number(w, "failures", n.failures);
    number(w, "errors", n.errors);
    number(w, "skipped", n.skipped);
    if (r->run->preflight.seen)
        preflight_case(w, r);
    for (u32 i = 0; i < r->run->count; i++)
        scenario_case(w, r, &r->run->scenarios[i]);
    for (u32 i = 0; r->coverage && i < r->coverage->gap_count; i++)
        gap_cases(w, r, &r->coverage->gaps[i]);
    if (r->error) { /* no test case of its own is to blame */
        start_case(w, r, "the run");
        outcome(w, "error", r->error, "");
        end(w);
    }
    end(w);
}

bool report_junit(FILE *f, const struct report *r)
{
    xmlBuffer *buffer = xmlBufferCreate();
    xmlTextWriter *w = buffer ? xmlNewTextWriterMemory(buffer, 0) : NULL;
    bool good = w != NULL;

    if (w) {
        xmlTextWriterSetIndent(w, 1);
        xmlTextWriterStartDocument(w, NULL, "UTF-8", NULL);
        start(w, "testsuites");
        suite(w, r);
        good = xmlTextWriterEndDocument(w) >= 0;
        xmlFreeTextWriter(w); /* and all of it is in the buffer */
        good = good && fputs((const char *)xmlBufferContent(buffer), f) >= 0;
    }
    if (buffer)
        xmlBufferFree(buffer);
    return good && !ferror(f);
}
