/*
 * The rules of VMRUN, on a VMCB that exists only here: a valid one keeps them
 * all; each recipe breaks its own rule and no other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hv/cpu.h"
#include "hv/msr.h"
#include "hv/svm/rules.h"

static void valid(struct svm_state *s)
{
    union vmcb *b = &s->vmcb;

    memset(s, 0, sizeof(*s));
    s->physical_bits = 40;
    s->page = 0x50000;
    s->cr4_allowed = 0xf7ffff | ~0ull << 32;
    b->intercept_misc2 = 1;
    b->iopm_base = 0x10000;
    b->msrpm_base = 0x20000;
    b->asid = 1;
    b->np_enable = NP_ENABLE;
    b->n_cr3 = 0x30000;
    b->g_pat = PAT_DEFAULT;
    b->efer = EFER_SVME | EFER_LME | EFER_LMA | EFER_NXE;
    b->cr0 = CR0_PE | CR0_WP | CR0_PG;
    b->cr3 = 0x40000;
    b->cr4 = CR4_PAE;
    b->dr6 = DR6_RESET;
    b->dr7 = DR7_RESET;
    b->cs.attr = 0xa9b;
}

static u32 broken(const struct svm_state *s, u32 *last)
{
    u32 count = 0;

    for (u32 n = 0; n < SVM_RULES; n++)
        if (!svm_rules[n].ok(s)) {
            *last = n;
            count++;
        }
    return count;
}

static void test_valid_state_keeps_all(void **state)
{
    struct svm_state s;
    u32 last = 0;

    (void)state;
    valid(&s);
    if (broken(&s, &last))
        fail_msg("breaks %s", svm_rules[last].rule.name);
}

static void test_each_recipe_breaks_its_rule(void **state)
{
    (void)state;
    for (u32 n = 0; n < SVM_RULES; n++) {
        const struct svm_rule *r = &svm_rules[n];
        struct svm_state s;
        u32 last = n;

        if (r->spoil.how == HOW_NOTHING)
            continue;
        valid(&s);
        for (u32 i = 0; i < MAX_SETUP; i++)
            svm_apply(&s, &s.vmcb, &r->setup[i]);
        if (broken(&s, &last))
            fail_msg("%s: its setup breaks %s", r->rule.name,
                     svm_rules[last].rule.name);
        svm_apply(&s, &s.vmcb, &r->spoil);
        if (broken(&s, &last) != 1 || last != n)
            fail_msg("%s: its recipe breaks %u rules, one is %s", r->rule.name,
                     broken(&s, &last), svm_rules[last].rule.name);
    }
}

static void test_rows_have_words(void **state)
{
    (void)state;
    for (u32 n = 0; n < SVM_RULES; n++) {
        assert_int_equal(strncmp(svm_rules[n].rule.section, "APM 15.", 7), 0);
        assert_true(strlen(svm_rules[n].rule.must) > 10);
    }
}

/* The last byte of a map may be the last of the address space. */
static void test_edges(void **state)
{
    struct svm_state s;

    (void)state;
    valid(&s);
    s.vmcb.iopm_base = BIT(40) - IOPM_SIZE;
    assert_true(svm_rules[SVM_RULE_iopm_end].ok(&s));
    s.vmcb.iopm_base += PAGE_SIZE;
    assert_false(svm_rules[SVM_RULE_iopm_end].ok(&s));
    s.vmcb.cr0 |= CR0_NW | CR0_CD;
    assert_true(svm_rules[SVM_RULE_cr0_cd_nw].ok(&s));
    s.vmcb.efer &= ~EFER_LME; /* not long mode: PE and PAE are free */
    s.vmcb.cr0 &= ~CR0_PE;
    s.vmcb.cr4 = 0;
    assert_true(svm_rules[SVM_RULE_long_pe].ok(&s));
    assert_true(svm_rules[SVM_RULE_long_pae].ok(&s));
    s.vmcb.np_enable = 0; /* G_PAT and nCR3 do not count */
    s.vmcb.g_pat = 2;
    s.vmcb.n_cr3 = ~0ull;
    assert_true(svm_rules[SVM_RULE_g_pat].ok(&s));
    assert_true(svm_rules[SVM_RULE_ncr3].ok(&s));
}

/* Those without a recipe. */
static void test_only(void **state)
{
    struct svm_state s;
    u32 last = SVM_RULES;

    (void)state;
    valid(&s);
    s.vmcb.np_enable |= SSS_ENABLE;
    assert_int_equal(broken(&s, &last), 0);
    s.vmcb.np_enable = SSS_ENABLE;
    assert_int_equal(broken(&s, &last), 1);
    assert_int_equal(last, SVM_RULE_sss);

    valid(&s);
    s.vmcb.rflags |= RFLAGS_VM;
    s.vmcb.cr4 |= CR4_CET;
    assert_int_equal(broken(&s, &last), 0);
    s.u_cet = 1;
    assert_int_equal(broken(&s, &last), 1);
    assert_int_equal(last, SVM_RULE_cet_v86);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_state_keeps_all),
        cmocka_unit_test(test_each_recipe_breaks_its_rule),
        cmocka_unit_test(test_rows_have_words),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
