/*
 * Writes a synthetic stream to stdout, through the real ring, dumper and
 * wire, for tests/tool.sh. Words on the command line change it:
 *
 *   svm          a run on AMD-V instead of VT-x
 *   fail         the scenario "two" fails a check
 *   select       only a selection of the scenarios ran
 *   noend        the run has no end
 *   fault        the hypervisor faults in the scenario "two"
 *   noraw        the trace mask leaves out class raw
 *   discard      the ring is too small for all events
 *   preflight    no scenario: a preflight that is ready; with fail: not
 *   twice        the machine starts again in the middle of the run
 *   bench        no scenario: a benchmark, of CPUID and XSETBV
 *   long         the scenario "one" has a name of 32 characters
 */
#include <stdio.h>
#include <string.h>

#include "hv/exit.h"
#include "hv/feature.h"
#include "hv/vcpu.h"
#include "trace/dump.h"
#include "trace/metadata.h"
#include "trace/schema.h"
#include "trace/trace.h"

static char **words;
static struct ring ring;
static struct dump dump;
static u8 memory[8 * 4096];
static u64 now = 1000000000;

static bool has(const char *word)
{
    for (char **w = words; *w; w++)
        if (strcmp(*w, word) == 0)
            return true;
    return false;
}

static u32 room(void)
{
    return DUMP_BURST;
}

static void put(const u8 *bytes, u32 count)
{
    fwrite(bytes, 1, count, stdout);
}

static const struct dump_transport transport = {room, put};

static void say(const char *text)
{
    dump_text(&dump, text, strlen(text));
}

static void tick(u64 n)
{
    now += n;
    ring_tick(&ring, now);
}

static u32 cpuid_code(void)
{
    return has("svm") ? 0x72 : 10;
}

static void round_trip(u32 leaf)
{
    tick(900);
    trace_vmexit(&ring, EXIT_CPUID, cpuid_code(), 0x8001000 + leaf, 2);
    trace_exit_raw(&ring, leaf, 0x22, 0);
    trace_cpuid(&ring, leaf, 0, 1, 0, 3, 4);
    tick(230);
    trace_vmentry(&ring, PATH_ADVANCED | PATH_WROTE);
}

static void scenario(const char *name, u32 trips, bool fail)
{
    tick(5000);
    trace_scenario_begin(&ring, name, EXIT_CPUID);
    if (strcmp(name, "two") == 0) /* a negative, too */
        trace_forbid(&ring, EXIT_HLT);
    for (u32 i = 0; i < trips; i++) {
        round_trip(i);
        /* Text in the middle of what is being sent. */
        if (i == trips / 2) {
            dump_poll(&dump, &ring);
            say("half way\n");
        }
        dump_poll(&dump, &ring);
    }
    tick(10);
    if (fail)
        trace_check_failed(&ring, "rip", 0x1000, 0x1002);
    if (has("fault") && strcmp(name, "two") == 0)
        trace_host_fault(&ring, 14, 2, 0x1234, 0xdead);
    tick(10);
    trace_scenario_end(&ring, name, EXIT_CPUID, cpuid_code(),
                       fail ? VERDICT_FAIL : VERDICT_PASS, trips,
                       fail ? "1 of the checks failed" : "");
    dump_drain(&dump, &ring, now);
}

static void start(void)
{
    const struct metadata_info info = {1000000000, has("svm") ? "SVM" : "VMX",
                                       "Synthetic CPU"};
    char text[32768];
    size_t len = metadata_text(text, sizeof(text), &info);
    u32 mask = has("noraw") ? ~(1u << CLASS_RAW) : ~0u;
    u8 uuid[16];

    schema_uuid(uuid);
    ring_init(&ring, memory, has("discard") ? 512 : 4096,
              has("discard") ? 4 : 8, 0, uuid, mask);
    dump_init(&dump, &transport);
    /* What OVMF leaves on the line before us. */
    say("\x1b[2J\x1b[001;001H\x1b[=3h\x1b[2J\x1b[001;001HBdsDxe: loading "
        "Boot0001\x1b[002;001HBdsDxe: starting\n");
    dump_metadata(&dump, text, len);
    say("Tollgate: hello\n");
    tick(0);
    trace_run_begin(&ring, has("svm") ? VENDOR_SVM : VENDOR_VMX,
                    "Synthetic CPU", 1000000000,
                    has("preflight") ? "preflight"
                    : has("bench")   ? "bench"
                    : has("select")  ? "one,two"
                                     : "");
}

/* Of AMD-V: nested paging and nRIP save. */
static void preflight(void)
{
    u64 has_both[FEATURE_WORDS] = {0};

    has_both[FEAT_SVM_NP / 64] |= BIT(FEAT_SVM_NP % 64);
    has_both[FEAT_SVM_NRIPS / 64] |= BIT(FEAT_SVM_NRIPS % 64);
    start();
    tick(10);
    trace_preflight(&ring, VENDOR_SVM,
                    has("fail") ? VERDICT_FAIL : VERDICT_PASS, has_both[0],
                    has_both[1], has_both[2], has("fail") ? "locked" : "");
    trace_run_end(&ring, 0);
    dump_drain(&dump, &ring, now);
}

/* The three loops of CPUIDs, and two trips of other scenarios. */
static void bench(void)
{
    start();
    trace_bench(&ring, "cpuid-bare", 100, 4000, 0, 0);
    trace_bench(&ring, "cpuid-untraced", 100, 12000, 0, 0);
    tick(10);
    trace_vmentry(&ring, PATH_FIRST);
    round_trip(1);
    round_trip(2);
    trace_bench(&ring, "cpuid-traced", 100, 16000, 5200, 5500);
    round_trip(3);
    tick(900);
    trace_vmexit(&ring, EXIT_XSETBV, 55, 0x8001000, 3);
    tick(230);
    trace_vmentry(&ring, PATH_ADVANCED);
    trace_run_end(&ring, 0);
    dump_drain(&dump, &ring, now);
}

int main(int argc, char **argv)
{
    (void)argc;
    words = argv + 1;
    if (has("preflight") || has("bench")) {
        (has("bench") ? bench : preflight)();
        return 0;
    }
    start();
    scenario(has("long") ? "one_with_a_name_of_32_characters" : "one", 100,
             false);
    if (has("twice"))
        start();
    tick(1ull << 40); /* a gap that needs the long header */
    scenario("two", 3, has("fail"));
    tick(10);
    trace_scenario_begin(&ring, "three", EXIT_HLT);
    trace_scenario_end(&ring, "three", EXIT_HLT, has("svm") ? 0x78 : 12,
                       VERDICT_SKIP, 0, "VMX_HLT is missing");
    if (!has("noend"))
        trace_run_end(&ring, 3);
    dump_drain(&dump, &ring, now);
    say(has("noend") ? "last words\n" : "Tollgate: done\n");
    return 0;
}
