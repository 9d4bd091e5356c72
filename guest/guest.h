/*
 * What the host knows of the guest's image: section bounds, tables to fill
 * and the labels that it compares with. All of these are addresses in the
 * pristine copy inside the hypervisor's image; GUEST_GPA() gives the guest's.
 */
#ifndef GUEST_GUEST_H
#define GUEST_GUEST_H

#include "hv/types.h"
#include "guest/layout.h"

/* Section bounds, page-aligned and contiguous in this order (linker.ld). */
extern const u8 guest_text_start[], guest_text_end[];
extern const u8 guest_rodata_start[], guest_rodata_end[];
extern const u8 guest_data_start[], guest_data_end[];

/* Sites of VMCALL that the loader turns into VMMCALL on AMD-V: each entry is
 * the distance from itself to the site (section .guest.patch). */
extern const int guest_patch_start[], guest_patch_end[];

/* guest/entry.asm */
extern const u8 guest_done[];    /* the hypercall that ends a scenario */
extern const u8 guest_abort[];   /* the one after an unexpected exception */
extern const u8 guest_vectors[]; /* 256 stubs of GUEST_STUB bytes */
extern const u8 guest_gdt[], guest_gdt_end[];
extern const u8 guest_idt[], guest_tss[], guest_tss32[];
extern const u8 guest_pml4[], guest_pdpt[], guest_pd[], guest_pt[];
extern const u8 guest_stack_top[];
extern const u8 guest_flag[]; /* u64 that the host sets to end a wait */
extern const u8 guest_seen[]; /* struct guest_seen */
#define GUEST_STUB 16

/* guest/legacy.asm: the same stubs for protected and for real mode. */
extern const u8 guest_vectors32[], guest_vectors16[];
#define GUEST_STUB16 8

/* The mode that a scenario starts in. CPL 0 where nothing else is said; in
 * those without paging CR3 points to the tables of 64-bit mode. */
enum guest_mode {
    MODE_64,
    MODE_64_USER, /* CPL 3 */
    MODE_COMPAT,  /* a 32-bit segment in long mode */
    MODE_32,      /* protected mode without paging */
    MODE_32_PAGED,
    MODE_32_PAE,
    MODE_16,  /* protected mode, 16-bit segments */
    MODE_V86, /* CPL 3, IOPL 3 */
    MODE_REAL,
    MODE_REAL_PAGED, /* AMD-V alone (APM 15.19) */
};

/* What the guest's exception handler saw last. */
struct guest_seen {
    u64 count; /* exceptions and interrupts taken */
    u64 vector;
    u64 error; /* 0 where the vector has none */
    u64 rip;   /* that was pushed */
    u64 cr2;
};

#define GUEST_GPA(label)                                                       \
    (GUEST_BASE + (u64)((const u8 *)(label)-guest_text_start))

#endif
