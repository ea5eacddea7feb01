/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How each function is observed on this kernel: the ladder. For each function the first rung
 * that works, and working means that it was attached once and detached again.
 */
#ifndef KSMTRACE_HOOK_H
#define KSMTRACE_HOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "function.h"
#include "ksyms.h"
#include "sites.h"

enum rung {
	RUNG_FENTRY, /* out of line, BTF and an ftrace prologue: fentry and fexit */
	RUNG_KPROBE, /* out of line: kprobe and kretprobe */
	RUNG_INLINED, /* kprobes at the sites where an inlined copy begins and ends */
	RUNG_STANDIN, /* kprobe and kretprobe on a function that runs exactly there */
	RUNG_SCHEDULER, /* ksm_do_scan: from ksmd's waking to its sleeping */
	RUNG_NONE,
	RUNG_COUNT
};

#define HOOK_NOTE_MAX 400

struct hook {
	enum rung rung;
	char symbol[SITE_SYMBOL_MAX]; /* what is hooked by fentry, kprobe, stand-in */
	struct fn_sites sites; /* where, for the rung inlined */
	bool exact; /* the time is that of the function, no more and no less */
	char note[HOOK_NOTE_MAX]; /* why not a better rung, and what would help */
};

/* A rung that the user wants (--hook), with the source of the sites for the rung inlined. */
struct hook_choice {
	bool forced;
	enum rung rung;
	enum site_source source; /* SITE_NONE: any */
};

struct btf;
struct resolver;

/* What the ladder knows about the kernel. The caller keeps what it points to. */
struct hook_env {
	const struct ksyms *ksyms;
	const struct btf *btf; /* the kernel's own */
	struct resolver *resolver;
	const char *hash_symbol; /* the hash function that calc_checksum calls, or NULL */
	bool scans_sleep; /* sleep_millisecs is not 0 */
};

const char *rung_name(enum rung rung);
const char *site_source_name(enum site_source source); /* NULL for SITE_NONE */

/* Parses FUNCTION=RUNG or FUNCTION=inlined:SOURCE. Returns 0, -ENOENT for an unknown function
 * and -EINVAL for an unknown rung or source. */
int hook_choice_parse(const char *text, enum ksmtrace_function *fn, struct hook_choice *choice);

/* Climbs the ladder for fn. The result is always usable: RUNG_NONE with a note when nothing
 * works. Nothing stays attached. */
void hook_resolve(const struct hook_env *env, enum ksmtrace_function fn,
		  const struct hook_choice *choice, struct hook *hook);

/*
 * Whether the running kernel lets a kprobe (or a kretprobe) be placed at symbol+offset: places
 * it, enables it and removes it. Returns 0; -ENOTSUP when the kernel has no kprobes; the
 * kernel's error otherwise.
 */
int hook_try_kprobe(const char *symbol, uint64_t offset, bool retprobe);

#endif
