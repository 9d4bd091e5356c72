/*
 * The hypervisor's own exceptions: a report that can be acted upon, then back
 * to the innermost host_try(), or the end of the run. And its interrupts.
 */
#include "hv/apic.h"
#include "hv/console.h"
#include "hv/cpu.h"
#include "hv/fault.h"
#include "hv/image.h"
#include "hv/memory.h"
#include "hv/paging.h"
#include "hv/serial.h"
#include "hv/shutdown.h"

#define FIRST_INTERRUPT 0x20 /* below: exceptions and NMI */
#define BACKTRACE_DEPTH 16

#pragma GCC visibility push(hidden)
extern u64 host_try_top;            /* hv/vectors.asm */
extern const u8 host_try_landing[]; /* hv/vectors.asm */
#pragma GCC visibility pop

static struct host_fault last;
static bool any_fault;
static bool reporting; /* a fault is being reported right now */
static u64 nmi_count;
static u64 taken[256 / 64]; /* interrupt vectors, until somebody asks */

/* SDM Table 6-1; 28 to 30: APM 8.2. */
static const char *const names[FIRST_INTERRUPT] = {
    "#DE divide error",
    "#DB debug",
    "NMI",
    "#BP breakpoint",
    "#OF overflow",
    "#BR bound range exceeded",
    "#UD invalid opcode",
    "#NM device not available",
    "#DF double fault",
    "coprocessor segment overrun",
    "#TS invalid TSS",
    "#NP segment not present",
    "#SS stack-segment fault",
    "#GP general protection",
    "#PF page fault",
    "reserved",
    "#MF x87 floating-point error",
    "#AC alignment check",
    "#MC machine check",
    "#XM SIMD floating-point error",
    "#VE virtualization exception",
    "#CP control protection",
    [28] = "#HV hypervisor injection",
    "#VC VMM communication",
    "#SX security",
};

/* What a #PF's error code says (SDM 4.7), in words. */
static void print_page_fault(u64 error, u64 address)
{
    const char *what = error & BIT(4)   ? "instruction fetch from"
                       : error & BIT(1) ? "write to"
                                        : "read from";

    print("  %s 0x%lx, which is %s\n", what, address,
          memory_is_guard(address) ? "a guard page: stack overflow"
          : error & BIT(3)         ? "mapped with a reserved bit set"
          : error & BIT(0)         ? "mapped without that right"
                                   : "not mapped");
}

static void print_registers(const struct frame *f)
{
    print("  rax %016lx rcx %016lx rdx %016lx rbx %016lx\n", f->rax, f->rcx,
          f->rdx, f->rbx);
    print("  rsp %016lx rbp %016lx rsi %016lx rdi %016lx\n", f->rsp, f->rbp,
          f->rsi, f->rdi);
    print("  r8  %016lx r9  %016lx r10 %016lx r11 %016lx\n", f->r8, f->r9,
          f->r10, f->r11);
    print("  r12 %016lx r13 %016lx r14 %016lx r15 %016lx\n", f->r12, f->r13,
          f->r14, f->r15);
    print("  rflags %lx cs %lx ss %lx cr0 %lx cr2 %lx cr3 %lx cr4 %lx\n",
          f->rflags, f->cs, f->ss, read_cr0(), last.cr2, read_cr3(),
          read_cr4());
}

static bool in_text(u64 address)
{
    return address >= phys(image_text_start) && address < phys(image_text_end);
}

/* Prints the call that pushed the return address at this place in memory, if
 * it is one. Looked up in the page tables first, since a broken stack may be
 * what is reported. A return address less one lies inside its call, on whose
 * line it belongs. */
static bool print_call(u64 place)
{
    u64 call;

    if (place % 8 || !paging_walk(place))
        return false;
    call = *(const u64 *)place - 1;
    if (!in_text(call))
        return false;
    print(" 0x%lx", image_offset(call));
    return true;
}

/*
 * A command to paste: the faulting instruction, then the calls that led to
 * it. A function that has not built its frame yet, or has none, still has its
 * return address on top of the stack; the others follow by frame pointer.
 */
static void print_backtrace(const struct frame *f)
{
    u64 rbp = f->rbp;

    print("  addr2line -pfie build/tollgate.elf");
    if (in_text(f->rip))
        print(" 0x%lx", image_offset(f->rip));
    print_call(f->rsp);
    for (u32 i = 0; i < BACKTRACE_DEPTH && print_call(rbp + 8); i++) {
        u64 outer = paging_walk(rbp) ? *(const u64 *)rbp : 0;

        if (outer <= rbp) /* callers' frames lie above */
            break;
        rbp = outer;
    }
    print("\n");
}

static void report(const struct frame *f)
{
    const char *name = names[f->vector];

    print("HOST FAULT: %s (vector %lu), error code 0x%lx\n",
          name ? name : "reserved", f->vector, f->error);
    if (in_text(f->rip))
        print("  rip 0x%lx = image + 0x%lx\n", f->rip, image_offset(f->rip));
    else
        print("  rip 0x%lx, which is not the hypervisor's code\n", f->rip);
    if (f->vector == VECTOR_PF)
        print_page_fault(f->error, last.cr2);
    print_registers(f);
    print_backtrace(f);
}

/* A fault while one is reported: whatever print() needs is broken. */
NORETURN static void double_trouble(void)
{
    static const char text[] = "\nHOST FAULT inside the fault handler\n";

    serial_write(text, sizeof(text) - 1);
    serial_drain();
    shutdown_at_once();
}

static void exception(struct frame *f)
{
    if (reporting)
        double_trouble();
    reporting = true;
    any_fault = true;
    last = (struct host_fault){
        .vector = (u8)f->vector,
        .error = f->error,
        .rip = f->rip,
        .cr2 = read_cr2(),
    };
    report(f);
    reporting = false;
    /* #DF and #MC are aborts (SDM 6.5): nothing can be relied on then. */
    if (!host_try_top || shutdown_begun() || f->vector == VECTOR_DF ||
        f->vector == VECTOR_MC)
        shutdown(RUN_ERROR);
    /* IRET then goes to the landing, and unblocks NMIs on the way. */
    f->rip = phys(host_try_landing);
    f->rsp = host_try_top;
    f->rflags = RFLAGS_FIXED;
}

void host_vector(struct frame *f)
{
    if (f->vector == VECTOR_NMI) {
        nmi_count++;
    } else if (f->vector == VECTOR_SX) {
        /* An INIT, redirected (APM 15.28): no more is to be done. */
    } else if (f->vector < FIRST_INTERRUPT) {
        exception(f);
    } else if (f->vector != SPURIOUS_VECTOR) {
        /* A spurious interrupt has no ISR bit to end (SDM 11.9). */
        taken[f->vector / 64] |= BIT(f->vector % 64);
        apic_eoi();
    }
}

const struct host_fault *host_last_fault(void)
{
    return any_fault ? &last : NULL;
}

u64 host_nmi_count(void)
{
    return nmi_count;
}

void host_raise_nmi(void)
{
    __asm__ volatile("int $2" ::: "memory"); /* the stub ends with IRET */
}

u8 host_take_interrupt(void)
{
    sti();
    __asm__ volatile("nop"); /* STI holds interrupts off for one more */
    cli();
    for (u32 i = ARRAY_SIZE(taken); i-- > 0;) {
        if (taken[i]) {
            u32 bit = 63 - (u32)__builtin_clzll(taken[i]);

            taken[i] &= ~BIT(bit);
            return (u8)(i * 64 + bit);
        }
    }
    return 0;
}
