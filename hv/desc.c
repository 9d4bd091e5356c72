/* GDT, TSS and IDT of the hypervisor. */
#include "hv/cpu.h"
#include "hv/desc.h"
#include "hv/memory.h"

/* Code and data descriptors in 64-bit mode (SDM 3.4.5, 5.2.1): base and limit
 * are ignored; accessed is set, so that the CPU never writes to them. */
#define DESC_CODE 0x00af9b000000ffffull /* P, S, execute/read, L, G */
#define DESC_DATA 0x00cf93000000ffffull /* P, S, read/write, B, G */

#define TSS_AVAILABLE  0x89 /* P, type 9: 64-bit TSS, not busy */
#define INTERRUPT_GATE 0x8e /* P, DPL 0, type 14: clears RFLAGS.IF */

/* SDM 8.7 (Task Management in 64-bit Mode), Figure 8-11. */
struct tss {
    u32 reserved0;
    u64 rsp[3];
    u64 reserved1;
    u64 ist[7]; /* ist[0] is IST1 */
    u64 reserved2;
    u16 reserved3;
    u16 iomap;
} PACKED;
_Static_assert(sizeof(struct tss) == 104, "SDM 8.7");

/* SDM 6.14.1 (64-Bit Mode IDT), Figure 6-8. */
struct gate {
    u16 offset0;
    u16 selector;
    u8 ist;
    u8 type;
    u16 offset16;
    u32 offset32;
    u32 reserved;
} PACKED;
_Static_assert(sizeof(struct gate) == 16, "SDM 6.14.1");

/* Exceptions have stacks of their own: a stack overflow is a #PF that cannot
 * be pushed onto the stack that overflowed. NMI, #DF and #MC can come while
 * another exception is being handled, so each has its own. */
enum ist { IST_NONE, IST_EXCEPTION, IST_NMI, IST_DF, IST_MC, ISTS };
#define IST_PAGES 4

#define EXCEPTIONS  32 /* vectors that the CPU reserves for itself */
#define STUB_STRIDE 16 /* hv/vectors.asm aligns each stub so */

#pragma GCC visibility push(hidden)
extern const u8 vector_stubs[];              /* hv/vectors.asm */
void desc_load_segments(u16 code, u16 data); /* hv/vectors.asm */
#pragma GCC visibility pop

static u64 gdt[5];
static struct tss tss;
static struct gate idt[256];

static u8 ist_of(u32 vector)
{
    switch (vector) {
    case VECTOR_NMI:
        return IST_NMI;
    case VECTOR_DF:
        return IST_DF;
    case VECTOR_MC:
        return IST_MC;
    default:
        return vector < EXCEPTIONS ? IST_EXCEPTION : IST_NONE;
    }
}

static void fill_gate(u32 vector)
{
    u64 stub = phys(vector_stubs + vector * STUB_STRIDE);

    idt[vector] = (struct gate){
        .offset0 = (u16)stub,
        .selector = SEL_CODE,
        .ist = ist_of(vector),
        .type = INTERRUPT_GATE,
        .offset16 = (u16)(stub >> 16),
        .offset32 = (u32)(stub >> 32),
    };
}

/* A 64-bit TSS descriptor takes two slots (SDM 8.2.3, Figure 8-4). */
static void fill_tss_descriptor(void)
{
    u64 base = phys(&tss), limit = sizeof(tss) - 1;
    u64 *d = &gdt[SEL_TSS / 8];

    d[0] = limit | (base & 0xffffff) << 16 | (u64)TSS_AVAILABLE << 40 |
           (base >> 24 & 0xff) << 56;
    d[1] = base >> 32;
}

void desc_reload_tr(void)
{
    fill_tss_descriptor(); /* LTR refuses a busy one, which LTR makes it */
    ltr(SEL_TSS);
}

void desc_init(void)
{
    struct table_register gdtr = {sizeof(gdt) - 1, phys(gdt)};
    struct table_register idtr = {sizeof(idt) - 1, phys(idt)};

    gdt[SEL_CODE / 8] = DESC_CODE;
    gdt[SEL_DATA / 8] = DESC_DATA;
    for (u32 i = IST_EXCEPTION; i < ISTS; i++)
        tss.ist[i - 1] =
            phys(pages_alloc_guarded(IST_PAGES)) + IST_PAGES * PAGE_SIZE;
    tss.iomap = sizeof(tss); /* none */
    for (u32 i = 0; i < ARRAY_SIZE(idt); i++)
        fill_gate(i);
    lgdt(&gdtr);
    desc_load_segments(SEL_CODE, SEL_DATA);
    lldt(0);
    desc_reload_tr();
    lidt(&idtr);
}

u64 desc_tss_base(void)
{
    return phys(&tss);
}

u64 desc_gdt_base(void)
{
    return phys(gdt);
}

u64 desc_idt_base(void)
{
    return phys(idt);
}
