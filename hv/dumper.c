/* The dumper's place in the hypervisor: line, ring, metadata, console. */
#include "hv/dumper.h"

#include "hv/console.h"
#include "hv/cpu.h"
#include "hv/memory.h"
#include "hv/serial.h"
#include "hv/shutdown.h"
#include "trace/dump.h"
#include "trace/metadata.h"
#include "trace/schema.h"

/* 32 packets of 8 KiB: a scenario's whole trace, or 5,000 round trips. */
#define SUB_SIZE  8192u
#define SUB_COUNT 32u

#define METADATA_PAGES 8u

static struct dump dump;
static struct ring *ring;

static u32 e9_room(void)
{
    return DUMP_BURST;
}

static const struct dump_transport com1 = {serial_room, serial_put};
static const struct dump_transport e9 = {e9_room, e9_put};

static void sink(const char *text, size_t size)
{
    dump_text(&dump, text, size);
}

void dumper_init(const struct boot_info *bi, struct ring *r, const char *vendor,
                 const char *cpu)
{
    const struct metadata_info info = {bi->tsc_hz, vendor, cpu};
    char *text = pages_alloc(METADATA_PAGES);
    size_t size = METADATA_PAGES * PAGE_SIZE;
    size_t length = metadata_text(text, size, &info);
    u8 uuid[16];

    if (length >= size)
        panic("the CTF metadata needs %zu bytes\n", length);
    schema_uuid(uuid);
    ring_init(r, pages_alloc(SUB_SIZE * SUB_COUNT / PAGE_SIZE), SUB_SIZE,
              SUB_COUNT, 0, uuid, bi->config.trace_mask);
    ring = r;
    dump_init(&dump, bi->config.transport == TRANSPORT_E9 ? &e9 : &com1);
    dump_metadata(&dump, text, length);
    console_set_sink(sink);
    shutdown_set_flush(dumper_drain);
}

bool dumper_poll(void)
{
    dump_poll(&dump, ring);
    return ring_waiting(ring) && !dump.hold;
}

void dumper_drain(void)
{
    dump_drain(&dump, ring, rdtsc());
    ring_attend(ring, ATTEND_PACKET, false); /* nothing waits any more */
}

void dumper_hold(bool hold)
{
    dump.hold = hold;
}

u64 dumper_bytes(void)
{
    return dump.bytes;
}
