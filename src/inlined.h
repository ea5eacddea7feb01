/* SPDX-License-Identifier: GPL-2.0-only */
/* One inlined copy of a function: from its address ranges to the places where control enters
 * and leaves it. */
#ifndef KSMTRACE_INLINED_H
#define KSMTRACE_INLINED_H

#include <stddef.h>
#include <stdint.h>

#include "code.h"
#include "sites.h"

struct range {
	uint64_t start, end; /* end is the first address behind */
};

/* Sorts ranges by address. */
void ranges_sort(struct range *ranges, size_t count);

/*
 * The entry of a copy whose debug info does not tell it (clang's): of the places where control
 * gets into the ranges the one that comes before all others. Whether there is one indeed is
 * for inlined_sites() to check. Returns 0, -ENOTSUP when none, -ENOMEM.
 */
int inlined_entry(const struct code *code, const struct range *ranges, size_t count,
		  uint64_t *entry);

/*
 * Adds the entry and the exits of the copy that is in code, has the given (sorted) ranges and
 * is entered at entry, to *sites; what is there already is not added twice.
 *
 * An exit is where control goes on outside the ranges, when coming from the entry and
 * following every jump; at a return inside them it is the return itself. The compiler leaves
 * small holes in the ranges: a way out that runs straight back in is none, and of exits that
 * run straight into another only the last counts.
 *
 * Returns 0; or a negative errno with one sentence in why: -ENOTSUP when the copy cannot be
 * delimited exactly, -E2BIG for more sites than fit, -ENOMEM.
 */
int inlined_sites(const struct code *code, const struct range *ranges, size_t count, uint64_t entry,
		  struct fn_sites *sites, char *why, size_t why_size);

#endif
