/*
 * Scenarios: extended page tables in detail (SDM 29.3): what an EPT violation
 * reports, each sort of misconfiguration, accessed and dirty flags, the
 * page-modification log, sub-page permissions.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/guest.h"
#include "hv/handlers.h"

/* Exit qualification, SDM Table 28-7: 2:0 access, 5:3 what the entries allow,
 * 7 linear address valid, 8 its translation done. Undefined here: 6 without
 * mode-based execute control, 11:9 without advanced information. */
#define ALLOWED(access) ((u64)(access) << 3)
#define LINEAR          BIT(7)
#define FINAL           BIT(8)
#define UNDEF           (7ull << 9 | BIT(6))

#define RW  (ACCESS_R | ACCESS_W)
#define RX  (ACCESS_R | ACCESS_X)
#define RWX (ACCESS_R | ACCESS_W | ACCESS_X)

#define VIOLATION(access, allowed, address)                                    \
    .raw = {RAW_BUT(QUALIFICATION,                                             \
                    (access) | ALLOWED(allowed) | LINEAR | FINAL, UNDEF),      \
            RAW(GUEST_PHYSICAL, address), RAW(GUEST_LINEAR, address),          \
            RAW_BUT(VECTORING_INFO, 0, ~BIT(31))}

/* Every access against every set of rights that lacks it and can be. */
#define READS(id, rights, ...)                                                 \
    GUEST(id, "mov ebx, 0x100018\n" AT(id, 1) "mov rax, [rbx]\n")              \
    SCENARIO(id, NESTED_FAULT, .vendor = VENDOR_VMX, .probe = (rights),        \
             .expect = {{EXIT_NESTED_FAULT, 1,                                 \
                         VIOLATION(ACCESS_R, rights, GUEST_PROBE + 0x18)}},    \
             .see = {GPR(RBX, GUEST_PROBE + 0x18), GPR(RAX, PROBE_VALUE + 3)}, \
             __VA_ARGS__)
READS(ept_read_none, 0, .demo = false);
READS(ept_read_x, ACCESS_X, .needs = {FEAT_EPT_EXEC_ONLY});

#define WRITES(id, rights, ...)                                                \
    GUEST(id, "mov ebx, 0x100018\n" AT(id, 1) "mov [rbx], rbx\n")              \
    SCENARIO(id, NESTED_FAULT, .vendor = VENDOR_VMX, .probe = (rights),        \
             .expect = {{EXIT_NESTED_FAULT, 1,                                 \
                         VIOLATION(ACCESS_W, rights, GUEST_PROBE + 0x18)}},    \
             .see = {GPR(RBX, GUEST_PROBE + 0x18),                             \
                     PROBE(3, GUEST_PROBE + 0x18)},                            \
             __VA_ARGS__)
WRITES(ept_write_none, 0, .demo = false);
WRITES(ept_write_r, ACCESS_R, .demo = false);
WRITES(ept_write_rx, RX, .demo = false);
WRITES(ept_write_x, ACCESS_X, .needs = {FEAT_EPT_EXEC_ONLY});

/* The byte there is RET (PROBE_CODE). */
#define FETCHES(id, rights)                                                    \
    GUEST(id, "mov ebx, 0x100f00\n"                                            \
              "call rbx\n")                                                    \
    SCENARIO(id, NESTED_FAULT, .vendor = VENDOR_VMX, .probe = (rights),        \
             .expect = {{EXIT_NESTED_FAULT, .rip = GUEST_PROBE + PROBE_CODE,   \
                         VIOLATION(ACCESS_X, rights,                           \
                                   GUEST_PROBE + PROBE_CODE)}},                \
             .see = {GPR(RBX, GUEST_PROBE + PROBE_CODE)})
FETCHES(ept_fetch_none, 0);
FETCHES(ept_fetch_r, ACCESS_R);
FETCHES(ept_fetch_rw, RW);

/* What the guest's own tables say of the address: bits 9 user, 10 writable, 11
 * not executable; where the CPU reports that. */
SCENARIO_OF(ept_read_info, ept_read_none, NESTED_FAULT, .vendor = VENDOR_VMX,
            .needs = {FEAT_EPT_EXIT_INFO},
            .expect = {{EXIT_NESTED_FAULT, 1,
                        .raw = {RAW_BUT(QUALIFICATION,
                                        ACCESS_R | LINEAR | FINAL | BIT(10),
                                        BIT(6))}}},
            .see = {GPR(RBX, GUEST_PROBE + 0x18), GPR(RAX, PROBE_VALUE + 3)});

/* Mode-based execute control (SDM 25.6.2): bit 10 of the entry is for user-mode
 * addresses, this is none; bit 6 reports it. */
SCENARIO_OF(ept_fetch_mode, ept_fetch_rw, NESTED_FAULT, .vendor = VENDOR_VMX,
            .use = {FEAT_VMX_EPT_MBE}, .probe = RW, .tweak = {1, 0, BIT(10)},
            .expect = {{EXIT_NESTED_FAULT, .rip = GUEST_PROBE + PROBE_CODE,
                        .raw = {RAW_BUT(QUALIFICATION,
                                        ACCESS_X | ALLOWED(RW) | BIT(6) |
                                            LINEAR | FINAL,
                                        7ull << 9)}}},
            .see = {GPR(RBX, GUEST_PROBE + PROBE_CODE)});

/* --- The guest's PML4 lies in the probe page: what faults is its walk, and
 * the linear address is that of the first instruction. With accessed and
 * dirty flags a walk counts as a write, and reports both (Table 28-7, note). */
static void move_pml4(struct guest_state *gs)
{
    *(u64 *)guest_memory(GUEST_PROBE, 8) = *guest_copy(guest_pml4, u64);
    gs->cr3 = GUEST_PROBE;
}

#define WALK(access, allowed)                                                  \
    .state = move_pml4, .probe = (allowed),                                    \
    .expect = {{EXIT_NESTED_FAULT, 1,                                          \
                .raw = {RAW_BUT(QUALIFICATION,                                 \
                                (access) | ALLOWED(allowed) | LINEAR, UNDEF),  \
                        RAW(GUEST_PHYSICAL, GUEST_PROBE),                      \
                        RAW_AT(GUEST_LINEAR, 1)}}}

GUEST(ept_walk, AT(ept_walk, 1) "nop\n")
SCENARIO(ept_walk, NESTED_FAULT, .vendor = VENDOR_VMX, WALK(ACCESS_R, 0));
SCENARIO_OF(ept_walk_ad, ept_walk, NESTED_FAULT, .vendor = VENDOR_VMX,
            .use = {FEAT_EPT_AD}, WALK(RW, ACCESS_R));

/* --- Misconfigurations (SDM 29.3.3.1), level by level: the entry of the probe
 * page itself, then those that all of the guest shares. There the first access
 * of all, to the guest's own PML4, meets them. */
#define MEMTYPE(n)   ((u64)(n) << 3)
#define BEYOND       BIT(51) /* above the physical address of any CPU so far */
#define LARGE_PAGE   BIT(7)

#define MISCONFIG(id, ...)                                                     \
    GUEST(id, "mov ebx, 0x100018\n" AT(id, 1) "mov rax, [rbx]\n")              \
    SCENARIO(id, NESTED_MISCONFIG, .probe = RWX, .tweak = __VA_ARGS__,         \
             .expect = {{EXIT_NESTED_MISCONFIG, 1, .has_info = true,           \
                         .info.npf.gpa = GUEST_PROBE + 0x18,                   \
                         .raw = {RAW(GUEST_PHYSICAL, GUEST_PROBE + 0x18)}}},   \
             .see = {GPR(RBX, GUEST_PROBE + 0x18), GPR(RAX, PROBE_VALUE + 3)})
MISCONFIG(ept_bad_w, {1, RWX, ACCESS_W});
/* It has no qualification, and leaves that field clear (SDM 28.2.1). */
SCENARIO_OF(ept_bad_clear, ept_bad_w, NESTED_MISCONFIG, .probe = RWX,
            .tweak = {1, RWX, ACCESS_W},
            .expect = {{EXIT_NESTED_MISCONFIG, 1,
                        .raw = {RAW(QUALIFICATION, 0)}}},
            .see = {GPR(RBX, GUEST_PROBE + 0x18), GPR(RAX, PROBE_VALUE + 3)});
MISCONFIG(ept_bad_wx, {1, RWX, ACCESS_W | ACCESS_X});
MISCONFIG(ept_bad_type2, {1, MEMTYPE(7), MEMTYPE(2)});
MISCONFIG(ept_bad_type3, {1, MEMTYPE(7), MEMTYPE(3)});
MISCONFIG(ept_bad_type7, {1, MEMTYPE(7), MEMTYPE(7)});
MISCONFIG(ept_bad_address, {1, 0, BEYOND});

#define MISCONFIG_ABOVE(id, ...)                                               \
    GUEST(id, AT(id, 1) "nop\n")                                               \
    SCENARIO(id, NESTED_MISCONFIG, .state = move_pml4, .probe = RWX,           \
             .tweak = __VA_ARGS__,                                             \
             .expect = {{EXIT_NESTED_MISCONFIG, 1, .has_info = true,           \
                         .info.npf.gpa = GUEST_PROBE,                          \
                         .raw = {RAW(GUEST_PHYSICAL, GUEST_PROBE)}}})
MISCONFIG_ABOVE(ept_bad_pde_w, {2, RWX, ACCESS_W});
MISCONFIG_ABOVE(ept_bad_pde_bit3, {2, 0, BIT(3)});
MISCONFIG_ABOVE(ept_bad_pde_bit6, {2, 0, BIT(6)});
MISCONFIG_ABOVE(ept_bad_pde_address, {2, 0, BEYOND});
MISCONFIG_ABOVE(ept_bad_large_type, {2, BIT(21) - BIT(12),
                                     LARGE_PAGE | MEMTYPE(2)});
MISCONFIG_ABOVE(ept_bad_large_bit12, {2, BIT(21) - BIT(12),
                                      LARGE_PAGE | MEMTYPE(6) | BIT(12)});
MISCONFIG_ABOVE(ept_bad_large_bit13, {2, BIT(21) - BIT(12),
                                      LARGE_PAGE | MEMTYPE(6) | BIT(13)});
MISCONFIG_ABOVE(ept_bad_pdpte_w, {3, RWX, ACCESS_W});
MISCONFIG_ABOVE(ept_bad_pdpte_bit3, {3, 0, BIT(3)});
MISCONFIG_ABOVE(ept_bad_pdpte_address, {3, 0, BEYOND});
MISCONFIG_ABOVE(ept_bad_pml4e_w, {4, RWX, ACCESS_W});
MISCONFIG_ABOVE(ept_bad_pml4e_bit3, {4, 0, BIT(3)});
MISCONFIG_ABOVE(ept_bad_pml4e_bit7, {4, 0, BIT(7)});
MISCONFIG_ABOVE(ept_bad_pml4e_address, {4, 0, BEYOND});

/* Ignored bits are no misconfiguration: 11, 52 to 56 and 62 (Table 29-7). */
SCENARIO_OF(ept_ignored_bits, ept_bad_w, NESTED_MISCONFIG, .probe = RWX,
            .tweak = {1, 0, BIT(11) | 0x1full << 52 | BIT(62)},
            .negative = true,
            .see = {GPR(RBX, GUEST_PROBE + 0x18), GPR(RAX, PROBE_VALUE + 3)});

/* --- Accessed (8) and dirty (9) flags, SDM 29.3.5: only once switched on. */
#define AD BIT(8) | BIT(9)

SCENARIO_OF(ept_accessed, ept_read_none, NESTED_FAULT, .vendor = VENDOR_VMX,
            .negative = true, .probe = RWX, .use = {FEAT_EPT_AD},
            .see = {GPR(RBX, GUEST_PROBE + 0x18), GPR(RAX, PROBE_VALUE + 3),
                    ENTRY(1, BIT(8), AD), ENTRY(2, BIT(8), AD),
                    ENTRY(3, BIT(8), AD), ENTRY(4, BIT(8), AD)});
SCENARIO_OF(ept_dirty, ept_write_none, NESTED_FAULT, .vendor = VENDOR_VMX,
            .negative = true, .probe = RWX, .use = {FEAT_EPT_AD},
            .see = {GPR(RBX, GUEST_PROBE + 0x18), PROBE(3, GUEST_PROBE + 0x18),
                    ENTRY(1, AD, AD), ENTRY(2, BIT(8), AD)});
SCENARIO_OF(ept_no_flags, ept_write_none, NESTED_FAULT, .vendor = VENDOR_VMX,
            .negative = true, .probe = RWX,
            .see = {GPR(RBX, GUEST_PROBE + 0x18), PROBE(3, GUEST_PROBE + 0x18),
                    ENTRY(1, 0, AD), ENTRY(4, 0, AD)});

/* --- Page-modification log (SDM 29.3.6). The guest's first walk and push
 * make its other pages dirty; the VMXOFF exit is where the host empties the
 * log. Then a first write to the probe page is logged, or finds the log full
 * and is made again after the exit. */
static u64 pml[512] ALIGNED(4096);

static void rewind_log(struct vcpu *v, u64 index)
{
    if (v->exit.kind != EXIT_VMXOFF)
        return;
    pml[0] = pml[511] = 0;
    v->ops->set_word(v, RAW_PML_INDEX, index);
}

static void leave_one(struct vcpu *v)
{
    rewind_log(v, 0);
}

static void leave_none(struct vcpu *v)
{
    rewind_log(v, 0xffff);
}

#define WITH_PML                                                               \
    .probe = RWX, .use = {FEAT_EPT_AD}, .arm = {{EXIT_PML_FULL}},              \
    .set = {PUT(PML_PAGE, (uintptr_t)pml), PUT(PML_INDEX, 511)}

GUEST(pml_full, "mov ebx, 0x100000\n"
                "push rbx\n"
                "pop rax\n" AT(pml_full, 1) "vmxoff\n"
                AT(pml_full, 2) "mov [rbx], rbx\n"
                "mov [rbx + 8], rbx\n"
                AT(pml_full, 3) "mov [rsp - 0x1800], rbx\n")
#define PML_SEEN                                                               \
    GPR(RBX, GUEST_PROBE), GPR(RAX, GUEST_PROBE), PROBE(0, GUEST_PROBE),       \
        PROBE(1, GUEST_PROBE), ENTRY(1, AD, AD)
#define PML_EXIT(at)                                                           \
    {                                                                          \
        EXIT_PML_FULL, at, .raw = {RAW(QUALIFICATION, 0),                      \
                                   RAW_BUT(VECTORING_INFO, 0, ~BIT(31)),       \
                                   RAW(PML_INDEX, 0xffff)}                     \
    }
SCENARIO(pml_full, PML_FULL, WITH_PML, .exited = leave_none,
         .expect = {{EXIT_VMXOFF, 1, .length = 3}, PML_EXIT(2)},
         .see = {PML_SEEN, CELL(&pml[511], GUEST_PROBE), CELL(&pml[0], 0),
                 WORD(PML_INDEX, 509)});

/* Full from the start: the first walk of the guest's own tables is a write to
 * them (SDM 29.3.5) and is held up, before the guest's first instruction. */
GUEST(pml_walk, AT(pml_walk, 1) "xor eax, eax\n")
SCENARIO(pml_walk, PML_FULL, .probe = RWX, .use = {FEAT_EPT_AD},
         .arm = {{EXIT_PML_FULL}},
         .set = {PUT(PML_PAGE, (uintptr_t)pml), PUT(PML_INDEX, 0xffff)},
         .expect = {PML_EXIT(1)}, .see = {GPR(RAX, 0)});

/* The same full log, and nobody asked for it. */
GUEST(pml_off, "mov ebx, 0x100000\n"
               "mov [rbx], rbx\n")
SCENARIO(pml_off, PML_FULL, .negative = true, .probe = RWX,
         .use = {FEAT_EPT_AD},
         .set = {PUT(PML_PAGE, (uintptr_t)pml), PUT(PML_INDEX, 0xffff)},
         .see = {GPR(RBX, GUEST_PROBE), PROBE(0, GUEST_PROBE),
                 WORD(PML_INDEX, 0xffff)});

/* The last entry takes the probe page without an exit, the index wraps, and
 * it is the stack's second page that finds the log full. */
SCENARIO_OF(pml_last, pml_full, PML_FULL, WITH_PML, .exited = leave_one,
            .expect = {{EXIT_VMXOFF, 1, .length = 3}, PML_EXIT(3)},
            .see = {PML_SEEN, CELL(&pml[0], GUEST_PROBE),
                    WORD(PML_INDEX, 510)});

/* Whatever the access, the log has the page's address: bits 11:0 are 0. */
GUEST(pml_aligned, "mov ebx, 0x100018\n"
                   "push rbx\n"
                   "pop rax\n" AT(pml_aligned, 1) "vmxoff\n"
                   AT(pml_aligned, 2) "mov [rbx], rbx\n")
SCENARIO(pml_aligned, PML_FULL, WITH_PML, .exited = leave_none,
         .expect = {{EXIT_VMXOFF, 1, .length = 3}, PML_EXIT(2)},
         .see = {GPR(RBX, GUEST_PROBE + 0x18), GPR(RAX, GUEST_PROBE + 0x18),
                 PROBE(3, GUEST_PROBE + 0x18), CELL(&pml[511], GUEST_PROBE),
                 WORD(PML_INDEX, 510)});

/* A full log holds up the access that has to set an accessed or a dirty flag
 * (SDM 29.3.6): the first read of the page, too, though that is not logged; */
GUEST(pml_accessed, "mov ebx, 0x100000\n"
                    "push rbx\n"
                    "pop rax\n" AT(pml_accessed, 1) "vmxoff\n"
                    AT(pml_accessed, 2) "mov rax, [rbx + 8]\n")
SCENARIO(pml_accessed, PML_FULL, WITH_PML, .exited = leave_none,
         .expect = {{EXIT_VMXOFF, 1, .length = 3}, PML_EXIT(2)},
         .see = {GPR(RBX, GUEST_PROBE), GPR(RAX, PROBE_VALUE + 1),
                 ENTRY(1, BIT(8), AD), CELL(&pml[511], 0),
                 WORD(PML_INDEX, 511)});

/* and no other: this page was read before. */
GUEST(pml_read, "mov ebx, 0x100000\n"
                "push rbx\n"
                "pop rax\n"
                "mov rax, [rbx + 8]\n" AT(pml_read, 1) "vmxoff\n"
                "mov rax, [rbx + 8]\n" AT(pml_read, 2) "mov [rbx], rbx\n")
SCENARIO(pml_read, PML_FULL, WITH_PML, .exited = leave_none,
         .expect = {{EXIT_VMXOFF, 1, .length = 3}, PML_EXIT(2)},
         .see = {GPR(RBX, GUEST_PROBE), GPR(RAX, PROBE_VALUE + 1),
                 PROBE(0, GUEST_PROBE), CELL(&pml[511], GUEST_PROBE)});

/* --- Sub-page write permissions (SDM 29.3.4). One page serves as all four
 * levels of the table: entry 0 leads back to it, and the probe page's index
 * in the last is 100h. Bit 2n of that entry lets sub-page n be written. */
#define SPP          BIT(61)
#define SPP_VALID    1
#define SPP_LEAF     (GUEST_PROBE / PAGE_SIZE)
#define SPP_MISS     BIT(11)

static const u64 spp_some[512] ALIGNED(4096) = {
    [0] = (uintptr_t)spp_some + SPP_VALID, [SPP_LEAF] = BIT(0)};
static const u64 spp_none[512] ALIGNED(4096);
static const u64 spp_reserved[512] ALIGNED(4096) = {
    [0] = (uintptr_t)spp_reserved + SPP_VALID + BIT(1)};
static const u64 spp_odd[512] ALIGNED(4096) = {
    [0] = (uintptr_t)spp_odd + SPP_VALID, [SPP_LEAF] = BIT(1)};

#define WITH_SPP(table)                                                        \
    .probe = ACCESS_R, .use = {FEAT_VMX_SPP}, .tweak = {1, 0, SPP},            \
    .set = {PUT(SPP_TABLE, (uintptr_t)table)}

#define SPP_EXIT(id, table, qualification)                                     \
    SCENARIO_OF(id, ept_write_none, SPP_EVENT, WITH_SPP(table),                \
                .expect = {{EXIT_SPP_EVENT, 1,                                 \
                            .raw = {RAW(QUALIFICATION, qualification),         \
                                    RAW(GUEST_PHYSICAL, GUEST_PROBE + 0x18),   \
                                    RAW(GUEST_LINEAR, GUEST_PROBE + 0x18)}}},  \
                .see = {GPR(RBX, GUEST_PROBE + 0x18),                          \
                        PROBE(3, GUEST_PROBE + 0x18)})
SPP_EXIT(spp_miss, spp_none, SPP_MISS);
SPP_EXIT(spp_reserved, spp_reserved, 0);
SPP_EXIT(spp_odd, spp_odd, 0);

/* Sub-page 0 may be written, the next one not: an EPT violation there. */
SCENARIO_OF(spp_allowed, ept_write_none, SPP_EVENT, WITH_SPP(spp_some),
            .negative = true,
            .see = {GPR(RBX, GUEST_PROBE + 0x18),
                    PROBE(3, GUEST_PROBE + 0x18)});

GUEST(spp_denied, "mov ebx, 0x100080\n" AT(spp_denied, 1) "mov [rbx], rbx\n")
SCENARIO(spp_denied, NESTED_FAULT, .vendor = VENDOR_VMX, WITH_SPP(spp_some),
         .expect = {{EXIT_NESTED_FAULT, 1,
                     VIOLATION(ACCESS_W, ACCESS_R, GUEST_PROBE + 0x80)}},
         .see = {GPR(RBX, GUEST_PROBE + 0x80), PROBE(16, GUEST_PROBE + 0x80)});

/* The control off: the entry's bit 61 is ignored, the page is read-only. */
SCENARIO_OF(spp_off, spp_denied, NESTED_FAULT, .vendor = VENDOR_VMX,
            .needs = {FEAT_VMX_SPP}, .probe = ACCESS_R, .tweak = {1, 0, SPP},
            .expect = {{EXIT_NESTED_FAULT, 1,
                        VIOLATION(ACCESS_W, ACCESS_R, GUEST_PROBE + 0x80)}},
            .see = {GPR(RBX, GUEST_PROBE + 0x80),
                    PROBE(16, GUEST_PROBE + 0x80)});
