/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a function's machine code alone tells: where inlined functions begin and end in it, and
 * which hash it computes. No table of kernel versions or offsets: conditions on the
 * control-flow graph, each of which must hold, else the answer is a refusal.
 */
#ifndef KSMTRACE_MACHINE_CODE_H
#define KSMTRACE_MACHINE_CODE_H

#include <stdbool.h>
#include <stddef.h>

#include "code.h"
#include "function.h"

/*
 * Finds where fn, inlined into container (usually ksm_scan_thread), begins and ends. A call to
 * fn itself, when there is exactly one, counts as well: the sites are then the call and its
 * return.
 * Returns 0; or a negative errno with one sentence in why: -ENOENT when the function has no
 * trace here, -ENOTSUP when the code does not meet all conditions, -ENOMEM.
 */
int machine_code_sites(const struct code *container, enum ksmtrace_function fn,
		       struct fn_sites *sites, char *why, size_t why_size);

/* The hash that calc_checksum computes. */
enum ksm_hash {
	KSM_HASH_UNKNOWN,
	KSM_HASH_XXH64,
	KSM_HASH_XXH32,
	KSM_HASH_CRC32C,
	KSM_HASH_JHASH2
};

const char *ksm_hash_name(enum ksm_hash hash);

/* The hash that code computes (ksm_scan_thread, or the out-of-line cmp_and_merge_page or
 * calc_checksum), with one sentence of evidence. */
enum ksm_hash machine_code_hash(const struct code *code, char *evidence, size_t size);

/* The hash that a function of that name computes; NULL: none. */
enum ksm_hash ksm_hash_of(const char *callee);

/* Whether instruction i brings in the start value of a page's jhash2. */
bool machine_code_is_jhash(const struct code *code, uint32_t i);

/*
 * Moves an entry back, inside its basic block, to the nearest place where the kernel can make
 * a kprobe a jump instead of a trap (x86). What lies between is neither a call nor a barrier.
 * Returns whether there is such a place; *moved (may be the same object as *entry) is set then.
 */
bool machine_code_optimizable(const struct code *code, const struct site *entry,
			      struct site *moved);

#endif
