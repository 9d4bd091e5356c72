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

/* The physical page behind the probe page. */
u64 guest_probe_page(void);

#endif
