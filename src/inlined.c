// SPDX-License-Identifier: GPL-2.0-only
/* Exits of an inlined copy by following its control flow; see inlined.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dominators.h"
#include "inlined.h"

#define HOLE_MAX 12 /* instructions; the longest seen in a kernel is 4 */

struct copy {
	const struct code *code;
	const struct range *ranges;
	size_t count;
	uint64_t entry;
	uint8_t *seen; /* instructions that belong to the copy */
	uint8_t *is_exit;
	char *why;
	size_t why_size;
};

static int __attribute__((format(printf, 3, 4)))
fail(const struct copy *c, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->why, c->why_size, format, args);
	va_end(args);
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void ranges_sort(struct range *ranges, size_t count)
{
	qsort(ranges, count, sizeof(*ranges), by_start);
}

static bool in_ranges(const struct copy *c, uint64_t address)
{
	size_t i;

	for (i = 0; i < c->count && c->ranges[i].start <= address; i++)
		if (address < c->ranges[i].end)
			return true;
	return false;
}

/*
 * Follows the one way that leads on from instruction i while nothing happens on it: no call, no
 * choice. Returns the first instruction on it that found() accepts, i itself excluded; -1 when
 * there is none.
 */
static int64_t follow(const struct copy *c, uint32_t i,
		      bool (*found)(const struct copy *c, uint32_t i))
{
	uint32_t next[2];
	int n;

	for (n = 0; n < HOLE_MAX; n++) {
		const struct insn *insn = &c->code->insn[i];

		if ((insn->kind != INSN_PLAIN && insn->kind != INSN_JUMP) ||
		    code_next(c->code, i, next) != 1)
			return -1;
		i = next[0];
		if (found(c, i))
			return i;
	}
	return -1;
}

static bool is_inside(const struct copy *c, uint32_t i)
{
	return in_ranges(c, c->code->insn[i].address) || c->code->insn[i].address == c->entry;
}

/* Whether i, outside the ranges, is in a hole: control comes straight back into the copy. To
 * its entry does not count, that is the next call. */
static bool is_hole(const struct copy *c, uint32_t i)
{
	int64_t to = c->code->insn[i].address == c->entry ? -1 : follow(c, i, is_inside);

	return to >= 0 && c->code->insn[to].address != c->entry;
}

static bool is_exit(const struct copy *c, uint32_t i)
{
	return c->is_exit[i];
}

static int walk(struct copy *c, uint32_t entry)
{
	const struct code *code = c->code;
	uint32_t *stack = malloc(((size_t)code->insns + 1) * sizeof(*stack));
	uint32_t depth = 0, next[2];
	int err = 0;

	if (!stack)
		return fail(c, -ENOMEM, "out of memory");
	c->seen[entry] = 1;
	stack[depth++] = entry;
	while (depth && !err) {
		uint32_t i = stack[--depth];
		const struct insn *insn = &code->insn[i];
		unsigned int n = code_next(code, i, next), k;

		switch (insn->kind) {
		case INSN_RETURN:
			c->is_exit[i] = 1;
			break;
		case INSN_INDIRECT:
		case INSN_UNKNOWN:
		case INSN_HIDDEN:
			err = fail(c, -ENOTSUP,
				   "%s+0x%llx: where control goes from there cannot be known",
				   code_chunk(code, insn->address)->symbol,
				   (unsigned long long)(insn->address -
							code_chunk(code, insn->address)->start));
			break;
		case INSN_BRANCH:
			if (n < 2)
				err = fail(c, -ENOTSUP,
					   "%s: a branch leaves it for another function",
					   code->chunk[0].symbol);
			break;
		default:
			break;
		}
		for (k = 0; k < n; k++) {
			if (!in_ranges(c, code->insn[next[k]].address) && !is_hole(c, next[k])) {
				c->is_exit[next[k]] = 1;
				continue;
			}
			if (!c->seen[next[k]]) {
				c->seen[next[k]] = 1;
				stack[depth++] = next[k];
			}
		}
	}
	free(stack);
	return err;
}

static int add_site(const struct copy *c, uint64_t address, struct site *sites, unsigned int *count)
{
	struct site site;
	unsigned int i;

	if (code_site(c->code, address, &site))
		return fail(c, -ENOTSUP, "%s: a site is outside it", c->code->chunk[0].symbol);
	for (i = 0; i < *count; i++)
		if (sites[i].offset == site.offset && !strcmp(sites[i].symbol, site.symbol))
			return 0;
	if (*count == SITES_MAX)
		return fail(c, -E2BIG, "%s: more than %d sites", c->code->chunk[0].symbol,
			    SITES_MAX);
	sites[(*count)++] = site;
	return 0;
}

static int add_exit(const struct copy *c, uint32_t i, struct fn_sites *sites)
{
	uint32_t at[2];
	unsigned int n = code_probe(c->code, i, at), k;
	int err = 0;

	if (!n)
		return fail(c, -ENOTSUP, "%s: an exit is where the kernel patches its code",
			    c->code->chunk[0].symbol);
	for (k = 0; k < n && !err; k++)
		err = add_site(c, c->code->insn[at[k]].address, sites->exit, &sites->exits);
	return err;
}

/* The first instruction of the copy in its ranges: the entry, or, as compilers put that a few
 * instructions before, what runs straight on from there. */
static int64_t first_inside(const struct copy *c)
{
	int64_t i = code_find(c->code, c->entry);

	return i < 0 || in_ranges(c, c->entry) ? i : follow(c, (uint32_t)i, is_inside);
}

/* Control comes in at the entry alone: from nowhere else outside does it get into the copy. */
static int check_one_way_in(const struct copy *c, uint32_t first)
{
	const struct code *code = c->code;
	uint32_t i, next[2];
	unsigned int n, k;

	for (i = 0; i < code->insns; i++) {
		if (c->seen[i] || !code->block[code->block_of[i]].reached)
			continue;
		n = code_next(code, i, next);
		for (k = 0; k < n; k++)
			if (c->seen[next[k]] && next[k] != first)
				return fail(c, -ENOTSUP,
					    "%s: control gets into the copy in "
					    "several places",
					    code->chunk[0].symbol);
	}
	return 0;
}

/* Whether control can come to instruction i from outside the ranges. */
static void mark_ways_in(const struct copy *c, uint8_t *way_in)
{
	const struct code *code = c->code;
	uint32_t i, next[2];
	unsigned int n, k;

	for (i = 0; i < code->insns; i++) {
		if (!code->block[code->block_of[i]].reached || in_ranges(c, code->insn[i].address))
			continue;
		n = code_next(code, i, next);
		for (k = 0; k < n; k++)
			way_in[next[k]] = in_ranges(c, code->insn[next[k]].address);
	}
}

int inlined_entry(const struct code *code, const struct range *ranges, size_t count,
		  uint64_t *entry)
{
	struct copy c = { .code = code, .ranges = ranges, .count = count };
	uint8_t *way_in = calloc(code->insns, 1);
	uint32_t i, best = UINT32_MAX;
	struct flow flow;
	int err = -ENOTSUP;

	if (!way_in || flow_init(&flow, code)) {
		free(way_in);
		return -ENOMEM;
	}
	way_in[0] = in_ranges(&c, code->insn[0].address);
	mark_ways_in(&c, way_in);
	for (i = 0; i < code->insns; i++)
		if (way_in[i] && (best == UINT32_MAX ||
				  flow_dominates(&flow, code->block_of[i], code->block_of[best])))
			best = i;
	if (best != UINT32_MAX) {
		*entry = code->insn[best].address;
		err = 0;
	}
	flow_free(&flow);
	free(way_in);
	return err;
}

int inlined_sites(const struct code *code, const struct range *ranges, size_t count, uint64_t entry,
		  struct fn_sites *sites, char *why, size_t why_size)
{
	struct copy c = { .code = code,
			  .ranges = ranges,
			  .count = count,
			  .entry = entry,
			  .why = why,
			  .why_size = why_size };
	int64_t first = first_inside(&c);
	uint32_t i;
	int err;

	if (first < 0)
		return fail(&c, -ENOTSUP, "%s: the entry given is not in the code",
			    code->chunk[0].symbol);
	c.seen = calloc(code->insns, 1);
	c.is_exit = calloc(code->insns, 1);
	if (!c.seen || !c.is_exit)
		err = fail(&c, -ENOMEM, "out of memory");
	else
		err = walk(&c, (uint32_t)first);
	if (!err)
		err = check_one_way_in(&c, (uint32_t)first);
	if (!err)
		err = add_site(&c, entry, sites->entry, &sites->entries);
	for (i = 0; i < code->insns && !err; i++) {
		/* An exit that runs straight into another one would count twice. */
		if (c.is_exit[i] && follow(&c, i, is_exit) < 0)
			err = add_exit(&c, i, sites);
	}
	if (!err && !sites->exits)
		err = fail(&c, -ENOTSUP, "%s: nothing leaves the copy", code->chunk[0].symbol);
	free(c.seen);
	free(c.is_exit);
	return err;
}
