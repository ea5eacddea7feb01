/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KSM's directory in sysfs: settings and statistics read, settings changed for a run and put
 * back. Nothing here turns anything on by itself.
 */
#ifndef KSMTRACE_KSM_H
#define KSMTRACE_KSM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KSM_ROOT     "/sys/kernel/mm/ksm"
#define KSM_TEXT_MAX 64 /* longest name and longest value, with the final NUL */

struct ksm; /* owned by the caller, released with ksm_close() */

/*
 * Opens the directory root (NULL: KSM_ROOT). A directory standing in for it in tests has its
 * lock file beside it, named root with ".lock". Returns 0; -ENOENT when there is none: the
 * kernel is built without KSM, or sysfs is not mounted; -ENOMEM.
 */
int ksm_open(const char *root, struct ksm **ksm);

/* Frees only; it puts nothing back, see ksm_restore(). */
void ksm_close(struct ksm *ksm);

bool ksm_has(const struct ksm *ksm, const char *name);

/*
 * The value of name as it would be written: without the newline, and of a choice such as
 * "[none] scan-time" the chosen word. Returns 0; -ENOENT when this kernel has no such file;
 * -EINVAL for a name that is none or (numbers) a value that is no number; -ERANGE when it
 * does not fit; another negative errno of reading it. *value is untouched on error.
 */
int ksm_read_text(const struct ksm *ksm, const char *name, char *text, size_t size);
int ksm_read_u64(const struct ksm *ksm, const char *name, uint64_t *value);
int ksm_read_s64(const struct ksm *ksm, const char *name, int64_t *value);

enum ksm_kind {
	KSM_SETTINGS, /* what the kernel lets be written */
	KSM_STATISTICS, /* what it only shows */
};

struct ksm_value {
	char name[KSM_TEXT_MAX];
	char text[KSM_TEXT_MAX]; /* as by ksm_read_text() */
};

/* All files of that kind, sorted by name. *values is an array of *count for the caller to
 * free() (NULL when there is none). Returns 0 or a negative errno. */
int ksm_list(const struct ksm *ksm, enum ksm_kind kind, struct ksm_value **values, size_t *count);

/* Splits "NAME=VALUE". Returns 0; -EINVAL when it is not that, or NAME or VALUE cannot be one
 * (empty, too long, a '/' in the name). name and value have KSM_TEXT_MAX bytes each. */
int ksm_parse_assignment(const char *text, char *name, char *value);

/*
 * Sets name for the run, and remembers what was there when this is the first time. What other
 * settings the kernel changes along with it (advisor_mode moves pages_to_scan) is remembered
 * too. The former value is noted before anything is written, in memory shared with forked
 * processes: whoever of them calls ksm_restore() puts it back.
 *
 * Returns 0, or an error with why (size bytes) a whole sentence on it and its remedy:
 * -ENOENT no such setting in this kernel; -EACCES it is a statistic; -EINVAL or -ERANGE the
 * kernel refuses the value; -EBUSY it cannot be changed now (pages are shared, or another run
 * of this tool holds it at another value); -EPERM not permitted; another negative errno.
 * Nothing is changed on error.
 */
int ksm_set(struct ksm *ksm, const char *name, const char *value, char *why, size_t size);

/*
 * Puts back all that ksm_set() changed, last change first, each once however often and by
 * whichever process it is called. A value that somebody else has changed in the meantime is
 * put back too, with a warning that tells both. One that another run of this tool holds as
 * well is left to that run, which puts back the value that the first of them found.
 *
 * max_page_sharing and merge_across_nodes, which the kernel changes only while no page is
 * shared, cost an unmerging: none was shared when they were set. They come last, and are tried
 * for up to 5 s while the kernel calls them busy. Returns 0 or the first error, each logged.
 */
int ksm_restore(struct ksm *ksm);

/* How many settings ksm_restore() would have to put back. */
size_t ksm_changes(const struct ksm *ksm);

/* The descriptor that a forked process must keep open for ksm_restore(), or -1. */
int ksm_fd(const struct ksm *ksm);

#endif
