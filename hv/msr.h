/*
 * Model-specific registers: numbers and bits as SDM vol 4 chapter 2 and APM
 * vol 2 Appendix A define them. Hardware ABI only, nothing of ours.
 */
#ifndef HV_MSR_H
#define HV_MSR_H

#include "hv/types.h"

/* Architectural, both vendors. */
#define MSR_TSC            0x10u
#define MSR_APIC_BASE      0x1bu
#define MSR_MTRRCAP        0xfeu
#define MSR_SYSENTER_CS    0x174u
#define MSR_SYSENTER_ESP   0x175u
#define MSR_SYSENTER_EIP   0x176u
#define MSR_DEBUGCTL       0x1d9u
#define MSR_PAT            0x277u
#define MSR_EFER           0xc0000080u
#define MSR_STAR           0xc0000081u
#define MSR_LSTAR          0xc0000082u
#define MSR_CSTAR          0xc0000083u
#define MSR_SFMASK         0xc0000084u
#define MSR_FS_BASE        0xc0000100u
#define MSR_GS_BASE        0xc0000101u
#define MSR_KERNEL_GS_BASE 0xc0000102u
#define MSR_TSC_AUX        0xc0000103u
#define MSR_XSS            0xda0u
#define MSR_U_CET          0x6a0u

/* MSR_APIC_BASE, SDM 11.4.4 (Local APIC Status and Location). */
#define APIC_BASE_BSP     BIT(8)
#define APIC_BASE_X2APIC  BIT(10)
#define APIC_BASE_ENABLE  BIT(11)
#define APIC_BASE_ADDRESS 0x000ffffffffff000ull

/* MSR_EFER, SDM 2.2.1 and APM 3.1.7. */
#define EFER_SCE     BIT(0)
#define EFER_LME     BIT(8)
#define EFER_LMA     BIT(10)
#define EFER_NXE     BIT(11)
#define EFER_SVME    BIT(12) /* AMD-V only */
#define EFER_MCOMMIT BIT(17) /* AMD only */

/* MSR_PAT after reset: WB, WT, UC-, UC twice over (SDM Table 12-12). */
#define PAT_DEFAULT 0x0007040600070406ull

/* Intel only. */
#define MSR_FEATURE_CONTROL         0x3au
#define MSR_SMM_MONITOR_CTL         0x9bu
#define MSR_MISC_ENABLE             0x1a0u
#define MSR_PERF_GLOBAL_CTRL        0x38fu
#define MSR_VMX_BASIC               0x480u
#define MSR_VMX_PINBASED_CTLS       0x481u
#define MSR_VMX_PROCBASED_CTLS      0x482u
#define MSR_VMX_EXIT_CTLS           0x483u
#define MSR_VMX_ENTRY_CTLS          0x484u
#define MSR_VMX_MISC                0x485u
#define MSR_VMX_CR0_FIXED0          0x486u
#define MSR_VMX_CR0_FIXED1          0x487u
#define MSR_VMX_CR4_FIXED0          0x488u
#define MSR_VMX_CR4_FIXED1          0x489u
#define MSR_VMX_VMCS_ENUM           0x48au
#define MSR_VMX_PROCBASED_CTLS2     0x48bu
#define MSR_VMX_EPT_VPID_CAP        0x48cu
#define MSR_VMX_TRUE_PINBASED_CTLS  0x48du
#define MSR_VMX_TRUE_PROCBASED_CTLS 0x48eu
#define MSR_VMX_TRUE_EXIT_CTLS      0x48fu
#define MSR_VMX_TRUE_ENTRY_CTLS     0x490u
#define MSR_VMX_VMFUNC              0x491u
#define MSR_VMX_PROCBASED_CTLS3     0x492u
#define MSR_VMX_EXIT_CTLS2          0x493u

/* MSR_FEATURE_CONTROL, SDM 24.7 (Enabling and Entering VMX Operation). */
#define FEATURE_CONTROL_LOCK        BIT(0)
#define FEATURE_CONTROL_VMX_IN_SMX  BIT(1)
#define FEATURE_CONTROL_VMX_OUTSIDE BIT(2)

/* MSR_VMX_BASIC, SDM A.1 (Basic VMX Information). */
#define VMX_BASIC_REVISION      0x7fffffffu
#define VMX_BASIC_32BIT         BIT(48) /* control structures below 4 GiB */
#define VMX_BASIC_MEMTYPE_SHIFT 50
#define VMX_BASIC_INS_OUTS      BIT(54)
#define VMX_BASIC_TRUE_CTLS     BIT(55)
#define VMX_BASIC_ANY_ERROR     BIT(56) /* error codes with any vector */

/* MSR_VMX_EPT_VPID_CAP, SDM A.10 (VPID and EPT Capabilities). */
#define EPT_CAP_EXEC_ONLY      BIT(0)
#define EPT_CAP_WALK4          BIT(6)
#define EPT_CAP_WALK5          BIT(7)
#define EPT_CAP_UC             BIT(8)
#define EPT_CAP_WB             BIT(14)
#define EPT_CAP_INVEPT         BIT(20)
#define EPT_CAP_AD             BIT(21)
#define EPT_CAP_SSS            BIT(23)
#define EPT_CAP_INVEPT_SINGLE  BIT(25)
#define EPT_CAP_INVEPT_ALL     BIT(26)
#define EPT_CAP_INVVPID        BIT(32)
#define EPT_CAP_INVVPID_SINGLE BIT(41)
#define EPT_CAP_INVVPID_ALL    BIT(42)

/* AMD only. */
#define MSR_TSC_RATIO   0xc0000104u
#define MSR_VM_CR       0xc0010114u
#define MSR_IGNNE       0xc0010115u
#define MSR_SMM_CTL     0xc0010116u
#define MSR_VM_HSAVE_PA 0xc0010117u
#define MSR_SVM_KEY     0xc0010118u

/* MSR_TSC_RATIO, APM 15.30.5: 8.32 fixed point. */
#define TSC_RATIO_1 BIT(32)

/* MSR_VM_CR, APM 15.30.1 (VM_CR MSR). */
#define VM_CR_DPD     BIT(0)
#define VM_CR_R_INIT  BIT(1)
#define VM_CR_DIS_A20 BIT(2)
#define VM_CR_LOCK    BIT(3)
#define VM_CR_SVMDIS  BIT(4)

#endif
