/*
 * What the files of the VT-x back end share. Nothing outside hv/vmx/
 * includes it.
 */
#ifndef HV_VMX_VMX_H
#define HV_VMX_VMX_H

#include "hv/vcpu.h"
#include "hv/vmx/abi.h"

/* The pages that the CPU reads and writes for one vCPU. */
struct vmx_area {
    struct vmx_region vmcs;
    struct msr_bitmap msr;
    struct io_bitmaps io;
    struct virtual_apic apic;
    struct vmx_region shadow;
    u8 vmread[PAGE_SIZE], vmwrite[PAGE_SIZE]; /* bit n: field n exits */
    u8 empty[PAGE_SIZE]; /* PASID directories without an entry */
};
_Static_assert(sizeof(struct vmx_area) == 9 * PAGE_SIZE, "all whole pages");

/* What vcpu.vendor[] holds on VT-x; entry.asm knows 1 to 3. */
enum vmx_slot {
    SLOT_AREA,     /* struct vmx_area, 0: not allocated yet */
    SLOT_LAUNCHED, /* the VMCS's launch state: 0 VMLAUNCH, 1 VMRESUME */
    SLOT_VMFAIL,   /* not 0: the entry was VMfail; decode() clears it */
    SLOT_HOST_RSP, /* the host's stack while the guest runs */
};

static inline struct vmx_area *vmx_area(const struct vcpu *v)
{
    return (struct vmx_area *)(uintptr_t)v->vendor[SLOT_AREA];
}

/* VMREAD of a field that every supported CPU has. */
static inline u64 vmread(enum vmcs_field field)
{
    u64 value;

    __asm__ volatile("vmread %1, %0" : "=r"(value) : "r"((u64)field) : "cc");
    return value;
}

/* VMREAD of any field. False (VMfail): this CPU does not have it. */
static inline bool vmread_checked(enum vmcs_field field, u64 *value)
{
    bool failed;

    /* CF is VMfailInvalid, ZF VMfailValid (SDM 31.2): "below or equal". */
    __asm__ volatile("vmread %2, %0"
                     : "=r"(*value), "=@ccbe"(failed)
                     : "r"((u64)field));
    return !failed;
}

/* VMWRITE; of a field that this CPU does not have: nothing happens. */
static inline void vmwrite(enum vmcs_field field, u64 value)
{
    __asm__ volatile("vmwrite %1, %0" : : "r"((u64)field), "r"(value) : "cc");
}

/* Writes what the CPU holds of a VMCS back; its launch state becomes "clear"
 * (SDM 25.11.3). */
static inline void vmx_clear(u64 vmcs)
{
    __asm__ volatile("vmclear %0" : : "m"(vmcs) : "cc", "memory");
}

/* Sets or clears a bit of one of the CPU's bitmaps. */
static inline bool vmx_arm_bit(u8 *map, u32 bit, bool on)
{
    u8 mask = (u8)(1u << (bit & 7));

    map[bit / 8] = (u8)(on ? map[bit / 8] | mask : map[bit / 8] & ~mask);
    return true;
}

/* The five control words that have a capability MSR of the common form. */
enum vmx_control {
    CONTROL_PIN,
    CONTROL_PROC,
    CONTROL_PROC2,
    CONTROL_EXIT,
    CONTROL_ENTRY,
};
#define CONTROLS 5

/* controls.c: what this CPU allows, and the intercepts. */
enum vmcs_field vmx_control_field(enum vmx_control c);
u64 vmx_control_allowed(enum vmx_control c); /* its capability MSR */
const char *vmx_controls_missing(void);      /* NULL: all that we need */
u32 vmx_control_base(enum vmx_control c);    /* the value after a reset */
void vmx_cr_write(int nr, u64 value); /* CR0, CR4 as the guest sees them */
u64 vmx_cr_read(int nr);
bool vmx_arm(struct vcpu *v, enum exit_kind kind, u32 item, bool on);
/* A control by its capability MSR: the plain one, not the TRUE one. */
bool vmx_arm_capability(u32 msr, u8 bit, bool on);

/* feature.c: what is switched on beside exits. */
bool vmx_use(struct vcpu *v, enum feature f, bool on);
bool vmx_arm_field(struct vcpu *v, bool write, u32 field, bool on);

/* exit.c: called by the stub after each exit; to enter again? */
bool vmx_exited(struct vcpu *v, u64 tsc);

bool vmx_qualifies(u32 basic); /* and words.c asks this */

/* exit.c, words.c, nested.c, dump.c: members of vmx_ops. */
void vmx_decode_init(void);
void vmx_decode(struct vcpu *v);
void vmx_raw(struct vcpu *v, struct exit_raw *raw);
bool vmx_vectoring(struct vcpu *v, struct event *e);
bool vmx_word(struct vcpu *v, enum raw_word word, u64 *value);
enum raw_word vmx_stray(struct vcpu *v, u64 *value);
bool vmx_set_word(struct vcpu *v, enum raw_word word, u64 value);
u64 vmx_nested_entry(u64 pa, u32 access, bool table);
void vmx_flush(struct vcpu *v);
void vmx_dump(struct vcpu *v);

/* nested.c: the EPT pointer for a top table. */
u64 vmx_eptp(u64 root);

/* check.c: the rules of VM entry (hv/entry.h). */
extern const struct entry_checks vmx_checks;

/* entry.asm. VMfail, too, goes to vmx_exited(), with SLOT_VMFAIL set; the
 * other two are where exits arrive (VMCS_HOST_RIP). */
void vmx_run(struct vcpu *v);
void vmx_exit(void);
void vmx_bare_exit(void);
extern u64 vmx_bare_trips, vmx_bare_length;

#endif
