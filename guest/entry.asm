; The guest's fixed part: exception stubs, the two hypercalls that end a
; scenario, and the tables that the loader (hv/guest.c) fills. A scenario's
; own instructions stand in guest/scenarios/. Position-independent: the image
; is copied to GUEST_BASE and runs there.

        bits 64
        default rel

%define STUB 16                 ; GUEST_STUB in guest.h
%define CS32 0x38               ; GUEST_CS32, GUEST_CANARY_LOW in layout.h
%define CANARY_LOW 0x5ca1ab00
%define PORTS 0x1300            ; GUEST_PORTS

        global guest_vectors:data hidden
        global guest_done:data hidden
        global guest_abort:data hidden
        global guest_gdt:data hidden
        global guest_gdt_end:data hidden
        global guest_idt:data hidden
        global guest_tss:data hidden
        global guest_tss32:data hidden
        global guest_pml4:data hidden
        global guest_pdpt:data hidden
        global guest_pd:data hidden
        global guest_pt:data hidden
        global guest_stack_top:data hidden
        global guest_flag:data hidden
        global guest_seen:data hidden

; A hypercall site: VMCALL here, patched to VMMCALL (same length) on AMD-V.
; The list of sites holds distances from its own entries: no relocation.
%macro  hypercall 0
%%site: vmcall
        section .guest.patch
        dd      %%site - $
        section .guest.text
%endmacro

        section .guest.text progbits alloc exec nowrite align=4096

; One stub per vector. On the stack when `seen` runs:
;   [rsp] vector, +8 error code (0 where the CPU pushes none), +16 RIP,
;   +24 CS, +32 RFLAGS, +40 RSP, +48 SS
guest_vectors:
%assign n 0
%rep 256
        align   STUB
%if !(n == 8 || (n >= 10 && n <= 14) || n == 17 || n == 21 || n == 29 || n == 30)
        push    byte 0
%endif
        push    strict dword n
        jmp     near seen
%assign n n + 1
%endrep
        align   STUB

; Notes what came, changes no register, and returns to R15: a scenario that
; expects an exception puts there where it wants to go on.
seen:
        push    rax
        mov     rax, [rsp + 8]
        mov     [guest_seen + 8], rax   ; vector
        mov     rax, [rsp + 16]
        mov     [guest_seen + 16], rax  ; error
        mov     rax, [rsp + 24]
        mov     [guest_seen + 24], rax  ; rip
        mov     rax, cr2
        mov     [guest_seen + 32], rax
        inc     qword [guest_seen]
        mov     rax, r15
        shr     rax, 32                 ; still its canary?
        jnz     .compat
        mov     [rsp + 24], r15
        and     dword [rsp + 40], ~0x100 ; TF: a single step is one step
.back:  pop     rax
        add     rsp, 16
        iretq

; A compatibility-mode scenario has no R15 and uses EBP.
.compat:
        cmp     word [rsp + 32], CS32
        jne     guest_abort
        mov     eax, ebp
        cmp     eax, CANARY_LOW + 5
        je      guest_abort
        mov     [rsp + 24], rax
        jmp     .back

guest_abort:
        hypercall
guest_done:
        hypercall

        section .guest.data progbits alloc noexec write align=4096

; Filled by the loader: the page tables, IDT and TSS hold addresses.
guest_pml4:     times 4096 db 0
guest_pdpt:     times 4096 db 0
guest_pd:       times 4096 db 0
guest_pt:       times 4096 db 0
guest_idt:      times 4096 db 0
guest_tss:      times 104 + PORTS / 8 + 1 db 0
guest_tss32:    times 104 + PORTS / 8 + 1 db 0

        align   16
guest_gdt:
        dq      0
        dq      0x00af9b000000ffff      ; GUEST_CS: 64-bit code
        dq      0x00cf93000000ffff      ; GUEST_DS: data
        dq      0, 0                    ; GUEST_TR: the loader's
        dq      0x00affb000000ffff      ; GUEST_CS3: the same for CPL 3
        dq      0x00cff3000000ffff      ; GUEST_DS3
        dq      0x00cf9b000000ffff      ; GUEST_CS32
        dq      0x00009b010000ffff      ; GUEST_CS16
        dq      0x0000930ffff0ffff      ; GUEST_DS16
        dq      0                       ; GUEST_SS16: the loader's
        dq      0                       ; GUEST_TR32: the loader's
        dq      0x00008b1004000067      ; GUEST_TASK_A
        dq      0x0000891002000067      ; GUEST_TASK_B
        dq      0x0000091002000067      ; GUEST_TASK_NP
        dq      0x0000891002000066      ; GUEST_TASK_SHORT
        dq      0x0000850000680000      ; GUEST_TASK_GATE
        dq      0x00cf13000000ffff      ; GUEST_NP_SEL
        dq      0, 0                    ; GUEST_SPARE
guest_gdt_end:

        align   16
guest_seen:     times 5 dq 0
guest_flag:     dq 0

        align   4096
        times 8192 db 0
guest_stack_top:
