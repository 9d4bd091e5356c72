/*
 * The CTF metadata, written out from the schema tables. TSDL is described in
 * the Common Trace Format specification 1.8, section 7 and appendix C.
 */
#include "trace/metadata.h"
#include "hv/format.h"
#include "trace/ring.h"
#include "trace/schema.h"

struct text {
    char *buf;
    size_t size, len;
};

/* Appends; what does not fit is only counted. */
#define ADD(t, ...)                                                            \
    ((t)->len += (size_t)format(                                               \
         (t)->len < (t)->size ? (t)->buf + (t)->len : NULL,                    \
         (t)->len < (t)->size ? (t)->size - (t)->len : 0, __VA_ARGS__))

/* A string literal; what would need an escape is replaced. */
static void add_quoted(struct text *t, const char *s)
{
    ADD(t, "\"");
    for (; *s; s++)
        ADD(t, "%c",
            *s < ' ' || *s > '~' || *s == '"' || *s == '\\' ? '?' : *s);
    ADD(t, "\"");
}

static void add_uuid(struct text *t)
{
    u8 uuid[16];

    schema_uuid(uuid);
    for (int i = 0; i < 16; i++)
        ADD(t, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
            uuid[i]);
}

/* dec8 .. dec64 and hex8 .. hex64: whole bytes, packed. */
static void add_integers(struct text *t)
{
    for (u32 bits = 8; bits <= 64; bits *= 2) {
        ADD(t, "typealias integer { size = %u; align = 8; } := dec%u;\n", bits,
            bits);
        ADD(t,
            "typealias integer { size = %u; align = 8; base = 16; } := "
            "hex%u;\n",
            bits, bits);
    }
}

/* One enumeration as kind_t, access_t, ... Flags become one bit each: TSDL's
 * enumerations have no name for a combination. */
static void add_enum(struct text *t, const struct schema_enum *e)
{
    u32 bits = 8 * schema_type_size(e->type);

    if (e->flags)
        ADD(t, "typealias struct {\n");
    else
        ADD(t, "typealias enum : dec%u {\n", bits);
    for (u32 i = 0; i < e->count; i++) {
        if (e->flags)
            ADD(t, "    bit _%s;\n", e->values[i].name);
        else
            ADD(t, "    \"%s\" = %u,\n", e->values[i].name, e->values[i].value);
    }
    if (e->flags && e->count < bits)
        ADD(t, "    integer { size = %u; align = 1; } _unused;\n",
            bits - e->count);
    ADD(t, "} := %s_t;\n", e->name);
}

static void add_trace(struct text *t, const struct metadata_info *info)
{
    ADD(t, "trace {\n"
           "    major = 1;\n"
           "    minor = 8;\n"
           "    byte_order = le;\n"
           "    uuid = \"");
    add_uuid(t);
    ADD(t, "\";\n"
           "    packet.header := struct {\n"
           "        hex32 magic;\n"
           "        dec8 uuid[16];\n"
           "        dec32 stream_id;\n"
           "    };\n"
           "};\n"
           "env {\n"
           "    domain = \"tollgate\";\n"
           "    tracer_name = \"tollgate\";\n"
           "    vendor = ");
    add_quoted(t, info->vendor);
    ADD(t, ";\n    cpu = ");
    add_quoted(t, info->cpu);
    ADD(t, ";\n};\n");
}

/* The clock and the types that read it: all of it, or its low 27 bits. */
static void add_clock(struct text *t, u64 tsc_hz)
{
    ADD(t,
        "clock {\n"
        "    name = tsc;\n"
        "    description = \"time stamp counter of the CPU\";\n"
        "    freq = %llu;\n"
        "    offset = 0;\n"
        "};\n",
        (unsigned long long)(tsc_hz ? tsc_hz : 1000000000));
    ADD(t, "typealias integer { size = 64; align = 8; "
           "map = clock.tsc.value; } := time64;\n");
    ADD(t,
        "typealias integer { size = %d; align = 1; "
        "map = clock.tsc.value; } := time%d;\n",
        EVENT_TIME_BITS, EVENT_TIME_BITS);
    ADD(t,
        "typealias integer { size = 1; align = 1; } := bit;\n"
        "typealias integer { size = %d; align = 1; } := id%d;\n",
        EVENT_ID_BITS, EVENT_ID_BITS);
}

/* struct packet and the two event headers of trace/ring.h. */
static void add_stream(struct text *t)
{
    ADD(t, "stream {\n"
           "    id = 0;\n"
           "    packet.context := struct {\n"
           "        time64 timestamp_begin;\n"
           "        time64 timestamp_end;\n"
           "        dec32 content_size;\n"
           "        dec32 packet_size;\n"
           "        dec64 events_discarded;\n"
           "        dec64 packet_seq_num;\n"
           "        dec32 cpu_id;\n"
           "    };\n");
    ADD(t,
        "    event.header := struct {\n"
        "        enum : id%d { compact = 0 ... %u, extended = %u } id;\n"
        "        variant <id> {\n"
        "            struct { time%d timestamp; } compact;\n"
        "            struct { dec32 id; time64 timestamp; } extended;\n"
        "        } v;\n"
        "    } align(8);\n"
        "};\n",
        EVENT_ID_BITS, EVENT_ID_MAX, EVENT_LONG, EVENT_TIME_BITS);
}

/* Field names get a '_' in front, which readers take off again: so none can
 * be a word of TSDL. */
static void add_event(struct text *t, const struct schema_event *e)
{
    ADD(t,
        "event {\n"
        "    name = \"hvm:%s\";\n"
        "    id = %u;\n"
        "    stream_id = 0;\n"
        "    fields := struct {\n",
        e->name, e->id);
    for (u32 i = 0; i < e->field_count; i++) {
        const struct schema_field *f = &e->fields[i];
        u32 bits = 8 * schema_type_size(f->type);

        if (f->type == TYPE_str)
            ADD(t, "        string");
        else if (schema_enums[f->style].name)
            ADD(t, "        %s_t", schema_enums[f->style].name);
        else
            ADD(t, "        %s%u", f->style == STYLE_hex ? "hex" : "dec", bits);
        ADD(t, " _%s;\n", f->name);
    }
    ADD(t, "    };\n};\n");
}

size_t metadata_text(char *buf, size_t size, const struct metadata_info *info)
{
    struct text t = {buf, size, 0};

    ADD(&t, "/* CTF 1.8 */\n");
    add_integers(&t);
    add_trace(&t, info);
    add_clock(&t, info->tsc_hz);
    for (u32 i = 0; i < STYLE_COUNT; i++)
        if (schema_enums[i].name)
            add_enum(&t, &schema_enums[i]);
    add_stream(&t);
    for (u32 i = 0; i < schema_event_count; i++)
        add_event(&t, &schema_events[i]);
    ADD(&t, METADATA_END);
    return t.len;
}
