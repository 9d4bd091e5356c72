/*
 * The exit table against a second list of all architected exits, written
 * from the manuals' appendices (SDM vol 3 Appendix C, APM vol 2 Appendix C)
 * independently of hv/exit.def; then the look-ups, names and the poison.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hv/exit.h"
#include "hv/feature.h"

/* Basic exit reason and the kinds that stand for it; "" is not assigned. */
static const char *const vmx_reasons[] = {
    [0] = "EXCEPTION NMI",
    [1] = "INTERRUPT",
    [2] = "TRIPLE_FAULT",
    [3] = "INIT",
    [4] = "SIPI",
    [5] = "IO_SMI",
    [6] = "SMI",
    [7] = "INTERRUPT_WINDOW",
    [8] = "NMI_WINDOW",
    [9] = "TASK_SWITCH",
    [10] = "CPUID",
    [11] = "GETSEC",
    [12] = "HLT",
    [13] = "INVD",
    [14] = "INVLPG",
    [15] = "RDPMC",
    [16] = "RDTSC",
    [17] = "RSM",
    [18] = "HYPERCALL",
    [19] = "VMCLEAR",
    [20] = "VMLAUNCH",
    [21] = "VMPTRLD",
    [22] = "VMPTRST",
    [23] = "VMREAD",
    [24] = "VMRESUME",
    [25] = "VMWRITE",
    [26] = "VMXOFF",
    [27] = "VMXON",
    [28] = "CR_READ CR_WRITE CLTS LMSW",
    [29] = "DR_READ DR_WRITE",
    [30] = "IO",
    [31] = "MSR_READ",
    [32] = "MSR_WRITE",
    [33] = "ENTRY_INVALID",
    [34] = "ENTRY_MSR_LOAD",
    [35] = "",
    [36] = "MWAIT",
    [37] = "MONITOR_TRAP",
    [38] = "",
    [39] = "MONITOR",
    [40] = "PAUSE",
    [41] = "ENTRY_MACHINE_CHECK",
    [42] = "",
    [43] = "TPR_THRESHOLD",
    [44] = "APIC_ACCESS",
    [45] = "VIRTUAL_EOI",
    [46] = "SGDT SIDT LGDT LIDT",
    [47] = "SLDT STR LLDT LTR",
    [48] = "NESTED_FAULT",
    [49] = "NESTED_MISCONFIG",
    [50] = "INVEPT",
    [51] = "RDTSCP",
    [52] = "PREEMPTION_TIMER",
    [53] = "INVVPID",
    [54] = "WBINVD",
    [55] = "XSETBV",
    [56] = "APIC_WRITE",
    [57] = "RDRAND",
    [58] = "INVPCID",
    [59] = "VMFUNC",
    [60] = "ENCLS",
    [61] = "RDSEED",
    [62] = "PML_FULL",
    [63] = "XSAVES",
    [64] = "XRSTORS",
    [65] = "PCONFIG",
    [66] = "SPP_EVENT",
    [67] = "UMWAIT",
    [68] = "TPAUSE",
    [69] = "LOADIWKEY",
    [70] = "ENCLV",
    [71] = "",
    [72] = "ENQCMD",
    [73] = "ENQCMDS",
    [74] = "BUS_LOCK",
    [75] = "NOTIFY",
    [76] = "SEAMCALL",
    [77] = "TDCALL",
    [78] = "RDMSRLIST",
    [79] = "WRMSRLIST",
    [80] = "URDMSR",
    [81] = "UWRMSR",
    [82] = "",
    [83] = "",
    [84] = "RDMSR_IMM",
    [85] = "WRMSRNS_IMM",
};

/* SVM exit codes, first to last, and the kinds that stand for them. */
static const struct {
    long long first, last;
    const char *kinds;
} svm_codes[] = {
    {0x000, 0x00f, "CR_READ"},
    {0x010, 0x01f, "CR_WRITE"},
    {0x020, 0x02f, "DR_READ"},
    {0x030, 0x03f, "DR_WRITE"},
    {0x040, 0x05f, "EXCEPTION"},
    {0x060, 0x060, "INTERRUPT"},
    {0x061, 0x061, "NMI"},
    {0x062, 0x062, "SMI"},
    {0x063, 0x063, "INIT"},
    {0x064, 0x064, "INTERRUPT_WINDOW"},
    {0x065, 0x065, "CR0_SEL_WRITE"},
    {0x066, 0x066, "SIDT"},
    {0x067, 0x067, "SGDT"},
    {0x068, 0x068, "SLDT"},
    {0x069, 0x069, "STR"},
    {0x06a, 0x06a, "LIDT"},
    {0x06b, 0x06b, "LGDT"},
    {0x06c, 0x06c, "LLDT"},
    {0x06d, 0x06d, "LTR"},
    {0x06e, 0x06e, "RDTSC"},
    {0x06f, 0x06f, "RDPMC"},
    {0x070, 0x070, "PUSHF"},
    {0x071, 0x071, "POPF"},
    {0x072, 0x072, "CPUID"},
    {0x073, 0x073, "RSM"},
    {0x074, 0x074, "IRET"},
    {0x075, 0x075, "SWINT"},
    {0x076, 0x076, "INVD"},
    {0x077, 0x077, "PAUSE"},
    {0x078, 0x078, "HLT"},
    {0x079, 0x079, "INVLPG"},
    {0x07a, 0x07a, "INVLPGA"},
    {0x07b, 0x07b, "IO"},
    {0x07c, 0x07c, "MSR_READ MSR_WRITE"},
    {0x07d, 0x07d, "TASK_SWITCH"},
    {0x07e, 0x07e, "FERR_FREEZE"},
    {0x07f, 0x07f, "TRIPLE_FAULT"},
    {0x080, 0x080, "VMRUN"},
    {0x081, 0x081, "HYPERCALL"},
    {0x082, 0x082, "VMLOAD"},
    {0x083, 0x083, "VMSAVE"},
    {0x084, 0x084, "STGI"},
    {0x085, 0x085, "CLGI"},
    {0x086, 0x086, "SKINIT"},
    {0x087, 0x087, "RDTSCP"},
    {0x088, 0x088, "ICEBP"},
    {0x089, 0x089, "WBINVD"},
    {0x08a, 0x08a, "MONITOR"},
    {0x08b, 0x08b, "MWAIT"},
    {0x08c, 0x08c, "MWAIT_ARMED"},
    {0x08d, 0x08d, "XSETBV"},
    {0x08e, 0x08e, "RDPRU"},
    {0x08f, 0x08f, "EFER_WRITE_TRAP"},
    {0x090, 0x09f, "CR_WRITE_TRAP"},
    {0x0a0, 0x0a0, "INVLPGB"},
    {0x0a1, 0x0a1, "INVLPGB_ILLEGAL"},
    {0x0a2, 0x0a2, "INVPCID"},
    {0x0a3, 0x0a3, "MCOMMIT"},
    {0x0a4, 0x0a4, "TLBSYNC"},
    {0x0a5, 0x0a5, "BUS_LOCK"},
    {0x0a6, 0x0a6, "IDLE_HLT"},
    {0x400, 0x400, "NESTED_FAULT"},
    {0x401, 0x401, "AVIC_INCOMPLETE_IPI"},
    {0x402, 0x402, "AVIC_NOACCEL"},
    {0x403, 0x403, "VMGEXIT"},
    {0xf0000000, 0xf0000000, "HOST_DEFINED"},
    {-1, -1, "ENTRY_INVALID"},
    {-2, -2, "VMSA_BUSY"},
    {-3, -3, "IDLE_REQUIRED"},
    {-4, -4, "PMC_INVALID"},
};

#define VMX_TOTAL 80
#define SVM_TOTAL 176

static bool row_has_svm(const struct exit_row *row, long long code)
{
    return row->svm_count && code >= row->svm_code &&
           code < row->svm_code + row->svm_count;
}

static void append(char *list, size_t size, const char *name)
{
    size_t used = strlen(list);

    snprintf(list + used, size - used, "%s%s", used ? " " : "", name);
}

static void every_vmx_reason_has_its_rows(void **state)
{
    unsigned assigned = 0;

    (void)state;
    assert_int_equal(ARRAY_SIZE(vmx_reasons), 86);
    for (int reason = 0; reason < 86; reason++) {
        char kinds[128] = "";

        for (int k = 1; k < EXIT_KINDS; k++)
            if (exit_rows[k].vmx_reason == reason)
                append(kinds, sizeof(kinds), exit_rows[k].name);
        assert_string_equal(kinds, vmx_reasons[reason]);
        assigned += kinds[0] != '\0';
    }
    assert_int_equal(assigned, VMX_TOTAL);
    for (int k = 1; k < EXIT_KINDS; k++)
        assert_in_range(exit_rows[k].vmx_reason + 1, 0, 86);
}

static void every_svm_code_has_its_row(void **state)
{
    unsigned listed = 0, in_table = 0;

    (void)state;
    for (size_t n = 0; n < ARRAY_SIZE(svm_codes); n++)
        for (long long c = svm_codes[n].first; c <= svm_codes[n].last; c++) {
            char kinds[128] = "";

            for (int k = 1; k < EXIT_KINDS; k++)
                if (row_has_svm(&exit_rows[k], c))
                    append(kinds, sizeof(kinds), exit_rows[k].name);
            assert_string_equal(kinds, svm_codes[n].kinds);
            listed++;
        }
    assert_int_equal(listed, SVM_TOTAL);

    /* No row names a code outside the list; 0x7c stands in two rows. */
    for (int k = 1; k < EXIT_KINDS; k++)
        in_table += exit_rows[k].svm_count;
    assert_int_equal(in_table, SVM_TOTAL + 1);
}

/* The place of a row: VMX reasons first, then SVM codes, negative ones (as
 * unsigned numbers) last. */
static unsigned long long place(const struct exit_row *row)
{
    if (row->vmx_reason >= 0)
        return (unsigned long long)row->vmx_reason;
    return 1000 + ((unsigned long long)row->svm_code & 0xffffffff);
}

static void rows_are_in_order_and_well_formed(void **state)
{
    (void)state;
    assert_true(EXIT_KINDS < 250);
    for (int k = 1; k < EXIT_KINDS; k++) {
        const struct exit_row *row = &exit_rows[k];

        if (k > 1)
            assert_true(place(row) >= place(row - 1));
        assert_true(row->vmx_reason >= 0 || row->svm_code != SVM_NONE);
        if (row->vmx_reason < 0) {
            assert_int_equal(row->vmx_control, BY(NONE));
            assert_int_equal(row->vmx_gate, FEAT_NONE);
        }
        if (row->svm_code == SVM_NONE) {
            assert_int_equal(row->svm_count, 0);
            assert_int_equal(row->svm_gate, FEAT_NONE);
        }
        assert_true(row->vmx_control >> 8 <= CTL_ENTRY);
        assert_true((row->vmx_control & 0xff) < 32);
        assert_true(row->vmx_gate < FEATURES && row->svm_gate < FEATURES);
        assert_in_range(strlen(row->name), 2, 24);
        assert_in_range(strlen(row->vmx_uncovered), 0, 70);
        assert_in_range(strlen(row->svm_uncovered), 0, 70);
        /* a reason is for a vendor that has the exit */
        assert_true(row->vmx_reason >= 0 || !*row->vmx_uncovered);
        assert_true(row->svm_code != SVM_NONE || !*row->svm_uncovered);
        for (int other = 1; other < k; other++)
            assert_string_not_equal(row->name, exit_rows[other].name);
    }
    assert_string_equal(exit_rows[EXIT_NONE].name, "NONE");
}

/* Bits that the manuals give, against typing errors: SDM Tables 25-5 to 25-7.
 */
static void controls_that_arm(void **state)
{
    static const struct {
        enum exit_kind kind;
        u16 control;
    } expected[] = {
        {EXIT_EXCEPTION, BY(EXCEPTION)},
        {EXIT_NMI, PIN(3)},
        {EXIT_INTERRUPT, PIN(0)},
        {EXIT_CPUID, ALWAYS},
        {EXIT_HLT, PROC(7)},
        {EXIT_INVLPG, PROC(9)},
        {EXIT_RDTSC, PROC(12)},
        {EXIT_DR_READ, PROC(23)},
        {EXIT_DR_WRITE, PROC(23)},
        {EXIT_IO, BY(IO)},
        {EXIT_MSR_READ, BY(MSR)},
        {EXIT_MSR_WRITE, BY(MSR)},
        {EXIT_CR_READ, BY(CR)},
        {EXIT_CR_WRITE, BY(CR)},
        {EXIT_MWAIT, PROC(10)},
        {EXIT_RDPMC, PROC(11)},
        {EXIT_NMI_WINDOW, PROC(22)},
        {EXIT_MONITOR_TRAP, PROC(27)},
        {EXIT_MONITOR, PROC(29)},
        {EXIT_PAUSE, PROC(30)},
        {EXIT_LGDT, PROC2(2)},
        {EXIT_WBINVD, PROC2(6)},
        {EXIT_RDRAND, PROC2(11)},
        {EXIT_RDSEED, PROC2(16)},
        {EXIT_NESTED_FAULT, BY(EPT)},
        {EXIT_PREEMPTION_TIMER, PIN(6)},
        {EXIT_LOADIWKEY, PROC3(0)},
        {EXIT_RDMSRLIST, PROC3(6)},
    };

    (void)state;
    for (size_t n = 0; n < ARRAY_SIZE(expected); n++)
        assert_int_equal(exit_rows[expected[n].kind].vmx_control,
                         expected[n].control);
}

static void vmx_lookup(void **state)
{
    (void)state;
    exit_tables_init();
    for (u32 reason = 0; reason < 86; reason++) {
        enum exit_kind kind = exit_kind_vmx(reason);
        const char *kinds = vmx_reasons[reason];
        size_t first = strcspn(kinds, " ");

        if (!first) {
            assert_int_equal(kind, EXIT_NONE);
            continue;
        }
        assert_int_equal(strlen(exit_rows[kind].name), first);
        assert_memory_equal(exit_rows[kind].name, kinds, first);
    }
    assert_int_equal(exit_kind_vmx(28), EXIT_CR_READ);
    assert_int_equal(exit_kind_vmx(86), EXIT_NONE);
    assert_int_equal(exit_kind_vmx(~0u), EXIT_NONE);
}

static void svm_lookup(void **state)
{
    u8 item;

    (void)state;
    exit_tables_init();
    for (size_t n = 0; n < ARRAY_SIZE(svm_codes); n++)
        for (long long c = svm_codes[n].first; c <= svm_codes[n].last; c++) {
            enum exit_kind kind;

            item = 0xaa;
            kind = exit_kind_svm((u64)c, &item);
            assert_true(row_has_svm(&exit_rows[kind], c));
            assert_int_equal(item, c - svm_codes[n].first);
        }
    assert_int_equal(exit_kind_svm(0x7c, &item), EXIT_MSR_READ);
    assert_int_equal(exit_kind_svm(0x18, &item), EXIT_CR_WRITE);
    assert_int_equal(item, 8);
    assert_int_equal(exit_kind_svm(0x4e, &item), EXIT_EXCEPTION);
    assert_int_equal(item, 14);
}

static void svm_lookup_of_what_is_no_code(void **state)
{
    static const u64 none[] = {
        0xa7,       0xff,        0x3ff,      0x404,
        0x7fffffff, 0xefffffff,  0xf0000001, 0xfffffffb,
        ~0ull - 4,  0x100000072, 0xfffffff2, 0xffffffff00000072,
        1ull << 63,
    };
    u8 item;

    (void)state;
    exit_tables_init();
    for (size_t n = 0; n < ARRAY_SIZE(none); n++)
        assert_int_equal(exit_kind_svm(none[n], &item), EXIT_NONE);

    /* A failed VMRUN whose code was written as 32 bits only. */
    assert_int_equal(exit_kind_svm(0xffffffff, &item), EXIT_ENTRY_INVALID);
    assert_int_equal(exit_kind_svm(0xfffffffe, &item), EXIT_VMSA_BUSY);
}

static void names(void **state)
{
    char text[32];

    (void)state;
    assert_string_equal(exit_name(EXIT_CPUID, 0, text, sizeof(text)), "CPUID");
    assert_string_equal(exit_name(EXIT_CR_WRITE, 3, text, sizeof(text)),
                        "CR_WRITE(3)");
    assert_string_equal(exit_name(EXIT_EXCEPTION, 14, text, sizeof(text)),
                        "EXCEPTION(14)");
    assert_string_equal(exit_name(EXIT_CR_WRITE, 3, text, 5), "CR_W");
    assert_string_equal(exit_name(EXIT_NONE, 0, text, sizeof(text)), "NONE");
    assert_string_equal(exit_name((enum exit_kind)255, 0, text, sizeof(text)),
                        "NONE");
    assert_ptr_equal(exit_row_of(EXIT_HLT), &exit_rows[EXIT_HLT]);
    assert_ptr_equal(exit_row_of(EXIT_KINDS), &exit_rows[EXIT_NONE]);
    assert_ptr_equal(exit_row_of(~0u), &exit_rows[EXIT_NONE]);
}

static void poison_fills_the_record(void **state)
{
    struct exit e;
    u8 bytes[sizeof(e)];

    (void)state;
    memset(&e, 0x5a, sizeof(e));
    exit_poison(&e);
    assert_int_equal(e.kind, EXIT_NONE);
    memcpy(bytes, &e, sizeof(e));
    for (size_t n = 0; n < sizeof(e); n++)
        if (n != offsetof(struct exit, kind))
            assert_int_equal(bytes[n], 0xff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vmx_reason_has_its_rows),
        cmocka_unit_test(every_svm_code_has_its_row),
        cmocka_unit_test(rows_are_in_order_and_well_formed),
        cmocka_unit_test(controls_that_arm),
        cmocka_unit_test(vmx_lookup),
        cmocka_unit_test(svm_lookup),
        cmocka_unit_test(svm_lookup_of_what_is_no_code),
        cmocka_unit_test(names),
        cmocka_unit_test(poison_fills_the_record),
    };

    return cmocka_run_group_tests_name("exit", tests, NULL, NULL);
}
