/*
 * The scenario table against the exit table: a row has a scenario or a
 * written reason, never both and never neither; and each scenario's text is
 * sound. The texts themselves are compiled in; their guest code never runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "guest/scenario.h"
#include "hv/ap.h"
#include "hv/apic.h"
#include "hv/guest.h"
#include "hv/memory.h"
#include "hv/handlers.h"
#include "hv/nested.h"
#include "hv/entry.h"
#include "hv/smm.h"

/* The linker's own names for the ends of the set; linker.ld gives it others
 * in the image. */
extern const struct scenario *const __start_scenarios[];
extern const struct scenario *const __stop_scenarios[];

/* What the texts refer to. */
const u8 guest_done[1] __attribute__((visibility("hidden")));
const u8 guest_flag[8] __attribute__((visibility("hidden")));
const u8 guest_abort[1] __attribute__((visibility("hidden")));
const u8 guest_pml4[8];
const u8 guest_gdt[8] __attribute__((visibility("hidden")));
const u8 guest_gdt_end[1] __attribute__((visibility("hidden")));
const u8 guest_text_start[1];
const u8 guest_tss[8] __attribute__((visibility("hidden")));
const u8 guest_idt[1], guest_pd[1], guest_pt[1], guest_text_end[1];
const u8 guest_seen[8], guest_vectors[1], guest_stack_top[1];
void *guest_memory(u64 gpa, u64 size)
{
    (void)gpa;
    (void)size;
    return NULL;
}
u64 guest_probe_page(void)
{
    return 0;
}
void guest_check(struct vcpu *v, const char *what, u64 want, u64 got)
{
    (void)v;
    (void)what;
    (void)want;
    (void)got;
}
u64 *nested_entry_at(u64 gpa, u32 level)
{
    (void)gpa;
    (void)level;
    return NULL;
}
void *pages_alloc(u32 count)
{
    (void)count;
    return NULL;
}
void apic_self_ipi(u8 vector)
{
    (void)vector;
}
u32 apic_id(void)
{
    return 0;
}
void queue_event(struct vcpu *v, const struct event *e)
{
    (void)v;
    (void)e;
}
bool smm_init(void)
{
    return false;
}
u64 smm_count(void)
{
    return 0;
}
bool ap_start(void)
{
    return false;
}
void ap_send(enum delivery mode, u8 vector)
{
    (void)mode;
    (void)vector;
}
void ap_stop(void)
{
}
void guest_map_apic(struct vcpu *v)
{
    (void)v;
}
void guest_set_gate(u8 vector, const u8 *label, u8 ist)
{
    (void)vector;
    (void)label;
    (void)ist;
}
void apic_timer_oneshot(u8 vector, u64 us)
{
    (void)vector;
    (void)us;
}
u64 watchdog_cycles(void);
u64 watchdog_cycles(void)
{
    return 0;
}
void entry_spoil(struct vcpu *v)
{
    (void)v;
}
u64 guest_large_page(void)
{
    return 0;
}
void nested_map_large(struct vcpu *v, u64 gpa, u64 pa, u32 access)
{
    (void)v;
    (void)gpa;
    (void)pa;
    (void)access;
}

#define EACH(s)                                                                \
    (const struct scenario *const *s = __start_scenarios;                      \
     s < __stop_scenarios; s++)

/* Demos are about CPUID by name only, and a negative proves that there is no
 * exit: they cover nothing. */
static bool covered(enum vendor vendor, u32 kind, u32 item, bool any_item)
{
    for
        EACH(s)
    if (!(*s)->demo && !(*s)->negative && (*s)->kind == kind &&
        (!(*s)->vendor || (*s)->vendor == vendor) &&
        (any_item || (*s)->item == item))
        return true;
    return false;
}

/* Codes of a row that have no scenario, and a reason, or the other way. */
static int check_row(enum vendor vendor, u32 kind, u32 codes,
                     const char *reason)
{
    bool all = covered(vendor, kind, 0, true);

    for (u32 item = 0; codes > 1 && item < codes; item++)
        all = all && covered(vendor, kind, item, false);
    if (all != (*reason != 0))
        return 0;
    printf("%s on %s: %s\n", exit_rows[kind].name,
           vendor == VENDOR_VMX ? "VT-x" : "AMD-V",
           all ? "has a scenario, so its reason must go"
               : "has neither scenario nor reason");
    return 1;
}

static void test_row_has_scenario_or_reason(void **state)
{
    int bad = 0;

    (void)state;
    for (u32 kind = 1; kind < EXIT_KINDS; kind++) {
        const struct exit_row *row = &exit_rows[kind];

        if (row->vmx_reason >= 0)
            bad += check_row(VENDOR_VMX, kind, 1, row->vmx_uncovered);
        if (row->svm_code != SVM_NONE)
            bad +=
                check_row(VENDOR_SVM, kind, row->svm_count, row->svm_uncovered);
    }
    assert_int_equal(bad, 0);
}

static void test_names_are_unique(void **state)
{
    (void)state;
    for
        EACH(a)
    for (const struct scenario *const *b = a + 1; b < __stop_scenarios; b++)
        assert_string_not_equal((*a)->name, (*b)->name);
}

static bool expects(const struct scenario *s, u8 kind)
{
    for (u32 n = 0; n < MAX_EXPECT && s->expect[n].kind; n++)
        if (s->expect[n].kind == kind)
            return true;
    return false;
}

static void test_texts_are_sound(void **state)
{
    u32 count = 0;

    (void)state;
    for
        EACH(s)
        {
            const struct exit_row *row = &exit_rows[(*s)->kind];
            u32 expected = 0;

            count++;
            assert_in_range((*s)->kind, 1, EXIT_KINDS - 1);
            assert_non_null((*s)->code);
            if (row->svm_count > 1)
                assert_in_range((*s)->item, 0, row->svm_count - 1);
            while (expected < MAX_EXPECT && (*s)->expect[expected].kind)
                expected++;
            /* it must say what is to be seen, and of its own kind */
            assert_int_equal(expected == 0, (*s)->negative);
            assert_true((*s)->negative || expects(*s, (*s)->kind));
            /* what must not come is not expected either */
            assert_false((*s)->negative && (*s)->without);
            assert_false((*s)->without && expects(*s, (*s)->without));
            for (u32 n = 0; n < expected; n++) {
                const struct expect *e = &(*s)->expect[n];

                assert_in_range(e->at, 0, 3);
                /* a label that the text does not set is its start */
                if (e->at > 1)
                    assert_ptr_not_equal((*s)->label[e->at], (*s)->code);
                assert_true(e->at || e->rip || e->any_rip);
            }
        }
    assert_in_range(count, 40, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_row_has_scenario_or_reason),
        cmocka_unit_test(test_names_are_unique),
        cmocka_unit_test(test_texts_are_sound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
