/*
 * Words of the VMCS by the names that scenarios have for them, and those
 * among them that an exit has no cause to fill.
 */
#include "hv/vmx/vmx.h"

#include "hv/cpu.h"

/* The field of a word, 0: AMD-V's. */
static u16 word_field(enum raw_word word)
{
    static const u16 fields[] = {
        [RAW_QUALIFICATION] = VMCS_EXIT_QUALIFICATION,
        [RAW_INSTRUCTION_INFO] = VMCS_EXIT_INSTRUCTION_INFO,
        [RAW_INTERRUPTION_INFO] = VMCS_EXIT_INTERRUPTION_INFO,
        [RAW_INTERRUPTION_ERROR] = VMCS_EXIT_INTERRUPTION_ERROR,
        [RAW_VECTORING_INFO] = VMCS_IDT_VECTORING_INFO,
        [RAW_VECTORING_ERROR] = VMCS_IDT_VECTORING_ERROR,
        [RAW_GUEST_LINEAR] = VMCS_GUEST_LINEAR_ADDRESS,
        [RAW_GUEST_PHYSICAL] = VMCS_GUEST_PHYSICAL_ADDRESS,
        [RAW_MSR_DATA] = VMCS_MSR_DATA,
        [RAW_PENDING_DEBUG] = VMCS_GUEST_PENDING_DEBUG,
        [RAW_INTERRUPTIBILITY] = VMCS_GUEST_INTERRUPTIBILITY,
        [RAW_ACTIVITY] = VMCS_GUEST_ACTIVITY,
        [RAW_INTERRUPT_STATUS] = VMCS_GUEST_INTERRUPT_STATUS,
        [RAW_TPR_THRESHOLD] = VMCS_TPR_THRESHOLD,
        [RAW_APIC_ACCESS_PAGE] = VMCS_APIC_ACCESS_ADDRESS,
        [RAW_EOI_BITMAP1] = VMCS_EOI_EXIT_BITMAP1,
        [RAW_TIMER] = VMCS_PREEMPTION_TIMER,
        [RAW_PLE_GAP] = VMCS_PLE_GAP,
        [RAW_PLE_WINDOW] = VMCS_PLE_WINDOW,
        [RAW_EPT_POINTER] = VMCS_EPTP,
        [RAW_PML_PAGE] = VMCS_PML_ADDRESS,
        [RAW_PML_INDEX] = VMCS_PML_INDEX,
        [RAW_SPP_TABLE] = VMCS_SPP_TABLE,
        [RAW_FUNCTIONS] = VMCS_VM_FUNCTION_CONTROLS,
        [RAW_EPTP_LIST] = VMCS_EPTP_LIST,
        [RAW_XSS_BITMAP] = VMCS_XSS_EXITING_BITMAP,
        [RAW_ENCLS_BITMAP] = VMCS_ENCLS_EXITING_BITMAP,
        [RAW_ENCLV_BITMAP] = VMCS_ENCLV_EXITING_BITMAP,
        [RAW_NOTIFY_WINDOW] = VMCS_NOTIFY_WINDOW,
        [RAW_VE_INFORMATION] = VMCS_VE_INFORMATION,
        [RAW_LINK_POINTER] = VMCS_VMCS_LINK_POINTER,
        [RAW_INJECTION] = VMCS_ENTRY_INTERRUPTION_INFO,
        [RAW_PRIMARY] = VMCS_PROC_CONTROLS,
        [RAW_SECONDARY] = VMCS_PROC2_CONTROLS,
        [RAW_CR0_MASK] = VMCS_CR0_MASK,
        [RAW_CR0_SHADOW] = VMCS_CR0_SHADOW,
        [RAW_CR4_MASK] = VMCS_CR4_MASK,
        [RAW_CR4_SHADOW] = VMCS_CR4_SHADOW,
        [RAW_CR3_TARGET_COUNT] = VMCS_CR3_TARGET_COUNT,
        [RAW_CR3_TARGET] = VMCS_CR3_TARGET0,
        [RAW_PF_MASK] = VMCS_PAGE_FAULT_ERROR_MASK,
        [RAW_PF_MATCH] = VMCS_PAGE_FAULT_ERROR_MATCH,
        [RAW_ENTRY_CONTROLS] = VMCS_ENTRY_CONTROLS,
        [RAW_SSP] = VMCS_GUEST_SSP,
    };

    return word < ARRAY_SIZE(fields) ? fields[word] : 0;
}

bool vmx_word(struct vcpu *v, enum raw_word word, u64 *value)
{
    u16 field = word_field(word);

    (void)v;
    return field && vmread_checked((enum vmcs_field)field, value);
}

/* What this CPU has; exit information is read-only (SDM 25.11.2). */
bool vmx_set_word(struct vcpu *v, enum raw_word word, u64 value)
{
    u16 field = word_field(word);
    u64 before;

    (void)v;
    if (!field || FIELD_READ_ONLY(field) ||
        !vmread_checked((enum vmcs_field)field, &before))
        return false;
    vmwrite((enum vmcs_field)field, value);
    return true;
}

/* Can the exit come in the middle of a delivery (SDM 28.2.4)? By an exception,
 * a task switch, or an access to memory. */
static bool in_delivery(u32 reason)
{
    return reason == REASON_EXCEPTION_NMI || reason == REASON_TASK_SWITCH ||
           reason == REASON_APIC_ACCESS || reason == REASON_EPT_VIOLATION ||
           reason == REASON_EPT_MISCONFIG || reason == REASON_PML_FULL ||
           reason == REASON_SPP_EVENT || reason == REASON_NOTIFY;
}

/* Of a misconfiguration a scenario of its own looks whether it is clear. Of a
 * vectored event only #DB and #PF have a qualification (SDM 28.2.1). */
static bool qualifies(u32 reason)
{
    u8 vector;

    if (reason != REASON_EXCEPTION_NMI)
        return reason == REASON_EPT_MISCONFIG || vmx_qualifies(reason);
    vector = INTR_VECTOR(vmread(VMCS_EXIT_INTERRUPTION_INFO));
    return vector == VECTOR_DB || vector == VECTOR_PF;
}

/* SDM 28.2.1, 28.2.2 and 28.2.4: a field that says nothing about the exit is
 * cleared, or its valid bit is; so is that of an event which the entry has
 * injected (SDM 28.1). */
enum raw_word vmx_stray(struct vcpu *v, u64 *value)
{
    u32 basic = v->exit.code & REASON_BASIC;

    if (v->exit.code & REASON_ENTRY_FAILED)
        return RAW_NOTHING;
    *value = vmread(VMCS_EXIT_QUALIFICATION);
    if (*value && !qualifies(basic))
        return RAW_QUALIFICATION;
    *value = vmread(VMCS_EXIT_INTERRUPTION_INFO);
    if ((*value & INTR_VALID) && basic != REASON_EXCEPTION_NMI &&
        basic != REASON_EXTERNAL_INT)
        return RAW_INTERRUPTION_INFO;
    *value = vmread(VMCS_IDT_VECTORING_INFO);
    if ((*value & INTR_VALID) && !in_delivery(basic))
        return RAW_VECTORING_INFO;
    *value = vmread(VMCS_ENTRY_INTERRUPTION_INFO);
    return *value & INTR_VALID ? RAW_INJECTION : RAW_NOTHING;
}
