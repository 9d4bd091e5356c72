/*
 * What this CPU offers, gathered once at start from feature.def.
 */
#ifndef HV_FEATURE_H
#define HV_FEATURE_H

#include "hv/types.h"

enum feature {
    FEAT_NONE, /* "no gate": always there */
#define FEATURE(name, ...) FEAT_##name,
#include "hv/feature.def"
    FEATURES
};

enum vendor {
    VENDOR_NONE,
    VENDOR_VMX,
    VENDOR_SVM,
};

#define FEATURE_WORDS 3
_Static_assert(FEATURES <= FEATURE_WORDS * 64, "the preflight event has 3");

struct caps {
    u64 has[FEATURE_WORDS]; /* bit n: enum feature n */
    char cpu[49];           /* CPUID Fn8000_0002..4 brand string */
};

/* Where caps_gather() reads: the CPU, or a test's pretence of one. */
struct cpu_reader {
    void (*cpuid)(u32 leaf, u32 subleaf, u32 out[4]); /* EAX EBX ECX EDX */
    u64 (*rdmsr)(u32 index);
};

/* Reads CPUID and, where CPUID and other MSRs say that they exist, the
 * capability MSRs: never one that could raise #GP. */
void caps_gather(struct caps *c);
void caps_gather_from(struct caps *c, const struct cpu_reader *r);

static inline bool caps_has(const struct caps *c, enum feature f)
{
    return f == FEAT_NONE || (c->has[f / 64] >> (f % 64) & 1);
}

/* Is the feature the allowed-1 setting of a control? Then the capability MSR
 * and the control's bit. */
bool feature_control(enum feature f, u32 *msr, u8 *bit);

/* Whose extension the feature belongs to; VENDOR_NONE: it is the CPU's. */
enum vendor feature_vendor(enum feature f);

/* "SVM_NRIPS (CPUID.8000000Ah:EDX[3])": how a skip names what is missing.
 * Writes at most size bytes, NUL included; returns buf. */
const char *feature_text(enum feature f, char *buf, size_t size);

/* What this CPU has of a vendor's extension, by what is shorter to say:
 * "3 of 25 features: NP NRIPS VGIF", "61 of 84 features, without PML SPP". */
const char *caps_text(const struct caps *c, enum vendor vendor, char *buf,
                      size_t size);

#endif
