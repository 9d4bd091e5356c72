/*
 * The bounds of the image's parts; linker.ld defines these symbols. Those of
 * the guest's sections are in guest/guest.h.
 */
#ifndef HV_IMAGE_H
#define HV_IMAGE_H

#include "hv/types.h"

#pragma GCC visibility push(hidden)
extern const u8 ImageBase[]; /* gnu-efi's crt0 wants this very name */
extern const u8 image_text_start[], image_text_end[];
extern const u8 image_rodata_start[], image_rodata_end[]; /* with .relro */
extern const u8 image_data_start[], image_data_end[];     /* with .bss */
#pragma GCC visibility pop

/* An address as an offset into the image, as `addr2line -e` takes it. */
static inline u64 image_offset(u64 address)
{
    return address - (u64)(uintptr_t)ImageBase;
}

#endif
