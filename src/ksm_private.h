/* SPDX-License-Identifier: GPL-2.0-only */
/* What ksm.c (reading) and ksm_set.c (changing and putting back) share, and nobody else. */
#ifndef KSMTRACE_KSM_PRIVATE_H
#define KSMTRACE_KSM_PRIVATE_H

#include "ksm.h"
#include "lease.h"

#define KSM_RAW_MAX	256 /* a file's whole text */
#define KSM_CHANGES_MAX 64

struct ksm_change {
	char name[KSM_TEXT_MAX];
	char former[KSM_TEXT_MAX]; /* to be put back */
	char written[KSM_TEXT_MAX]; /* as the kernel shows it after the last ksm_set() */
	bool moved; /* the kernel may have changed it since: no warning for that */
	bool leased;
	bool restored;
};

/* Shared with forked processes. An entry is whole before count covers it. */
struct ksm_journal {
	unsigned int count; /* accessed atomically */
	struct ksm_change change[KSM_CHANGES_MAX];
};

struct ksm {
	char *root;
	struct ksm_journal *journal;
	struct lease *lease; /* NULL: no lock file, other runs are not looked at */
};

/* The path of name; path has PATH_MAX bytes. -EINVAL for what cannot be a name. */
int ksm_path(const struct ksm *ksm, const char *name, char *path);

/* Whether name is a setting or a statistic; -ENOENT when it is neither. */
int ksm_kind_of(const struct ksm *ksm, const char *name, enum ksm_kind *kind);

/* The whole first line of name, choices with their brackets. */
int ksm_read_raw(const struct ksm *ksm, const char *name, char *text, size_t size);

#endif
