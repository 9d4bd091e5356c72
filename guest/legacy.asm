; The exception stubs of 32-bit protected mode (also for 16-bit and virtual-8086
; code, whose exceptions go through the same gates) and of real mode. They do
; what those of 64-bit mode do (guest/entry.asm), but return to EBP or BP.

        default rel

%define STUB 16                 ; GUEST_STUB, GUEST_STUB16 in guest.h
%define STUB16 8
%define BASE 0x10000            ; GUEST_BASE, GUEST_DS, GUEST_CANARY_LOW
%define DS 0x10                 ;   in layout.h
%define CANARY_LOW 0x5ca1ab00

        global guest_vectors32:data hidden
        global guest_vectors16:data hidden
        extern guest_seen, guest_abort

        section .guest.text progbits alloc exec nowrite align=16

        bits 32
        align   STUB
guest_vectors32:
%assign n 0
%rep 256
        align   STUB
%if !(n == 8 || (n >= 10 && n <= 14) || n == 17 || n == 21 || n == 29 || n == 30)
        push    byte 0
%endif
        push    strict dword n
        jmp     near seen32
%assign n n + 1
%endrep
        align   STUB

; The flat code segment gives the address of this place; guest_seen is so far
; from it. On the stack behind PUSHAD's 32 bytes:
;   DS, vector, error code, EIP, CS, EFLAGS
seen32:
        push    ds
        pushad
        mov     eax, DS
        mov     ds, eax
        call    .here
.here:  pop     ebx
        lea     ebx, [ebx + .seen - .here]
        add     ebx, [ebx]
        mov     eax, [esp + 36]
        mov     [ebx + 8], eax          ; vector
        mov     eax, [esp + 40]
        mov     [ebx + 16], eax         ; error
        mov     eax, [esp + 44]
        mov     [ebx + 24], eax         ; rip
        mov     eax, cr2
        mov     [ebx + 32], eax
        inc     dword [ebx]
        cmp     ebp, CANARY_LOW + 5     ; still its canary?
        je      guest_abort
        mov     [esp + 44], ebp
        popad
        pop     ds
        add     esp, 8
        iretd
.seen:  dd      guest_seen - $

        bits 16
        align   STUB16
guest_vectors16:
%assign n 0
%rep 256
        align   STUB16
        push    strict word n
        jmp     near seen16
%assign n n + 1
%endrep
        align   STUB16

; Real mode pushes no error codes. Behind PUSHAD's 32 bytes: DS, vector, IP,
; CS, FLAGS. guest_seen stands at a multiple of 16, so that it has a segment.
seen16:
        push    ds
        pushad
        call    .here
.here:  pop     si
        lea     si, [si + .seen - .here]
        movzx   esi, si
        mov     eax, [cs:si]
        lea     eax, [eax + esi + BASE]
        shr     eax, 4
        mov     ds, ax
        movzx   ebx, sp
        movzx   eax, word [ss:ebx + 34]
        mov     [8], eax                ; vector
        movzx   eax, word [ss:ebx + 36]
        mov     [24], eax               ; ip
        inc     dword [0]
        cmp     bp, (CANARY_LOW + 5) & 0xffff
        je      guest_abort
        mov     [ss:ebx + 36], bp
        popad
        pop     ds
        add     sp, 2
        iret
.seen:  dd      guest_seen - $
