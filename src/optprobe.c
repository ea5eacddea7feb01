// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the kernel can make a kprobe a jump; the conditions are those of can_optimize() and
 * copy_optimized_instructions() in arch/x86/kernel/kprobes/opt.c. See machine_code.h.
 */
#include <string.h>

#include "machine_code.h"

#define JUMP_SIZE 5

/* Bytes that a jump label or a static call may own: a no-op of the size of a jump. */
static bool may_be_patched(const struct code *code, uint32_t i)
{
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 }, nop2[] = { 0x66, 0x90 };
	const struct insn *insn = &code->insn[i];

	return insn->patched ||
	       (insn->size == 5 && !memcmp(code_bytes(code, i), nop5, sizeof(nop5))) ||
	       (insn->size == 2 && !memcmp(code_bytes(code, i), nop2, sizeof(nop2)));
}

static bool jumped_into(const struct code *code, uint64_t address)
{
	uint32_t i;

	for (i = 0; i < code->insns; i++)
		if ((code->insn[i].kind == INSN_JUMP || code->insn[i].kind == INSN_BRANCH) &&
		    code->insn[i].target > address && code->insn[i].target <= address + JUMP_SIZE)
			return true;
	return false;
}

static bool can_be_jump(const struct code *code, uint32_t i)
{
	uint64_t address = code->insn[i].address;
	const struct chunk *chunk = code_chunk(code, address);
	unsigned int length;

	if (chunk->start + chunk->size - address < JUMP_SIZE)
		return false;
	for (length = 0; length < JUMP_SIZE; i++) {
		if (i >= chunk->first + chunk->count || !code->insn[i].boostable ||
		    may_be_patched(code, i))
			return false;
		length += code->insn[i].size;
	}
	return !jumped_into(code, address);
}

bool machine_code_optimizable(const struct code *code, const struct site *entry, struct site *moved)
{
	int64_t at = code_find(code, code_address(code, entry));
	uint32_t i, first;

	if (at < 0 || code->arch != CODE_X86_64)
		return false;
	/* The kernel gives up on a function with a jump it cannot follow. */
	for (i = 0; i < code->insns; i++)
		if (code->insn[i].kind == INSN_INDIRECT)
			return false;
	first = code->block[code->block_of[at]].first;
	for (i = (uint32_t)at;; i--) {
		if (can_be_jump(code, i))
			return !code_site(code, code->insn[i].address, moved);
		if (i == first || code->insn[i - 1].kind != INSN_PLAIN || code->insn[i - 1].barrier)
			return false;
	}
}
