/*
 * Scenarios: IN, OUT, INS and OUTS of each size and form.
 */
/* clang-format off */
#include "guest/fault.h"
#include "hv/handlers.h"

#define PORT_IMM "0xe0"
#define PORT_DX  "0x1230"

/* Exit qualification, SDM Table 28-5. */
#define QUAL(port, size, in, imm)                                              \
    (((size)-1) | (in) << 3 | (imm) << 6 | (u64)(port) << 16)
#define QUAL_STRING (1 << 4)
#define QUAL_REP    (1 << 5)

/* EXITINFO1, APM 15.10.2; address size and segment (bits 12:7) are the string
 * instructions'. EXITINFO2 is the next RIP. */
#define INFO1(port, size, in) ((in) | (size) << 4 | (u64)(port) << 16)
#define INFO1_STRING          (1 << 2)
#define INFO1_REP             (1 << 3)
#define INFO1_A64             (1 << 9)
#define INFO1_BUT             0x1f80

#define IO_RAW(port, size, in, imm)                                            \
    .raw = {RAW(QUALIFICATION, QUAL(port, size, in, imm)),                     \
            RAW_BUT(EXITINFO1, INFO1(port, size, in), INFO1_BUT),              \
            RAW_AT(EXITINFO2, 2)}

/* One IN and one OUT for each size: the operand-size prefix of the 16-bit
 * form makes it a byte longer; so does the immediate. */
#define IO_PAIR(bytes, reg, imm_length, dx_length, in_rax)                     \
    GUEST(in##bytes##_imm,                                                     \
          AT(in##bytes##_imm, 1) "in " reg ", " PORT_IMM "\n"                  \
          AT(in##bytes##_imm, 2) "nop\n")                                      \
    SCENARIO(in##bytes##_imm, IO, .arm = {{EXIT_IO, 0xe0}},                    \
             .expect = {{EXIT_IO, 1, .length = imm_length, .has_info = true,   \
                         .info.io = {.port = 0xe0, .size = bytes, .in = true}, \
                         IO_RAW(0xe0, bytes, 1, 1)}},                          \
             .see = {GPR(RAX, in_rax)});                                       \
    GUEST(in##bytes##_dx,                                                      \
          "mov edx, " PORT_DX "\n"                                             \
          AT(in##bytes##_dx, 1) "in " reg ", dx\n"                             \
          AT(in##bytes##_dx, 2) "nop\n")                                       \
    SCENARIO(in##bytes##_dx, IO, .arm = {{EXIT_IO, 0x1230}},                   \
             .expect = {{EXIT_IO, 1, .length = dx_length, .has_info = true,    \
                         .info.io = {.port = 0x1230, .size = bytes,            \
                                     .in = true},                              \
                         IO_RAW(0x1230, bytes, 1, 0)}},                        \
             .see = {GPR(RDX, 0x1230), GPR(RAX, in_rax)});                     \
    GUEST(out##bytes##_imm,                                                    \
          "mov eax, 0x5a6b7c8d\n"                                              \
          AT(out##bytes##_imm, 1) "out " PORT_IMM ", " reg "\n"                \
          AT(out##bytes##_imm, 2) "nop\n")                                     \
    SCENARIO(out##bytes##_imm, IO, .arm = {{EXIT_IO, 0xe0}},                   \
             .expect = {{EXIT_IO, 1, .length = imm_length, .has_info = true,   \
                         .info.io = {.port = 0xe0, .size = bytes},             \
                         IO_RAW(0xe0, bytes, 0, 1)}},                          \
             .see = {GPR(RAX, 0x5a6b7c8d), DEVICE(OUT_COUNT, 1),               \
                     DEVICE(OUT, 0x5a6b7c8d & LOW_BYTES(bytes))});             \
    GUEST(out##bytes##_dx,                                                     \
          "mov eax, 0x5a6b7c8d\n"                                              \
          "mov edx, " PORT_DX "\n"                                             \
          AT(out##bytes##_dx, 1) "out dx, " reg "\n"                           \
          AT(out##bytes##_dx, 2) "nop\n")                                      \
    SCENARIO(out##bytes##_dx, IO, .arm = {{EXIT_IO, 0x1230}},                  \
             .expect = {{EXIT_IO, 1, .length = dx_length, .has_info = true,    \
                         .info.io = {.port = 0x1230, .size = bytes},           \
                         IO_RAW(0x1230, bytes, 0, 0)}},                        \
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
#define STRING_RAW(size, in, rep, linear)                                      \
    .raw = {RAW(QUALIFICATION, QUAL(0x1230, size, in, 0) | QUAL_STRING |       \
                                   ((rep) ? QUAL_REP : 0)),                    \
            RAW(GUEST_LINEAR, linear),                                         \
            RAW_BUT(EXITINFO1,                                                 \
                    INFO1(0x1230, size, in) | INFO1_STRING |                   \
                        ((rep) ? INFO1_REP : 0),                               \
                    INFO1_BUT),                                                \
            RAW_AT(EXITINFO2, 2)}

GUEST(rep_outsb,
      "mov esi, 0x100000\n"
      "mov edx, " PORT_DX "\n"
      "mov ecx, 5\n" AT(rep_outsb, 1) "rep outsb\n" AT(rep_outsb, 2) "nop\n")
SCENARIO(rep_outsb, IO, .probe = ACCESS_R, .arm = {{EXIT_IO, 0x1230}},
         .expect = {{EXIT_IO, 1, .length = 2, .has_info = true,
                     .info.io = {.port = 0x1230,
                                 .size = 1,
                                 .string = true,
                                 .rep = true},
                     STRING_RAW(1, 0, 1, GUEST_PROBE)}},
         .see = {GPR(RDX, 0x1230), GPR(RCX, 0), GPR(RSI, GUEST_PROBE + 5),
                 DEVICE(OUT_COUNT, 5), DEVICE(OUT, PROBE_VALUE >> 32 & 0xff)});

GUEST(outsw,
      "mov esi, 0x100000\n"
      "mov edx, " PORT_DX "\n" AT(outsw, 1) "outsw\n" AT(outsw, 2) "nop\n")
SCENARIO(outsw, IO, .probe = ACCESS_R, .arm = {{EXIT_IO, 0x1230}},
         .expect = {{EXIT_IO, 1, .length = 2, .has_info = true,
                     .info.io = {.port = 0x1230, .size = 2, .string = true},
                     STRING_RAW(2, 0, 0, GUEST_PROBE)}},
         .see = {GPR(RDX, 0x1230), GPR(RSI, GUEST_PROBE + 2),
                 DEVICE(OUT_COUNT, 1), DEVICE(OUT, PROBE_VALUE & 0xffff)});

GUEST(rep_insd,
      "mov edi, 0x100008\n"
      "mov edx, " PORT_DX "\n"
      "mov ecx, 2\n" AT(rep_insd, 1) "rep insd\n" AT(rep_insd, 2) "nop\n")
SCENARIO(rep_insd, IO, .probe = ACCESS_R | ACCESS_W, .arm = {{EXIT_IO, 0x1230}},
         .expect = {{EXIT_IO, 1, .length = 2, .has_info = true,
                     .info.io = {.port = 0x1230,
                                 .size = 4,
                                 .in = true,
                                 .string = true,
                                 .rep = true},
                     STRING_RAW(4, 1, 1, GUEST_PROBE + 8)}},
         .see = {GPR(RDX, 0x1230), GPR(RCX, 0), GPR(RDI, GUEST_PROBE + 16),
                 PROBE(0, PROBE_VALUE),
                 PROBE(1, EMULATED_IN << 32 | EMULATED_IN)});

/* The other sizes, with and without REP. */
#define STRING_IO(id, insn, bytes, size_, in_, rep_, ...)                      \
    GUEST(id, "mov esi, 0x100000\n"                                            \
              "mov edi, 0x100008\n"                                            \
              "mov edx, " PORT_DX "\n"                                         \
              "mov ecx, 2\n" AT(id, 1) insn "\n" AT(id, 2) "nop\n")           \
    SCENARIO(id, IO, .probe = ACCESS_R | ACCESS_W, .arm = {{EXIT_IO, 0x1230}}, \
             .expect = {{EXIT_IO, 1, .length = bytes, .has_info = true,        \
                         .info.io = {.port = 0x1230, .size = size_,            \
                                     .in = in_, .string = true, .rep = rep_,   \
                                     .address_size = 8,                        \
                                     .segment = (in_) ? SEG_ES : SEG_DS},      \
                         STRING_RAW(size_, in_, rep_,                          \
                                    GUEST_PROBE + ((in_) ? 8 : 0))}},          \
             .see = {GPR(RDX, 0x1230), GPR(RCX, (rep_) ? 0 : 2), __VA_ARGS__})
#define INS_IO(id, insn, bytes, size, rep, count, value)                       \
    STRING_IO(id, insn, bytes, size, true, rep, GPR(RSI, GUEST_PROBE),         \
              GPR(RDI, GUEST_PROBE + 8 + (size) * (count)), PROBE(1, value))
#define OUTS_IO(id, insn, bytes, size, rep, count, value)                      \
    STRING_IO(id, insn, bytes, size, false, rep, GPR(RDI, GUEST_PROBE + 8),    \
              GPR(RSI, GUEST_PROBE + (size) * (count)),                        \
              DEVICE(OUT_COUNT, count), DEVICE(OUT, value))
#define OVER_PROBE(n, value)                                                   \
    (((PROBE_VALUE + 1) & ~LOW_BYTES(n)) | ((value) & LOW_BYTES(n)))
INS_IO(insb, "insb", 1, 1, false, 1, OVER_PROBE(1, EMULATED_IN));
INS_IO(insw, "insw", 2, 2, false, 1, OVER_PROBE(2, EMULATED_IN));
INS_IO(insd, "insd", 1, 4, false, 1, OVER_PROBE(4, EMULATED_IN));
INS_IO(rep_insb, "rep insb", 2, 1, true, 2,
       OVER_PROBE(2, (EMULATED_IN & 0xff) * 0x101));
INS_IO(rep_insw, "rep insw", 3, 2, true, 2,
       OVER_PROBE(4, (EMULATED_IN & 0xffff) * 0x10001));
OUTS_IO(outsb, "outsb", 1, 1, false, 1, PROBE_VALUE & 0xff);
OUTS_IO(outsd, "outsd", 1, 4, false, 1, PROBE_VALUE & 0xffffffff);
OUTS_IO(rep_outsw, "rep outsw", 3, 2, true, 2, PROBE_VALUE >> 16 & 0xffff);
OUTS_IO(rep_outsd, "rep outsd", 2, 4, true, 2, PROBE_VALUE >> 32);

/* A segment with a base, 32-bit addresses: the linear address has both. */
static void fs_with_base(struct guest_state *gs)
{
    gs->seg[SEG_FS].base = 0x1000;
}
GUEST(outsd_fs, "mov rsi, 0x7fff000ff008\n"
                "mov edx, " PORT_DX "\n" AT(outsd_fs, 1)
                ".byte 0x64, 0x67, 0x6f\n" AT(outsd_fs, 2) "nop\n")
SCENARIO(outsd_fs, IO, .probe = ACCESS_R, .state = fs_with_base,
         .arm = {{EXIT_IO, 0x1230}},
         .expect = {{EXIT_IO, 1, .length = 3, .has_info = true,
                     .info.io = {.port = 0x1230, .size = 4, .string = true,
                                 .address_size = 4, .segment = SEG_FS},
                     STRING_RAW(4, 0, 0, GUEST_PROBE + 8)}},
         .see = {GPR(RDX, 0x1230), GPR(RSI, 0xff00c), DEVICE(OUT_COUNT, 1),
                 DEVICE(OUT, (PROBE_VALUE + 1) & 0xffffffff)});

/* Address size: VT-x says it in instruction-information bits 9:7, next to the
 * segment in 17:15 (SDM 28.2.5), where it reports INS and OUTS at all;
 * AMD-V by A64 in EXITINFO1. DS is 3. */
SCENARIO_OF(
    outsw_sizes, outsw, IO, .probe = ACCESS_R, .arm = {{EXIT_IO, 0x1230}},
    .expect = {{EXIT_IO, 1, .length = 2, .has_info = true,
                .info.io = {.port = 0x1230, .size = 2, .string = true},
                .raw = {RAW_BUT(INSTRUCTION_INFO, 2 << 7 | 3 << 15,
                                ~0x38380ull),
                        RAW_BUT(EXITINFO1,
                                INFO1(0x1230, 2, 0) | INFO1_STRING | INFO1_A64,
                                0x1c00)}}},
    .see = {GPR(RDX, 0x1230), GPR(RSI, GUEST_PROBE + 2), DEVICE(OUT_COUNT, 1),
            DEVICE(OUT, PROBE_VALUE & 0xffff)});

/* With decode assists it names the segment, too, in bits 12:10 (APM 15.10.2):
 * FS is 4. */
GUEST(outsw_segment,
      "mov esi, 0x100000\n"
      "mov edx, " PORT_DX "\n"
      AT(outsw_segment, 1) ".byte 0x64\noutsw\n" AT(outsw_segment, 2) "nop\n")
SCENARIO(outsw_segment, IO, .vendor = VENDOR_SVM, .needs = {FEAT_SVM_DECODE},
         .probe = ACCESS_R, .arm = {{EXIT_IO, 0x1230}},
         .expect = {{EXIT_IO, 1, .length = 3, .has_info = true,
                     .info.io = {.port = 0x1230, .size = 2, .string = true},
                     .raw = {RAW(EXITINFO1, INFO1(0x1230, 2, 0) | INFO1_STRING |
                                                INFO1_A64 | 4 << 10)}}},
         .see = {GPR(RDX, 0x1230), GPR(RSI, GUEST_PROBE + 2),
                 DEVICE(OUT_COUNT, 1), DEVICE(OUT, PROBE_VALUE & 0xffff)});

/* Nothing is armed; port 80h is nobody's but POST codes'. */
GUEST(io_off, "in al, 0x80\n"
              "out 0x80, al\n"
              "xor eax, eax\n")
SCENARIO(io_off, IO, .negative = true,
         .see = {GPR(RAX, 0), DEVICE(OUT_COUNT, 0)});

/* At CPL 3 the guest's own permission comes first: neither IOPL nor the bitmap
 * of its TSS allow the port (SDM 26.1.1, APM 15.10.3). */
GUEST(io_cpl3, GOES_ON_AT_2
      "mov edx, 0x1238\n" AT(io_cpl3, 1) "in al, dx\n" HERE)
SCENARIO(io_cpl3, IO, .negative = true, .mode = MODE_64_USER,
         .arm = {{EXIT_IO, GUEST_PORT_DENIED}},
         .see = {SAW(VECTOR_GP, 0, 1), GPR(RDX, GUEST_PORT_DENIED)});

static void allow_by_iopl(struct guest_state *gs)
{
    gs->rflags |= RFLAGS_IOPL3;
}

GUEST(io_iopl,
      "mov edx, 0x1238\n" AT(io_iopl, 1) "in al, dx\n" AT(io_iopl, 2) "nop\n")
SCENARIO(io_iopl, IO, .mode = MODE_64_USER, .state = allow_by_iopl,
         .arm = {{EXIT_IO, GUEST_PORT_DENIED}},
         .expect = {{EXIT_IO, 1, .length = 1, .has_info = true,
                     .info.io = {.port = GUEST_PORT_DENIED, .size = 1,
                                 .in = true},
                     IO_RAW(GUEST_PORT_DENIED, 1, 1, 0)}},
         .see = {GPR(RDX, GUEST_PORT_DENIED),
                 GPR(RAX, (GUEST_CANARY & ~LOW_BYTES(1)) |
                              (EMULATED_IN & LOW_BYTES(1)))});

GUEST(io_tss_bitmap, AT(io_tss_bitmap, 1) "in al, 0x80\n"
                     AT(io_tss_bitmap, 2) "nop\n")
SCENARIO(io_tss_bitmap, IO, .mode = MODE_64_USER, .arm = {{EXIT_IO, 0x80}},
         .expect = {{EXIT_IO, 1, .length = 2, .has_info = true,
                     .info.io = {.port = 0x80, .size = 1, .in = true},
                     IO_RAW(0x80, 1, 1, 1)}},
         .see = {GPR(RAX, (GUEST_CANARY & ~LOW_BYTES(1)) |
                              (EMULATED_IN & LOW_BYTES(1)))});
