/*
 * The rules of VM entry on VT-x, on a state that exists only here: a valid
 * one keeps them all; each recipe breaks its own rule and no other; and the
 * edges of the predicates that stand for whole families.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hv/cpu.h"
#include "hv/msr.h"
#include "hv/vmx/rules.h"

#define PAGE_AT   0x100000
#define REGION_AT 0x101000
#define LIST_AT   0x102000
#define VMCS_AT   0x103000
#define REVISION  0x2b

#define F(name) f[INDEX_##name]

/* What a CPU has without the features that lift a rule. */
static void make_cpu(struct vmx_state *s)
{
    s->allowed[CONTROL_PIN] = 0x000000ff00000016;
    s->allowed[CONTROL_PROC] = 0xf7fbfffe04006172; /* no MTF */
    s->allowed[CONTROL_PROC2] = 0x07ffffff00000000;
    s->allowed[CONTROL_EXIT] = 0xb3ffffff00036dfb;
    s->allowed[CONTROL_ENTRY] = 0x007fffff000011fb;
    s->basic = REVISION;
    s->misc = 4u << 16 | 7u << 6;
    s->ept_vpid = EPT_CAP_WALK4 | EPT_CAP_WB;
    s->vmfunc = 1;
    s->proc3_allowed = 0xff;
    s->cr0_fixed0 = CR0_PE | CR0_NE | CR0_PG;
    s->cr0_fixed1 = 0xffffffff;
    s->cr4_fixed0 = CR4_VMXE;
    s->cr4_fixed1 = 0x00f7ffff;
    s->physical_bits = 40;
    s->linear_bits = 48;
    s->current = VMCS_AT;
    s->link_revision = REVISION;
    s->page = PAGE_AT;
    s->region = REGION_AT;
    s->list = LIST_AT;
    s->directory = 0x20001;
}

static void make_controls(struct vmx_state *s)
{
    s->F(PIN_CONTROLS) = 0x16 | PIN_EXTERNAL_INTERRUPT;
    s->F(PROC_CONTROLS) = 0x04006172 | PROC_IO_BITMAPS | PROC_MSR_BITMAPS |
                          PROC_TPR_SHADOW | PROC_SECONDARY;
    s->F(PROC2_CONTROLS) = PROC2_EPT | PROC2_UNRESTRICTED | PROC2_VPID;
    s->F(EXIT_CONTROLS) = 0x00036dfb | EXIT_CTL_HOST_64BIT | EXIT_CTL_LOAD_PAT |
                          EXIT_CTL_LOAD_EFER;
    s->F(ENTRY_CONTROLS) = 0x000011fb | ENTRY_CTL_LOAD_DEBUG |
                           ENTRY_CTL_GUEST_64 | ENTRY_CTL_LOAD_PAT |
                           ENTRY_CTL_LOAD_EFER;
    s->F(VPID) = 1;
    s->F(EPTP) = 0x5000 | 3 << 3 | MEMTYPE_WB;
    s->F(VMCS_LINK_POINTER) = ~0ull;
    s->F(MSR_LOAD_INDEX) = MSR_SYSENTER_ESP;
}

static void make_host(struct vmx_state *s)
{
    s->F(HOST_CR0) = s->cr0_fixed0 | CR0_WP;
    s->F(HOST_CR3) = 0x3000;
    s->F(HOST_CR4) = CR4_VMXE | CR4_PAE;
    s->F(HOST_EFER) = EFER_LME | EFER_LMA;
    s->F(HOST_PAT) = PAT_DEFAULT;
    s->F(HOST_CS_SELECTOR) = 8;
    s->F(HOST_TR_SELECTOR) = 0x18;
}

static void make_guest(struct vmx_state *s)
{
    for (enum seg i = SEG_ES; i <= SEG_GS; i++) {
        s->f[INDEX_GUEST_ES_SELECTOR + i] = 0x10;
        s->f[INDEX_GUEST_ES_LIMIT + i] = 0xffffffff;
        s->f[INDEX_GUEST_ES_RIGHTS + i] = 0xc093;
    }
    s->F(GUEST_CS_SELECTOR) = 8;
    s->F(GUEST_CS_RIGHTS) = 0xa09b;
    s->F(GUEST_LDTR_RIGHTS) = RIGHTS_UNUSABLE;
    s->F(GUEST_TR_SELECTOR) = 0x18;
    s->F(GUEST_TR_RIGHTS) = 0x8b;
    s->F(GUEST_TR_LIMIT) = 103;
    s->F(GUEST_CR0) = s->cr0_fixed0 | CR0_WP;
    s->F(GUEST_CR3) = 0x4000;
    s->F(GUEST_CR4) = CR4_VMXE | CR4_PAE;
    s->F(GUEST_EFER) = EFER_LME | EFER_LMA;
    s->F(GUEST_PAT) = PAT_DEFAULT;
    s->F(GUEST_DR7) = DR7_RESET;
    s->F(GUEST_RFLAGS) = RFLAGS_FIXED | RFLAGS_IF;
    s->F(GUEST_RIP) = 0x10000;
}

static void valid(struct vmx_state *s)
{
    memset(s, 0, sizeof(*s));
    make_cpu(s);
    make_controls(s);
    make_host(s);
    make_guest(s);
}

/* How many rules the state breaks; *last: the last of them. */
static u32 broken(const struct vmx_state *s, u32 *last)
{
    u32 count = 0;

    for (u32 n = 0; n < VMX_RULES; n++)
        if (!vmx_rules[n].ok(s)) {
            *last = n;
            count++;
        }
    return count;
}

static void change(struct vmx_state *s, const struct vmx_change *c)
{
    s->f[c->index] = vmx_changed(s, c);
    s->link_revision = s->F(VMCS_LINK_POINTER) == s->page ? 0 : REVISION;
    if ((s->F(PROC2_CONTROLS) & PROC2_SHADOW_VMCS) &&
        s->F(VMCS_LINK_POINTER) != s->region)
        s->link_revision |= 1u << 31;
}

static void test_valid_state_keeps_all(void **state)
{
    struct vmx_state s;
    u32 last = 0;

    (void)state;
    valid(&s);
    if (broken(&s, &last))
        fail_msg("breaks %s", vmx_rules[last].rule.name);
}

/* The three rules of each segment of a virtual-8086 guest stand together. */
static bool is_v86(u32 n)
{
    return n >= VMX_RULE_cs_base_v86 && n <= VMX_RULE_gs_rights_v86;
}

static void make_v86(struct vmx_state *s)
{
    s->F(ENTRY_CONTROLS) &= ~ENTRY_CTL_GUEST_64;
    s->F(GUEST_EFER) = 0;
    s->F(GUEST_RFLAGS) |= RFLAGS_VM;
    for (enum seg i = SEG_ES; i <= SEG_GS; i++) {
        s->f[INDEX_GUEST_ES_SELECTOR + i] = 0x1003;
        s->f[INDEX_GUEST_ES_BASE + i] = 0x10030;
        s->f[INDEX_GUEST_ES_LIMIT + i] = 0xffff;
        s->f[INDEX_GUEST_ES_RIGHTS + i] = 0xf3;
    }
}

static void test_each_recipe_breaks_its_rule(void **state)
{
    u32 recipes = 0;

    (void)state;
    for (u32 n = 0; n < VMX_RULES; n++) {
        const struct vmx_rule *r = &vmx_rules[n];
        struct vmx_state s, before;
        u32 last = n;

        if (r->spoil.how == HOW_NOTHING)
            continue;
        recipes++;
        valid(&s);
        if (is_v86(n))
            make_v86(&s);
        if (n == VMX_RULE_event_other_vector) /* type 7 needs MTF */
            s.allowed[CONTROL_PROC] |= PROC_MTF << 32;
        for (u32 i = 0; i < MAX_SETUP && r->setup[i].how; i++)
            change(&s, &r->setup[i]);
        if (broken(&s, &last))
            fail_msg("%s: its setup breaks %s", r->rule.name,
                     vmx_rules[last].rule.name);
        before = s;
        change(&s, &r->spoil);
        if (broken(&s, &last) != 1 || last != n)
            fail_msg("%s: its recipe breaks %u rules, one is %s", r->rule.name,
                     broken(&s, &last), vmx_rules[last].rule.name);
        s.f[r->spoil.index] = before.f[r->spoil.index];
    }
    assert_in_range(recipes, 150, VMX_RULES);
}

static void test_rows_have_words(void **state)
{
    (void)state;
    for (u32 n = 0; n < VMX_RULES; n++) {
        assert_int_equal(strncmp(vmx_rules[n].rule.section, "SDM 27.", 7), 0);
        assert_true(strlen(vmx_rules[n].rule.must) > 10);
        assert_true(vmx_rules[n].rule.field[0] != 0);
    }
}

/* Sets one field of a valid state and asks one rule. */
static bool keeps(u32 rule, u32 index, u64 value)
{
    struct vmx_state s;

    valid(&s);
    s.f[index] = value;
    return vmx_rules[rule].ok(&s);
}
#define KEEPS(rule, field, value) keeps(VMX_RULE_##rule, INDEX_##field, value)

static void test_edges(void **state)
{
    (void)state;
    assert_true(KEEPS(cr3_targets, CR3_TARGET_COUNT, 4));
    assert_false(KEEPS(cr3_targets, CR3_TARGET_COUNT, 5));
    assert_true(KEEPS(io_bitmap_a_width, IO_BITMAP_A, 0xfffffff000));
    assert_false(KEEPS(io_bitmap_a_width, IO_BITMAP_A, 0x10000000000));
    assert_true(KEEPS(fs_base, GUEST_FS_BASE, 0x00007fffffffffff));
    assert_false(KEEPS(fs_base, GUEST_FS_BASE, 0x0000800000000000));
    assert_false(KEEPS(fs_base, GUEST_FS_BASE, 0xffff7fffffffffff));
    assert_true(KEEPS(fs_base, GUEST_FS_BASE, 0xffff800000000000));
    assert_true(KEEPS(pat, GUEST_PAT, 0x0706050401000000));
    assert_false(KEEPS(pat, GUEST_PAT, 0x0000000000000300));
    assert_false(KEEPS(pat, GUEST_PAT, 0x0800000000000000));
    assert_true(KEEPS(rflags_reserved, GUEST_RFLAGS, 0x3d7fd7));
    assert_false(KEEPS(rflags_reserved, GUEST_RFLAGS, BIT(22)));
    assert_true(KEEPS(activity, GUEST_ACTIVITY, 3));
    assert_true(KEEPS(eptp_type, EPTP, 0x5000 | 3 << 3 | MEMTYPE_WB));
    assert_false(KEEPS(eptp_type, EPTP, 0x5000 | 3 << 3)); /* no UC here */
    assert_false(KEEPS(eptp_walk, EPTP, 0x5000 | 4 << 3 | MEMTYPE_WB));
}

/* Error codes go with certain exceptions, and never into real mode. */
static void test_error_codes(void **state)
{
    const u32 with = 0x27d00; /* 8, 10 to 14, 17 */
    struct vmx_state s;

    (void)state;
    for (u32 vector = 0; vector < 32; vector++) {
        bool wants = with >> vector & 1;

        valid(&s);
        s.F(ENTRY_INTERRUPTION_INFO) = INTR_VALID | 3 << 8 | vector;
        assert_int_equal(vmx_rules[VMX_RULE_event_error_missing].ok(&s),
                         !wants);
        s.F(ENTRY_INTERRUPTION_INFO) |= INTR_HAS_ERROR;
        assert_int_equal(vmx_rules[VMX_RULE_event_error_extra].ok(&s), wants);
        s.F(GUEST_CR0) &= ~(CR0_PE | CR0_PG);
        assert_false(vmx_rules[VMX_RULE_event_error_extra].ok(&s));
        s.basic |= VMX_BASIC_ANY_ERROR;
        assert_true(vmx_rules[VMX_RULE_event_error_extra].ok(&s));
    }
}

/* A virtual-8086 guest has its own rules for segments. */
static void test_v86(void **state)
{
    struct vmx_state s;
    u32 last = 0;

    (void)state;
    valid(&s);
    make_v86(&s);
    assert_int_equal(broken(&s, &last), 0);
    s.F(GUEST_DS_BASE)++;
    s.F(GUEST_ES_LIMIT)--;
    s.F(GUEST_GS_RIGHTS) = 0x93;
    assert_int_equal(broken(&s, &last), 3);
    assert_false(vmx_rules[VMX_RULE_ds_base_v86].ok(&s));
    assert_false(vmx_rules[VMX_RULE_es_limit_v86].ok(&s));
    assert_false(vmx_rules[VMX_RULE_gs_rights_v86].ok(&s));
}

/* Rows that have no recipe, since a CPU that lets it pass does not come back.
 */
static void test_rows_without_recipe(void **state)
{
    (void)state;
    assert_false(KEEPS(host_size, EXIT_CONTROLS, 0x00036dfb & ~0x200));
    assert_false(KEEPS(host_size_pae, HOST_CR4, CR4_VMXE));
    assert_false(KEEPS(host_size_rip, HOST_RIP, BIT(62)));
    assert_false(KEEPS(unrestricted_ept, PROC2_CONTROLS, PROC2_UNRESTRICTED));
    assert_false(KEEPS(pml_ept, PROC2_CONTROLS, PROC2_PML));
    assert_false(KEEPS(mbe_ept, PROC2_CONTROLS, PROC2_MBE));
    assert_false(KEEPS(spp_ept, PROC2_CONTROLS, PROC2_SPP));
    assert_true(KEEPS(host_cet_wp, HOST_CR4, CR4_CET));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_state_keeps_all),
        cmocka_unit_test(test_each_recipe_breaks_its_rule),
        cmocka_unit_test(test_rows_have_words),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_error_codes),
        cmocka_unit_test(test_v86),
        cmocka_unit_test(test_rows_without_recipe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
