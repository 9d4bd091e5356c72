/* The handler of SMIs, in the memory where the CPU looks for it. */
#include "hv/smm.h"

#include "hv/apic.h"
#include "hv/cpu.h"
#include "hv/lib.h"
#include "hv/paging.h"

#define SMBASE      0x30000ul /* after reset */
#define SMM_ENTRY   (SMBASE + 0x8000)
#define SMM_COUNTER (SMM_ENTRY + 0x10)
#define TRIES       10000 /* an SMI that is ours comes at once */

/* Real mode at CS base SMBASE, IP 8000h, the other segments flat from 0 (SDM
 * 32.5): INC DWORD PTR DS:[00038010h]; RSM. */
static const u8 handler[] = {0x67, 0x66, 0xff, 0x05, 0x10,
                             0x80, 0x03, 0x00, 0x0f, 0xaa};
_Static_assert(sizeof(handler) <= SMM_COUNTER - SMM_ENTRY, "code, counter");

/* A page that the firmware still needs is mapped already; else it belonged to
 * boot services and is ours. */
bool smm_init(void)
{
    static bool ours;
    volatile u64 *counter = (volatile u64 *)SMM_COUNTER;

    if (!ours && paging_walk(SMM_ENTRY))
        return false;
    ours = true;
    paging_map(SMM_ENTRY);
    memcpy((void *)SMM_ENTRY, handler, sizeof(handler));
    *counter = 0;
    apic_self(DELIVER_SMI, 0);
    for (u32 i = 0; i < TRIES && !*counter; i++)
        pause();
    if (!*counter)
        return false;
    *counter = 0;
    return true;
}

u64 smm_count(void)
{
    return *(volatile u64 *)SMM_COUNTER;
}
