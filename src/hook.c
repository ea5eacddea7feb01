// SPDX-License-Identifier: GPL-2.0-only
/* The ladder: which way a function can be observed on the running kernel; see hook.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "hook.h"
#include "resolve.h"

static const char *const rung_names[RUNG_COUNT] = {
	[RUNG_FENTRY] = "fentry",     [RUNG_KPROBE] = "kprobe",	      [RUNG_INLINED] = "inlined",
	[RUNG_STANDIN] = "stand-in", [RUNG_SCHEDULER] = "scheduler", [RUNG_NONE] = "none",
};
static const char *const source_names[] = {
	[SITE_PLAN] = "plan",
	[SITE_DEBUGINFO] = "debuginfo",
	[SITE_MACHINE_CODE] = "machine-code",
};

const char *rung_name(enum rung rung)
{
	return rung_names[rung];
}

const char *site_source_name(enum site_source source)
{
	return source_names[source];
}

int hook_choice_parse(const char *text, enum ksmtrace_function *fn, struct hook_choice *choice)
{
	const char *equals = strchr(text, '='), *rung, *colon;
	size_t length, i;
	int err;

	if (!equals)
		return -EINVAL;
	err = function_by_name(text, (size_t)(equals - text), fn);
	if (err)
		return err;
	rung = equals + 1;
	colon = strchr(rung, ':');
	length = colon ? (size_t)(colon - rung) : strlen(rung);
	*choice = (struct hook_choice){ .forced = true, .rung = RUNG_COUNT };
	for (i = 0; i < RUNG_COUNT; i++)
		if (strlen(rung_names[i]) == length && !strncmp(rung, rung_names[i], length))
			choice->rung = (enum rung)i;
	if (choice->rung == RUNG_COUNT)
		return -EINVAL;
	if (!colon)
		return 0;
	if (choice->rung != RUNG_INLINED)
		return -EINVAL;
	for (i = SITE_PLAN; i <= SITE_MACHINE_CODE; i++)
		if (!strcmp(colon + 1, source_names[i]))
			choice->source = (enum site_source)i;
	return choice->source == SITE_NONE ? -EINVAL : 0;
}

/* --- trying ------------------------------------------------------------------------------------ */

static const struct bpf_insn return_0[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

/* Attaches an empty program to the function's entry or exit and detaches it. */
static int try_trampoline(const struct btf *btf, const char *symbol, enum bpf_attach_type type)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type);
	int id = btf__find_by_name_kind(btf, symbol, BTF_KIND_FUNC), prog, link;

	if (id < 0)
		return -ENOENT;
	opts.attach_btf_id = (__u32)id;
	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "ksmtrace_try", "GPL", return_0, 2, &opts);
	if (prog < 0)
		return prog;
	link = bpf_raw_tracepoint_open(NULL, prog);
	close(prog);
	if (link < 0)
		return link;
	close(link);
	return 0;
}

static int try_raw_tracepoint(const char *name)
{
	int prog, link;

	prog = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "ksmtrace_try", "GPL", return_0, 2, NULL);
	if (prog < 0)
		return prog;
	link = bpf_raw_tracepoint_open(name, prog);
	close(prog);
	if (link < 0)
		return link;
	close(link);
	return 0;
}

/* One number out of a file of the kprobe PMU, after a prefix like "config:". */
static int read_pmu(const char *file, const char *prefix)
{
	char path[128], text[64] = "";
	int value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/kprobe/%s", file);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fgets(text, sizeof(text), f) && !strncmp(text, prefix, strlen(prefix)))
		sscanf(text + strlen(prefix), "%d", &value);
	fclose(f);
	return value;
}

int hook_try_kprobe(const char *symbol, uint64_t offset, bool retprobe)
{
	int type = read_pmu("type", ""), bit = read_pmu("format/retprobe", "config:"), fd, err = 0;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (__u32)type,
		.config1 = (uint64_t)(uintptr_t)symbol,
		.config2 = offset,
		.disabled = 1,
	};

	if (type < 0 || bit < 0)
		return -ENOTSUP;
	if (retprobe)
		attr.config |= 1ULL << bit;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	close(fd);
	return err;
}

/* --- the rungs --------------------------------------------------------------------------------- */

/* Appends a sentence to the note. */
static void __attribute__((format(printf, 2, 3))) add_note(struct hook *hook, const char *format,
							   ...)
{
	size_t used = strlen(hook->note);
	va_list args;

	if (used && used + 2 < sizeof(hook->note)) {
		memcpy(hook->note + used, "; ", 3);
		used += 2;
	}
	va_start(args, format);
	vsnprintf(hook->note + used, sizeof(hook->note) - used, format, args);
	va_end(args);
}

static const char *kprobe_error(int err)
{
	switch (err) {
	case -ENOTSUP:
		return "this kernel has no kprobes (CONFIG_KPROBE_EVENTS)";
	case -EINVAL:
		return "the kernel does not let it be probed (code without the ftrace prologue, "
		       "allowed only with CONFIG_KPROBE_EVENTS_ON_NOTRACE)";
	case -EACCES:
	case -EPERM:
		return "not permitted (lockdown, or kernel.perf_event_paranoid above 2 without "
		       "CAP_SYS_ADMIN)";
	default:
		return strerror(-err);
	}
}

static bool try_fentry(const struct hook_env *env, enum ksmtrace_function fn, struct hook *hook)
{
	const char *name = function_name(fn);
	const struct ksym *sym = ksyms_find_function(env->ksyms, name);
	int err;

	if (!sym)
		return false;
	/* BTF names a function without its suffix, and the trampoline goes by that name. */
	if (strcmp(ksym_name(env->ksyms, sym), name)) {
		add_note(hook, "fentry: the compiler changed its signature (%s)",
			 ksym_name(env->ksyms, sym));
		return false;
	}
	err = try_trampoline(env->btf, name, BPF_TRACE_FENTRY);
	if (!err)
		err = try_trampoline(env->btf, name, BPF_TRACE_FEXIT);
	if (err) {
		add_note(hook, "fentry: %s",
			 err == -ENOENT ? "the kernel's BTF does not describe it" :
			 err == -ENOTSUP || err == -EOPNOTSUPP || err == -EINVAL || err == -EBUSY ?
					"this kernel refuses trampolines there" :
					strerror(-err));
		return false;
	}
	hook->rung = RUNG_FENTRY;
	snprintf(hook->symbol, sizeof(hook->symbol), "%s", name);
	hook->exact = true;
	return true;
}

/* A kprobe and a kretprobe on symbol, for the rungs kprobe and stand-in. */
static bool try_kprobes(struct hook *hook, const char *symbol, enum rung rung)
{
	int err = hook_try_kprobe(symbol, 0, false);

	if (!err)
		err = hook_try_kprobe(symbol, 0, true);
	if (err) {
		add_note(hook, "kprobe on %s: %s", symbol, kprobe_error(err));
		return false;
	}
	hook->rung = rung;
	snprintf(hook->symbol, sizeof(hook->symbol), "%s", symbol);
	return true;
}

static bool try_kprobe(const struct hook_env *env, enum ksmtrace_function fn, struct hook *hook)
{
	const struct ksym *sym = ksyms_find_function(env->ksyms, function_name(fn));

	if (!sym) {
		add_note(hook, "no symbol: the compiler inlined it");
		return false;
	}
	if (!try_kprobes(hook, ksym_name(env->ksyms, sym), RUNG_KPROBE))
		return false;
	hook->exact = true;
	return true;
}

/* The first of count sites that the kernel refuses a kprobe at, or -1. */
static int refused_site(const struct site *site, unsigned int count, int *err)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		*err = hook_try_kprobe(site[i].symbol, site[i].offset, false);
		if (*err)
			return (int)i;
	}
	return -1;
}

/* Tries all sites; adds a note about the first that is refused. */
static bool sites_work(struct hook *hook)
{
	const struct fn_sites *sites = &hook->sites;
	const struct site *site = sites->entry;
	int refused, err;

	refused = refused_site(site, sites->entries, &err);
	if (refused < 0) {
		site = sites->exit;
		refused = refused_site(site, sites->exits, &err);
	}
	if (refused < 0)
		return true;
	add_note(hook, "inlined, kprobe on %s+0x%x: %s", site[refused].symbol,
		 site[refused].offset, kprobe_error(err));
	return false;
}

/* Copies that are inlined although the function is out of line, too: both kinds are hooked. */
static void add_inlined_copies(const struct hook_env *env, enum ksmtrace_function fn,
			       struct hook *hook)
{
	if (!resolver_more_sites(env->resolver, fn, &hook->sites))
		return;
	if (sites_work(hook)) {
		add_note(hook, "also inlined at %u places, which are hooked, too",
			 hook->sites.entries);
		return;
	}
	memset(&hook->sites, 0, sizeof(hook->sites));
	hook->exact = false;
	add_note(hook, "only the calls out of line are seen");
}

static bool try_inlined(const struct hook_env *env, enum ksmtrace_function fn,
			const struct hook_choice *choice, struct hook *hook)
{
	char why[HOOK_NOTE_MAX];

	if (resolver_sites(env->resolver, fn, choice->source, &hook->sites, why, sizeof(why)))
		add_note(hook, "inlined: %s", why);
	else if (sites_work(hook)) {
		hook->rung = RUNG_INLINED;
		hook->exact = true;
		return true;
	}
	memset(&hook->sites, 0, sizeof(hook->sites));
	return false;
}

static bool try_standin(const struct hook_env *env, enum ksmtrace_function fn,
			const struct hook_choice *choice, struct hook *hook)
{
	static const char *const hashes[] = { "xxh64", "xxh32", "crc32c" };
	size_t i;

	if (fn != FN_calc_checksum) {
		if (choice->forced)
			add_note(hook, "nothing stands in for it");
		return false;
	}
	if (env->hash_symbol)
		return try_kprobes(hook, env->hash_symbol, RUNG_STANDIN);
	if (!choice->forced) {
		add_note(hook, "no stand-in: which hash function it calls is not known");
		return false;
	}
	for (i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++)
		if (ksyms_find(env->ksyms, hashes[i], NULL) &&
		    try_kprobes(hook, hashes[i], RUNG_STANDIN))
			return true;
	return false;
}

static bool try_scheduler(const struct hook_env *env, enum ksmtrace_function fn,
			  const struct hook_choice *choice, struct hook *hook)
{
	int err;

	if (fn != FN_ksm_do_scan) {
		if (choice->forced)
			add_note(hook, "the scheduler shows only whole scans");
		return false;
	}
	if (!env->scans_sleep) {
		add_note(hook, "scheduler: sleep_millisecs is 0, so ksmd does not sleep between "
			       "scans and the scheduler cannot tell them apart: "
			       "--set sleep_millisecs=1 or more");
		return false;
	}
	err = try_raw_tracepoint("sched_switch");
	if (err) {
		add_note(hook, "scheduler: no sched_switch tracepoint: %s", strerror(-err));
		return false;
	}
	hook->rung = RUNG_SCHEDULER;
	add_note(hook, "approximate: from ksmd's waking to its sleeping");
	return true;
}

static bool try_rung(const struct hook_env *env, enum ksmtrace_function fn,
		     const struct hook_choice *choice, enum rung rung, struct hook *hook)
{
	switch (rung) {
	case RUNG_FENTRY:
	case RUNG_KPROBE:
		if (!(rung == RUNG_FENTRY ? try_fentry : try_kprobe)(env, fn, hook))
			return false;
		add_inlined_copies(env, fn, hook);
		return true;
	case RUNG_INLINED:
		return try_inlined(env, fn, choice, hook);
	case RUNG_STANDIN:
		return try_standin(env, fn, choice, hook);
	case RUNG_SCHEDULER:
		return try_scheduler(env, fn, choice, hook);
	default:
		return false;
	}
}

void hook_resolve(const struct hook_env *env, enum ksmtrace_function fn,
		  const struct hook_choice *choice, struct hook *hook)
{
	static const struct hook_choice any = { .forced = false };
	int rung;

	if (!choice)
		choice = &any;
	memset(hook, 0, sizeof(*hook));
	hook->rung = RUNG_NONE;
	if (choice->forced) {
		if (choice->rung == RUNG_NONE)
			add_note(hook, "switched off by --hook");
		else if (!try_rung(env, fn, choice, choice->rung, hook) && !*hook->note)
			add_note(hook, choice->rung == RUNG_FENTRY ?
					       "no symbol: the compiler inlined it" :
					       "none of the hash functions is there");
		return;
	}
	for (rung = RUNG_FENTRY; rung < RUNG_NONE; rung++)
		if (try_rung(env, fn, choice, (enum rung)rung, hook))
			return;
}
