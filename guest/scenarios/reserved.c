/*
 * Scenarios: numbers that no control register, debug register or exception
 * has. Everything about them is armed, yet the guest gets its #UD, and no exit
 * comes: the exception is found first (APM 15.9, Table 15-7; SDM 26.1.1, from
 * which 26.1.3 excepts MOV DR, but for CPL and CR4.DE only).
 */
/* clang-format off */
#include "guest/scenario.h"

/* One instruction and the way on: its #UD returns to the next one. */
#define GETS_UD(bytes)                                                         \
    "lea r15, [rip + 3f]\n"                                                    \
    ".byte " bytes "\n"                                                        \
    "3:\n"
#define GOES_ON "xor r15d, r15d\n"

/* MOV to or from CRn and DRn with RAX: 0F op, ModRM 11 n 000; n above 7 with
 * REX.R (44h). */
#define LOW(op, n)  GETS_UD("0x0f, " op ", 0xc0 + " #n " * 8")
#define HIGH(op, n) GETS_UD("0x44, 0x0f, " op ", 0xc0 + (" #n " - 8) * 8")
#define CR_MOVES(op)                                                           \
    LOW(op, 1) LOW(op, 5) LOW(op, 6) LOW(op, 7) HIGH(op, 9) HIGH(op, 10)       \
    HIGH(op, 11) HIGH(op, 12) HIGH(op, 13) HIGH(op, 14) HIGH(op, 15)
#define DR_MOVES(op)                                                           \
    HIGH(op, 8) HIGH(op, 9) HIGH(op, 10) HIGH(op, 11) HIGH(op, 12)             \
    HIGH(op, 13) HIGH(op, 14) HIGH(op, 15)

static void arm_all(struct vcpu *v, enum exit_kind kind, u32 numbers)
{
    for (u32 n = 0; n < 32; n++)
        if (numbers >> n & 1)
            v->ops->arm(v, kind, n, true);
}

#define NO_CR 0xfee2u /* 1, 5 to 7, 9 to 15 */
#define NO_DR 0xff00u /* 8 to 15 */
static void arm_cr(struct vcpu *v)
{
    arm_all(v, EXIT_CR_READ, NO_CR);
    arm_all(v, EXIT_CR_WRITE, NO_CR);
}

static void arm_dr(struct vcpu *v)
{
    arm_all(v, EXIT_DR_READ, NO_DR);
    arm_all(v, EXIT_DR_WRITE, NO_DR);
}

GUEST(cr_read_reserved, CR_MOVES("0x20") GOES_ON)
SCENARIO(cr_read_reserved, CR_READ, .item = 1, .negative = true,
         .before = arm_cr,
         .see = {SEEN(count, 11), SEEN(vector, 6), GPR(R15, 0)});
GUEST(cr_write_reserved, CR_MOVES("0x22") GOES_ON)
SCENARIO(cr_write_reserved, CR_WRITE, .item = 1, .negative = true,
         .before = arm_cr,
         .see = {SEEN(count, 11), SEEN(vector, 6), GPR(R15, 0)});
GUEST(dr_read_reserved, DR_MOVES("0x21") GOES_ON)
SCENARIO(dr_read_reserved, DR_READ, .item = 8, .negative = true,
         .before = arm_dr,
         .see = {SEEN(count, 8), SEEN(vector, 6), GPR(R15, 0)});
GUEST(dr_write_reserved, DR_MOVES("0x23") GOES_ON)
SCENARIO(dr_write_reserved, DR_WRITE, .item = 8, .negative = true,
         .before = arm_dr,
         .see = {SEEN(count, 8), SEEN(vector, 6), GPR(R15, 0)});

/* No exception has these vectors, and INT n is none (SDM 26.2, APM 15.12).
 * AMD-V leaves undefined what the bits of 2 and 9 do; they stay clear. */
#define NO_EXCEPTION 0x8fd08000u /* 15, 20, 22 to 27, 31 */
static void arm_vectors(struct vcpu *v)
{
    arm_all(v, EXIT_EXCEPTION, NO_EXCEPTION);
}

#define INT(n)                                                                 \
    "lea r15, [rip + 3f]\n"                                                    \
    "int " #n "\n"                                                             \
    "3:\n"
GUEST(exc_reserved, INT(15) INT(20) INT(22) INT(23) INT(24) INT(25) INT(26)
      INT(27) INT(31) GOES_ON)
SCENARIO(exc_reserved, EXCEPTION, .item = 15, .negative = true,
         .before = arm_vectors,
         .see = {SEEN(count, 9), SEEN(vector, 31), GPR(R15, 0)});
