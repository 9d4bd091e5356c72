/*
 * Scenarios: what the permission maps cover, bit by bit: the first and the
 * last item of each range, an access that is only in part of an armed range,
 * what no range covers, and the neighbours, which do not exit (SDM 25.6.4 and
 * 25.6.9; APM 15.10 and 15.11).
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/handlers.h"

/* ---- I/O ---------------------------------------------------------------- */

#define IN4(at)                                                                \
    .length = 1, .has_info = true,                                             \
    .info.io = {.port = (at), .size = 4, .in = true}

/* Four ports, the last of which is armed; and the first. */
GUEST(in4_last, "mov edx, 0x122d\n" AT(in4_last, 1) "in eax, dx\n"
      "mov edx, 0x1230\n" AT(in4_last, 2) "in eax, dx\n")
SCENARIO(in4_last, IO, .arm = {{EXIT_IO, 0x1230}},
         .expect = {{EXIT_IO, 1, IN4(0x122d)}, {EXIT_IO, 2, IN4(0x1230)}},
         .see = {GPR(RAX, EMULATED_IN), GPR(RDX, 0x1230)});
/* Its neighbours on either side, by the CPU: nothing answers there. */
GUEST(in_beside, "mov edx, 0x122c\n"
      "in eax, dx\n"
      "mov edx, 0x1231\n"
      "in eax, dx\n"
      "mov edx, 0x122f\n"
      "in al, dx\n"
      "xor eax, eax\n")
SCENARIO(in_beside, IO, .negative = true, .arm = {{EXIT_IO, 0x1230}},
         .see = {GPR(RAX, 0), GPR(RDX, 0x122f)});

/* Port 7FFFh is the last of VT-x's first map, FFFFh of the second; AMD-V has
 * one, which across the page is one as well. */
GUEST(in4_maps, "mov edx, 0x7ffd\n" AT(in4_maps, 1) "in eax, dx\n"
      "mov edx, 0xfffc\n" AT(in4_maps, 2) "in eax, dx\n")
SCENARIO(in4_maps, IO, .arm = {{EXIT_IO, 0x8000}, {EXIT_IO, 0xffff}},
         .expect = {{EXIT_IO, 1, IN4(0x7ffd)}, {EXIT_IO, 2, IN4(0xfffc)}},
         .see = {GPR(RAX, EMULATED_IN), GPR(RDX, 0xfffc)});
/* Beyond port FFFFh: VT-x exits always (SDM 26.1.3), AMD-V by three bits more
 * than there are ports (APM 15.10.1). */
GUEST(in4_wrap, "mov edx, 0xffff\n" AT(in4_wrap, 1) "in eax, dx\n")
SCENARIO(in4_wrap, IO, .arm = {{EXIT_IO, 0x10002}},
         .expect = {{EXIT_IO, 1, IN4(0xffff)}},
         .see = {GPR(RAX, EMULATED_IN), GPR(RDX, 0xffff)});

/* ---- MSRs --------------------------------------------------------------- */

#define READ(nr)                                                               \
    .length = 2, .has_info = true, .info.msr = {.index = (nr)}
#define EMULATED                                                               \
    GPR(RAX, EMULATED_MSR & 0xffffffff), GPR(RDX, EMULATED_MSR >> 32)

/* The first and the last of a range, whether the CPU has them or not: the map
 * is looked at before it is known (SDM 26.1.3, APM 15.11). */
#define MSR_RANGE(id, first, last, ...)                                        \
    GUEST(id, "mov ecx, " #first "\n" AT(id, 1) "rdmsr\n"                      \
              "mov ecx, " #last "\n" AT(id, 2) "rdmsr\n")                      \
    SCENARIO(id, MSR_READ, __VA_ARGS__                                         \
             .arm = {{EXIT_MSR_READ, first}, {EXIT_MSR_READ, last}},           \
             .expect = {{EXIT_MSR_READ, 1, READ(first)},                       \
                        {EXIT_MSR_READ, 2, READ(last)}},                       \
             .see = {GPR(RCX, last), EMULATED})

MSR_RANGE(msr_range_low, 0, 0x1fff, );
MSR_RANGE(msr_range_high, 0xc0000000, 0xc0001fff, );
MSR_RANGE(msr_range_amd, 0xc0010000, 0xc0011fff, .vendor = VENDOR_SVM, );

/* Just outside all ranges: always, with nothing armed. */
GUEST(msr_outside, "mov ecx, 0x2000\n" AT(msr_outside, 1) "rdmsr\n"
      "mov ecx, 0xbfffffff\n" AT(msr_outside, 2) "wrmsr\n"
      "mov ecx, 0xc0002000\n" AT(msr_outside, 3) "rdmsr\n")
SCENARIO(msr_outside, MSR_READ,
         .expect = {{EXIT_MSR_READ, 1, READ(0x2000)},
                    {EXIT_MSR_WRITE, 2, READ(0xbfffffff)},
                    {EXIT_MSR_READ, 3, READ(0xc0002000)}},
         .see = {GPR(RCX, 0xc0002000), EMULATED, DEVICE(MSR, EMULATED_MSR)});
GUEST(msr_outside_amd, "mov ecx, 0xc000ffff\n" AT(msr_outside_amd, 1) "rdmsr\n"
      "mov ecx, 0xc0012000\n" AT(msr_outside_amd, 2) "rdmsr\n"
      "mov ecx, 0xffffffff\n" AT(msr_outside_amd, 3) "rdmsr\n")
SCENARIO(msr_outside_amd, MSR_READ, .vendor = VENDOR_SVM,
         .expect = {{EXIT_MSR_READ, 1, READ(0xc000ffff)},
                    {EXIT_MSR_READ, 2, READ(0xc0012000)},
                    {EXIT_MSR_READ, 3, READ(0xffffffff)}},
         .see = {GPR(RCX, 0xffffffff), EMULATED});

/* Reads of LSTAR are armed: not its writes, nor STAR or CSTAR. */
GUEST(msr_beside, "mov ecx, 0xc0000081\n"
      "rdmsr\n"
      "mov ecx, 0xc0000083\n"
      "rdmsr\n"
      "mov ecx, 0xc0000082\n"
      "xor eax, eax\n"
      "xor edx, edx\n"
      "wrmsr\n")
SCENARIO(msr_beside, MSR_READ, .negative = true,
         .arm = {{EXIT_MSR_READ, 0xc0000082}},
         .see = {GPR(RAX, 0), GPR(RCX, 0xc0000082), GPR(RDX, 0)});
/* The other way round. */
GUEST(msr_write_beside, "mov ecx, 0xc0000082\n"
      "rdmsr\n"
      "mov ecx, 0xc0000081\n"
      "xor eax, eax\n"
      "xor edx, edx\n"
      "wrmsr\n"
      "mov ecx, 0xc0000083\n"
      "wrmsr\n")
SCENARIO(msr_write_beside, MSR_WRITE, .negative = true,
         .arm = {{EXIT_MSR_WRITE, 0xc0000082}},
         .see = {GPR(RAX, 0), GPR(RCX, 0xc0000083), GPR(RDX, 0)});

/* ---- VT-x without the maps (SDM 25.6.2) ---------------------------------- */

#define PROC_IO          BIT(24)
#define PROC_IO_BITMAPS  BIT(25)
#define PROC_MSR_BITMAPS BIT(28)

static void change_primary(struct vcpu *v, u64 clear, u64 set)
{
    u64 value = 0;

    v->ops->word(v, RAW_PRIMARY, &value);
    v->ops->set_word(v, RAW_PRIMARY, (value & ~clear) | set);
}

/* Every RDMSR and WRMSR exits. */
static void no_msr_maps(struct vcpu *v)
{
    change_primary(v, PROC_MSR_BITMAPS, 0);
}
GUEST(msr_no_maps, "mov ecx, 0x175\n" AT(msr_no_maps, 1) "rdmsr\n"
      AT(msr_no_maps, 2) "wrmsr\n")
SCENARIO(msr_no_maps, MSR_READ, .vendor = VENDOR_VMX, .before = no_msr_maps,
         .expect = {{EXIT_MSR_READ, 1, READ(0x175)},
                    {EXIT_MSR_WRITE, 2, READ(0x175)}},
         .see = {GPR(RCX, 0x175), EMULATED, DEVICE(MSR, EMULATED_MSR)});

/* All ports or none, as unconditional I/O exiting says; with the maps on, it
 * says nothing. */
static void all_ports(struct vcpu *v)
{
    change_primary(v, PROC_IO_BITMAPS, PROC_IO);
}
static void no_ports(struct vcpu *v)
{
    change_primary(v, PROC_IO_BITMAPS | PROC_IO, 0);
}
static void maps_and_all_ports(struct vcpu *v)
{
    change_primary(v, 0, PROC_IO_BITMAPS | PROC_IO);
}
GUEST(io_all_ports, AT(io_all_ports, 1) "in al, 0x80\n"
      "mov edx, 0xffff\n" AT(io_all_ports, 2) "in al, dx\n")
#define IN1(at, bytes)                                                         \
    .length = (bytes), .has_info = true,                                       \
    .info.io = {.port = (at), .size = 1, .in = true}
SCENARIO(io_all_ports, IO, .vendor = VENDOR_VMX, .needs = {FEAT_VMX_IO},
         .before = all_ports,
         .expect = {{EXIT_IO, 1, IN1(0x80, 2)}, {EXIT_IO, 2, IN1(0xffff, 1)}},
         .see = {GPR(RDX, 0xffff),
                 GPR(RAX, (GUEST_CANARY & ~0xffull) | (EMULATED_IN & 0xff))});
GUEST(io_no_ports, "in al, 0x80\n"
                   "xor eax, eax\n")
SCENARIO(io_no_ports, IO, .vendor = VENDOR_VMX, .negative = true,
         .arm = {{EXIT_IO, 0x80}}, .before = no_ports, .see = {GPR(RAX, 0)});
SCENARIO_OF(io_maps_count, io_no_ports, IO, .vendor = VENDOR_VMX,
            .negative = true, .needs = {FEAT_VMX_IO},
            .arm = {{EXIT_IO, 0x81}}, .before = maps_and_all_ports,
            .see = {GPR(RAX, 0)});
