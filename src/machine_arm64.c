// SPDX-License-Identifier: GPL-2.0-only
/*
 * What memory an arm64 instruction reads: its address is put together by earlier instructions
 * (adrp, add), mostly once for the whole function. See machine.h.
 */
#include <string.h>

#include "machine.h"

#define DEPTH_MAX 6	      /* instructions that an address is put together by */
#define KEPT	  0x1ff80000u /* x19 to x28, which a call preserves */

static uint32_t word_at(const struct code *code, uint32_t i)
{
	uint32_t word;

	memcpy(&word, code_bytes(code, i), sizeof(word));
	return word;
}

static bool writes(const struct code *code, uint32_t i, uint32_t reg)
{
	const struct insn *insn = &code->insn[i];

	if (insn->kind == INSN_CALL)
		return !(KEPT & 1U << reg);
	return insn->writes & 1U << reg;
}

/* Whether control can get from block to instruction i. */
static bool leads_to(const struct analysis *a, uint32_t block, uint32_t i)
{
	memset(a->other, 0, a->code->blocks);
	flow_region(&a->flow, block, FLOW_NONE, a->other);
	return a->other[a->code->block_of[i]];
}

/* The instruction that reg has its value from at instruction i, whichever way control came;
 * UINT32_MAX when that is not one. */
static uint32_t definition(const struct analysis *a, uint32_t i, uint32_t reg)
{
	const struct code *code = a->code;
	uint32_t block = code->block_of[i], k, best = UINT32_MAX;

	for (k = i; k > code->block[block].first; k--)
		if (writes(code, k - 1, reg))
			return k - 1;
	for (k = 0; k < code->insns; k++) {
		uint32_t b = code->block_of[k];

		if (!code->block[b].live || !writes(code, k, reg))
			continue;
		if (b != block && flow_dominates(&a->flow, b, block)) {
			if (best == UINT32_MAX || code->block_of[best] == b ||
			    flow_dominates(&a->flow, code->block_of[best], b))
				best = k;
		} else if (leads_to(a, b, i)) {
			return UINT32_MAX;
		}
	}
	return best;
}

/* The constant in reg at instruction i; 0: not known. */
static uint64_t constant(const struct analysis *a, uint32_t i, uint32_t reg, int depth)
{
	uint32_t by = reg == 31 || depth == DEPTH_MAX ? UINT32_MAX : definition(a, i, reg), w;
	uint64_t value;

	if (by == UINT32_MAX || a->code->insn[by].kind != INSN_PLAIN)
		return 0;
	w = word_at(a->code, by);
	if ((w & 0x9f000000) == 0x90000000) { /* adrp */
		value = (uint64_t)((w >> 5) & 0x7ffff) << 2 | ((w >> 29) & 3);
		value = (value ^ 0x100000) - 0x100000; /* 21 bits with a sign */
		return (a->code->insn[by].address & ~0xfffULL) + (value << 12);
	}
	if ((w & 0xff800000) == 0x91000000) { /* add, 64 bits, immediate */
		value = constant(a, by, (w >> 5) & 31, depth + 1);
		return value ? value + (((w >> 10) & 0xfff) << (w & 1U << 22 ? 12 : 0)) : 0;
	}
	if ((w & 0xffe0ffe0) == 0xaa0003e0) /* mov, 64 bits */
		return constant(a, by, (w >> 16) & 31, depth + 1);
	return 0;
}

uint64_t machine_data(const struct analysis *a, uint32_t i)
{
	const struct insn *insn = &a->code->insn[i];
	uint32_t w;
	uint64_t base;

	if (a->code->arch != CODE_ARM64)
		return insn->data;
	w = word_at(a->code, i);
	/* Loads and stores of general registers with a scaled offset. */
	if (insn->kind != INSN_PLAIN || (w & 0x3f000000) != 0x39000000)
		return 0;
	base = constant(a, i, (w >> 5) & 31, 0);
	return base ? base + ((uint64_t)((w >> 10) & 0xfff) << (w >> 30)) : 0;
}
