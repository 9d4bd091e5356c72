/*
 * The decoder of hv/insn.h: prefixes, opcode, then the row of hv/insn.def
 * that fits, then ModRM, SIB, displacement and immediate.
 *
 * Manual: AMD64 APM vol 3 (24594), chapter 1 (Instruction Encoding).
 */
#include "hv/insn.h"

enum form { PLAIN, EXACT, RM, MEM, MEMR, REGS };
enum prefix_rule { IGNORED, NP, NO66, F3, P66 };

#define IMM8   0x01u
#define BYTE   0x02u
#define PORT   0x04u
#define PUSH   0x08u
#define WIDE   0x10u
#define NOT64  0x20u
#define NOREXB 0x40u
#define LOCKCR 0x80u
#define FAR    0x100u

struct encoding {
    u8 op, map, opcode, form, ext, prefix;
    u16 flags;
};

static const struct encoding encodings[] = {
#define INSN(op, map, opcode, form, ext, prefix, flags)                        \
    {INSN_##op, MAP_##map, opcode, form, ext, prefix, flags},
#define ALSO INSN
#include "hv/insn.def"
};

static const char *const names[INSN_OPS] = {
    "UNKNOWN",
#define INSN(op, ...) #op,
#define ALSO(...)
#include "hv/insn.def"
};

/* What is left to read; ok turns false on the first byte past the end. */
struct reader {
    const u8 *bytes;
    size_t size, pos;
    bool ok;
};

static u8 next(struct reader *r)
{
    if (r->pos < r->size)
        return r->bytes[r->pos++];
    r->ok = false;
    return 0;
}

/* A displacement of 1, 2 or 4 bytes, sign-extended. */
static int32_t displacement(struct reader *r, int bytes)
{
    u32 value = 0;

    for (int n = 0; n < bytes; n++)
        value |= (u32)next(r) << (8 * n);
    if (bytes == 1)
        return (int8_t)value;
    if (bytes == 2)
        return (int16_t)value;
    return (int32_t)value;
}

/* One legacy prefix (APM vol 3, 1.2.1); false: this byte is none. */
static bool legacy_prefix(struct insn *i, u8 byte, enum insn_mode mode)
{
    switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
        /* ES, CS, SS, DS: null prefixes in 64-bit mode (1.2.4). */
        if (mode != INSN_64) {
            i->segment = (u8)(byte >> 3 & 3);
            i->prefixes |= PREFIX_SEG;
        }
        return true;
    case 0x64:
    case 0x65:
        i->segment = byte == 0x64 ? SEG_FS : SEG_GS;
        i->prefixes |= PREFIX_SEG;
        return true;
    case 0x66:
        i->prefixes |= PREFIX_66;
        return true;
    case 0x67:
        i->prefixes |= PREFIX_67;
        return true;
    case 0xf0:
        i->prefixes |= PREFIX_LOCK;
        return true;
    case 0xf2:
    case 0xf3: /* the last of the two counts */
        i->prefixes &= (u8) ~(PREFIX_REP | PREFIX_REPNE);
        i->prefixes |= byte == 0xf2 ? PREFIX_REPNE : PREFIX_REP;
        return true;
    }
    return false;
}

/* All prefixes; returns the first byte that is none. */
static u8 prefixes(struct insn *i, struct reader *r, enum insn_mode mode)
{
    u8 byte;

    for (;;) {
        byte = next(r);
        if (legacy_prefix(i, byte, mode)) {
            i->rex = 0; /* a REX prefix counts only right before the opcode */
            continue;
        }
        if (mode != INSN_64 || (byte & 0xf0) != 0x40 || !r->ok)
            return byte;
        i->rex = byte & 0x0f;
    }
}

static void opcode(struct insn *i, struct reader *r, u8 first)
{
    i->map = MAP_1;
    i->opcode = first;
    if (first != 0x0f)
        return;
    i->map = MAP_0F;
    i->opcode = next(r);
    if (i->opcode != 0x38)
        return;
    i->map = MAP_0F38;
    i->opcode = next(r);
}

static bool prefix_fits(const struct insn *i, enum prefix_rule rule)
{
    u32 present = i->prefixes & (PREFIX_66 | PREFIX_REP | PREFIX_REPNE);

    switch (rule) {
    case IGNORED:
        return true;
    case NP:
        return present == 0;
    case NO66:
        return !(present & PREFIX_66);
    case F3:
        return present & PREFIX_REP;
    case P66:
        return present == PREFIX_66;
    }
    return false;
}

static bool fits(const struct encoding *e, const struct insn *i, u8 modrm,
                 enum insn_mode mode)
{
    bool memory = modrm < 0xc0;
    u8 reg = modrm >> 3 & 7;

    if (e->map != i->map || !prefix_fits(i, e->prefix))
        return false;
    if ((e->flags & NOT64) && mode == INSN_64)
        return false;
    if ((e->flags & NOREXB) && (i->rex & REX_B))
        return false;
    /* LOCK raises #UD with all of these (APM vol 3, 1.2.5) but MOV CR0. */
    if ((i->prefixes & PREFIX_LOCK) &&
        !((e->flags & LOCKCR) && reg == 0 && !(i->rex & REX_R)))
        return false;
    switch ((enum form)e->form) {
    case PLAIN:
    case REGS:
        return true;
    case EXACT:
        return modrm == e->ext;
    case RM:
        return reg == e->ext;
    case MEM:
        return memory && reg == e->ext;
    case MEMR:
        return memory;
    }
    return false;
}

static u8 operand_size(const struct insn *i, u16 flags, enum insn_mode mode)
{
    bool small = i->prefixes & PREFIX_66;

    if (flags & BYTE)
        return 1;
    if (flags & WIDE)
        return mode == INSN_64 ? 8 : 4;
    if (mode == INSN_64 && (flags & PUSH))
        return small ? 2 : 8;
    if ((i->rex & REX_W) && !(flags & PORT))
        return 8;
    return small != (mode == INSN_16) ? 2 : 4;
}

static u8 address_size(const struct insn *i, enum insn_mode mode)
{
    bool other = i->prefixes & PREFIX_67;

    switch (mode) {
    case INSN_16:
        return other ? 4 : 2;
    case INSN_32:
        return other ? 2 : 4;
    case INSN_64:
        return other ? 4 : 8;
    }
    return 0;
}

/* 16-bit addressing, APM vol 3, Table A-34 (ModRM byte, 16-bit). */
static void memory16(struct insn *i, struct reader *r)
{
    static const u8 base[] = {RBX, RBX, RBP, RBP, RSI, RDI, RBP, RBX};
    static const u8 index[] = {RSI,    RDI,    RSI,    RDI,
                               NO_REG, NO_REG, NO_REG, NO_REG};
    u8 rm = i->modrm & 7;

    if (i->mod == 0 && rm == 6) {
        i->disp = displacement(r, 2);
        return;
    }
    i->base = base[rm];
    i->index = index[rm];
    if (i->mod != 0)
        i->disp = displacement(r, i->mod);
}

/* 32- and 64-bit addressing, APM vol 3, 1.4 (ModRM and SIB Bytes). */
static void memory(struct insn *i, struct reader *r, enum insn_mode mode)
{
    u8 base = i->modrm & 7;
    bool sib = base == 4;
    u8 byte;

    if (sib) {
        byte = next(r);
        base = byte & 7;
        i->scale = (u8)(1 << (byte >> 6));
        i->index = (u8)((byte >> 3 & 7) | (i->rex & REX_X ? 8 : 0));
        if (i->index == RSP) /* this one, but not R12, means none */
            i->index = NO_REG;
    }
    if (i->mod == 0 && base == 5) {
        /* A displacement alone; in 64-bit mode without a SIB byte it counts
         * from the next instruction (APM vol 3, 1.7). */
        if (mode == INSN_64 && !sib)
            i->base = BASE_RIP;
        i->disp = displacement(r, 4);
        return;
    }
    i->base = (u8)(base | (i->rex & REX_B ? 8 : 0));
    if (i->mod != 0)
        i->disp = displacement(r, i->mod == 1 ? 1 : 4);
}

static void operands(struct insn *i, struct reader *r, enum form form,
                     enum insn_mode mode)
{
    i->modrm = next(r);
    i->mod = form == REGS ? 3 : i->modrm >> 6;
    if (form == EXACT)
        return;
    i->reg = (u8)((i->modrm >> 3 & 7) | (i->rex & REX_R ? 8 : 0));
    if (i->mod == 3) {
        i->rm = (u8)((i->modrm & 7) | (i->rex & REX_B ? 8 : 0));
        return;
    }
    i->rm = i->modrm & 7;
    i->has_mem = true;
    i->scale = 1;
    if (form == RM)
        i->operand_size = 2;
    if (i->address_size == 2)
        memory16(i, r);
    else
        memory(i, r, mode);
    if (!(i->prefixes & PREFIX_SEG))
        i->segment = i->base == RBP || i->base == RSP ? SEG_SS : SEG_DS;
}

static const struct encoding *find(const struct insn *i, const struct reader *r,
                                   enum insn_mode mode)
{
    /* The ModRM byte selects a row before it is read; past the end of the
     * bytes its value is of no matter, as operands() then fails. */
    u8 modrm = r->pos < r->size ? r->bytes[r->pos] : 0;

    /* Nearly all rows fall at the opcode: asked here, it is no call. */
    for (const struct encoding *e = encodings;
         e < encodings + ARRAY_SIZE(encodings); e++)
        if (e->opcode == i->opcode && fits(e, i, modrm, mode))
            return e;
    return NULL;
}

bool insn_decode(struct insn *i, const u8 *bytes, size_t size,
                 enum insn_mode mode)
{
    struct reader r = {
        .bytes = bytes,
        .size = size < INSN_MAX_LENGTH ? size : INSN_MAX_LENGTH,
        .ok = true,
    };
    const struct encoding *e;

    *i = (struct insn){.base = NO_REG, .index = NO_REG};
    opcode(i, &r, prefixes(i, &r, mode));
    e = r.ok ? find(i, &r, mode) : NULL;
    if (!e)
        goto unknown;
    i->op = e->op;
    i->operand_size = operand_size(i, e->flags, mode);
    i->address_size = address_size(i, mode);
    if (e->form != PLAIN)
        operands(i, &r, e->form, mode);
    if (i->prefixes & PREFIX_LOCK)
        i->reg = 8; /* only MOV CR0 comes this far */
    if (e->flags & IMM8)
        i->imm = next(&r);
    if (e->flags & FAR)
        for (int n = 0; n < 2 + i->operand_size; n++)
            next(&r);
    if (!r.ok)
        goto unknown;
    i->length = (u8)r.pos;
    return true;
unknown:
    *i = (struct insn){0};
    return false;
}

u64 insn_address(const struct insn *i, const u64 gpr[GPRS], u64 next_rip)
{
    u64 address = (u64)(int64_t)i->disp;

    if (i->base == BASE_RIP)
        address += next_rip;
    else if (i->base != NO_REG)
        address += gpr[i->base];
    if (i->index != NO_REG)
        address += gpr[i->index] * i->scale;
    if (i->address_size == 2)
        return (u16)address;
    if (i->address_size == 4)
        return (u32)address;
    return address;
}

const char *insn_name(enum insn_op op)
{
    return names[op < INSN_OPS ? op : INSN_UNKNOWN];
}
