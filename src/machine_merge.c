// SPDX-License-Identifier: GPL-2.0-only
/* cmp_and_merge_page, inlined into ksm_scan_thread: from the end of the page walk to where all
 * its pages meet again; see machine_code.h and docs/inlining.md. */
#include <string.h>

#include "machine.h"

#define WALK	      "scan_get_next_rmap_item"
#define ENDS_MAX      8	 /* places where ways join behind the hash */
#define STEPS_MAX     4	 /* blocks between the end of the page walk and the function's start */
#define DUPLICATE_MAX 24 /* instructions from a duplicated beginning to where all ways meet */

static bool block_calls(const struct code *code, uint32_t block)
{
	return machine_has_calls(code, code->block[block].first, machine_block_end(code, block));
}

static bool walk_call(const char *callee)
{
	static const char *const names[] = {
		"lru_add_drain_all", "walk_page_range", "walk_page_range_vma",
		"mas_find",	     "mmdrop",		"__mmdrop",
		"mutex_lock",	     "mutex_unlock",	"wait_while_offlining",
	};
	size_t i;

	for (i = 0; callee && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(callee, names[i]))
			return true;
	return machine_is_function(callee, WALK);
}

/* Calls that can only be cmp_and_merge_page's, among those of ksm_scan_thread. */
static bool merge_call(const char *callee)
{
	static const char *const names[] = {
		"memcmp_pages",	      "stable_tree_append",    "try_to_merge_with_ksm_page",
		"stable_tree_search", "try_to_merge_one_page", "break_cow"
	};
	size_t i;

	for (i = 0; callee && i < sizeof(names) / sizeof(names[0]); i++)
		if (machine_is_function(callee, names[i]))
			return true;
	return false;
}

/* The release of the mm's lock that the page walk ends with, or all of the walk when that is a
 * function of its own: of the calls that every way to the hash leads through, the last. */
static int find_walk_end(const struct analysis *a, uint32_t hash, uint32_t *unlock)
{
	const struct code *code = a->code;
	uint32_t b = code->block_of[hash], i = hash;

	for (;;) {
		for (; i > code->block[b].first; i--) {
			const char *callee = code->insn[i - 1].callee;

			if (code->insn[i - 1].kind == INSN_CALL && callee &&
			    (!strcmp(callee, "up_read") || !strcmp(callee, "mmap_read_unlock") ||
			     machine_is_function(callee, WALK))) {
				*unlock = i - 1;
				return 0;
			}
		}
		b = a->flow.idom[b];
		if (b == FLOW_NONE)
			return machine_refuse(a,
					      "no release of the mmap lock on the way to the hash");
		i = machine_block_end(code, b);
	}
}

/*
 * From behind the page walk to the first place from which all ways lead to end: the start.
 * In between there may only be the test whether there is a page at all.
 */
static int find_start(const struct analysis *a, uint32_t unlock, uint32_t hash, uint32_t end,
		      uint32_t *start)
{
	const struct code *code = a->code;
	uint32_t b = code->block_of[unlock], target = code->block_of[hash], next, steps;
	int err;

	err = machine_after_call(a, unlock, start);
	if (err)
		return err;
	if (machine_has_calls(code, *start, machine_block_end(code, b)) && b != target)
		return machine_refuse(a, "calls follow the page walk where the start is expected");
	for (steps = 0; !flow_post_dominates(&a->flow, end, b); steps++) {
		if (b == target || steps == STEPS_MAX)
			return machine_refuse(a, "no start from which all ways lead to the end");
		/* The next block towards the hash. */
		for (next = target; a->flow.idom[next] != b; next = a->flow.idom[next])
			;
		if (code->block[next].from_count != 1 || code->block[next].from[0] != b)
			return machine_refuse(
				a, "other code joins between the page walk and the hash");
		if (steps && block_calls(code, b))
			return machine_refuse(
				a, "calls follow the page walk where the start is expected");
		b = next;
		*start = code->block[b].first;
	}
	return 0;
}

/* What must hold of the blocks from the start to the end, marked in a->inside. */
static int check_merge_region(const struct analysis *a, uint32_t start, uint32_t end)
{
	const struct code *code = a->code;
	uint32_t first = code->block_of[start], i;

	if (!flow_dominates(&a->flow, first, end))
		return machine_refuse(a, "the end is also reached without passing the start");
	for (i = 0; i < code->insns; i++) {
		uint32_t b = code->block_of[i];
		bool in = a->inside[b] && (b != first || i >= start);
		const char *callee = code->insn[i].kind == INSN_CALL ? code->insn[i].callee : NULL;

		if (!code->block[b].live)
			continue;
		if (in && !flow_dominates(&a->flow, first, b))
			return machine_refuse(a, "there is a second way in");
		if (in && walk_call(callee))
			return machine_refuse(a, "a call to %s lies between start and end", callee);
		if (!in && merge_call(callee))
			return machine_refuse(a, "a call to %s lies outside start and end", callee);
	}
	return 0;
}

/* Behind the end nothing happens but the page's release; and there the loop goes on. */
static int check_tail(const struct analysis *a, uint32_t start, uint32_t end)
{
	const struct code *code = a->code;
	uint32_t i, unlock, stop = FLOW_NONE;
	unsigned int puts = 0;

	for (i = 0; i < code->insns; i++) {
		const char *callee = code->insn[i].callee;

		if (code->insn[i].kind != INSN_CALL ||
		    !flow_dominates(&a->flow, end, code->block_of[i]))
			continue;
		if (callee && (strstr(callee, "put_page") || strstr(callee, "folio_put")))
			puts++;
		else if (callee && !strstr(callee, "put_") && !strstr(callee, "resched"))
			return machine_refuse(a, "a call to %s follows the end", callee);
	}
	if (!puts)
		return machine_refuse(a, "the page is not released behind the end");
	/* Not the long way round: over the end of the scan and into the next one. */
	if (machine_count_calls(code, "mutex_unlock", &unlock))
		stop = code->block_of[unlock];
	memset(a->other, 0, code->blocks);
	flow_region(&a->flow, end, stop, a->other);
	if (!a->other[code->block_of[start]])
		return machine_refuse(a, "the end is not in the loop over pages");
	return 0;
}

/* --- a duplicated end
 * ----------------------------------------------------------------------------- */

/* The condition of a conditional jump, as the low four bits of its opcode; -1 for others. */
static int x86_condition(const struct code *code, uint32_t i)
{
	const uint8_t *bytes = code_bytes(code, i);

	if (code->insn[i].kind != INSN_BRANCH || code->insn[i].patched)
		return -1;
	if (code->insn[i].size == 2 && (bytes[0] & 0xf0) == 0x70)
		return bytes[0] & 15;
	if (code->insn[i].size == 6 && bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80)
		return bytes[1] & 15;
	return -1;
}

/* The two places that a branch goes to, jumps to jumps followed. */
static bool branch_targets(const struct code *code, uint32_t i, uint32_t to[2])
{
	uint32_t next[2];
	unsigned int k, n;

	if (code_next(code, i, to) != 2)
		return false;
	for (k = 0; k < 2; k++)
		for (n = 0; n < 4 && code->insn[to[k]].kind == INSN_JUMP; n++)
			if (code_next(code, to[k], next) == 1)
				to[k] = next[0];
	return true;
}

/* Whether both branches go to the same places for the same reasons. */
static bool same_branch(const struct code *code, uint32_t i, uint32_t j)
{
	int a = x86_condition(code, i), b = x86_condition(code, j);
	uint32_t to_a[2], to_b[2];

	if (code->arch != CODE_X86_64 || a < 0 || b < 0 || !branch_targets(code, i, to_a) ||
	    !branch_targets(code, j, to_b))
		return false;
	if (to_a[0] == to_b[0] && to_a[1] == to_b[1])
		return a == b;
	return to_a[0] == to_b[1] && to_a[1] == to_b[0] && a == (b ^ 1);
}

static bool same_insn(const struct code *code, uint32_t i, uint32_t j)
{
	const struct insn *a = &code->insn[i], *b = &code->insn[j];

	return a->kind == INSN_PLAIN && b->kind == INSN_PLAIN && a->size == b->size && !a->stores &&
	       !a->barrier && !a->patched && !b->patched && a->data == b->data &&
	       (a->data || !memcmp(code_bytes(code, i), code_bytes(code, j), a->size));
}

/* Whether block k ends in a copy of all of block j; *copy is where that starts. */
static bool ends_in_copy(const struct code *code, uint32_t j, uint32_t k, uint32_t *copy)
{
	const struct block *a = &code->block[j], *b = &code->block[k];
	uint32_t last_a = a->first + a->count - 1, last_b = b->first + b->count - 1, n;

	if (j == k || b->count < a->count || !same_branch(code, last_a, last_b))
		return false;
	for (n = 1; n < a->count; n++)
		if (!same_insn(code, last_a - n, last_b - n))
			return false;
	*copy = last_b - (a->count - 1);
	return true;
}

/* Whether nothing but a few instructions lies between block j and the end. */
static bool next_to_end(const struct analysis *a, uint32_t j, uint32_t end)
{
	uint32_t b, insns = 0;

	memset(a->other, 0, a->code->blocks);
	flow_region(&a->flow, j, end, a->other);
	for (b = 0; b < a->code->blocks; b++) {
		if (!a->other[b])
			continue;
		insns += a->code->block[b].count;
		if (block_calls(a->code, b) || insns > DUPLICATE_MAX)
			return false;
	}
	return true;
}

/*
 * Compilers copy the beginning of what follows the function, up to its first branch, into some
 * of the ways that lead there, so that all ways meet only behind that. A block where several
 * ways meet, and copies of it at the end of others: when nothing gets past them, they are where
 * the function ends. Adds them as exits. Returns 1 when there are such, 0 when not, or a
 * negative errno.
 */
static int add_duplicated_end(const struct analysis *a, uint32_t start, uint32_t end,
			      struct fn_sites *sites)
{
	const struct code *code = a->code;
	uint32_t j, k, copy, copies;
	int err = 0;

	for (j = 0; j < code->blocks; j++) {
		if (!a->inside[j] || code->block[j].from_count < 2 || code->block[j].count < 2 ||
		    !next_to_end(a, j, end))
			continue;
		memset(a->other, 0, code->blocks);
		a->other[j] = 1;
		for (k = 0, copies = 0; k < code->blocks; k++)
			if (a->inside[k] && ends_in_copy(code, j, k, &copy)) {
				a->other[k] = 1;
				copies++;
			}
		/* What is marked already is not passed. */
		if (copies)
			flow_region(&a->flow, code->block_of[start], FLOW_NONE, a->other);
		if (!copies || a->other[end])
			continue;
		for (k = 0; k < code->blocks && !err; k++)
			if (k == j)
				err = machine_add_exit(a, code->block[j].first, sites);
			else if (a->inside[k] && ends_in_copy(code, j, k, &copy))
				err = machine_add_exit(a, copy, sites);
		return err ? err : 1;
	}
	return 0;
}

/* --- all ----------------------------------------------------------------------------------------
 */

/* Tries one block behind the hash as the end. */
static int try_end(const struct analysis *a, uint32_t unlock, uint32_t hash, uint32_t end,
		   uint32_t *start)
{
	const struct code *code = a->code;
	int err = find_start(a, unlock, hash, end, start);

	if (err)
		return err;
	memset(a->inside, 0, code->blocks);
	flow_region(&a->flow, code->block_of[*start], end, a->inside);
	if (!a->inside[code->block_of[hash]])
		return machine_refuse(a, "the start does not lead to the hash");
	err = check_merge_region(a, *start, end);
	return err ? err : check_tail(a, *start, end);
}

int machine_cmp_and_merge_page(const struct analysis *a, struct fn_sites *sites)
{
	const struct code *code = a->code;
	uint32_t hash, unlock = 0, start, end, b, tries = 0;
	struct analysis again = *a;
	char ignored[8];
	int err;

	err = machine_find_hash(a, &hash);
	if (!err)
		err = find_walk_end(a, hash, &unlock);
	if (err)
		return err;
	/* Pages that need no hash join the others where the function ends, the last of them at
	 * the end itself: of several places where ways join, only that one meets all conditions. */
	b = code->block_of[hash];
	err = machine_refuse(a, "no common end behind the hash");
	for (end = a->flow.ipdom[b]; err && end < code->blocks && tries < ENDS_MAX;
	     end = a->flow.ipdom[end]) {
		if (flow_dominates(&a->flow, b, end))
			continue;
		/* The reason why the first one is none tells most. */
		if (tries++) {
			again.why = ignored;
			again.why_size = sizeof(ignored);
		}
		err = try_end(&again, unlock, hash, end, &start);
		if (err)
			continue;
		err = machine_add_entry(a, start, sites);
		if (!err)
			err = add_duplicated_end(a, start, end, sites);
		if (!err)
			err = machine_add_exit(a, code->block[end].first, sites);
		return err < 0 ? err : 0;
	}
	return err;
}
