/*
 * Scenarios: AVIC, the local APIC that AMD-V keeps for the guest (APM 15.29).
 * The probe page is the guest's APIC: V_APIC_BAR is its guest-physical
 * address, its memory the backing page.
 */
/* clang-format off */
#include "guest/scenario.h"
#include "hv/apic.h"
#include "hv/guest.h"
#include "hv/memory.h"

/* VMCB offset 60h (Table B-1). */
#define V_MASKING   BIT(24)
#define AVIC_ENABLE BIT(31)

/* Entries of the physical APIC ID table (15.29.5.2). */
#define ID_RUNNING BIT(62)
#define ID_VALID   BIT(63)

#define SPURIOUS (0xf0 / 8) /* bit 8: the APIC is on */

/* Guest APIC 0 is this vCPU and runs; 1 is one that does not, with a page of
 * its own: there the CPU leaves the interrupt of an IPI that it cannot send. */
static void avic(struct vcpu *v)
{
    static u64 *physical, *logical, *other;
    u64 backing = guest_probe_page();

    if (!physical) {
        physical = pages_alloc(1);
        logical = pages_alloc(1);
        other = pages_alloc(1);
    }
    for (u32 n = 0; n < PAGE_SIZE / sizeof(u64); n++)
        ((u64 *)backing)[n] = other[n] = 0;
    ((u64 *)backing)[SPURIOUS] = other[SPURIOUS] = 0x1ff;
    physical[0] = ID_VALID | ID_RUNNING | backing | apic_id();
    physical[1] = ID_VALID | phys(other);
    v->ops->set_word(v, RAW_AVIC_BAR, GUEST_PROBE);
    v->ops->set_word(v, RAW_AVIC_BACKING, backing);
    v->ops->set_word(v, RAW_AVIC_LOGICAL, phys(logical));
    v->ops->set_word(v, RAW_AVIC_PHYSICAL, phys(physical) | 1); /* last ID */
    v->ops->set_word(v, RAW_V_INTR, V_MASKING | AVIC_ENABLE);
}

#define WITH_AVIC                                                              \
    .vendor = VENDOR_SVM, .before = avic, .probe = ACCESS_R | ACCESS_W

/* ---- IPIs that the CPU cannot deliver (15.29.9.1) ----------------------- */

/* EXITINFO1 is ICR as it was written, but for the delivery status. */
#define INCOMPLETE(icr, reason, index)                                         \
    {                                                                          \
        EXIT_AVIC_INCOMPLETE_IPI, 2,                                           \
            .raw = {RAW_BUT(EXITINFO1, icr, BIT(12)),                          \
                    RAW(EXITINFO2, (u64)(reason) << 32 | (index)),             \
                    RAW_IF(SVM_NRIPS, NRIP, 0)}                                \
    }

/* Guest APIC 1 does not run: reason 1, with the index of its entry. A trap. */
GUEST(avic_ipi, "mov ebx, 0x100000\n"
      "mov dword ptr [rbx + 0x310], 0x1000000\n" AT(avic_ipi, 1)
      "mov dword ptr [rbx + 0x300], 0x51\n" AT(avic_ipi, 2) "nop\n")
SCENARIO(avic_ipi, AVIC_INCOMPLETE_IPI, WITH_AVIC,
         .expect = {INCOMPLETE(1ull << 56 | 0x51, 1, 1)},
         .see = {GPR(RBX, GUEST_PROBE)});
/* There is no guest APIC 2: reason 2. */
GUEST(avic_ipi_target, "mov ebx, 0x100000\n"
      "mov dword ptr [rbx + 0x310], 0x2000000\n"
      "mov dword ptr [rbx + 0x300], 0x51\n" AT(avic_ipi_target, 2) "nop\n")
SCENARIO(avic_ipi_target, AVIC_INCOMPLETE_IPI, WITH_AVIC,
         .expect = {INCOMPLETE(2ull << 56 | 0x51, 2, 2)},
         .see = {GPR(RBX, GUEST_PROBE)});
/* An NMI is none of the fixed interrupts that AVIC sends: reason 0. */
GUEST(avic_ipi_type, "mov ebx, 0x100000\n"
      "mov dword ptr [rbx + 0x310], 0x1000000\n"
      "mov dword ptr [rbx + 0x300], 0x400\n" AT(avic_ipi_type, 2) "nop\n")
SCENARIO(avic_ipi_type, AVIC_INCOMPLETE_IPI, WITH_AVIC,
         .expect = {{EXIT_AVIC_INCOMPLETE_IPI, 2,
                     .raw = {RAW_BUT(EXITINFO1, 1ull << 56 | 0x400, BIT(12)),
                             RAW_BUT(EXITINFO2, 0, 0xffffffff)}}},
         .see = {GPR(RBX, GUEST_PROBE)});
/* To itself it needs no help: the interrupt comes at once. */
GUEST(avic_ipi_self, "lea r15, [rip + 2f]\n"
      "mov ebx, 0x100000\n"
      "mov dword ptr [rbx + 0x300], 0x40051\n"
      "1: jmp 1b\n"
      "2: xor r15d, r15d\n")
SCENARIO(avic_ipi_self, AVIC_INCOMPLETE_IPI, WITH_AVIC, .negative = true,
         .see = {SEEN(count, 1), SEEN(vector, 0x51), GPR(RBX, GUEST_PROBE),
                 GPR(R15, 0)});

/* ---- registers (15.29.3.1, Table 15-22; 15.29.9.2) ---------------------- */

#define NOACCEL(label, offset)                                                 \
    {                                                                          \
        EXIT_AVIC_NOACCEL, label,                                              \
            .raw = {RAW(EXITINFO1, offset), RAW_IF(SVM_NRIPS, NRIP, 0)}        \
    }
#define WRITE BIT(32)

/* Traps: the write is done, RIP is behind it. */
GUEST(avic_write, "mov ebx, 0x100000\n"
      "mov dword ptr [rbx + 0x320], 0x10000\n" AT(avic_write, 2) "nop\n")
SCENARIO(avic_write, AVIC_NOACCEL, WITH_AVIC,
         .expect = {NOACCEL(2, 0x320 | WRITE)},
         .see = {GPR(RBX, GUEST_PROBE), PROBE(0x320 / 8, 0x10000)});

/* Faults: nothing is done; the hook steps over the instruction. */
GUEST(avic_read_fault, "mov ebx, 0x100000\n" AT(avic_read_fault, 1)
      "mov eax, [rbx + 0x390]\n" AT(avic_read_fault, 2) "nop\n")
static void over_read(struct vcpu *v)
{
    if (v->exit.kind == EXIT_AVIC_NOACCEL)
        v->ops->set(v, REG_RIP, GUEST_GPA(guest_avic_read_fault_2));
}

SCENARIO(avic_read_fault, AVIC_NOACCEL, WITH_AVIC, .exited = over_read,
         .expect = {NOACCEL(1, 0x390)}, .see = {GPR(RBX, GUEST_PROBE)});

GUEST(avic_write_fault, "mov ebx, 0x100000\n" AT(avic_write_fault, 1)
      "mov [rbx + 0xa0], ebx\n" AT(avic_write_fault, 2) "nop\n")
static void over_write(struct vcpu *v)
{
    if (v->exit.kind == EXIT_AVIC_NOACCEL)
        v->ops->set(v, REG_RIP, GUEST_GPA(guest_avic_write_fault_2));
}

SCENARIO(avic_write_fault, AVIC_NOACCEL, WITH_AVIC, .exited = over_write,
         .expect = {NOACCEL(1, 0xa0 | WRITE)},
         .see = {GPR(RBX, GUEST_PROBE), PROBE(0xa0 / 8, 0)});

/* An EOI of a level-triggered interrupt; its vector is in EXITINFO2. Vector
 * 51h is bit 17 of the third quarter-line of ISR (100h) and TMR (180h). */
static void avic_in_service(struct vcpu *v)
{
    u64 *page = (u64 *)guest_probe_page();

    avic(v);
    page[0x120 / 8] = BIT(17);
    page[0x1a0 / 8] = BIT(17);
}

GUEST(avic_eoi, "mov ebx, 0x100000\n"
      "mov dword ptr [rbx + 0xb0], 0\n" AT(avic_eoi, 2) "nop\n")
SCENARIO(avic_eoi, AVIC_NOACCEL, .vendor = VENDOR_SVM,
         .before = avic_in_service, .probe = ACCESS_R | ACCESS_W,
         .expect = {{EXIT_AVIC_NOACCEL, 2,
                     .raw = {RAW(EXITINFO1, 0xb0 | WRITE),
                             RAW_BUT(EXITINFO2, 0x51, ~0xffull)}}},
         .see = {GPR(RBX, GUEST_PROBE)});

/* What the guest reads and writes without an exit: the task priority. */
GUEST(avic_tpr, "mov ebx, 0x100000\n"
      "mov dword ptr [rbx + 0x80], 0x70\n"
      "mov eax, [rbx + 0x80]\n"
      "mov rcx, cr8\n")
SCENARIO(avic_tpr, AVIC_NOACCEL, WITH_AVIC, .negative = true,
         .see = {GPR(RAX, 0x70), GPR(RBX, GUEST_PROBE), GPR(RCX, 7)});
