/*
 * The vendor-neutral form of one VM exit. A back end's decode() fills it;
 * the dispatcher, the handlers, the trace and the scenarios read it. Nobody
 * outside hv/vmx/ and hv/svm/ sees a VMCS or a VMCB.
 */
#ifndef HV_EXIT_H
#define HV_EXIT_H

#include "hv/types.h"

/* EXIT_CPUID, EXIT_HLT, ...: one per row of exit.def, EXIT_NONE first. */
enum exit_kind {
    EXIT_NONE, /* the poison: no back end may leave it here */
#define EXIT(kind, ...) EXIT_##kind,
#include "hv/exit.def"
    EXIT_KINDS
};

/* Index of a general-purpose register, as ModRM and the manuals count. */
enum gpr {
    RAX,
    RCX,
    RDX,
    RBX,
    RSP,
    RBP,
    RSI,
    RDI,
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
    GPRS
};

/* Bits of exit.npf.access and of a nested mapping's permission. */
#define ACCESS_R 1u
#define ACCESS_W 2u
#define ACCESS_X 4u

/* What exit_info holds for a kind: the `info` column of exit.def. */
enum exit_detail {
    DETAIL_none,
    DETAIL_cr,
    DETAIL_dr,
    DETAIL_msr,
    DETAIL_io,
    DETAIL_exception,
    DETAIL_npf,
    DETAIL_invlpg,
    DETAIL_swint,
    DETAIL_interrupt,
    DETAIL_task,
};

/* What began a task switch, as SDM Table 28-2 counts. */
enum task_source {
    TASK_CALL,
    TASK_IRET,
    TASK_JMP,
    TASK_GATE, /* a task gate in the IDT: an interrupt or exception */
};

/* The instruction behind a control-register exit. */
enum cr_insn { CR_MOV, CR_CLTS, CR_LMSW, CR_SMSW };

/* Bits of DR6 that say what was met (SDM 18.2.3, APM 13.1.1.3). */
#define DEBUG_B0   1u /* B1, B2, B3: the next bits */
#define DEBUG_BD   0x2000u
#define DEBUG_BS   0x4000u
#define DEBUG_BT   0x8000u
#define DEBUG_BITS 0xe00full

/* The typed part; which member holds is exit_row_of(kind)->detail. */
union exit_info {
    struct {
        u8 nr;       /* 0, 2, 3, 4, 8 */
        u8 gpr;      /* enum gpr: source or destination, MOV only */
        u8 insn;     /* enum cr_insn */
        bool memory; /* LMSW, SMSW: the operand is in memory, at */
        u16 source;  /* LMSW: what it loads, when that is known */
        u64 address; /* a linear address */
    } cr;
    struct {
        u8 nr;
        u8 gpr;
    } dr;
    struct {
        u32 index; /* ECX */
    } msr;
    struct {
        u16 port;
        u8 size; /* bytes: 1, 2, 4 */
        bool in;
        bool string;
        bool rep;
        u8 address_size; /* string forms: bytes, 2, 4, 8 */
        u8 segment;      /* string forms: enum seg of the memory operand */
    } io;
    struct {
        u8 vector;
        bool has_error;
        u8 type; /* enum event_type: how it goes back in */
        u32 error;
        u64 address; /* #PF: faulting linear address, else 0 */
        u64 debug;   /* #DB: what was met, in the bits of DR6, else 0 */
    } exception;
    struct {
        u64 gpa;
        u64 gla;        /* guest linear address, where reported */
        bool gla_valid; /* AMD-V reports none (APM 15.25.6) */
        bool final;     /* access to the final address, not a table walk */
        u8 access;      /* ACCESS_* of the access that faulted */
    } npf;
    struct {
        u64 address; /* linear address operand */
    } invlpg;
    struct {
        u8 vector; /* of INT n */
    } swint;
    struct {
        u8 vector;         /* 0: not reported */
        bool acknowledged; /* the exit took it: it is pending no more */
    } interrupt;
    struct {
        u16 selector; /* of the TSS to switch to */
        u8 source;    /* enum task_source */
        bool rf;      /* EFLAGS.RF in the old task's TSS */
        bool has_error;
        u32 error; /* goes onto the new task's stack */
    } task;
};

struct exit {
    u8 kind;   /* enum exit_kind */
    u8 length; /* of the instruction in bytes, 0: not known for this exit */
    u32 code;  /* the vendor's raw code; AMD's VMEXIT_INVALID is ~0u */
    u64 rip;   /* guest RIP at the exit */
    union exit_info info;
};

/* The vendor's own words for an exit, for the trace and for error messages;
 * no handler reads them. */
struct exit_raw {
    u64 info1; /* exit qualification; EXITINFO1 */
    u64 info2; /* guest-physical address; EXITINFO2 */
    u32 intr;  /* VM-exit interruption information; EXITINTINFO[31:0] */
};

/*
 * What arms an exit on VT-x: a control word and a bit, or the structure that
 * has one bit or mask per item (vector, port, MSR, control register).
 * On AMD-V nothing like it is needed: an exit code below 0xE0 is its own
 * index into the intercept vector (APM Appendix B.1, C).
 */
enum vmx_word {
    CTL_NONE,      /* not on VT-x, or nothing that software arms */
    CTL_ALWAYS,    /* unconditional in non-root operation (SDM 26.1.2) */
    CTL_PIN,       /* pin-based controls (SDM 25.6.1) */
    CTL_PROC,      /* primary processor-based controls (SDM 25.6.2) */
    CTL_PROC2,     /* secondary */
    CTL_PROC3,     /* tertiary */
    CTL_EXCEPTION, /* exception bitmap (SDM 25.6.3) */
    CTL_IO,        /* I/O bitmaps (SDM 25.6.4) */
    CTL_MSR,       /* MSR bitmaps (SDM 25.6.9) */
    CTL_CR,        /* guest/host masks, or CR3/CR8 exiting (SDM 25.6.6) */
    CTL_EPT,       /* the entry itself (SDM 29.3) */
    CTL_ENTRY,     /* a VM entry that fails (SDM 27.8) */
};
#define VMX_CTL(word, bit) ((word) << 8 | (bit))
#define ALWAYS             VMX_CTL(CTL_ALWAYS, 0)
#define PIN(bit)           VMX_CTL(CTL_PIN, bit)
#define PROC(bit)          VMX_CTL(CTL_PROC, bit)
#define PROC2(bit)         VMX_CTL(CTL_PROC2, bit)
#define PROC3(bit)         VMX_CTL(CTL_PROC3, bit)
#define BY(word)           VMX_CTL(CTL_##word, 0)

/* One row of exit.def as data. */
struct exit_row {
    const char *name;          /* "CPUID" */
    u8 detail;                 /* enum exit_detail */
    short vmx_reason;          /* basic exit reason, -1: not on VT-x */
    u16 vmx_control;           /* VMX_CTL(word, bit): what arms it */
    u16 vmx_gate;              /* enum feature, FEAT_NONE: always there */
    long long svm_code;        /* first exit code, SVM_NONE: not on AMD-V */
    u16 svm_count;             /* how many codes: CR numbers, vectors */
    u16 svm_gate;              /* enum feature */
    const char *vmx_uncovered; /* why no scenario provokes it there, or "" */
    const char *svm_uncovered; /* (or not every code of the row) */
};

#define SVM_NONE (-99)

extern const struct exit_row exit_rows[EXIT_KINDS];

/* The row of a kind; that of EXIT_NONE for a number that is no kind. */
static inline const struct exit_row *exit_row_of(u32 kind)
{
    return &exit_rows[kind < EXIT_KINDS ? kind : EXIT_NONE];
}

/* Builds the look-ups below from the rows; call it once, before any exit. */
void exit_tables_init(void);

/*
 * Raw code to kind: the first row that names it, EXIT_NONE for none. Where
 * several kinds share a code (VMX 0, 28, 46, 47; SVM 0x7c) the caller tells
 * them apart by the exit's information. item: which of the row's codes it is
 * (CR or DR number, vector), 0 for a row with one code.
 */
enum exit_kind exit_kind_vmx(u32 basic_reason);
enum exit_kind exit_kind_svm(u64 code, u8 *item);

/* "CPUID", or "CR_WRITE(3)" for a row with several codes; returns buf. */
const char *exit_name(enum exit_kind kind, u32 item, char *buf, size_t size);

/* Plants EXIT_NONE and ~0 in every field, so that one nobody filled shows.
 * Inline and without a loop: it stands on the path of every crossing. */
static inline void exit_poison(struct exit *e)
{
    u64 *word = (u64 *)e;

    word[0] = ~0xffull | EXIT_NONE; /* kind is the lowest byte */
    word[1] = word[2] = word[3] = word[4] = ~0ull;
}
_Static_assert(sizeof(struct exit) == 5 * sizeof(u64), "exit_poison()");
_Static_assert(offsetof(struct exit, kind) == 0, "exit_poison()");

#endif
