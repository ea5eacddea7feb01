// SPDX-License-Identifier: GPL-2.0-only
/* cmp_and_merge_page, inlined into ksm_scan_thread: from the end of the page walk to where all
 * its pages meet again; see machine_code.h and docs/inlining.md. */
#include <string.h>

#include "machine.h"

#define STEPS_MAX 4 /* blocks between the end of the page walk and the function's start */

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
	return false;
}

/* Calls that can only be cmp_and_merge_page's, among those of ksm_scan_thread. */
static bool merge_call(const char *callee)
{
	static const char *const names[] = {
		"memcmp_pages",	      "stable_tree_append",    "try_to_merge_with_ksm_page",
		"stable_tree_search", "try_to_merge_one_page", "break_cow"};
	size_t i;

	for (i = 0; callee && i < sizeof(names) / sizeof(names[0]); i++)
		if (machine_is_function(callee, names[i]))
			return true;
	return false;
}

/* The release of the mm's lock that the page walk ends with: of all that every way to the
 * hash leads through, the last. */
static int find_walk_end(const struct analysis *a, uint32_t hash, uint32_t *unlock)
{
	const struct code *code = a->code;
	uint32_t b = code->block_of[hash], i = hash;

	for (;;) {
		for (; i > code->block[b].first; i--) {
			const char *callee = code->insn[i - 1].callee;

			if (code->insn[i - 1].kind == INSN_CALL && callee &&
			    (!strcmp(callee, "up_read") || !strcmp(callee, "mmap_read_unlock"))) {
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

int machine_cmp_and_merge_page(const struct analysis *a, struct fn_sites *sites)
{
	const struct code *code = a->code;
	uint32_t hash, unlock = 0, start, end, b;
	int err;

	err = machine_find_hash(a, &hash);
	if (!err)
		err = find_walk_end(a, hash, &unlock);
	if (err)
		return err;
	/* Pages that need no hash join the others where the function ends. */
	b = code->block_of[hash];
	for (end = a->flow.ipdom[b]; end < code->blocks; end = a->flow.ipdom[end])
		if (!flow_dominates(&a->flow, b, end))
			break;
	if (end >= code->blocks)
		return machine_refuse(a, "no common end behind the hash");
	err = find_start(a, unlock, hash, end, &start);
	if (err)
		return err;
	memset(a->inside, 0, code->blocks);
	flow_region(&a->flow, code->block_of[start], end, a->inside);
	if (!a->inside[b])
		return machine_refuse(a, "the start does not lead to the hash");
	err = check_merge_region(a, start, end);
	if (!err)
		err = check_tail(a, start, end);
	return err ? err : machine_set_sites(a, start, code->block[end].first, sites);
}
