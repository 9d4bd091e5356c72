/*
 * Where things stand in the guest's physical memory, which its own page
 * tables map one to one. Fixed, so that every run shows the same addresses.
 *
 *   0x000000  nothing: not mapped by the guest, nor by nested paging
 *   0x010000  the guest's sections: text (r-x), rodata (r--), data (rw-), the
 *             last with its page tables, GDT, IDT, TSS and stack
 *   0x100000  the probe page: backed by memory, mapped by the guest with all
 *             rights, by nested paging with those that the scenario says
 *
 * Below 1 MiB, so that real mode reaches it too.
 */
#ifndef GUEST_LAYOUT_H
#define GUEST_LAYOUT_H

#define GUEST_BASE     0x10000
#define GUEST_PROBE    0x100000
#define GUEST_UNMAPPED 0x6000 /* an address that the guest never maps */

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
