/*
 * The UEFI application: learns what the hypervisor must know, leaves boot
 * services, and hands over. The only file that calls the firmware, but for
 * the final ResetSystem (hv/shutdown.c).
 *
 * UEFI section numbers are those of version 2.10.
 */
#include <efi.h>

#include "boot/boot.h"
#include "boot/config.h"
#include "hv/cpu.h"
#include "hv/format.h"
#include "hv/lib.h"

#define ARENA_SIZE        (16ull << 20)
#define BELOW_640K        0x9ffffull
#define BELOW_4G          0xffffffffull /* some control structures want it */
#define STALL_US          20000
#define EXIT_TRIES        8
#define CONFIG_MAX        4096
#define EFI_PAGE          4096
#define SPARE_DESCRIPTORS 16

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *system);

static struct boot_info boot_info;
static char config_text[CONFIG_MAX + 1];

static EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;
static EFI_GUID file_system_guid = EFI_SIMPLE_FILE_SYSTEM_PROTOCOL_GUID;
static EFI_GUID acpi_20_guid = ACPI_20_TABLE_GUID;

/* The memory map, and what ExitBootServices wants to know of it. */
struct memory_map {
    UINT8 *buffer;
    UINTN capacity, size, key, descriptor_size;
    UINT32 version;
};

/* Says on the firmware's console why we give up. */
static EFI_STATUS failed(EFI_SYSTEM_TABLE *system, const char *what,
                         EFI_STATUS status)
{
    char text[128];
    CHAR16 wide[128];
    size_t i = 0;

    format(text, sizeof(text), "tollgate: %s: EFI status %lx\r\n", what,
           status);
    for (; text[i]; i++)
        wide[i] = (CHAR16)text[i];
    wide[i] = 0;
    system->ConOut->OutputString(system->ConOut, wide);
    return status;
}

/* Reads at most CONFIG_MAX + 1 bytes; 0: there is no such file. */
static UINTN read_config(EFI_BOOT_SERVICES *bs, EFI_HANDLE device)
{
    EFI_SIMPLE_FILE_SYSTEM_PROTOCOL *volume;
    EFI_FILE_PROTOCOL *root, *file;
    UINTN size = sizeof(config_text);

    if (EFI_ERROR(
            bs->HandleProtocol(device, &file_system_guid, (void **)&volume)) ||
        EFI_ERROR(volume->OpenVolume(volume, &root)))
        return 0;
    if (EFI_ERROR(root->Open(root, &file, (CHAR16 *)L"\\tollgate.cfg",
                             EFI_FILE_MODE_READ, 0)))
        size = 0;
    else if (EFI_ERROR(file->Read(file, &size, config_text)))
        size = 0;
    return size;
}

static void load_config(EFI_BOOT_SERVICES *bs, EFI_HANDLE device)
{
    struct config *c = &boot_info.config;
    UINTN size = read_config(bs, device);

    config_defaults(c);
    if (size > CONFIG_MAX)
        format(c->error, sizeof(c->error),
               "tollgate.cfg is larger than %u bytes", CONFIG_MAX);
    else
        config_parse(c, config_text, size);
}

static u64 find_rsdp(const EFI_SYSTEM_TABLE *system)
{
    for (UINTN i = 0; i < system->NumberOfTableEntries; i++) {
        const EFI_CONFIGURATION_TABLE *t = &system->ConfigurationTable[i];

        if (!memcmp(&t->VendorGuid, &acpi_20_guid, sizeof(acpi_20_guid)))
            return (u64)t->VendorTable;
    }
    return 0;
}

static u64 measure_tsc(EFI_BOOT_SERVICES *bs)
{
    u64 start = rdtsc();

    bs->Stall(STALL_US);
    return (rdtsc() - start) * (1000000 / STALL_US);
}

static EFI_STATUS allocate_arena(EFI_BOOT_SERVICES *bs)
{
    EFI_PHYSICAL_ADDRESS address = BELOW_4G;
    EFI_STATUS status;

    status = bs->AllocatePages(AllocateMaxAddress, EfiLoaderData,
                               ARENA_SIZE / EFI_PAGE, &address);
    if (EFI_ERROR(status))
        return status;
    memset((void *)address, 0, ARENA_SIZE);
    boot_info.arena = address;
    boot_info.arena_size = ARENA_SIZE;
    return EFI_SUCCESS;
}

/* Another CPU begins at a page below 1 MiB, and above 640 KiB there is no
 * memory. Only scenarios with several CPUs need it. */
static void allocate_low_page(EFI_BOOT_SERVICES *bs)
{
    EFI_PHYSICAL_ADDRESS address = BELOW_640K;

    if (!EFI_ERROR(
            bs->AllocatePages(AllocateMaxAddress, EfiLoaderData, 1, &address)))
        boot_info.low_page = address;
}

/* The allocation itself may split an entry of the map, hence the spare. */
static EFI_STATUS allocate_map(EFI_BOOT_SERVICES *bs, struct memory_map *m)
{
    UINTN size = 0;

    bs->GetMemoryMap(&size, NULL, &m->key, &m->descriptor_size, &m->version);
    m->capacity = size + SPARE_DESCRIPTORS * m->descriptor_size;
    return bs->AllocatePool(EfiLoaderData, m->capacity, (void **)&m->buffer);
}

/*
 * ExitBootServices fails when the map has changed since it was read, for
 * example by an event that ran in between. The map is to be read again then,
 * and nothing else may be called (UEFI 7.4.6).
 */
static EFI_STATUS exit_boot_services(EFI_BOOT_SERVICES *bs, EFI_HANDLE image,
                                     struct memory_map *m)
{
    EFI_STATUS status = EFI_ABORTED;

    for (UINT32 i = 0; i < EXIT_TRIES && EFI_ERROR(status); i++) {
        m->size = m->capacity;
        status = bs->GetMemoryMap(&m->size, (EFI_MEMORY_DESCRIPTOR *)m->buffer,
                                  &m->key, &m->descriptor_size, &m->version);
        if (EFI_ERROR(status))
            break;
        status = bs->ExitBootServices(image, m->key);
    }
    return status;
}

/* False: the hypervisor has no use for this part of the map. */
static bool is_wanted(const EFI_MEMORY_DESCRIPTOR *d)
{
    return d->Attribute & EFI_MEMORY_RUNTIME ||
           d->Type == EfiACPIReclaimMemory || d->Type == EfiACPIMemoryNVS;
}

static void keep_range(const EFI_MEMORY_DESCRIPTOR *d)
{
    struct boot_range r = {
        .base = d->PhysicalStart,
        .pages = d->NumberOfPages,
        .executable = d->Type == EfiRuntimeServicesCode,
        .device = d->Type == EfiMemoryMappedIO ||
                  d->Type == EfiMemoryMappedIOPortSpace,
    };
    struct boot_range *last = &boot_info.ranges[boot_info.range_count - 1];

    /* Neighbours of the same kind become one range. */
    if (boot_info.range_count &&
        last->base + last->pages * EFI_PAGE == r.base &&
        last->executable == r.executable && last->device == r.device)
        last->pages += r.pages;
    else if (boot_info.range_count < ARRAY_SIZE(boot_info.ranges))
        boot_info.ranges[boot_info.range_count++] = r;
    else if (!boot_info.config.error[0])
        format(boot_info.config.error, sizeof(boot_info.config.error),
               "the memory map has too many runtime and ACPI ranges");
}

static void keep_ranges(const struct memory_map *m)
{
    /* Descriptors may be longer than the structure (UEFI 7.2.3). */
    for (UINTN at = 0; at < m->size; at += m->descriptor_size) {
        const void *d = m->buffer + at;

        if (is_wanted(d))
            keep_range(d);
    }
}

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *system)
{
    EFI_BOOT_SERVICES *bs = system->BootServices;
    EFI_LOADED_IMAGE_PROTOCOL *self;
    struct memory_map map = {0};
    EFI_STATUS status;

    status = bs->HandleProtocol(image, &loaded_image_guid, (void **)&self);
    if (EFI_ERROR(status))
        return failed(system, "no loaded image protocol", status);
    boot_info.image = (u64)self->ImageBase;
    boot_info.image_size = self->ImageSize;
    load_config(bs, self->DeviceHandle);
    boot_info.rsdp = find_rsdp(system);
    boot_info.reset_system = (u64)system->RuntimeServices->ResetSystem;
    boot_info.tsc_hz = measure_tsc(bs);
    status = allocate_arena(bs);
    if (EFI_ERROR(status))
        return failed(system, "no 16 MiB of memory below 4 GiB", status);
    allocate_low_page(bs);
    status = allocate_map(bs, &map);
    if (EFI_ERROR(status))
        return failed(system, "no memory for the memory map", status);
    status = exit_boot_services(bs, image, &map);
    if (EFI_ERROR(status))
        return failed(system, "cannot leave boot services", status);
    cli();
    keep_ranges(&map);
    boot_info.firmware_cr3 = read_cr3();
    hv_main(&boot_info);
}
