/*
 * Compiled to assembly text only: the Makefile makes build/asm_offsets.inc
 * of it, so that no offset is ever typed into a stub.
 */
#include "hv/svm/abi.h"
#include "hv/vcpu.h"
#include "hv/vmx/abi.h"

#define EQU(name, value)                                                       \
    __asm__ volatile("\n.ascii \"->" #name " %c0\"" : : "i"(value))
#define GPR(name) EQU(VCPU_##name, offsetof(struct vcpu, regs.gpr[name]))
#define VENDOR(n) EQU(VCPU_VENDOR##n, offsetof(struct vcpu, vendor[n]))

void asm_offsets(void);
void asm_offsets(void)
{
    GPR(RAX);
    GPR(RCX);
    GPR(RDX);
    GPR(RBX);
    GPR(RSP);
    GPR(RBP);
    GPR(RSI);
    GPR(RDI);
    GPR(R8);
    GPR(R9);
    GPR(R10);
    GPR(R11);
    GPR(R12);
    GPR(R13);
    GPR(R14);
    GPR(R15);
    VENDOR(0);
    VENDOR(1);
    VENDOR(2);
    VENDOR(3);
    EQU(VMCB_RIP, offsetof(union vmcb, rip));
    EQU(VMCB_RAX, offsetof(union vmcb, rax));
    EQU(VMCS_GUEST_RIP, VMCS_GUEST_RIP);
}
