/*
 * From a benchmark's events to what a round trip costs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hv/vcpu.h"
#include "tools/trips.h"
#include "trace/trace.h"

static struct ring ring;
static u8 memory[4 * 4096];
static u64 now;
static struct trips trips;

static int setup(void **state)
{
    u8 uuid[16];

    (void)state;
    schema_uuid(uuid);
    ring_init(&ring, memory, 4096, 4, 0, uuid, ~0u);
    now = 1000;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    trips_free(&trips);
    memset(&trips, 0, sizeof(trips));
    return 0;
}

/* Takes what the ring holds into `trips`. */
static void take(void)
{
    struct event_view e;
    struct decoder d;

    ring_flush(&ring, now);
    for (const struct packet *p; (p = ring_peek(&ring)); ring_release(&ring)) {
        assert_int_equal(decode_begin(&d, (const u8 *)p, p->packet_size / 8),
                         DECODE_OK);
        while (decode_next(&d, &e) == DECODE_OK)
            trips_event(&trips, &e);
    }
}

static void out(u8 kind)
{
    now += 100;
    ring_tick(&ring, now);
    trace_vmexit(&ring, kind, 0, 0x1000, 2);
}

static void in(u64 after, u16 path)
{
    now += after;
    ring_tick(&ring, now);
    trace_vmentry(&ring, path);
}

static void trip(u8 kind, u64 ticks)
{
    out(kind);
    in(ticks, 0);
}

/* Two trips of 60 ticks, and 100 from an entry to the next exit. That one of
 * them took longer, as when a packet is full, is no part of any trip. */
static void loop(void)
{
    in(0, PATH_FIRST);
    trip(EXIT_CPUID, 60);
    trip(EXIT_CPUID, 160);
    out(EXIT_HYPERCALL);
    trace_bench(&ring, "cpuid-traced", 2, 420, 104, 110);
}

static void test_median_and_outside(void **state)
{
    (void)state;
    loop();
    in(0, PATH_FIRST);
    trip(EXIT_HLT, 70);
    trip(EXIT_HLT, 900);
    trip(EXIT_HLT, 50);
    trip(EXIT_IO, 40);
    trip(EXIT_IO, 41);
    take();
    assert_int_equal(trips_cost(&trips, EXIT_HLT), 70 + 100);
    assert_int_equal(trips.of[EXIT_HLT].count, 3);
    /* Of an even number the smaller of the two in the middle. */
    assert_int_equal(trips_cost(&trips, EXIT_IO), 40 + 100);
    assert_int_equal(trips_cost(&trips, EXIT_RDTSC), 0);
}

static void test_loop(void **state)
{
    const struct loop_cost *l = &trips.loops[LOOP_TRACED];

    (void)state;
    loop();
    take();
    assert_true(l->seen && !trips.loops[LOOP_BARE].seen);
    assert_true(l->ticks == 210 && l->ring_bytes == 52 && l->wire_bytes == 55);
    /* Its trips are not the scenarios', whose guests do more between exits. */
    assert_int_equal(trips_cost(&trips, EXIT_CPUID), 0);
    in(0, PATH_FIRST);
    now += 9000;
    trip(EXIT_CPUID, 61);
    take();
    assert_int_equal(trips_cost(&trips, EXIT_CPUID), 161);
}

/* An exit from which the guest did not come back is no trip, and the first
 * entry of the next guest does not make it one. */
static void test_no_way_back(void **state)
{
    (void)state;
    loop();
    out(EXIT_TRIPLE_FAULT);
    in(5000, PATH_FIRST);
    out(EXIT_HYPERCALL);
    out(EXIT_HLT);
    in(10, PATH_ADVANCED);
    take();
    assert_int_equal(trips_cost(&trips, EXIT_TRIPLE_FAULT), 0);
    assert_int_equal(trips_cost(&trips, EXIT_HYPERCALL), 0);
    assert_int_equal(trips_cost(&trips, EXIT_HLT), 110);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_median_and_outside, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_way_back, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
