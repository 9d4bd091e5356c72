; The SIMD registers that nobody switches: filled before a scenario, compared
; behind it. (C code in the hypervisor is compiled without them.)

section .text
global simd_fill:function hidden
global simd_kept:function hidden

; void simd_fill(u64 seed): XMMn holds seed + n, twice.
simd_fill:
%assign n 0
%rep 16
    lea rax, [rdi + n]
    movq xmm %+ n, rax
    punpcklqdq xmm %+ n, xmm %+ n
%assign n n + 1
%endrep
    ret

; u32 simd_kept(u64 seed): bit n set when XMMn still does.
simd_kept:
    xor ecx, ecx
%assign n 0
%rep 16
    lea rdx, [rdi + n]
    movq rax, xmm %+ n
    cmp rax, rdx
    jne .changed_ %+ n
    psrldq xmm %+ n, 8
    movq rax, xmm %+ n
    cmp rax, rdx
    jne .changed_ %+ n
    or ecx, 1 << n
.changed_ %+ n:
%assign n n + 1
%endrep
    mov eax, ecx
    ret
