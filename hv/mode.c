/*
 * The modes of the guest: initial state, tables, linear addresses.
 */
#include "hv/mode.h"

#include "hv/cpu.h"
#include "hv/guest.h"
#include "hv/lib.h"
#include "hv/msr.h"

/* Gates, SDM 6.11 and 6.14.1: P, type 14. Software may use INT3, INTO and the
 * vectors that are no exceptions from every level. */
#define GATE_INTERRUPT 0x8e00u
#define GATE_DPL3      0x6000u

#define TSS_BUSY      0x8b /* P, 32- or 64-bit TSS, busy (SDM 8.2.2) */
#define TSS_SIZE      104u
#define TSS_LIMIT     (TSS_SIZE + GUEST_PORTS / 8)
#define TSS_STACK     4   /* RSP0; ESP0 and behind it SS0 (SDM 8.2.1, 8.7) */
#define TSS_IO_MAP    102 /* where the I/O map base address stands */
#define IVT_LIMIT     0x3ff
#define LIMIT_64K     0xffffu
#define USER_STACK    0x1000 /* of the stack, what the exceptions do not use */
#define SEGMENT_SHIFT 4

/* Segment attributes as struct segment has them: G, D or L, P, DPL, type with
 * the accessed bit set. */
#define ATTR_CODE64 (SEG_ATTR_G | SEG_ATTR_L | 0x9bu)
#define ATTR_CODE32 (SEG_ATTR_G | SEG_ATTR_D | 0x9bu)
#define ATTR_DATA   (SEG_ATTR_G | SEG_ATTR_D | 0x93u)
#define ATTR_CODE16 0x9bu
#define ATTR_DATA16 0x93u
#define ATTR_V86    0xf3u /* SDM 27.3.1.2 asks for exactly this */
#define ATTR_DPL3   0x60u

#define FLAGS_IOPL3 (RFLAGS_IOPL * 3)

bool mode_is_legacy(enum guest_mode mode)
{
    return mode != MODE_64 && mode != MODE_64_USER && mode != MODE_COMPAT;
}

static u64 stack_base(void)
{
    return GUEST_GPA(guest_stack_top) - GUEST_STACK;
}

static void build_idt64(u64 *idt)
{
    for (u64 n = 0; n < 256; n++) {
        u64 stub = GUEST_GPA(guest_vectors) + n * GUEST_STUB;
        u64 type = GATE_INTERRUPT | (n == 3 || n >= 32 ? GATE_DPL3 : 0);

        idt[2 * n] = (stub & 0xffff) | (u64)GUEST_CS << 16 | type << 32 |
                     (stub >> 16 & 0xffff) << 48;
        idt[2 * n + 1] = stub >> 32;
    }
}

static void build_idt32(u64 *idt)
{
    for (u64 n = 0; n < 256; n++) {
        u64 stub = GUEST_GPA(guest_vectors32) + n * GUEST_STUB;
        u64 type =
            GATE_INTERRUPT | (n == 3 || n == 4 || n >= 32 ? GATE_DPL3 : 0);

        idt[n] = (stub & 0xffff) | (u64)GUEST_CS32 << 16 | type << 32 |
                 (stub >> 16) << 48;
    }
}

/* Real mode: an offset and a segment (SDM 21.1.4). */
static void build_ivt(u32 *ivt)
{
    for (u32 n = 0; n < 256; n++) {
        u64 stub = GUEST_GPA(guest_vectors16) + n * GUEST_STUB16;

        ivt[n] = (u32)(stub - GUEST_BASE) | GUEST_BASE >> SEGMENT_SHIFT << 16;
    }
}

/* The stack for exceptions from CPL 3, and the I/O map: all ports allowed but
 * eight, and the byte of ones that must end it (SDM vol 1, 19.5.2). */
static void build_tss(u8 *tss, u64 stack, bool is64)
{
    u16 io_map = TSS_SIZE, ss0 = GUEST_DS;

    memcpy(tss + TSS_STACK, &stack, sizeof(stack));
    if (!is64)
        memcpy(tss + TSS_STACK + 4, &ss0, sizeof(ss0));
    memcpy(tss + TSS_IO_MAP, &io_map, sizeof(io_map));
    tss[io_map + GUEST_PORT_DENIED / 8] = 0xff;
    tss[io_map + GUEST_PORTS / 8] = 0xff;
}

static u64 descriptor(u64 base, u64 limit, u64 type)
{
    return limit | (base & 0xffffff) << 16 | type << 40 |
           (base >> 24 & 0xff) << 56;
}

void mode_build_tables(enum guest_mode mode)
{
    u64 *gdt =
        guest_memory(GUEST_GPA(guest_gdt), (u64)(guest_gdt_end - guest_gdt));
    void *idt = guest_memory(GUEST_GPA(guest_idt), PAGE_SIZE);

    if (!mode_is_legacy(mode))
        build_idt64(idt);
    else if (mode == MODE_REAL || mode == MODE_REAL_PAGED)
        build_ivt(idt);
    else
        build_idt32(idt);
    build_tss(guest_memory(GUEST_GPA(guest_tss), TSS_LIMIT + 1),
              GUEST_GPA(guest_stack_top), true);
    build_tss(guest_memory(GUEST_GPA(guest_tss32), TSS_LIMIT + 1),
              GUEST_GPA(guest_stack_top), false);
    gdt[GUEST_TR / 8] = descriptor(GUEST_GPA(guest_tss), TSS_LIMIT, TSS_BUSY);
    gdt[GUEST_TR / 8 + 1] = GUEST_GPA(guest_tss) >> 32;
    gdt[GUEST_TR32 / 8] =
        descriptor(GUEST_GPA(guest_tss32), TSS_LIMIT, TSS_BUSY);
    gdt[GUEST_SS16 / 8] = descriptor(stack_base(), LIMIT_64K, ATTR_DATA16);
}

/* What every mode has: physical interrupts exit whatever IF is; set, it also
 * covers an AMD-V that looks only at the guest's (scenario interrupt_if0).
 * CR0.NE is set in the modes without protection, too: VT-x fixes it to 1, and
 * so it need not hide it from the guest. */
static void common_state(const u8 *code, struct guest_state *gs)
{
    *gs = (struct guest_state){
        .rip = GUEST_GPA(code),
        .rsp = GUEST_GPA(guest_stack_top),
        .rflags = RFLAGS_FIXED | RFLAGS_IF,
        .cr0 = CR0_ET | CR0_NE,
        .cr3 = GUEST_GPA(guest_pml4),
        .cr4 = CR4_OSFXSR,
        .efer = EFER_NXE,
        .dr7 = DR7_RESET,
        .pat = 0x0007040600070406, /* as after reset (SDM 12.12.4) */
        .seg = {[SEG_LDTR] = {0, SEG_UNUSABLE, 0, 0},
                [SEG_TR] = {GUEST_TR32, TSS_BUSY, TSS_LIMIT,
                            GUEST_GPA(guest_tss32)}},
        .gdt_base = GUEST_GPA(guest_gdt),
        .gdt_limit = (u32)(guest_gdt_end - guest_gdt) - 1,
        .idt_base = GUEST_GPA(guest_idt),
        .idt_limit = PAGE_SIZE - 1,
    };
}

static void all_segments(struct guest_state *gs, struct segment code,
                         struct segment data, struct segment stack)
{
    gs->seg[SEG_CS] = code;
    gs->seg[SEG_SS] = stack;
    gs->seg[SEG_DS] = data;
    gs->seg[SEG_ES] = data;
    gs->seg[SEG_FS] = data;
    gs->seg[SEG_GS] = data;
}

static void long_state(enum guest_mode mode, struct guest_state *gs)
{
    struct segment code = {GUEST_CS, ATTR_CODE64, ~0u, 0};
    struct segment data = {GUEST_DS, ATTR_DATA, ~0u, 0};

    if (mode == MODE_COMPAT)
        code = (struct segment){GUEST_CS32, ATTR_CODE32, ~0u, 0};
    if (mode == MODE_64_USER) {
        code.selector = GUEST_CS3;
        code.attr |= ATTR_DPL3;
        data.selector = GUEST_DS3;
        data.attr |= ATTR_DPL3;
        gs->rsp -= USER_STACK;
    }
    all_segments(gs, code, data, data);
    gs->seg[SEG_TR] =
        (struct segment){GUEST_TR, TSS_BUSY, TSS_LIMIT, GUEST_GPA(guest_tss)};
    gs->cr0 |= CR0_PE | CR0_PG | CR0_WP;
    gs->cr4 |= CR4_PAE;
    gs->efer |= EFER_LME | EFER_LMA;
}

static void protected_state(enum guest_mode mode, struct guest_state *gs)
{
    const struct segment code = {GUEST_CS32, ATTR_CODE32, ~0u, 0};
    const struct segment data = {GUEST_DS, ATTR_DATA, ~0u, 0};

    all_segments(gs, code, data, data);
    gs->cr0 |= CR0_PE;
    if (mode == MODE_32)
        return;
    gs->cr0 |= CR0_PG | CR0_WP;
    if (mode == MODE_32_PAGED) {
        gs->cr3 = GUEST_GPA(guest_pd);
        return;
    }
    gs->cr3 = GUEST_GPA(guest_pdpt);
    gs->cr4 |= CR4_PAE;
    memcpy(gs->pdpte, guest_memory(gs->cr3, sizeof(gs->pdpte)),
           sizeof(gs->pdpte));
}

/* Real, virtual-8086 and 16-bit protected mode have three segments of 64 KiB:
 * text, the probe page, the stack. */
static void small_state(enum guest_mode mode, struct guest_state *gs)
{
    u16 stack_segment = (u16)(stack_base() >> SEGMENT_SHIFT);
    struct segment code = {GUEST_BASE >> SEGMENT_SHIFT, ATTR_CODE16, LIMIT_64K,
                           GUEST_BASE};
    struct segment data = {GUEST_REAL_DS, ATTR_DATA16, LIMIT_64K,
                           GUEST_REAL_DS << SEGMENT_SHIFT};
    struct segment stack = {stack_segment, ATTR_DATA16, LIMIT_64K,
                            stack_base()};

    gs->rip -= GUEST_BASE;
    gs->rsp = GUEST_STACK;
    switch (mode) {
    case MODE_16:
        code.selector = GUEST_CS16;
        data.selector = GUEST_DS16;
        stack.selector = GUEST_SS16;
        gs->cr0 |= CR0_PE;
        break;
    case MODE_REAL_PAGED:
        gs->cr0 |= CR0_PG | CR0_WP;
        gs->cr3 = GUEST_GPA(guest_pd);
        gs->idt_limit = IVT_LIMIT;
        break;
    case MODE_V86:
        code.attr = data.attr = stack.attr = ATTR_V86;
        gs->cr0 |= CR0_PE;
        gs->rflags |= RFLAGS_VM | FLAGS_IOPL3;
        gs->rsp -= USER_STACK;
        break;
    default:
        gs->idt_limit = IVT_LIMIT;
        break;
    }
    all_segments(gs, code, data, stack);
}

void mode_initial_state(enum guest_mode mode, const u8 *code,
                        struct guest_state *gs)
{
    common_state(code, gs);
    if (!mode_is_legacy(mode))
        long_state(mode, gs);
    else if (mode == MODE_32 || mode == MODE_32_PAGED || mode == MODE_32_PAE)
        protected_state(mode, gs);
    else
        small_state(mode, gs);
}

void mode_changed(struct vcpu *v)
{
    u64 cr0 = v->ops->get(v, REG_CR0), efer = v->ops->get(v, REG_EFER);
    bool lma = (efer & EFER_LME) && (cr0 & CR0_PG);
    const u64 *pdpt;

    v->ops->set(v, REG_EFER, (efer & ~EFER_LMA) | (lma ? EFER_LMA : 0));
    if (lma || !(cr0 & CR0_PG) || !(v->ops->get(v, REG_CR4) & CR4_PAE))
        return;
    pdpt = guest_memory(v->ops->get(v, REG_CR3) & 0xffffffe0, PDPTES * 8);
    for (u32 n = 0; pdpt && n < PDPTES; n++)
        v->ops->set(v, (enum guest_reg)(REG_PDPTE0 + n), pdpt[n]);
}

static enum insn_mode mode_by(struct vcpu *v, const struct segment *cs)
{
    if ((cs->attr & SEG_ATTR_L) && (v->ops->get(v, REG_EFER) & EFER_LMA))
        return INSN_64;
    return cs->attr & SEG_ATTR_D ? INSN_32 : INSN_16;
}

enum insn_mode mode_of_code(struct vcpu *v)
{
    struct segment cs;

    v->ops->get_segment(v, SEG_CS, &cs);
    return mode_by(v, &cs);
}

static u64 linear(enum insn_mode mode, enum seg seg, u64 base, u64 offset)
{
    if (mode != INSN_64)
        return (u32)(base + offset);
    return offset + (seg == SEG_FS || seg == SEG_GS ? base : 0);
}

u64 mode_linear(struct vcpu *v, enum seg seg, u64 offset)
{
    struct segment s;

    v->ops->get_segment(v, seg, &s);
    return linear(mode_of_code(v), seg, s.base, offset);
}

u64 mode_linear_rip(struct vcpu *v)
{
    struct segment cs;

    v->ops->get_segment(v, SEG_CS, &cs);
    return linear(mode_by(v, &cs), SEG_CS, cs.base, v->exit.rip);
}

bool mode_decode(struct vcpu *v, struct insn *i)
{
    size_t size = INSN_MAX_LENGTH;
    struct segment cs;
    enum insn_mode mode;
    const u8 *at;
    u64 rip;

    v->ops->get_segment(v, SEG_CS, &cs);
    mode = mode_by(v, &cs);
    rip = linear(mode, SEG_CS, cs.base, v->exit.rip);
    at = guest_memory(rip, size);
    while (!at && --size > 0) /* close to the end of the guest's memory */
        at = guest_memory(rip, size);
    return at && insn_decode(i, at, size, mode);
}
