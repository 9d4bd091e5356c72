/*
 * Scenarios: failed VM entries. For each rule of hv/vmx/rules.def and
 * hv/svm/rules.def that has a recipe, one scenario: the state that breaks it
 * is refused in the manual's way, by the CPU and by the rule's predicate; the
 * same state with that one field mended is entered, and the guest runs.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/entry.h"

GUEST(entry, "")
GUEST16(entry_v86, "")

/* SDM 31.4, VM-instruction errors 7 and 8, as decode() gives them. */
#define FAILS_CONTROL EXIT_ENTRY_INVALID, .code = 0xffff0007
#define FAILS_HOST    EXIT_ENTRY_INVALID, .code = 0xffff0008
/* SDM 27.8: the exit reason with bit 31; the qualification. */
#define FAILS_33(q)                                                            \
    EXIT_ENTRY_INVALID, .code = 0x80000021, .raw = {RAW(QUALIFICATION, q)}
#define FAILS_GUEST FAILS_33(0)
#define FAILS_PDPTE FAILS_33(2)
#define FAILS_LINK  FAILS_33(4)
/* The qualification is the entry's number: the recipes use the second. */
#define FAILS_MSR                                                              \
    EXIT_ENTRY_MSR_LOAD, .code = 0x80000022, .raw = {RAW(QUALIFICATION, 2)}

#define ABOUT_CONTROL EXIT_ENTRY_INVALID
#define ABOUT_HOST    EXIT_ENTRY_INVALID
#define ABOUT_GUEST   EXIT_ENTRY_INVALID
#define ABOUT_PDPTE   EXIT_ENTRY_INVALID
#define ABOUT_LINK    EXIT_ENTRY_INVALID
#define ABOUT_MSR     EXIT_ENTRY_MSR_LOAD

/* The numbers of the rules, as the back ends count them. */
enum {
#define RULE(id, ...) VMX_RULE_##id,
#define ONLY(id, ...) RULE(id, )
#include "hv/vmx/rules.def"
};
enum {
#define RULE(id, ...) SVM_RULE_##id,
#define ONLY(id, ...) RULE(id, )
#include "hv/svm/rules.def"
};

#define RULE(...) BREAKS(entry, MODE_64, __VA_ARGS__)
#define V86(...)  BREAKS(entry_v86, MODE_V86, __VA_ARGS__)
#define BREAKS(text, m, id, outcome, section, gate, lift, ...)                 \
    SCENARIO_AS(entry_##id, text, ABOUT_##outcome, .vendor = VENDOR_VMX,       \
                .mode = m,                                                     \
                .needs = {FEAT_##gate}, .unless = FEAT_##lift,                 \
                .rule = VMX_RULE_##id + 1, .before = entry_spoil,              \
                .expect = {{FAILS_##outcome, .any_rip = true}});
#define ONLY(...)
#include "hv/vmx/rules.def"

/* The watchdog's preemption timer is on in all of these. Whether a refused
 * entry leaves it alone stands here and not in each of them. */
SCENARIO_AS(entry_keeps_timer, entry, EXIT_ENTRY_INVALID,
            .vendor = VENDOR_VMX, .needs = {FEAT_VMX_EXIT_SAVE_TIMER},
            .rule = VMX_RULE_rflags_vm + 1, .timer = true,
            .before = entry_spoil,
            .expect = {{FAILS_GUEST, .any_rip = true}});

#define ONLY(...)
#define RULE(id, section, gate, ...)                                           \
    SCENARIO_AS(vmrun_##id, entry, EXIT_ENTRY_INVALID, .vendor = VENDOR_SVM,   \
                .needs = {FEAT_##gate}, .rule = SVM_RULE_##id + 1,             \
                .before = entry_spoil,                                         \
                .expect = {{EXIT_ENTRY_INVALID, .any_rip = true}});
#include "hv/svm/rules.def"
