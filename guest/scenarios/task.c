/*
 * Scenarios: task switches. Task A, in which a scenario starts, fills the TSS
 * of task B and switches to it; task B looks at what was saved of A. Both TSSs
 * are in the probe page (guest/layout.h).
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/cpu.h"
#include "hv/handlers.h"

static void in_task_a(struct guest_state *gs)
{
    gs->seg[SEG_TR].selector = GUEST_TASK_A;
    gs->seg[SEG_TR].base = GUEST_TSS_A;
    gs->seg[SEG_TR].limit = 103;
}

/* To EBX: the linear address of a local label. */
#define ADDRESS(label)                                                         \
    "call 97f\n"                                                               \
    "97: pop ebx\n"                                                            \
    ".byte 0x81, 0xc3\n"                                                       \
    ".long " label " - 97b\n"

/* TSS B: the canaries as general-purpose registers, so that they are what must
 * be there in the end, and EIP at local label 3; then other values in A's own
 * registers. */
#define FILL_B                                                                 \
    "mov [0x100228], eax\n"                                                    \
    "mov [0x10022c], ecx\n"                                                    \
    "mov [0x100230], edx\n"                                                    \
    "mov [0x100234], ebx\n"                                                    \
    "mov [0x100238], esp\n"                                                    \
    "mov [0x10023c], ebp\n"                                                    \
    "mov [0x100240], esi\n"                                                    \
    "mov [0x100244], edi\n"                                                    \
    "xor eax, eax\n"                                                           \
    "mov [0x100200], eax\n" /* link */                                         \
    "mov [0x100260], eax\n" /* LDT selector */                                 \
    "mov [0x100264], eax\n" /* debug trap */                                   \
    "mov al, 0x10\n"                                                           \
    "mov [0x100248], eax\n" /* ES, SS, DS, FS, GS */                           \
    "mov [0x100250], eax\n"                                                    \
    "mov [0x100254], eax\n"                                                    \
    "mov [0x100258], eax\n"                                                    \
    "mov [0x10025c], eax\n"                                                    \
    "mov al, 0x38\n"                                                           \
    "mov [0x10024c], eax\n" /* CS */                                           \
    "mov al, 2\n"                                                              \
    "mov [0x100224], eax\n" /* EFLAGS */                                       \
    "mov eax, cr3\n"                                                           \
    "mov [0x10021c], eax\n" ADDRESS("3f")                                      \
    "mov [0x100220], ebx\n"                                                    \
    "mov eax, 0xa0\n"                                                          \
    "mov ecx, 0xa1\n"                                                          \
    "mov edx, 0xa2\n"                                                          \
    "mov ebp, 0xa5\n"                                                          \
    "mov esi, 0xa6\n"                                                          \
    "mov edi, 0xa7\n"

/* What B finds: in ECX how far A's saved EIP is from local label 2, in EDX its
 * own flags, in EAX its TSS selector. */
#define LOOK_B                                                                 \
    ADDRESS("2b")                                                              \
    "mov ecx, [0x100420]\n"                                                    \
    "sub ecx, ebx\n"                                                           \
    "pushfd\n"                                                                 \
    "pop edx\n"                                                                \
    "str eax\n"                                                                \
    "mov ebx, 0x5a\n"
/* The flags are those behind SUB: 0 has ZF and PF. */
#define ZERO_FLAGS (RFLAGS_FIXED | RFLAGS_ZF | BIT(2))
#define SEES_B(flags)                                                          \
    CHANGED(CR0, CR0_TS), GPR(RAX, GUEST_TASK_B), GPR(RBX, 0x5a), GPR(RCX, 0), \
        GPR(RDX, ZERO_FLAGS | (flags)),                                        \
        PROBE(TSS_A(EAX), 0xa1ull << 32 | 0xa0), /* ECX, EAX */                \
        PROBE(TSS_A(ESI), 0xa7ull << 32 | 0xa6)

/* A field of a TSS by the index of its u64 in the probe page. */
#define TSS_A(field) ((0x400 + TSS_##field) / 8)
#define TSS_B(field) ((0x200 + TSS_##field) / 8)
#define TSS_LINK 0
#define TSS_EAX  0x28
#define TSS_ESI  0x40

/* The exit, in neutral terms and in both vendors' words (SDM Table 28-2, APM
 * 15.14.1). */
#define SWITCH(n, to, from, bytes, info2, vectoring, vectoring_error)          \
    {EXIT_TASK_SWITCH, n, .length = bytes, .has_info = true,                   \
     .info.task = {.selector = to, .source = from,                             \
                   .rf = ((info2) & EXITINFO2_RF) != 0,                        \
                   .has_error = ((info2) & EXITINFO2_ERROR) != 0,              \
                   .error = vectoring_error},                                  \
     .raw = {RAW(QUALIFICATION, (u64)(from) << 30 | (to)),                     \
             RAW(VECTORING_INFO, vectoring), RAW(EXITINFO1, to),               \
             RAW(EXITINFO2, (info2) | (vectoring_error)),                      \
             RAW(EXITINTINFO, (vectoring) | (u64)(vectoring_error) << 32)}}
#define EXITINFO2_IRET  BIT(36)
#define EXITINFO2_JMP   BIT(38)
#define EXITINFO2_ERROR BIT(44)
#define EXITINFO2_RF    BIT(48)

#define TASK_SCENARIO(id, text, m, ...)                                        \
    SCENARIO_OF(id, text, TASK_SWITCH, .mode = m, .state = in_task_a,          \
                .probe = ACCESS_R | ACCESS_W, .arm = {{EXIT_TASK_SWITCH}},     \
                __VA_ARGS__)

/* ---- JMP: A is no longer busy, B is not nested ---------------------------- */

#define FAR_JMP(sel)  ".byte 0xea\n.long 0\n.word " sel "\n"
#define FAR_CALL(sel) ".byte 0x9a\n.long 0\n.word " sel "\n"

GUEST32(task_jmp, FILL_B AT(task_jmp, 1) FAR_JMP("0x68") "2: 3:\n" LOOK_B)
#define JMP_IN(id, m)                                                          \
    TASK_SCENARIO(id, task_jmp, m,                                             \
                  .expect = {SWITCH(1, GUEST_TASK_B, TASK_JMP, 7,              \
                                    EXITINFO2_JMP, 0, 0)},                     \
                  .see = {SEES_B(0), PROBE(TSS_B(LINK), LINK_WORD(0))});
/* What stands behind the link is ESP0, as the probe page was. */
#define LINK_WORD(sel)                                                         \
    (((PROBE_VALUE + TSS_B(LINK)) & 0xffffffff00000000) | (sel))
JMP_IN(task_jmp, MODE_32)
JMP_IN(task_jmp_paged, MODE_32_PAGED)
JMP_IN(task_jmp_pae, MODE_32_PAE)

/* AMD-V with the intercept off: the CPU does the same itself. */
SCENARIO_OF(task_jmp_native, task_jmp, TASK_SWITCH, .negative = true,
            .vendor = VENDOR_SVM, .mode = MODE_32, .state = in_task_a,
            .probe = ACCESS_R | ACCESS_W,
            .see = {SEES_B(0), PROBE(TSS_B(LINK), LINK_WORD(0))});

/* Through a task gate in the GDT: what is reported is the TSS. */
GUEST32(task_jmp_gate,
        FILL_B AT(task_jmp_gate, 1) FAR_JMP("0x80") "2: 3:\n" LOOK_B)
TASK_SCENARIO(task_jmp_gate, task_jmp_gate, MODE_32,
              .expect = {SWITCH(1, GUEST_TASK_B, TASK_JMP, 7, EXITINFO2_JMP, 0,
                                0)},
              .see = {SEES_B(0), PROBE(TSS_B(LINK), LINK_WORD(0))});

/* ---- CALL: B is nested in A ----------------------------------------------- */

GUEST32(task_call, FILL_B AT(task_call, 1) FAR_CALL("0x68") "2: 3:\n" LOOK_B)
TASK_SCENARIO(task_call, task_call, MODE_32,
              .expect = {SWITCH(1, GUEST_TASK_B, TASK_CALL, 7, 0, 0, 0)},
              .see = {SEES_B(RFLAGS_NT),
                      PROBE(TSS_B(LINK), LINK_WORD(GUEST_TASK_A))});

/* ---- IRET with NT: back to A, whose registers return ---------------------- */

GUEST32(task_iret, FILL_B
        "mov dword ptr [0x100460], 0\n" /* A's LDT selector, debug trap */
        "mov dword ptr [0x100464], 0\n" AT(task_iret, 1) FAR_CALL("0x68")
        "2: str ebx\n"
        "mov esi, [0x100224]\n" /* B's saved flags: NT is clear */
        "jmp 4f\n"
        "3:\n" AT(task_iret, 2) "iretd\n"
        "4:\n")
TASK_SCENARIO(task_iret, task_iret, MODE_32,
              .expect = {SWITCH(1, GUEST_TASK_B, TASK_CALL, 7, 0, 0, 0),
                         SWITCH(2, GUEST_TASK_A, TASK_IRET, 1, EXITINFO2_IRET,
                                0, 0)},
              .see = {GPR(RAX, 0xa0), GPR(RCX, 0xa1), GPR(RDX, 0xa2),
                      GPR(RBX, GUEST_TASK_A), GPR(RBP, 0xa5),
                      GPR(RSI, RFLAGS_FIXED), GPR(RDI, 0xa7),
                      CHANGED(CR0, CR0_TS)});

/* ---- a task gate in the IDT: the switch interrupts a delivery ------------- */

/* Makes it of a vector's gate. */
#define IDT_GATE(vector)                                                       \
    "sidt [0x100300]\n"                                                        \
    "mov ebx, [0x100302]\n"                                                    \
    "mov dword ptr [ebx + 8 * " vector "], 0x00680000\n"                       \
    "mov dword ptr [ebx + 8 * " vector " + 4], 0xe500\n"

/* INT n and INT3: A goes on behind the instruction. */
GUEST32(task_int, FILL_B IDT_GATE("0x51") AT(task_int, 1)
        "int 0x51\n"
        "2: 3:\n" LOOK_B)
TASK_SCENARIO(task_int, task_int, MODE_32,
              .expect = {SWITCH(1, GUEST_TASK_B, TASK_GATE, 2, 0, 0x80000451,
                                0)},
              .see = {SEES_B(RFLAGS_NT),
                      PROBE(TSS_B(LINK), LINK_WORD(GUEST_TASK_A))});

/* INT3 counts as an exception on AMD-V, and as a software one on VT-x. */
GUEST32(task_int3, FILL_B IDT_GATE("3") AT(task_int3, 1)
        "int3\n"
        "2: 3:\n" LOOK_B)
#define INT3_SWITCH(who, vectoring)                                            \
    {EXIT_TASK_SWITCH, 1, .vendor = who, .length = 1, .has_info = true,        \
     .info.task = {.selector = GUEST_TASK_B, .source = TASK_GATE},             \
     .raw = {RAW(QUALIFICATION, 3ull << 30 | GUEST_TASK_B),                    \
             RAW(VECTORING_INFO, vectoring), RAW(EXITINFO1, GUEST_TASK_B),     \
             RAW(EXITINFO2, 0), RAW(EXITINTINFO, vectoring)}}
TASK_SCENARIO(task_int3, task_int3, MODE_32,
              .expect = {INT3_SWITCH(VENDOR_VMX, 0x80000603),
                         INT3_SWITCH(VENDOR_SVM, 0x80000303)},
              .see = {SEES_B(RFLAGS_NT),
                      PROBE(TSS_B(LINK), LINK_WORD(GUEST_TASK_A))});

/* A fault: A's saved EIP is the instruction and RF is set in its flags (SDM
 * 18.3.1.1); the error code is on B's stack. */
GUEST32(task_fault, FILL_B IDT_GATE("11")
        "mov eax, 0x88\n"
        "2:\n" AT(task_fault, 1) "mov ds, eax\n"
        "3: pop esi\n" LOOK_B
        "mov ebx, [0x100424]\n"
        "and ebx, 1 << 16\n")
TASK_SCENARIO(task_fault, task_fault, MODE_32,
              .expect = {SWITCH(1, GUEST_TASK_B, TASK_GATE, 0,
                                EXITINFO2_ERROR | EXITINFO2_RF, 0x80000b0b,
                                GUEST_NP_SEL)},
              .see = {CHANGED(CR0, CR0_TS), GPR(RAX, GUEST_TASK_B),
                      GPR(RBX, RFLAGS_RF), GPR(RCX, 0), GPR(RSI, GUEST_NP_SEL),
                      GPR(RDX, ZERO_FLAGS | RFLAGS_NT),
                      PROBE(TSS_B(LINK), LINK_WORD(GUEST_TASK_A))});

/* ---- what faults before there is a switch (SDM 26.4.2, APM 15.14.1) ------- */

#define REFUSED(id, sel)                                                       \
    GUEST32(id, GOES_ON_32 AT(id, 1) FAR_JMP(sel) HERE_32)
#define REFUSED_IN(id, m, sel, n)                                              \
    TASK_SCENARIO(id, id, m, .negative = true,                                 \
                  .see = {SEEN(count, 1), SEEN(vector, n), SEEN(error, sel),   \
                          SEEN_AT(1), GPR(RBP, 0)});
REFUSED(task_not_present, "0x70")
REFUSED_IN(task_not_present, MODE_32, GUEST_TASK_NP, VECTOR_NP)
REFUSED(task_busy, "0x60")
REFUSED_IN(task_busy, MODE_32, GUEST_TASK_A, VECTOR_GP)
REFUSED(task_short, "0x78")
REFUSED_IN(task_short, MODE_32, GUEST_TASK_SHORT, VECTOR_TS)
/* Long mode has no task switches at all. */
GUEST32(task_long, GOES_ON_32 AT(task_long, 1) FAR_JMP("0x68") HERE_32)
SCENARIO(task_long, TASK_SWITCH, .negative = true, .mode = MODE_COMPAT,
         .arm = {{EXIT_TASK_SWITCH}},
         .see = {SEEN(count, 1), SEEN(vector, VECTOR_GP),
                 SEEN(error, GUEST_TASK_B), SEEN_AT(1), GPR(RBP, 0)});
