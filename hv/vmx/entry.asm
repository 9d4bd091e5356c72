; The way into a VT-x guest and back (SDM 27, VM Entries; 28, VM Exits).
;
; RSP, RIP and RFLAGS are switched by the CPU; the other 15 general-purpose
; registers are ours. VMCS_HOST_RSP is the vCPU's own address: so the exit
; finds struct vcpu in RSP and needs neither a free register nor a stack. (An
; NMI in those few instructions has its own stack, by the IST.)
%include "asm_offsets.inc"

; 15 MOVs from or to the vCPU, last the register that may hold its address.
%macro GUEST_REGISTERS 1
    %1 rax, VCPU_RAX
    %1 rcx, VCPU_RCX
    %1 rdx, VCPU_RDX
    %1 rbx, VCPU_RBX
    %1 rbp, VCPU_RBP
    %1 rsi, VCPU_RSI
    %1 r8, VCPU_R8
    %1 r9, VCPU_R9
    %1 r10, VCPU_R10
    %1 r11, VCPU_R11
    %1 r12, VCPU_R12
    %1 r13, VCPU_R13
    %1 r14, VCPU_R14
    %1 r15, VCPU_R15
    %1 rdi, VCPU_RDI
%endmacro
%macro LOAD 2       ; at the entry RDI is the vCPU
    mov %1, [rdi + %2]
%endmacro
%macro RELOAD 2     ; between two trips of the benchmark RSP is
    mov %1, [rsp + %2]
%endmacro
%macro SAVE 2
    mov [rsp + %2], %1
%endmacro

section .text
global vmx_run:function hidden
global vmx_exit:function hidden
global vmx_bare_exit:function hidden
extern vmx_exited, vmx_bare_trips, vmx_bare_length

; void vmx_run(struct vcpu *v): the guest, and between two runs of it the host,
; until vmx_exited() says false.
vmx_run:
    push rbx        ; what the System V ABI lets a callee keep
    push rbp
    push r12
    push r13
    push r14
    push r15
    push rdi        ; [rsp]: vCPU; the stack is aligned for the call
    mov [rdi + VCPU_VENDOR3], rsp
enter:
    cmp qword [rdi + VCPU_VENDOR1], 0   ; launched? MOV leaves the flags alone
    GUEST_REGISTERS LOAD
    jne .resume
    vmlaunch
    jmp vmfail
.resume:
    vmresume
vmfail:             ; only when the entry did not begin: RSP is the host's
    mov rdi, [rsp]
    mov qword [rdi + VCPU_VENDOR2], 1
    jmp exited

vmx_exit:           ; RSP = vCPU, RFLAGS = 2, all else is the guest's
    GUEST_REGISTERS SAVE
    mov rdi, rsp
    mov rsp, [rdi + VCPU_VENDOR3]
exited:
    rdtsc
    shl rdx, 32
    lea rsi, [rax + rdx]
    call vmx_exited
    mov rdi, [rsp]
    test al, al
    jnz enter
host_back:
    pop rdi
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret

; The benchmark's bare minimum: where exits arrive while vmx_bare() runs.
vmx_bare_exit:
    GUEST_REGISTERS SAVE
    mov eax, VMCS_GUEST_RIP
    vmread rbx, rax
    add rbx, [rel vmx_bare_length]
    vmwrite rax, rbx
    dec qword [rel vmx_bare_trips]
    jz .done
    GUEST_REGISTERS RELOAD
    vmresume
    mov rsp, [rsp + VCPU_VENDOR3]
    jmp vmfail
.done:
    mov rsp, [rsp + VCPU_VENDOR3]
    jmp host_back
