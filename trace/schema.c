/*
 * The schema tables, made from trace.def and the tables of names.
 */
#include "trace/schema.h"
#include "hv/exit.h"
#include "hv/vcpu.h"
#include "trace/foreach.h"

/* The vendors column, as the members vendor and section. */
#define BOTH         VENDOR_NONE, ""
#define VMX(section) VENDOR_VMX, section
#define SVM(section) VENDOR_SVM, section

#define FIELD_ROW(type, name, style) {#name, TYPE_##type, STYLE_##style},
#define FIELD_ONE(type, name, style) +1

const struct schema_event schema_events[] = {
#define EVENT(id, name, class, vendors, when, text, ...)                       \
    {id,                                                                       \
     #name,                                                                    \
     CLASS_##class,                                                            \
     WHEN_##when,                                                              \
     FOR_EACH(FIELD_ONE, __VA_ARGS__),                                         \
     vendors,                                                                  \
     text,                                                                     \
     {FOR_EACH(FIELD_ROW, __VA_ARGS__)}},
#include "trace/trace.def"
};
const u32 schema_event_count = ARRAY_SIZE(schema_events);

static const struct schema_value kinds[] = {
    {EXIT_NONE, "NONE"},
#define EXIT(kind, ...) {EXIT_##kind, #kind},
#include "hv/exit.def"
};

static const struct schema_value vendors[] = {
    {VENDOR_NONE, "none"},
    {VENDOR_VMX, "VMX"},
    {VENDOR_SVM, "SVM"},
};

static const struct schema_value verdicts[] = {
#define V(name, text) {VERDICT_##name, text},
    VERDICTS(V)
#undef V
};

static const struct schema_value accesses[] = {
#define A(name, text) {DIR_##name, text},
    ACCESSES(A)
#undef A
};

static const struct schema_value path_bits[] = {
#define F(name) {PATH_BIT_##name, #name},
    PATH_FLAGS(F)
#undef F
};

static const struct schema_value task_sources[] = {
    {TASK_CALL, "CALL"},
    {TASK_IRET, "IRET"},
    {TASK_JMP, "JMP"},
    {TASK_GATE, "gate"},
};

static const struct schema_value event_types[] = {
    {EVENT_INTR, "interrupt"},
    {EVENT_NMI, "NMI"},
    {EVENT_EXCEPTION, "exception"},
    {EVENT_SOFT_INT, "software interrupt"},
    {EVENT_SOFT_EXCEPTION, "software exception"},
};

static const char *const class_names[] = {
#define C(name, text) text,
    TRACE_CLASSES(C)
#undef C
};

const struct schema_enum schema_enums[STYLE_COUNT] = {
    [STYLE_kind] = {"kind", TYPE_u8, false, ARRAY_SIZE(kinds), kinds},
    [STYLE_vendor] = {"vendor", TYPE_u8, false, ARRAY_SIZE(vendors), vendors},
    [STYLE_verdict] = {"verdict", TYPE_u8, false, ARRAY_SIZE(verdicts),
                       verdicts},
    [STYLE_access] = {"access", TYPE_u8, false, ARRAY_SIZE(accesses), accesses},
    [STYLE_path] = {"path", TYPE_u16, true, ARRAY_SIZE(path_bits), path_bits},
    [STYLE_event] = {"event", TYPE_u8, false, ARRAY_SIZE(event_types),
                     event_types},
    [STYLE_task] = {"task", TYPE_u8, false, ARRAY_SIZE(task_sources),
                    task_sources},
};

const struct schema_event *schema_find(u32 id)
{
    for (u32 i = 0; i < schema_event_count; i++)
        if (schema_events[i].id == id)
            return &schema_events[i];
    return NULL;
}

const char *schema_value_name(enum field_style style, u64 value)
{
    const struct schema_enum *e = &schema_enums[style];

    for (u32 i = 0; i < e->count && !e->flags; i++)
        if (e->values[i].value == value)
            return e->values[i].name;
    return NULL;
}

const char *schema_class_name(enum trace_class class)
{
    return class < CLASS_COUNT ? class_names[class] : "?";
}

u32 schema_type_size(enum field_type type)
{
    static const u8 sizes[] = {1, 2, 4, 8, 0};

    return sizes[type];
}

/* Two FNV-1a hashes (64 bits each) over the same bytes: the second sees each
 * byte inverted, so that the two do not go together. */
struct hash {
    u64 a, b;
};

static void hash_byte(struct hash *h, u8 byte)
{
    const u64 prime = 0x100000001b3;

    h->a = (h->a ^ byte) * prime;
    h->b = (h->b ^ (u8)~byte) * prime;
}

static void hash_int(struct hash *h, u32 value)
{
    for (u32 i = 0; i < sizeof(value); i++)
        hash_byte(h, (u8)(value >> 8 * i));
}

static void hash_text(struct hash *h, const char *s)
{
    do
        hash_byte(h, (u8)*s);
    while (*s++);
}

void schema_uuid(u8 uuid[16])
{
    struct hash h = {0xcbf29ce484222325, 0xcbf29ce484222325};

    for (u32 i = 0; i < schema_event_count; i++) {
        const struct schema_event *e = &schema_events[i];

        hash_int(&h, e->id);
        hash_text(&h, e->name);
        for (u32 f = 0; f < e->field_count; f++) {
            hash_text(&h, e->fields[f].name);
            hash_byte(&h, e->fields[f].type);
            hash_byte(&h, e->fields[f].style);
        }
    }
    for (u32 i = 0; i < STYLE_COUNT; i++) {
        const struct schema_enum *e = &schema_enums[i];

        for (u32 v = 0; v < e->count; v++) {
            hash_int(&h, e->values[v].value);
            hash_text(&h, e->values[v].name);
        }
    }
    __builtin_memcpy(uuid, &h.a, 8);
    __builtin_memcpy(uuid + 8, &h.b, 8);
    uuid[6] = (u8)((uuid[6] & 0x0f) | 0x80); /* version 8: our own (RFC 9562) */
    uuid[8] = (u8)((uuid[8] & 0x3f) | 0x80); /* variant 10b */
}
