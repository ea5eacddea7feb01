// SPDX-License-Identifier: GPL-2.0-only
/* Which hash calc_checksum computes, by what the code calls or by jhash2's start value; see
 * machine_code.h. */
#include <stdio.h>
#include <string.h>

#include "machine_code.h"

/* The state that jhash2(page, 4096 / 4, 17) starts from: JHASH_INITVAL + (1024 << 2) + 17. */
#define JHASH_START 0xdeadcf00u
#define MOVK_REACH  8 /* instructions between the two halves of a constant (arm64) */

static const char *const names[] = {
	[KSM_HASH_UNKNOWN] = "unknown", [KSM_HASH_XXH64] = "xxh64",   [KSM_HASH_XXH32] = "xxh32",
	[KSM_HASH_CRC32C] = "crc32c",	[KSM_HASH_JHASH2] = "jhash2",
};

static const struct {
	const char *function;
	enum ksm_hash hash;
} functions[] = {
	{ "xxh64", KSM_HASH_XXH64 },	       { "xxh32", KSM_HASH_XXH32 },
	{ "crc32c", KSM_HASH_CRC32C },	       { "__crc32c_le", KSM_HASH_CRC32C },
	{ "crc32c_le", KSM_HASH_CRC32C },      { "crc32c_arch", KSM_HASH_CRC32C },
	{ "crc32c_base", KSM_HASH_CRC32C },    { "crc32c_le_arch", KSM_HASH_CRC32C },
	{ "crc32c_le_base", KSM_HASH_CRC32C }, { "jhash2", KSM_HASH_JHASH2 },
};

const char *ksm_hash_name(enum ksm_hash hash)
{
	return names[hash];
}

enum ksm_hash ksm_hash_of(const char *callee)
{
	size_t i, n;

	for (i = 0; callee && i < sizeof(functions) / sizeof(functions[0]); i++) {
		n = strlen(functions[i].function);
		if (!strncmp(callee, functions[i].function, n) &&
		    (!callee[n] || !strncmp(callee + n, ".isra.", 6) ||
		     !strncmp(callee + n, ".constprop.", 11)))
			return functions[i].hash;
	}
	return KSM_HASH_UNKNOWN;
}

static uint32_t word_at(const struct code *code, uint32_t i)
{
	uint32_t word = 0;

	if (code->insn[i].size == 4)
		memcpy(&word, code_bytes(code, i), 4);
	return word;
}

/* movk wN, #high, lsl #16 after movz wN, #low: the only way to such a constant. */
static bool arm64_loads(const struct code *code, uint32_t i, uint32_t value)
{
	uint32_t movk = 0x72a00000u | (value >> 16) << 5, movz = 0x52800000u | (value & 0xffff)
										       << 5;
	uint32_t word = word_at(code, i), back;

	/* Bit 31 is the register's width. */
	if ((word & 0x7fffffe0u) != movk)
		return false;
	for (back = 1; back <= MOVK_REACH && back <= i; back++) {
		uint32_t earlier = word_at(code, i - back);

		if ((earlier & 0x7fffffffu) == (movz | (word & 31)))
			return true;
	}
	return false;
}

bool machine_code_is_jhash(const struct code *code, uint32_t i)
{
	const struct insn *insn = &code->insn[i];
	const uint8_t *bytes = code_bytes(code, i);
	uint32_t value;
	unsigned int at;

	if (insn->kind != INSN_PLAIN)
		return false;
	if (code->arch == CODE_ARM64)
		return arm64_loads(code, i, JHASH_START);
	/* As an immediate, or as the displacement of a lea that adds it to the first word. */
	for (at = 1; at + 4 <= insn->size; at++) {
		memcpy(&value, bytes + at, 4);
		if (value == JHASH_START)
			return true;
	}
	return false;
}

enum ksm_hash machine_code_hash(const struct code *code, char *evidence, size_t size)
{
	const char *function = code->chunk[0].symbol;
	enum ksm_hash found = KSM_HASH_UNKNOWN;
	uint32_t i;

	for (i = 0; i < code->insns; i++) {
		const struct insn *insn = &code->insn[i];
		enum ksm_hash hash = KSM_HASH_UNKNOWN;

		if (!code->block[code->block_of[i]].reached)
			continue;
		if (insn->kind == INSN_CALL || insn->kind == INSN_RETURN)
			hash = ksm_hash_of(insn->callee);
		if (hash == KSM_HASH_UNKNOWN)
			continue;
		if (found != KSM_HASH_UNKNOWN && hash != found) {
			snprintf(evidence, size, "%s calls both %s and %s", function, names[found],
				 names[hash]);
			return KSM_HASH_UNKNOWN;
		}
		found = hash;
		snprintf(evidence, size, "%s calls %s", function, insn->callee);
	}
	for (i = 0; i < code->insns && found == KSM_HASH_UNKNOWN; i++)
		if (code->block[code->block_of[i]].reached && machine_code_is_jhash(code, i)) {
			found = KSM_HASH_JHASH2;
			snprintf(evidence, size, "%s has jhash2's start value for a page, 0x%x",
				 function, JHASH_START);
		}
	if (found == KSM_HASH_UNKNOWN)
		snprintf(evidence, size, "%s calls no hash function that is known", function);
	return found;
}
