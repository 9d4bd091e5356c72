/*
 * The modes that the guest can be in: the state that each begins with, and
 * what follows when the guest changes from one to another.
 */
#ifndef HV_MODE_H
#define HV_MODE_H

#include "guest/guest.h"
#include "hv/insn.h"
#include "hv/vcpu.h"

/* Outside long mode: eight general-purpose and eight XMM registers. */
bool mode_is_legacy(enum guest_mode mode);

/* IDT, TSSs, and the descriptors that hold addresses, in the guest's memory. */
void mode_build_tables(enum guest_mode mode);

/* The state in which `code`, an address in the image, begins. */
void mode_initial_state(enum guest_mode mode, const u8 *code,
                        struct guest_state *gs);

/* The CPU's part of a write to CR0, CR3, CR4 or EFER that was emulated:
 * EFER.LMA is EFER.LME and CR0.PG (SDM 4.1.2, APM 14.6.1), and PAE paging
 * loads its four PDPTEs (SDM 4.4.1). */
void mode_changed(struct vcpu *v);

/* How the guest's code is decoded: by CS.L and CS.D of the moment. */
enum insn_mode mode_of_code(struct vcpu *v);

/* The linear address of an offset in a segment: in 64-bit mode only FS and GS
 * have a base, elsewhere the sum wraps at 4 GiB. */
u64 mode_linear(struct vcpu *v, enum seg seg, u64 offset);

/* The linear address of the exit's RIP. */
u64 mode_linear_rip(struct vcpu *v);

/* Decodes the instruction at the exit's RIP; false: not one that exits. */
bool mode_decode(struct vcpu *v, struct insn *i);

#endif
