/*
 * Scenarios: virtualization exceptions (#VE), into which VT-x turns the EPT
 * violations that may be (SDM 26.5.7, Convertible EPT Violations).
 */
/* clang-format off */
#include "guest/fault.h"
#include "hv/handlers.h"

#define RWX         (ACCESS_R | ACCESS_W | ACCESS_X)
#define SUPPRESS    BIT(63) /* of an EPT entry: not convertible */

/* Exit qualification, SDM Table 28-7; undefined here: 6 and 11:9. */
#define ALLOWED(access) ((u64)(access) << 3)
#define LINEAR          BIT(7)
#define FINAL           BIT(8)
#define UNDEF           (7ull << 9 | BIT(6))

/* The information area, SDM Table 26-1: reason and, in the upper half of the
 * word, all ones until the guest clears them; qualification; addresses; EPTP
 * index. */
static u64 area[512] ALIGNED(4096);
#define FILLED (0xffffffffull << 32 | 48)

static void clear_area(struct vcpu *v)
{
    (void)v;
    for (u32 n = 0; n < 5; n++)
        area[n] = 0;
}

/* The guest has not cleared what the last #VE left. */
static void leave_area(struct vcpu *v)
{
    clear_area(v);
    area[0] = BIT(32);
}

static void check_area(struct vcpu *v, u64 qualification, u64 address)
{
    guest_check(v, "#VE reason", FILLED, area[0]);
    guest_check(v, "#VE qualification", qualification, area[1] & ~UNDEF);
    guest_check(v, "#VE linear address", address, area[2]);
    guest_check(v, "#VE physical address", address, area[3]);
    guest_check(v, "#VE EPTP index", 0, area[4] & 0xffff);
}

static void read_in_area(struct vcpu *v)
{
    check_area(v, ACCESS_R | LINEAR | FINAL, GUEST_PROBE + 0x18);
}

static void write_in_area(struct vcpu *v)
{
    check_area(v, ACCESS_W | ALLOWED(ACCESS_R | ACCESS_X) | LINEAR | FINAL,
               GUEST_PROBE + 0x18);
}

#define WITH_VE                                                                \
    .use = {FEAT_VMX_EPT_VE}, .before = clear_area,                            \
    .set = {PUT(VE_INFORMATION, (uintptr_t)area)}
#define VIOLATION(access, address)                                             \
    {EXIT_NESTED_FAULT, 1,                                                     \
     .raw = {RAW_BUT(QUALIFICATION, (access) | LINEAR | FINAL, UNDEF),         \
             RAW(GUEST_PHYSICAL, address), RAW(GUEST_LINEAR, address),         \
             RAW(VECTORING_INFO, 0)}}

/* --- The guest takes it, and there is no exit. */
GUEST(ve_read, GOES_ON_AT_2 "mov ebx, 0x100018\n"
      AT(ve_read, 1) "mov rax, [rbx]\n" HERE)
#define SEES_VE SAW(VECTOR_VE, 0, 1), GPR(RBX, GUEST_PROBE + 0x18)
SCENARIO(ve_read, NESTED_FAULT, WITH_VE, .negative = true,
         .vendor = VENDOR_VMX, .ended = read_in_area, .see = {SEES_VE});

GUEST(ve_write, GOES_ON_AT_2 "mov ebx, 0x100018\n"
      AT(ve_write, 1) "mov [rbx], rbx\n" HERE)
SCENARIO(ve_write, NESTED_FAULT, WITH_VE, .negative = true,
         .vendor = VENDOR_VMX, .probe = ACCESS_R | ACCESS_X,
         .ended = write_in_area,
         .see = {SEES_VE, PROBE(3, PROBE_VALUE + 3)});

/* --- The exception bitmap comes between: reason 0, vector 20, no error code;
 * the area is filled all the same. */
SCENARIO_OF(ve_exit, ve_read, EXCEPTION, .item = VECTOR_VE, WITH_VE,
            .vendor = VENDOR_VMX, .ended = read_in_area,
            .arm = {{EXIT_EXCEPTION, VECTOR_VE}},
            .expect = {{EXIT_EXCEPTION, 1, .item = VECTOR_VE, .has_info = true,
                        .info.exception = {.vector = VECTOR_VE},
                        .raw = {RAW(INTERRUPTION_INFO, 0x80000314),
                                RAW(QUALIFICATION, 0),
                                RAW(VECTORING_INFO, 0)}}},
            .see = {SEES_VE});

/* --- What is not convertible exits as ever, and leaves the area alone. */
#define STAYS_CLEAR                                                            \
    CELL(&area[1], 0), CELL(&area[2], 0), CELL(&area[3], 0)
GUEST(ve_not, "mov ebx, 0x100018\n" AT(ve_not, 1) "mov rax, [rbx]\n")
#define NOT_VE(id, ...)                                                        \
    SCENARIO_OF(id, ve_not, NESTED_FAULT, .vendor = VENDOR_VMX,                \
                .use = {FEAT_VMX_EPT_VE},                                      \
                .set = {PUT(VE_INFORMATION, (uintptr_t)area)},                 \
                .expect = {VIOLATION(ACCESS_R, GUEST_PROBE + 0x18)},           \
                .see = {GPR(RBX, GUEST_PROBE + 0x18),                          \
                        GPR(RAX, PROBE_VALUE + 3), STAYS_CLEAR}, __VA_ARGS__)
/* By the entry, ... */
NOT_VE(ve_suppressed, .before = clear_area, .tweak = {1, 0, SUPPRESS});
/* ... by the area. */
NOT_VE(ve_busy, .before = leave_area);

/* In real mode. */
GUEST16(ve_real, "mov si, 0x28\n" AT(ve_real, 1) "mov ax, [si]\n")
SCENARIO(ve_real, NESTED_FAULT, WITH_VE, .vendor = VENDOR_VMX,
         .mode = MODE_REAL,
         .expect = {VIOLATION(ACCESS_R, GUEST_PROBE + 0x18)},
         .see = {GPR(RAX, (GUEST_CANARY_LOW & 0xffff0000) |
                              ((PROBE_VALUE + 3) & 0xffff)),
                 GPR(RSI, (GUEST_CANARY_LOW & 0xffff0000) | 0x28),
                 CELL(&area[0], 0), STAYS_CLEAR});

/* In the middle of a delivery. */
static void idt_in_probe(struct guest_state *gs)
{
    u64 *from = guest_memory(gs->idt_base, PAGE_SIZE);
    u64 *to = guest_memory(GUEST_PROBE, PAGE_SIZE);

    for (u32 n = 0; n < PAGE_SIZE / 8; n++)
        to[n] = from[n];
    gs->idt_base = GUEST_PROBE;
}
GUEST(ve_delivery, GOES_ON_AT_2 AT(ve_delivery, 1) "ud2\n" HERE)
SCENARIO(ve_delivery, NESTED_FAULT, WITH_VE, .vendor = VENDOR_VMX,
         .state = idt_in_probe,
         .expect = {{EXIT_NESTED_FAULT, 1,
                     .raw = {RAW_BUT(QUALIFICATION, ACCESS_R | LINEAR | FINAL,
                                     UNDEF),
                             RAW_BUT(GUEST_PHYSICAL, GUEST_PROBE + 0x60, 8),
                             RAW(VECTORING_INFO, 0x80000306)}}},
         .see = {SAW(VECTOR_UD, 0, 1), CELL(&area[0], 0), STAYS_CLEAR});

/* A misconfiguration is no violation. */
SCENARIO_OF(ve_misconfig, ve_not, NESTED_MISCONFIG, WITH_VE, .probe = RWX,
            .tweak = {1, RWX, ACCESS_W},
            .expect = {{EXIT_NESTED_MISCONFIG, 1,
                        .raw = {RAW(GUEST_PHYSICAL, GUEST_PROBE + 0x18)}}},
            .see = {GPR(RBX, GUEST_PROBE + 0x18), GPR(RAX, PROBE_VALUE + 3),
                    CELL(&area[0], 0), STAYS_CLEAR});
