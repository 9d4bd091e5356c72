/*
 * The predicates of hv/svm/rules.def and the table that is made of its rows.
 * Section numbers are the rows' own.
 */
#include "hv/svm/rules.h"

#include "hv/cpu.h"
#include "hv/lib.h"
#include "hv/msr.h"

/* Bits 9, 16 and 19 and those above 21 (APM 3.1.7). Bits that are there only
 * with a feature count as allowed. */
#define EFER_RESERVED 0xffc90200ull
#define PAT_BAD       0x0207040600070406 /* type 2 does not exist */

/* struct vmcb_segment.attr: the descriptor's bits 53 and 54. */
#define ATTR_L BIT(9)
#define ATTR_D BIT(10)

static bool in_width(const struct svm_state *s, u64 address)
{
    return !(address >> s->physical_bits);
}

/* The low 12 bits of a map's address are ignored (15.10.1, 15.11); size 0:
 * its beginning alone. */
static bool map_in_width(const struct svm_state *s, u64 base, u64 size)
{
    return in_width(s, (base & ~0xfffull) + (size ? size - 1 : 0));
}

/* Memory types 0, 1, 4, 5, 6, 7 (7.8.1). */
static bool pat(u64 value)
{
    for (int i = 0; i < 64; i += 8) {
        u64 type = value >> i & 0xff;

        if (type > 7 || type == 2 || type == 3)
            return false;
    }
    return true;
}

static bool injects(const union vmcb *b, u64 type)
{
    return (b->eventinj & EVENTINJ_VALID) &&
           (b->eventinj >> EVENTINJ_TYPE_SHIFT & 7) == type;
}

/* clang-format off */
#define RULE(id, section, gate, field, spoil, must, ok, ...)                   \
    static bool ok_##id(const struct svm_state *s)                             \
    { const union vmcb *b = &s->vmcb; (void)b; return ok; }
#define ONLY(id, section, field, must, ok) RULE(id, , , , , , ok, )
#include "hv/svm/rules.def"

#define OF(field)                                                              \
    offsetof(union vmcb, field), sizeof(((union vmcb *)0)->field)
#define SET(value)    HOW_SET, value
#define OR(value)     HOW_OR, value
#define CLEAR(value)  HOW_CLEAR, value
#define SET_TOP(less) HOW_TOP, less
#define PAGE(value)   HOW_PAGE, value

const struct svm_rule svm_rules[SVM_RULES] = {
#define RULE(id, section, gate, field, spoil, must, ok, ...)                   \
    {{#id, section, #field, must}, ok_##id, {OF(field), spoil},                \
     {__VA_ARGS__}},
#define ONLY(id, section, field, must, ok)                                     \
    {{#id, section, #field, must}, ok_##id, {OF(field), HOW_NOTHING, 0},       \
     {{0, 0, 0, 0}}},
#include "hv/svm/rules.def"
};
/* clang-format on */

u64 svm_field(const union vmcb *b, const struct svm_change *c)
{
    u64 value = 0;

    memcpy(&value, b->bytes + c->offset, c->size);
    return value;
}

void svm_apply(const struct svm_state *s, union vmcb *b,
               const struct svm_change *c)
{
    u64 value = svm_field(b, c);

    switch ((enum svm_how)c->how) {
    case HOW_NOTHING:
        return;
    case HOW_SET:
        value = c->value;
        break;
    case HOW_OR:
        value |= c->value;
        break;
    case HOW_CLEAR:
        value &= ~c->value;
        break;
    case HOW_TOP:
        value = BIT(s->physical_bits) - c->value;
        break;
    case HOW_PAGE:
        value = s->page + c->value;
        break;
    }
    memcpy(b->bytes + c->offset, &value, c->size);
}
