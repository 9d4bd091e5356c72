/*
 * A scenario: one short piece of text that says what the host arms, what the
 * guest does and what must be seen. Registered by being written: SCENARIO()
 * puts a pointer to it into the linker's set `scenarios`.
 *
 *     GUEST(hlt, AT(hlt, 1) "hlt\n")
 *     SCENARIO(hlt, HLT, .arm = {{EXIT_HLT}},
 *              .expect = {{EXIT_HLT, 1, .length = 1}});
 *
 * Unless .final is set, the guest's code falls into guest_done, the hypercall
 * that ends a scenario: it is an implied last exit.
 */
#ifndef GUEST_SCENARIO_H
#define GUEST_SCENARIO_H

#include "guest/guest.h"
#include "hv/vcpu.h"

#define MAX_EXPECT 8
#define MAX_RAW    6
#define MAX_SEE    12
#define MAX_ARM    6
#define MAX_NEEDS  3
#define MAX_SET    4

/* A word of the control block at an exit, if it is this vendor's. */
struct raw_want {
    u8 word; /* enum raw_word */
    u8 at;   /* value counts from label n; 0: it is the value */
    u64 value;
    u64 ignore;  /* bits that may be anything */
    u16 feature; /* enum feature: only where the CPU has it, */
    bool absent; /* or, so, only where it has not */
};
#define RAW(w, v)                                                              \
    {                                                                          \
        .word = RAW_##w, .value = (v)                                          \
    }
#define RAW_BUT(w, v, bits)                                                    \
    {                                                                          \
        .word = RAW_##w, .value = (v) & ~(u64)(bits), .ignore = (bits)         \
    }
#define RAW_AT(w, n)                                                           \
    {                                                                          \
        .word = RAW_##w, .at = (n)                                             \
    }
#define RAW_IF(f, w, v)                                                        \
    {                                                                          \
        .word = RAW_##w, .value = (v), .feature = FEAT_##f                     \
    }
#define RAW_UNLESS(f, w, v)                                                    \
    {                                                                          \
        .word = RAW_##w, .value = (v), .feature = FEAT_##f, .absent = true     \
    }
#define RAW_IF_BUT(f, w, v, bits)                                              \
    {                                                                          \
        .word = RAW_##w, .value = (v) & ~(u64)(bits), .ignore = (bits),        \
        .feature = FEAT_##f                                                    \
    }

/* With decode assists EXITINFO1 of a MOV to or from CRn has bit 63 and the
 * number of the general-purpose register, which is all that MOV DRn's has; of
 * CLTS, LMSW and SMSW it has bit 63 clear (APM 15.8.1). */
#define ASSIST_MOV BIT(63)
#define ASSIST_CR(gpr)                                                         \
    RAW_IF_BUT(SVM_DECODE, EXITINFO1, ASSIST_MOV | (gpr), ~(ASSIST_MOV | 15))
#define ASSIST_NO_MOV  RAW_IF_BUT(SVM_DECODE, EXITINFO1, 0, ~ASSIST_MOV)
#define ASSIST_DR(gpr) RAW_IF_BUT(SVM_DECODE, EXITINFO1, gpr, ~15ull)

/* Behind a page fault of a data access up to 15 bytes from RIP on are in the
 * VMCB, after their number (15.8.4). */
#define ASSIST_BYTES(n) RAW_IF_BUT(SVM_DECODE, FETCHED, n, ~0xffull)

/* One exit that must come, in this place of the order. */
struct expect {
    u8 kind;       /* enum exit_kind */
    u8 at;         /* RIP is label n, set by AT(id, n); 0: see rip */
    u8 item;       /* CR or DR number, vector, where the row has several */
    u8 vendor;     /* enum vendor; 0: on both */
    u8 length;     /* of the instruction; 0: the exit reports none */
    u8 until;      /* RIP from label `at` up to label `until` */
    bool any_rip;  /* the architecture leaves the state undefined */
    bool has_info; /* compare info, too */
    u32 code;      /* the vendor's, 0: as the kind's row says */
    u64 rip;       /* RIP, when it is not at a label */
    union exit_info info;
    struct raw_want raw[MAX_RAW];
};

/* An event that is queued for the first entry. */
#define INJECT(t, v, ...)                                                      \
    .inject = &(const struct event)                                            \
    {                                                                          \
        .type = EVENT_##t, .vector = v, __VA_ARGS__                            \
    }

/* What must hold when the scenario has ended: the guest's view. */
enum see_what {
    SEE_NOTHING,
    SEE_GPR,    /* index: enum gpr */
    SEE_REG,    /* index: enum guest_reg; value: bits changed since reset */
    SEE_SAME,   /* index: enum gpr; value: enum guest_reg that it equals */
    SEE_DEVICE, /* index: enum device_cell */
    SEE_SEEN,   /* index: u64 in struct guest_seen */
    SEE_RIP,    /* struct guest_seen's rip is label `index` */
    SEE_PROBE,  /* index: u64 in the probe page */
    SEE_WORD,   /* index: enum raw_word */
    SEE_CELL,   /* *cell */
    SEE_ENTRY,  /* index: level of the probe page's nested entry */
};
struct see {
    u8 what, index;
    u64 value;
    u64 ignore; /* bits that may be anything: SEE_ENTRY */
    const u64 *cell;
};
#define GPR(r, v)                                                              \
    {                                                                          \
        SEE_GPR, r, v                                                          \
    }
#define CHANGED(r, v)                                                          \
    {                                                                          \
        SEE_REG, REG_##r, v                                                    \
    }
#define SAME(g, r)                                                             \
    {                                                                          \
        SEE_SAME, g, REG_##r                                                   \
    }
#define DEVICE(c, v)                                                           \
    {                                                                          \
        SEE_DEVICE, DEVICE_##c, v                                              \
    }
#define SEEN(f, v)                                                             \
    {                                                                          \
        SEE_SEEN, offsetof(struct guest_seen, f) / 8, v                        \
    }
#define SEEN_AT(n)                                                             \
    {                                                                          \
        SEE_RIP, n, 0                                                          \
    }
#define PROBE(n, v)                                                            \
    {                                                                          \
        SEE_PROBE, n, v                                                        \
    }

#define WORD(w, v)                                                             \
    {                                                                          \
        SEE_WORD, RAW_##w, v                                                   \
    }
#define CELL(p, v)                                                             \
    {                                                                          \
        SEE_CELL, 0, v, .cell = (p)                                            \
    }
#define ENTRY(level, v, bits)                                                  \
    {                                                                          \
        SEE_ENTRY, level, v, .ignore = ~(u64)(bits)                            \
    }

/* State that the neutral handlers emulate; fresh for each scenario. */
enum device_cell {
    DEVICE_IN,        /* what IN reads, low byte first */
    DEVICE_OUT,       /* what OUT wrote last */
    DEVICE_OUT_COUNT, /* how many items OUT and OUTS wrote */
    DEVICE_MSR,       /* the one emulated MSR */
    DEVICE_CR8,
    DEVICE_TSC,    /* what RDTSC reads */
    DEVICE_VECTOR, /* of the last external interrupt that the host took */
    DEVICE_NMI,    /* how many NMIs the host took */
    DEVICE_SMI,    /* how many SMIs the handler in SMRAM took */
    DEVICE_CELLS
};

struct arm {
    u8 kind;  /* enum exit_kind */
    u32 item; /* as hv_ops.arm() */
};

/* A word of the control block as the scenario starts. */
struct word_set {
    u8 word; /* enum raw_word */
    u64 value;
};
#define PUT(w, v)                                                              \
    {                                                                          \
        RAW_##w, v                                                             \
    }

/* Bits of the nested entry that maps the probe page (level 1), or of one on
 * the way to it, which all of the guest shares. */
struct tweak {
    u8 level;
    u64 clear, set;
};

#define LAST        1
#define LAST_OF_ALL 2 /* unfit for those, too */

struct scenario {
    const char *name;
    const u8 *code;       /* first instruction */
    const u8 *label[4];   /* 1, 2, 3: AT() */
    u8 kind, item;        /* what it is about */
    u8 vendor;            /* enum vendor; 0: for both */
    bool demo;            /* runs only when it is named */
    bool final;           /* the last expected exit ends it */
    bool negative;        /* with the control off: no exit at all */
    u8 without;           /* or others, but none of this enum exit_kind */
    u8 last;              /* LAST: it may leave the CPU unfit for others */
    u8 probe;             /* nested ACCESS_* of the probe page */
    u8 mode;              /* enum guest_mode in which it starts */
    u16 needs[MAX_NEEDS]; /* enum feature, beside the row's gate */
    u16 unless;           /* enum feature with which there is nothing to see */
    bool timer;           /* with rule: the preemption timer stays as it was */
    u16 rule;             /* 1 + the rule of VM entry that it breaks, 0: none */
    u16 use[MAX_NEEDS];   /* needed as well, and switched on */
    const char *(*lacks)(struct vcpu *v); /* or what the machine lacks; NULL */
    const char *(*fatal)(struct vcpu *v); /* why it would not survive this: it
                                           * fails, unless it is named */
    struct arm arm[MAX_ARM];
    struct arm disarm[MAX_ARM]; /* after that */
    struct word_set set[MAX_SET];
    struct tweak tweak;
    const struct event *inject; /* at the first entry, by INJECT() */
    u8 back_at; /* label to which the guest's handler returns: R15 */
    struct expect expect[MAX_EXPECT];
    struct see see[MAX_SEE];
    void (*state)(struct guest_state *gs); /* changes the state at the start */
    void (*before)(struct vcpu *v); /* last thing before the first entry */
    void (*exited)(struct vcpu *v); /* at each exit, checked, not handled */
    void (*ended)(struct vcpu *v);  /* last: more checks, by guest_check() */
};

/* One check of a scenario's own, counted and traced like the others. */
void guest_check(struct vcpu *v, const char *what, u64 want, u64 got);

extern const struct scenario *const scenarios_start[];
extern const struct scenario *const scenarios_end[];

/*
 * The guest's code, Intel syntax; id names the scenario. Position-independent;
 * it begins with GUEST_CANARY + n in register n, but for RSP, in 64-bit mode
 * at CPL 0 with IF set: physical interrupts go to the host, whatever IF is. An
 * expected exception returns to R15.
 *
 * GUEST32 and GUEST16 are for the other modes, in which a register n begins
 * with GUEST_CANARY_LOW + n and an exception returns to EBP (GOES_ON_32, _16).
 * The 16-bit ones see the text in CS (GUEST_BASE), the probe page in DS.
 */
/* clang-format off */
#define GUEST_END(id, text, end)                                               \
    extern __attribute__((visibility("hidden"))) const u8 guest_##id[],        \
        guest_##id##_1[], guest_##id##_2[], guest_##id##_3[];                  \
    __asm__(".pushsection .guest.text,\"ax\",@progbits\n"                      \
            ".intel_syntax noprefix\n"                                         \
            GUEST_LABEL("guest_" #id)                                          \
            text end                                                           \
            GUEST_UNUSED("guest_" #id, "1")                                    \
            GUEST_UNUSED("guest_" #id, "2")                                    \
            GUEST_UNUSED("guest_" #id, "3")                                    \
            ".att_syntax prefix\n"                                             \
            ".popsection\n");
/* clang-format on */
#define GUEST(id, text)   GUEST_END(id, text, "jmp guest_done\n")
#define GUEST32(id, text) GUEST_END(id, ".code32\n" text, JMP_REL32 ".code64\n")
#define GUEST16(id, text)                                                      \
    GUEST_END(id, ".code16\n" text, ".byte 0x66\n" JMP_REL32 ".code64\n")
/* Spelled out: a 16-bit displacement would not reach everywhere. */
#define JMP_REL32 ".byte 0xe9\n.long guest_done - . - 4\n"

/* An expected exception goes on at local label 2, in code without RIP-relative
 * addresses: ADD EBP, or BP, of the distance. The 16-bit CALL is spelled out,
 * too: clang makes a 32-bit one of it. */
#define GOES_ON_32                                                             \
    "call 98f\n"                                                               \
    "98: pop ebp\n"                                                            \
    ".byte 0x81, 0xc5\n"                                                       \
    ".long 2f - 98b\n"
#define GOES_ON_16                                                             \
    ".byte 0xe8\n"                                                             \
    ".word 0\n"                                                                \
    "98: pop bp\n"                                                             \
    ".byte 0x81, 0xc5\n"                                                       \
    ".word 2f - 98b\n"                                                         \
    "movzx ebp, bp\n"
#define HERE_32 "2: xor ebp, ebp\n"

/* Label n of the scenario: the instruction that follows exits. */
#define AT(id, n) GUEST_LABEL("guest_" #id "_" #n)

#define GUEST_LABEL(name)                                                      \
    ".globl " name "\n"                                                        \
    ".hidden " name "\n" name ":\n"

/* A label that the text does not set is the scenario's start. */
#define GUEST_UNUSED(name, n)                                                  \
    ".ifndef " name "_" n "\n"                                                 \
    ".globl " name "_" n "\n"                                                  \
    ".hidden " name "_" n "\n"                                                 \
    ".set " name "_" n ", " name "\n"                                          \
    ".endif\n"

/* VMCALL, which the loader turns into VMMCALL on AMD-V. */
#define CALL_HOST                                                              \
    "999: vmcall\n"                                                            \
    ".pushsection .guest.patch,\"a\",@progbits\n"                              \
    ".long 999b - .\n"                                                         \
    ".popsection\n"

/* id, with the code of another scenario: its negative, as a rule. */
#define SCENARIO_OF(id, text, about, ...)                                      \
    SCENARIO_AS(id, text, EXIT_##about, __VA_ARGS__)
#define SCENARIO(id, about, ...) SCENARIO_AS(id, id, EXIT_##about, __VA_ARGS__)
#define SCENARIO_AS(id, text, about, ...)                                      \
    static const struct scenario scenario_##id = {                             \
        .name = #id,                                                           \
        .code = guest_##text,                                                  \
        .label = {0, guest_##text##_1, guest_##text##_2, guest_##text##_3},    \
        .kind = about,                                                         \
        __VA_ARGS__};                                                          \
    static const struct scenario *const scenario_##id##_entry                  \
        __attribute__((used, section("scenarios"))) = &scenario_##id

#endif
