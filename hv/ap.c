/* Starts a second CPU and tells it what to send; it runs hv/ap_code.asm. */
#include "hv/ap.h"

#include "hv/cpu.h"
#include "hv/lib.h"
#include "hv/msr.h"
#include "hv/paging.h"

/* SDM 9.4.4: INIT, 10 ms, SIPI, 200 us, SIPI. */
#define INIT_US  10000
#define SIPI_US  200
#define ALIVE_US 100000
#define STOP_US  100000

/* In the last 32 bytes of the page; hv/ap_code.asm knows the offsets. */
struct mailbox {
    u32 alive; /* it waits for the word, or sends */
    u32 go;
    u32 icr_high, icr_low; /* what it is to write */
    u32 apic;
    u32 reserved[3];
};
_Static_assert(sizeof(struct mailbox) == 32, "hv/ap_code.asm");

#pragma GCC visibility push(hidden)
extern const u8 ap_code[], ap_code_end[]; /* hv/ap_code.asm */
#pragma GCC visibility pop

static u64 page; /* below 1 MiB, 0: the firmware had none */
static u64 tsc_per_us;

void ap_init(const struct boot_info *bi)
{
    page = bi->low_page;
    tsc_per_us = bi->tsc_hz / 1000000;
}

static volatile struct mailbox *mailbox(void)
{
    return (volatile struct mailbox *)(page + PAGE_SIZE -
                                       sizeof(struct mailbox));
}

/* Waits until alive has that value. False: it has not in so many us. */
static bool await(u32 alive, u64 us)
{
    u64 start = rdtsc();

    while (mailbox()->alive != alive) {
        if (rdtsc() - start > us * tsc_per_us)
            return false;
        pause();
    }
    return true;
}

bool ap_start(void)
{
    if (!page)
        return false;
    paging_map(page);
    memset((void *)page, 0, PAGE_SIZE);
    memcpy((void *)page, ap_code, (size_t)(ap_code_end - ap_code));
    mailbox()->apic = (u32)(rdmsr(MSR_APIC_BASE) & APIC_BASE_ADDRESS);
    apic_others(DELIVER_INIT, 0);
    await(1, INIT_US);
    apic_others(DELIVER_SIPI, (u8)(page / PAGE_SIZE));
    if (await(1, SIPI_US))
        return true;
    apic_others(DELIVER_SIPI, (u8)(page / PAGE_SIZE));
    return await(1, ALIVE_US);
}

void ap_send(enum delivery mode, u8 vector)
{
    mailbox()->icr_high = apic_id() << 24;
    mailbox()->icr_low = apic_command(mode, vector);
    mailbox()->go = 1;
}

void ap_stop(void)
{
    mailbox()->go = 0;
    await(0, STOP_US);
}
