/*
 * VM-execution controls: what this CPU must allow, the value after a reset,
 * and arming an intercept by its row of the exit table.
 */
#include "hv/vmx/vmx.h"

#include "hv/cpu.h"
#include "hv/msr.h"

/* Where a control word lives and which MSR limits it (SDM A.3 to A.5). */
static const struct {
    enum vmcs_field field;
    u32 msr, true_msr; /* true_msr 0: there is only the one */
} words[CONTROLS] = {
    [CONTROL_PIN] = {VMCS_PIN_CONTROLS, MSR_VMX_PINBASED_CTLS,
                     MSR_VMX_TRUE_PINBASED_CTLS},
    [CONTROL_PROC] = {VMCS_PROC_CONTROLS, MSR_VMX_PROCBASED_CTLS,
                      MSR_VMX_TRUE_PROCBASED_CTLS},
    [CONTROL_PROC2] = {VMCS_PROC2_CONTROLS, MSR_VMX_PROCBASED_CTLS2, 0},
    [CONTROL_EXIT] = {VMCS_EXIT_CONTROLS, MSR_VMX_EXIT_CTLS,
                      MSR_VMX_TRUE_EXIT_CTLS},
    [CONTROL_ENTRY] = {VMCS_ENTRY_CONTROLS, MSR_VMX_ENTRY_CTLS,
                       MSR_VMX_TRUE_ENTRY_CTLS},
};

/* What every vCPU has switched on; a CPU that cannot is refused by name. The
 * secondary controls stand below the bit that says that their MSR exists. */
static const struct {
    enum vmx_control control;
    u64 bit;
    const char *missing;
} required[] = {
    /* An interrupt takes the CPU back from a guest that hangs. */
    {CONTROL_PIN, PIN_EXTERNAL_INTERRUPT,
     "VT-x here lacks external-interrupt exiting: use another CPU"},
    /* Ports and MSRs are armed one by one. */
    {CONTROL_PROC, PROC_IO_BITMAPS,
     "VT-x here lacks I/O bitmaps: use another CPU"},
    {CONTROL_PROC, PROC_MSR_BITMAPS,
     "VT-x here lacks MSR bitmaps: use another CPU"},
    /* The guest's CR8 must not mask the host's interrupts. */
    {CONTROL_PROC, PROC_TPR_SHADOW,
     "VT-x here lacks the TPR shadow: use another CPU"},
    /* Nested paging is the only mapping that a guest has. */
    {CONTROL_PROC, PROC_SECONDARY,
     "VT-x here lacks secondary controls, so EPT: use a CPU of 2010 or later"},
    {CONTROL_PROC2, PROC2_EPT,
     "VT-x here lacks EPT: use another CPU, or let the outer hypervisor "
     "offer nested EPT"},
    /* Guests start in any mode, real mode too. */
    {CONTROL_PROC2, PROC2_UNRESTRICTED,
     "VT-x here lacks unrestricted guest: use a CPU of 2010 or later, or let "
     "the outer hypervisor offer it"},
    /* The host is a 64-bit program and gets its own EFER and PAT back. */
    {CONTROL_EXIT, EXIT_CTL_HOST_64BIT,
     "VT-x here lacks a 64-bit host: use another CPU"},
    {CONTROL_EXIT, EXIT_CTL_SAVE_EFER,
     "VT-x here does not save EFER at an exit: use another CPU"},
    {CONTROL_EXIT, EXIT_CTL_LOAD_EFER,
     "VT-x here does not load EFER at an exit: use another CPU"},
    {CONTROL_EXIT, EXIT_CTL_SAVE_PAT,
     "VT-x here does not save PAT at an exit: use another CPU"},
    {CONTROL_EXIT, EXIT_CTL_LOAD_PAT,
     "VT-x here does not load PAT at an exit: use another CPU"},
    {CONTROL_EXIT, EXIT_CTL_SAVE_DEBUG,
     "VT-x here does not save DR7 at an exit: use another CPU"},
    {CONTROL_ENTRY, ENTRY_CTL_LOAD_EFER,
     "VT-x here does not load EFER at an entry: use another CPU"},
    {CONTROL_ENTRY, ENTRY_CTL_LOAD_PAT,
     "VT-x here does not load PAT at an entry: use another CPU"},
    {CONTROL_ENTRY, ENTRY_CTL_LOAD_DEBUG,
     "VT-x here does not load DR7 at an entry: use another CPU"},
};

/* Switched on where offered: without them the guest would get #UD from
 * instructions that its CPUID has (SDM 25.6.2). VPID only saves flushes. */
static const u32 wanted[CONTROLS] = {
    [CONTROL_PROC2] = PROC2_RDTSCP | PROC2_VPID | PROC2_INVPCID | PROC2_XSAVES |
                      PROC2_USER_WAIT,
};

enum vmcs_field vmx_control_field(enum vmx_control c)
{
    return words[c].field;
}

/* The capability MSR, the TRUE one where it exists (SDM A.2): there the
 * controls of the default1 class, CR3 exits among them, may be 0. */
u64 vmx_control_allowed(enum vmx_control c)
{
    bool use_true = words[c].true_msr != 0 &&
                    (rdmsr(MSR_VMX_BASIC) & VMX_BASIC_TRUE_CTLS) != 0;

    return rdmsr(use_true ? words[c].true_msr : words[c].msr);
}

const char *vmx_controls_missing(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(required); i++)
        if (!(CONTROL_MAY_BE_1(vmx_control_allowed(required[i].control)) &
              required[i].bit))
            return required[i].missing;
    if (CONTROL_MUST_BE_1(vmx_control_allowed(CONTROL_PROC)) &
        (PROC_CR3_LOAD | PROC_CR3_STORE))
        return "VT-x here cannot turn exits on MOV CR3 off: use a CPU of 2010 "
               "or later";
    return NULL;
}

/* Worked out once: handlers that disarm an exit ask for it. */
u32 vmx_control_base(enum vmx_control c)
{
    static u32 base[CONTROLS];
    u32 want = wanted[c];
    u64 cap;

    if (base[c])
        return base[c];
    cap = vmx_control_allowed(c);
    for (size_t i = 0; i < ARRAY_SIZE(required); i++)
        if (required[i].control == c)
            want |= (u32)required[i].bit;
    base[c] = (want | CONTROL_MUST_BE_1(cap)) & CONTROL_MAY_BE_1(cap);
    return base[c];
}

/* Sets or clears a bit of a control word. What a reset switches on stays on:
 * the host relies on it. */
static bool arm_control(enum vmx_control c, u32 bit, bool on)
{
    u32 value = (u32)vmread(words[c].field);

    if (on ? !(CONTROL_MAY_BE_1(vmx_control_allowed(c)) & bit)
           : (vmx_control_base(c) & bit) != 0)
        return false;
    vmwrite(words[c].field, on ? value | bit : value & ~bit);
    return true;
}

bool vmx_arm_capability(u32 msr, u8 bit, bool on)
{
    for (enum vmx_control c = 0; c < CONTROLS; c++)
        if (words[c].msr == msr)
            return arm_control(c, (u32)BIT(bit), on);
    return false;
}

/* The tertiary controls have 64 bits and no must-be-1 half (SDM A.3.4). */
static bool arm_tertiary(u64 bit, bool on)
{
    u64 value = 0;

    if (!arm_control(CONTROL_PROC, PROC_TERTIARY, true) ||
        !(rdmsr(MSR_VMX_PROCBASED_CTLS3) & bit) ||
        !vmread_checked(VMCS_PROC3_CONTROLS, &value))
        return false;
    vmwrite(VMCS_PROC3_CONTROLS, on ? value | bit : value & ~bit);
    return true;
}

/* The timer counts guest time only: an exit saves what is left. Saving may
 * be on only while the timer is (SDM 27.2.1.2). */
static bool arm_timer(u32 kilocycles, bool on)
{
    u64 value = (u64)kilocycles << 10 >> MISC_TIMER_RATE(rdmsr(MSR_VMX_MISC));

    if (!arm_control(CONTROL_PIN, PIN_PREEMPTION_TIMER, on))
        return false;
    vmwrite(VMCS_PREEMPTION_TIMER, value < ~0u ? value : ~0u);
    arm_control(CONTROL_EXIT, EXIT_CTL_SAVE_TIMER, on);
    return true;
}

static bool arm_exception(u32 vector, bool on)
{
    u64 bitmap = vmread(VMCS_EXCEPTION_BITMAP);

    if (vector >= 32)
        return false;
    vmwrite(VMCS_EXCEPTION_BITMAP,
            on ? bitmap | BIT(vector) : bitmap & ~BIT(vector));
    return true;
}

/* An access exits when the bit of any port that it touches is set. */
static bool arm_io(struct io_bitmaps *io, u32 port, bool on)
{
    if (port == ~0u) {
        for (u32 i = 0; i < PAGE_SIZE; i++)
            io->a[i] = io->b[i] = on ? 0xff : 0;
        return true;
    }
    if (port > 0xffff)
        return false;
    return vmx_arm_bit(port < 0x8000 ? io->a : io->b, port & 0x7fff, on);
}

static bool arm_msr(struct msr_bitmap *m, u32 index, bool write, bool on)
{
    if (index < MSR_LOW_END)
        return vmx_arm_bit(write ? m->write_low : m->read_low, index, on);
    if (index >= MSR_HIGH && index < MSR_HIGH_END)
        return vmx_arm_bit(write ? m->write_high : m->read_high,
                           index - MSR_HIGH, on);
    return on; /* in neither range: exits in any case */
}

/*
 * CR0 and CR4: for a bit that is 1 in the guest/host mask the guest reads the
 * shadow, and a write exits when it would make the bit differ from the shadow
 * (SDM 25.6.6, 26.1.3). Three uses: bits that VMX operation fixes to 1 (SDM
 * A.7, A.8) but the guest has at 0; CR4.VMXE, which the guest never has; and
 * what is armed: all bits, so that every write exits that changes something,
 * or those that CLTS or LMSW can change. A bit stays in the mask until it is
 * disarmed: as the shadow is kept right, that does no harm.
 */
static const struct {
    enum vmcs_field real, mask, shadow;
    u32 fixed0;
    u64 free;  /* fixed bits that unrestricted guest sets free */
    u64 owned; /* always in the mask */
} crs[2] = {
    {VMCS_GUEST_CR0, VMCS_CR0_MASK, VMCS_CR0_SHADOW, MSR_VMX_CR0_FIXED0,
     CR0_PE | CR0_PG, 0},
    {VMCS_GUEST_CR4, VMCS_CR4_MASK, VMCS_CR4_SHADOW, MSR_VMX_CR4_FIXED0, 0,
     CR4_VMXE},
};
#define ARMED_MASK (~0ull)
#define LMSW_BITS  0xfu /* CR0.PE, MP, EM, TS */

static void cr_encode(int i, u64 value, u64 armed)
{
    u64 real = value | (rdmsr(crs[i].fixed0) & ~crs[i].free);

    vmwrite(crs[i].real, real);
    vmwrite(crs[i].shadow, value);
    vmwrite(crs[i].mask, armed | (real ^ value) | crs[i].owned);
}

void vmx_cr_write(int nr, u64 value)
{
    int i = nr == 4;

    cr_encode(i, value, vmread(crs[i].mask));
}

u64 vmx_cr_read(int nr)
{
    int i = nr == 4;
    u64 mask = vmread(crs[i].mask);

    return (vmread(crs[i].real) & ~mask) | (vmread(crs[i].shadow) & mask);
}

static bool arm_cr(u32 nr, bool write, bool on)
{
    switch (nr) {
    case 0:
    case 4:
        if (!write)
            return false; /* a read gives the shadow, never an exit */
        cr_encode(nr == 4, vmx_cr_read((int)nr), on ? ARMED_MASK : 0);
        return true;
    case 3:
        return arm_control(CONTROL_PROC, write ? PROC_CR3_LOAD : PROC_CR3_STORE,
                           on);
    case 8:
        return arm_control(CONTROL_PROC, write ? PROC_CR8_LOAD : PROC_CR8_STORE,
                           on);
    default:
        return false;
    }
}

/* On after a reset; a guest without it takes the interrupts itself. */
static bool arm_interrupt(u32 item, bool on)
{
    u64 pin = vmread(VMCS_PIN_CONTROLS);

    if (item == ITEM_ACKNOWLEDGE)
        return arm_control(CONTROL_EXIT, EXIT_CTL_ACKNOWLEDGE, on);
    vmwrite(VMCS_PIN_CONTROLS,
            on ? pin | PIN_EXTERNAL_INTERRUPT : pin & ~PIN_EXTERNAL_INTERRUPT);
    return true;
}

/* Virtual NMIs need NMI exits, NMI windows need both (SDM 27.2.1.1). */
static bool arm_nmi(u32 item, bool on)
{
    u32 pin = item == ITEM_VIRTUAL ? PIN_VIRTUAL_NMIS : PIN_NMI;

    if (item == ITEM_VIRTUAL && on && !arm_control(CONTROL_PIN, PIN_NMI, true))
        return false;
    return arm_control(CONTROL_PIN, pin, on);
}

static bool arm_nmi_window(bool on)
{
    if (on && !arm_nmi(ITEM_VIRTUAL, true))
        return false;
    return arm_control(CONTROL_PROC, PROC_NMI_WINDOW, on);
}

/* CLTS and LMSW: only the bits of CR0 that they change; item chooses among
 * those of LMSW. */
static bool arm_cr0_bits(enum exit_kind kind, u32 item, bool on)
{
    u64 bits = kind == EXIT_CLTS ? CR0_TS : item & LMSW_BITS;
    u64 mask = vmread(VMCS_CR0_MASK);

    cr_encode(0, vmx_cr_read(0), on ? mask | bits : mask & ~bits);
    return true;
}

bool vmx_arm(struct vcpu *v, enum exit_kind kind, u32 item, bool on)
{
    u16 control = exit_rows[kind].vmx_control;
    u64 bit = BIT(control & 0xff);

    if (kind == EXIT_PREEMPTION_TIMER)
        return arm_timer(item, on);
    if (kind == EXIT_VMREAD || kind == EXIT_VMWRITE)
        return vmx_arm_field(v, kind == EXIT_VMWRITE, item, on);
    if (kind == EXIT_INTERRUPT)
        return arm_interrupt(item, on);
    if (kind == EXIT_NMI)
        return arm_nmi(item, on);
    if (kind == EXIT_NMI_WINDOW)
        return arm_nmi_window(on);
    switch ((enum vmx_word)(control >> 8)) {
    case CTL_NONE:
        return false;
    case CTL_ALWAYS: /* cannot be turned off, nor need it be turned on */
    case CTL_EPT:    /* the caller's entries arm it */
    case CTL_ENTRY:  /* the caller's state provokes it */
        return true;
    case CTL_PIN:
        return arm_control(CONTROL_PIN, (u32)bit, on);
    case CTL_PROC:
        return arm_control(CONTROL_PROC, (u32)bit, on);
    case CTL_PROC2:
        return arm_control(CONTROL_PROC2, (u32)bit, on);
    case CTL_PROC3:
        return arm_tertiary(bit, on);
    case CTL_EXCEPTION:
        return arm_exception(item, on);
    case CTL_IO:
        return arm_io(&vmx_area(v)->io, item, on);
    case CTL_MSR:
        return arm_msr(&vmx_area(v)->msr, item, kind == EXIT_MSR_WRITE, on);
    case CTL_CR:
        if (kind == EXIT_CLTS || kind == EXIT_LMSW)
            return arm_cr0_bits(kind, item, on);
        return arm_cr(item, kind != EXIT_CR_READ, on);
    }
    return false;
}
