/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine the tool runs on: kernel, processor, ksmd, privileges. */
#ifndef KSMTRACE_HOST_H
#define KSMTRACE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HOST_BUILD_ID_MAX 64 /* bytes; GNU build-ids have 20 */

struct host {
	char release[65]; /* as uname -r */
	char arch[65]; /* as uname -m */
	char cpu[128]; /* model name; "" when the machine does not tell */
	unsigned char build_id[HOST_BUILD_ID_MAX]; /* of the running kernel */
	size_t build_id_size; /* in bytes; 0 when the kernel does not tell */
	char build_id_hex[2 * HOST_BUILD_ID_MAX + 1]; /* "" then */
};

/*
 * In all of these, root is put before every path, for tests ("" and NULL: the real files).
 * release and arch always come from uname().
 */

/* Fills *host; what cannot be learned stays empty. */
void host_read(const char *root, struct host *host);

/*
 * The GNU build-id among ELF notes (notes, size bytes, in this machine's byte order). id has
 * HOST_BUILD_ID_MAX bytes. Returns its length, or -ENOENT when there is none that is whole
 * and not longer than that.
 */
ssize_t host_find_build_id(const void *notes, size_t size, unsigned char *id);

struct ksmd {
	pid_t pid;
	char state; /* as in ps: R running, S sleeping, D ... */
};

/* Looks for ksmd among kernel threads. Returns 0; -ESRCH when this pid namespace has none (a
 * container, or a kernel without KSM); negative errno when there is no /proc to look in. */
int host_find_ksmd(const char *root, struct ksmd *ksmd);

/*
 * Which capabilities tracing needs and the process lacks (effective set): CAP_BPF and
 * CAP_PERFMON, for both of which CAP_SYS_ADMIN will do (before 5.8 it is the only one), and
 * CAP_SYSLOG. text gets their names, separated by ", ". Returns how many, or a negative errno.
 */
int host_missing_capabilities(char *text, size_t size);

/* Whether the process is in a user namespace of its own, where capabilities count for nothing
 * with BPF. */
bool host_in_user_namespace(const char *root);

/* The lockdown mode: "none", "integrity" or "confidentiality". Returns 0; -ENOENT when the
 * kernel has no lockdown (or securityfs is not mounted); negative errno. */
int host_lockdown(const char *root, char *mode, size_t size);

/* Memory that can be had without swapping, in bytes; UINT64_MAX when that is not known. */
uint64_t host_memory_available(const char *root);

#endif
