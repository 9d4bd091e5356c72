/*
 * VT-x as the manual defines it: control bits, field layouts, structures in
 * memory. Hardware ABI only, nothing of ours. MSRs are in hv/msr.h.
 *
 * Intel SDM volume 3, in the edition that docs/architecture.md names.
 */
#ifndef HV_VMX_ABI_H
#define HV_VMX_ABI_H

#include "hv/types.h"

/* The encodings of all VMCS fields. */
enum vmcs_field {
#define FIELD(name, encoding) VMCS_##name = encoding,
#include "hv/vmx/vmcs.def"
};
#define FIELD_READ_ONLY(field) (((field) >> 10 & 3) == 1) /* SDM 25.11.2 */

/* VMCS_PIN_CONTROLS, SDM 25.6.1 (Pin-Based VM-Execution Controls). */
#define PIN_EXTERNAL_INTERRUPT BIT(0)
#define PIN_NMI                BIT(3)
#define PIN_VIRTUAL_NMIS       BIT(5)
#define PIN_PREEMPTION_TIMER   BIT(6)
#define PIN_POSTED             BIT(7)

/* VMCS_PROC_CONTROLS, SDM 25.6.2 (Processor-Based VM-Execution Controls). */
#define PROC_INTERRUPT_WINDOW BIT(2)
#define PROC_HLT              BIT(7)
#define PROC_INVLPG           BIT(9)
#define PROC_RDTSC            BIT(12)
#define PROC_CR3_LOAD         BIT(15)
#define PROC_CR3_STORE        BIT(16)
#define PROC_TERTIARY         BIT(17)
#define PROC_CR8_LOAD         BIT(19)
#define PROC_CR8_STORE        BIT(20)
#define PROC_TPR_SHADOW       BIT(21)
#define PROC_NMI_WINDOW       BIT(22)
#define PROC_MOV_DR           BIT(23)
#define PROC_IO_BITMAPS       BIT(25)
#define PROC_MTF              BIT(27)
#define PROC_MSR_BITMAPS      BIT(28)
#define PROC_SECONDARY        BIT(31)

/* VMCS_PROC2_CONTROLS, the same section. */
#define PROC2_APIC_ACCESS   BIT(0)
#define PROC2_EPT           BIT(1)
#define PROC2_RDTSCP        BIT(3)
#define PROC2_X2APIC        BIT(4)
#define PROC2_VPID          BIT(5)
#define PROC2_UNRESTRICTED  BIT(7)
#define PROC2_APIC_REGISTER BIT(8)
#define PROC2_VIRTUAL_INTR  BIT(9)
#define PROC2_INVPCID       BIT(12)
#define PROC2_VMFUNC        BIT(13)
#define PROC2_SHADOW_VMCS   BIT(14)
#define PROC2_PML           BIT(17)
#define PROC2_EPT_VE        BIT(18)
#define PROC2_XSAVES        BIT(20)
#define PROC2_MBE           BIT(22)
#define PROC2_SPP           BIT(23)
#define PROC2_PT_GPA        BIT(24) /* Intel PT uses guest-physical addresses */
#define PROC2_USER_WAIT     BIT(26)

/* VMCS_PROC3_CONTROLS, the same section. */
#define PROC3_HLAT         BIT(1)
#define PROC3_PAGING_WRITE BIT(2)
#define PROC3_GUEST_PAGING BIT(3)
#define PROC3_IPI_VIRTUAL  BIT(4)

/* VMCS_EXIT_CONTROLS, SDM 25.7.1 (VM-Exit Controls). */
#define EXIT_CTL_SAVE_DEBUG  BIT(2)
#define EXIT_CTL_HOST_64BIT  BIT(9)
#define EXIT_CTL_LOAD_PERF   BIT(12)
#define EXIT_CTL_ACKNOWLEDGE BIT(15)
#define EXIT_CTL_SAVE_PAT    BIT(18)
#define EXIT_CTL_LOAD_PAT    BIT(19)
#define EXIT_CTL_SAVE_EFER   BIT(20)
#define EXIT_CTL_LOAD_EFER   BIT(21)
#define EXIT_CTL_SAVE_TIMER  BIT(22)
#define EXIT_CTL_CLEAR_RTIT  BIT(25)
#define EXIT_CTL_LOAD_CET    BIT(28)
#define EXIT_CTL_LOAD_PKRS   BIT(29)
#define EXIT_CTL_SECONDARY   BIT(31)

/* VMCS_ENTRY_CONTROLS, SDM 25.8.1 (VM-Entry Controls). */
#define ENTRY_CTL_LOAD_DEBUG   BIT(2)
#define ENTRY_CTL_GUEST_64     BIT(9)
#define ENTRY_CTL_SMM          BIT(10)
#define ENTRY_CTL_DUAL_MONITOR BIT(11)
#define ENTRY_CTL_LOAD_PERF    BIT(13)
#define ENTRY_CTL_LOAD_PAT     BIT(14)
#define ENTRY_CTL_LOAD_EFER    BIT(15)
#define ENTRY_CTL_LOAD_BNDCFGS BIT(16)
#define ENTRY_CTL_LOAD_RTIT    BIT(18)
#define ENTRY_CTL_LOAD_UINV    BIT(19)
#define ENTRY_CTL_LOAD_CET     BIT(20)
#define ENTRY_CTL_LOAD_LBR     BIT(21)
#define ENTRY_CTL_LOAD_PKRS    BIT(22)

/* A capability MSR of controls, SDM A.3.1: a bit that is 1 in the low half
 * must be 1 in the control, a bit that is 0 in the high half must be 0. */
#define CONTROL_MUST_BE_1(msr) ((u32)(msr))
#define CONTROL_MAY_BE_1(msr)  ((u32)((msr) >> 32))

/* IA32_VMX_MISC, SDM A.6: the preemption timer counts down each time that
 * this bit of the TSC changes. */
#define MISC_TIMER_RATE(msr) ((msr)&0x1f)
/* The activity states beside "active": bit 6 for the first of them. */
#define MISC_ACTIVITY(msr)    ((msr) >> 6 & 7)
#define MISC_CR3_TARGETS(msr) ((msr) >> 16 & 0x1ff)
#define MISC_INJECT_LENGTH_0  BIT(30)

/* VMCS_EXIT_REASON, SDM 25.9.1 (Basic VM-Exit Information). */
#define REASON_BASIC        0xffffu
#define REASON_ENTRY_FAILED BIT(31)

/* Basic exit reasons that carry more than one neutral kind, or an address;
 * the rest are rows of hv/exit.def. SDM Appendix C. */
#define REASON_EXCEPTION_NMI 0u
#define REASON_EXTERNAL_INT  1u
#define REASON_SIPI          4u
#define REASON_TASK_SWITCH   9u
#define REASON_INVLPG        14u
#define REASON_VMREAD        23u
#define REASON_VMWRITE       25u
#define REASON_CR_ACCESS     28u
#define REASON_DR_ACCESS     29u
#define REASON_IO            30u
#define REASON_RDMSR         31u
#define REASON_WRMSR         32u
#define REASON_APIC_ACCESS   44u
#define REASON_GDTR_IDTR     46u
#define REASON_LDTR_TR       47u
#define REASON_EPT_VIOLATION 48u
#define REASON_EPT_MISCONFIG 49u
#define REASON_PML_FULL      62u
#define REASON_SPP_EVENT     66u
#define REASON_NOTIFY        75u

/* Interruption information; one layout on exit (SDM 25.9.2), for a delivery
 * that an exit interrupted (SDM 25.9.3) and on entry (SDM 25.8.3). */
#define INTR_VECTOR(info) ((u8)(info))
#define INTR_TYPE(info)   ((info) >> 8 & 7)
#define INTR_TYPE_SHIFT   8
#define INTR_HAS_ERROR    BIT(11)
#define INTR_VALID        BIT(31)

/* VMCS_GUEST_INTERRUPTIBILITY, SDM 25.4.2 (Guest Non-Register State). */
#define BLOCKING_BY_STI    BIT(0)
#define BLOCKING_BY_MOV_SS BIT(1)
#define BLOCKING_BY_SMI    BIT(2)
#define BLOCKING_BY_NMI    BIT(3)

/* VMCS_GUEST_PENDING_DEBUG, the same section, Table 25-4. */
#define PENDING_BS BIT(14)

/* VMCS_GUEST_*_RIGHTS, SDM 25.4.1 (Guest Register State). */
#define RIGHTS_UNUSABLE    BIT(16)
#define RIGHTS_DPL(rights) ((rights) >> 5 & 3)

/* Exit qualifications, SDM 28.2.1 (Basic VM-Exit Information). */
/* Control-register accesses, Table 28-3. */
#define QUAL_CR_NUMBER(q) ((u8)((q)&0xf))
#define QUAL_CR_ACCESS(q) ((q) >> 4 & 3)
#define QUAL_CR_GPR(q)    ((u8)((q) >> 8 & 0xf))
#define QUAL_CR_TO        0u
#define QUAL_CR_FROM      1u
#define QUAL_CR_CLTS      2u
#define QUAL_CR_LMSW      3u
#define QUAL_CR_MEMORY    BIT(6)
#define QUAL_CR_SOURCE(q) ((u16)((q) >> 16))
/* MOV DR, Table 28-4. */
#define QUAL_DR_NUMBER(q) ((u8)((q)&7))
#define QUAL_DR_FROM      BIT(4)
#define QUAL_DR_GPR(q)    ((u8)((q) >> 8 & 0xf))
/* I/O instructions, Table 28-5. */
#define QUAL_IO_SIZE(q) ((u8)(((q)&7) + 1))
#define QUAL_IO_IN      BIT(3)
#define QUAL_IO_STRING  BIT(4)
#define QUAL_IO_REP     BIT(5)
#define QUAL_IO_PORT(q) ((u16)((q) >> 16))
/* Task switch, Table 28-2. */
#define QUAL_TASK_SOURCE(q) ((q) >> 30 & 3)
/* EPT violations, Table 28-7. */
#define QUAL_EPT_ACCESS(q) ((u8)((q)&7)) /* read 1, write 2, fetch 4 */
#define QUAL_EPT_GLA_VALID BIT(7)
#define QUAL_EPT_FINAL     BIT(8)

/* VM-exit instruction information, SDM 28.2.5 (Information for VM Exits Due
 * to Instruction Execution): which instruction exited for reasons 46 and 47; a
 * register operand for reasons 23, 25 and 47. */
#define INFO_REGISTER_OPERAND        BIT(10)
#define INFO_TABLE_INSTRUCTION(info) ((info) >> 28 & 3)
/* The same for INS and OUTS: 0, 1, 2 for 16, 32, 64 bits, and the
 * segment, counted as enum seg does. */
#define INFO_IO_ADDRESS(info) ((info) >> 7 & 7)
#define INFO_IO_SEGMENT(info) ((info) >> 15 & 7)

/* EPT entries, SDM 29.3.2 (EPT Translation Mechanism). */
#define EPT_READ          BIT(0)
#define EPT_WRITE         BIT(1)
#define EPT_EXECUTE       BIT(2)
#define EPT_MEMTYPE_SHIFT 3 /* leaves only */
#define EPT_ADDRESS       0x000ffffffffff000ull

/* VMCS_EPTP, SDM 25.6.11 (Extended-Page-Table Pointer). */
#define EPTP_MEMTYPE_SHIFT 0
#define EPTP_WALK_SHIFT    3      /* holds the number of levels less one */
#define EPTP_AD            BIT(6) /* accessed and dirty flags */

/* Memory types, SDM 29.3.7 (EPT and Memory Typing). */
#define MEMTYPE_WB 6ull

/* INVEPT types and descriptor, SDM 31.3 (INVEPT). */
#define INVEPT_SINGLE_CONTEXT 1ull
#define INVEPT_ALL_CONTEXTS   2ull
struct invept_descriptor {
    u64 eptp;
    u64 reserved;
};
_Static_assert(sizeof(struct invept_descriptor) == 16, "SDM 31.3");

#define REVISION_SHADOW ((u32)BIT(31))

/* VMREAD and VMWRITE bitmaps, SDM 25.6.15: bits 14:0 of the encoding. */
#define VMCS_FIELD_INDEX(encoding) ((encoding)&0x7fff)

/* VMXON and VMCS regions, SDM 25.2 and 25.11.5: the CPU's own but for this. */
struct vmx_region {
    u32 revision; /* IA32_VMX_BASIC[30:0]; bit 31: a shadow VMCS */
    u32 abort;    /* VMX-abort indicator, VMCS only (SDM 28.7) */
    u8 data[PAGE_SIZE - 8];
};
_Static_assert(sizeof(struct vmx_region) == PAGE_SIZE, "SDM 25.2");
_Static_assert(offsetof(struct vmx_region, abort) == 4, "SDM Table 25-1");

/* MSR bitmaps, SDM 25.6.9 (MSR-Bitmap Address): 1 makes the access exit. An
 * MSR in neither range always exits. */
struct msr_bitmap {
    u8 read_low[1024];  /* MSRs 0 to 1fff */
    u8 read_high[1024]; /* MSRs c0000000 to c0001fff */
    u8 write_low[1024];
    u8 write_high[1024];
};
_Static_assert(sizeof(struct msr_bitmap) == PAGE_SIZE, "SDM 25.6.9");
_Static_assert(offsetof(struct msr_bitmap, read_high) == 1024, "SDM 25.6.9");
_Static_assert(offsetof(struct msr_bitmap, write_low) == 2048, "SDM 25.6.9");
_Static_assert(offsetof(struct msr_bitmap, write_high) == 3072, "SDM 25.6.9");
#define MSR_LOW_END  0x2000u
#define MSR_HIGH     0xc0000000u
#define MSR_HIGH_END 0xc0002000u

/* I/O bitmaps A (ports 0 to 7fff) and B, SDM 25.6.4. */
struct io_bitmaps {
    u8 a[PAGE_SIZE];
    u8 b[PAGE_SIZE];
};
_Static_assert(offsetof(struct io_bitmaps, b) == PAGE_SIZE, "SDM 25.6.4");

/* Virtual-APIC page, SDM 30.1.1 (Virtualized APIC Registers): the part that
 * "use TPR shadow" needs. */
struct virtual_apic {
    u8 other[0x80];
    u32 vtpr; /* bits 7:4 are what the guest has in CR8 */
    u8 rest[PAGE_SIZE - 0x84];
};
_Static_assert(sizeof(struct virtual_apic) == PAGE_SIZE, "SDM 30.1");
_Static_assert(offsetof(struct virtual_apic, vtpr) == 0x80, "SDM 30.1.1");

#endif
