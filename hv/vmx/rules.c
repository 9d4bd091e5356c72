/*
 * The predicates of hv/vmx/rules.def and the table that is made of its rows.
 * Section numbers are the rows' own.
 */
#include "hv/vmx/rules.h"

#include "hv/cpu.h"
#include "hv/msr.h"

/* How the rows name things. */
#define F(field)      (s->f[INDEX_##field])
#define ON(word, bit) (F(word##_CONTROLS) & word##_##bit)
#define ON3(bit)      (ON(PROC, TERTIARY) && ON(PROC3, bit))
#define ON_EXIT(bit)  (F(EXIT_CONTROLS) & EXIT_CTL_##bit)
#define ON_ENTRY(bit) (F(ENTRY_CONTROLS) & ENTRY_CTL_##bit)

#define RIGHT(seg, bit) (F(GUEST_##seg##_RIGHTS) & BIT(bit))
#define TYPE(seg)       (F(GUEST_##seg##_RIGHTS) & 0xf)
#define DPL(seg)        (F(GUEST_##seg##_RIGHTS) >> 5 & 3)

#define EPTP_SWITCHING (ON(PROC2, VMFUNC) && (F(VM_FUNCTION_CONTROLS) & 1))

/* Reserved in every CPU that the manual describes: IA32_EFER (SDM 2.2.1),
 * IA32_DEBUGCTL (SDM 18.4.1), IA32_PERF_GLOBAL_CTRL (SDM 20.2.2). */
#define EFER_RESERVED     (~(EFER_SCE | EFER_LME | EFER_LMA | EFER_NXE))
#define DEBUGCTL_RESERVED (~0xffc7ull)
#define PERF_RESERVED     (~0ull << 49)
#define PAT_BAD           0x0207040600070406 /* type 2 does not exist */

/* ---- widths and formats -------------------------------------------------- */

static bool in_width(const struct vmx_state *s, u64 address)
{
    return !(address >> s->physical_bits);
}

/* Entries of 16 bytes. */
static bool area_in_width(const struct vmx_state *s, u64 address, u64 count)
{
    return count == 0 ||
           (in_width(s, address) && in_width(s, address + count * 16 - 1));
}

static bool canonical(const struct vmx_state *s, u64 address)
{
    int64_t top = (int64_t)address >> (s->linear_bits - 1);

    return top == 0 || top == -1;
}

/* RIP need not be canonical: of bits 63:N, where N is the width of linear
 * addresses, bit N-1 is not one (SDM 27.3.1.4). */
static bool high_alike(const struct vmx_state *s, u64 address)
{
    int64_t top = (int64_t)address >> s->linear_bits;

    return top == 0 || top == -1;
}

/* Memory types 0, 1, 4, 5, 6, 7 (SDM 12.12.2). */
static bool pat(u64 value)
{
    for (int i = 0; i < 64; i += 8) {
        u64 type = value >> i & 0xff;

        if (type > 7 || type == 2 || type == 3)
            return false;
    }
    return true;
}

/* ---- controls ------------------------------------------------------------ */

static u64 control(const struct vmx_state *s, enum vmx_control c)
{
    switch (c) {
    case CONTROL_PIN:
        return F(PIN_CONTROLS);
    case CONTROL_PROC:
        return F(PROC_CONTROLS);
    case CONTROL_PROC2:
        return F(PROC2_CONTROLS);
    case CONTROL_EXIT:
        return F(EXIT_CONTROLS);
    default:
        return F(ENTRY_CONTROLS);
    }
}

static bool must_1(const struct vmx_state *s, enum vmx_control c)
{
    return !(CONTROL_MUST_BE_1(s->allowed[c]) & ~control(s, c));
}

static bool may_1(const struct vmx_state *s, enum vmx_control c)
{
    return !(~CONTROL_MAY_BE_1(s->allowed[c]) & control(s, c));
}

static bool eptp_type(const struct vmx_state *s)
{
    u64 type = F(EPTP) & 7;

    return !ON(PROC2, EPT) || (type == 0 && (s->ept_vpid & EPT_CAP_UC)) ||
           (type == MEMTYPE_WB && (s->ept_vpid & EPT_CAP_WB));
}

static bool eptp_walk(const struct vmx_state *s)
{
    u64 walk = F(EPTP) >> EPTP_WALK_SHIFT & 7;

    return !ON(PROC2, EPT) || (walk == 3 && (s->ept_vpid & EPT_CAP_WALK4)) ||
           (walk == 4 && (s->ept_vpid & EPT_CAP_WALK5));
}

/* ---- the event that the entry injects -------------------------------------
 */

static u64 event_type(const struct vmx_state *s)
{
    return INTR_TYPE(F(ENTRY_INTERRUPTION_INFO));
}

static u8 event_vector(const struct vmx_state *s)
{
    return INTR_VECTOR(F(ENTRY_INTERRUPTION_INFO));
}

static bool injects(const struct vmx_state *s, enum event_type type)
{
    return (F(ENTRY_INTERRUPTION_INFO) & INTR_VALID) && event_type(s) == type;
}

static bool event_soft(const struct vmx_state *s)
{
    return event_type(s) >= EVENT_SOFT_INT &&
           event_type(s) <= EVENT_SOFT_EXCEPTION;
}

/* An exception with an error code, to a guest in protected mode. */
static bool delivers_error(const struct vmx_state *s)
{
    const u32 with_error = 1u << VECTOR_DF | 1u << VECTOR_TS | 1u << VECTOR_NP |
                           1u << VECTOR_SS | 1u << VECTOR_GP | 1u << VECTOR_PF |
                           1u << VECTOR_AC;

    return event_type(s) == EVENT_EXCEPTION && event_vector(s) < 32 &&
           (with_error >> event_vector(s) & 1) &&
           (!ON(PROC2, UNRESTRICTED) || (F(GUEST_CR0) & CR0_PE));
}

static bool event_wants_error(const struct vmx_state *s)
{
    return delivers_error(s) && !(s->basic & VMX_BASIC_ANY_ERROR);
}

static bool event_may_have_error(const struct vmx_state *s)
{
    return delivers_error(s) || (event_type(s) == EVENT_EXCEPTION &&
                                 (s->basic & VMX_BASIC_ANY_ERROR));
}

/* ---- host and guest registers ---------------------------------------------
 */

static bool host_efer(const struct vmx_state *s)
{
    u64 want = ON_EXIT(HOST_64BIT) ? EFER_LMA | EFER_LME : 0;

    return (F(HOST_EFER) & (EFER_LMA | EFER_LME)) == want;
}

static u64 guest_cr0_fixed0(const struct vmx_state *s)
{
    return s->cr0_fixed0 &
           (ON(PROC2, UNRESTRICTED) ? ~(CR0_PE | CR0_PG) : ~0ull);
}

static bool v86(const struct vmx_state *s)
{
    return (F(GUEST_RFLAGS) & RFLAGS_VM) && !ON_ENTRY(GUEST_64) &&
           (F(GUEST_CR0) & CR0_PE);
}

/* ---- segments --------------------------------------------------------------
 */

static u64 rights(const struct vmx_state *s, enum seg i)
{
    return s->f[INDEX_GUEST_ES_RIGHTS + i];
}

static u64 limit(const struct vmx_state *s, enum seg i)
{
    return s->f[INDEX_GUEST_ES_LIMIT + i];
}

static bool unusable(const struct vmx_state *s, enum seg i)
{
    return (rights(s, i) & RIGHTS_UNUSABLE) != 0;
}

/* Not held to the rules of protected mode. CS is never unusable. */
static bool skip(const struct vmx_state *s, enum seg i)
{
    return v86(s) || (i != SEG_CS && unusable(s, i));
}

static bool limit_low(const struct vmx_state *s, enum seg i)
{
    return !(rights(s, i) & BIT(15)) || (limit(s, i) & 0xfff) == 0xfff;
}

static bool limit_high(const struct vmx_state *s, enum seg i)
{
    return (rights(s, i) & BIT(15)) || !(limit(s, i) >> 20);
}

static bool type_ok(const struct vmx_state *s, enum seg i)
{
    u64 type = rights(s, i) & 0xf;

    switch (i) {
    case SEG_CS:
        return (type & 9) == 9 || (type == 3 && ON(PROC2, UNRESTRICTED));
    case SEG_SS:
        return type == 3 || type == 7;
    default:
        return (type & 1) && (!(type & 8) || (type & 2));
    }
}

static bool system_type(const struct vmx_state *s, enum seg i)
{
    u64 type = rights(s, i) & 0xf;

    if (i == SEG_LDTR)
        return type == 2;
    return type == 11 || (type == 3 && !ON_ENTRY(GUEST_64));
}

static bool rpl_ok(const struct vmx_state *s, enum seg i)
{
    return ON(PROC2, UNRESTRICTED) || (rights(s, i) & 0xf) > 11 ||
           (rights(s, i) >> 5 & 3) >= (s->f[INDEX_GUEST_ES_SELECTOR + i] & 3);
}

/* ---- the rest ---------------------------------------------------------------
 */

static bool activity_ok(const struct vmx_state *s)
{
    u64 state = F(GUEST_ACTIVITY);

    return state == 0 || (state <= ACTIVITY_WAIT_FOR_SIPI &&
                          MISC_ACTIVITY(s->misc) >> (state - 1) & 1);
}

/* What wakes a CPU from HLT: interrupts, NMI, #DB and #MC, MTF. */
static bool hlt_takes(const struct vmx_state *s)
{
    u8 vector = event_vector(s);

    if (!(F(ENTRY_INTERRUPTION_INFO) & INTR_VALID))
        return true;
    switch (event_type(s)) {
    case EVENT_INTR:
    case EVENT_NMI:
        return true;
    case EVENT_EXCEPTION:
        return vector == VECTOR_DB || vector == VECTOR_MC;
    default:
        return event_type(s) == 7 && vector == 0;
    }
}

static bool shutdown_takes(const struct vmx_state *s)
{
    return !(F(ENTRY_INTERRUPTION_INFO) & INTR_VALID) ||
           event_type(s) == EVENT_NMI ||
           (event_type(s) == EVENT_EXCEPTION && event_vector(s) == VECTOR_MC);
}

/* Debug exceptions wait for the end of the blocking. */
static bool debug_delayed(const struct vmx_state *s)
{
    return (F(GUEST_INTERRUPTIBILITY) &
            (BLOCKING_BY_STI | BLOCKING_BY_MOV_SS)) ||
           F(GUEST_ACTIVITY) == ACTIVITY_HLT;
}

/* RFLAGS.TF without IA32_DEBUGCTL.BTF (bit 1). */
static bool stepping(const struct vmx_state *s)
{
    return (F(GUEST_RFLAGS) & RFLAGS_TF) && !(F(GUEST_DEBUGCTL) & BIT(1));
}

/* With EPT, PAE paging takes its four entries from the VMCS. */
static bool pdpte_ok(const struct vmx_state *s, u64 entry)
{
    bool used = ON(PROC2, EPT) && !ON_ENTRY(GUEST_64) &&
                (F(GUEST_CR0) & CR0_PG) && (F(GUEST_CR4) & CR4_PAE);

    return !used || !(entry & 1) || (!(entry & 0x1e6) && in_width(s, entry));
}

/* ---- the table
 * --------------------------------------------------------------- */

/* clang-format off */
#define RULE(id, outcome, section, gate, lift, field, spoil, must, ok, ...)    \
    static bool ok_##id(const struct vmx_state *s) { return ok; }
#define ONLY(id, section, field, must, ok)                                     \
    RULE(id, , , , , , , , ok, )
#include "hv/vmx/rules.def"

#define OF(field)     INDEX_##field
#define SET(value)    HOW_SET, value
#define OR(value)     HOW_OR, value
#define CLEAR(value)  HOW_CLEAR, value
#define FLIP(value)   HOW_FLIP, value
#define PAGE(value)   HOW_PAGE, value
#define LIST(value)   HOW_LIST, value
#define DENIED(value) HOW_DENIED, value
#define BEYOND        HOW_BEYOND, 0
#define TOP           HOW_TOP, 0
#define REGION        HOW_REGION, 0
#define CURRENT       HOW_CURRENT, 0
#define DIRECTORY     HOW_DIRECTORY, 0

const struct vmx_rule vmx_rules[VMX_RULES] = {
#define RULE(id, outcome, section, gate, lift, field, spoil, must, ok, ...)    \
    {{#id, section, #field, must}, ok_##id, {INDEX_##field, spoil},            \
     {__VA_ARGS__}},
#define ONLY(id, section, field, must, ok)                                     \
    {{#id, section, #field, must}, ok_##id, {INDEX_##field, HOW_NOTHING, 0},   \
     {{0, 0, 0}}},
#include "hv/vmx/rules.def"
};
/* clang-format on */

static u64 highest_denied(u64 allowed)
{
    u32 may = CONTROL_MAY_BE_1(allowed);
    u64 bit = BIT(31);

    while (bit > 1 && (may & bit))
        bit >>= 1;
    return bit;
}

u64 vmx_changed(const struct vmx_state *s, const struct vmx_change *c)
{
    u64 old = s->f[c->index];

    switch ((enum vmx_how)c->how) {
    case HOW_NOTHING:
        return old;
    case HOW_SET:
        return c->value;
    case HOW_OR:
        return old | c->value;
    case HOW_CLEAR:
        return old & ~c->value;
    case HOW_FLIP:
        return old ^ c->value;
    case HOW_BEYOND:
        return old | BIT(s->physical_bits);
    case HOW_TOP:
        return BIT(s->physical_bits) - 16;
    case HOW_PAGE:
        return s->page + c->value;
    case HOW_REGION:
        return s->region;
    case HOW_LIST:
        return s->list + c->value;
    case HOW_CURRENT:
        return s->current;
    case HOW_DIRECTORY:
        return s->directory;
    case HOW_DENIED:
        return old | highest_denied(s->allowed[c->value]);
    }
    return old;
}
