/*
 * Where things stand in the guest's physical memory, which its own page
 * tables map one to one. Fixed, so that every run shows the same addresses.
 *
 *   0x000000  nothing: not mapped by the guest, nor by nested paging
 *   0x010000  the guest's sections: text (r-x), rodata (r--), data (rw-), the
 *             last with its page tables, GDT, IDT, TSS and stack
 *   0x100000  the probe page: backed by memory, mapped by the guest with all
 *             rights, by nested paging with those that the scenario says
 *   0x101000  the local APIC, where a scenario asks for it
 *   0x200000  the large page: 2 MiB that the guest maps with all rights; absent
 *             in nested paging until a fault, or a scenario, puts it there
 *
 * Below 1 MiB, so that real mode reaches it too.
 */
#ifndef GUEST_LAYOUT_H
#define GUEST_LAYOUT_H

#define GUEST_BASE       0x10000
#define GUEST_PROBE      0x100000
#define GUEST_APIC       0x101000
#define GUEST_LARGE      0x200000
#define GUEST_LARGE_SIZE 0x200000ul
#define GUEST_UNMAPPED   0x6000 /* an address that the guest never maps */

/* Selectors in the guest's GDT (guest/entry.asm). */
#define GUEST_CS      0x08
#define GUEST_DS      0x10
#define GUEST_TR      0x18
#define GUEST_CS3     0x2b /* RPL 3 */
#define GUEST_DS3     0x33
#define GUEST_SPARE   0x38  /* two null descriptors, for the guest to fill */
#define GUEST_BAD_SEL 0x7f8 /* beyond the GDT's limit */

/* General-purpose register n holds GUEST_CANARY + n when a scenario starts. */
#define GUEST_CANARY 0x70116a7e00000000

#endif
