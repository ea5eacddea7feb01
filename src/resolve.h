/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sites of inlined functions in the running kernel, from the best source there is: a plan
 * for this very kernel, its debug info, or its machine code alone.
 */
#ifndef KSMTRACE_RESOLVE_H
#define KSMTRACE_RESOLVE_H

#include <stddef.h>

#include "function.h"
#include "ksyms.h"
#include "sites.h"

struct resolver; /* owned by the caller, released with resolver_free() */

/*
 * Nothing is read yet: each source is opened when it is first asked for. plan and vmlinux are
 * files that the user named, or NULL. ksyms must outlive the resolver. NULL when out of memory.
 */
struct resolver *resolver_new(const struct ksyms *ksyms, const char *plan, const char *vmlinux);
void resolver_free(struct resolver *resolver);

/*
 * Finds fn's sites from source, or with SITE_NONE from the first that has them. Every site is
 * on an instruction of the running kernel, and entries are where a kprobe costs least.
 * Returns 0; or a negative errno, with one sentence for each source that failed in why.
 */
int resolver_sites(struct resolver *resolver, enum ksmtrace_function fn, enum site_source source,
		   struct fn_sites *sites, char *why, size_t why_size);

/*
 * The sites of copies of fn that are inlined although fn is also out of line, from a plan or
 * debug info that was opened for another function before: machine code alone cannot tell that
 * there is none. Returns how many entries there are; *sites is all zero when there are none.
 */
unsigned int resolver_more_sites(struct resolver *resolver, enum ksmtrace_function fn,
				 struct fn_sites *sites);

/* The hash that ksmd's code computes: "xxh64", "xxh32", "jhash2", "crc32c" or "unknown", with
 * the evidence. *symbol is the function that computes it, or NULL. */
const char *resolver_hash(struct resolver *resolver, char *evidence, size_t size,
			  const char **symbol);

#endif
