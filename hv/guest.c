/*
 * Loads the guest and builds its page tables.
 */
#include "hv/guest.h"

#include "hv/handlers.h"
#include "hv/lib.h"
#include "hv/memory.h"
#include "hv/mode.h"
#include "hv/msr.h"
#include "hv/nested.h"

#define PTE_P   BIT(0)
#define PTE_RW  BIT(1)
#define PTE_US  BIT(2)
#define PTE_PWT BIT(3)
#define PTE_PCD BIT(4)
#define PTE_PS  BIT(7)
#define PTE_NX  BIT(63)

#define GATE_INTERRUPT64 0x8e00u /* P, DPL 0, type 14 (SDM 6.14.1) */
static u8 *memory; /* the guest's image, at GUEST_BASE for the guest */
static u8 *probe_page;

static u64 image_size(void)
{
    return (u64)(guest_data_end - guest_text_start);
}

u64 guest_probe_page(void)
{
    return phys(probe_page);
}

u64 guest_large_page(void)
{
    return phys(probe_page) & ~(GUEST_LARGE_SIZE - 1);
}

void *guest_memory(u64 gpa, u64 size)
{
    if (gpa >= GUEST_BASE && size <= image_size() &&
        gpa - GUEST_BASE <= image_size() - size)
        return memory + (gpa - GUEST_BASE);
    if (gpa >= GUEST_PROBE && size <= PAGE_SIZE &&
        gpa - GUEST_PROBE <= PAGE_SIZE - size)
        return probe_page + (gpa - GUEST_PROBE);
    return NULL;
}

/* VMCALL and VMMCALL differ in the last byte only: 0F 01 C1, 0F 01 D9. */
static void patch_hypercalls(enum vendor vendor)
{
    if (vendor != VENDOR_SVM)
        return;
    for (const int *p = guest_patch_start; p < guest_patch_end; p++) {
        const u8 *site = (const u8 *)p + *p;
        u8 *copy = guest_memory(GUEST_GPA(site), 3);

        copy[2] = 0xd9;
    }
}

/* One page of the guest's own tables, which map it one to one. An entry has
 * 64 bits but for those of 32-bit paging, which have no NX (SDM 4.3). */
static void map_page(enum guest_mode mode, u64 gpa, u32 access)
{
    u64 entry = gpa | PTE_P | (access & ACCESS_W ? PTE_RW : 0) |
                (mode == MODE_64_USER ? PTE_US : 0);

    if (mode == MODE_32_PAGED || mode == MODE_REAL_PAGED)
        guest_copy(guest_pt, u32)[gpa / PAGE_SIZE] = (u32)entry;
    else
        guest_copy(guest_pt, u64)[gpa / PAGE_SIZE] =
            entry | (access & ACCESS_X ? 0 : PTE_NX);
}

/* Maps [start, end) of the image for the guest itself and for nested paging,
 * with the same rights. */
static void map_section(struct vcpu *v, enum guest_mode mode, const u8 *start,
                        const u8 *end, u32 access)
{
    for (const u8 *p = start; p < end; p += PAGE_SIZE) {
        u64 gpa = GUEST_GPA(p);

        map_page(mode, gpa, access);
        nested_map(v, gpa, phys(guest_memory(gpa, PAGE_SIZE)), access);
    }
}

/* Levels above the page table: four with 64-bit entries, or one directory
 * with 32-bit entries. With PAE paging the third is the top one, whose entry
 * has no rights (SDM 4.4.1). */
static void build_page_tables(struct vcpu *v, enum guest_mode mode, u32 probe)
{
    u64 table = PTE_P | PTE_RW | (mode == MODE_64_USER ? PTE_US : 0);

    *guest_copy(guest_pml4, u64) = GUEST_GPA(guest_pdpt) | table;
    *guest_copy(guest_pdpt, u64) =
        GUEST_GPA(guest_pd) | (mode == MODE_32_PAE ? PTE_P : table);
    *guest_copy(guest_pd, u64) = GUEST_GPA(guest_pt) | table;
    if (!mode_is_legacy(mode))
        guest_copy(guest_pd, u64)[GUEST_LARGE / GUEST_LARGE_SIZE] =
            GUEST_LARGE | PTE_P | PTE_RW | PTE_PS;
    nested_reset(v);
    map_section(v, mode, guest_text_start, guest_text_end, ACCESS_R | ACCESS_X);
    map_section(v, mode, guest_rodata_start, guest_rodata_end, ACCESS_R);
    map_section(v, mode, guest_data_start, guest_data_end, ACCESS_R | ACCESS_W);
    map_page(mode, GUEST_PROBE, ACCESS_R | ACCESS_W | ACCESS_X);
    nested_map(v, GUEST_PROBE, guest_probe_page(), probe);
}

void guest_set_gate(u8 vector, const u8 *label, u8 ist)
{
    u64 *gate =
        (u64 *)guest_memory(GUEST_GPA(guest_idt), PAGE_SIZE) + 2 * vector;
    u64 to = GUEST_GPA(label);

    gate[0] = (to & 0xffff) | (u64)GUEST_CS << 16 | (u64)ist << 32 |
              (u64)GATE_INTERRUPT64 << 32 | (to >> 16 & 0xffff) << 48;
    gate[1] = to >> 32;
}

/* Mapped uncacheable, as the host has it. */
void guest_map_apic(struct vcpu *v)
{
    u64 *pt = guest_memory(GUEST_GPA(guest_pt), PAGE_SIZE);

    pt[GUEST_APIC / PAGE_SIZE] =
        GUEST_APIC | PTE_P | PTE_RW | PTE_PWT | PTE_PCD | PTE_NX;
    nested_map(v, GUEST_APIC, rdmsr(MSR_APIC_BASE) & APIC_BASE_ADDRESS,
               ACCESS_R | ACCESS_W);
}

void guest_load(struct vcpu *v, enum guest_mode mode, const u8 *code, u32 probe,
                struct guest_state *gs)
{
    if (!memory) {
        memory = pages_alloc((u32)(image_size() / PAGE_SIZE));
        probe_page = pages_alloc(1);
    }
    memcpy(memory, guest_text_start, image_size());
    for (u64 n = 0; n < PAGE_SIZE / 8; n++)
        ((u64 *)probe_page)[n] = PROBE_VALUE + n;
    probe_page[PROBE_CODE] = 0xc3; /* RET */
    patch_hypercalls(v->ops->vendor);
    build_page_tables(v, mode, probe);
    mode_build_tables(mode);
    mode_initial_state(mode, code, gs);
}
