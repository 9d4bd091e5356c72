/*
 * Scenarios: IN, OUT, INS and OUTS of each size and form.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/handlers.h"

#define PORT_IMM "0xe0"
#define PORT_DX  "0x1230"

/* One IN and one OUT for each size: the operand-size prefix of the 16-bit
 * form makes it a byte longer; so does the immediate. */
#define IO_PAIR(bytes, reg, imm_length, dx_length, in_rax)                     \
    GUEST(in##bytes##_imm,                                                     \
          AT(in##bytes##_imm, 1) "in " reg ", " PORT_IMM "\n")                 \
    SCENARIO(                                                                  \
        in##bytes##_imm, IO, .arm = {{EXIT_IO, 0xe0}},                         \
        .expect = {{EXIT_IO, 1, .length = imm_length, .has_info = true,        \
                    .info.io = {.port = 0xe0, .size = bytes, .in = true}}},    \
        .see = {GPR(RAX, in_rax)});                                            \
    GUEST(in##bytes##_dx,                                                      \
          "mov edx, " PORT_DX "\n" AT(in##bytes##_dx, 1) "in " reg ", dx\n")   \
    SCENARIO(                                                                  \
        in##bytes##_dx, IO, .arm = {{EXIT_IO, 0x1230}},                        \
        .expect = {{EXIT_IO, 1, .length = dx_length, .has_info = true,         \
                    .info.io = {.port = 0x1230, .size = bytes, .in = true}}},  \
        .see = {GPR(RDX, 0x1230), GPR(RAX, in_rax)});                          \
    GUEST(out##bytes##_imm,                                                    \
          "mov eax, 0x5a6b7c8d\n" AT(out##bytes##_imm, 1) "out " PORT_IMM      \
                                                          ", " reg "\n")       \
    SCENARIO(out##bytes##_imm, IO, .arm = {{EXIT_IO, 0xe0}},                   \
             .expect = {{EXIT_IO, 1, .length = imm_length, .has_info = true,   \
                         .info.io = {.port = 0xe0, .size = bytes}}},           \
             .see = {GPR(RAX, 0x5a6b7c8d), DEVICE(OUT_COUNT, 1),               \
                     DEVICE(OUT, 0x5a6b7c8d & LOW_BYTES(bytes))});             \
    GUEST(out##bytes##_dx,                                                     \
          "mov eax, 0x5a6b7c8d\n"                                              \
          "mov edx, " PORT_DX "\n" AT(out##bytes##_dx, 1) "out dx, " reg "\n") \
    SCENARIO(out##bytes##_dx, IO, .arm = {{EXIT_IO, 0x1230}},                  \
             .expect = {{EXIT_IO, 1, .length = dx_length, .has_info = true,    \
                         .info.io = {.port = 0x1230, .size = bytes}}},         \
             .see = {GPR(RAX, 0x5a6b7c8d), GPR(RDX, 0x1230),                   \
                     DEVICE(OUT_COUNT, 1),                                     \
                     DEVICE(OUT, 0x5a6b7c8d & LOW_BYTES(bytes))})

#define LOW_BYTES(n) (0xffffffffull >> (32 - 8 * (n)))

/* A 32-bit IN clears the upper half of RAX, smaller ones leave the rest. */
IO_PAIR(1, "al", 2, 1,
        (GUEST_CANARY & ~LOW_BYTES(1)) | (EMULATED_IN & LOW_BYTES(1)));
IO_PAIR(2, "ax", 3, 2,
        (GUEST_CANARY & ~LOW_BYTES(2)) | (EMULATED_IN & LOW_BYTES(2)));
IO_PAIR(4, "eax", 2, 1, EMULATED_IN);

/* The string forms exit once, before the first item; the handler moves all
 * that RCX asks for, between the port and the probe page. */
GUEST(rep_outsb, "mov esi, 0x100000\n"
                 "mov edx, " PORT_DX "\n"
                 "mov ecx, 5\n" AT(rep_outsb, 1) "rep outsb\n")
SCENARIO(rep_outsb, IO, .probe = ACCESS_R, .arm = {{EXIT_IO, 0x1230}},
         .expect = {{EXIT_IO, 1, .length = 2, .has_info = true,
                     .info.io = {.port = 0x1230,
                                 .size = 1,
                                 .string = true,
                                 .rep = true}}},
         .see = {GPR(RDX, 0x1230), GPR(RCX, 0), GPR(RSI, GUEST_PROBE + 5),
                 DEVICE(OUT_COUNT, 5), DEVICE(OUT, PROBE_VALUE >> 32 & 0xff)});

GUEST(outsw, "mov esi, 0x100000\n"
             "mov edx, " PORT_DX "\n" AT(outsw, 1) "outsw\n")
SCENARIO(outsw, IO, .probe = ACCESS_R, .arm = {{EXIT_IO, 0x1230}},
         .expect = {{EXIT_IO, 1, .length = 2, .has_info = true,
                     .info.io = {.port = 0x1230, .size = 2, .string = true}}},
         .see = {GPR(RDX, 0x1230), GPR(RSI, GUEST_PROBE + 2),
                 DEVICE(OUT_COUNT, 1), DEVICE(OUT, PROBE_VALUE & 0xffff)});

GUEST(rep_insd, "mov edi, 0x100008\n"
                "mov edx, " PORT_DX "\n"
                "mov ecx, 2\n" AT(rep_insd, 1) "rep insd\n")
SCENARIO(rep_insd, IO, .probe = ACCESS_R | ACCESS_W, .arm = {{EXIT_IO, 0x1230}},
         .expect = {{EXIT_IO, 1, .length = 2, .has_info = true,
                     .info.io = {.port = 0x1230,
                                 .size = 4,
                                 .in = true,
                                 .string = true,
                                 .rep = true}}},
         .see = {GPR(RDX, 0x1230), GPR(RCX, 0), GPR(RDI, GUEST_PROBE + 16),
                 PROBE(0, PROBE_VALUE),
                 PROBE(1, EMULATED_IN << 32 | EMULATED_IN)});
