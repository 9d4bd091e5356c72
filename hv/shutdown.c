/* The end of a run: shutdown(), and the ways to switch a machine off. */
#include "hv/console.h"
#include "hv/cpu.h"
#include "hv/format.h"
#include "hv/shutdown.h"

#define ISA_DEBUG_PORT 0x501
#define BOCHS_PORT     0x8900

/* EFI_RESET_SYSTEM, UEFI 8.5.1: type, status, data size, data. */
typedef __attribute__((ms_abi)) void reset_system(u32, u64, u64, void *);
#define EFI_RESET_SHUTDOWN 2
#define EFI_SUCCESS        0ull
#define EFI_ABORTED        (BIT(63) | 21)

static const struct boot_info *info;
static void (*flush)(void);
static bool begun;

void shutdown_init(const struct boot_info *bi)
{
    info = bi;
}

void shutdown_set_flush(void (*f)(void))
{
    flush = f;
}

bool shutdown_begun(void)
{
    return begun;
}

static void by_isa_debug(enum run_status status)
{
    outl(ISA_DEBUG_PORT, ISA_DEBUG_BASE + status);
}

static void by_bochs(void)
{
    static const char word[] = "Shutdown";

    for (u32 i = 0; word[i]; i++)
        outb(BOCHS_PORT, (u8)word[i]);
}

/*
 * The firmware's page tables map all of its own memory, and ours just as we
 * do. They lie in boot-services memory that nobody has written since, as the
 * arena is the only memory that we use.
 */
static void by_firmware(enum run_status status)
{
    reset_system *reset = (reset_system *)info->reset_system;

    if (!reset)
        return;
    write_cr3(info->firmware_cr3);
    reset(EFI_RESET_SHUTDOWN, status == RUN_OK ? EFI_SUCCESS : EFI_ABORTED, 0,
          NULL);
}

NORETURN void shutdown(enum run_status status)
{
    void (*f)(void) = flush;

    cli();
    begun = true;
    flush = NULL; /* should it fault, it is not called again */
    if (f)
        f();
    console_drain();
    if (info) {
        if (info->config.shutdown == SHUTDOWN_ISA_DEBUG)
            by_isa_debug(status);
        if (info->config.shutdown == SHUTDOWN_BOCHS)
            by_bochs();
        by_firmware(status);
    }
    console_set_sink(NULL);
    print("tollgate: the machine did not switch off; halted\n");
    console_drain();
    for (;;) {
        cli();
        hlt();
    }
}

NORETURN void shutdown_at_once(void)
{
    static const struct table_register no_idt;

    if (info && info->config.shutdown == SHUTDOWN_ISA_DEBUG)
        by_isa_debug(RUN_ERROR);
    if (info && info->config.shutdown == SHUTDOWN_BOCHS)
        by_bochs();
    lidt(&no_idt);
    for (;;)
        __asm__ volatile("int3");
}

NORETURN void panic(const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vformat(text, sizeof(text), fmt, ap);
    va_end(ap);
    print("error: %s", text);
    shutdown(RUN_ERROR);
}
