/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans: sites found once, kept in a small text file, and good for every machine that runs
 * the very same kernel. And the identity of a kernel, by which they are found.
 */
#ifndef KSMTRACE_PLAN_H
#define KSMTRACE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "function.h"
#include "sites.h"

#define BUILD_ID_MAX 64
#define RELEASE_MAX  65 /* as in struct utsname */

/* A kernel: its build-id is the same only for the very same code. */
struct kernel_id {
	uint8_t build_id[BUILD_ID_MAX];
	unsigned int build_id_size; /* bytes; 0: not known */
	char release[RELEASE_MAX];  /* as uname -r prints it */
	char machine[16];	    /* as uname -m prints it: x86_64, aarch64 */
};

/* The running kernel, from /sys/kernel/notes and uname. Returns 0 or a negative errno; the
 * release and machine are set even then. */
int kernel_id_running(struct kernel_id *id);

/* The build-id in hexadecimal digits, in text[] of at least 2 * BUILD_ID_MAX + 1 bytes. */
void kernel_id_hex(const struct kernel_id *id, char *text);

/* Whether both have a build-id and it is the same. */
bool kernel_id_same(const struct kernel_id *a, const struct kernel_id *b);

struct plan {
	struct kernel_id kernel;
	struct fn_sites fn[FN_COUNT]; /* source SITE_PLAN, or SITE_NONE: nothing about it */
};

/*
 * Writes plan to path, as output_open() has it ("-": standard output). A file appears whole or
 * not at all. Returns 0 or a negative errno; the error is logged.
 */
int plan_save(const struct plan *plan, const char *path);

/*
 * Reads the plan at path into *plan. Returns 0; or a negative errno, with one sentence in why
 * that names the file and the line: -ENOENT and others when it cannot be opened, -EINVAL when
 * it is damaged, -ENOTSUP when it is of a newer format.
 */
int plan_load(const char *path, struct plan *plan, char *why, size_t why_size);

/* The same from size bytes of text, called name in messages. */
int plan_parse(const char *text, size_t size, const char *name, struct plan *plan, char *why,
	       size_t why_size);

/*
 * The plan for kernel: at path when that is given, else BUILD-ID.plan in /etc/ksmtrace/plans,
 * PREFIX/share/ksmtrace/plans and, when the program runs from a source tree, its plans/.
 * Returns 0; -ENOENT when there is none; -ESTALE when it is for another kernel; what
 * plan_load() returns. On error why has one sentence.
 */
int plan_find(const struct kernel_id *kernel, const char *path, struct plan *plan, char *why,
	      size_t why_size);

#endif
