/* SPDX-License-Identifier: GPL-2.0-only */
/* What is found out about this kernel before anything is traced: whether tracing is possible
 * at all, how each function can be observed, which hash KSM uses, where its counters are. */
#ifndef KSMTRACE_SURVEY_H
#define KSMTRACE_SURVEY_H

#include <stdint.h>

#include "hook.h"
#include "host.h"

struct survey_options {
	unsigned int functions; /* mask: those to resolve */
	struct hook_choice choice[FN_COUNT];
	bool scans_sleep; /* sleep_millisecs will not be 0 */
	const char *plan, *vmlinux; /* files that the user named, or NULL */
};

struct survey {
	struct host host;
	struct hook hook[FN_COUNT];
	const char *hash; /* "xxh64", "xxh32", "jhash2", "crc32c" or "unknown" */
	char hash_note[160]; /* how it was told */
	uint64_t pages_scanned_at, pages_sharing_at; /* the counters' addresses, or 0 */
	bool switch_has_state; /* sched_switch carries the state (since 5.18) */
	unsigned int usable; /* mask of the functions with a rung */
};

/*
 * Returns 0. When tracing is impossible here, the reason and the remedy are logged and
 * -EOPNOTSUPP is returned; -ENOMEM. With no usable function it still returns 0: the notes
 * tell why.
 */
int survey_run(const struct survey_options *options, struct survey *survey);

#endif
