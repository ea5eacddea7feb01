/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the machine-code analysis (machine_*.c) share. For others: machine_code.h. */
#ifndef KSMTRACE_MACHINE_H
#define KSMTRACE_MACHINE_H

#include "dominators.h"
#include "machine_code.h"

struct analysis {
	const struct code *code;
	struct flow flow;
	uint8_t *inside, *other; /* one byte a block: scratch */
	char *why;
	size_t why_size;
};

/* Writes the sentence "CONTAINER: ..." to why and returns -ENOTSUP. */
int machine_refuse(const struct analysis *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether callee is function, or the whole of it under a name the compiler made up. */
bool machine_is_function(const char *callee, const char *function);

/* Whether control can get to instruction i. */
bool machine_reached(const struct code *code, uint32_t i);

/* How many calls to function can be reached; *call is the last one. */
unsigned int machine_count_calls(const struct code *code, const char *function, uint32_t *call);

/* The same where there must be exactly one: 0, or a refusal. */
int machine_one_call(const struct analysis *a, const char *function, uint32_t *call);

/* The instruction behind a call; a refusal when it is also reached without the call. */
int machine_after_call(const struct analysis *a, uint32_t call, uint32_t *next);

/* Whether there is a call among the instructions from first up to, not including, end. */
bool machine_has_calls(const struct code *code, uint32_t first, uint32_t end);

/* The instruction behind a block's last. */
uint32_t machine_block_end(const struct code *code, uint32_t block);

/* The one instruction at which a page's hash is computed, or a refusal: the call to
 * calc_checksum, or to a hash function when calc_checksum is inlined; else the start value of
 * an inlined jhash2. */
int machine_find_hash(const struct analysis *a, uint32_t *hash);

/* Adds an entry or exit at instruction i; where the kernel allows no kprobe, the next best place
 * that is as exact. 0 or a refusal. */
int machine_add_entry(const struct analysis *a, uint32_t i, struct fn_sites *sites);
int machine_add_exit(const struct analysis *a, uint32_t i, struct fn_sites *sites);

/* Adds an entry and an exit. */
int machine_set_sites(const struct analysis *a, uint32_t entry, uint32_t exit,
		      struct fn_sites *sites);

/* The fixed address of the memory that instruction i reads or writes; 0: none, or not fixed.
 * Uses a->other on arm64. */
uint64_t machine_data(const struct analysis *a, uint32_t i);

/* The two functions that take an analysis of their own: 0 or a refusal. */
int machine_ksm_do_scan(const struct analysis *a, struct fn_sites *sites);
int machine_cmp_and_merge_page(const struct analysis *a, struct fn_sites *sites);

#endif
