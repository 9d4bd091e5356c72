/*
 * What the files of the AMD-V back end share. Nothing outside hv/svm/
 * includes it.
 */
#ifndef HV_SVM_SVM_H
#define HV_SVM_SVM_H

#include "hv/svm/abi.h"
#include "hv/vcpu.h"

/* The pages that the CPU reads and writes for one vCPU. */
struct svm_area {
    union vmcb vmcb;
    union vmcb host; /* what VMSAVE keeps of the host */
    u8 iopm[IOPM_SIZE];
    u8 msrpm[MSRPM_SIZE];
};
_Static_assert(sizeof(struct svm_area) == 7 * PAGE_SIZE, "all whole pages");

/* What vcpu.vendor[] holds on AMD-V; entry.asm knows 0 and 1. */
enum svm_slot {
    SLOT_VMCB, /* physical address of the VMCB: struct svm_area's start */
    SLOT_HOST, /* physical address of svm_area.host */
    SLOT_CAPS, /* SVM_HAS_* */
};
#define SVM_HAS_NRIPS  BIT(0)
#define SVM_HAS_DECODE BIT(1)
#define SVM_HAS_FLUSH  BIT(2) /* TLB_FLUSH_GUEST */

static inline struct svm_area *svm_area(const struct vcpu *v)
{
    return (struct svm_area *)(uintptr_t)v->vendor[SLOT_VMCB];
}

static inline union vmcb *svm_vmcb(const struct vcpu *v)
{
    return &svm_area(v)->vmcb;
}

/* controls.c */
bool svm_arm(struct vcpu *v, enum exit_kind kind, u32 item, bool on);
bool svm_use(struct vcpu *v, enum feature f, bool on);
void svm_controls_reset(struct svm_area *a);

/* exit.c: called by the stub after each exit; to enter again? */
bool svm_exited(struct vcpu *v, u64 tsc);

/* exit.c, nested.c, dump.c: members of svm_ops. */
void svm_decode(struct vcpu *v);
void svm_decode_init(bool nrips);
void svm_raw(struct vcpu *v, struct exit_raw *raw);
bool svm_vectoring(struct vcpu *v, struct event *e);
bool svm_word(struct vcpu *v, enum raw_word word, u64 *value);
bool svm_set_word(struct vcpu *v, enum raw_word word, u64 value);
u64 svm_nested_entry(u64 pa, u32 access, bool table);
void svm_flush(struct vcpu *v);
void svm_dump(struct vcpu *v);

/* check.c: the rules of VM entry (hv/entry.h). */
extern const struct entry_checks svm_checks;

/* entry.asm */
void svm_run(struct vcpu *v);
void svm_run_held(struct vcpu *v);
void svm_bare_loop(struct vcpu *v, u64 trips, u64 length);

#endif
