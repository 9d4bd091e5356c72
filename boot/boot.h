/*
 * struct boot_info: all that the hypervisor ever learns from the firmware.
 * Filled by efi_main before boot services end; nothing in hv/ calls UEFI.
 */
#ifndef BOOT_BOOT_H
#define BOOT_BOOT_H

#include "hv/types.h"

enum shutdown_how {
    SHUTDOWN_RESET,     /* UEFI runtime service ResetSystem */
    SHUTDOWN_ISA_DEBUG, /* QEMU isa-debug-exit at port 0x501 */
    SHUTDOWN_BOCHS,     /* the 8 bytes of "Shutdown" to port 0x8900 */
};

enum run_mode {
    MODE_CONFORMANCE,
    MODE_BENCH,
    MODE_PREFLIGHT, /* no scenario: can a guest run here at all? */
};

/* The order of the scenarios: as their texts stand, backwards, or shuffled. */
enum run_order {
    ORDER_FORWARD,
    ORDER_REVERSE,
    ORDER_RANDOM,
};

enum transport {
    TRANSPORT_COM1, /* 16550 at 0x3f8 */
    TRANSPORT_E9,   /* Bochs port_e9_hack, QEMU isa-debugcon at 0xe9 */
};

/* What \tollgate.cfg may say; see boot/config.c for keys and defaults. */
struct config {
    enum run_mode mode;
    enum shutdown_how shutdown;
    enum transport transport;
    u32 trace_mask; /* bit mask of enum trace_class */
    enum run_order order;
    u32 seed;            /* of ORDER_RANDOM: the same seed, the same order */
    u32 watchdog_ms;     /* a guest that runs longer is ended: timeout */
    char scenarios[256]; /* comma-separated names; empty: all but demo ones */
    char fatal[64];      /* those that this machine would not survive */
    char error[128];     /* first bad line, "line N: ..."; empty: none */
};

/* One range of physical memory that the hypervisor must still reach. */
struct boot_range {
    u64 base, pages;
    bool executable; /* runtime services code */
    bool device;     /* map uncacheable */
};

struct boot_info {
    struct config config;
    u64 arena, arena_size;        /* page-aligned RAM, zeroed, all ours */
    u64 image, image_size;        /* where this PE image was loaded */
    u64 low_page;                 /* below 1 MiB, where CPUs start; 0: none */
    u64 rsdp;                     /* ACPI 2.0 RSDP, 0: none */
    u64 reset_system;             /* EFI_RESET_SYSTEM function, 0: none */
    u64 firmware_cr3;             /* for the final ResetSystem call only */
    u64 tsc_hz;                   /* measured against BootServices->Stall */
    struct boot_range ranges[64]; /* runtime-services and ACPI memory */
    u32 range_count;
};

/* The hypervisor's entry: boot services have ended, interrupts are off. */
__attribute__((noreturn)) void hv_main(struct boot_info *bi);

#endif
