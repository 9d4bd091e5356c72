/* tollgate schema: the trace schema in its forms. */
#include <stdio.h>
#include <stdlib.h>

#include "tools/tollgate.h"
#include "trace/metadata.h"
#include "trace/schema.h"

static const char help[] =
    "usage: tollgate schema --metadata | --formats | --markdown\n"
    "\n"
    "  --metadata   CTF 1.8 metadata (with a clock of 1 GHz: in a recording\n"
    "               it has the platform's)\n"
    "  --formats    a formats file as xentrace_format reads it\n"
    "  --markdown   a table for people\n"
    "  --help       this text\n";

enum { OPT_METADATA = 256, OPT_FORMATS, OPT_MARKDOWN };
static const struct option options[] = {
    {"metadata", no_argument, NULL, OPT_METADATA},
    {"formats", no_argument, NULL, OPT_FORMATS},
    {"markdown", no_argument, NULL, OPT_MARKDOWN},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static int print_metadata(void)
{
    const struct metadata_info info = {0, "unknown", "unknown"};
    size_t size = metadata_text(NULL, 0, &info) + 1;
    char *text = malloc(size);

    if (!text) {
        complain("out of memory");
        return STATUS_ERROR;
    }
    metadata_text(text, size, &info);
    fputs(text, stdout);
    free(text);
    return STATUS_OK;
}

/* How a formats file prints a field: text as it is, numbers by their size. */
static void format_field(const struct schema_field *field, u32 n)
{
    if (field->type == TYPE_str)
        printf("%%(%u)s", n + 1);
    else if (field->style == STYLE_hex)
        printf("0x%%(%u)0%ux", n + 1, 2 * schema_type_size(field->type));
    else
        printf("%%(%u)d", n + 1);
}

static int print_formats(void)
{
    for (u32 i = 0; i < schema_event_count; i++) {
        const struct schema_event *e = &schema_events[i];

        printf("0x%08x  CPU%%(cpu)d  %%(tsc)d  hvm:%s  ", e->id, e->name);
        for (const char *t = e->text; *t; t++) {
            u32 n = (u32)(t[1] - '1');

            if (*t == '%' && n < e->field_count) {
                format_field(&e->fields[n], n);
                t++;
            } else {
                putchar(*t);
            }
        }
        putchar('\n');
    }
    return STATUS_OK;
}

static void print_fields(const struct schema_event *e)
{
    static const char *const types[] = {"u8", "u16", "u32", "u64", "str"};

    for (u32 i = 0; i < e->field_count; i++) {
        const struct schema_field *f = &e->fields[i];

        printf("%s`%s` %s", i ? ", " : "", f->name, types[f->type]);
        if (schema_enums[f->style].name)
            printf(" (%s)", schema_enums[f->style].name);
    }
}

static void print_event_row(const struct schema_event *e)
{
    static const char *const when[] = {"always", "on a fault", "benchmark",
                                       "preflight"};

    printf("| %u | `hvm:%s` | %s | ", e->id, e->name,
           schema_class_name(e->class));
    if (e->vendor == VENDOR_NONE)
        printf("both");
    else
        printf("%s only: %s", schema_value_name(STYLE_vendor, e->vendor),
               e->section);
    printf(" | %s | ", when[e->when]);
    print_fields(e);
    printf(" | %s |\n", e->text);
}

static int print_markdown(void)
{
    printf("# Events\n\n"
           "Generated from `trace/trace.def` by `tollgate schema --markdown`.\n"
           "`%%1` in a text is the first field. The class is what the trace\n"
           "mask selects; class `run` is always written.\n\n"
           "| ID | event | class | vendors | when | fields | text |\n"
           "|---:|---|---|---|---|---|---|\n");
    for (u32 i = 0; i < schema_event_count; i++)
        print_event_row(&schema_events[i]);
    printf("\n## Enumerations\n\n| name | values |\n|---|---|\n");
    for (u32 i = 0; i < STYLE_COUNT; i++) {
        const struct schema_enum *e = &schema_enums[i];

        if (!e->name)
            continue;
        printf("| %s%s |", e->name, e->flags ? " (bits)" : "");
        for (u32 v = 0; v < e->count; v++)
            printf("%s %u %s", v ? "," : "", e->values[v].value,
                   e->values[v].name);
        printf(" |\n");
    }
    return STATUS_OK;
}

int cmd_schema(int argc, char **argv)
{
    const char *source;
    int form = 0;

    for (int o; (o = next_option(argc, argv, options, help)) != -1;) {
        if (o == 'h' || o < OPT_METADATA)
            return o == 'h' ? STATUS_OK : STATUS_USAGE;
        form = o;
    }
    if (!only_operand(argc, argv, &source))
        return STATUS_USAGE;
    if (form == OPT_METADATA && !source)
        return print_metadata();
    if (form == OPT_FORMATS && !source)
        return print_formats();
    if (form == OPT_MARKDOWN && !source)
        return print_markdown();
    complain("schema: give one of --metadata, --formats, --markdown");
    return STATUS_USAGE;
}
