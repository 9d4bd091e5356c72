/*
 * \tollgate.cfg.
 *
 *   mode         conformance | bench | preflight
 *   scenarios    comma-separated names; none: all but the demonstrations
 *   fatal        names of those that this machine does not survive: they fail
 *                without being run, unless the key scenarios names them
 *   trace        comma-separated event classes, or all
 *   transport    com1 | e9
 *   shutdown     reset | isa-debug-exit | bochs
 *   order        forward | reverse | a number: the seed of a random order
 *   watchdog_ms  1 to 600000
 */
#include "boot/config.h"
#include "hv/format.h"
#include "hv/lib.h"
#include "trace/enums.h"

#define WATCHDOG_DEFAULT_MS 1000
#define WATCHDOG_MAX_MS     600000
#define TRACE_ALL           (BIT(CLASS_COUNT) - 1)

/* A piece of the text: not NUL-terminated. */
struct slice {
    const char *start;
    size_t size;
};

struct name {
    const char *text;
    u32 value;
};

static const struct name modes[] = {
    {"conformance", MODE_CONFORMANCE},
    {"bench", MODE_BENCH},
    {"preflight", MODE_PREFLIGHT},
};

static const struct name transports[] = {
    {"com1", TRANSPORT_COM1},
    {"e9", TRANSPORT_E9},
};

static const struct name shutdowns[] = {
    {"reset", SHUTDOWN_RESET},
    {"isa-debug-exit", SHUTDOWN_ISA_DEBUG},
    {"bochs", SHUTDOWN_BOCHS},
};

static const struct name orders[] = {
    {"forward", ORDER_FORWARD},
    {"reverse", ORDER_REVERSE},
};

static const struct name classes[] = {
#define C(name, text) {text, BIT(CLASS_##name)},
    TRACE_CLASSES(C)
#undef C
        {"all", TRACE_ALL},
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct slice trim(struct slice s)
{
    while (s.size && is_blank(s.start[0])) {
        s.start++;
        s.size--;
    }
    while (s.size && is_blank(s.start[s.size - 1]))
        s.size--;
    return s;
}

/* Takes what stands before the separator off *rest, which must not be NULL;
 * rest->start is NULL once nothing is left. */
static struct slice split(struct slice *rest, char separator)
{
    struct slice head = *rest;
    size_t n = 0;

    while (n < rest->size && rest->start[n] != separator)
        n++;
    head.size = n;
    if (n == rest->size)
        *rest = (struct slice){NULL, 0};
    else
        *rest = (struct slice){rest->start + n + 1, rest->size - n - 1};
    return head;
}

static bool equal(struct slice s, const char *text)
{
    return strlen(text) == s.size && !memcmp(text, s.start, s.size);
}

static bool find(const struct name *names, size_t count, struct slice s,
                 u32 *value)
{
    for (size_t i = 0; i < count; i++) {
        if (equal(s, names[i].text)) {
            *value = names[i].value;
            return true;
        }
    }
    return false;
}

/*
 * One function for each key. NULL: taken; else what is allowed.
 */
static const char *set_mode(struct config *c, struct slice value)
{
    u32 v;

    if (!find(modes, ARRAY_SIZE(modes), value, &v))
        return "conformance, bench or preflight";
    c->mode = v;
    return NULL;
}

static const char *set_transport(struct config *c, struct slice value)
{
    u32 v;

    if (!find(transports, ARRAY_SIZE(transports), value, &v))
        return "com1 or e9";
    c->transport = v;
    return NULL;
}

static const char *set_shutdown(struct config *c, struct slice value)
{
    u32 v;

    if (!find(shutdowns, ARRAY_SIZE(shutdowns), value, &v))
        return "reset, isa-debug-exit or bochs";
    c->shutdown = v;
    return NULL;
}

static const char *set_trace(struct config *c, struct slice value)
{
    u32 mask = BIT(CLASS_RUN), bit; /* RUN cannot be masked out */

    while (value.start) {
        struct slice item = trim(split(&value, ','));

        if (!find(classes, ARRAY_SIZE(classes), item, &bit))
            return "a list of exit, detail, raw, run, or all";
        mask |= bit;
    }
    c->trace_mask = mask;
    return NULL;
}

/* Without its blanks; false, and none: it does not fit. */
static bool set_names(char *names, size_t size, struct slice value)
{
    size_t n = 0;

    for (size_t i = 0; i < value.size; i++) {
        if (is_blank(value.start[i]))
            continue;
        if (n + 1 == size) {
            names[0] = 0;
            return false;
        }
        names[n++] = value.start[i];
    }
    names[n] = 0;
    return true;
}

static const char *set_scenarios(struct config *c, struct slice value)
{
    return set_names(c->scenarios, sizeof(c->scenarios), value)
               ? NULL
               : "at most 255 characters";
}

static const char *set_fatal(struct config *c, struct slice value)
{
    return set_names(c->fatal, sizeof(c->fatal), value)
               ? NULL
               : "at most 63 characters";
}

/* A decimal number up to max, the whole of the value. */
static bool number(struct slice value, u32 max, u32 *out)
{
    u64 n = 0;

    for (size_t i = 0; i < value.size; i++) {
        u32 digit = (u32)value.start[i] - '0';

        if (digit > 9 || n > max)
            return false;
        n = n * 10 + digit;
    }
    *out = (u32)n;
    return value.size > 0 && n <= max;
}

static const char *set_watchdog(struct config *c, struct slice value)
{
    u32 n;

    if (!number(value, WATCHDOG_MAX_MS, &n) || !n)
        return "1 to 600000 (milliseconds)";
    c->watchdog_ms = n;
    return NULL;
}

static const char *set_order(struct config *c, struct slice value)
{
    u32 v;

    if (find(orders, ARRAY_SIZE(orders), value, &v)) {
        c->order = v;
        return NULL;
    }
    if (!number(value, ~0u, &v))
        return "forward, reverse, or a seed: 0 to 4294967295";
    c->order = ORDER_RANDOM;
    c->seed = v;
    return NULL;
}

static const struct key {
    const char *name;
    const char *(*set)(struct config *c, struct slice value);
} keys[] = {
    {"mode", set_mode},         {"scenarios", set_scenarios},
    {"trace", set_trace},       {"transport", set_transport},
    {"shutdown", set_shutdown}, {"watchdog_ms", set_watchdog},
    {"order", set_order},       {"fatal", set_fatal},
};

static const char *set(struct config *c, struct slice key, struct slice value)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (equal(key, keys[i].name))
            return keys[i].set(c, value);
    return "mode, scenarios, fatal, trace, transport, shutdown, order or "
           "watchdog_ms as key";
}

static void parse_line(struct config *c, struct slice line, u32 number)
{
    struct slice value = trim(split(&line, '#'));
    struct slice whole = value, key;
    const char *allowed;

    if (!whole.size)
        return;
    key = trim(split(&value, '='));
    if (value.start)
        allowed = set(c, key, trim(value));
    else
        allowed = "key = value";
    if (allowed && !c->error[0])
        format(c->error, sizeof(c->error),
               "tollgate.cfg line %u: \"%.*s\": allowed is %s", number,
               (int)(whole.size < 32 ? whole.size : 32), whole.start, allowed);
}

void config_defaults(struct config *c)
{
    memset(c, 0, sizeof(*c));
    c->mode = MODE_CONFORMANCE;
    c->shutdown = SHUTDOWN_RESET;
    c->transport = TRANSPORT_COM1;
    c->trace_mask = TRACE_ALL;
    c->watchdog_ms = WATCHDOG_DEFAULT_MS;
}

void config_parse(struct config *c, const char *text, size_t size)
{
    struct slice rest = {text, size};

    for (u32 number = 1; rest.start; number++)
        parse_line(c, split(&rest, '\n'), number);
}
