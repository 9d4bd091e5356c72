; What a second CPU runs: from real mode to flat 32-bit code, then it waits
; for the word: to send one interprocessor interrupt again and again, until it
; is told to stop; or to look for a sign and, unless it is told to stop for some
; time after that, to become the first CPU. Copied to a page below 1 MiB
; (hv/ap.c), so everything is relative to that page: CS in real mode, EBX
; afterwards.
;
; The last 96 bytes of the page are struct mailbox of hv/ap.c.

default abs
global ap_code:data hidden
global ap_code_end:data hidden

ALIVE     equ 0xfa0
GO        equ 0xfa4
ICR_HIGH  equ 0xfa8
ICR_LOW   equ 0xfac
APIC      equ 0xfb0
EFER      equ 0xfb4
CR0_      equ 0xfb8
CR4_      equ 0xfbc
DELAY     equ 0xfc0
CR3_      equ 0xfc8
ENTRY     equ 0xfd0
ARGUMENT  equ 0xfd8
CS_       equ 0xfe0
SIGN      equ 0xfe4
SS_       equ 0xfe8
GDTR      equ 0xfec
IDTR      equ 0xff6

GO_SEND      equ 1
GO_TAKE_OVER equ 2

MSR_EFER equ 0xc0000080

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
        cmp     dword [ebx + GO], GO_TAKE_OVER
        je      .watch
        cmp     dword [ebx + GO], GO_SEND
        jne     .wait
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
.stop:
        mov     dword [ebx + ALIVE], 0
.halt:
        cli
        hlt
        jmp     .halt

.watch:
        pause
        cmp     dword [ebx + GO], GO_TAKE_OVER
        jne     .stop
        mov     esi, [ebx + SIGN]
        cmp     dword [esi], 0
        je      .watch
        rdtsc
        add     eax, [ebx + DELAY]
        adc     edx, [ebx + DELAY + 4]
        mov     esi, eax                ; EBP:ESI: the time
        mov     ebp, edx
.still:
        pause
        cmp     dword [ebx + GO], GO_TAKE_OVER
        jne     .stop
        rdtsc
        sub     eax, esi
        sbb     edx, ebp
        js      .still
        mov     dword [ebx + ALIVE], 0
        lea     eax, [ebx + AT(long_mode)]
        mov     [ebx + AT(entry)], eax
        mov     word [ebx + AT(entry) + 4], 24
        mov     eax, [ebx + CR4_]
        mov     cr4, eax
        mov     eax, [ebx + CR3_]
        mov     cr3, eax
        mov     ecx, MSR_EFER
        mov     eax, [ebx + EFER]
        xor     edx, edx
        wrmsr
        mov     eax, [ebx + CR0_]
        mov     cr0, eax                ; PG: this page is mapped to itself
        jmp     far dword [ebx + AT(entry)]

        bits 64
long_mode:
        lgdt    [rbx + GDTR]
        lidt    [rbx + IDTR]
        mov     eax, [rbx + SS_]
        mov     ss, eax
        mov     ds, eax
        mov     es, eax
        mov     rdi, [rbx + ARGUMENT]
        lea     rsp, [rbx + ALIVE]      ; for the next three
        mov     eax, [rbx + CS_]
        push    rax
        push    qword [rbx + ENTRY]
        o64 retf

        align   8
gdt:    dq      0
        dq      0x00cf9b000000ffff      ; flat 32-bit code
        dq      0x00cf93000000ffff      ; flat data
        dq      0x00af9b000000ffff      ; 64-bit code
gdt_register:
        dw      31
        dd      0                       ; filled above
entry:  dd      0                       ; filled above
        dw      8
ap_code_end:

section .note.GNU-stack noalloc noexec nowrite progbits
