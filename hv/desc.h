/* Descriptor tables of the hypervisor: GDT, TSS with IST stacks, IDT. */
#ifndef HV_DESC_H
#define HV_DESC_H

#include "hv/types.h"

#define SEL_CODE 0x08
#define SEL_DATA 0x10
#define SEL_TSS  0x18 /* 16 bytes: two slots */

/* Builds and loads all three. Allocates the stacks from the arena. */
void desc_init(void);

/* Loads the task register again, after something left another TSS in it. */
void desc_reload_tr(void);

/* For a control block that holds the host's state. */
u64 desc_tss_base(void);
u64 desc_gdt_base(void);
u64 desc_idt_base(void);

#endif
