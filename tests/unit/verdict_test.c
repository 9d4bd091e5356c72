/*
 * From a run's events to its judgement: scenarios, expectations, coverage,
 * and what the reports count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hv/exit.h"
#include "tools/coverage.h"
#include "tools/expect.h"
#include "tools/report.h"
#include "trace/trace.h"

static struct ring ring;
static u8 memory[4 * 4096];
static struct run run;
static struct expect expect;

static int setup(void **state)
{
    u8 uuid[16];

    (void)state;
    schema_uuid(uuid);
    ring_init(&ring, memory, 4096, 4, 0, uuid, ~0u);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    run_free(&run);
    expect_free(&expect);
    return 0;
}

/* Takes what the ring holds into `run`. */
static void take(void)
{
    struct event_view e;
    struct decoder d;

    ring_flush(&ring, 0);
    for (const struct packet *p; (p = ring_peek(&ring)); ring_release(&ring)) {
        assert_int_equal(decode_begin(&d, (const u8 *)p, p->packet_size / 8),
                         DECODE_OK);
        while (decode_next(&d, &e) == DECODE_OK)
            run_event(&run, &e);
    }
}

static void begin(u8 vendor, const char *selection)
{
    trace_run_begin(&ring, vendor, "cpu", 1, selection);
}

static void scenario(const char *name, u8 kind, u32 code, u8 verdict)
{
    trace_scenario_begin(&ring, name, kind);
    if (verdict == VERDICT_FAIL)
        trace_check_failed(&ring, "rip", 1, 2);
    trace_scenario_end(&ring, name, kind, code, verdict, 4,
                       verdict == VERDICT_PASS ? "" : "because");
}

static void end(void)
{
    trace_run_end(&ring, 1);
    take();
    run_end(&run);
}

static bool expects(const char *text)
{
    char *copy = strdup(text);
    FILE *f = fmemopen(copy, strlen(copy), "r");
    bool good = expect_read(&expect, "list", f);

    fclose(f);
    free(copy);
    return good;
}

static void events_become_a_run(void **state)
{
    (void)state;
    begin(VENDOR_VMX, "");
    scenario("a", EXIT_CPUID, 10, VERDICT_PASS);
    scenario("b", EXIT_HLT, 12, VERDICT_FAIL);
    end();
    assert_true(run_complete(&run));
    assert_int_equal(run.count, 2);
    assert_string_equal(run.scenarios[0].name, "a");
    assert_int_equal(run.scenarios[0].code, 10);
    assert_int_equal(run.scenarios[0].checks, 4);
    assert_int_equal(run.scenarios[1].verdict, VERDICT_FAIL);
    assert_string_equal(run.scenarios[1].reason, "because");
    assert_string_equal(run.scenarios[1].failures, "rip: want 0x1 got 0x2\n");
    assert_string_equal(run.last_event, "hvm:run_end 1 scenarios run");
}

/* A scenario without an end is an error, whether the next begins or the
 * stream ends. */
static void scenario_without_end_is_an_error(void **state)
{
    (void)state;
    begin(VENDOR_VMX, "a,b,c");
    trace_scenario_begin(&ring, "a", EXIT_CPUID);
    scenario("b", EXIT_CPUID, 10, VERDICT_PASS);
    trace_scenario_begin(&ring, "c", EXIT_CPUID);
    take();
    run_end(&run);
    assert_int_equal(run.count, 3);
    assert_int_equal(run.scenarios[0].verdict, VERDICT_ERROR);
    assert_int_equal(run.scenarios[1].verdict, VERDICT_PASS);
    assert_int_equal(run.scenarios[2].verdict, VERDICT_ERROR);
    assert_false(run_complete(&run));
}

/* Its verdict counts all the same. */
static void scenario_without_begin_counts(void **state)
{
    (void)state;
    trace_scenario_end(&ring, "lost", EXIT_CPUID, 10, VERDICT_PASS, 1, "");
    end();
    assert_int_equal(run.count, 1);
    assert_string_equal(run.scenarios[0].name, "lost");
}

/* One scenario with this verdict against one line of the list. */
static struct scenario *judged(u8 verdict, const char *list)
{
    run_free(&run);
    expect_free(&expect);
    begin(VENDOR_VMX, "");
    scenario("a", EXIT_CPUID, 10, verdict);
    end();
    assert_true(expects(list));
    expect_apply(&expect, &run);
    return &run.scenarios[0];
}

static void expected_verdicts_are_no_mismatch(void **state)
{
    struct scenario *s;

    (void)state;
    assert_null(judged(VERDICT_PASS, "a pass\n")->mismatch);
    assert_null(judged(VERDICT_SKIP, "# all\n\na skip")->mismatch);
    s = judged(VERDICT_FAIL, "a fail\n");
    assert_null(s->mismatch);
    assert_true(s->expected);
    s = judged(VERDICT_FAIL, "a known-deviation  SDM 1.2: does that \n");
    assert_null(s->mismatch);
    assert_int_equal(s->verdict, VERDICT_KNOWN_DEVIATION);
    assert_string_equal(s->reason, "SDM 1.2: does that ");
}

static void other_verdicts_are_mismatches(void **state)
{
    (void)state;
    assert_non_null(judged(VERDICT_FAIL, "a pass\n")->mismatch);
    assert_non_null(judged(VERDICT_SKIP, "a pass\n")->mismatch);
    assert_non_null(judged(VERDICT_PASS, "a skip\n")->mismatch);
    assert_non_null(judged(VERDICT_PASS, "a fail\n")->mismatch);
    assert_non_null(judged(VERDICT_ERROR, "a fail\n")->mismatch);
    assert_non_null(judged(VERDICT_PASS, "a known-deviation x\n")->mismatch);
    assert_non_null(judged(VERDICT_SKIP, "a known-deviation x\n")->mismatch);
    assert_non_null(judged(VERDICT_PASS, "# empty\n")->mismatch);
    assert_int_equal(run.count, 1);
}

static void list_and_run_must_name_the_same(void **state)
{
    struct scenario *s = judged(VERDICT_PASS, "a pass\nb pass\n");

    (void)state;
    assert_null(s->mismatch);
    assert_int_equal(run.count, 2);
    assert_true(run.scenarios[1].not_run);
    assert_non_null(run.scenarios[1].mismatch);

    /* A selection need not have run all of the list. */
    run_free(&run);
    begin(VENDOR_VMX, "a");
    scenario("a", EXIT_CPUID, 10, VERDICT_PASS);
    end();
    expect_free(&expect);
    assert_true(expects("a pass\nb pass\n"));
    expect_apply(&expect, &run);
    assert_int_equal(run.count, 1);
}

static void bad_lists_are_refused(void **state)
{
    static const char *const bad[] = {
        "a\n",
        "a maybe\n",
        "a error\n",
        "a known-deviation\n",
        "a pass\na skip\n",
    };

    (void)state;
    for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_false(expects(bad[i]));
        expect_free(&expect);
    }
}

static const struct gap *gap_at(const struct coverage *c, u8 kind, u32 code)
{
    for (u32 i = 0; i < c->gap_count; i++)
        if (c->gaps[i].kind_value == kind &&
            code - c->gaps[i].first < c->gaps[i].count)
            return &c->gaps[i];
    return NULL;
}

/* Each code of a range counts, and neighbours without one make one gap. */
static void svm_codes_are_covered_one_by_one(void **state)
{
    const struct gap *gap;
    struct coverage c;
    char name[64];

    (void)state;
    begin(VENDOR_SVM, "");
    scenario("a", EXIT_CR_READ, 4, VERDICT_PASS);
    scenario("b", EXIT_CPUID, 0x72, VERDICT_SKIP);
    scenario("c", EXIT_MSR_READ, 0x7c, VERDICT_PASS);
    end();
    coverage_find(&c, &run);
    assert_null(gap_at(&c, EXIT_CR_READ, 4));
    assert_null(gap_at(&c, EXIT_CPUID, 0x72));
    gap = gap_at(&c, EXIT_CR_READ, 3);
    assert_int_equal(gap->first, 0);
    assert_int_equal(gap->count, 4);
    assert_string_equal(gap_name(gap, 0, 4, name, sizeof(name)),
                        "CR_READ(0-3)");
    gap = gap_at(&c, EXIT_CR_WRITE, 0x13);
    assert_string_equal(gap_name(gap, 0x13, 1, name, sizeof(name)),
                        "CR_WRITE(3)");
    /* RDMSR and WRMSR share a code: one of them does not cover it. */
    assert_null(gap_at(&c, EXIT_MSR_READ, 0x7c));
    assert_non_null(gap_at(&c, EXIT_MSR_WRITE, 0x7c));
    assert_int_equal(c.by[VERDICT_PASS], 1);
    assert_int_equal(c.by[VERDICT_SKIP], 1);
    assert_int_equal(c.code_count, 176);
    assert_int_equal(c.came, 0); /* no exit is in the stream */
    coverage_free(&c);
}

static void vmx_reasons_are_covered_by_kind(void **state)
{
    struct coverage c;

    (void)state;
    begin(VENDOR_VMX, "");
    scenario("a", EXIT_CR_READ, 28, VERDICT_PASS);
    end();
    coverage_find(&c, &run);
    assert_null(gap_at(&c, EXIT_CR_READ, 28));
    assert_non_null(gap_at(&c, EXIT_CR_WRITE, 28));
    assert_int_equal(c.by[VERDICT_NOT_COVERED], c.code_count);
    assert_int_equal(c.code_count, 80);
    coverage_free(&c);
}

/* One exit among what a scenario writes. */
static void provoked(const char *name, u8 kind, u32 code, u8 without,
                     u8 verdict)
{
    trace_scenario_begin(&ring, name, kind);
    if (without)
        trace_forbid(&ring, without);
    trace_vmexit(&ring, kind, code, 0x1000, 2);
    trace_scenario_end(&ring, name, kind, code, verdict, 4, "");
}

static const struct code *code_of(const struct coverage *c, u32 code)
{
    for (u32 i = 0; i < c->code_count; i++)
        if (c->codes[i].code == code)
            return &c->codes[i];
    fail();
    return NULL;
}

/* A code is as good as the worst of its scenarios that ran. */
static void a_code_has_one_verdict(void **state)
{
    struct coverage c;

    (void)state;
    begin(VENDOR_VMX, "");
    provoked("a", EXIT_CPUID, 10, EXIT_NONE, VERDICT_PASS);
    scenario("b", EXIT_CPUID, 10, VERDICT_SKIP);
    provoked("c", EXIT_HLT, 12, EXIT_NONE, VERDICT_PASS);
    provoked("d", EXIT_HLT, 12, EXIT_NONE, VERDICT_KNOWN_DEVIATION);
    scenario("e", EXIT_INVD, 13, VERDICT_FAIL);
    end();
    coverage_find(&c, &run);
    assert_int_equal(code_of(&c, 10)->verdict, VERDICT_PASS);
    assert_true(code_of(&c, 10)->came);
    assert_string_equal(code_of(&c, 10)->name, "CPUID");
    assert_int_equal(code_of(&c, 12)->verdict, VERDICT_KNOWN_DEVIATION);
    assert_int_equal(code_of(&c, 13)->verdict, VERDICT_FAIL);
    assert_false(code_of(&c, 13)->came);
    assert_int_equal(c.came, 2);
    coverage_free(&c);
}

/* It proves that the exit does not come: of that kind it covers nothing. */
static void a_negative_covers_nothing(void **state)
{
    struct coverage c;

    (void)state;
    begin(VENDOR_VMX, "");
    provoked("a", EXIT_CPUID, 10, EXIT_CPUID, VERDICT_FAIL);
    provoked("b", EXIT_INTERRUPT, 1, EXIT_HLT, VERDICT_PASS);
    end();
    coverage_find(&c, &run);
    assert_int_equal(code_of(&c, 10)->verdict, VERDICT_NOT_COVERED);
    assert_false(code_of(&c, 10)->came);
    assert_true(code_of(&c, 1)->came);
    assert_int_equal(code_of(&c, 12)->verdict, VERDICT_NOT_COVERED);
    coverage_free(&c);
}

static void reports_count_alike(void **state)
{
    u32 counts[VERDICT_COUNT];
    struct coverage c;
    struct report r = {.run = &run, .coverage = &c, .platform = "p"};

    (void)state;
    begin(VENDOR_VMX, "");
    scenario("a", EXIT_CPUID, 10, VERDICT_PASS);
    scenario("b", EXIT_HLT, 12, VERDICT_ERROR);
    end();
    assert_true(expects("a pass\nb pass\nc pass\n"));
    expect_apply(&expect, &run);
    coverage_find(&c, &run);
    report_counts(&r, counts);
    assert_int_equal(counts[VERDICT_PASS], 1);
    assert_int_equal(counts[VERDICT_ERROR], 1);
    assert_int_equal(counts[VERDICT_NOT_COVERED], c.gap_count);
    coverage_free(&c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(events_become_a_run),
        TEST(scenario_without_end_is_an_error),
        TEST(scenario_without_begin_counts),
        TEST(expected_verdicts_are_no_mismatch),
        TEST(other_verdicts_are_mismatches),
        TEST(list_and_run_must_name_the_same),
        TEST(bad_lists_are_refused),
        TEST(svm_codes_are_covered_one_by_one),
        TEST(vmx_reasons_are_covered_by_kind),
        TEST(a_code_has_one_verdict),
        TEST(a_negative_covers_nothing),
        TEST(reports_count_alike),
    };

    return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
