/*
 * Scenarios: control registers, by MOV, CLTS, LMSW and SMSW.
 */
/* clang-format off */
#include "guest/fault.h"
#include "hv/handlers.h"

/* Exit qualification, SDM Table 28-3. */
#define QUAL(nr, access, gpr)   ((nr) | (access) << 4 | (gpr) << 8)
#define FROM                    1
#define TO                      0
#define BY_CLTS                 2
#define BY_LMSW(source, memory) (3 << 4 | (memory) << 6 | (source) << 16)

/* VT-x has no exit for reads of CR0 and CR4: the guest gets the read shadow
 * (SDM 26.3). What it sees is the same on both. */
GUEST(cr0_read, AT(cr0_read, 1) "mov rbx, cr0\n")
SCENARIO(cr0_read, CR_READ, .item = 0, .arm = {{EXIT_CR_READ, 0}},
         .expect = {{EXIT_CR_READ, 1, .item = 0, .vendor = VENDOR_SVM,
                     .length = 3, .has_info = true,
                     .info.cr = {.nr = 0, .gpr = RBX},
                     .raw = {ASSIST_CR(RBX)}}},
         .see = {SAME(RBX, CR0)});
SCENARIO_OF(cr0_read_off, cr0_read, CR_READ, .item = 0, .negative = true,
            .see = {SAME(RBX, CR0)});

GUEST(cr4_read, AT(cr4_read, 1) "mov r9, cr4\n")
SCENARIO(cr4_read, CR_READ, .item = 4, .arm = {{EXIT_CR_READ, 4}},
         .expect = {{EXIT_CR_READ, 1, .item = 4, .vendor = VENDOR_SVM,
                     .length = 4, .has_info = true,
                     .info.cr = {.nr = 4, .gpr = R9},
                     .raw = {ASSIST_CR(R9)}}},
         .see = {SAME(R9, CR4)});
SCENARIO_OF(cr4_read_off, cr4_read, CR_READ, .item = 4, .negative = true,
            .see = {SAME(R9, CR4)});

/* VT-x has none for CR2 at all. */
static void set_cr2(struct vcpu *v)
{
    other_cr2(v);
    v->ops->set(v, REG_CR2, 0x5150);
}

GUEST(cr2_read, AT(cr2_read, 1) "mov rbx, cr2\n")
SCENARIO(cr2_read, CR_READ, .item = 2, .arm = {{EXIT_CR_READ, 2}},
         .vendor = VENDOR_SVM, .before = set_cr2,
         .expect = {{EXIT_CR_READ, 1, .item = 2, .length = 3, .has_info = true,
                     .info.cr = {.nr = 2, .gpr = RBX},
                     .raw = {ASSIST_CR(RBX)}}},
         .see = {SAME(RBX, CR2)});
SCENARIO_OF(cr2_read_off, cr2_read, CR_READ, .item = 2, .negative = true,
            .before = set_cr2, .see = {GPR(RBX, 0x5150)});

GUEST(cr3_read, AT(cr3_read, 1) "mov rbx, cr3\n")
SCENARIO(cr3_read, CR_READ, .item = 3, .arm = {{EXIT_CR_READ, 3}},
         .expect = {{EXIT_CR_READ, 1, .item = 3, .length = 3, .has_info = true,
                     .info.cr = {.nr = 3, .gpr = RBX},
                     .raw = {RAW(QUALIFICATION, QUAL(3, FROM, RBX)),
                             ASSIST_CR(RBX)}}},
         .see = {SAME(RBX, CR3)});
SCENARIO_OF(cr3_read_off, cr3_read, CR_READ, .item = 3, .negative = true,
            .see = {SAME(RBX, CR3)});

GUEST(cr8_read, AT(cr8_read, 1) "mov r9, cr8\n")
SCENARIO(cr8_read, CR_READ, .item = 8, .arm = {{EXIT_CR_READ, 8}},
         .expect = {{EXIT_CR_READ, 1, .item = 8, .length = 4, .has_info = true,
                     .info.cr = {.nr = 8, .gpr = R9},
                     .raw = {RAW(QUALIFICATION, QUAL(8, FROM, R9)),
                             ASSIST_CR(R9)}}},
         .see = {GPR(R9, EMULATED_CR8)});
SCENARIO_OF(cr8_read_off, cr8_read, CR_READ, .item = 8, .negative = true,
            .see = {SAME(R9, CR8)});
/* AMD-V: MOV to and from CR0 with LOCK is CR8's, too (APM 15.21.3). */
GUEST(cr8_read_lock, AT(cr8_read_lock, 1) ".byte 0xf0, 0x0f, 0x20, 0xc3\n")
SCENARIO(cr8_read_lock, CR_READ, .item = 8, .vendor = VENDOR_SVM,
         .needs = {FEAT_ALT_MOV_CR8},
         .arm = {{EXIT_CR_READ, 8}, {EXIT_CR_READ, 0}},
         .expect = {{EXIT_CR_READ, 1, .item = 8, .length = 4, .has_info = true,
                     .info.cr = {.nr = 8, .gpr = RBX},
                     .raw = {ASSIST_CR(RBX)}}},
         .see = {GPR(RBX, EMULATED_CR8)});

/* Bit 18 is CR0.AM; reading back does not exit. */
GUEST(cr0_write, "mov rax, cr0\n"
                 "xor eax, 1 << 18\n"
                 AT(cr0_write, 1) "mov cr0, rax\n"
                 "mov rbx, cr0\n")
SCENARIO(cr0_write, CR_WRITE, .item = 0, .arm = {{EXIT_CR_WRITE, 0}},
         .expect = {{EXIT_CR_WRITE, 1, .item = 0, .length = 3, .has_info = true,
                     .info.cr = {.nr = 0, .gpr = RAX},
                     .raw = {RAW(QUALIFICATION, QUAL(0, TO, RAX)),
                             ASSIST_CR(RAX)}}},
         .see = {CHANGED(CR0, CR0_AM), SAME(RAX, CR0), SAME(RBX, CR0)});
SCENARIO_OF(cr0_write_off, cr0_write, CR_WRITE, .item = 0, .negative = true,
            .see = {CHANGED(CR0, CR0_AM), SAME(RAX, CR0), SAME(RBX, CR0)});

/* The same value again: VT-x looks at what would change (SDM 26.1.3), AMD-V at
 * the instruction alone. */
GUEST(cr0_write_same, "mov rax, cr0\n" AT(cr0_write_same, 1) "mov cr0, rax\n")
SCENARIO(cr0_write_same, CR_WRITE, .item = 0, .arm = {{EXIT_CR_WRITE, 0}},
         .expect = {{EXIT_CR_WRITE, 1, .item = 0, .vendor = VENDOR_SVM,
                     .length = 3, .has_info = true,
                     .info.cr = {.nr = 0, .gpr = RAX},
                     .raw = {ASSIST_CR(RAX)}}},
         .see = {CHANGED(CR0, 0), SAME(RAX, CR0)});

/* One bit in the mask: its neighbour WP goes through, AM exits. */
static void mask_am(struct vcpu *v)
{
    v->ops->set_word(v, RAW_CR0_MASK, CR0_AM);
}

GUEST(cr0_mask, "mov rax, cr0\n"
                "xor eax, 1 << 16\n"
                "mov cr0, rax\n"
                "xor eax, 1 << 18\n" AT(cr0_mask, 1) "mov cr0, rax\n")
SCENARIO(cr0_mask, CR_WRITE, .item = 0, .vendor = VENDOR_VMX, .before = mask_am,
         .expect = {{EXIT_CR_WRITE, 1, .item = 0, .length = 3, .has_info = true,
                     .info.cr = {.nr = 0, .gpr = RAX},
                     .raw = {RAW(QUALIFICATION, QUAL(0, TO, RAX))}}},
         .see = {CHANGED(CR0, CR0_WP | CR0_AM), SAME(RAX, CR0)});

/* The shadow says that AM is 1: the guest reads that, and may write it. */
static void shadow_am(struct vcpu *v)
{
    u64 shadow = 0;

    v->ops->word(v, RAW_CR0_SHADOW, &shadow);
    v->ops->set_word(v, RAW_CR0_SHADOW, shadow | CR0_AM);
    mask_am(v);
}

GUEST(cr0_shadow, "mov rax, cr0\n"
                  "mov cr0, rax\n"
                  "and eax, 1 << 18\n"
                  "smsw ebx\n"
                  "and ebx, 1 << 18\n")
SCENARIO(cr0_shadow, CR_WRITE, .item = 0, .negative = true,
         .vendor = VENDOR_VMX, .before = shadow_am,
         .see = {GPR(RAX, CR0_AM), GPR(RBX, CR0_AM)});

/* AMD-V's other way to watch CR0: TS and MP may change, AM may not. */
GUEST(cr0_sel_write, "mov rax, cr0\n"
                     "xor eax, 0xa\n"
                     "mov cr0, rax\n"
                     "xor eax, 1 << 18\n"
                     AT(cr0_sel_write, 1) "mov cr0, rax\n"
                     "mov rbx, cr0\n")
SCENARIO(cr0_sel_write, CR0_SEL_WRITE, .arm = {{EXIT_CR0_SEL_WRITE}},
         .vendor = VENDOR_SVM,
         .expect = {{EXIT_CR0_SEL_WRITE, 1, .length = 3, .has_info = true,
                     .info.cr = {.nr = 0, .gpr = RAX},
                     .raw = {ASSIST_CR(RAX)}}},
         .see = {CHANGED(CR0, CR0_TS | CR0_MP | CR0_AM), SAME(RAX, CR0),
                 SAME(RBX, CR0)});
SCENARIO_OF(cr0_sel_write_off, cr0_sel_write, CR0_SEL_WRITE, .negative = true,
            .vendor = VENDOR_SVM,
            .see = {CHANGED(CR0, CR0_TS | CR0_MP | CR0_AM), SAME(RAX, CR0),
                    SAME(RBX, CR0)});

/* Both armed: the one for all bits wins (APM 15.9, Table 15-7). */
SCENARIO_OF(cr0_both_writes, cr0_write, CR_WRITE, .item = 0,
            .arm = {{EXIT_CR_WRITE, 0}, {EXIT_CR0_SEL_WRITE}},
            .vendor = VENDOR_SVM,
            .expect = {{EXIT_CR_WRITE, 1, .item = 0, .length = 3,
                        .has_info = true, .info.cr = {.nr = 0, .gpr = RAX},
                        .raw = {ASSIST_CR(RAX)}}},
            .see = {CHANGED(CR0, CR0_AM), SAME(RAX, CR0), SAME(RBX, CR0)});

static void set_ts(struct guest_state *gs)
{
    gs->cr0 |= CR0_TS;
}

/* A kind of its own on VT-x, on AMD-V a write of CR0 like others. */
GUEST(clts, AT(clts, 1) "clts\n"
                        "mov rbx, cr0\n")
SCENARIO(clts, CLTS, .arm = {{EXIT_CLTS}}, .vendor = VENDOR_VMX,
         .state = set_ts,
         .expect = {{EXIT_CLTS, 1, .length = 2, .has_info = true,
                     .info.cr = {.nr = 0, .insn = CR_CLTS},
                     .raw = {RAW(QUALIFICATION, QUAL(0, BY_CLTS, 0))}}},
         .see = {CHANGED(CR0, CR0_TS), SAME(RBX, CR0)});
SCENARIO_OF(clts_write, clts, CR_WRITE, .item = 0, .arm = {{EXIT_CR_WRITE, 0}},
            .vendor = VENDOR_SVM, .state = set_ts,
            .expect = {{EXIT_CR_WRITE, 1, .item = 0, .length = 2,
                        .has_info = true,
                        .info.cr = {.nr = 0, .insn = CR_CLTS},
                        .raw = {ASSIST_NO_MOV}}},
            .see = {CHANGED(CR0, CR0_TS), SAME(RBX, CR0)});
SCENARIO_OF(clts_off, clts, CR_WRITE, .item = 0, .negative = true,
            .state = set_ts, .see = {CHANGED(CR0, CR0_TS), SAME(RBX, CR0)});
/* It changes no bit that the selective intercept watches. */
SCENARIO_OF(clts_sel_write, clts, CR0_SEL_WRITE, .negative = true,
            .arm = {{EXIT_CR0_SEL_WRITE}}, .vendor = VENDOR_SVM,
            .state = set_ts, .see = {CHANGED(CR0, CR0_TS), SAME(RBX, CR0)});

/* TS is in the mask, and 0 in the shadow: CLTS has nothing to do, so it does
 * not exit, and the real TS stays (SDM 26.3): FNOP still raises #NM. */
static void shadow_ts(struct vcpu *v)
{
    u64 shadow = 0;

    v->ops->word(v, RAW_CR0_SHADOW, &shadow);
    v->ops->set_word(v, RAW_CR0_SHADOW, shadow & ~CR0_TS);
    v->ops->set_word(v, RAW_CR0_MASK, CR0_TS);
}

GUEST(clts_shadow, GOES_ON_AT_2 "clts\n" AT(clts_shadow, 1) "fnop\n" HERE)
SCENARIO(clts_shadow, CLTS, .negative = true, .vendor = VENDOR_VMX,
         .state = set_ts, .before = shadow_ts,
         .see = {SAW(VECTOR_NM, 0, 1), CHANGED(CR0, CR0_TS)});

/* LMSW loads PE, MP, EM and TS; here MP and TS change. */
GUEST(lmsw, "mov ebx, 0xb\n" AT(lmsw, 1) "lmsw bx\n")
SCENARIO(lmsw, LMSW, .arm = {{EXIT_LMSW, 0xf}}, .vendor = VENDOR_VMX,
         .expect = {{EXIT_LMSW, 1, .length = 3, .has_info = true,
                     .info.cr = {.nr = 0, .insn = CR_LMSW},
                     .raw = {RAW(QUALIFICATION, BY_LMSW(0xb, 0))}}},
         .see = {GPR(RBX, 0xb), CHANGED(CR0, CR0_MP | CR0_TS)});
SCENARIO_OF(lmsw_write, lmsw, CR_WRITE, .item = 0, .arm = {{EXIT_CR_WRITE, 0}},
            .vendor = VENDOR_SVM,
            .expect = {{EXIT_CR_WRITE, 1, .item = 0, .length = 3,
                        .has_info = true,
                        .info.cr = {.nr = 0, .insn = CR_LMSW},
                        .raw = {ASSIST_NO_MOV}}},
            .see = {GPR(RBX, 0xb), CHANGED(CR0, CR0_MP | CR0_TS)});
SCENARIO_OF(lmsw_off, lmsw, CR_WRITE, .item = 0, .negative = true,
            .see = {GPR(RBX, 0xb), CHANGED(CR0, CR0_MP | CR0_TS)});
/* With LMSW the selective intercept does not look at the bits (APM 15.9). */
SCENARIO_OF(lmsw_sel_write, lmsw, CR0_SEL_WRITE, .arm = {{EXIT_CR0_SEL_WRITE}},
            .vendor = VENDOR_SVM,
            .expect = {{EXIT_CR0_SEL_WRITE, 1, .length = 3, .has_info = true,
                        .info.cr = {.nr = 0, .insn = CR_LMSW},
                        .raw = {ASSIST_NO_MOV}}},
            .see = {GPR(RBX, 0xb), CHANGED(CR0, CR0_MP | CR0_TS)});
/* Only EM in the mask, which stays as it is. */
SCENARIO_OF(lmsw_beside, lmsw, LMSW, .negative = true, .vendor = VENDOR_VMX,
            .arm = {{EXIT_LMSW, CR0_EM}},
            .see = {GPR(RBX, 0xb), CHANGED(CR0, CR0_MP | CR0_TS)});

/* It cannot clear PE, so a 0 there is no attempt to (SDM 26.1.3). */
GUEST(lmsw_pe, "xor ebx, ebx\n"
               "lmsw bx\n")
SCENARIO(lmsw_pe, LMSW, .negative = true, .vendor = VENDOR_VMX,
         .arm = {{EXIT_LMSW, CR0_PE}}, .see = {GPR(RBX, 0), CHANGED(CR0, 0)});

GUEST(lmsw_memory,
      "mov ebx, 0x100008\n"
      "mov word ptr [rbx], 0xb\n" AT(lmsw_memory, 1) "lmsw [rbx]\n")
SCENARIO(lmsw_memory, LMSW, .arm = {{EXIT_LMSW, 0xf}}, .vendor = VENDOR_VMX,
         .probe = ACCESS_R | ACCESS_W,
         .expect = {{EXIT_LMSW, 1, .length = 3, .has_info = true,
                     .info.cr = {.nr = 0,
                                 .insn = CR_LMSW,
                                 .memory = true,
                                 .address = GUEST_PROBE + 8},
                     .raw = {RAW(QUALIFICATION, BY_LMSW(0xb, 1)),
                             RAW(GUEST_LINEAR, GUEST_PROBE + 8)}}},
         .see = {GPR(RBX, GUEST_PROBE + 8), CHANGED(CR0, CR0_MP | CR0_TS)});
SCENARIO_OF(lmsw_memory_write, lmsw_memory, CR_WRITE, .item = 0,
            .arm = {{EXIT_CR_WRITE, 0}}, .vendor = VENDOR_SVM,
            .probe = ACCESS_R | ACCESS_W,
            .expect = {{EXIT_CR_WRITE, 1, .item = 0, .length = 3,
                        .has_info = true,
                        .info.cr = {.nr = 0,
                                    .insn = CR_LMSW,
                                    .memory = true,
                                    .address = GUEST_PROBE + 8},
                        .raw = {ASSIST_NO_MOV}}},
            .see = {GPR(RBX, GUEST_PROBE + 8), CHANGED(CR0, CR0_MP | CR0_TS)});

/* SMSW is a read of CR0; 32 bits here. */
GUEST(smsw, AT(smsw, 1) "smsw ebx\n"
            AT(smsw, 2) "mov rax, cr0\n"
            "sub rax, rbx\n")
SCENARIO(smsw, CR_READ, .item = 0, .arm = {{EXIT_CR_READ, 0}},
         .vendor = VENDOR_SVM,
         .expect = {{EXIT_CR_READ, 1, .item = 0, .length = 3, .has_info = true,
                     .info.cr = {.nr = 0, .insn = CR_SMSW},
                     .raw = {ASSIST_NO_MOV}},
                    {EXIT_CR_READ, 2, .item = 0, .length = 3, .has_info = true,
                     .info.cr = {.nr = 0, .gpr = RAX},
                     .raw = {ASSIST_CR(RAX)}}},
         .see = {SAME(RBX, CR0), GPR(RAX, 0)});
SCENARIO_OF(smsw_off, smsw, CR_READ, .item = 0, .negative = true,
            .see = {SAME(RBX, CR0), GPR(RAX, 0)});

GUEST(smsw_memory, "mov ebx, 0x100008\n"
                   AT(smsw_memory, 1) "smsw [rbx]\n"
                   "movzx eax, word ptr [rbx]\n")
SCENARIO(smsw_memory, CR_READ, .item = 0, .arm = {{EXIT_CR_READ, 0}},
         .vendor = VENDOR_SVM, .probe = ACCESS_R | ACCESS_W,
         .expect = {{EXIT_CR_READ, 1, .item = 0, .length = 3, .has_info = true,
                     .info.cr = {.nr = 0,
                                 .insn = CR_SMSW,
                                 .memory = true,
                                 .address = GUEST_PROBE + 8},
                     .raw = {ASSIST_NO_MOV}}},
         .see = {GPR(RBX, GUEST_PROBE + 8),
                 GPR(RAX, CR0_PE | CR0_ET | CR0_NE)});

GUEST(cr2_write, "mov ebx, 0x5150\n"
                 AT(cr2_write, 1) "mov cr2, rbx\n"
                 "mov rcx, cr2\n")
SCENARIO(cr2_write, CR_WRITE, .item = 2, .arm = {{EXIT_CR_WRITE, 2}},
         .vendor = VENDOR_SVM, .before = other_cr2,
         .expect = {{EXIT_CR_WRITE, 1, .item = 2, .length = 3, .has_info = true,
                     .info.cr = {.nr = 2, .gpr = RBX},
                     .raw = {ASSIST_CR(RBX)}}},
         .see = {GPR(RBX, 0x5150), GPR(RCX, 0x5150)});
SCENARIO_OF(cr2_write_off, cr2_write, CR_WRITE, .item = 2, .negative = true,
            .see = {GPR(RBX, 0x5150), GPR(RCX, 0x5150)});

/* Bit 3 is CR3.PWT. */
GUEST(cr3_write, "mov r9, cr3\n"
                 "xor r9, 8\n"
                 AT(cr3_write, 1) "mov cr3, r9\n"
                 "mov rbx, cr3\n")
SCENARIO(cr3_write, CR_WRITE, .item = 3, .arm = {{EXIT_CR_WRITE, 3}},
         .expect = {{EXIT_CR_WRITE, 1, .item = 3, .length = 4, .has_info = true,
                     .info.cr = {.nr = 3, .gpr = R9},
                     .raw = {RAW(QUALIFICATION, QUAL(3, TO, R9)),
                             ASSIST_CR(R9)}}},
         .see = {CHANGED(CR3, BIT(3)), SAME(R9, CR3), SAME(RBX, CR3)});
SCENARIO_OF(cr3_write_off, cr3_write, CR_WRITE, .item = 3, .negative = true,
            .see = {CHANGED(CR3, BIT(3)), SAME(R9, CR3), SAME(RBX, CR3)});

/* RSP as the operand, which no stub saves among the others. */
GUEST(cr3_read_rsp, "mov rbx, rsp\n" AT(cr3_read_rsp, 1) "mov rsp, cr3\n"
                    "mov rax, rsp\n"
                    "mov rsp, rbx\n")
SCENARIO(cr3_read_rsp, CR_READ, .item = 3, .arm = {{EXIT_CR_READ, 3}},
         .expect = {{EXIT_CR_READ, 1, .item = 3, .length = 3, .has_info = true,
                     .info.cr = {.nr = 3, .gpr = RSP},
                     .raw = {RAW(QUALIFICATION, QUAL(3, FROM, RSP))}}},
         .see = {SAME(RAX, CR3), SAME(RBX, RSP)});
GUEST(cr3_write_rsp, "mov rbx, rsp\n"
                     "mov rsp, cr3\n"
                     "xor rsp, 8\n" AT(cr3_write_rsp, 1) "mov cr3, rsp\n"
                     "mov rsp, rbx\n")
SCENARIO(cr3_write_rsp, CR_WRITE, .item = 3, .arm = {{EXIT_CR_WRITE, 3}},
         .expect = {{EXIT_CR_WRITE, 1, .item = 3, .length = 3,
                     .has_info = true, .info.cr = {.nr = 3, .gpr = RSP},
                     .raw = {RAW(QUALIFICATION, QUAL(3, TO, RSP))}}},
         .see = {CHANGED(CR3, BIT(3)), SAME(RBX, RSP)});

/* A value on the CR3-target list may be loaded (SDM 25.6.7), its neighbour
 * exits. */
static void set_target(struct vcpu *v)
{
    v->ops->set_word(v, RAW_CR3_TARGET_COUNT, 1);
    v->ops->set_word(v, RAW_CR3_TARGET, v->ops->get(v, REG_CR3) ^ BIT(3));
}

GUEST(cr3_target, "mov r9, cr3\n"
                  "xor r9, 8\n"
                  "mov cr3, r9\n"
                  "xor r9, 0x18\n" AT(cr3_target, 1) "mov cr3, r9\n")
SCENARIO(cr3_target, CR_WRITE, .item = 3, .arm = {{EXIT_CR_WRITE, 3}},
         .vendor = VENDOR_VMX, .needs = {FEAT_VMX_CR3_TARGETS},
         .before = set_target,
         .expect = {{EXIT_CR_WRITE, 1, .item = 3, .length = 4, .has_info = true,
                     .info.cr = {.nr = 3, .gpr = R9},
                     .raw = {RAW(QUALIFICATION, QUAL(3, TO, R9))}}},
         .see = {CHANGED(CR3, BIT(4)), SAME(R9, CR3)});

/* Bit 8 is CR4.PCE. */
GUEST(cr4_write, "mov rdi, cr4\n"
                 "xor edi, 1 << 8\n"
                 AT(cr4_write, 1) "mov cr4, rdi\n"
                 "mov rbx, cr4\n")
SCENARIO(cr4_write, CR_WRITE, .item = 4, .arm = {{EXIT_CR_WRITE, 4}},
         .expect = {{EXIT_CR_WRITE, 1, .item = 4, .length = 3, .has_info = true,
                     .info.cr = {.nr = 4, .gpr = RDI},
                     .raw = {RAW(QUALIFICATION, QUAL(4, TO, RDI)),
                             ASSIST_CR(RDI)}}},
         .see = {CHANGED(CR4, CR4_PCE), SAME(RDI, CR4), SAME(RBX, CR4)});
SCENARIO_OF(cr4_write_off, cr4_write, CR_WRITE, .item = 4, .negative = true,
            .see = {CHANGED(CR4, CR4_PCE), SAME(RDI, CR4), SAME(RBX, CR4)});

/* One bit in the mask, and other than real in the shadow: the neighbour PCE
 * goes through; the guest clears what it read as 1, and that exits. */
static void shadow_tsd(struct vcpu *v)
{
    u64 mask = 0, shadow = 0;

    v->ops->word(v, RAW_CR4_MASK, &mask);
    v->ops->word(v, RAW_CR4_SHADOW, &shadow);
    v->ops->set_word(v, RAW_CR4_MASK, mask | CR4_TSD);
    v->ops->set_word(v, RAW_CR4_SHADOW, shadow | CR4_TSD);
}

GUEST(cr4_shadow, "mov rdi, cr4\n"
                  "mov ebx, edi\n"
                  "and ebx, 4\n"
                  "xor edi, 1 << 8\n"
                  "mov cr4, rdi\n"
                  "xor edi, 4\n" AT(cr4_shadow, 1) "mov cr4, rdi\n")
SCENARIO(cr4_shadow, CR_WRITE, .item = 4, .vendor = VENDOR_VMX,
         .before = shadow_tsd,
         .expect = {{EXIT_CR_WRITE, 1, .item = 4, .length = 3, .has_info = true,
                     .info.cr = {.nr = 4, .gpr = RDI},
                     .raw = {RAW(QUALIFICATION, QUAL(4, TO, RDI))}}},
         .see = {GPR(RBX, CR4_TSD), CHANGED(CR4, CR4_PCE), SAME(RDI, CR4)});

GUEST(cr8_write, "mov ebx, 9\n" AT(cr8_write, 1) "mov cr8, rbx\n")
SCENARIO(cr8_write, CR_WRITE, .item = 8, .arm = {{EXIT_CR_WRITE, 8}},
         .expect = {{EXIT_CR_WRITE, 1, .item = 8, .length = 4, .has_info = true,
                     .info.cr = {.nr = 8, .gpr = RBX},
                     .raw = {RAW(QUALIFICATION, QUAL(8, TO, RBX)),
                             ASSIST_CR(RBX)}}},
         .see = {GPR(RBX, 9), DEVICE(CR8, 9)});
SCENARIO_OF(cr8_write_off, cr8_write, CR_WRITE, .item = 8, .negative = true,
            .see = {SAME(RBX, CR8), DEVICE(CR8, EMULATED_CR8)});
GUEST(cr8_write_lock, "mov ebx, 9\n"
      AT(cr8_write_lock, 1) ".byte 0xf0, 0x0f, 0x22, 0xc3\n")
SCENARIO(cr8_write_lock, CR_WRITE, .item = 8, .vendor = VENDOR_SVM,
         .needs = {FEAT_ALT_MOV_CR8},
         .arm = {{EXIT_CR_WRITE, 8}, {EXIT_CR_WRITE, 0}},
         .expect = {{EXIT_CR_WRITE, 1, .item = 8, .length = 4, .has_info = true,
                     .info.cr = {.nr = 8, .gpr = RBX},
                     .raw = {ASSIST_CR(RBX)}}},
         .see = {GPR(RBX, 9), DEVICE(CR8, 9)});

/* Privilege comes first, on both. */
PRIVILEGE_FIRST(cr3_read_cpl3, CR_READ, 3, "mov rbx, cr3\n");
PRIVILEGE_FIRST(cr3_write_cpl3, CR_WRITE, 3, "mov cr3, rbx\n");
PRIVILEGE_FIRST(cr0_write_cpl3, CR_WRITE, 0, "mov cr0, rbx\n");
