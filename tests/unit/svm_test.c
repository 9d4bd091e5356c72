/*
 * The AMD-V back end's pure parts on the host: which exits report a length,
 * where an intercept, a port and an MSR have their bits, and what a scenario
 * can set. Expectations are written from the APM, not from hv/svm/.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hv/crossing.h"
#include "hv/guest.h"
#include "hv/insn.h"
#include "hv/mode.h"
#include "hv/svm/svm.h"

#define RIP 0x10000

/* The guest's instruction, where older CPUs leave it to be read. */
static u8 code[INSN_MAX_LENGTH];

bool mode_decode(struct vcpu *vcpu, struct insn *i)
{
    return vcpu->exit.rip == RIP && insn_decode(i, code, sizeof(code), INSN_64);
}

u64 mode_linear(struct vcpu *vcpu, enum seg seg, u64 offset)
{
    (void)vcpu;
    (void)seg;
    return offset;
}

static struct svm_area area;
static struct vcpu v;

/* The neutral code that an exit goes to: plain ones are decoded when they come
 * there, the others are decoded there. */
handler *const handlers[EXIT_KINDS];

bool crossing_attend(struct vcpu *vcpu)
{
    (void)vcpu;
    return true;
}

bool crossing_out_slow(struct vcpu *vcpu, u64 tsc)
{
    (void)tsc;
    svm_decode(vcpu);
    return true;
}

static void decode(void)
{
    assert_true(svm_exited(&v, 0));
}

static int setup(void **state)
{
    (void)state;
    memset(&area, 0, sizeof(area));
    memset(&v, 0, sizeof(v));
    v.vendor[SLOT_VMCB] = (u64)(uintptr_t)&area;
    v.ring->until = 1;
    v.ring->attention = ATTEND_OWNER;
    exit_tables_init();
    return 0;
}

/* ---- decode ----------------------------------------------------------- */

/* nRIP holds for these (15.7.1): the instruction intercepts of Table 15-7, by
 * their codes in Table C-1, IOIO, MSR, and INT3, INTO and BOUND. */
static const struct {
    u32 first, last;
} with_nrip[] = {
    {0x000, 0x03f}, /* CR, DR */
    {0x043, 0x045}, /* INT3, INTO, BOUND */
    {0x065, 0x06d}, /* selective CR0 write, IDTR to TR */
    {0x06e, 0x07a}, /* RDTSC to INVLPGA */
    {0x07b, 0x07c}, /* IOIO, MSR */
    {0x080, 0x08e}, /* VMRUN to RDPRU */
    {0x0a0, 0x0a4}, /* INVLPGB to TLBSYNC */
    {0x0a6, 0x0a6}, /* idle HLT */
};

static bool has_nrip(u32 exitcode)
{
    for (u32 n = 0; n < ARRAY_SIZE(with_nrip); n++)
        if (exitcode >= with_nrip[n].first && exitcode <= with_nrip[n].last)
            return true;
    return false;
}

static void test_length_with_nrip(void **state)
{
    (void)state;
    v.vendor[SLOT_CAPS] = SVM_HAS_NRIPS;
    svm_decode_init(true);
    for (u32 exitcode = 0; exitcode <= 0xa6; exitcode++) {
        area.vmcb.exitcode = exitcode;
        area.vmcb.rip = RIP;
        area.vmcb.nrip = RIP + 3;
        exit_poison(&v.exit);
        decode();
        if (v.exit.length != (has_nrip(exitcode) ? 3 : 0))
            fail_msg("code 0x%x: length %u", exitcode, v.exit.length);
        assert_int_not_equal(v.exit.kind, EXIT_NONE);
        assert_int_equal(v.exit.code, exitcode);
    }
    assert_int_equal(area.vmcb.eventinj, 0);
}

/* Without it the instruction is read; an I/O exit says it in EXITINFO2. */
static void test_length_without_nrip(void **state)
{
    static const struct {
        u32 exitcode;
        u8 bytes[6], length;
    } cases[] = {
        {0x080, {0x67, 0x0f, 0x01, 0xd8}, 4}, /* VMRUN, EAX */
        {0x081, {0xf3, 0x0f, 0x01, 0xd9}, 4}, /* VMGEXIT */
        {0x075, {0xcd, 0x51}, 2},             /* INT 51h */
        {0x074, {0x48, 0xcf}, 2},             /* IRETQ */
        {0x088, {0xf1}, 1},                   /* ICEBP */
        {0x073, {0x0f, 0xaa}, 2},             /* RSM */
        {0x060, {0xf4}, 0},                   /* INTR: none */
        {0x064, {0xf4}, 0},                   /* VINTR: none */
    };

    (void)state;
    svm_decode_init(false);
    for (u32 n = 0; n < ARRAY_SIZE(cases); n++) {
        memcpy(code, cases[n].bytes, sizeof(cases[n].bytes));
        area.vmcb.exitcode = cases[n].exitcode;
        area.vmcb.rip = RIP;
        decode();
        assert_int_equal(v.exit.length, cases[n].length);
    }
    area.vmcb.exitcode = 0x7b;
    area.vmcb.exitinfo2 = RIP + 5;
    decode();
    assert_int_equal(v.exit.length, 5);
}

/* 15.8.2: the vector of INT n, from EXITINFO1 or from the instruction. */
static void test_swint_vector(void **state)
{
    (void)state;
    code[0] = 0xcd;
    code[1] = 0x51;
    area.vmcb.exitcode = 0x75;
    area.vmcb.exitinfo1 = 0x80;
    area.vmcb.rip = RIP;
    decode();
    assert_int_equal(v.exit.kind, EXIT_SWINT);
    assert_int_equal(v.exit.info.swint.vector, 0x51);
    v.vendor[SLOT_CAPS] = SVM_HAS_DECODE;
    decode();
    assert_int_equal(v.exit.info.swint.vector, 0x80);
}

/* A negative code is all of 64 bits, or its low half alone. */
static void test_failed_entry(void **state)
{
    (void)state;
    area.vmcb.exitcode = ~0ull;
    decode();
    assert_int_equal(v.exit.kind, EXIT_ENTRY_INVALID);
    area.vmcb.exitcode = 0xffffffff;
    decode();
    assert_int_equal(v.exit.kind, EXIT_ENTRY_INVALID);
    assert_int_equal(v.exit.length, 0);
}

/* ---- arm -------------------------------------------------------------- */

/* The one bit that is set in size bytes; -1: none, or several. */
static long only_bit(const void *at, size_t size)
{
    long found = -1;

    for (size_t n = 0; n < size * 8; n++)
        if (((const u8 *)at)[n / 8] >> (n % 8) & 1) {
            if (found >= 0)
                return -1;
            found = (long)n;
        }
    return found;
}

/* An intercept's bit is its code (Table B-1, Appendix C). */
static void test_intercept_bits(void **state)
{
    (void)state;
    for (u32 exitcode = 0; exitcode <= 0xa6; exitcode++) {
        u8 item;
        enum exit_kind kind = exit_kind_svm(exitcode, &item);

        if (exitcode == 0x7b || exitcode == 0x7c)
            continue; /* by their maps */
        assert_true(svm_arm(&v, kind, item, true));
        assert_int_equal(only_bit(area.vmcb.intercept, 24), exitcode);
        svm_arm(&v, kind, item, false);
        assert_int_equal(only_bit(area.vmcb.intercept, 24), -1);
    }
    assert_false(svm_arm(&v, EXIT_NESTED_FAULT, 0, true));
    assert_false(svm_arm(&v, EXIT_CR_READ, 16, true));
    assert_false(svm_arm(&v, EXIT_VMCLEAR, 0, true));
}

/* One bit a port, and three more (15.10.1). */
static void test_port_bits(void **state)
{
    static const u32 ports[] = {0, 0x80, 0x7fff, 0x8000, 0xffff, 0x10002};

    (void)state;
    for (u32 n = 0; n < ARRAY_SIZE(ports); n++) {
        assert_true(svm_arm(&v, EXIT_IO, ports[n], true));
        assert_int_equal(only_bit(area.iopm, sizeof(area.iopm)), ports[n]);
        svm_arm(&v, EXIT_IO, ports[n], false);
    }
    assert_false(svm_arm(&v, EXIT_IO, 0x10003, true));
}

/* Two bits an MSR, reads first, 2 KiB a range (15.11, Table 15-8). */
static void test_msr_bits(void **state)
{
    static const struct {
        u32 index;
        long bit;
    } cases[] = {
        {0x0, 0},
        {0x1fff, 0x800 * 8 - 2},
        {0xc0000000, 0x800 * 8},
        {0xc0000082, 0x800 * 8 + 0x104},
        {0xc0001fff, 0x1000 * 8 - 2},
        {0xc0010000, 0x1000 * 8},
        {0xc0011fff, 0x1800 * 8 - 2},
    };
    static const u32 outside[] = {0x2000,     0xbfffffff, 0xc0002000,
                                  0xc000ffff, 0xc0012000, ~0u};

    (void)state;
    for (u32 n = 0; n < ARRAY_SIZE(cases); n++) {
        u32 index = cases[n].index;

        assert_true(svm_arm(&v, EXIT_MSR_READ, index, true));
        assert_int_equal(only_bit(area.msrpm, sizeof(area.msrpm)),
                         cases[n].bit);
        svm_arm(&v, EXIT_MSR_READ, index, false);
        svm_arm(&v, EXIT_MSR_WRITE, index, true);
        assert_int_equal(only_bit(area.msrpm, sizeof(area.msrpm)),
                         cases[n].bit + 1);
        svm_arm(&v, EXIT_MSR_WRITE, index, false);
    }
    for (u32 n = 0; n < ARRAY_SIZE(outside); n++)
        assert_false(svm_arm(&v, EXIT_MSR_READ, outside[n], true));
}

/* ---- words, TLB control ------------------------------------------------- */

static void test_words(void **state)
{
    u64 value;

    (void)state;
    assert_true(svm_set_word(&v, RAW_PAUSE_COUNT, 0x1234));
    assert_int_equal(area.vmcb.bytes[0x3e], 0x34);
    assert_int_equal(area.vmcb.bytes[0x3f], 0x12);
    assert_int_equal(area.vmcb.bytes[0x40], 0);
    assert_true(svm_word(&v, RAW_PAUSE_COUNT, &value));
    assert_int_equal(value, 0x1234);
    assert_true(svm_set_word(&v, RAW_V_INTR, BIT(63) | 1));
    assert_true(svm_word(&v, RAW_V_INTR, &value));
    assert_true(value == (BIT(63) | 1));
    assert_false(svm_set_word(&v, RAW_EXITINFO1, 1));
    assert_false(svm_word(&v, RAW_QUALIFICATION, &value));
    assert_false(svm_set_word(&v, RAW_ACTIVITY, 1));
    assert_false(svm_word(&v, RAW_NOTHING, &value));
}

/* Table 15-9: 1 is for CPUs without FlushByAsid. */
static void test_flush(void **state)
{
    (void)state;
    svm_flush(&v);
    assert_int_equal(area.vmcb.tlb_control, 1);
    v.vendor[SLOT_CAPS] = SVM_HAS_FLUSH;
    svm_flush(&v);
    assert_int_equal(area.vmcb.tlb_control, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_length_with_nrip, setup),
        cmocka_unit_test_setup(test_length_without_nrip, setup),
        cmocka_unit_test_setup(test_swint_vector, setup),
        cmocka_unit_test_setup(test_failed_entry, setup),
        cmocka_unit_test_setup(test_intercept_bits, setup),
        cmocka_unit_test_setup(test_port_bits, setup),
        cmocka_unit_test_setup(test_msr_bits, setup),
        cmocka_unit_test_setup(test_words, setup),
        cmocka_unit_test_setup(test_flush, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
