/*
 * The guest's memory: loaded afresh for each scenario.
 */
#ifndef HV_GUEST_H
#define HV_GUEST_H

#include "hv/vcpu.h"
#include "guest/guest.h"

/* Copies the guest's image, builds its tables, maps it (and the probe page
 * with the ACCESS_* rights of `probe`) and fills *gs with the state in which
 * `code`, an address in the image, begins in that mode. */
void guest_load(struct vcpu *v, enum guest_mode mode, const u8 *code, u32 probe,
                struct guest_state *gs);

/* The host's view of size bytes of guest memory at gpa, or NULL when they are
 * not all inside the guest's image or the probe page. The guest maps its
 * memory one to one, so a linear address serves as well. */
void *guest_memory(u64 gpa, u64 size);

/* The guest's copy of something in the image. */
#define guest_copy(label, type)                                                \
    ((type *)guest_memory(GUEST_GPA(label), sizeof(type)))

/* Gives the guest the local APIC, at GUEST_APIC; makes a gate of its IDT lead
 * to a label, on stack `ist` of its TSS. For the hooks of scenarios. */
void guest_map_apic(struct vcpu *v);
void guest_set_gate(u8 vector, const u8 *label, u8 ist);

/* The physical page behind the probe page. */
u64 guest_probe_page(void);

/* The 2 MiB of memory that the large page maps: those around the probe page,
 * so it is only to be read, or written at the probe page. */
u64 guest_large_page(void);

#endif
