/* The handler of SMIs, in the memory where the CPU looks for it. */
#include "hv/smm.h"

#include "hv/lib.h"
#include "hv/paging.h"

#define SMBASE      0x30000ul /* after reset */
#define SMM_ENTRY   (SMBASE + 0x8000)
#define SMM_COUNTER (SMM_ENTRY + 0x10)

/* Real mode, CS base SMBASE, IP 8000h, other segments 0:
 * INC DWORD PTR CS:[8010h]; RSM. */
static const u8 handler[] = {0x66, 0x2e, 0xff, 0x06, 0x10, 0x80, 0x0f, 0xaa};
_Static_assert(sizeof(handler) <= SMM_COUNTER - SMM_ENTRY, "code, counter");

/* The page belonged to boot services, so it is ours now. */
void smm_init(void)
{
    paging_map(SMM_ENTRY);
    *(volatile u64 *)SMM_COUNTER = 0;
    memcpy((void *)SMM_ENTRY, handler, sizeof(handler));
}

u64 smm_count(void)
{
    return *(volatile u64 *)SMM_COUNTER;
}
