/*
 * The schema as data, out of trace.def: what the metadata, the host decoder,
 * the formats file and docs/events.md are made from.
 */
#ifndef TRACE_SCHEMA_H
#define TRACE_SCHEMA_H

#include "hv/feature.h"
#include "trace/enums.h"

#define SCHEMA_FIELDS_MAX 8 /* as many as FOR_EACH takes */

enum field_type {
    TYPE_u8,
    TYPE_u16,
    TYPE_u32,
    TYPE_u64,
    TYPE_str,
};

/* hex and dec; the rest are enumerations, listed in schema_enums. */
enum field_style {
    STYLE_hex,
    STYLE_dec,
    STYLE_kind,
    STYLE_vendor,
    STYLE_verdict,
    STYLE_access,
    STYLE_path,
    STYLE_event,
    STYLE_task,
    STYLE_COUNT
};

enum schema_when {
    WHEN_ALWAYS,
    WHEN_FAULT,
    WHEN_BENCH,
    WHEN_PREFLIGHT,
};

struct schema_field {
    const char *name;
    u8 type;  /* enum field_type */
    u8 style; /* enum field_style */
};

struct schema_event {
    u32 id;
    const char *name; /* without "hvm:" */
    u8 class;         /* enum trace_class */
    u8 when;          /* enum schema_when */
    u8 field_count;
    u8 vendor;           /* enum vendor; VENDOR_NONE: both write it */
    const char *section; /* of the vendor's manual, if only one does */
    const char *text;    /* %1 is the first field */
    struct schema_field fields[SCHEMA_FIELDS_MAX];
};
extern const struct schema_event schema_events[];
extern const u32 schema_event_count;

/* The event with this id, NULL: none. */
const struct schema_event *schema_find(u32 id);

struct schema_value {
    u32 value; /* of a set of flags: the bit number */
    const char *name;
};

struct schema_enum {
    const char *name; /* of the style; NULL: not an enumeration */
    u8 type;          /* enum field_type of every field of this style */
    bool flags;       /* each value is the number of a bit */
    u32 count;
    const struct schema_value *values;
};
extern const struct schema_enum schema_enums[STYLE_COUNT];

/* The name of a value of an enumeration (not of flags), NULL: it has none. */
const char *schema_value_name(enum field_style style, u64 value);

/* "exit", "detail", ... */
const char *schema_class_name(enum trace_class class);

/* Bytes of a field of this type, 0: text. */
u32 schema_type_size(enum field_type type);

/* Names this schema: a hash over all that a decoder depends on (ids, names,
 * types and enumerations), in the form of an version 8 UUID (RFC 9562). */
void schema_uuid(u8 uuid[16]);

#endif
