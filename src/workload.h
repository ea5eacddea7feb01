/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The built-in workload: processes that hold memory with a known share of mergeable pages,
 * marked for KSM. It turns nothing on: whether ksmd scans is up to KSM's settings.
 */
#ifndef KSMTRACE_WORKLOAD_H
#define KSMTRACE_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where in the page contents differ from each other: how far memcmp has to go. */
enum workload_differ {
	WORKLOAD_DIFFER_FIRST,
	WORKLOAD_DIFFER_MIDDLE,
	WORKLOAD_DIFFER_LAST, /* the worst case of memcmp */
	WORKLOAD_DIFFER_RANDOM, /* for each content somewhere else */
};

struct workload_options {
	unsigned int processes;
	uint64_t mib; /* of each process */
	unsigned int duplicate_percent;
	unsigned int zero_percent;
	unsigned int volatile_percent; /* rewritten all the time; what is left is unique */
	enum workload_differ differ;
	uint64_t seed; /* same seed and options, same pages */
	bool huge; /* ask for huge pages; else they are kept away from this memory */
	int cancel_fd; /* when it becomes readable, workload_start() gives up; -1 for none */
};

/* 2 processes of 64 MiB: 50 % duplicate, 10 % zero, 10 % volatile, 30 % unique. */
#define WORKLOAD_DEFAULTS                                                                          \
	{                                                                                          \
		.processes = 2, .mib = 64, .duplicate_percent = 50, .zero_percent = 10,            \
		.volatile_percent = 10, .differ = WORKLOAD_DIFFER_RANDOM, .seed = 1,               \
		.cancel_fd = -1                                                                    \
	}

#define WORKLOAD_PROCESSES_MAX 1024
#define WORKLOAD_MIB_MAX       (1ULL << 20)

/* --- pages: pure functions of the options (workload_page.c) ------------------------------ */

enum workload_kind {
	WORKLOAD_DUPLICATE,
	WORKLOAD_ZERO,
	WORKLOAD_VOLATILE,
	WORKLOAD_UNIQUE,
};

/* How many there are in all processes together. */
struct workload_pages {
	uint64_t total;
	uint64_t kind[WORKLOAD_UNIQUE + 1];
	uint64_t contents; /* different ones among the duplicate pages */
};

/* Pages of one process. */
uint64_t workload_process_pages(const struct workload_options *options, size_t page_size);

/* What page (0 ... pages of a process - 1) is; the same in every process. */
enum workload_kind workload_page_kind(const struct workload_options *options, uint64_t page);

/* Fills buffer (page_size bytes, a multiple of 8) with the random-looking pattern that all pages
 * but the zero ones share. */
void workload_fill_pattern(const struct workload_options *options, void *buffer, size_t page_size);

/*
 * Fills buffer with page of process (from 0): the pattern, but for 8 bytes where the options
 * say that contents differ, or zeros. Each content of duplicate pages is there about 16 times,
 * spread over the processes: well below the 256 that one KSM page is shared by. shared is the
 * pattern, filled once for many pages, or NULL; the result is the same.
 */
void workload_fill_page(const struct workload_options *options, unsigned int process, uint64_t page,
			const void *shared, void *buffer, size_t page_size);

/* Gives a volatile page in buffer its version-th content (workload_fill_page() gives version
 * 0): writes 8 bytes. */
void workload_rewrite_page(const struct workload_options *options, unsigned int process,
			   uint64_t page, uint64_t version, void *buffer, size_t page_size);

void workload_count(const struct workload_options *options, size_t page_size,
		    struct workload_pages *pages);

/* A line on what there is, for people. */
void workload_describe(const struct workload_options *options, char *text, size_t size);

/* --- processes (workload.c) --------------------------------------------------------------- */

struct workload; /* owned by the caller, released with workload_stop() */

/*
 * Starts the processes and returns when all of their memory is in place and, in all of them,
 * marked mergeable. They are a process group of their own, and end with the calling thread,
 * even when it is killed.
 *
 * Returns 0, or an error with why (size bytes) a whole sentence on it: -EINVAL options out of
 * range, -ENOMEM not enough memory, -EOPNOTSUPP the kernel is built without KSM (or, with
 * huge, without huge pages), -EINTR cancelled (cancel_fd, or a signal handler ran), -ECHILD a
 * process died; another negative errno. Nothing is left behind then.
 */
int workload_start(const struct workload_options *options, struct workload **workload, char *why,
		   size_t size);

/* Ends the processes, waits for them, frees. NULL is fine. */
void workload_stop(struct workload *workload);

/* Whether all processes are still there (it reaps those that are not). */
bool workload_running(struct workload *workload);

/* The process group, for guard_set_workload(). */
pid_t workload_group(const struct workload *workload);

#endif
