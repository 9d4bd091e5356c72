/* The hypervisor's own page tables; see paging.h for the map. */
#include "hv/cpu.h"
#include "hv/image.h"
#include "hv/memory.h"
#include "hv/msr.h"
#include "hv/paging.h"
#include "guest/guest.h"

#define READ_ONLY  (PTE_P | PTE_NX)
#define READ_WRITE (PTE_P | PTE_W | PTE_NX)
#define READ_EXEC  PTE_P
/* With the default PAT, PCD and PWT select entry 3: UC (SDM 12.12.3). */
#define DEVICE (READ_WRITE | PTE_PCD | PTE_PWT)

#define PTE_ADDRESS 0x000ffffffffff000ull

static u64 *root; /* the PML4 table; NULL before paging_init() */

/* The last-level entry of an address. A missing table on the way is made
 * when `make` says so, else the answer is NULL. */
static u64 *entry_of(u64 address, bool make)
{
    u64 *table = root;

    for (u32 shift = 39; shift > 12; shift -= 9) {
        u64 *e = &table[address >> shift & 511];

        if (!(*e & PTE_P)) {
            if (!make)
                return NULL;
            *e = phys(pages_alloc(1)) | PTE_P | PTE_W;
        }
        table = (u64 *)(*e & PTE_ADDRESS);
    }
    return &table[address >> 12 & 511];
}

static void map(u64 start, u64 pages, u64 rights)
{
    for (u64 i = 0; i < pages; i++) {
        u64 address = start + i * PAGE_SIZE;

        if (address && !memory_is_guard(address))
            *entry_of(address, true) = address | rights;
    }
}

static void map_section(const u8 *start, const u8 *stop, u64 rights)
{
    map(phys(start), (u64)(stop - start) / PAGE_SIZE, rights);
}

static u64 rights_of(const struct boot_range *r)
{
    if (r->device)
        return DEVICE;
    return r->executable ? READ_EXEC : READ_WRITE;
}

static void map_all(const struct boot_info *bi)
{
    map_section(image_text_start, image_text_end, READ_EXEC);
    map_section(image_rodata_start, image_rodata_end, READ_ONLY);
    map_section(image_data_start, image_data_end, READ_WRITE);
    map_section(guest_text_start, guest_text_end, READ_ONLY);
    map_section(guest_rodata_start, guest_rodata_end, READ_ONLY);
    map_section(guest_data_start, guest_data_end, READ_ONLY);
    map(bi->arena, bi->arena_size / PAGE_SIZE, READ_WRITE);
    map(rdmsr(MSR_APIC_BASE) & APIC_BASE_ADDRESS, 1, DEVICE);
    for (u32 i = 0; i < bi->range_count; i++)
        map(bi->ranges[i].base, bi->ranges[i].pages, rights_of(&bi->ranges[i]));
}

/*
 * Control registers from known values, not from what the firmware left.
 * CR4: MCE because a machine check without it is a shutdown; OSFXSR and
 * OSXMMEXCPT so that guests may use SSE and see #XM. Left clear: PGE, so that
 * a CR3 load drops every translation; SMEP and SMAP, since no page here is a
 * user page; DE, FSGSBASE, PCIDE, PKE, CET: nothing uses them. LA57 cannot
 * change in long mode (SDM 4.1.2), so it stays as it was found.
 */
static void set_control_registers(u64 cr3)
{
    wrmsr(MSR_PAT, PAT_DEFAULT);
    wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_NXE);
    write_cr0(CR0_PE | CR0_MP | CR0_ET | CR0_NE | CR0_WP | CR0_PG);
    write_cr4((read_cr4() & CR4_LA57) | CR4_PAE | CR4_MCE | CR4_OSFXSR |
              CR4_OSXMMEXCPT);
    write_cr3(cr3);
}

void paging_init(const struct boot_info *bi)
{
    u64 *top;

    root = pages_alloc(1);
    map_all(bi);
    top = root;
    if (read_cr4() & CR4_LA57) { /* one more level, all in its entry 0 */
        top = pages_alloc(1);
        top[0] = phys(root) | PTE_P | PTE_W;
    }
    set_control_registers(phys(top));
}

void paging_map(u64 address)
{
    map(address, 1, READ_WRITE);
}

void paging_unmap(u64 address)
{
    u64 *e = root ? entry_of(address, false) : NULL;

    if (e)
        *e = 0;
    invlpg(address);
}

u64 paging_walk(u64 address)
{
    u64 *e;

    if (!root || address >> 47)
        return 0;
    e = entry_of(address, false);
    return e && *e & PTE_P ? *e : 0;
}

/* True when every page from start to stop has exactly these rights. */
static bool has(const u8 *start, const u8 *stop, u64 rights)
{
    for (const u8 *p = start; p < stop; p += PAGE_SIZE)
        if ((paging_walk(phys(p)) & (PTE_P | PTE_W | PTE_NX)) != rights)
            return false;
    return true;
}

const char *paging_check(const struct boot_info *bi)
{
    if (paging_walk(0))
        return "page 0 is mapped";
    if (!has(image_text_start, image_text_end, READ_EXEC))
        return "text is not read-only and executable";
    if (!has(image_rodata_start, image_rodata_end, READ_ONLY))
        return "read-only data can be written or executed";
    if (!has(image_data_start, image_data_end, READ_WRITE))
        return "data is not writable, or is executable";
    if (!has(guest_text_start, guest_data_end, READ_ONLY))
        return "the guest's sections can be written or executed";
    for (u64 a = bi->arena; a < bi->arena + bi->arena_size; a += PAGE_SIZE)
        if (memory_is_guard(a) ? paging_walk(a) != 0
                               : !(paging_walk(a) & PTE_NX))
            return "a guard page is mapped, or the arena is executable";
    return NULL;
}
