// SPDX-License-Identifier: GPL-2.0-only
/* A function's instructions: finding them, and the control-flow graph; see code.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"

void code_free(struct code *code)
{
	unsigned int i;

	if (!code)
		return;
	for (i = 0; i < code->chunks; i++)
		free(code->chunk[i].bytes);
	free(code->insn);
	free(code->block);
	free(code->block_of);
	free(code->names);
	free(code->edges);
	free(code);
}

/* --- looking things up -------------------------------------------------------------------------
 */

const struct chunk *code_chunk(const struct code *code, uint64_t address)
{
	unsigned int i;

	for (i = 0; i < code->chunks; i++)
		if (address - code->chunk[i].start < code->chunk[i].size)
			return &code->chunk[i];
	return NULL;
}

int64_t code_find(const struct code *code, uint64_t address)
{
	const struct chunk *chunk = code_chunk(code, address);
	uint32_t low, high;

	if (!chunk)
		return -1;
	low = chunk->first;
	high = chunk->first + chunk->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (code->insn[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < chunk->first + chunk->count && code->insn[low].address == address
		       ? (int64_t)low
		       : -1;
}

const uint8_t *code_bytes(const struct code *code, uint32_t i)
{
	const struct chunk *chunk = code_chunk(code, code->insn[i].address);

	return chunk->bytes + (code->insn[i].address - chunk->start);
}

int code_site(const struct code *code, uint64_t address, struct site *site)
{
	const struct chunk *chunk = code_chunk(code, address);

	if (!chunk)
		return -ERANGE;
	memcpy(site->symbol, chunk->symbol, sizeof(site->symbol));
	site->offset = (uint32_t)(address - chunk->start);
	return 0;
}

uint64_t code_address(const struct code *code, const struct site *site)
{
	unsigned int i;

	for (i = 0; i < code->chunks; i++)
		if (!strcmp(code->chunk[i].symbol, site->symbol) &&
		    site->offset < code->chunk[i].size)
			return code->chunk[i].start + site->offset;
	return 0;
}

unsigned int code_calls(const struct code *code, const char *callee, uint32_t *call)
{
	unsigned int count = 0;
	uint32_t i;

	for (i = 0; i < code->insns; i++) {
		const struct insn *insn = &code->insn[i];

		if (insn->kind != INSN_CALL || !insn->callee || strcmp(insn->callee, callee) ||
		    !code->block[code->block_of[i]].reached)
			continue;
		*call = i;
		count++;
	}
	return count;
}

bool insn_falls_through(const struct insn *insn)
{
	return insn->kind == INSN_PLAIN || insn->kind == INSN_CALL || insn->kind == INSN_BRANCH;
}

unsigned int code_next(const struct code *code, uint32_t i, uint32_t next[2])
{
	const struct insn *insn = &code->insn[i];
	unsigned int n = 0;
	int64_t to;

	if (insn_falls_through(insn) || (insn->kind == INSN_TRAP && code->traps_go_on)) {
		to = code_find(code, insn->address + insn->size);
		if (to >= 0)
			next[n++] = (uint32_t)to;
	}
	if (insn->kind == INSN_JUMP || insn->kind == INSN_BRANCH) {
		to = code_find(code, insn->target);
		if (to >= 0)
			next[n++] = (uint32_t)to;
	}
	return n;
}

unsigned int code_probe(const struct code *code, uint32_t i, uint32_t at[2])
{
	unsigned int n, k;

	at[0] = i;
	if (!code->insn[i].patched)
		return 1;
	n = code_next(code, i, at);
	for (k = 0; k < n; k++)
		if (code->insn[at[k]].patched || code->block[code->block_of[at[k]]].from_count != 1)
			return 0;
	return n;
}

/* --- blocks ------------------------------------------------------------------------------------
 */

static int make_blocks(struct code *code)
{
	uint8_t *leader = calloc(code->insns + 1, 1);
	uint32_t i, blocks = 0;

	code->block_of = malloc(code->insns * sizeof(*code->block_of));
	if (!leader || !code->block_of) {
		free(leader);
		return -ENOMEM;
	}
	for (i = 0; i < code->insns; i++) {
		const struct insn *insn = &code->insn[i];
		int64_t to = -1;

		if (insn->kind == INSN_JUMP || insn->kind == INSN_BRANCH)
			to = code_find(code, insn->target);
		if (to >= 0)
			leader[to] = 1;
		if (insn->kind != INSN_PLAIN && insn->kind != INSN_CALL)
			leader[i + 1] = 1;
	}
	for (i = 0; i < code->chunks; i++)
		leader[code->chunk[i].first] = 1;
	for (i = 0; i < code->insns; i++) {
		blocks += leader[i];
		code->block_of[i] = blocks - 1;
	}
	free(leader);
	code->block = calloc(blocks, sizeof(*code->block));
	if (!code->block)
		return -ENOMEM;
	code->blocks = blocks;
	for (i = code->insns; i-- > 0;) {
		code->block[code->block_of[i]].first = i;
		code->block[code->block_of[i]].count++;
	}
	return 0;
}

static int connect_blocks(struct code *code)
{
	uint32_t b, i, used = 0, next[2], *stack, depth = 0;
	unsigned int n, k;

	for (b = 0; b < code->blocks; b++) {
		struct block *block = &code->block[b];

		n = code_next(code, block->first + block->count - 1, next);
		block->next[0] = n > 0 ? (int32_t)code->block_of[next[0]] : -1;
		block->next[1] = n > 1 ? (int32_t)code->block_of[next[1]] : -1;
		if (block->next[1] == block->next[0])
			block->next[1] = -1;
	}
	code->edges = malloc(2 * code->blocks * sizeof(*code->edges));
	stack = malloc(code->blocks * sizeof(*stack));
	if (!code->edges || !stack) {
		free(stack);
		return -ENOMEM;
	}
	/* Forward from the start; edges out of code that is never reached do not count. */
	code->block[0].reached = true;
	stack[depth++] = 0;
	while (depth) {
		b = stack[--depth];
		for (k = 0; k < 2; k++) {
			int32_t to = code->block[b].next[k];

			if (to < 0)
				continue;
			code->block[to].from_count++;
			if (!code->block[to].reached) {
				code->block[to].reached = true;
				stack[depth++] = (uint32_t)to;
			}
		}
	}
	for (b = 0; b < code->blocks; b++) {
		code->block[b].from = code->edges + used;
		used += code->block[b].from_count;
		code->block[b].from_count = 0;
	}
	for (b = 0; b < code->blocks; b++)
		for (k = 0; k < 2 && code->block[b].reached; k++)
			if (code->block[b].next[k] >= 0) {
				struct block *to = &code->block[code->block[b].next[k]];

				to->from[to->from_count++] = b;
			}
	/* Backward from where the function returns. */
	for (b = 0; b < code->blocks; b++) {
		struct block *block = &code->block[b];

		if (!block->reached || !code_leaves(code, b))
			continue;
		block->live = true;
		stack[depth++] = b;
	}
	while (depth) {
		b = stack[--depth];
		for (i = 0; i < code->block[b].from_count; i++) {
			struct block *from = &code->block[code->block[b].from[i]];

			if (!from->live) {
				from->live = true;
				stack[depth++] = code->block[b].from[i];
			}
		}
	}
	free(stack);
	return 0;
}

bool code_leaves(const struct code *code, uint32_t block)
{
	const struct block *b = &code->block[block];
	const struct insn *last = &code->insn[b->first + b->count - 1];

	return last->kind == INSN_RETURN ||
	       (last->kind == INSN_BRANCH && code_find(code, last->target) < 0);
}

int code_build_graph(struct code *code)
{
	int err = make_blocks(code);

	return err ? err : connect_blocks(code);
}

bool code_has_traps(const struct code *code)
{
	uint32_t i;

	for (i = 0; i < code->insns; i++)
		if (code->insn[i].kind == INSN_TRAP && code->block[code->block_of[i]].reached)
			return true;
	return false;
}

static void *copy_of(const void *data, size_t size)
{
	void *copy = malloc(size + 1);

	return copy ? memcpy(copy, data, size) : NULL;
}

int code_with_traps(const struct code *code, struct code **result)
{
	struct code *other = copy_of(code, sizeof(*code));
	bool complete;
	unsigned int i;
	int err;

	if (!other)
		return -ENOMEM;
	other->traps_go_on = true;
	other->block = NULL;
	other->block_of = NULL;
	other->edges = NULL;
	/* insn[].callee goes on pointing into the original's names. */
	other->names = NULL;
	other->insn = copy_of(code->insn, code->insns * sizeof(*code->insn));
	complete = other->insn != NULL;
	for (i = 0; i < code->chunks; i++) {
		other->chunk[i].bytes = copy_of(code->chunk[i].bytes, code->chunk[i].size);
		complete = complete && other->chunk[i].bytes;
	}
	err = complete ? code_build_graph(other) : -ENOMEM;
	if (err)
		code_free(other);
	else
		*result = other;
	return err;
}
