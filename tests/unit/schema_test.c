/*
 * The schema tables: ids and names are unique, texts and fields agree, every
 * enumeration has one type, the UUID and the metadata are what they must be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hv/exit.h"
#include "trace/metadata.h"
#include "trace/schema.h"
#include "trace/trace.h"

static void ids_and_names_are_unique(void **state)
{
    (void)state;
    for (u32 i = 0; i < schema_event_count; i++) {
        const struct schema_event *a = &schema_events[i];

        assert_ptr_equal(schema_find(a->id), a);
        for (u32 j = 0; j < i; j++)
            assert_string_not_equal(a->name, schema_events[j].name);
    }
    assert_null(schema_find(0));
    assert_null(schema_find(EVENT_LONG));
}

/* %1 .. %n each stand in the text, and no other. */
static void texts_have_all_fields(void **state)
{
    (void)state;
    for (u32 i = 0; i < schema_event_count; i++) {
        const struct schema_event *e = &schema_events[i];
        u32 seen = 0;

        assert_in_range(e->field_count, 1, SCHEMA_FIELDS_MAX);
        for (const char *t = strchr(e->text, '%'); t; t = strchr(t + 1, '%')) {
            assert_in_range(t[1], '1', '0' + e->field_count);
            seen |= 1u << (t[1] - '1');
        }
        assert_int_equal(seen, (1u << e->field_count) - 1);
    }
}

static void enumerations_have_one_type(void **state)
{
    (void)state;
    for (u32 i = 0; i < schema_event_count; i++) {
        for (u32 f = 0; f < schema_events[i].field_count; f++) {
            const struct schema_field *field = &schema_events[i].fields[f];
            const struct schema_enum *e = &schema_enums[field->style];

            if (e->name)
                assert_int_equal(field->type, e->type);
            if (field->type == TYPE_str)
                assert_int_equal(field->style, STYLE_dec);
        }
    }
}

static void values_have_names(void **state)
{
    (void)state;
    assert_string_equal(schema_value_name(STYLE_kind, EXIT_CPUID), "CPUID");
    assert_string_equal(schema_value_name(STYLE_kind, EXIT_NONE), "NONE");
    assert_string_equal(schema_value_name(STYLE_verdict, VERDICT_SKIP), "skip");
    assert_string_equal(schema_value_name(STYLE_vendor, VENDOR_SVM), "SVM");
    assert_null(schema_value_name(STYLE_kind, EXIT_KINDS));
    assert_null(schema_value_name(STYLE_hex, 0));
    assert_null(schema_value_name(STYLE_path, 0));
    assert_string_equal(schema_class_name(CLASS_RAW), "raw");
}

/* An event that only one vendor writes names the manual's section. */
static void one_sided_events_say_why(void **state)
{
    (void)state;
    for (u32 i = 0; i < schema_event_count; i++)
        if (schema_events[i].vendor != VENDOR_NONE)
            assert_true(*schema_events[i].section);
}

static void uuid_is_stable_and_well_formed(void **state)
{
    u8 a[16], b[16];

    (void)state;
    schema_uuid(a);
    schema_uuid(b);
    assert_memory_equal(a, b, sizeof(a));
    assert_int_equal(a[6] >> 4, 8);
    assert_int_equal(a[8] >> 6, 2);
}

/* A buffer that is too small gets the beginning, and the length is told. */
static void metadata_measures_itself(void **state)
{
    const struct metadata_info info = {2400000000, "SVM", "CPU \"x\"\n"};
    size_t len = metadata_text(NULL, 0, &info);
    char *whole = malloc(len + 1);
    char part[100];

    (void)state;
    assert_non_null(whole);
    assert_int_equal(metadata_text(whole, len + 1, &info), len);
    assert_int_equal(strlen(whole), len);
    assert_memory_equal(whole, "/* CTF 1.8", 10);
    assert_string_equal(whole + len - strlen(METADATA_END), METADATA_END);
    assert_non_null(strstr(whole, "freq = 2400000000;"));
    assert_non_null(strstr(whole, "cpu = \"CPU ?x??\";"));
    for (u32 i = 0; i < schema_event_count; i++) {
        char name[64];

        snprintf(name, sizeof(name), "\"hvm:%s\"", schema_events[i].name);
        assert_non_null(strstr(whole, name));
    }
    assert_int_equal(metadata_text(part, sizeof(part), &info), len);
    assert_int_equal(strlen(part), sizeof(part) - 1);
    assert_memory_equal(part, whole, sizeof(part) - 1);
    free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_and_names_are_unique),
        cmocka_unit_test(texts_have_all_fields),
        cmocka_unit_test(enumerations_have_one_type),
        cmocka_unit_test(values_have_names),
        cmocka_unit_test(one_sided_events_say_why),
        cmocka_unit_test(uuid_is_stable_and_well_formed),
        cmocka_unit_test(metadata_measures_itself),
    };

    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
