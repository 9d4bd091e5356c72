/* The local APIC: interrupts to ourselves, the watchdog timer. */
#include "hv/apic.h"
#include "hv/cpu.h"
#include "hv/fault.h"
#include "hv/msr.h"
#include "hv/shutdown.h"

/* Register offsets, SDM Table 11-1. */
enum apic_register {
    APIC_ID = 0x20,
    APIC_TPR = 0x80,
    APIC_EOI = 0xb0,
    APIC_SVR = 0xf0,
    APIC_ISR = 0x100, /* 8 registers, 16 bytes apart */
    APIC_IRR = 0x200,
    APIC_ESR = 0x280,
    APIC_ICR_LOW = 0x300,
    APIC_ICR_HIGH = 0x310,
    APIC_LVT_TIMER = 0x320,
    APIC_LVT_LINT0 = 0x350,
    APIC_LVT_LINT1 = 0x360,
    APIC_LVT_ERROR = 0x370,
    APIC_TIMER_INITIAL = 0x380,
    APIC_TIMER_CURRENT = 0x390,
    APIC_TIMER_DIVIDE = 0x3e0,
};

#define SVR_ENABLE   BIT(8)
#define LVT_MASKED   BIT(16) /* one-shot mode: bits 18:17 clear */
#define ICR_PENDING  BIT(12)
#define ICR_ASSERT   BIT(14)
#define ICR_OTHERS   (3u << 18) /* shorthand: all excluding self */
#define ICR_MODE(m)  ((u32)(m) << 8)
#define DIVIDE_BY_16 3 /* SDM Figure 11-10 */

/* 8259A interrupt masks. */
#define PIC1_MASK 0x21
#define PIC2_MASK 0xa1

#define CALIBRATE_MS 10

static volatile u8 *base;
static u64 counts_per_ms;

static u32 apic_read(u32 reg)
{
    return *(volatile u32 *)(base + reg);
}

static void apic_write(u32 reg, u32 value)
{
    *(volatile u32 *)(base + reg) = value;
}

u32 apic_id(void)
{
    return apic_read(APIC_ID) >> 24;
}

void apic_eoi(void)
{
    apic_write(APIC_EOI, 0);
}

/* A firmware may have left x2APIC mode on; the way back to xAPIC leads
 * through the disabled state (SDM 11.12.5, Figure 11-27). */
static void enter_xapic_mode(void)
{
    u64 b = rdmsr(MSR_APIC_BASE);

    if (b & APIC_BASE_X2APIC) {
        b &= ~(APIC_BASE_X2APIC | APIC_BASE_ENABLE);
        wrmsr(MSR_APIC_BASE, b);
    }
    wrmsr(MSR_APIC_BASE, b | APIC_BASE_ENABLE);
    base = (volatile u8 *)(b & APIC_BASE_ADDRESS);
}

static bool any_bit(u32 reg)
{
    u32 bits = 0;

    for (u32 i = 0; i < 8; i++)
        bits |= apic_read(reg + i * 16);
    return bits != 0;
}

/* What the firmware was serving, and what was on its way to it. Vectors below
 * 16 are never delivered, hence the bounds. */
static void drain_leftovers(void)
{
    for (u32 i = 0; i < 256 && any_bit(APIC_ISR); i++)
        apic_eoi();
    for (u32 i = 0; i < 256 && any_bit(APIC_IRR); i++)
        host_take_interrupt();
    while (host_take_interrupt())
        ;
}

static void calibrate(u64 tsc_hz)
{
    u64 wait = tsc_hz / 1000 * CALIBRATE_MS, start;
    u32 count;

    apic_write(APIC_TIMER_DIVIDE, DIVIDE_BY_16);
    apic_write(APIC_TIMER_INITIAL, ~0u);
    start = rdtsc();
    while (rdtsc() - start < wait)
        pause();
    count = ~0u - apic_read(APIC_TIMER_CURRENT);
    apic_timer_stop();
    counts_per_ms = count / CALIBRATE_MS;
    if (!counts_per_ms)
        panic("the local APIC timer does not count\n");
}

void apic_init(u64 tsc_hz)
{
    enter_xapic_mode();
    outb(PIC1_MASK, 0xff);
    outb(PIC2_MASK, 0xff);
    apic_write(APIC_SVR, SVR_ENABLE | SPURIOUS_VECTOR);
    apic_write(APIC_LVT_TIMER, LVT_MASKED | WATCHDOG_VECTOR);
    apic_write(APIC_LVT_LINT0, LVT_MASKED);
    apic_write(APIC_LVT_LINT1, LVT_MASKED);
    apic_write(APIC_LVT_ERROR, LVT_MASKED);
    apic_write(APIC_TIMER_INITIAL, 0);
    apic_write(APIC_TPR, 0);
    apic_write(APIC_ESR, 0);
    drain_leftovers();
    calibrate(tsc_hz);
}

u32 apic_command(enum delivery mode, u8 vector)
{
    return (u32)ICR_ASSERT | ICR_MODE(mode) | vector;
}

static void send(u32 command)
{
    apic_write(APIC_ICR_LOW, command);
    while (apic_read(APIC_ICR_LOW) & ICR_PENDING)
        pause();
}

/* Physical destination, not the self shorthand: that one takes fixed
 * delivery only, and Bochs ignores the mode there. */
void apic_self(enum delivery mode, u8 vector)
{
    apic_write(APIC_ICR_HIGH, apic_id() << 24);
    send(apic_command(mode, vector));
}

void apic_others(enum delivery mode, u8 vector)
{
    send(ICR_OTHERS | apic_command(mode, vector));
}

void apic_self_ipi(u8 vector)
{
    apic_self(DELIVER_FIXED, vector);
}

void apic_self_nmi(void)
{
    apic_self(DELIVER_NMI, 0);
}

void apic_timer_oneshot(u8 vector, u64 us)
{
    u64 count = us * counts_per_ms / 1000;

    apic_write(APIC_LVT_TIMER, vector);
    apic_write(APIC_TIMER_INITIAL, count < ~0u ? (u32)count + 1 : ~0u);
}

void apic_timer_stop(void)
{
    apic_write(APIC_LVT_TIMER, LVT_MASKED | WATCHDOG_VECTOR);
    apic_write(APIC_TIMER_INITIAL, 0);
}
