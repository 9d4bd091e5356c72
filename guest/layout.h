/*
 * Where things stand in the guest's physical memory, which its own page
 * tables map one to one. Fixed, so that every run shows the same addresses.
 *
 *   0x000000  nothing: not mapped by the guest, nor by nested paging
 *   0x010000  the guest's sections: text (r-x), rodata (r--), data (rw-), the
 *             last with its page tables, GDT, IDT, TSS and stack
 *             The text is a real-mode segment: no more than 64 KiB.
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
#define GUEST_CS         0x08
#define GUEST_DS         0x10
#define GUEST_TR         0x18
#define GUEST_CS3        0x2b /* RPL 3 */
#define GUEST_DS3        0x33
#define GUEST_CS32       0x38  /* flat */
#define GUEST_CS16       0x40  /* base GUEST_BASE, 64 KiB */
#define GUEST_DS16       0x48  /* as GUEST_REAL_DS, 64 KiB */
#define GUEST_SS16       0x50  /* base: the stack, 64 KiB */
#define GUEST_TR32       0x58  /* the TSS of all modes but the long ones */
#define GUEST_TASK_A     0x60  /* TSS at GUEST_TSS_A, busy */
#define GUEST_TASK_B     0x68  /* TSS at GUEST_TSS_B, available */
#define GUEST_TASK_NP    0x70  /* the same, not present */
#define GUEST_TASK_SHORT 0x78  /* the same, with too small a limit */
#define GUEST_TASK_GATE  0x80  /* task gate to GUEST_TASK_B */
#define GUEST_NP_SEL     0x88  /* data, not present */
#define GUEST_SPARE      0x90  /* two null ones, for the guest to fill */
#define GUEST_BAD_SEL    0x7f8 /* beyond the GDT's limit */

/* Two tasks' TSSs in the probe page, for scenarios to fill and to look at. */
#define GUEST_TSS_A (GUEST_PROBE + 0x400)
#define GUEST_TSS_B (GUEST_PROBE + 0x200)

/* DS, ES, FS and GS in real and virtual-8086 mode; at GUEST_REAL_PROBE in it
 * begins the probe page. */
#define GUEST_REAL_DS    0xffff
#define GUEST_REAL_PROBE 0x10

/* The stack's size; outside 64-bit and flat modes it is a segment of its own,
 * and this its first stack pointer. */
#define GUEST_STACK 0x2000

/* Both TSSs end in an I/O permission bitmap for the ports below this one; all
 * are allowed but eight. */
#define GUEST_PORTS       0x1300
#define GUEST_PORT_DENIED 0x1238

/* General-purpose register n holds GUEST_CANARY + n when a scenario starts;
 * in a mode whose registers are narrower also in their low half. */
#define GUEST_CANARY     0x70116a7e00000000
#define GUEST_CANARY_LOW 0x5ca1ab00

#endif
