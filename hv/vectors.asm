; The way into and out of the hypervisor's C code other than by a VM exit:
; 256 interrupt stubs, host_try(), and the switches of segments and stack.
;
; What a stub leaves on the stack (struct frame in fault.h), from RSP up:
;
;   +0    r15 r14 r13 r12 r11 r10 r9 r8 rdi rsi rbp rbx rdx rcx rax
;   +120  vector
;   +128  error code, 0 where the CPU pushes none
;   +136  rip cs rflags rsp ss      pushed by the CPU (SDM 6.14.2)
;
; The CPU aligns RSP to 16 before it pushes, so RSP is aligned at the call.

default rel
global vector_stubs, desc_load_segments, stack_switch
global host_unblock_nmi, host_try, host_try_landing, host_try_top
extern host_vector

section .text

; Vectors whose exception pushes an error code (SDM Table 6-1, APM 8.2).
%define HAS_ERROR(v) (v == 8 || (v >= 10 && v <= 14) || v == 17 || v == 21 \
                      || v == 29 || v == 30)

%macro STUB 1
    align 16            ; hv/desc.c finds stub n at vector_stubs + 16 * n
    %if !HAS_ERROR(%1)
    push qword 0
    %endif
    push qword %1
    jmp near save_and_call
%endmacro

    align 16
vector_stubs:
%assign n 0
%rep 256
    STUB n
    %assign n n + 1
%endrep

save_and_call:
    push rax
    push rcx
    push rdx
    push rbx
    push rbp
    push rsi
    push rdi
    push r8
    push r9
    push r10
    push r11
    push r12
    push r13
    push r14
    push r15
    cld                 ; the ABI's state; the interrupted code may be in STD
    mov rdi, rsp
    call host_vector
    pop r15
    pop r14
    pop r13
    pop r12
    pop r11
    pop r10
    pop r9
    pop r8
    pop rdi
    pop rsi
    pop rbp
    pop rbx
    pop rdx
    pop rcx
    pop rax
    add rsp, 16         ; vector, error code
    iretq

; bool host_try(void (*fn)(void *), void *arg)
;
; Calls fn(arg). A host fault on the way makes hv/fault.c return from the
; exception to host_try_landing with RSP = host_try_top, so that this function
; returns false to its caller, as if fn had never been called.
host_try:
    push rbp
    mov rbp, rsp        ; a frame, so that a backtrace passes through
    push rbx
    push r12
    push r13
    push r14
    push r15
    pushfq
    push qword [host_try_top]   ; the outer host_try, 0: none
    mov [host_try_top], rsp
    sub rsp, 8          ; 9 pushes and the return address: align to 16
    mov rax, rdi
    mov rdi, rsi
    call rax
    add rsp, 8
    mov eax, 1
    jmp host_try_out
host_try_landing:
    xor eax, eax
host_try_out:
    pop qword [host_try_top]
    popfq
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbx
    pop rbp
    ret

; void host_unblock_nmi(void): NMIs are blocked until the next IRET (SDM 6.7.1).
; This one returns to our caller, on the same stack.
host_unblock_nmi:
    pop rdi             ; the return address
    mov rax, rsp
    mov ecx, ss
    push rcx
    push rax
    pushfq
    mov ecx, cs
    push rcx
    push rdi
    iretq

; void desc_load_segments(u16 code, u16 data): all segment registers anew
; after LGDT. FS and GS are not used: null. CS changes by a far return.
desc_load_segments:
    mov ds, esi
    mov es, esi
    mov ss, esi
    xor eax, eax
    mov fs, eax
    mov gs, eax
    pop rax             ; our return address becomes the far return's offset
    movzx edi, di
    push rdi
    push rax
    o64 retf

; void stack_switch(void *top, void (*fn)(void *), void *arg): goes on in
; fn(arg) on another stack, for good. RBP 0 ends every backtrace.
stack_switch:
    mov rsp, rdi
    xor ebp, ebp
    mov rdi, rdx
    push rbp            ; in place of a return address
    jmp rsi

section .data
host_try_top:
    dq 0                ; RSP in the innermost host_try, 0: none is active

section .note.GNU-stack noalloc noexec nowrite progbits
