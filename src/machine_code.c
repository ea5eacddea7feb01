// SPDX-License-Identifier: GPL-2.0-only
/* Sites from the shape of the machine code alone; see machine_code.h and docs/inlining.md. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define PREPARE_MAX 24 /* instructions that prepare a call's arguments */

int machine_refuse(const struct analysis *a, const char *format, ...)
{
	size_t used = (size_t)snprintf(a->why, a->why_size, "%s: ", a->code->chunk[0].symbol);
	va_list args;

	va_start(args, format);
	if (used < a->why_size)
		vsnprintf(a->why + used, a->why_size - used, format, args);
	va_end(args);
	return -ENOTSUP;
}

/* --- calls -------------------------------------------------------------------------------------
 */

bool machine_is_function(const char *callee, const char *function)
{
	size_t n = strlen(function);

	if (!callee || strncmp(callee, function, n))
		return false;
	return !callee[n] || !strncmp(callee + n, ".isra.", 6) ||
	       !strncmp(callee + n, ".constprop.", 11);
}

bool machine_reached(const struct code *code, uint32_t i)
{
	return code->block[code->block_of[i]].reached;
}

static bool calls_function(const struct code *code, uint32_t i, const char *function)
{
	return code->insn[i].kind == INSN_CALL &&
	       machine_is_function(code->insn[i].callee, function) && machine_reached(code, i);
}

unsigned int machine_count_calls(const struct code *code, const char *function, uint32_t *call)
{
	unsigned int count = 0;
	uint32_t i;

	for (i = 0; i < code->insns; i++)
		if (calls_function(code, i, function)) {
			*call = i;
			count++;
		}
	return count;
}

int machine_one_call(const struct analysis *a, const char *function, uint32_t *call)
{
	unsigned int count = machine_count_calls(a->code, function, call);

	if (count == 1)
		return 0;
	machine_refuse(a, "it has %u calls to %s where one is expected", count, function);
	return count ? -ENOTSUP : -ENOENT;
}

int machine_after_call(const struct analysis *a, uint32_t call, uint32_t *next)
{
	const struct code *code = a->code;

	*next = call + 1;
	if (*next >= code->insns ||
	    code->insn[*next].address != code->insn[call].address + code->insn[call].size)
		return machine_refuse(a, "nothing follows its call to %s", code->insn[call].callee);
	if (code->block_of[*next] != code->block_of[call] &&
	    code->block[code->block_of[*next]].from_count != 1)
		return machine_refuse(a, "other code joins right behind its call to %s",
				      code->insn[call].callee);
	return 0;
}

bool machine_has_calls(const struct code *code, uint32_t first, uint32_t end)
{
	uint32_t i;

	for (i = first; i < end; i++)
		if (code->insn[i].kind == INSN_CALL || code->insn[i].kind == INSN_CALL_NORETURN)
			return true;
	return false;
}

uint32_t machine_block_end(const struct code *code, uint32_t block)
{
	return code->block[block].first + code->block[block].count;
}

static int add_site(const struct analysis *a, uint32_t i, struct site *sites, unsigned int *count)
{
	if (*count == SITES_MAX)
		return machine_refuse(a, "more than %d sites", SITES_MAX);
	return code_site(a->code, a->code->insn[i].address, &sites[(*count)++]);
}

int machine_add_entry(const struct analysis *a, uint32_t i, struct fn_sites *sites)
{
	const struct code *code = a->code;
	uint32_t first = code->block[code->block_of[i]].first;

	/* A place that the kernel patches takes no kprobe; the one before it is as good. */
	while (code->insn[i].patched && i > first)
		i--;
	if (code->insn[i].patched ||
	    (code->insn[i].kind != INSN_PLAIN && code->insn[i].kind != INSN_CALL &&
	     code->insn[i].kind != INSN_BRANCH))
		return machine_refuse(a, "the start is where the kernel patches its code");
	return add_site(a, i, sites->entry, &sites->entries);
}

int machine_add_exit(const struct analysis *a, uint32_t i, struct fn_sites *sites)
{
	uint32_t at[2];
	unsigned int n = code_probe(a->code, i, at), k;
	int err = 0;

	if (!n)
		return machine_refuse(a, "the end is where the kernel patches its code");
	for (k = 0; k < n && !err; k++)
		err = add_site(a, at[k], sites->exit, &sites->exits);
	return err;
}

int machine_set_sites(const struct analysis *a, uint32_t entry, uint32_t exit,
		      struct fn_sites *sites)
{
	int err = machine_add_entry(a, entry, sites);

	return err ? err : machine_add_exit(a, exit, sites);
}

/* Around every call to function, which is out of line. */
static int sites_of_calls(const struct analysis *a, const char *function, struct fn_sites *sites)
{
	uint32_t i, next;
	int err = 0;

	for (i = 0; i < a->code->insns && !err; i++) {
		if (!calls_function(a->code, i, function))
			continue;
		err = machine_after_call(a, i, &next);
		if (!err)
			err = machine_set_sites(a, i, next, sites);
	}
	return err;
}

/* --- calc_checksum -----------------------------------------------------------------------------
 */

int machine_find_hash(const struct analysis *a, uint32_t *hash)
{
	const struct code *code = a->code;
	unsigned int count;
	uint32_t i;

	count = machine_count_calls(code, "calc_checksum", hash);
	for (i = 0; i < code->insns; i++)
		if (code->insn[i].kind == INSN_CALL && machine_reached(code, i) &&
		    ksm_hash_of(code->insn[i].callee) != KSM_HASH_UNKNOWN) {
			*hash = i;
			count++;
		}
	for (i = 0; i < code->insns && !count; i++)
		if (machine_reached(code, i) && machine_code_is_jhash(code, i)) {
			*hash = i;
			count = 1;
		}
	if (count == 1)
		return 0;
	if (count)
		return machine_refuse(a, "it has %u calls to a hash function where one is expected",
				      count);
	machine_refuse(a, "it calls no hash function that is known");
	return -ENOENT;
}

/* Registers that a call need not preserve: what is written to them right before a call can
 * only serve the call. */
static uint32_t call_clobbered(enum code_arch arch)
{
	/* rax rcx rdx rsi rdi r8-r11; x0 to x17. */
	return arch == CODE_X86_64 ? 0x0fc7 : 0x3ffff;
}

static int calc_checksum_sites(const struct analysis *a, struct fn_sites *sites)
{
	const struct code *code = a->code;
	uint32_t hash, exit, entry, low;
	int err;

	err = machine_find_hash(a, &hash);
	if (err)
		return err;
	if (machine_is_function(code->insn[hash].callee, "calc_checksum"))
		return sites_of_calls(a, "calc_checksum", sites);
	if (code->insn[hash].kind != INSN_CALL)
		return machine_refuse(
			a, "the hash is computed in line, so nothing shows where it ends");
	err = machine_after_call(a, hash, &exit);
	if (err)
		return err;
	low = code->block[code->block_of[hash]].first;
	for (entry = hash; entry > low && hash - entry < PREPARE_MAX; entry--) {
		const struct insn *insn = &code->insn[entry - 1];

		if (insn->kind != INSN_PLAIN || insn->stores || insn->barrier || !insn->writes ||
		    insn->writes & ~call_clobbered(code->arch))
			break;
	}
	return machine_set_sites(a, entry, exit, sites);
}

/* --- all ---------------------------------------------------------------------------------------
 */

/* The graph is only as good as what is known about every instruction in it. */
static int check_known(const struct analysis *a)
{
	const struct code *code = a->code;
	uint32_t i;

	for (i = 0; i < code->insns; i++) {
		unsigned long long offset =
			code->insn[i].address - code_chunk(code, code->insn[i].address)->start;

		if (!machine_reached(code, i))
			continue;
		switch (code->insn[i].kind) {
		case INSN_HIDDEN:
			return machine_refuse(
				a, "a kprobe of another tool, at +0x%llx, hides an instruction",
				offset);
		case INSN_INDIRECT:
			return machine_refuse(a, "where the jump at +0x%llx goes cannot be known",
					      offset);
		case INSN_UNKNOWN:
			return machine_refuse(a, "the bytes at +0x%llx do not decode", offset);
		default:
			break;
		}
	}
	return code->block[0].live ? 0 : machine_refuse(a, "it never returns");
}

static int analyze(const struct code *code, enum ksmtrace_function fn, struct fn_sites *sites,
		   char *why, size_t why_size)
{
	struct analysis a = { .code = code, .why = why, .why_size = why_size };
	const char *name = function_name(fn);
	uint32_t call;
	int err;

	memset(sites, 0, sizeof(*sites));
	a.inside = calloc(2, code->blocks);
	if (!a.inside || flow_init(&a.flow, code)) {
		free(a.inside);
		snprintf(why, why_size, "out of memory");
		return -ENOMEM;
	}
	a.other = a.inside + code->blocks;
	err = check_known(&a);
	if (!err && fn != FN_calc_checksum && machine_count_calls(code, name, &call)) {
		err = sites_of_calls(&a, name, sites);
	} else if (!err) {
		switch (fn) {
		case FN_ksm_do_scan:
			err = machine_ksm_do_scan(&a, sites);
			break;
		case FN_cmp_and_merge_page:
			err = machine_cmp_and_merge_page(&a, sites);
			break;
		case FN_calc_checksum:
			err = calc_checksum_sites(&a, sites);
			break;
		default:
			machine_refuse(&a, "it does not call %s", name);
			err = -ENOENT;
			break;
		}
	}
	if (err)
		memset(sites, 0, sizeof(*sites));
	else
		sites->source = SITE_MACHINE_CODE;
	flow_free(&a.flow);
	free(a.inside);
	return err;
}

int machine_code_sites(const struct code *container, enum ksmtrace_function fn,
		       struct fn_sites *sites, char *why, size_t why_size)
{
	struct fn_sites again;
	struct code *other;
	int err;

	err = analyze(container, fn, sites, why, why_size);
	if (!err && why_size)
		why[0] = '\0';
	if (err || !code_has_traps(container))
		return err;
	/* The code goes on behind a WARN and not behind a BUG, and both look the same: the
	 * answer has to be the same, too. */
	err = code_with_traps(container, &other);
	if (err) {
		snprintf(why, why_size, "out of memory");
	} else {
		err = analyze(other, fn, &again, why, why_size);
		code_free(other);
		if (!err && memcmp(sites, &again, sizeof(again))) {
			snprintf(why, why_size, "%s: the sites depend on what a WARN in it does",
				 container->chunk[0].symbol);
			err = -ENOTSUP;
		}
	}
	if (err)
		memset(sites, 0, sizeof(*sites));
	return err;
}
