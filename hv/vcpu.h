/*
 * One virtual CPU, as the neutral code sees it, and the seam to the vendor.
 */
#ifndef HV_VCPU_H
#define HV_VCPU_H

#include "hv/exit.h"
#include "hv/feature.h"
#include "trace/ring.h"

struct entry_checks;
struct run;

/* Why a run of the guest ended. */
enum stop {
    STOP_NONE,
    STOP_DONE,       /* the guest made its last hypercall */
    STOP_FINAL,      /* an exit after which there is no guest any more */
    STOP_ABORT,      /* the guest took an exception that it did not expect */
    STOP_TIMEOUT,    /* the watchdog's interrupt came */
    STOP_UNEXPECTED, /* an exit that nobody handles, or a failed entry */
    STOP_LIMIT,      /* too many exits */
};

/* General-purpose registers, in the order of enum gpr; the entry stubs load
 * and save them (offsets generated into build/asm_offsets.inc). */
struct regs {
    u64 gpr[GPRS];
};

/* Guest registers that live in the VMCS or the VMCB. */
enum guest_reg {
    REG_RIP,
    REG_RSP,
    REG_RFLAGS,
    REG_CR0,
    REG_CR2,
    REG_CR3,
    REG_CR4,
    REG_CR8,
    REG_DR7,
    REG_EFER,
    REG_ACTIVITY,      /* enum activity */
    REG_BLOCKING,      /* BLOCKED_BY_* */
    REG_PENDING_DEBUG, /* as the VMCS has it (SDM 25.4.2, Table 25-4) */
    REG_DR0,           /* DR0 to DR3: neither vendor switches them */
    REG_DR1,
    REG_DR2,
    REG_DR3,
    REG_DR6,
    REG_CPL, /* read only */
    REG_GDTR_BASE,
    REG_GDTR_LIMIT,
    REG_PDPTE0, /* to 3: what PAE paging uses; AMD-V reads it from memory */
    REG_PDPTE1,
    REG_PDPTE2,
    REG_PDPTE3,
};
#define PDPTES 4

/* What a virtual CPU does instead of executing, SDM 25.4.2. On AMD-V it is
 * always active: HLT and shutdown exit or are not left by an exit. */
enum activity {
    ACTIVITY_ACTIVE,
    ACTIVITY_HLT,
    ACTIVITY_SHUTDOWN,
    ACTIVITY_WAIT_FOR_SIPI,
};

/* What holds events off, SDM Table 25-3. AMD-V has one bit for the first two,
 * its interrupt shadow, and keeps the third to itself (APM 15.21.5). */
#define BLOCKED_BY_STI    BIT(0)
#define BLOCKED_BY_MOV_SS BIT(1)
#define BLOCKED_BY_NMI    BIT(3)

enum seg { SEG_ES, SEG_CS, SEG_SS, SEG_DS, SEG_FS, SEG_GS, SEG_LDTR, SEG_TR };
#define SEGS 8

struct segment {
    u16 selector;
    u16 attr; /* bits 0-7 type,S,DPL,P; 12-15 AVL,L,D/B,G (SDM 25.4.1);
                 SEG_UNUSABLE: null */
    u32 limit;
    u64 base;
};
#define SEG_UNUSABLE 0xffffu
#define SEG_ATTR_P   0x0080u
#define SEG_ATTR_L   0x2000u /* 64-bit code */
#define SEG_ATTR_D   0x4000u /* 32-bit code or stack */
#define SEG_ATTR_G   0x8000u

/* The whole state a vCPU starts from; the back end only encodes it. */
struct guest_state {
    u64 rip, rsp, rflags, cr0, cr3, cr4, efer, dr7, pat;
    u64 pdpte[PDPTES];        /* with PAE paging outside long mode */
    struct segment seg[SEGS]; /* indexed by enum seg */
    u64 gdt_base, idt_base;
    u32 gdt_limit, idt_limit;
};

/* What the path from exit to entry did; travels in the hvm:vmentry event. */
#define PATH_FLAGS(F)                                                          \
    F(ADVANCED) /* RIP moved past the instruction */                           \
    F(WROTE)    /* guest registers or MSRs were written */                     \
    F(INJECT)   /* an event is injected at this entry */                       \
    F(MAPPED)   /* the nested tables changed */                                \
    F(FLUSH)    /* guest translations are dropped at this entry */             \
    F(HOSTIRQ)  /* the host took an interrupt on the way */                    \
    F(FIRST)    /* first entry after a reset */
enum path_bit {
#define F(name) PATH_BIT_##name,
    PATH_FLAGS(F)
#undef F
};
enum path_flag {
#define F(name) PATH_##name = 1 << PATH_BIT_##name,
    PATH_FLAGS(F)
#undef F
};

/* Words of the control block that a scenario may look at beside struct exit,
 * or set: VT-x first, what an exit reports (SDM 25.4.2, 25.9), then what
 * software sets (SDM 25.6), then AMD-V (APM Appendix B). */
#define RAW_WORDS(W)                                                           \
    W(QUALIFICATION, "exit qualification")                                     \
    W(INSTRUCTION_INFO, "instruction information")                             \
    W(INTERRUPTION_INFO, "interruption information")                           \
    W(INTERRUPTION_ERROR, "interruption error code")                           \
    W(VECTORING_INFO, "IDT-vectoring information")                             \
    W(VECTORING_ERROR, "IDT-vectoring error code")                             \
    W(GUEST_LINEAR, "guest-linear address")                                    \
    W(GUEST_PHYSICAL, "guest-physical address")                                \
    W(MSR_DATA, "MSR data")                                                    \
    W(PENDING_DEBUG, "pending debug exceptions")                               \
    W(INTERRUPTIBILITY, "interruptibility state")                              \
    W(ACTIVITY, "activity state")                                              \
    W(INTERRUPT_STATUS, "guest interrupt status")                              \
    W(TPR_THRESHOLD, "TPR threshold")                                          \
    W(APIC_ACCESS_PAGE, "APIC-access address")                                 \
    W(EOI_BITMAP1, "EOI-exit bitmap 1")                                        \
    W(TIMER, "VMX-preemption timer value")                                     \
    W(PLE_GAP, "PLE gap")                                                      \
    W(PLE_WINDOW, "PLE window")                                                \
    W(EPT_POINTER, "EPT pointer")                                              \
    W(PML_PAGE, "PML address")                                                 \
    W(PML_INDEX, "PML index")                                                  \
    W(SPP_TABLE, "sub-page-permission-table pointer")                          \
    W(FUNCTIONS, "VM-function controls")                                       \
    W(EPTP_LIST, "EPTP-list address")                                          \
    W(XSS_BITMAP, "XSS-exiting bitmap")                                        \
    W(ENCLS_BITMAP, "ENCLS-exiting bitmap")                                    \
    W(ENCLV_BITMAP, "ENCLV-exiting bitmap")                                    \
    W(NOTIFY_WINDOW, "notify window")                                          \
    W(VE_INFORMATION, "virtualization-exception information address")          \
    W(LINK_POINTER, "VMCS link pointer")                                       \
    W(INJECTION, "VM-entry interruption information")                          \
    W(PRIMARY, "primary processor-based controls")                             \
    W(SECONDARY, "secondary processor-based controls")                         \
    W(CR0_MASK, "CR0 guest/host mask")                                         \
    W(CR0_SHADOW, "CR0 read shadow")                                           \
    W(CR4_MASK, "CR4 guest/host mask")                                         \
    W(CR4_SHADOW, "CR4 read shadow")                                           \
    W(CR3_TARGET_COUNT, "CR3-target count")                                    \
    W(CR3_TARGET, "CR3-target value 0")                                        \
    W(PF_MASK, "page-fault error-code mask")                                   \
    W(PF_MATCH, "page-fault error-code match")                                 \
    W(ENTRY_CONTROLS, "VM-entry controls")                                     \
    W(SSP, "shadow-stack pointer") /* of both vendors */                       \
    W(EXITINFO1, "EXITINFO1")                                                  \
    W(EXITINFO2, "EXITINFO2")                                                  \
    W(EXITINTINFO, "EXITINTINFO")                                              \
    W(V_INTR, "virtual interrupt control")                                     \
    W(SHADOW, "interrupt shadow")                                              \
    W(NRIP, "nRIP")                                                            \
    W(FETCHED, "guest instruction bytes")                                      \
    W(PAUSE_COUNT, "pause filter count")                                       \
    W(PAUSE_THRESHOLD, "pause filter threshold")                               \
    W(TSC_OFFSET, "TSC offset")                                                \
    W(NESTED_CTL, "nested paging controls")                                    \
    W(VIRT_EXT, "virtualization extensions")                                   \
    W(AVIC_BAR, "AVIC base address")                                           \
    W(AVIC_BACKING, "AVIC backing page")                                       \
    W(AVIC_LOGICAL, "AVIC logical table")                                      \
    W(AVIC_PHYSICAL, "AVIC physical table")                                    \
    W(BUS_LOCK, "bus lock threshold")
enum raw_word {
    RAW_NOTHING,
#define W(name, text) RAW_##name,
    RAW_WORDS(W)
#undef W
};

/* Event types, SDM 25.8.3 Table 25-17; AMD's TYPE uses 0, 2, 3, 4 alike. */
enum event_type {
    EVENT_INTR = 0,
    EVENT_NMI = 2,
    EVENT_EXCEPTION = 3,
    EVENT_SOFT_INT = 4,
    EVENT_PRIVILEGED_SOFT = 5, /* INT1 */
    EVENT_SOFT_EXCEPTION = 6,  /* INT3, INTO; AMD-V injects 5 and 6 as 3 */
    EVENT_OTHER = 7,           /* vector 0: a pending MTF exit, VT-x only */
};

struct event {
    u8 type; /* enum event_type */
    u8 vector;
    bool has_error;
    u8 length; /* instruction length, soft types only */
    u32 error;
};

struct vcpu {
    struct regs regs; /* first: the stubs address it from the vCPU pointer */
    u64 vendor[4];    /* the back end's own: control block, its physical... */
    const struct hv_ops *ops;
    struct ring ring[1]; /* one, so that v->ring is its address */
    u32 path;            /* PATH_* since the exit */
    struct exit exit;
    struct run *run; /* scenario being observed, NULL: none */
    u8 stop;         /* enum stop */
    u64 *device;     /* cells of enum device_cell, emulated */
    u64 nested_root; /* physical address of the top nested table */
};

/* Items of arm(). An exit by an external interrupt takes it from the local
 * APIC; NMIs are blocked by injected ones, not by the CPU's own. VT-x only. */
#define ITEM_ACKNOWLEDGE 1u /* INTERRUPT: acknowledge on exit */
#define ITEM_VIRTUAL     1u /* NMI: virtual NMIs */

/*
 * The seam. One constant instance per vendor, chosen once by CPUID. A back
 * end decodes and encodes; it holds no policy and writes no trace.
 */
struct hv_ops {
    const char *name; /* "VT-x", "AMD-V" */
    enum vendor vendor;

    /* The requirements, one by one. NULL when this CPU can run us, else one
     * line that says what is missing and what to do about it. */
    const char *(*probe)(const struct caps *c);

    /* Switches the extension on for this CPU. NULL or one line, as above. */
    const char *(*enable)(const struct caps *c);

    /* Allocates once, then (each call) encodes a fresh vCPU: state gs, no
     * optional intercept armed, nested paging on at v->nested_root. */
    void (*reset)(struct vcpu *v, const struct guest_state *gs);

    /* Arms (or disarms) the exits of a kind; item is the CR or DR number,
     * vector, port, MSR index or VMCS field where the kind has one, for
     * PREEMPTION_TIMER the guest's time in units of 1024 TSC cycles, for
     * INTERRUPT and NMI one of the ITEM_* below. False when this vendor has no
     * such control (VT-x: reads of CR0). */
    bool (*arm)(struct vcpu *v, enum exit_kind kind, u32 item, bool on);

    /* Switches on (or off) a feature of the extension that is no exit by
     * itself. False when it has no such switch here. */
    bool (*use)(struct vcpu *v, enum feature f, bool on);

    /* Enters the guest. After each exit it reads the TSC and calls its own
     * crossing_out() (hv/crossing.h); enters again, until that says false. */
    void (*run)(struct vcpu *v);

    /* Fills v->exit from the control block. */
    void (*decode)(struct vcpu *v);

    /* The same exit in the vendor's own words. */
    void (*raw)(struct vcpu *v, struct exit_raw *raw);

    /* One word of the control block. False: it is the other vendor's. */
    bool (*word)(struct vcpu *v, enum raw_word word, u64 *value);

    /* The first word in which this exit reports something, though the manual
     * says that it reports nothing there. RAW_NOTHING: none. NULL: the vendor
     * leaves such words undefined. */
    enum raw_word (*stray)(struct vcpu *v, u64 *value);

    /* Sets one before an entry. False: the other vendor's, or the CPU's to
     * write. */
    bool (*set_word)(struct vcpu *v, enum raw_word word, u64 value);

    /* Queues an event for the next entry. */
    void (*inject)(struct vcpu *v, const struct event *e);

    /* The event in whose delivery the exit came, as inject() takes it. False:
     * there was none. */
    bool (*vectoring)(struct vcpu *v, struct event *e);

    /* RIP += length; clears the interrupt shadow (SDM 27.3.1.5, APM 15.21.5).
     */
    void (*advance)(struct vcpu *v, u8 length);

    /* Its own crossing_step(). */
    bool (*step)(struct vcpu *v, u32 path);

    u64 (*get)(struct vcpu *v, enum guest_reg r);
    void (*set)(struct vcpu *v, enum guest_reg r, u64 value);

    void (*get_segment)(struct vcpu *v, enum seg seg, struct segment *s);
    void (*set_segment)(struct vcpu *v, enum seg seg, const struct segment *s);

    /* A nested-paging entry for physical address pa with ACCESS_* rights;
     * table: it points to the next level. 0 rights give a not-present one. */
    u64 (*nested_entry)(u64 pa, u32 access, bool table);

    /* Drops cached guest and nested translations before the next entry. */
    void (*flush)(struct vcpu *v);

    /* Prints the whole control block, for a failed entry or a host fault. */
    void (*dump)(struct vcpu *v);

    /* The bare minimum for comparison (bench): `trips` round trips with all
     * general-purpose registers switched and RIP advanced by `length`, no
     * decode, no trace, no handler. */
    void (*bare)(struct vcpu *v, u64 trips, u64 length);

    /* What the manual asks of a state that is entered, hv/entry.h. */
    const struct entry_checks *checks;
};

extern const struct hv_ops vmx_ops, svm_ops;

#endif
