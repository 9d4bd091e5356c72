/*
 * Scenarios: what a nested page fault reports on AMD-V (APM 15.25.6): the
 * error code bit by bit, for the guest's access and for the walk of its own
 * page tables, and the accessed and dirty bits of the nested entries.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/guest.h"
#include "hv/handlers.h"
#include "hv/nested.h"

/* EXITINFO1 (15.25.6). Every access counts as a user's (15.25.5). */
#define NPF_P     BIT(0)
#define NPF_W     BIT(1)
#define NPF_US    BIT(2)
#define NPF_RSV   BIT(3)
#define NPF_ID    BIT(4)
#define NPF_FINAL BIT(32)
#define NPF_WALK  BIT(33)

/* Entries of either table (APM vol 2, 5.3.3). */
#define PTE_P  BIT(0)
#define PTE_RW BIT(1)
#define PTE_US BIT(2)
#define PTE_A  BIT(5)
#define PTE_D  BIT(6)
#define PTE_NX BIT(63)

#define NPF(info1, offset, is_final, rights)                                   \
    .has_info = true,                                                          \
    .info.npf = {.gpa = GUEST_PROBE + (offset), .final = is_final,             \
                 .access = (rights)},                                          \
    .raw = {RAW(EXITINFO1, info1), RAW(EXITINFO2, GUEST_PROBE + (offset)),     \
            RAW_BUT(EXITINTINFO, 0, ~BIT(31)),                                 \
            ASSIST_BYTES((info1) & NPF_ID ? 0 : 15)}

/* ---- the access itself -------------------------------------------------- */

GUEST(svm_npf_read, "mov ebx, 0x100008\n"
      AT(svm_npf_read, 1) "mov rax, [rbx]\n")
SCENARIO(svm_npf_read, NESTED_FAULT, .vendor = VENDOR_SVM,
         .expect = {{EXIT_NESTED_FAULT, 1,
                     NPF(NPF_US | NPF_FINAL, 8, true, ACCESS_R)}},
         .see = {GPR(RBX, GUEST_PROBE + 8), GPR(RAX, PROBE_VALUE + 1)});

/* The bytes themselves: 48 8B 03. And nRIP is for instructions (15.7.1). */
SCENARIO_OF(svm_npf_bytes, svm_npf_read, NESTED_FAULT, .vendor = VENDOR_SVM,
            .needs = {FEAT_SVM_DECODE},
            .expect = {{EXIT_NESTED_FAULT, 1,
                        .raw = {RAW_BUT(FETCHED, 0x038b480f, ~0xffffffffull)}}},
            .see = {GPR(RBX, GUEST_PROBE + 8), GPR(RAX, PROBE_VALUE + 1)});
SCENARIO_OF(svm_npf_nrip, svm_npf_read, NESTED_FAULT, .vendor = VENDOR_SVM,
            .needs = {FEAT_SVM_NRIPS},
            .expect = {{EXIT_NESTED_FAULT, 1, .raw = {RAW(NRIP, 0)}}},
            .see = {GPR(RBX, GUEST_PROBE + 8), GPR(RAX, PROBE_VALUE + 1)});

GUEST(svm_npf_write, "mov ebx, 0x100010\n"
      AT(svm_npf_write, 1) "mov [rbx], rbx\n")
SCENARIO(svm_npf_write, NESTED_FAULT, .vendor = VENDOR_SVM, .probe = ACCESS_R,
         .expect = {{EXIT_NESTED_FAULT, 1,
                     NPF(NPF_P | NPF_W | NPF_US | NPF_FINAL, 16, true,
                         ACCESS_W)}},
         .see = {GPR(RBX, GUEST_PROBE + 16), PROBE(2, GUEST_PROBE + 16)});
SCENARIO_OF(svm_npf_write_absent, svm_npf_write, NESTED_FAULT,
            .vendor = VENDOR_SVM,
            .expect = {{EXIT_NESTED_FAULT, 1,
                        NPF(NPF_W | NPF_US | NPF_FINAL, 16, true, ACCESS_W)}},
            .see = {GPR(RBX, GUEST_PROBE + 16), PROBE(2, GUEST_PROBE + 16)});

/* PROBE_CODE is a RET. */
GUEST(svm_npf_exec, "mov ebx, 0x100f00\n"
      "call rbx\n")
SCENARIO(svm_npf_exec, NESTED_FAULT, .vendor = VENDOR_SVM, .probe = ACCESS_R,
         .expect = {{EXIT_NESTED_FAULT, .rip = GUEST_PROBE + PROBE_CODE,
                     NPF(NPF_P | NPF_US | NPF_ID | NPF_FINAL, PROBE_CODE, true,
                         ACCESS_X)}},
         .see = {GPR(RBX, GUEST_PROBE + PROBE_CODE)});

/* A page must be a user page in the nested tables to be of any use (15.25.7),
 * even for the guest's CPL 0. The handler maps it anew. */
static void not_user(struct vcpu *v)
{
    *nested_entry_at(GUEST_PROBE, 1) &= ~PTE_US;
    v->ops->flush(v);
}

SCENARIO_OF(svm_npf_user, svm_npf_read, NESTED_FAULT, .vendor = VENDOR_SVM,
            .probe = ACCESS_R | ACCESS_W, .before = not_user,
            .expect = {{EXIT_NESTED_FAULT, 1,
                        NPF(NPF_P | NPF_US | NPF_FINAL, 8, true, ACCESS_R)}},
            .see = {GPR(RBX, GUEST_PROBE + 8), GPR(RAX, PROBE_VALUE + 1)});

/* Bit 50 is beyond any physical address yet, and no C-bit (47, 51). */
static void reserved_bit(struct vcpu *v)
{
    *nested_entry_at(GUEST_PROBE, 1) |= BIT(50);
    v->ops->flush(v);
}

SCENARIO_OF(svm_npf_reserved, svm_npf_read, NESTED_FAULT, .vendor = VENDOR_SVM,
            .probe = ACCESS_R | ACCESS_W, .before = reserved_bit,
            .expect = {{EXIT_NESTED_FAULT, 1,
                        NPF(NPF_P | NPF_US | NPF_RSV | NPF_FINAL, 8, true,
                            ACCESS_R)}},
            .see = {GPR(RBX, GUEST_PROBE + 8), GPR(RAX, PROBE_VALUE + 1)});

/* ---- the walk of the guest's own tables --------------------------------- */

/*
 * The probe page becomes the last-level table for the guest's linear addresses
 * from 400000h on. Its entry 3 maps the probe page itself.
 */
#define WALKED       0x400000 /* 2 MiB of linear addresses */
#define WALKED_PTE   (GUEST_PROBE | PTE_P | PTE_RW)
#define WALKED_INDEX 3

static void walk_to(u64 pte)
{
    guest_copy(guest_pd, u64)[WALKED >> 21] = GUEST_PROBE | PTE_P | PTE_RW;
    ((u64 *)guest_probe_page())[WALKED_INDEX] = pte;
}

static void walk_probe(struct vcpu *v)
{
    (void)v;
    walk_to(WALKED_PTE);
}

/* It is a write, as it may set the accessed bit, whatever the access is for;
 * the address is that of the entry. */
GUEST(svm_npf_walk, "mov ebx, 0x403008\n"
      AT(svm_npf_walk, 1) "mov rax, [rbx]\n")
SCENARIO(svm_npf_walk, NESTED_FAULT, .vendor = VENDOR_SVM,
         .before = walk_probe,
         .expect = {{EXIT_NESTED_FAULT, 1,
                     NPF(NPF_W | NPF_US | NPF_WALK, 8 * WALKED_INDEX, false,
                         ACCESS_W)}},
         .see = {GPR(RBX, WALKED + 0x3008), GPR(RAX, PROBE_VALUE + 1),
                 PROBE(WALKED_INDEX, WALKED_PTE | PTE_A)});
/* So a table that the guest may only read will not do (15.25.5), */
SCENARIO_OF(svm_npf_walk_read_only, svm_npf_walk, NESTED_FAULT,
            .vendor = VENDOR_SVM, .probe = ACCESS_R, .before = walk_probe,
            .expect = {{EXIT_NESTED_FAULT, 1,
                        NPF(NPF_P | NPF_W | NPF_US | NPF_WALK, 8 * WALKED_INDEX,
                            false, ACCESS_W)}},
            .see = {GPR(RBX, WALKED + 0x3008), GPR(RAX, PROBE_VALUE + 1),
                    PROBE(WALKED_INDEX, WALKED_PTE | PTE_A)});
/* except with read-only guest page tables on, and the bit set already. */
static void walk_read_only(struct vcpu *v)
{
    walk_to(WALKED_PTE | PTE_A);
    v->ops->set_word(v, RAW_NESTED_CTL, BIT(0) | BIT(6)); /* NP_ENABLE, ROGPT */
}

SCENARIO_OF(svm_npf_walk_rogpt, svm_npf_walk, NESTED_FAULT, .negative = true,
            .vendor = VENDOR_SVM, .needs = {FEAT_SVM_ROGPT}, .probe = ACCESS_R,
            .before = walk_read_only,
            .see = {GPR(RBX, WALKED + 0x3008), GPR(RAX, PROBE_VALUE + 1)});

/* For a fetch, too, it is a data write. */
GUEST(svm_npf_walk_exec, "mov ebx, 0x403f00\n"
      "call rbx\n")
SCENARIO(svm_npf_walk_exec, NESTED_FAULT, .vendor = VENDOR_SVM,
         .before = walk_probe,
         .expect = {{EXIT_NESTED_FAULT, .rip = WALKED + 0x3f00,
                     .has_info = true,
                     .info.npf = {.gpa = GUEST_PROBE + 8 * WALKED_INDEX,
                                  .access = ACCESS_W},
                     .raw = {RAW(EXITINFO1, NPF_W | NPF_US | NPF_WALK)}}},
         .see = {GPR(RBX, WALKED + 0x3f00),
                 PROBE(WALKED_INDEX, WALKED_PTE | PTE_A)});

/* The guest's own permissions come before the final nested walk (15.25.6): a
 * write to a page that is read-only for both is the guest's #PF. */
static void read_only_twice(struct vcpu *v)
{
    u64 *pt = guest_memory(GUEST_GPA(guest_pt), PAGE_SIZE);

    (void)v;
    pt[GUEST_PROBE / PAGE_SIZE] &= ~PTE_RW;
}

GUEST(svm_npf_guest_first, "lea r15, [rip + 2f]\n"
      "mov ebx, 0x100010\n" AT(svm_npf_guest_first, 1) "mov [rbx], rbx\n"
      "2: xor r15d, r15d\n")
SCENARIO(svm_npf_guest_first, NESTED_FAULT, .vendor = VENDOR_SVM,
         .negative = true, .before = read_only_twice,
         .see = {SEEN(count, 1), SEEN(vector, 14), SEEN(error, 3), SEEN_AT(1),
                 SEEN(cr2, GUEST_PROBE + 16), GPR(RBX, GUEST_PROBE + 16),
                 GPR(R15, 0)});

/* ---- accessed and dirty bits of the nested entry ------------------------ */

static void accessed(struct vcpu *v)
{
    guest_check(v, "accessed, dirty of the nested entry", PTE_A,
                *nested_entry_at(GUEST_PROBE, 1) & (PTE_A | PTE_D));
}

static void dirty(struct vcpu *v)
{
    guest_check(v, "accessed, dirty of the nested entry", PTE_A | PTE_D,
                *nested_entry_at(GUEST_PROBE, 1) & (PTE_A | PTE_D));
}

SCENARIO_OF(svm_npf_accessed, svm_npf_read, NESTED_FAULT, .vendor = VENDOR_SVM,
            .negative = true, .probe = ACCESS_R | ACCESS_W, .ended = accessed,
            .see = {GPR(RBX, GUEST_PROBE + 8), GPR(RAX, PROBE_VALUE + 1)});
SCENARIO_OF(svm_npf_dirty, svm_npf_write, NESTED_FAULT, .vendor = VENDOR_SVM,
            .negative = true, .probe = ACCESS_R | ACCESS_W, .ended = dirty,
            .see = {GPR(RBX, GUEST_PROBE + 16), PROBE(2, GUEST_PROBE + 16)});

/* A page of the guest's tables is always dirty once it is walked (15.25.5):
 * here for a read of another page. */
static void walk_data(struct vcpu *v)
{
    (void)v;
    walk_to((GUEST_GPA(guest_flag) & ~0xfffull) | PTE_P | PTE_RW | PTE_A);
}

GUEST(svm_npf_walk_dirty, "mov ebx, 0x403000\n"
      "mov rax, [rbx]\n"
      "xor eax, eax\n")
SCENARIO(svm_npf_walk_dirty, NESTED_FAULT, .vendor = VENDOR_SVM,
         .negative = true, .probe = ACCESS_R | ACCESS_W, .before = walk_data,
         .ended = dirty, .see = {GPR(RAX, 0), GPR(RBX, WALKED + 0x3000)});

/* ---- GMET (15.25.13) ---------------------------------------------------- */

/* With it on, CPL 0 executes only what are no user pages in the nested tables;
 * the text becomes that, the probe page does not. */
static void text_user(bool user)
{
    for (const u8 *p = guest_text_start; p < guest_text_end; p += PAGE_SIZE) {
        u64 *entry = nested_entry_at(GUEST_GPA(p), 1);

        *entry = user ? *entry | PTE_US : *entry & ~PTE_US;
    }
}

static void gmet_on(struct vcpu *v)
{
    text_user(false);
    v->ops->set_word(v, RAW_NESTED_CTL, BIT(0) | BIT(3)); /* NP_ENABLE, GMET */
}

static void gmet_off(struct vcpu *v)
{
    if (v->exit.kind != EXIT_NESTED_FAULT)
        return;
    text_user(true);
    v->ops->set_word(v, RAW_NESTED_CTL, BIT(0));
}

/* Some CPUs get the US bit wrong here, says a footnote. */
SCENARIO_OF(svm_npf_gmet, svm_npf_exec, NESTED_FAULT, .vendor = VENDOR_SVM,
            .needs = {FEAT_SVM_GMET}, .probe = ACCESS_R | ACCESS_W | ACCESS_X,
            .before = gmet_on, .exited = gmet_off,
            .expect = {{EXIT_NESTED_FAULT, .rip = GUEST_PROBE + PROBE_CODE,
                        .raw = {RAW_BUT(EXITINFO1, NPF_P | NPF_ID | NPF_FINAL,
                                        NPF_US)}}},
            .see = {GPR(RBX, GUEST_PROBE + PROBE_CODE)});
