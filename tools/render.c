/* An event as text; see render.h. */
#include "tools/render.h"

/* Text from the other side, without what could disturb a terminal. */
static void put_clean(FILE *f, const char *s)
{
    for (; *s; s++)
        fputc((u8)*s < ' ' || *s == 0x7f ? '?' : *s, f);
}

static void put_flags(FILE *f, const struct schema_enum *flags, u64 value)
{
    const char *between = "";

    for (u32 i = 0; i < flags->count; i++) {
        u64 bit = 1ull << flags->values[i].value;

        if (!(value & bit))
            continue;
        fprintf(f, "%s%s", between, flags->values[i].name);
        between = "|";
        value &= ~bit;
    }
    if (value)
        fprintf(f, "%s0x%llx", between, (unsigned long long)value);
    else if (!*between)
        fputc('-', f);
}

void render_field(FILE *f, const struct event_view *e, u32 n)
{
    const struct schema_field *field = &e->schema->fields[n];
    unsigned long long value = e->value[n];
    const char *name = schema_value_name(field->style, value);

    if (field->type == TYPE_str)
        put_clean(f, e->text[n]);
    else if (schema_enums[field->style].flags)
        put_flags(f, &schema_enums[field->style], value);
    else if (name)
        fputs(name, f);
    else
        fprintf(f, field->style == STYLE_hex ? "0x%llx" : "%llu", value);
}

/* Blanks wait for what comes after them, so that none is left at the end of
 * the line when the last field is an empty text. */
void render_text(FILE *f, const struct event_view *e)
{
    int blanks = 0;

    for (const char *t = e->schema->text; *t; t++) {
        u32 n = (u32)(t[1] - '1');
        bool field = *t == '%' && n < e->schema->field_count;

        if (*t == ' ') {
            blanks++;
            continue;
        }
        if (!field || !e->text[n] || *e->text[n]) {
            fprintf(f, "%*s", blanks, "");
            blanks = 0;
        }
        if (field)
            render_field(f, e, n);
        else
            fputc(*t, f);
        t += field;
    }
}

void render_raw(FILE *f, const struct event_view *e)
{
    for (u32 i = 0; i < e->schema->field_count; i++) {
        const struct schema_field *field = &e->schema->fields[i];

        fprintf(f, "%s%s=", i ? " " : "", field->name);
        if (field->type == TYPE_str) {
            fputc('"', f);
            put_clean(f, e->text[i]);
            fputc('"', f);
        } else {
            fprintf(f, field->style == STYLE_dec ? "%llu" : "0x%llx",
                    (unsigned long long)e->value[i]);
        }
    }
}
