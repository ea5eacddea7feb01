// SPDX-License-Identifier: GPL-2.0-only
/* The iterative algorithm of Cooper, Harvey and Kennedy, forwards and backwards. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dominators.h"

/* One direction of the graph. Backwards, node code->blocks is the one end of all returns. */
struct walk {
	const struct code *code;
	bool backward;
	uint32_t root, nodes;
	uint32_t *order;  /* post order */
	uint32_t *number; /* of each node in it; FLOW_NONE: not visited */
	uint32_t count;
};

static bool is_live(const struct walk *w, uint32_t node)
{
	return node == w->code->blocks || w->code->block[node].live;
}

/* The i-th node that control goes on to from node (in the walk's direction): FLOW_NONE when
 * that slot is empty; false behind the last. */
static bool next_node(const struct walk *w, uint32_t node, uint32_t i, uint32_t *next)
{
	const struct code *code = w->code;

	*next = FLOW_NONE;
	if (!w->backward) {
		if (i >= 2)
			return false;
		if (code->block[node].next[i] >= 0)
			*next = (uint32_t)code->block[node].next[i];
	} else if (node == code->blocks) {
		if (i >= code->blocks)
			return false;
		if (code->block[i].live && code_leaves(code, i))
			*next = i;
	} else {
		if (i >= code->block[node].from_count)
			return false;
		*next = code->block[node].from[i];
	}
	if (*next != FLOW_NONE && !is_live(w, *next))
		*next = FLOW_NONE;
	return true;
}

/* The same against the walk's direction. */
static bool previous_node(const struct walk *w, uint32_t node, uint32_t i, uint32_t *previous)
{
	struct walk other = *w;

	if (w->backward && i == 2) {
		*previous = code_leaves(w->code, node) ? w->code->blocks : FLOW_NONE;
		return true;
	}
	other.backward = !w->backward;
	return next_node(&other, node, i, previous);
}

static int number_nodes(struct walk *w)
{
	uint32_t *stack = malloc(w->nodes * sizeof(*stack));
	uint32_t *at = calloc(w->nodes, sizeof(*at));
	uint32_t depth = 0, next;

	if (!stack || !at) {
		free(stack);
		free(at);
		return -ENOMEM;
	}
	memset(w->number, 0xff, w->nodes * sizeof(*w->number));
	stack[depth++] = w->root;
	w->number[w->root] = 0; /* visited; the real number comes later */
	while (depth) {
		uint32_t node = stack[depth - 1];

		if (!next_node(w, node, at[node]++, &next)) {
			w->number[node] = w->count;
			w->order[w->count++] = node;
			depth--;
		} else if (next != FLOW_NONE && w->number[next] == FLOW_NONE) {
			w->number[next] = 0;
			stack[depth++] = next;
		}
	}
	free(stack);
	free(at);
	return 0;
}

static uint32_t common(const struct walk *w, const uint32_t *parent, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (w->number[a] < w->number[b])
			a = parent[a];
		while (w->number[b] < w->number[a])
			b = parent[b];
	}
	return a;
}

static int build_tree(const struct code *code, bool backward, uint32_t *parent)
{
	struct walk w = { .code = code, .backward = backward, .nodes = code->blocks + 1 };
	bool changed = true;
	uint32_t n, i, previous;
	int err = -ENOMEM;

	w.root = backward ? code->blocks : 0;
	w.order = malloc(w.nodes * sizeof(*w.order));
	w.number = malloc(w.nodes * sizeof(*w.number));
	memset(parent, 0xff, w.nodes * sizeof(*parent));
	if (!w.order || !w.number)
		goto out;
	err = 0;
	if (!backward && !code->block[0].live)
		goto out;
	err = number_nodes(&w);
	if (err)
		goto out;
	parent[w.root] = w.root;
	while (changed) {
		changed = false;
		for (n = w.count - 1; n-- > 0;) {
			uint32_t node = w.order[n], best = FLOW_NONE;

			for (i = 0; previous_node(&w, node, i, &previous); i++) {
				if (previous == FLOW_NONE || parent[previous] == FLOW_NONE)
					continue;
				best = best == FLOW_NONE ? previous
							 : common(&w, parent, best, previous);
			}
			if (parent[node] != best) {
				parent[node] = best;
				changed = true;
			}
		}
	}
	parent[w.root] = FLOW_NONE;
out:
	free(w.order);
	free(w.number);
	return err;
}

int flow_init(struct flow *flow, const struct code *code)
{
	size_t nodes = (size_t)code->blocks + 1;
	int err;

	flow->code = code;
	flow->idom = malloc(nodes * sizeof(*flow->idom));
	flow->ipdom = malloc(nodes * sizeof(*flow->ipdom));
	if (!flow->idom || !flow->ipdom) {
		flow_free(flow);
		return -ENOMEM;
	}
	err = build_tree(code, false, flow->idom);
	if (!err)
		err = build_tree(code, true, flow->ipdom);
	if (err)
		flow_free(flow);
	return err;
}

void flow_free(struct flow *flow)
{
	free(flow->idom);
	free(flow->ipdom);
	flow->idom = flow->ipdom = NULL;
}

static bool is_ancestor(const uint32_t *parent, uint32_t a, uint32_t b)
{
	while (b != a && b != FLOW_NONE)
		b = parent[b];
	return b == a;
}

bool flow_dominates(const struct flow *flow, uint32_t a, uint32_t b)
{
	return is_ancestor(flow->idom, a, b);
}

bool flow_post_dominates(const struct flow *flow, uint32_t a, uint32_t b)
{
	return is_ancestor(flow->ipdom, a, b);
}

uint32_t flow_loop(const struct flow *flow, uint32_t header, uint8_t *member)
{
	const struct code *code = flow->code;
	uint32_t *stack = malloc(((size_t)code->blocks + 1) * sizeof(*stack));
	uint32_t depth = 0, count = 0, i;

	if (!stack)
		return 0;
	for (i = 0; i < code->block[header].from_count; i++) {
		uint32_t latch = code->block[header].from[i];

		if (!code->block[latch].live || !flow_dominates(flow, header, latch))
			continue;
		if (!member[header]) {
			member[header] = 1;
			count++;
		}
		if (!member[latch]) {
			member[latch] = 1;
			count++;
			stack[depth++] = latch;
		}
	}
	while (depth) {
		const struct block *block = &code->block[stack[--depth]];

		for (i = 0; i < block->from_count; i++) {
			uint32_t from = block->from[i];

			if (member[from] || !code->block[from].live)
				continue;
			member[from] = 1;
			count++;
			stack[depth++] = from;
		}
	}
	free(stack);
	return count;
}

uint32_t flow_region(const struct flow *flow, uint32_t block, uint32_t stop, uint8_t *member)
{
	const struct code *code = flow->code;
	uint32_t *stack = malloc(((size_t)code->blocks + 1) * sizeof(*stack));
	uint32_t depth = 0, count = 0;
	unsigned int k;

	if (!stack)
		return 0;
	if (code->block[block].live && block != stop) {
		member[block] = 1;
		stack[depth++] = block;
		count++;
	}
	while (depth) {
		const struct block *b = &code->block[stack[--depth]];

		for (k = 0; k < 2; k++) {
			uint32_t to = b->next[k] < 0 ? FLOW_NONE : (uint32_t)b->next[k];

			if (to == FLOW_NONE || to == stop || member[to] || !code->block[to].live)
				continue;
			member[to] = 1;
			stack[depth++] = to;
			count++;
		}
	}
	free(stack);
	return count;
}
