/*
 * caps_gather_from() on pretended CPUs: it finds what they have, and asks for
 * no CPUID leaf above the maximum and no MSR that the CPU would answer with
 * #GP.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hv/feature.h"
#include "hv/msr.h"

struct leaf {
    u32 leaf, subleaf;
    u32 regs[4]; /* EAX EBX ECX EDX */
};

struct msr {
    u32 index;
    u64 value;
};

/* Leaves and MSRs that are not listed read as `rest`; an MSR may be read only
 * when it is listed. */
struct cpu {
    const struct leaf *leaves;
    size_t leaf_count;
    const struct msr *msrs;
    size_t msr_count;
    u32 max_basic, max_extended;
    u32 rest;
};

static const struct cpu *cpu;
static bool strict; /* past the limits: a failure, else the noise of Intel */
static u32 noise_above; /* not 0: and past this leaf whatever the limits say */

static void fake_cpuid(u32 leaf, u32 subleaf, u32 out[4])
{
    bool extended = leaf >> 31;
    u32 max = extended ? cpu->max_extended : cpu->max_basic;

    for (int n = 0; n < 4; n++)
        out[n] = cpu->rest;
    if (leaf == 0 || leaf == 0x80000000) {
        out[0] = max;
        return;
    }
    if (leaf > max || (noise_above && leaf > noise_above)) {
        if (strict)
            fail_msg("CPUID leaf %x above the maximum %x", leaf, max);
        memset(out, 0xff, 16);
        return;
    }
    for (size_t n = 0; n < cpu->leaf_count; n++)
        if (cpu->leaves[n].leaf == leaf && cpu->leaves[n].subleaf == subleaf)
            memcpy(out, cpu->leaves[n].regs, 16);
}

static u64 fake_rdmsr(u32 index)
{
    for (size_t n = 0; n < cpu->msr_count; n++)
        if (cpu->msrs[n].index == index)
            return cpu->msrs[n].value;
    fail_msg("RDMSR of %x: this CPU has no such MSR", index);
    return 0;
}

static const struct cpu_reader reader = {fake_cpuid, fake_rdmsr};

static void gather(struct caps *caps, const struct cpu *c)
{
    cpu = c;
    strict = true;
    memset(caps, 0xa5, sizeof(*caps));
    caps_gather_from(caps, &reader);
}

static unsigned count(const struct caps *caps)
{
    unsigned n = 0;

    for (unsigned f = FEAT_NONE + 1; f < FEATURES; f++)
        n += caps_has(caps, (enum feature)f);
    return n;
}

#define CPU(name, basic, extended)                                             \
    const struct cpu name = {                                                  \
        .leaves = leaves,                                                      \
        .leaf_count = ARRAY_SIZE(leaves),                                      \
        .msrs = msrs,                                                          \
        .msr_count = ARRAY_SIZE(msrs),                                         \
        .max_basic = basic,                                                    \
        .max_extended = extended,                                              \
    }

/* The allowed-1 half of a control MSR. */
#define MAY(bit) BIT(32 + (bit))

static void a_cpu_with_nothing(void **state)
{
    /* No extended leaves: leaf 8000_0000h answers with a small number. */
    static const struct cpu bare = {.max_basic = 1, .max_extended = 0x623};
    struct caps caps;

    (void)state;
    gather(&caps, &bare);
    assert_int_equal(count(&caps), 0);
    assert_true(caps_has(&caps, FEAT_NONE));
    assert_string_equal(caps.cpu, "unknown CPU");
}

static void a_nonsensical_extended_maximum(void **state)
{
    /* The noise of another leaf: no limit, and no leaf behind it. */
    static const struct cpu bare = {.max_basic = 1, .max_extended = 0xfeda3203};
    struct caps caps;

    (void)state;
    cpu = &bare;
    strict = true;
    noise_above = 0x80000000;
    caps_gather_from(&caps, &reader);
    noise_above = 0;
    assert_int_equal(count(&caps), 0);
    assert_string_equal(caps.cpu, "unknown CPU");
}

static void leaves_above_the_maximum_are_noise(void **state)
{
    static const struct cpu bare = {.max_basic = 1, .max_extended = 0x80000001};
    struct caps caps;

    (void)state;
    cpu = &bare;
    strict = false;
    caps_gather_from(&caps, &reader);
    assert_int_equal(count(&caps), 0);
}

static void amd_without_next_rip(void **state)
{
    static const struct leaf leaves[] = {
        {1, 0, {0x800f12, 0, BIT(3) | BIT(26), BIT(12)}},
        {7, 0, {0, BIT(7) | BIT(20), 0, 0}},
        {0xd, 1, {BIT(3), 0, 0, 0}},
        {0x80000001, 0, {0, 0, BIT(2), BIT(20) | BIT(27) | BIT(29)}},
        {0x80000002, 0, {0x51202020, 0x20554d45, 0x20474354, 0x20555043}},
        {0x8000000a, 0, {1, 16, 0, BIT(0) | BIT(16)}},
    };
    static const struct msr msrs[] = {{MSR_MTRRCAP, 0x508}};
    CPU(amd, 0xd, 0x8000000a);
    struct caps caps;

    (void)state;
    gather(&caps, &amd);
    assert_true(caps_has(&caps, FEAT_SVM));
    assert_true(caps_has(&caps, FEAT_SVM_NP));
    assert_true(caps_has(&caps, FEAT_SVM_VGIF));
    assert_false(caps_has(&caps, FEAT_SVM_NRIPS));
    assert_false(caps_has(&caps, FEAT_SVM_DECODE));
    assert_true(caps_has(&caps, FEAT_RDTSCP));
    assert_true(caps_has(&caps, FEAT_XSAVES));
    assert_true(caps_has(&caps, FEAT_NX));
    assert_true(caps_has(&caps, FEAT_SMEP));
    assert_false(caps_has(&caps, FEAT_VMX));
    assert_false(caps_has(&caps, FEAT_SEV_ES));
    assert_int_equal(count(&caps), 12);
    assert_string_equal(caps.cpu, "QEMU TCG CPU "); /* leading blanks gone */
}

static void no_svm_bit_no_svm_features(void **state)
{
    static const struct leaf leaves[] = {
        {0x8000000a, 0, {1, 16, 0, ~0u}},
    };
    static const struct msr msrs[] = {{0, 0}};
    CPU(odd, 0xd, 0x8000001f);
    struct caps caps;

    (void)state;
    gather(&caps, &odd);
    assert_int_equal(count(&caps), 0);
}

static void intel_without_secondary_controls(void **state)
{
    static const struct leaf leaves[] = {
        {1, 0, {0x6f6, 0, BIT(3) | BIT(5), 0}},
        {0x80000001, 0, {0, 0, 0, BIT(20) | BIT(29)}},
    };
    /* 48Bh to 492h, and FEh, would fault. */
    static const struct msr msrs[] = {
        {MSR_VMX_BASIC, BIT(50) | 0xd},
        {MSR_VMX_PINBASED_CTLS, MAY(0) | MAY(3)},
        {MSR_VMX_PROCBASED_CTLS, MAY(7) | MAY(12) | BIT(31)},
        {MSR_VMX_EXIT_CTLS, MAY(9) | MAY(15)},
        {MSR_VMX_ENTRY_CTLS, MAY(9)},
        {MSR_VMX_MISC, BIT(8)},
    };
    CPU(core2, 0xa, 0x80000008);
    struct caps caps;

    (void)state;
    gather(&caps, &core2);
    assert_true(caps_has(&caps, FEAT_VMX));
    assert_true(caps_has(&caps, FEAT_VMX_NMI));
    assert_true(caps_has(&caps, FEAT_VMX_HLT));
    assert_true(caps_has(&caps, FEAT_VMX_RDTSC));
    assert_true(caps_has(&caps, FEAT_VMX_EXIT_ACK));
    assert_true(caps_has(&caps, FEAT_VMX_ENTRY_IA32E));
    assert_true(caps_has(&caps, FEAT_VMX_ACTIVITY_SIPI));
    assert_false(caps_has(&caps, FEAT_VMX_SECONDARY)); /* the low half's bit */
    assert_false(caps_has(&caps, FEAT_VMX_EPT));
    assert_false(caps_has(&caps, FEAT_VMX_TRUE_CTLS));
    assert_int_equal(count(&caps), 12);
}

static void intel_without_ept_and_vpid(void **state)
{
    static const struct leaf leaves[] = {{1, 0, {0, 0, BIT(5), 0}}};
    /* 48Ch, 491h and 492h would fault. */
    static const struct msr msrs[] = {
        {MSR_VMX_BASIC, 0},
        {MSR_VMX_PINBASED_CTLS, 0},
        {MSR_VMX_EXIT_CTLS, 0},
        {MSR_VMX_PROCBASED_CTLS, MAY(31)},
        {MSR_VMX_ENTRY_CTLS, 0},
        {MSR_VMX_MISC, 0},
        {MSR_VMX_PROCBASED_CTLS2, MAY(2) | MAY(6)},
    };
    CPU(intel, 0xa, 0x80000008);
    struct caps caps;

    (void)state;
    gather(&caps, &intel);
    assert_true(caps_has(&caps, FEAT_VMX_DESC_TABLE));
    assert_true(caps_has(&caps, FEAT_VMX_WBINVD));
    assert_int_equal(count(&caps), 4);
}

static void either_of_ept_and_vpid_opens_their_msr(void **state)
{
    static const struct leaf leaves[] = {{1, 0, {0, 0, BIT(5), 0}}};
    static const struct msr msrs[] = {
        {MSR_VMX_BASIC, 0},
        {MSR_VMX_PINBASED_CTLS, 0},
        {MSR_VMX_EXIT_CTLS, 0},
        {MSR_VMX_PROCBASED_CTLS, MAY(31)},
        {MSR_VMX_ENTRY_CTLS, 0},
        {MSR_VMX_MISC, 0},
        {MSR_VMX_PROCBASED_CTLS2, MAY(5)},
        {MSR_VMX_EPT_VPID_CAP, BIT(32) | BIT(42)},
    };
    CPU(intel, 0xa, 0x80000008);
    struct caps caps;

    (void)state;
    gather(&caps, &intel);
    assert_true(caps_has(&caps, FEAT_INVVPID));
    assert_true(caps_has(&caps, FEAT_INVVPID_ALL));
    assert_false(caps_has(&caps, FEAT_VMX_EPT));
    assert_int_equal(count(&caps), 5);
}

/* Every bit that can be asked for is set: whatever gates another feature must
 * stand above it in feature.def, or that one would be missed. */
static void a_cpu_with_everything(void **state)
{
    static const struct leaf leaves[] = {
        {7, 0, {1, ~0u, ~0u, ~0u}},
    };
    static const struct msr msrs[] = {
        {MSR_MTRRCAP, ~0ull},
        {MSR_VMX_BASIC, ~0ull},
        {MSR_VMX_PINBASED_CTLS, ~0ull},
        {MSR_VMX_PROCBASED_CTLS, ~0ull},
        {MSR_VMX_EXIT_CTLS, ~0ull},
        {MSR_VMX_ENTRY_CTLS, ~0ull},
        {MSR_VMX_MISC, ~0ull},
        {MSR_VMX_PROCBASED_CTLS2, ~0ull},
        {MSR_VMX_EPT_VPID_CAP, ~0ull},
        {MSR_VMX_VMFUNC, ~0ull},
        {MSR_VMX_PROCBASED_CTLS3, ~0ull},
    };
    const struct cpu all = {
        .leaves = leaves,
        .leaf_count = ARRAY_SIZE(leaves),
        .msrs = msrs,
        .msr_count = ARRAY_SIZE(msrs),
        .max_basic = 0x20,
        .max_extended = 0x80000022,
        .rest = ~0u,
    };
    struct caps caps;
    char text[80];

    (void)state;
    gather(&caps, &all);
    for (unsigned f = 0; f < FEATURES; f++)
        if (!caps_has(&caps, (enum feature)f))
            fail_msg("%s was missed",
                     feature_text((enum feature)f, text, sizeof(text)));
    assert_int_equal(strlen(caps.cpu), 48);
}

/* The same CPU, but the control that opens an MSR is not there. */
static void each_msr_needs_its_control(void **state)
{
    static const struct leaf leaves[] = {{1, 0, {0, 0, BIT(5), 0}}};
    static const struct msr msrs[] = {
        {MSR_VMX_BASIC, ~0ull},
        {MSR_VMX_PINBASED_CTLS, ~0ull},
        {MSR_VMX_PROCBASED_CTLS, ~0ull & ~MAY(17)},
        {MSR_VMX_EXIT_CTLS, ~0ull},
        {MSR_VMX_ENTRY_CTLS, ~0ull},
        {MSR_VMX_MISC, ~0ull},
        {MSR_VMX_PROCBASED_CTLS2, ~0ull & ~MAY(13)},
        {MSR_VMX_EPT_VPID_CAP, ~0ull},
    };
    CPU(intel, 0xa, 0x80000008);
    struct caps caps;

    (void)state;
    gather(&caps, &intel);
    assert_false(caps_has(&caps, FEAT_VMX_TERTIARY));
    assert_false(caps_has(&caps, FEAT_VMX_LOADIWKEY));
    assert_false(caps_has(&caps, FEAT_VMX_VMFUNC));
    assert_false(caps_has(&caps, FEAT_VMX_EPTP_SWITCH));
    assert_false(caps_has(&caps, FEAT_SEAM)); /* no MTRRs, no MTRRCAP */
    assert_true(caps_has(&caps, FEAT_EPT_AD));
}

/* Subleaf 1 of leaf 7 exists only when subleaf 0 says so. */
static void subleaves_have_a_limit(void **state)
{
    static const struct leaf leaves[] = {
        {7, 0, {0, 0, 0, 0}},
        {7, 1, {~0u, ~0u, ~0u, ~0u}},
        {0xd, 1, {~0u, ~0u, ~0u, ~0u}},  /* and 0Dh needs XSAVE */
        {0x12, 0, {~0u, ~0u, ~0u, ~0u}}, /* and 12h needs SGX */
    };
    static const struct msr msrs[] = {{0, 0}};
    CPU(old, 0x14, 0x80000008);
    struct caps caps;

    (void)state;
    gather(&caps, &old);
    assert_int_equal(count(&caps), 0);
}

static void texts_name_the_bit(void **state)
{
    static const struct {
        enum feature feature;
        const char *text;
    } expected[] = {
        {FEAT_VMX, "VMX (CPUID.1h:ECX[5])"},
        {FEAT_MONITOR, "MONITOR (CPUID.1h:ECX[3])"},
        {FEAT_SMX, "SMX (CPUID.1h:ECX[6])"},
        {FEAT_XSAVE, "XSAVE (CPUID.1h:ECX[26])"},
        {FEAT_INVPCID, "INVPCID (CPUID.7h:EBX[10])"},
        {FEAT_XSAVES, "XSAVES (CPUID.(Dh,1):EAX[3])"},
        {FEAT_MSR_IMM, "MSR_IMM (CPUID.(7h,1):ECX[5])"},
        {FEAT_USER_MSR, "USER_MSR (CPUID.(7h,1):EDX[15])"},
        {FEAT_SVM, "SVM (CPUID.80000001h:ECX[2])"},
        {FEAT_RDTSCP, "RDTSCP (CPUID.80000001h:EDX[27])"},
        {FEAT_RDPRU, "RDPRU (CPUID.80000008h:EBX[4])"},
        {FEAT_INVLPGB, "INVLPGB (CPUID.80000008h:EBX[3])"},
        {FEAT_SVM_NP, "SVM_NP (CPUID.8000000Ah:EDX[0])"},
        {FEAT_SVM_NRIPS, "SVM_NRIPS (CPUID.8000000Ah:EDX[3])"},
        {FEAT_SVM_DECODE, "SVM_DECODE (CPUID.8000000Ah:EDX[7])"},
        {FEAT_SVM_AVIC, "SVM_AVIC (CPUID.8000000Ah:EDX[13])"},
        {FEAT_SEV_ES, "SEV_ES (CPUID.8000001Fh:EAX[3])"},
        {FEAT_SEAM, "SEAM (MSR FEh[15])"},
        {FEAT_VMX_TRUE_CTLS, "VMX_TRUE_CTLS (MSR 480h[55])"},
        {FEAT_VMX_PREEMPTION_TIMER, "VMX_PREEMPTION_TIMER (MSR 481h[38])"},
        {FEAT_VMX_SECONDARY, "VMX_SECONDARY (MSR 482h[63])"},
        {FEAT_VMX_EPT, "VMX_EPT (MSR 48Bh[33])"},
        {FEAT_VMX_UNRESTRICTED, "VMX_UNRESTRICTED (MSR 48Bh[39])"},
        {FEAT_EPT_AD, "EPT_AD (MSR 48Ch[21])"},
        {FEAT_VMX_MSRLIST, "VMX_MSRLIST (MSR 492h[6])"},
        {FEAT_NONE, "NONE"},
        {FEATURES, "NONE"},
    };
    char text[80];

    (void)state;
    for (size_t n = 0; n < ARRAY_SIZE(expected); n++) {
        const char *got = feature_text(expected[n].feature, text, sizeof(text));

        assert_ptr_equal(got, text);
        assert_string_equal(got, expected[n].text);
    }
    assert_string_equal(feature_text(FEAT_SVM_NRIPS, text, 10), "SVM_NRIPS");
}

static void short_texts_say_what_is_shorter(void **state)
{
    struct caps caps = {0};
    char text[1024], nothing[64];

    (void)state;
    caps_text(&caps, VENDOR_SVM, nothing, sizeof(nothing));
    assert_non_null(strstr(nothing, "0 of "));
    assert_null(strchr(nothing, ':'));
    caps.has[FEAT_SVM_NP / 64] |= BIT(FEAT_SVM_NP % 64);
    caps.has[FEAT_SEV / 64] |= BIT(FEAT_SEV % 64);
    caps.has[FEAT_MONITOR / 64] |= BIT(FEAT_MONITOR % 64); /* nobody's own */
    caps_text(&caps, VENDOR_SVM, text, sizeof(text));
    assert_non_null(strstr(text, "2 of "));
    assert_non_null(strstr(text, " features: NP SEV"));
    memset(caps.has, 0xff, sizeof(caps.has));
    caps.has[FEAT_VMX_PML / 64] &= ~BIT(FEAT_VMX_PML % 64);
    caps_text(&caps, VENDOR_VMX, text, sizeof(text));
    assert_non_null(strstr(text, " features, without PML"));
    assert_null(strstr(text, "EPT"));
    caps_text(&caps, VENDOR_VMX, text, 20); /* stops at the end */
    assert_int_equal(strlen(text), 19);
}

/* No two features have the same source: one of them would be a slip. */
static void sources_are_unique(void **state)
{
    (void)state;
    for (unsigned f = 1; f < FEATURES; f++)
        for (unsigned g = 1; g < f; g++) {
            char a[80], b[80];

            feature_text((enum feature)f, a, sizeof(a));
            feature_text((enum feature)g, b, sizeof(b));
            assert_string_not_equal(strchr(a, '('), strchr(b, '('));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cpu_with_nothing),
        cmocka_unit_test(a_nonsensical_extended_maximum),
        cmocka_unit_test(leaves_above_the_maximum_are_noise),
        cmocka_unit_test(amd_without_next_rip),
        cmocka_unit_test(no_svm_bit_no_svm_features),
        cmocka_unit_test(intel_without_secondary_controls),
        cmocka_unit_test(intel_without_ept_and_vpid),
        cmocka_unit_test(either_of_ept_and_vpid_opens_their_msr),
        cmocka_unit_test(a_cpu_with_everything),
        cmocka_unit_test(each_msr_needs_its_control),
        cmocka_unit_test(subleaves_have_a_limit),
        cmocka_unit_test(texts_name_the_bit),
        cmocka_unit_test(short_texts_say_what_is_shorter),
        cmocka_unit_test(sources_are_unique),
    };

    return cmocka_run_group_tests_name("feature", tests, NULL, NULL);
}
