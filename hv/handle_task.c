/*
 * Task switches. VT-x never makes one, nor does AMD-V when it is intercepted:
 * the hypervisor does what the manuals say that the CPU does (SDM 8.3, APM
 * 12.3), between two 32-bit TSSs of the guest.
 *
 * The CPU has checked the TSS's descriptor before the exit (SDM 26.4.2); what
 * could still fault, a bad selector in the new TSS, is unexpected here, and so
 * are tasks that no scenario has: of 286 TSSs, in virtual-8086 mode, traced.
 */
#include "hv/handlers.h"

#include "hv/cpu.h"
#include "hv/guest.h"
#include "hv/mode.h"
#include "trace/trace.h"

/* SDM 8.2.1, Figure 8-2; the selectors' upper halves are reserved. */
struct tss32 {
    u32 link;
    u32 stacks[6];
    u32 cr3, eip, eflags;
    u32 gpr[8]; /* in the order of enum gpr */
    u32 seg[6]; /* in the order of enum seg */
    u32 ldtr;
    u16 trap, io_map;
};
_Static_assert(sizeof(struct tss32) == 104, "SDM Figure 8-2");

#define SELECTOR_INDEX 0xfff8u
#define TYPE_TSS_BUSY  2u /* of the type in a TSS's descriptor */
#define TYPE_TSS_32    8u
#define TSS_DEBUG      1u       /* T: #DB once the task is there */
#define DR7_LOCAL      0x155ull /* L0 to L3 and LE (SDM 18.2.4) */

/* The descriptor of a selector; NULL beyond the GDT. */
static u64 *descriptor(struct vcpu *v, u16 selector)
{
    u64 offset = selector & SELECTOR_INDEX;

    if (offset + 7 > v->ops->get(v, REG_GDTR_LIMIT))
        return NULL;
    return guest_memory(v->ops->get(v, REG_GDTR_BASE) + offset, 8);
}

static bool is_tss32(u64 d)
{
    return (d >> 40 & TYPE_TSS_32) != 0;
}

static struct segment parse(u16 selector, u64 d)
{
    struct segment s = {
        .selector = selector,
        .attr = (u16)(d >> 40 & 0xf0ff),
        .limit = (u32)((d & 0xffff) | (d >> 32 & 0xf0000)),
        .base = (d >> 16 & 0xffffff) | (d >> 32 & 0xff000000),
    };

    if (s.attr & SEG_ATTR_G)
        s.limit = s.limit << 12 | 0xfff;
    return s;
}

/* A null selector leaves the register unusable. */
static bool load_segment(struct vcpu *v, enum seg seg, u16 selector)
{
    struct segment s = {selector, SEG_UNUSABLE, 0, 0};
    const u64 *d = descriptor(v, selector);

    if (selector & SELECTOR_INDEX) {
        if (!d)
            return false;
        s = parse(selector, *d | (*d >> 44 & 1) << 40); /* code, data: used */
    }
    v->ops->set_segment(v, seg, &s);
    return true;
}

static void save_old(struct vcpu *v, struct tss32 *tss)
{
    u64 flags = v->ops->get(v, REG_RFLAGS) & ~RFLAGS_RF;
    struct segment s;

    if (v->exit.info.task.rf)
        flags |= RFLAGS_RF;
    if (v->exit.info.task.source == TASK_IRET)
        flags &= ~RFLAGS_NT;
    tss->eip = (u32)v->exit.rip + v->exit.length;
    tss->eflags = (u32)flags;
    for (u32 n = 0; n < ARRAY_SIZE(tss->gpr); n++)
        tss->gpr[n] = (u32)v->regs.gpr[n];
    tss->gpr[RSP] = (u32)v->ops->get(v, REG_RSP);
    for (u32 n = 0; n < ARRAY_SIZE(tss->seg); n++) {
        v->ops->get_segment(v, (enum seg)n, &s);
        tss->seg[n] = s.selector;
    }
}

/* An exception's error code goes onto the new task's stack (SDM 6.14.1). */
static bool push_error(struct vcpu *v, u32 esp)
{
    u8 *at;

    if (v->exit.info.task.has_error) {
        esp -= 4;
        at = guest_memory(mode_linear(v, SEG_SS, esp), 4);
        if (!at)
            return false;
        __builtin_memcpy(at, &v->exit.info.task.error, 4);
    }
    v->ops->set(v, REG_RSP, esp);
    return true;
}

static bool load_new(struct vcpu *v, const struct tss32 *tss, bool nested)
{
    u64 cr0 = v->ops->get(v, REG_CR0);

    if (cr0 & CR0_PG)
        v->ops->set(v, REG_CR3, tss->cr3);
    v->ops->set(v, REG_CR0, cr0 | CR0_TS);
    mode_changed(v);
    for (u32 n = 0; n < ARRAY_SIZE(tss->gpr); n++)
        v->regs.gpr[n] = tss->gpr[n];
    v->ops->set(v, REG_RIP, tss->eip);
    v->ops->set(v, REG_RFLAGS,
                tss->eflags | RFLAGS_FIXED | (nested ? RFLAGS_NT : 0));
    v->ops->set(v, REG_DR7, v->ops->get(v, REG_DR7) & ~DR7_LOCAL);
    if (!load_segment(v, SEG_LDTR, (u16)tss->ldtr))
        return false;
    for (u32 n = 0; n < ARRAY_SIZE(tss->seg); n++)
        if (!load_segment(v, (enum seg)n, (u16)tss->seg[n]))
            return false;
    return push_error(v, tss->gpr[RSP]);
}

bool handle_task_switch(struct vcpu *v)
{
    u16 selector = v->exit.info.task.selector;
    u8 source = v->exit.info.task.source;
    bool nested = source == TASK_CALL || source == TASK_GATE;
    struct segment tr, to;
    struct tss32 *old, *new;
    u64 *from_gdt, *to_gdt = descriptor(v, selector);

    trace_task(v->ring, source, selector, v->exit.info.task.error);
    v->ops->get_segment(v, SEG_TR, &tr);
    from_gdt = descriptor(v, tr.selector);
    if (!from_gdt || !to_gdt || !is_tss32(*to_gdt))
        return handle_unexpected(v);
    to = parse(selector, *to_gdt | (u64)TYPE_TSS_BUSY << 40);
    old = guest_memory(tr.base, sizeof(*old));
    new = guest_memory(to.base, sizeof(*new));
    if (!old || !new || (new->eflags &RFLAGS_VM) || (new->trap &TSS_DEBUG))
        return handle_unexpected(v);
    save_old(v, old);
    if (nested)
        new->link = tr.selector;
    else
        *from_gdt &= ~((u64)TYPE_TSS_BUSY << 40);
    *to_gdt |= (u64)TYPE_TSS_BUSY << 40;
    v->ops->set_segment(v, SEG_TR, &to);
    if (!load_new(v, new, nested))
        return handle_unexpected(v);
    v->ops->flush(v);
    v->path |= PATH_WROTE | PATH_FLUSH;
    return resume(v);
}
