/*
 * VM-exit instruction information of a memory operand, for scenarios (SDM
 * 28.2.5): scale, address size, segment, index, base, second register.
 */
#ifndef GUEST_VMX_INFO_H
#define GUEST_VMX_INFO_H

#include "hv/types.h"

#define SCALE(power) (power)
#define ADDRESS_16   0
#define ADDRESS_32   (1ull << 7)
#define ADDRESS_64   (2ull << 7)
#define SEGMENT(seg) ((u64)(seg) << 15)
#define INDEX(gpr)   ((u64)(gpr) << 18)
#define NO_INDEX     BIT(22)
#define BASE(gpr)    ((u64)(gpr) << 23)
#define NO_BASE      BIT(27)
#define REG2(gpr)    ((u64)(gpr) << 28)

/* Undefined in each: of a memory operand, of an absent index with its scale,
 * of an absent base, of an absent second register. */
#define UNDEF_MEMORY 0x787cull
#define UNDEF_INDEX  (SCALE(3) | INDEX(15))
#define UNDEF_BASE   BASE(15)
#define UNDEF_REG2   REG2(15)

#endif
