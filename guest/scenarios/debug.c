/*
 * Scenarios: #DB by single step, by breakpoints and by DR7.GD. On VT-x the
 * qualification has what DR6 would get, and DR6 itself is the handler's to
 * write (SDM 28.1); on AMD-V the CPU has done it (APM 15.12.2).
 */
/* clang-format off */
#include "guest/fault.h"

/* Pending debug exceptions: none, as these are the exit (SDM 28.3.4). */
#define DEBUG(at_, bits)                                                       \
    EXIT_EXCEPTION, at_,                                                       \
        .item = VECTOR_DB, .has_info = true,                                   \
        .info.exception = {.vector = VECTOR_DB, .debug = bits},                \
        .raw = {RAW(INTERRUPTION_INFO, 0x80000301), RAW(QUALIFICATION, bits),  \
                RAW_BUT(VECTORING_INFO, 0, ~BIT(31)), RAW(PENDING_DEBUG, 0),   \
                RAW(EXITINTINFO, 0)}

/* Exit and guest's view at label n, DR6 with the bits; and the negative. */
#define DEBUG_EXCEPTION(id, n, bits, state_, ...)                              \
    SCENARIO(id, EXCEPTION, .item = VECTOR_DB, .state = state_,                \
             .probe = ACCESS_R | ACCESS_W,                                     \
             .arm = {{EXIT_EXCEPTION, VECTOR_DB}},                             \
             .expect = {{DEBUG(n, bits)}},                                     \
             .see = {SAW(VECTOR_DB, 0, n), CHANGED(DR6, bits),                 \
                     CHANGED(DR7, 0), __VA_ARGS__});                           \
    SCENARIO_OF(id##_off, id, EXCEPTION, .item = VECTOR_DB, .negative = true,  \
                .state = state_, .probe = ACCESS_R | ACCESS_W,                 \
                .see = {SAW(VECTOR_DB, 0, n), CHANGED(DR6, bits),              \
                        CHANGED(DR7, 0), __VA_ARGS__})

/* The step that POPF begins ends behind the instruction that follows it. */
GUEST(exc_db_step, GOES_ON_AT_2
                   "pushfq\n"
                   "or dword ptr [rsp], 0x100\n"
                   "popfq\n"
                   "nop\n"
                   AT(exc_db_step, 1) "nop\n"
                   HERE)
DEBUG_EXCEPTION(exc_db_step, 1, DEBUG_BS, NULL);

/* A breakpoint register and DR7, which goes back in the end. */
#define BREAK(n, address, dr7)                                                 \
    "lea rax, " address "\n"                                                   \
    "mov dr" #n ", rax\n"                                                      \
    "mov eax, " #dr7 "\n"                                                      \
    "mov dr7, rax\n"
#define NO_BREAK                                                               \
    HERE "mov eax, 0x400\n"                                                    \
         "mov dr7, rax\n"

/* Code: a fault, in front of the instruction. L0. */
GUEST(exc_db_code,
      GOES_ON_AT_2 BREAK(0, "[rip + guest_exc_db_code_1]",
                         0x401) "nop\n" AT(exc_db_code, 1) "nop\n" NO_BREAK)
DEBUG_EXCEPTION(exc_db_code, 1, DEBUG_B0, NULL, GPR(RAX, DR7_RESET));

/* Data: a trap, behind the write. L1, R/W 01, 8 bytes. */
GUEST(exc_db_data, GOES_ON_AT_2
                   BREAK(1, "[0x100010]", 0x900404)
                   "mov ebx, 0x100000\n"
                   "mov rcx, [rbx + 0x10]\n"
                   "mov [rbx + 0x18], rbx\n"
                   "mov [rbx + 0x14], ebx\n"
                   AT( exc_db_data, 1) "nop\n"
                   NO_BREAK)
DEBUG_EXCEPTION(exc_db_data, 1, DEBUG_B0 << 1, NULL, GPR(RAX, DR7_RESET),
                GPR(RBX, GUEST_PROBE), GPR(RCX, 0x3132333435363702));

/* I/O: a trap. L2, R/W 10, which means that with CR4.DE. */
static void set_de(struct guest_state *gs)
{
    gs->cr4 |= CR4_DE;
}
GUEST(exc_db_io, GOES_ON_AT_2
                 BREAK(2, "[0x80]", 0x2000410)
                 "out 0x80, al\n"
                 AT( exc_db_io, 1) "nop\n"
                 NO_BREAK)
DEBUG_EXCEPTION(exc_db_io, 1, DEBUG_B0 << 2, set_de, GPR(RAX, DR7_RESET));

/* DR7.GD: a fault of any MOV DR, whose delivery clears GD. */
GUEST(exc_db_gd,
      GOES_ON_AT_2 "mov eax, 0x2400\n"
                   "mov dr7, rax\n" AT(exc_db_gd, 1) "mov rcx, dr6\n" HERE)
DEBUG_EXCEPTION(exc_db_gd, 1, DEBUG_BD, NULL, GPR(RAX, 0x2400));
