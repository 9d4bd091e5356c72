/*
 * The hypervisor's own address space. Virtual is physical, and only what the
 * hypervisor needs is there:
 *
 *   image .text                  read, execute
 *   image .rodata, .relro        read
 *   image .data                  read, write
 *   image .guest.*               read (the guest runs in nested paging only)
 *   arena                        read, write; guard pages absent
 *   local APIC                   read, write, uncacheable
 *   firmware runtime, ACPI       as struct boot_range says
 *
 * Page 0 and all the rest are absent, so a stray pointer faults.
 */
#ifndef HV_PAGING_H
#define HV_PAGING_H

#include "boot/boot.h"

/* Entry bits, the same on every level (SDM 4.5.4, APM 5.3). */
#define PTE_P   BIT(0)
#define PTE_W   BIT(1)
#define PTE_PWT BIT(3)
#define PTE_PCD BIT(4)
#define PTE_NX  BIT(63)

/* Builds the tables and switches to them. The stack in use must be from the
 * arena. Sets CR0, CR4, EFER.NXE and PAT to known values. */
void paging_init(const struct boot_info *bi);

/* Adds one page of memory, readable and writable. */
void paging_map(u64 address);

/* Removes one page, or does nothing before paging_init(). */
void paging_unmap(u64 address);

/* The page-table entry that maps an address; 0: not mapped. */
u64 paging_walk(u64 address);

/* Checks the rights of each kind of memory by walking the tables. Returns
 * NULL, or what is wrong. */
const char *paging_check(const struct boot_info *bi);

#endif
