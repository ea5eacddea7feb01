// SPDX-License-Identifier: GPL-2.0-only
/* Plan, debug info or machine code: whichever has a function's sites; see resolve.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "plan.h"
#include "resolve.h"
#if WITH_DEBUGINFO
#include "code.h"
#include "debuginfo.h"
#include "machine_code.h"
#endif

#define WHY_MAX 256

#if WITH_DEBUGINFO

/* A source that was opened, or the reason why it cannot be. */
struct opened {
	bool tried;
	int err;
	char why[WHY_MAX];
};

/* The functions that KSM's functions may be inlined into, innermost first. */
static const char *const containers[] = { "cmp_and_merge_page", "ksm_do_scan", "ksm_scan_thread" };
#define CONTAINERS (sizeof(containers) / sizeof(containers[0]))

struct resolver {
	const struct ksyms *ksyms;
	const char *plan_path, *vmlinux_path;
	struct kernel_id kernel;
	struct opened plan_opened, debuginfo_opened;
	struct plan plan;
	struct debuginfo *debuginfo;
	struct code *code[CONTAINERS]; /* the running kernel's; NULL: not out of line */
	struct opened code_opened;
	char hash_symbol[SITE_SYMBOL_MAX];
};

struct resolver *resolver_new(const struct ksyms *ksyms, const char *plan, const char *vmlinux)
{
	struct resolver *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->ksyms = ksyms;
	r->plan_path = plan;
	r->vmlinux_path = vmlinux;
	if (kernel_id_running(&r->kernel))
		log_debug("the running kernel does not tell its build-id");
	return r;
}

void resolver_free(struct resolver *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < CONTAINERS; i++)
		code_free(r->code[i]);
	debuginfo_close(r->debuginfo);
	free(r);
}

static int open_plan(struct resolver *r)
{
	struct opened *o = &r->plan_opened;

	if (!o->tried)
		o->err = plan_find(&r->kernel, r->plan_path, &r->plan, o->why, sizeof(o->why));
	o->tried = true;
	return o->err;
}

static int open_debuginfo(struct resolver *r)
{
	struct opened *o = &r->debuginfo_opened;

	if (!o->tried)
		o->err = debuginfo_open(r->vmlinux_path, &r->kernel, &r->debuginfo, o->why,
					sizeof(o->why));
	o->tried = true;
	return o->err;
}

/* The running code of every container that is out of line; at least ksm_scan_thread must be. */
static int open_code(struct resolver *r)
{
	struct opened *o = &r->code_opened;
	struct code_image image;
	size_t i;

	if (o->tried)
		return o->err;
	o->tried = true;
	image = code_image_running(r->ksyms);
	for (i = 0; i < CONTAINERS; i++) {
		const struct ksym *sym = ksyms_find_function(r->ksyms, containers[i]);

		if (sym)
			o->err = code_load(&image, ksym_name(r->ksyms, sym), &r->code[i], o->why,
					   sizeof(o->why));
	}
	if (!r->code[CONTAINERS - 1] && !o->err) {
		o->err = -ENOENT;
		snprintf(o->why, sizeof(o->why), "ksm_scan_thread has no symbol");
	}
	return o->err;
}

static const struct code *code_of(const struct resolver *r, const struct site *site)
{
	size_t i;

	for (i = 0; i < CONTAINERS; i++)
		if (r->code[i] && code_address(r->code[i], site))
			return r->code[i];
	return NULL;
}

/* Whether site is the start of an instruction of the running kernel. */
static bool on_instruction(const struct resolver *r, const struct site *site)
{
	const struct code *code = code_of(r, site);

	return code && code_find(code, code_address(code, site)) >= 0;
}

static int check_sites(const struct resolver *r, const struct fn_sites *sites, char *why,
		       size_t size)
{
	unsigned int i;

	for (i = 0; i < sites->entries + sites->exits; i++) {
		const struct site *site = i < sites->entries ? &sites->entry[i] :
							       &sites->exit[i - sites->entries];

		if (on_instruction(r, site))
			continue;
		snprintf(why, size, "%s+0x%x is not on an instruction of the running kernel",
			 site->symbol, site->offset);
		return -ESTALE;
	}
	return 0;
}

static void move_entries(const struct resolver *r, struct fn_sites *sites)
{
	unsigned int i;

	for (i = 0; i < sites->entries; i++) {
		const struct code *code = code_of(r, &sites->entry[i]);

		if (code)
			machine_code_optimizable(code, &sites->entry[i], &sites->entry[i]);
	}
}

static int from_plan(struct resolver *r, enum ksmtrace_function fn, struct fn_sites *sites,
		     char *why, size_t size)
{
	int err = open_plan(r);

	if (err) {
		snprintf(why, size, "%s", r->plan_opened.why);
		return err;
	}
	*sites = r->plan.fn[fn];
	if (sites->source != SITE_NONE)
		return 0;
	snprintf(why, size, "the plan says nothing about it");
	return -ENOENT;
}

static int from_debuginfo(struct resolver *r, enum ksmtrace_function fn, struct fn_sites *sites,
			  char *why, size_t size)
{
	int err = open_debuginfo(r);

	if (err) {
		snprintf(why, size, "%s", r->debuginfo_opened.why);
		return err;
	}
	return debuginfo_sites(r->debuginfo, fn, sites, why, size);
}

static int from_machine_code(struct resolver *r, enum ksmtrace_function fn, struct fn_sites *sites,
			     char *why, size_t size)
{
	int err = -ENOENT;
	size_t i;

	for (i = 0; i < CONTAINERS && err == -ENOENT; i++)
		if (r->code[i] && strcmp(containers[i], function_name(fn)))
			err = machine_code_sites(r->code[i], fn, sites, why, size);
	return err;
}

static int find_sites(struct resolver *r, enum ksmtrace_function fn, enum site_source source,
		      struct fn_sites *sites, char *why, size_t size)
{
	int err;

	/* What is running is what counts, whatever the source. */
	if (open_code(r)) {
		snprintf(why, size, "%s", r->code_opened.why);
		return r->code_opened.err;
	}
	memset(sites, 0, sizeof(*sites));
	switch (source) {
	case SITE_PLAN:
		err = from_plan(r, fn, sites, why, size);
		break;
	case SITE_DEBUGINFO:
		err = from_debuginfo(r, fn, sites, why, size);
		break;
	default:
		err = from_machine_code(r, fn, sites, why, size);
		break;
	}
	if (!err)
		err = check_sites(r, sites, why, size);
	if (err)
		return err;
	sites->source = source;
	move_entries(r, sites);
	return 0;
}

int resolver_sites(struct resolver *r, enum ksmtrace_function fn, enum site_source source,
		   struct fn_sites *sites, char *why, size_t why_size)
{
	static const char *const names[] = {
		[SITE_PLAN] = "plan", [SITE_DEBUGINFO] = "debug info", [SITE_MACHINE_CODE] = "code",
	};
	size_t used = 0;
	int s, err = -ENOENT;

	why[0] = '\0';
	for (s = SITE_PLAN; s <= SITE_MACHINE_CODE; s++) {
		char reason[WHY_MAX] = "";

		if (source != SITE_NONE && source != (enum site_source)s)
			continue;
		err = find_sites(r, fn, (enum site_source)s, sites, reason, sizeof(reason));
		if (!err)
			return 0;
		log_debug("%s by %s: %s", function_name(fn), names[s], reason);
		if (used < why_size)
			used += (size_t)snprintf(why + used, why_size - used, "%s%s: %s",
						 used ? "; " : "", names[s], reason);
	}
	return err;
}

unsigned int resolver_more_sites(struct resolver *r, enum ksmtrace_function fn,
				 struct fn_sites *sites)
{
	enum site_source source = SITE_NONE;
	char why[WHY_MAX];

	if (r->debuginfo)
		source = SITE_DEBUGINFO;
	else if (r->plan_opened.tried && !r->plan_opened.err)
		source = SITE_PLAN;
	if (source != SITE_NONE && !find_sites(r, fn, source, sites, why, sizeof(why)))
		return sites->entries;
	memset(sites, 0, sizeof(*sites));
	return 0;
}

/* The hash that one function's code computes; remembers the symbol that it calls for it. */
static enum ksm_hash hash_of(struct resolver *r, const struct code *code, char *evidence,
			     size_t size)
{
	enum ksm_hash hash = machine_code_hash(code, evidence, size);
	uint32_t i;

	for (i = 0; hash != KSM_HASH_UNKNOWN && i < code->insns; i++)
		if (ksm_hash_of(code->insn[i].callee) == hash)
			snprintf(r->hash_symbol, sizeof(r->hash_symbol), "%s",
				 code->insn[i].callee);
	return hash;
}

const char *resolver_hash(struct resolver *r, char *evidence, size_t size, const char **symbol)
{
	const struct ksym *sym = ksyms_find_function(r->ksyms, "calc_checksum");
	struct code_image image = code_image_running(r->ksyms);
	enum ksm_hash hash = KSM_HASH_UNKNOWN;
	struct code *code;
	size_t i;

	if (sym && !code_load(&image, ksym_name(r->ksyms, sym), &code, evidence, size)) {
		hash = hash_of(r, code, evidence, size);
		code_free(code);
	}
	if (hash == KSM_HASH_UNKNOWN && open_code(r))
		snprintf(evidence, size, "%s", r->code_opened.why);
	for (i = 0; i < CONTAINERS && hash == KSM_HASH_UNKNOWN; i++)
		if (r->code[i])
			hash = hash_of(r, r->code[i], evidence, size);
	*symbol = *r->hash_symbol ? r->hash_symbol : NULL;
	return ksm_hash_name(hash);
}

#else /* without Capstone and libdw: plans only, and they cannot be checked against the code */

struct resolver *resolver_new(const struct ksyms *ksyms, const char *plan, const char *vmlinux)
{
	(void)ksyms;
	(void)plan;
	(void)vmlinux;
	return calloc(1, 1);
}

void resolver_free(struct resolver *resolver)
{
	free(resolver);
}

int resolver_sites(struct resolver *resolver, enum ksmtrace_function fn, enum site_source source,
		   struct fn_sites *sites, char *why, size_t why_size)
{
	(void)resolver;
	(void)fn;
	(void)source;
	(void)sites;
	snprintf(why, why_size, "this program was built without the libraries that find inlined "
				"functions (WITH_DEBUGINFO=0)");
	return -ENOTSUP;
}

unsigned int resolver_more_sites(struct resolver *resolver, enum ksmtrace_function fn,
				 struct fn_sites *sites)
{
	(void)resolver;
	(void)fn;
	memset(sites, 0, sizeof(*sites));
	return 0;
}

const char *resolver_hash(struct resolver *resolver, char *evidence, size_t size,
			  const char **symbol)
{
	(void)resolver;
	*symbol = NULL;
	snprintf(evidence, size, "this program was built without a disassembler");
	return "unknown";
}

#endif
