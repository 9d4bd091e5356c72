/*
 * Compares what came with what a scenario's text says. The checks are data in
 * guest/scenarios/; here stands how each sort of check is made.
 */
#include "hv/judge.h"

#include "hv/cpu.h"
#include "hv/format.h"
#include "hv/guest.h"
#include "hv/handlers.h"
#include "hv/lib.h"
#include "hv/mode.h"
#include "hv/nested.h"
#include "trace/trace.h"

#define EXIT_LIMIT 10000u

static const char *const gpr_names[GPRS] = {
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

/* In the order of enum guest_reg. */
/* clang-format off */
static const char *const reg_names[] = {
    "rip", "rsp", "rflags", "cr0", "cr2", "cr3", "cr4", "cr8", "dr7", "efer",
    "activity", "blocking", "pending debug exceptions",
    "dr0", "dr1", "dr2", "dr3", "dr6", "cpl", "gdtr base", "gdtr limit",
    "pdpte 0", "pdpte 1", "pdpte 2", "pdpte 3"};
/* clang-format on */
_Static_assert(ARRAY_SIZE(reg_names) == REG_PDPTE3 + 1,
               "one name for each enum guest_reg");
static const char *const raw_names[] = {
#define W(name, text) [RAW_##name] = text,
    RAW_WORDS(W)
#undef W
};
static const char *const device_names[DEVICE_CELLS] = {
    [DEVICE_IN] = "value of in",
    [DEVICE_OUT] = "value of out",
    [DEVICE_OUT_COUNT] = "count of out",
    [DEVICE_MSR] = "emulated msr",
    [DEVICE_CR8] = "emulated cr8",
    [DEVICE_TSC] = "emulated tsc",
    [DEVICE_VECTOR] = "interrupt vector",
    [DEVICE_NMI] = "nmis that the host took",
    [DEVICE_SMI] = "smis that the host took"};
static const char *const seen_names[] = {
    "exceptions that the guest saw", "vector that the guest saw",
    "error code that the guest saw", "rip that the guest saw",
    "cr2 that the guest saw"};
_Static_assert(ARRAY_SIZE(seen_names) == sizeof(struct guest_seen) / 8,
               "one name for each member");

/* hv/simd.asm */
#define SIMD_ALL    0xffffu
#define SIMD_LEGACY 0xffu /* those that exist outside long mode */
u32 simd_kept(u64 seed);

/* Lowers the verdict; the first reason stays. */
void judge(struct run *run, enum verdict verdict, const char *reason)
{
    if (verdict <= run->verdict)
        return;
    run->verdict = verdict;
    string_copy(run->reason, reason, sizeof(run->reason));
}

static bool check(struct vcpu *v, const char *what, u64 want, u64 got)
{
    struct run *run = v->run;
    char reason[sizeof(run->reason)];

    run->checks++;
    if (want == got)
        return true;
    trace_check_failed(v->ring, what, want, got);
    format(reason, sizeof(reason), "%s: want 0x%llx, got 0x%llx", what,
           (unsigned long long)want, (unsigned long long)got);
    judge(run, VERDICT_FAIL, reason);
    return false;
}

void guest_check(struct vcpu *v, const char *what, u64 want, u64 got)
{
    check(v, what, want, got);
}

bool judge_exit(struct vcpu *v, const char *what, u64 want, u64 got)
{
    char text[48];

    format(text, sizeof(text), "exit %u %s", v->run->exits + 1, what);
    return check(v, text, want, got);
}

/* Kinds are compared as numbers and told by name. */
static bool check_kind(struct vcpu *v, const struct expect *want, u8 got)
{
    struct run *run = v->run;
    char name[32], reason[sizeof(run->reason)];

    if (want->kind == got)
        return judge_exit(v, "kind", want->kind, got);
    exit_name((enum exit_kind)want->kind, want->item, name, sizeof(name));
    format(reason, sizeof(reason), "exit %u: want %s, got %s", run->exits + 1,
           name, got == EXIT_NONE ? "none" : exit_row_of(got)->name);
    judge(run, VERDICT_FAIL, reason);
    return judge_exit(v, "kind", want->kind, got);
}

/* Moves run->next past what only the other vendor shows; NULL at the end. */
static const struct expect *next_expected(struct vcpu *v)
{
    struct run *run = v->run;
    const struct expect *e;

    for (; run->next < MAX_EXPECT; run->next++) {
        e = &run->scenario->expect[run->next];
        if (!e->kind)
            return NULL;
        if (!e->vendor || e->vendor == v->ops->vendor)
            return e;
    }
    return NULL;
}

u32 judge_code(enum vendor vendor, u8 kind, u8 item)
{
    const struct exit_row *row = &exit_rows[kind];

    if (vendor == VENDOR_VMX)
        return (u32)row->vmx_reason;
    return (u32)row->svm_code + (row->svm_count > 1 ? item : 0);
}

static void check_rip(struct vcpu *v, const struct expect *e)
{
    const struct scenario *s = v->run->scenario;
    u64 rip, from = e->at ? GUEST_GPA(s->label[e->at]) : e->rip;

    if (e->any_rip)
        return;
    rip = mode_linear_rip(v);
    if (e->until && rip >= from && rip < GUEST_GPA(s->label[e->until]))
        rip = from;
    judge_exit(v, "rip", from, rip);
}

static u64 raw_value(struct vcpu *v, const struct raw_want *want)
{
    const u8 *label = v->run->scenario->label[want->at];

    return want->value + (want->at ? GUEST_GPA(label) : 0);
}

static void check_raw(struct vcpu *v, const struct raw_want *want)
{
    u64 got;

    for (u32 n = 0; n < MAX_RAW && want[n].word; n++) {
        enum feature f = (enum feature)want[n].feature;

        if (caps_has(v->run->caps, f) == want[n].absent)
            continue;
        if (v->ops->word(v, (enum raw_word)want[n].word, &got))
            judge_exit(v, raw_names[want[n].word], raw_value(v, &want[n]),
                       got & ~want[n].ignore);
    }
}

static bool names(const struct raw_want *want, enum raw_word word)
{
    u32 n = 0;

    while (n < MAX_RAW && want[n].word && want[n].word != word)
        n++;
    return n < MAX_RAW && want[n].word == word;
}

/* What the exit has no cause to report it does not: an event in delivery or a
 * shadow of STI or MOV SS that the text does not name (where the state is
 * defined at all), or a word that the manual leaves clear. */
static void check_stray(struct vcpu *v, const struct expect *e)
{
    struct event event;
    u64 value = 0;
    enum raw_word word;

    if (!e->any_rip && !names(e->raw, RAW_VECTORING_INFO) &&
        !names(e->raw, RAW_EXITINTINFO))
        judge_exit(v, "event in delivery", 0, v->ops->vectoring(v, &event));
    if (!e->any_rip && !names(e->raw, RAW_INTERRUPTIBILITY) &&
        !names(e->raw, RAW_SHADOW))
        judge_exit(v, "interrupt shadow", 0,
                   v->ops->get(v, REG_BLOCKING) &
                       (BLOCKED_BY_STI | BLOCKED_BY_MOV_SS));
    if (!v->ops->stray)
        return;
    word = v->ops->stray(v, &value);
    judge_exit(v, word ? raw_names[word] : "stray word", 0, word ? value : 0);
}

static void compare(struct vcpu *v, const struct expect *e)
{
    u32 code = e->code ? e->code : judge_code(v->ops->vendor, e->kind, e->item);

    if (!check_kind(v, e, v->exit.kind) ||
        !judge_exit(v, "code", code, v->exit.code))
        return;
    check_rip(v, e);
    judge_exit(v, "length", e->length, v->exit.length);
    if (e->has_info)
        judge_info(v, &e->info);
    check_raw(v, e->raw);
    check_stray(v, e);
}

/* Beyond the last expected exit only the hypercall may come that ends it. */
static void check_end(struct vcpu *v)
{
    if (v->run->scenario->final || v->exit.kind != EXIT_HYPERCALL ||
        mode_linear_rip(v) != GUEST_GPA(guest_done))
        check(v, "exit beyond the last expected, code",
              judge_code(v->ops->vendor, EXIT_HYPERCALL, 0), v->exit.code);
}

/* Could it be the watchdog's? That its handler knows. */
static bool is_stray(const struct vcpu *v, const struct expect *e)
{
    u8 kind = v->exit.kind;

    return (kind == EXIT_INTERRUPT || kind == EXIT_PREEMPTION_TIMER) &&
           (!e || e->kind != kind);
}

bool scenario_observe(struct vcpu *v)
{
    struct run *run = v->run;
    const struct expect *e = next_expected(v);

    if (run->exits == 0)
        entry_compare(v);
    if (is_stray(v, e)) {
        run->strays++;
    } else if (e) {
        compare(v, e);
        run->next++;
    } else {
        check_end(v);
    }
    if (run->scenario->exited)
        run->scenario->exited(v);
    if (run->scenario->final && !next_expected(v)) {
        v->stop = STOP_FINAL; /* no handler is to bring the guest back */
        return false;
    }
    if (++run->exits < EXIT_LIMIT)
        return true;
    v->stop = STOP_LIMIT;
    return false;
}

static u64 initial_reg(const struct guest_state *gs, enum guest_reg r)
{
    switch (r) {
    case REG_RFLAGS:
        return gs->rflags;
    case REG_CR0:
        return gs->cr0;
    case REG_CR3:
        return gs->cr3;
    case REG_CR4:
        return gs->cr4;
    case REG_DR7:
        return gs->dr7;
    case REG_DR6:
        return DR6_RESET;
    case REG_EFER:
        return gs->efer;
    default:
        return 0;
    }
}

/* What register n begins with. */
u64 judge_canary(const struct scenario *s, u32 n)
{
    bool narrow = s->mode != MODE_64 && s->mode != MODE_64_USER;

    return GUEST_CANARY + (narrow ? GUEST_CANARY_LOW : 0) + n;
}

/* Outside 64-bit mode the upper half is undefined (SDM vol 1, 3.4.1.1). */
static void check_gpr(struct vcpu *v, u32 n, u64 want)
{
    u8 mode = v->run->scenario->mode;
    bool narrow = n < R8 && mode != MODE_64 && mode != MODE_64_USER;
    u64 mask = narrow ? 0xffffffff : ~0ull;

    check(v, gpr_names[n], want & mask, v->regs.gpr[n] & mask);
}

/* One line of what must be seen. Returns the GPR it is about, or GPRS. */
static u8 check_see(struct vcpu *v, const struct see *see)
{
    const struct run *run = v->run;
    const u64 *seen = guest_memory(GUEST_GPA(guest_seen), 1);
    const u64 *probe = (const u64 *)guest_probe_page();
    enum guest_reg reg = (enum guest_reg)see->index;
    u64 word;

    switch (see->what) {
    case SEE_GPR:
        check_gpr(v, see->index, see->value);
        return see->index;
    case SEE_SAME:
        check_gpr(v, see->index, v->ops->get(v, (enum guest_reg)see->value));
        return see->index;
    case SEE_REG:
        check(v, reg_names[see->index],
              initial_reg(&run->initial, reg) ^ see->value,
              v->ops->get(v, reg));
        break;
    case SEE_DEVICE:
        check(v, device_names[see->index], see->value, run->device[see->index]);
        break;
    case SEE_SEEN:
        check(v, seen_names[see->index], see->value, seen[see->index]);
        break;
    case SEE_RIP:
        check(v, "rip that the guest saw",
              GUEST_GPA(run->scenario->label[see->index]) -
                  run->initial.seg[SEG_CS].base,
              seen[offsetof(struct guest_seen, rip) / 8]);
        break;
    case SEE_PROBE:
        check(v, "probe page", see->value, probe[see->index]);
        break;
    case SEE_CELL:
        check(v, "memory", see->value, *see->cell);
        break;
    case SEE_ENTRY:
        check(v, "nested entry", see->value,
              *nested_entry_at(GUEST_PROBE, see->index) & ~see->ignore);
        break;
    case SEE_WORD:
        if (v->ops->word(v, (enum raw_word)see->index, &word))
            check(v, raw_names[see->index], see->value, word);
        break;
    }
    return GPRS;
}

/* The guest's view at the end; a register that the text does not name must
 * not have changed. */
static void check_after(struct vcpu *v)
{
    const struct scenario *s = v->run->scenario;
    bool legacy = mode_is_legacy((enum guest_mode)s->mode);
    u32 named = BIT(RSP); /* the back end holds it */
    u32 xmm = legacy ? SIMD_LEGACY : SIMD_ALL;

    for (u32 n = 0; n < MAX_SEE && s->see[n].what; n++) {
        u8 gpr = check_see(v, &s->see[n]);

        if (gpr < GPRS)
            named |= 1u << gpr;
    }
    for (u32 n = 0; n < (legacy ? R8 : GPRS); n++)
        if (!(named >> n & 1))
            check_gpr(v, n, judge_canary(s, n));
    check(v, "rsp", v->run->initial.rsp, v->ops->get(v, REG_RSP));
    check(v, "xmm registers that kept their values", xmm,
          simd_kept(SIMD_SEED) & xmm);
    if (s->ended)
        s->ended(v);
}

void judge_stop(struct vcpu *v)
{
    struct run *run = v->run;
    const u64 *seen = guest_memory(GUEST_GPA(guest_seen), 1);
    const struct expect *missed;
    char reason[sizeof(run->reason)];

    switch (v->stop) {
    case STOP_TIMEOUT:
        judge(run, VERDICT_FAIL, "timeout: the watchdog ended the guest");
        return;
    case STOP_LIMIT:
        judge(run, VERDICT_FAIL, "exit storm: the limit of exits is reached");
        return;
    case STOP_ABORT:
        format(reason, sizeof(reason),
               "guest exception %llu, error 0x%llx, at 0x%llx",
               (unsigned long long)seen[1], (unsigned long long)seen[2],
               (unsigned long long)seen[3]);
        judge(run, VERDICT_FAIL, reason);
        return;
    case STOP_UNEXPECTED:
        format(reason, sizeof(reason), "unexpected exit, code 0x%x",
               v->exit.code);
        judge(run, VERDICT_FAIL, reason);
        return;
    default:
        if (run->strays)
            judge(run, VERDICT_ERROR, "an interrupt that no one had sent");
        missed = next_expected(v);
        if (missed)
            check_kind(v, missed, EXIT_NONE);
        if (v->stop == STOP_DONE)
            check_after(v);
    }
}
