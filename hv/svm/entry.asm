; The way into an AMD-V guest and back (APM 15.5, VMRUN; 15.6, #VMEXIT).
;
; VMRUN switches RAX, RSP, RIP and RFLAGS; the other 14 general-purpose
; registers are ours. VMRUN leaves FS, GS, TR, LDTR and the system-call MSRs
; alone: VMLOAD and VMSAVE bring the guest's and give the host back its own. All
; three take the physical address in RAX.
%include "asm_offsets.inc"

; 14 MOVs from or to the vCPU, last the register that may hold its address.
%macro GUEST_REGISTERS 1
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
%macro SAVE 2       ; after the exit RAX is
    mov [rax + %2], %1
%endmacro

section .text
global svm_bare_loop:function hidden
extern svm_exited

; void svm_run(struct vcpu *v): the guest, and between two runs of it the host,
; until svm_exited() says false.
; void svm_run_held(struct vcpu *v): the same, but from the first exit on GIF
; stays 0. %2 is what lets events in behind an exit, or nothing.
%macro RUN 2
global %1:function hidden
%1:
    push rbx        ; what the System V ABI lets a callee keep
    push rbp
    push r12
    push r13
    push r14
    push r15
    push rdi        ; [rsp]: vCPU; the stack is aligned for the call
.enter:
    mov rax, [rdi + VCPU_VENDOR0]   ; the VMCB's physical address
    mov rcx, [rdi + VCPU_RAX]
    mov [rax + VMCB_RAX], rcx
    GUEST_REGISTERS LOAD
    clgi            ; from here to STGI nothing comes between
    sti             ; host IF = 1 lets an interrupt end the guest (15.21.1)
    vmload
    vmrun
    vmsave          ; RAX is the VMCB again, GIF is 0
    push qword [rax + VMCB_RAX]
    mov rax, [rsp + 8]
    GUEST_REGISTERS SAVE
    pop qword [rax + VCPU_RAX]
    mov rdi, rax
    rdtsc
    shl rdx, 32
    lea rsi, [rax + rdx]
    mov rax, [rdi + VCPU_VENDOR1]
    vmload          ; the host's FS, GS, TR, ...
    cli             ; an interrupt stays pending: the neutral code takes it
    %2
    call svm_exited
    mov rdi, [rsp]
    test al, al
    jnz .enter
    pop rdi
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret
%endmacro
RUN svm_run, stgi
RUN svm_run_held, nop

; void svm_bare_loop(struct vcpu *v, u64 trips, u64 length): the benchmark's
; bare minimum. GIF stays 0 from the first exit to the last.
svm_bare_loop:
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    push rdx        ; [rsp + 16]: length
    push rsi        ; [rsp + 8]: trips left
    push rdi        ; [rsp]: vCPU
    clgi
    mov rax, [rdi + VCPU_VENDOR0]
    vmload
    jmp .enter
.trip:
    mov rdi, rax
    mov rax, [rdi + VCPU_VENDOR0]
.enter:
    GUEST_REGISTERS LOAD
    vmrun
    mov rax, [rsp]
    GUEST_REGISTERS SAVE
    mov rcx, [rax + VCPU_VENDOR0]
    mov rdx, [rsp + 16]
    add [rcx + VMCB_RIP], rdx
    dec qword [rsp + 8]
    jnz .trip
    mov rax, [rax + VCPU_VENDOR1]
    vmload
    stgi
    add rsp, 24
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret
