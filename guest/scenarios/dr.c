/*
 * Scenarios: debug registers by MOV. VT-x has one control for all of them,
 * AMD-V an intercept for each and each way.
 */
/* clang-format off */
#include "guest/fault.h"

/* Exit qualification, SDM Table 28-4. */
#define QUAL(nr, from, gpr) ((nr) | (from) << 4 | (gpr) << 8)

static void fill(struct vcpu *v)
{
    for (u32 n = 0; n < 4; n++)
        v->ops->set(v, (enum guest_reg)(REG_DR0 + n), 0x5150 + n);
    v->ops->set(v, REG_DR6, DR6_RESET | DEBUG_BS);
}

/* A read and a write of each, exit armed and not. name is the register that
 * it is: 4 and 5 are 6 and 7. */
#define DR(n, name, value, changed)                                            \
    GUEST(dr##n##_read, AT(dr##n##_read, 1) "mov r9, dr" #n "\n")              \
    SCENARIO(dr##n##_read, DR_READ, .item = n, .arm = {{EXIT_DR_READ, n}},     \
             .before = fill,                                                   \
             .expect = {{EXIT_DR_READ, 1, .item = n, .length = 4,              \
                         .has_info = true, .info.dr = {.nr = n, .gpr = R9},    \
                         .raw = {RAW(QUALIFICATION, QUAL(n, 1, R9)),           \
                                 ASSIST_DR(R9)}}},                             \
             .see = {SAME(R9, name)});                                         \
    SCENARIO_OF(dr##n##_read_off, dr##n##_read, DR_READ, .item = n,            \
                .negative = true, .before = fill, .see = {SAME(R9, name)});    \
    GUEST(dr##n##_write,                                                       \
          "mov ebx, " #value "\n" AT(dr##n##_write, 1) "mov dr" #n ", rbx\n")  \
    SCENARIO(dr##n##_write, DR_WRITE, .item = n, .arm = {{EXIT_DR_WRITE, n}},  \
             .expect = {{EXIT_DR_WRITE, 1, .item = n, .length = 3,             \
                         .has_info = true, .info.dr = {.nr = n, .gpr = RBX},   \
                         .raw = {RAW(QUALIFICATION, QUAL(n, 0, RBX)),          \
                                 ASSIST_DR(RBX)}}},                            \
             .see = {GPR(RBX, value), CHANGED(name, changed)});                \
    SCENARIO_OF(dr##n##_write_off, dr##n##_write, DR_WRITE, .item = n,         \
                .negative = true,                                              \
                .see = {GPR(RBX, value), CHANGED(name, changed)})

DR(0, DR0, 0x1230, 0x1230);
DR(1, DR1, 0x1231, 0x1231);
DR(2, DR2, 0x1232, 0x1232);
DR(3, DR3, 0x1233, 0x1233);
/* CR4.DE is 0 in the guest. Bits 14 and 15 are DR6.BS and BT; 8 and 9 are
 * DR7.LE and GE, which change nothing else. */
DR(4, DR6, 0xffff4ff0, 0x4000);
DR(5, DR7, 0x600, 0x200);
DR(6, DR6, 0xffff8ff0, 0x8000);
DR(7, DR7, 0x700, 0x300);

/* RSP as the operand. */
GUEST(dr7_read_rsp, "mov rbx, rsp\n" AT(dr7_read_rsp, 1) "mov rsp, dr7\n"
                    "mov rax, rsp\n"
                    "mov rsp, rbx\n")
SCENARIO(dr7_read_rsp, DR_READ, .item = 7, .arm = {{EXIT_DR_READ, 7}},
         .expect = {{EXIT_DR_READ, 1, .item = 7, .length = 3, .has_info = true,
                     .info.dr = {.nr = 7, .gpr = RSP},
                     .raw = {RAW(QUALIFICATION, QUAL(7, 1, RSP))}}},
         .see = {SAME(RAX, DR7), SAME(RBX, RSP)});
GUEST(dr7_write_rsp, "mov rbx, rsp\n"
                     "mov esp, 0x700\n" AT(dr7_write_rsp, 1) "mov dr7, rsp\n"
                     "mov rsp, rbx\n")
SCENARIO(dr7_write_rsp, DR_WRITE, .item = 7, .arm = {{EXIT_DR_WRITE, 7}},
         .expect = {{EXIT_DR_WRITE, 1, .item = 7, .length = 3,
                     .has_info = true, .info.dr = {.nr = 7, .gpr = RSP},
                     .raw = {RAW(QUALIFICATION, QUAL(7, 0, RSP))}}},
         .see = {CHANGED(DR7, 0x300), SAME(RBX, RSP)});

static void set_de(struct guest_state *gs)
{
    gs->cr4 |= CR4_DE;
}

/* With CR4.DE, DR4 is no register. The exit of VT-x comes before that #UD, and
 * before #GP for privilege (SDM 26.1.3, MOV DR): the handler raises them. On
 * AMD-V both come before the intercept (APM 15.9). */
GUEST(dr4_read_de, GOES_ON_AT_2 AT(dr4_read_de, 1) "mov r9, dr4\n" HERE)
SCENARIO(dr4_read_de, DR_READ, .item = 4, .arm = {{EXIT_DR_READ, 4}},
         .state = set_de,
         .expect = {{EXIT_DR_READ, 1, .item = 4, .length = 4,
                     .vendor = VENDOR_VMX, .has_info = true,
                     .info.dr = {.nr = 4, .gpr = R9},
                     .raw = {RAW(QUALIFICATION, QUAL(4, 1, R9))}}},
         .see = {SAW(VECTOR_UD, 0, 1)});

GUEST(dr0_write_cpl3, GOES_ON_AT_2 AT(dr0_write_cpl3, 1) "mov dr0, rbx\n" HERE)
SCENARIO(dr0_write_cpl3, DR_WRITE, .item = 0, .arm = {{EXIT_DR_WRITE, 0}},
         .mode = MODE_64_USER,
         .expect = {{EXIT_DR_WRITE, 1, .item = 0, .length = 3,
                     .vendor = VENDOR_VMX, .has_info = true,
                     .info.dr = {.nr = 0, .gpr = RBX},
                     .raw = {RAW(QUALIFICATION, QUAL(0, 0, RBX))}}},
         .see = {SAW(VECTOR_GP, 0, 1), CHANGED(DR0, 0)});

/* The exit of VT-x does not look at the value: the handler does. */
GUEST(dr7_write_high,
      GOES_ON_AT_2 AT(dr7_write_high, 1) "mov dr7, rbx\n" HERE)
SCENARIO(dr7_write_high, DR_WRITE, .item = 7, .vendor = VENDOR_VMX,
         .arm = {{EXIT_DR_WRITE, 7}},
         .expect = {{EXIT_DR_WRITE, 1, .item = 7, .length = 3, .has_info = true,
                     .info.dr = {.nr = 7, .gpr = RBX},
                     .raw = {RAW(QUALIFICATION, QUAL(7, 0, RBX))}}},
         .see = {SAW(VECTOR_GP, 0, 1), CHANGED(DR7, 0)});
