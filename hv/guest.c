/*
 * Loads the guest and builds what holds addresses: page tables, IDT, TSS.
 */
#include "hv/guest.h"

#include "hv/cpu.h"
#include "hv/handlers.h"
#include "hv/lib.h"
#include "hv/memory.h"
#include "hv/msr.h"
#include "hv/nested.h"

#define PTE_P   BIT(0)
#define PTE_RW  BIT(1)
#define PTE_US  BIT(2)
#define PTE_PWT BIT(3)
#define PTE_PCD BIT(4)
#define PTE_PS  BIT(7)
#define PTE_NX  BIT(63)

#define GATE_INTERRUPT64 0x8e00 /* P, DPL 0, type 14 (SDM 6.14.1) */
#define TSS_LIMIT        103
#define TSS_RSP0         4 /* SDM 8.7, Figure 8-11 */
#define TSS_IO_MAP       102
#define TSS_BUSY64       0x8b /* P, 64-bit TSS, busy (SDM 7.2.2) */

/* Segment attributes as struct segment has them. */
#define ATTR_CODE64 0xa09b /* G, L, P, execute/read, accessed */
#define ATTR_DATA   0xc093 /* G, B, P, read/write, accessed */
#define ATTR_DPL3   0x60

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

/* Maps [start, end) of the image for the guest itself and for nested paging,
 * with the same rights. */
static void map_section(struct vcpu *v, const u8 *start, const u8 *end,
                        u32 access)
{
    u64 *pt = guest_memory(GUEST_GPA(guest_pt), PAGE_SIZE);

    for (const u8 *p = start; p < end; p += PAGE_SIZE) {
        u64 gpa = GUEST_GPA(p);

        pt[gpa / PAGE_SIZE] = gpa | PTE_P | (access & ACCESS_W ? PTE_RW : 0) |
                              (access & ACCESS_X ? 0 : PTE_NX);
        nested_map(v, gpa, phys(guest_memory(gpa, PAGE_SIZE)), access);
    }
}

static void build_page_tables(struct vcpu *v, u32 probe)
{
    u64 *pt = guest_memory(GUEST_GPA(guest_pt), PAGE_SIZE);

    *guest_copy(guest_pml4, u64) = GUEST_GPA(guest_pdpt) | PTE_P | PTE_RW;
    *guest_copy(guest_pdpt, u64) = GUEST_GPA(guest_pd) | PTE_P | PTE_RW;
    *guest_copy(guest_pd, u64) = GUEST_GPA(guest_pt) | PTE_P | PTE_RW;
    guest_copy(guest_pd, u64)[GUEST_LARGE / GUEST_LARGE_SIZE] =
        GUEST_LARGE | PTE_P | PTE_RW | PTE_PS;
    nested_reset(v);
    map_section(v, guest_text_start, guest_text_end, ACCESS_R | ACCESS_X);
    map_section(v, guest_rodata_start, guest_rodata_end, ACCESS_R);
    map_section(v, guest_data_start, guest_data_end, ACCESS_R | ACCESS_W);
    pt[GUEST_PROBE / PAGE_SIZE] = GUEST_PROBE | PTE_P | PTE_RW;
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

static void build_tables(void)
{
    u64 *gdt = guest_memory(GUEST_GPA(guest_gdt), 40);
    u64 tss = GUEST_GPA(guest_tss);
    u16 io_map = TSS_LIMIT + 1;

    for (u32 n = 0; n < 256; n++)
        guest_set_gate((u8)n, guest_vectors + n * GUEST_STUB, 0);
    gdt[GUEST_TR / 8] = TSS_LIMIT | (tss & 0xffffff) << 16 |
                        (u64)TSS_BUSY64 << 40 | (tss >> 24 & 0xff) << 56;
    gdt[GUEST_TR / 8 + 1] = tss >> 32;
    /* The bitmap of I/O permissions begins beyond the limit. */
    memcpy((u8 *)guest_memory(tss, TSS_LIMIT + 1) + TSS_IO_MAP, &io_map,
           sizeof(io_map));
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

static void initial_state(const u8 *code, struct guest_state *gs)
{
    const struct segment code64 = {GUEST_CS, ATTR_CODE64, ~0u, 0};
    const struct segment data = {GUEST_DS, ATTR_DATA, ~0u, 0};

    *gs = (struct guest_state){
        .rip = GUEST_GPA(code),
        .rsp = GUEST_GPA(guest_stack_top),
        /* Physical interrupts exit whatever IF is; set, it also covers an
         * AMD-V that looks only at the guest's (scenario interrupt_if0). */
        .rflags = RFLAGS_FIXED | RFLAGS_IF,
        .cr0 = CR0_PE | CR0_ET | CR0_NE | CR0_WP | CR0_PG,
        .cr3 = GUEST_GPA(guest_pml4),
        .cr4 = CR4_PAE | CR4_OSFXSR,
        .efer = EFER_LME | EFER_LMA | EFER_NXE,
        .dr7 = DR7_RESET,
        .pat = 0x0007040600070406, /* as after reset (SDM 12.12.4) */
        .seg = {[SEG_CS] = code64,
                [SEG_SS] = data,
                [SEG_DS] = data,
                [SEG_ES] = data,
                [SEG_FS] = data,
                [SEG_GS] = data,
                [SEG_LDTR] = {0, SEG_UNUSABLE, 0, 0},
                [SEG_TR] = {GUEST_TR, TSS_BUSY64, TSS_LIMIT,
                            GUEST_GPA(guest_tss)}},
        .gdt_base = GUEST_GPA(guest_gdt),
        .gdt_limit = (u32)(guest_gdt_end - guest_gdt) - 1,
        .idt_base = GUEST_GPA(guest_idt),
        .idt_limit = PAGE_SIZE - 1,
    };
}

void guest_load(struct vcpu *v, const u8 *code, u32 probe,
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
    build_page_tables(v, probe);
    build_tables();
    initial_state(code, gs);
}

void guest_at_cpl3(struct guest_state *gs)
{
    u64 *tables[] = {guest_copy(guest_pml4, u64), guest_copy(guest_pdpt, u64),
                     guest_copy(guest_pd, u64)};
    u64 *pt = guest_memory(GUEST_GPA(guest_pt), PAGE_SIZE);
    u64 rsp0 = GUEST_GPA(guest_stack_top) - PAGE_SIZE;

    for (u32 n = 0; n < ARRAY_SIZE(tables); n++)
        *tables[n] |= PTE_US;
    for (u32 n = 0; n < PAGE_SIZE / sizeof(*pt); n++)
        pt[n] |= pt[n] & PTE_P ? PTE_US : 0;
    memcpy((u8 *)guest_memory(GUEST_GPA(guest_tss), TSS_LIMIT + 1) + TSS_RSP0,
           &rsp0, sizeof(rsp0));
    for (u32 n = SEG_ES; n <= SEG_GS; n++) {
        gs->seg[n].selector = n == SEG_CS ? GUEST_CS3 : GUEST_DS3;
        gs->seg[n].attr |= ATTR_DPL3;
    }
}
