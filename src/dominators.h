/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dominators, post-dominators and loops of a function's control-flow graph. Only live blocks
 * take part (see struct block): paths that never return, as into panic(), are as if they did
 * not exist.
 */
#ifndef KSMTRACE_DOMINATORS_H
#define KSMTRACE_DOMINATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "code.h"

/* FLOW_NONE: no such block. Blocks that are not live have none. */
#define FLOW_NONE UINT32_MAX

struct flow {
	const struct code *code; /* the caller's */
	uint32_t *idom;		 /* the nearest other block on every way from the start */
	uint32_t
		*ipdom; /* the nearest other block on every way to the end; code->blocks: the end */
};

/* Fills *flow, to be released with flow_free(). Returns 0 or -ENOMEM. */
int flow_init(struct flow *flow, const struct code *code);
void flow_free(struct flow *flow);

/* Whether every way from the start to b leads through a (true for a == b). */
bool flow_dominates(const struct flow *flow, uint32_t a, uint32_t b);

/* Whether every way from b to the end leads through a (true for a == b). */
bool flow_post_dominates(const struct flow *flow, uint32_t a, uint32_t b);

/* Marks in member[] (code->blocks of them, zeroed by the caller) the loop that header is the
 * only way into. Returns the number of blocks; 0 when header starts no loop. */
uint32_t flow_loop(const struct flow *flow, uint32_t header, uint8_t *member);

/* Marks in member[] all live blocks that can be reached from block without passing through
 * stop (not marked; FLOW_NONE: no such). block itself is marked. Returns how many. */
uint32_t flow_region(const struct flow *flow, uint32_t block, uint32_t stop, uint8_t *member);

#endif
