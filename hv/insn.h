/*
 * A decoder for the instructions that AMD-V intercepts, and no others: for
 * CPUs that save neither the next RIP (APM 15.7.1) nor decode assists (APM
 * 15.8). Pure: takes bytes, never guest memory; unit-tested on the host.
 */
#ifndef HV_INSN_H
#define HV_INSN_H

#include "hv/vcpu.h"

#define INSN_MAX_LENGTH 15 /* longer ones raise #GP (APM vol 3, 1.1) */

/* INSN_CPUID, INSN_HLT, ...: one per instruction in hv/insn.def. */
enum insn_op {
    INSN_UNKNOWN,
#define INSN(op, ...) INSN_##op,
#define ALSO(...)
#include "hv/insn.def"
    INSN_OPS
};

/* Default operand and address size: CS.L, CS.D of the guest. */
enum insn_mode {
    INSN_16,
    INSN_32,
    INSN_64,
};

enum insn_map {
    MAP_1,    /* one-byte opcodes */
    MAP_0F,   /* 0F xx */
    MAP_0F38, /* 0F 38 xx */
};

/* Bits of insn.prefixes. */
#define PREFIX_LOCK  0x01u
#define PREFIX_REPNE 0x02u /* F2 */
#define PREFIX_REP   0x04u /* F3 */
#define PREFIX_66    0x08u
#define PREFIX_67    0x10u
#define PREFIX_SEG   0x20u /* a segment override that counts */

/* Bits of insn.rex, APM vol 3, 1.2.7. */
#define REX_B 1u
#define REX_X 2u
#define REX_R 4u
#define REX_W 8u

/* Values of insn.base and insn.index beside enum gpr. */
#define BASE_RIP 0xfeu
#define NO_REG   0xffu

struct insn {
    u8 length; /* in bytes with all prefixes; 0: not recognised */
    u8 op;     /* enum insn_op */
    u8 map;    /* enum insn_map */
    u8 opcode;
    u8 prefixes;     /* PREFIX_* */
    u8 rex;          /* REX_*, 0: none */
    u8 operand_size; /* in bytes: 1, 2, 4, 8 */
    u8 address_size; /* in bytes: 2, 4, 8 */

    /* ModRM; reg and rm are 0 where the whole byte is part of the opcode. */
    u8 modrm;
    u8 mod;
    u8 reg; /* enum gpr, CR or DR number: REX.R included */
    u8 rm;  /* enum gpr when mod is 3: REX.B included */

    /* The explicit memory operand; INS and OUTS have none in this sense. */
    bool has_mem;
    u8 segment; /* enum seg: the override, else the base's default */
    u8 base;    /* enum gpr, BASE_RIP, NO_REG */
    u8 index;   /* enum gpr, NO_REG */
    u8 scale;   /* 1, 2, 4, 8 */
    int32_t disp;

    u8 imm; /* port of IN and OUT, vector of INT; else 0 */
};

/*
 * Decodes the instruction at the start of `bytes`, of which `size` may be
 * read. False, and i all zero, when it is not one of hv/insn.def, when it
 * would raise #UD by its encoding alone, or when it does not end in `size`.
 */
bool insn_decode(struct insn *i, const u8 *bytes, size_t size,
                 enum insn_mode mode);

/* The offset of the memory operand in its segment, next_rip being the address
 * of the instruction after this one. The segment base is the caller's. */
u64 insn_address(const struct insn *i, const u64 gpr[GPRS], u64 next_rip);

/* "MOV_FROM_CR". */
const char *insn_name(enum insn_op op);

#endif
