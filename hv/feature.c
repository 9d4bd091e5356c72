/*
 * Gathers what this CPU offers, from the sources that hv/feature.def names.
 *
 * Manuals: SDM vol 3 (253668) Appendix A, SDM vol 2 CPUID; AMD64 APM vol 3
 * (24594) Appendix E.
 */
#include "hv/feature.h"
#include "hv/cpu.h"
#include "hv/format.h"
#include "hv/lib.h"
#include "hv/msr.h"

enum source_type { SOURCE_CPUID, SOURCE_MSR };
enum cpuid_register { EAX, EBX, ECX, EDX };

struct source {
    const char *name;
    u8 type; /* enum source_type */
    u8 reg;  /* enum cpuid_register */
    u8 bit;  /* of the register or the MSR */
    u8 subleaf;
    u32 index; /* leaf or MSR */
};

static const struct source sources[FEATURES] = {
    [FEAT_NONE] = {.name = "NONE"},
#define CPUID(leaf, subleaf, reg, bit) SOURCE_CPUID, reg, bit, subleaf, leaf
#define MSR(index, bit)                SOURCE_MSR, 0, bit, 0, MSR_##index
#define ALLOWED1(index, bit)           MSR(index, 32 + (bit))
#define FEATURE(name, ...)             [FEAT_##name] = {#name, __VA_ARGS__},
#include "hv/feature.def"
#undef CPUID
#undef MSR
#undef ALLOWED1
};

/* A gathering under way: the limits of CPUID and the last answer. */
struct gather {
    struct caps *caps;
    const struct cpu_reader *cpu;
    u32 max_basic, max_extended, max_leaf7;
    u32 leaf, subleaf, regs[4];
};

static const u32 *ask(struct gather *g, u32 leaf, u32 subleaf)
{
    if (g->leaf != leaf || g->subleaf != subleaf) {
        g->cpu->cpuid(leaf, subleaf, g->regs);
        g->leaf = leaf;
        g->subleaf = subleaf;
    }
    return g->regs;
}

static void limits(struct gather *g)
{
    g->cpu->cpuid(0, 0, g->regs);
    g->leaf = g->subleaf = 0;
    g->max_basic = g->regs[EAX];

    /* A CPU without extended leaves answers with anything: a small number is
     * a limit like any other, a number out of all reason is none. */
    g->max_extended = ask(g, 0x80000000, 0)[EAX];
    if (g->max_extended > 0x8000ffff)
        g->max_extended = 0;
    g->max_leaf7 = g->max_basic >= 7 ? ask(g, 7, 0)[EAX] : 0;
}

/* Above the maximum, Intel answers with the highest leaf's values (SDM vol 2,
 * CPUID): as good as noise. */
static bool leaf_exists(const struct gather *g, u32 leaf, u32 subleaf)
{
    if (leaf > (leaf >> 31 ? g->max_extended : g->max_basic))
        return false;
    switch (leaf) {
    case 7:
        return subleaf <= g->max_leaf7;
    case 0xd:
        return caps_has(g->caps, FEAT_XSAVE);
    case 0x12:
        return caps_has(g->caps, FEAT_SGX);
    case 0x8000000a:
        return caps_has(g->caps, FEAT_SVM);
    }
    return subleaf == 0;
}

/* SDM Appendix A says of each capability MSR when it exists; all others count
 * as missing, so that a new row of the table cannot bring a #GP. */
static bool msr_exists(const struct caps *c, u32 index)
{
    switch (index) {
    case MSR_MTRRCAP: /* SDM 12.11.1 (MTRR Feature Identification) */
        return caps_has(c, FEAT_MTRR);
    case MSR_VMX_BASIC ... MSR_VMX_VMCS_ENUM: /* A.1 */
        return caps_has(c, FEAT_VMX);
    case MSR_VMX_PROCBASED_CTLS2: /* A.3.3 */
        return caps_has(c, FEAT_VMX_SECONDARY);
    case MSR_VMX_EPT_VPID_CAP: /* A.10 */
        return caps_has(c, FEAT_VMX_EPT) || caps_has(c, FEAT_VMX_VPID);
    case MSR_VMX_TRUE_PINBASED_CTLS ... MSR_VMX_TRUE_ENTRY_CTLS: /* A.2 */
        return caps_has(c, FEAT_VMX_TRUE_CTLS);
    case MSR_VMX_VMFUNC: /* A.11 */
        return caps_has(c, FEAT_VMX_VMFUNC);
    case MSR_VMX_PROCBASED_CTLS3: /* A.3.4 */
        return caps_has(c, FEAT_VMX_TERTIARY);
    }
    return false;
}

static bool present(struct gather *g, const struct source *s)
{
    if (s->type == SOURCE_CPUID)
        return leaf_exists(g, s->index, s->subleaf) &&
               ask(g, s->index, s->subleaf)[s->reg] >> s->bit & 1;
    return msr_exists(g->caps, s->index) &&
           g->cpu->rdmsr(s->index) >> s->bit & 1;
}

/* The brand string, without the blanks that some CPUs lead it with. */
static void brand(struct gather *g)
{
    char text[49] = "unknown CPU";
    const char *start = text;

    if (g->max_extended >= 0x80000004)
        for (u32 n = 0; n < 3; n++)
            memcpy(text + 16 * n, ask(g, 0x80000002 + n, 0), 16);
    text[48] = '\0';
    while (*start == ' ')
        start++;
    format(g->caps->cpu, sizeof(g->caps->cpu), "%s", start);
}

void caps_gather_from(struct caps *c, const struct cpu_reader *r)
{
    struct gather g = {.caps = c, .cpu = r};

    memset(c, 0, sizeof(*c));
    limits(&g);
    for (u32 f = FEAT_NONE + 1; f < FEATURES; f++)
        if (present(&g, &sources[f]))
            c->has[f / 64] |= BIT(f % 64);
    brand(&g);
}

void caps_gather(struct caps *c)
{
    static const struct cpu_reader this_cpu = {.cpuid = cpuid, .rdmsr = rdmsr};

    caps_gather_from(c, &this_cpu);
}

bool feature_control(enum feature f, u32 *msr, u8 *bit)
{
    const struct source *s = &sources[f < FEATURES ? f : FEAT_NONE];

    if (s->type != SOURCE_MSR || s->bit < 32 ||
        s->index < MSR_VMX_PINBASED_CTLS || s->index > MSR_VMX_PROCBASED_CTLS2)
        return false;
    *msr = s->index;
    *bit = (u8)(s->bit - 32);
    return true;
}

enum vendor feature_vendor(enum feature f)
{
    const struct source *s = &sources[f < FEATURES ? f : FEAT_NONE];

    if (s->type == SOURCE_MSR)
        return s->index == MSR_MTRRCAP ? VENDOR_NONE : VENDOR_VMX;
    return s->index == 0x8000000a || s->index == 0x8000001f ? VENDOR_SVM
                                                            : VENDOR_NONE;
}

const char *feature_text(enum feature f, char *buf, size_t size)
{
    static const char *const registers[] = {"EAX", "EBX", "ECX", "EDX"};
    const struct source *s = &sources[f < FEATURES ? f : FEAT_NONE];

    if (s == &sources[FEAT_NONE])
        format(buf, size, "%s", s->name);
    else if (s->type == SOURCE_MSR)
        format(buf, size, "%s (MSR %Xh[%u])", s->name, s->index, s->bit);
    else if (s->subleaf)
        format(buf, size, "%s (CPUID.(%Xh,%u):%s[%u])", s->name, s->index,
               s->subleaf, registers[s->reg], s->bit);
    else
        format(buf, size, "%s (CPUID.%Xh:%s[%u])", s->name, s->index,
               registers[s->reg], s->bit);
    return buf;
}

/* The vendor's own name goes without saying. */
static const char *short_name(enum feature f)
{
    const char *name = sources[f].name;

    if (!strncmp(name, "VMX_", 4) || !strncmp(name, "SVM_", 4))
        return name + 4;
    return name;
}

const char *caps_text(const struct caps *c, enum vendor vendor, char *buf,
                      size_t size)
{
    u32 all = 0, has = 0, n;
    const char *what = "";
    bool list;

    for (u32 f = FEAT_NONE + 1; f < FEATURES; f++) {
        if (feature_vendor((enum feature)f) != vendor)
            continue;
        all++;
        has += caps_has(c, (enum feature)f);
    }
    list = has <= all / 2; /* what is there, else what is missing */
    if (has && has < all)
        what = list ? ":" : ", without";
    n = (u32)format(buf, size, "%u of %u features%s", has, all, what);
    for (u32 f = FEAT_NONE + 1; *what && f < FEATURES && n < size; f++)
        if (feature_vendor((enum feature)f) == vendor &&
            caps_has(c, (enum feature)f) == list)
            n += (u32)format(buf + n, size - n, " %s",
                             short_name((enum feature)f));
    return buf;
}
