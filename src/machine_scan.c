// SPDX-License-Identifier: GPL-2.0-only
/* ksm_do_scan, inlined into ksm_scan_thread: between the lock and its release, where the loop
 * over pages is; see machine_code.h and docs/inlining.md. */
#include <string.h>

#include "machine.h"

/* An instruction in the loop over pages: where a page is hashed or merged. */
static int find_page_work(const struct analysis *a, uint32_t *i)
{
	if (machine_count_calls(a->code, "cmp_and_merge_page", i) == 1)
		return 0;
	return machine_find_hash(a, i);
}

/* The loop over pages: the outermost one around its work that does not unlock the mutex. */
static int find_page_loop(const struct analysis *a, uint32_t work, uint32_t unlock,
			  uint32_t *header)
{
	const struct code *code = a->code;
	uint32_t h;

	*header = FLOW_NONE;
	for (h = code->block_of[work]; h != FLOW_NONE; h = a->flow.idom[h]) {
		memset(a->other, 0, code->blocks);
		if (flow_loop(&a->flow, h, a->other) && a->other[code->block_of[work]] &&
		    !a->other[code->block_of[unlock]])
			*header = h;
	}
	return *header == FLOW_NONE ? machine_refuse(a, "no loop over pages") : 0;
}

/* Whether i, which reads the argument of ksm_do_scan, is followed by nothing but the test for
 * 0 before the loop starts. */
static bool is_argument(const struct analysis *a, uint32_t i, uint32_t from, uint32_t header)
{
	const struct code *code = a->code;
	uint32_t b = code->block_of[i], h, k, branches = 0;

	if (code->insn[i].stores || b == header || !flow_dominates(&a->flow, from, b) ||
	    !flow_dominates(&a->flow, b, header) || flow_post_dominates(&a->flow, b, from) ||
	    i + 1 == machine_block_end(code, b))
		return false;
	for (h = header; h != b; h = a->flow.idom[h]) {
		uint32_t above = a->flow.idom[h],
			 first = above == b ? i + 1 : code->block[above].first;

		for (k = first; k < machine_block_end(code, above); k++) {
			if (machine_data(a, k))
				return false;
			branches += code->insn[k].kind == INSN_BRANCH && !code->insn[k].patched;
		}
	}
	return branches <= 1;
}

/*
 * The entry: ksmd_should_run() has said yes. Where its argument is known by the symbol
 * ksm_thread_pages_to_scan, right behind reading it; else the first place from which all ways
 * lead into the loop over pages.
 */
static int find_scan_start(const struct analysis *a, uint32_t from, uint32_t header,
			   uint32_t *start)
{
	const struct code *code = a->code;
	uint32_t i, b, found = 0;

	for (i = 0; i < code->insns && code->pages_to_scan; i++)
		if (machine_reached(code, i) && is_argument(a, i, from, header) &&
		    machine_data(a, i) == code->pages_to_scan) {
			*start = i + 1;
			found++;
		}
	if (found == 1)
		return 0;
	*start = UINT32_MAX;
	for (b = a->flow.idom[header]; b != FLOW_NONE && b != from; b = a->flow.idom[b])
		if (flow_post_dominates(&a->flow, header, b))
			*start = code->block[b].first;
	if (*start == UINT32_MAX)
		return machine_refuse(a,
				      "no place that is passed once a scan, before the first page");
	return 0;
}

/* Ways from the lock to the unlock that do not lead through a scan do nothing else either. */
static int check_scan(const struct analysis *a, uint32_t from, uint32_t start, uint32_t end,
		      uint32_t work)
{
	const struct code *code = a->code;
	uint32_t first = code->block_of[start], from_block = code->block_of[from], i;

	memset(a->inside, 0, code->blocks);
	memset(a->other, 0, code->blocks);
	flow_region(&a->flow, first, end, a->inside);
	flow_region(&a->flow, from_block, end, a->other);
	if (!a->inside[code->block_of[work]])
		return machine_refuse(a, "the start does not lead to the loop over pages");
	if (a->inside[from_block])
		return machine_refuse(a, "the start leads past the end");
	for (i = 0; i < code->insns; i++) {
		uint32_t b = code->block_of[i];
		const char *callee = code->insn[i].callee;
		bool call = code->insn[i].kind == INSN_CALL;

		if (!code->block[b].live)
			continue;
		if (a->inside[b] && !flow_dominates(&a->flow, first, b))
			return machine_refuse(a, "there is a second way into the scan");
		if (a->inside[b] && call && callee && !strncmp(callee, "mutex_", 6))
			return machine_refuse(a, "the scan takes or releases a mutex");
		if (call && a->other[b] && (b != from_block || i >= from) &&
		    (!a->inside[b] || (b == first && i < start)))
			return machine_refuse(a, "calls lie between the lock and the scan");
	}
	return 0;
}

int machine_ksm_do_scan(const struct analysis *a, struct fn_sites *sites)
{
	const struct code *code = a->code;
	uint32_t lock, wait, unlock, from, work, header, start, end;
	int err;

	err = machine_one_call(a, "mutex_lock", &lock);
	if (!err)
		err = machine_one_call(a, "mutex_unlock", &unlock);
	if (err)
		return err;
	/* Without memory hot-remove there is nothing to wait for. */
	wait = lock;
	if (machine_count_calls(code, "wait_while_offlining", &wait) > 1)
		return machine_refuse(a, "it waits for memory to go offline in several places");
	if (!flow_dominates(&a->flow, code->block_of[lock], code->block_of[wait]))
		return machine_refuse(a, "it waits for memory to go offline without the lock");
	end = code->block_of[unlock];
	err = machine_after_call(a, wait, &from);
	if (!err)
		err = find_page_work(a, &work);
	if (!err)
		err = find_page_loop(a, work, unlock, &header);
	if (err)
		return err;
	if (code->block_of[from] == end ||
	    !flow_post_dominates(&a->flow, end, code->block_of[from]))
		return machine_refuse(a, "the lock is not always released at the same place");
	if (machine_has_calls(code, code->block[end].first, unlock))
		return machine_refuse(a, "calls lie between the scan and the release of the lock");
	err = find_scan_start(a, code->block_of[from], header, &start);
	if (!err)
		err = check_scan(a, from, start, end, work);
	return err ? err : machine_set_sites(a, start, code->block[end].first, sites);
}
