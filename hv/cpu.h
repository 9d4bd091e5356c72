/*
 * One inline function for each privileged or special instruction that C has
 * no word for. Nothing here knows VT-x or AMD-V: their instructions are in
 * hv/vmx/ and hv/svm/.
 */
#ifndef HV_CPU_H
#define HV_CPU_H

#include "hv/types.h"

/* Operand of LGDT, LIDT, SGDT and SIDT (SDM 3.5.1, Figure 3-11). */
struct table_register {
    u16 limit;
    u64 base;
} PACKED;

#define CR0_PE BIT(0)
#define CR0_MP BIT(1)
#define CR0_EM BIT(2)
#define CR0_TS BIT(3)
#define CR0_ET BIT(4)
#define CR0_NE BIT(5)
#define CR0_WP BIT(16)
#define CR0_AM BIT(18)
#define CR0_NW BIT(29)
#define CR0_CD BIT(30)
#define CR0_PG BIT(31)

#define CR4_TSD        BIT(2)
#define CR4_DE         BIT(3)
#define CR4_PSE        BIT(4)
#define CR4_PAE        BIT(5)
#define CR4_MCE        BIT(6)
#define CR4_PGE        BIT(7)
#define CR4_PCE        BIT(8)
#define CR4_OSFXSR     BIT(9)
#define CR4_OSXMMEXCPT BIT(10)
#define CR4_UMIP       BIT(11)
#define CR4_LA57       BIT(12)
#define CR4_VMXE       BIT(13)
#define CR4_SMXE       BIT(14)
#define CR4_FSGSBASE   BIT(16)
#define CR4_PCIDE      BIT(17)
#define CR4_OSXSAVE    BIT(18)
#define CR4_KL         BIT(19)
#define CR4_SMEP       BIT(20)
#define CR4_SMAP       BIT(21)
#define CR4_PKE        BIT(22)
#define CR4_CET        BIT(23)

#define RFLAGS_CF    BIT(0)
#define RFLAGS_FIXED BIT(1) /* reads as 1 */
#define RFLAGS_ZF    BIT(6)
#define RFLAGS_TF    BIT(8)
#define RFLAGS_IF    BIT(9)
#define RFLAGS_DF    BIT(10)
#define RFLAGS_IOPL  BIT(12) /* the lower of its two bits */
#define RFLAGS_IOPL3 (3ul << 12)
#define RFLAGS_NT    BIT(14)
#define RFLAGS_RF    BIT(16)
#define RFLAGS_VM    BIT(17)
#define RFLAGS_AC    BIT(18)

#define DR6_RESET 0xffff0ff0ul /* SDM 10.1.1: the bits that read as 1 */
#define DR7_RESET 0x400ul
#define DR7_GD    BIT(13) /* a MOV DR raises #DB */

/* Exception vectors, SDM Table 6-1. */
#define VECTOR_DE  0
#define VECTOR_DB  1
#define VECTOR_NMI 2
#define VECTOR_BP  3
#define VECTOR_OF  4
#define VECTOR_BR  5
#define VECTOR_UD  6
#define VECTOR_NM  7
#define VECTOR_DF  8
#define VECTOR_TS  10
#define VECTOR_NP  11
#define VECTOR_SS  12
#define VECTOR_GP  13
#define VECTOR_PF  14
#define VECTOR_MF  16
#define VECTOR_AC  17
#define VECTOR_MC  18
#define VECTOR_XM  19
#define VECTOR_VE  20
#define VECTOR_CP  21
#define VECTOR_SX  30 /* AMD: security exception */

/* clang-format off */

/* CPUID as it stands: EAX and ECX go in, all four come out, their upper halves
 * cleared. RBX is swapped in and out, which costs less than what a callee must
 * do who promises to leave it alone. */
static inline void cpuid_registers(u64 *rax, u64 *rbx, u64 *rcx, u64 *rdx)
{
    __asm__ volatile("xchg %%rbx, %1; cpuid; xchg %%rbx, %1"
                     : "+a"(*rax), "=&r"(*rbx), "+c"(*rcx), "=d"(*rdx));
}

/* The same for a leaf; out: EAX, EBX, ECX, EDX. */
static inline void cpuid(u32 leaf, u32 subleaf, u32 out[4])
{
    u64 rax = leaf, rbx, rcx = subleaf, rdx;

    cpuid_registers(&rax, &rbx, &rcx, &rdx);
    out[0] = (u32)rax;
    out[1] = (u32)rbx;
    out[2] = (u32)rcx;
    out[3] = (u32)rdx;
}

/* RDMSR: #GP when the CPU has no such register. */
static inline u64 rdmsr(u32 index)
{ u32 a, d; __asm__ volatile("rdmsr" : "=a"(a), "=d"(d) : "c"(index));
  return (u64)d << 32 | a; }

/* WRMSR: #GP for a missing register or a reserved bit. */
static inline void wrmsr(u32 index, u64 value)
{ __asm__ volatile("wrmsr" : : "c"(index), "a"((u32)value),
                   "d"((u32)(value >> 32)) : "memory"); }

/* RDTSC: not serializing; earlier loads may still be under way. */
static inline u64 rdtsc(void)
{ u64 a, d; __asm__ volatile("rdtsc" : "=a"(a), "=d"(d));
  return d << 32 | a; }

/* MOV from a control or debug register. */
#define READ_REGISTER(name) \
    static inline u64 read_##name(void) \
    { u64 v; __asm__ volatile("mov %%" #name ", %0" : "=r"(v)); return v; }
READ_REGISTER(cr0)
READ_REGISTER(cr2)
READ_REGISTER(cr3)
READ_REGISTER(cr4)
READ_REGISTER(cr8)
READ_REGISTER(dr0)
READ_REGISTER(dr1)
READ_REGISTER(dr2)
READ_REGISTER(dr3)
READ_REGISTER(dr6)
READ_REGISTER(dr7)
#undef READ_REGISTER

/* MOV to a control or debug register; "memory": translations may change. */
#define WRITE_REGISTER(name) \
    static inline void write_##name(u64 v) \
    { __asm__ volatile("mov %0, %%" #name : : "r"(v) : "memory"); }
WRITE_REGISTER(cr0)
WRITE_REGISTER(cr2)
WRITE_REGISTER(cr3)
WRITE_REGISTER(cr4)
WRITE_REGISTER(cr8)
WRITE_REGISTER(dr0)
WRITE_REGISTER(dr1)
WRITE_REGISTER(dr2)
WRITE_REGISTER(dr3)
WRITE_REGISTER(dr6)
WRITE_REGISTER(dr7)
#undef WRITE_REGISTER

/* DR0 to DR3 by number. */
static inline u64 read_dr(u32 n)
{ return n == 0 ? read_dr0() : n == 1 ? read_dr1() : n == 2 ? read_dr2()
                                                            : read_dr3(); }
static inline void write_dr(u32 n, u64 v)
{ n == 0 ? write_dr0(v) : n == 1 ? write_dr1(v) : n == 2 ? write_dr2(v)
                                                         : write_dr3(v); }

/* XSETBV: extended control register 0 selects the XSAVE components. */
static inline void xsetbv(u32 index, u64 value)
{ __asm__ volatile("xsetbv" : : "c"(index), "a"((u32)value),
                   "d"((u32)(value >> 32)) : "memory"); }

/* INVLPG: drops the translation of one page, global ones too. */
static inline void invlpg(u64 address)
{ __asm__ volatile("invlpg (%0)" : : "r"(address) : "memory"); }

/* IN and OUT of 1, 2 and 4 bytes. */
static inline u8 inb(u16 port)
{ u8 v; __asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port)); return v; }
static inline u16 inw(u16 port)
{ u16 v; __asm__ volatile("inw %1, %0" : "=a"(v) : "Nd"(port)); return v; }
static inline u32 inl(u16 port)
{ u32 v; __asm__ volatile("inl %1, %0" : "=a"(v) : "Nd"(port)); return v; }
static inline void outb(u16 port, u8 value)
{ __asm__ volatile("outb %1, %0" : : "Nd"(port), "a"(value)); }
static inline void outw(u16 port, u16 value)
{ __asm__ volatile("outw %1, %0" : : "Nd"(port), "a"(value)); }
static inline void outl(u16 port, u32 value)
{ __asm__ volatile("outl %1, %0" : : "Nd"(port), "a"(value)); }

/* Loads and stores of the descriptor-table registers. */
static inline void lgdt(const struct table_register *t)
{ __asm__ volatile("lgdt %0" : : "m"(*t) : "memory"); }
static inline void lidt(const struct table_register *t)
{ __asm__ volatile("lidt %0" : : "m"(*t) : "memory"); }
static inline void sgdt(struct table_register *t)
{ __asm__ volatile("sgdt %0" : "=m"(*t)); }
static inline void sidt(struct table_register *t)
{ __asm__ volatile("sidt %0" : "=m"(*t)); }

/* LTR: #GP when the TSS is already marked busy (SDM 8.2.2). */
static inline void ltr(u16 selector)
{ __asm__ volatile("ltr %0" : : "r"(selector) : "memory"); }

/* STR: the task register's selector. */
static inline u16 str(void)
{ u16 v; __asm__ volatile("str %0" : "=r"(v)); return v; }

/* LLDT: a null selector marks the LDT unusable. */
static inline void lldt(u16 selector)
{ __asm__ volatile("lldt %0" : : "r"(selector)); }

/* MOV from a segment register. */
#define READ_SELECTOR(name) \
    static inline u16 read_##name(void) \
    { u16 v; __asm__ volatile("mov %%" #name ", %0" : "=r"(v)); return v; }
READ_SELECTOR(cs)
READ_SELECTOR(ds)
READ_SELECTOR(es)
READ_SELECTOR(fs)
READ_SELECTOR(gs)
READ_SELECTOR(ss)
#undef READ_SELECTOR

/* PUSHFQ: RFLAGS. Needs -mno-red-zone, as all of this code has. */
static inline u64 read_rflags(void)
{ u64 v; __asm__ volatile("pushfq; popq %0" : "=r"(v)); return v; }

/* STI takes effect after the next instruction (SDM vol 2, STI). */
static inline void sti(void)
{ __asm__ volatile("sti" : : : "memory"); }
/* CLI: no external interrupt from here on. */
static inline void cli(void)
{ __asm__ volatile("cli" : : : "memory"); }
/* HLT: until an interrupt or an NMI. */
static inline void hlt(void)
{ __asm__ volatile("hlt" : : : "memory"); }
/* PAUSE: tells the CPU that this is a waiting loop. */
static inline void pause(void)
{ __asm__ volatile("pause" : : : "memory"); }
/* WBINVD: writes back and drops the caches. */
static inline void wbinvd(void)
{ __asm__ volatile("wbinvd" : : : "memory"); }

/* clang-format on */

/* Keeps the compiler from moving memory accesses across this point. */
#define barrier() __asm__ volatile("" : : : "memory")

#endif
