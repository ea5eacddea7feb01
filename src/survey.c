// SPDX-License-Identifier: GPL-2.0-only
/* Finding out what can be observed here, and how; see survey.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "kvars.h"
#include "log.h"
#include "resolve.h"
#include "survey.h"

static int cannot(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int cannot(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_vprint(LOG_ERROR, format, args);
	va_end(args);
	return -EOPNOTSUPP;
}

/* The first thing that makes tracing impossible, or 0. */
static int check_host(void)
{
	char missing[128], mode[32];
	int map;

	if (access("/sys/kernel/mm/ksm/run", F_OK))
		return cannot("this kernel has no KSM (/sys/kernel/mm/ksm is missing): it needs "
			      "CONFIG_KSM=y");
	if (host_missing_capabilities(missing, sizeof(missing)) > 0)
		return cannot("missing %s: run it as root (sudo), or give it the capabilities",
			      missing);
	if (host_in_user_namespace(NULL))
		return cannot("this is a user namespace, where BPF is not permitted: run it on the "
			      "host or in a privileged container");
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return cannot("this kernel does not describe its types (/sys/kernel/btf/vmlinux is "
			      "missing): it needs CONFIG_DEBUG_INFO_BTF=y");
	map = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ksmtrace_try", 0, 0,
			     (__u32)sysconf(_SC_PAGESIZE), NULL);
	if (map >= 0) {
		close(map);
		return 0;
	}
	if (map == -ENOSYS)
		return cannot("this kernel has no BPF: it needs CONFIG_BPF_SYSCALL=y");
	if (map == -EINVAL)
		return cannot("this kernel has no BPF ring buffers: it needs Linux 5.8 or newer");
	if (!host_lockdown(NULL, mode, sizeof(mode)) && strcmp(mode, "none"))
		return cannot("BPF is not permitted: the kernel is locked down (%s)", mode);
	return cannot("BPF is not permitted here: %s", strerror(-map));
}

static int load_symbols(struct ksyms **ksyms)
{
	int err = ksyms_load(NULL, ksyms);

	if (err == -EPERM)
		return cannot("the kernel hides its addresses: sysctl kernel.kptr_restrict=1 (or "
			      "0), and CAP_SYSLOG");
	if (err)
		return cannot("cannot read /proc/kallsyms: %s", strerror(-err));
	return 0;
}

/* Whether sched_switch's arguments are (preempt, prev, next, prev_state). */
static bool switch_has_state(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	if (type)
		type = btf__type_by_id(btf, type->type);
	if (type && btf_is_ptr(type))
		type = btf__type_by_id(btf, type->type);
	/* The first parameter is the tracepoint's private data. */
	return type && btf_is_func_proto(type) && btf_vlen(type) >= 5;
}

int survey_run(const struct survey_options *options, struct survey *survey)
{
	struct hook_env env = { .scans_sleep = options->scans_sleep };
	struct resolver *resolver = NULL;
	struct ksyms *ksyms = NULL;
	struct btf *btf = NULL;
	int fn, err;

	memset(survey, 0, sizeof(*survey));
	host_read(NULL, &survey->host);
	err = check_host();
	if (err)
		return err;
	err = load_symbols(&ksyms);
	if (err)
		return err;
	btf = btf__load_vmlinux_btf();
	if (!btf) {
		err = cannot("cannot read the kernel's BTF: %s", strerror(errno));
		goto cleanup;
	}
	survey->switch_has_state = switch_has_state(btf);
	survey->pages_scanned_at = kvars_find(ksyms, "pages_scanned");
	survey->pages_sharing_at = kvars_find(ksyms, "pages_sharing");
	resolver = resolver_new(ksyms, options->plan, options->vmlinux);
	if (!resolver) {
		err = -ENOMEM;
		goto cleanup;
	}
	survey->hash = resolver_hash(resolver, survey->hash_note, sizeof(survey->hash_note),
				     &env.hash_symbol);
	env.resolver = resolver;
	env.ksyms = ksyms;
	env.btf = btf;
	/* The kernel waits for ksmd to sleep before it lets go of an optimized kprobe. */
	if (!options->scans_sleep)
		log_info("sleep_millisecs is 0: while ksmd never sleeps, the kernel can take half a "
			 "minute and more to attach or detach kprobes; with 1 it does not");
	for (fn = 0; fn < FN_COUNT; fn++) {
		if (!(options->functions & 1U << fn))
			continue;
		hook_resolve(&env, (enum ksmtrace_function)fn, &options->choice[fn],
			     &survey->hook[fn]);
		if (survey->hook[fn].rung != RUNG_NONE)
			survey->usable |= 1U << fn;
	}
cleanup:
	resolver_free(resolver);
	btf__free(btf);
	ksyms_free(ksyms);
	return err;
}
