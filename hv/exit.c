/*
 * The exit table as data, and the look-ups built from it.
 */
#include "hv/exit.h"
#include "hv/feature.h"
#include "hv/format.h"

/* A kind is one byte in struct exit and in the trace. */
_Static_assert(EXIT_KINDS < 250, "an exit kind fits in a byte");

const struct exit_row exit_rows[EXIT_KINDS] = {
    [EXIT_NONE] = {.name = "NONE", .vmx_reason = -1, .svm_code = SVM_NONE},
#define EXIT(kind, detail, vmx_reason, vmx_control, vmx_gate, svm_code,        \
             svm_count, svm_gate, vmx_uncovered, svm_uncovered)                \
    [EXIT_##kind] = {#kind,        DETAIL_##detail, vmx_reason,                \
                     vmx_control,  FEAT_##vmx_gate, svm_code,                  \
                     svm_count,    FEAT_##svm_gate, vmx_uncovered,             \
                     svm_uncovered},
#include "hv/exit.def"
};

#define VMX_REASONS 86 /* SDM Appendix C: 0 to 85 */

/* SVM codes come in four runs (APM Appendix C, Table C-1); the look-up has
 * one slot for each code, the runs one behind the other. */
#define SVM_INTERCEPTS 0xa7u      /* 0..0xa6, indices of intercept bits */
#define SVM_NESTED     0x400u     /* VMEXIT_NPF and its neighbours */
#define SVM_SOFTWARE   0xf0000000 /* never produced by hardware */
#define SVM_FAILURES   4u         /* -1..-4, VMRUN that did not enter */
#define SVM_SLOTS      (SVM_INTERCEPTS + 4 + 1 + SVM_FAILURES)

static u8 vmx_kinds[VMX_REASONS];
static struct {
    u8 kind;
    u8 item; /* which of the row's codes */
} svm_kinds[SVM_SLOTS];

/*
 * The slot of a code, SVM_SLOTS for none. The field is 64 bits wide, yet some
 * hypervisors that emulate AMD-V write only the low half of a negative code
 * (KVM's SVM_EXIT_ERR among them): either form is taken.
 */
static u32 svm_slot(u64 code)
{
    u32 low = (u32)code;
    u64 high = code >> 32;

    if (high != 0 && !(high == ~0u && low >= -SVM_FAILURES))
        return SVM_SLOTS;
    if (low < SVM_INTERCEPTS)
        return low;
    if (low - SVM_NESTED < 4)
        return SVM_INTERCEPTS + (low - SVM_NESTED);
    if (low == SVM_SOFTWARE)
        return SVM_INTERCEPTS + 4;
    if (low >= -SVM_FAILURES)
        return SVM_SLOTS - (0u - low);
    return SVM_SLOTS;
}

void exit_tables_init(void)
{
    /* Backwards, so that the first row that names a code stays. */
    for (u32 kind = EXIT_KINDS - 1; kind > EXIT_NONE; kind--) {
        const struct exit_row *row = &exit_rows[kind];

        if (row->vmx_reason >= 0)
            vmx_kinds[row->vmx_reason] = (u8)kind;
        for (u32 n = 0; n < row->svm_count; n++) {
            u32 slot = svm_slot((u64)row->svm_code + n);

            svm_kinds[slot].kind = (u8)kind;
            svm_kinds[slot].item = (u8)n;
        }
    }
}

enum exit_kind exit_kind_vmx(u32 basic_reason)
{
    if (basic_reason >= VMX_REASONS)
        return EXIT_NONE;
    return (enum exit_kind)vmx_kinds[basic_reason];
}

enum exit_kind exit_kind_svm(u64 code, u8 *item)
{
    /* The first run is where almost all exits are: no detour for them. */
    u32 slot = code < SVM_INTERCEPTS ? (u32)code : svm_slot(code);

    if (slot >= SVM_SLOTS) {
        *item = 0;
        return EXIT_NONE;
    }
    *item = svm_kinds[slot].item;
    return (enum exit_kind)svm_kinds[slot].kind;
}

const char *exit_name(enum exit_kind kind, u32 item, char *buf, size_t size)
{
    const struct exit_row *row = exit_row_of(kind);

    if (row->svm_count > 1)
        format(buf, size, "%s(%u)", row->name, item);
    else
        format(buf, size, "%s", row->name);
    return buf;
}
