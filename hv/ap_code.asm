; What a second CPU runs: from real mode to flat 32-bit code, then it waits
; for the word to send one interprocessor interrupt again and again, until it
; is told to stop. Copied to a page below 1 MiB (hv/ap.c), so everything is
; relative to that page: CS in real mode, EBX afterwards.
;
; The last 32 bytes of the page are struct mailbox of hv/ap.c.

default abs
global ap_code:data hidden
global ap_code_end:data hidden

ALIVE     equ 0xfe0
GO        equ 0xfe4
ICR_HIGH  equ 0xfe8
ICR_LOW   equ 0xfec
APIC      equ 0xff0

%define AT(label) (label - ap_code)

section .rodata

        bits 16
ap_code:
        cli
        cld
        mov     ax, cs
        mov     ds, ax
        movzx   ebx, ax
        shl     ebx, 4                  ; the page's address
        lea     eax, [ebx + AT(gdt)]
        mov     [AT(gdt_register) + 2], eax
        lea     eax, [ebx + AT(flat)]
        mov     [AT(entry)], eax
        lgdt    [AT(gdt_register)]
        mov     eax, cr0
        or      al, 1                   ; PE
        mov     cr0, eax
        jmp     far dword [AT(entry)]

        bits 32
flat:
        mov     ax, 16
        mov     ds, ax
        mov     edi, [ebx + APIC]
        mov     dword [ebx + ALIVE], 1
.wait:
        pause
        cmp     dword [ebx + GO], 0
        je      .wait
.send:
        mov     eax, [ebx + ICR_HIGH]
        mov     [edi + 0x310], eax
        mov     eax, [ebx + ICR_LOW]
        mov     [edi + 0x300], eax
        mov     ecx, 10000
.delay:
        pause
        dec     ecx
        jnz     .delay
        cmp     dword [ebx + GO], 0
        jne     .send
        mov     dword [ebx + ALIVE], 0
.halt:
        cli
        hlt
        jmp     .halt

        align   8
gdt:    dq      0
        dq      0x00cf9b000000ffff      ; flat 32-bit code
        dq      0x00cf93000000ffff      ; flat data
gdt_register:
        dw      23
        dd      0                       ; filled above
entry:  dd      0                       ; filled above
        dw      8
ap_code_end:

section .note.GNU-stack noalloc noexec nowrite progbits
