/*
 * AMD-V's own layouts and bits, and nothing of ours.
 *
 * Source: AMD64 Architecture Programmer's Manual (APM) volume 2, revision
 * 3.42, chapter 15 (Secure Virtual Machine) and appendices B and C.
 */
#ifndef HV_SVM_ABI_H
#define HV_SVM_ABI_H

#include "hv/types.h"

/* A segment register in the VMCB (Table B-2): attributes are the descriptor's
 * bits 55:52 and 47:40 concatenated. */
struct vmcb_segment {
    u16 selector;
    u16 attr;
    u32 limit;
    u64 base;
} PACKED;

/* The page that VMRUN takes: each field at the offset that vmcb.def gives. */
union vmcb {
    u8 bytes[PAGE_SIZE];
    u32 intercept[6]; /* bit n of the whole intercepts exit code n (C) */
#define AT(type, name, offset)                                                 \
    struct {                                                                   \
        u8 before_##name[offset];                                              \
        type name;                                                             \
    };
#define FIELD(type, name, offset) AT(type, name, offset)
#define SEGMENT(name, offset)     AT(struct vmcb_segment, name, offset)
#include "hv/svm/vmcb.def"
#undef AT
};
_Static_assert(sizeof(union vmcb) == PAGE_SIZE, "APM 15.5: one page");
_Static_assert(sizeof(struct vmcb_segment) == 16, "APM Table B-2");
#define FIELD(type, name, offset)                                              \
    _Static_assert(offsetof(union vmcb, name) == (offset), #name);
#define SEGMENT(name, offset) FIELD(struct vmcb_segment, name, offset)
#include "hv/svm/vmcb.def"

/* Exit codes that the back end itself must tell apart (Appendix C). */
enum vmexit {
    VMEXIT_CR0_READ = 0x000,
    VMEXIT_CR15_WRITE = 0x01f,
    VMEXIT_DR0_READ = 0x020,
    VMEXIT_DR15_WRITE = 0x03f,
    VMEXIT_EXCP0 = 0x040,
    VMEXIT_EXCP_DB = 0x041,
    VMEXIT_EXCP_BP = 0x043,
    VMEXIT_EXCP_OF = 0x044,
    VMEXIT_EXCP_BR = 0x045,
    VMEXIT_EXCP_PF = 0x04e,
    VMEXIT_EXCP31 = 0x05f,
    VMEXIT_INTR = 0x060,
    VMEXIT_INIT = 0x063,
    VMEXIT_VINTR = 0x064,
    VMEXIT_CR0_SEL_WRITE = 0x065,
    VMEXIT_INVLPG = 0x079,
    VMEXIT_IOIO = 0x07b,
    VMEXIT_MSR = 0x07c,
    VMEXIT_TASK_SWITCH = 0x07d,
    VMEXIT_SHUTDOWN = 0x07f,
    VMEXIT_VMRUN = 0x080,
    VMEXIT_VMMCALL = 0x081,
    VMEXIT_RDPRU = 0x08e,
    VMEXIT_INVLPGB = 0x0a0,
    VMEXIT_TLBSYNC = 0x0a4,
    VMEXIT_IDLE_HLT = 0x0a6,
    VMEXIT_NPF = 0x400,
};
#define INTERCEPT_CODES (6 * 32) /* codes below this have an intercept bit */

/* v_intr, VMCB offset 060h (Table B-1). */
#define V_INTR_MASKING  BIT(24)
#define V_NMI_ENABLE    BIT(26) /* 15.21.10 */
#define V_X2AVIC_ENABLE BIT(30) /* 15.29.4.1 */
#define V_AVIC_ENABLE   BIT(31)

/* TLB_CONTROL, offset 05Ch (15.16.1, Table 15-9). */
#define TLB_FLUSH_ALL   1 /* all ASIDs: the one that every CPU has */
#define TLB_FLUSH_GUEST 3 /* this ASID, where FlushByAsid is offered */

/* interrupt_shadow, offset 068h (15.21.5). */
#define INTERRUPT_SHADOW BIT(0)

/* np_enable, offset 090h (Table B-1): more than nested paging. */
#define NP_ENABLE      BIT(0)
#define SSS_ENABLE     BIT(4) /* 15.25.14 */
#define INVLPGB_ENABLE BIT(7) /* the guest has INVLPGB and TLBSYNC */

/* EVENTINJ and EXITINTINFO (15.20). */
#define EVENTINJ_TYPE_SHIFT  8
#define EVENTINJ_ERROR_VALID BIT(11)
#define EVENTINJ_VALID       BIT(31)
#define EVENTINJ_ERROR_SHIFT 32

/* EXITINFO1 of IOIO (15.10.2, Figure 15-2). */
#define IOIO_IN         BIT(0)
#define IOIO_STRING     BIT(2)
#define IOIO_REP        BIT(3)
#define IOIO_SIZE_SHIFT 4 /* 1, 2, 4: one bit each */
#define IOIO_PORT_SHIFT 16

/* EXITINFO2 of TASK_SWITCH (15.14.1); its low half is the error code. */
#define TASK_INFO_IRET  BIT(36)
#define TASK_INFO_JMP   BIT(38)
#define TASK_INFO_ERROR BIT(44)
#define TASK_INFO_RF    BIT(48)

/* EXITINFO1 of MOV CRx with decode assists (15.8.1). */
#define CR_INFO_MOV BIT(63)

/* EXITINFO1 of MSR (15.11). */
#define MSR_INFO_WRITE BIT(0)

/* EXITINFO1 of NPF (15.25.6). */
#define NPF_PRESENT BIT(0)
#define NPF_WRITE   BIT(1)
#define NPF_FETCH   BIT(4)
#define NPF_FINAL   BIT(32)

/* Nested page-table entry: a long-mode entry that counts as user (15.25.5). */
#define NPT_P  BIT(0)
#define NPT_RW BIT(1)
#define NPT_US BIT(2)
#define NPT_NX BIT(63)

/* Permission maps: one bit per port, and two per MSR (15.10.1, 15.11). */
#define IOPM_SIZE  (3 * PAGE_SIZE)
#define IOPM_BITS  (0x10000 + 3) /* 4 bytes at port FFFFh */
#define MSRPM_SIZE (2 * PAGE_SIZE)

#endif
