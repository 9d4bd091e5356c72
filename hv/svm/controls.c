/*
 * Intercepts: what is armed after a reset, and arming one by its row of the
 * exit table, whose exit code is also its bit.
 */
#include "hv/svm/svm.h"

#include "hv/lib.h"

static void set_bit(u8 *map, u64 bit, bool on)
{
    u8 mask = (u8)(1u << (bit % 8));

    map[bit / 8] = (u8)(on ? map[bit / 8] | mask : map[bit / 8] & ~mask);
}

static void intercept(struct svm_area *a, u32 code, bool on)
{
    set_bit((u8 *)a->vmcb.intercept, code, on);
}

/* The map has two bits per MSR, read below write, in three ranges of 2000h
 * MSRs that take 800h bytes each (APM 15.11, Table 15-9). */
static bool arm_msr(struct svm_area *a, u32 index, bool write, bool on)
{
    static const u32 first[] = {0, 0xc0000000, 0xc0010000};

    for (u32 n = 0; n < ARRAY_SIZE(first); n++)
        if (index - first[n] < 0x2000) {
            set_bit(a->msrpm + n * 0x800, 2 * (u64)(index - first[n]) + write,
                    on);
            return true;
        }
    return false; /* outside the ranges every access is intercepted */
}

static bool arm_port(struct svm_area *a, u32 port, bool on)
{
    if (port == ~0u)
        memset(a->iopm, on ? 0xff : 0, sizeof(a->iopm));
    else if (port < IOPM_BITS)
        set_bit(a->iopm, port, on);
    else
        return false;
    return true;
}

bool svm_arm(struct vcpu *v, enum exit_kind kind, u32 item, bool on)
{
    const struct exit_row *row = &exit_rows[kind];
    struct svm_area *a = svm_area(v);

    switch (kind) {
    case EXIT_MSR_READ:
    case EXIT_MSR_WRITE:
        return arm_msr(a, item, kind == EXIT_MSR_WRITE, on);
    case EXIT_IO:
        return arm_port(a, item, on);
    case EXIT_INVLPGB:
    case EXIT_INVLPGB_ILLEGAL:
    case EXIT_TLBSYNC: /* #UD would come first */
        a->vmcb.np_enable |= INVLPGB_ENABLE;
        break;
    default:
        break;
    }
    if (row->svm_code < 0 || row->svm_code >= INTERCEPT_CODES)
        return false;
    if (row->svm_count == 1)
        item = 0;
    else if (item >= row->svm_count)
        return false;
    intercept(a, (u32)row->svm_code + item, on);
    return true;
}

/* VMRUN's intercept is mandatory (15.5.1). Without SHUTDOWN's a triple fault
 * would reset the machine; INTR brings the watchdog. The two maps are on, and
 * empty: MSRs outside their ranges do exit. */
void svm_controls_reset(struct svm_area *a)
{
    static const u32 always[] = {VMEXIT_INTR,     VMEXIT_IOIO,  VMEXIT_MSR,
                                 VMEXIT_SHUTDOWN, VMEXIT_VMRUN, VMEXIT_VMMCALL};

    memset(a->iopm, 0, sizeof(a->iopm));
    memset(a->msrpm, 0, sizeof(a->msrpm));
    for (u32 n = 0; n < ARRAY_SIZE(always); n++)
        intercept(a, always[n], true);
}

/* What scenarios use of AMD-V is all intercepts. */
bool svm_use(struct vcpu *v, enum feature f, bool on)
{
    (void)v;
    (void)f;
    (void)on;
    return false;
}
