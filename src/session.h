/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One run: what is known about it from the start, and what has been counted so far. Kernel
 * records go in, lines go out to the sinks.
 */
#ifndef KSMTRACE_SESSION_H
#define KSMTRACE_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <gsl/gsl_rstat.h>

#include "histogram.h"
#include "hook.h"
#include "host.h"
#include "ksm.h"
#include "recording.h"
#include "stats.h"
#include "tracer.h"

/* A scan, or all scans of an interval, as a line of output shows it. */
struct line {
	uint64_t end_ns; /* CLOCK_REALTIME */
	uint64_t begin_ns;
	uint64_t scan; /* number of the last scan in it */
	uint64_t covers; /* how many scans are in it */
	bool cut; /* the calls of a last scan that was not watched to its end */
	uint64_t pass; /* passes ended since the start */
	uint64_t pages; /* KSMTRACE_UNKNOWN where the kernel does not tell */
	uint64_t wall_ns; /* inside scans */
	uint64_t cpu_ns; /* the same, ksmd's CPU time */
	double cpu_percent; /* ksmd's CPU time over wall time since the line before */
	int64_t merged; /* growth of pages_sharing within the scans */
	bool merged_known;
	struct fn_stat fn[FN_COUNT];
};

/* A sink is told of the beginning, of each line and pass, and of the end. Any may be NULL.
 * Returns 0 or a negative errno that ends the run. */
struct session;
struct sink {
	int (*begin)(void *arg, const struct session *session);
	int (*line)(void *arg, const struct session *session, const struct line *line);
	int (*pass)(void *arg, const struct session *session, const struct pass_record *pass);
	int (*end)(void *arg, const struct session *session);
	void *arg;
	bool every_scan; /* lines are scans even when the run prints intervals */
};

/* The mean and sample variance of the per-scan means of a function, each scan weighing the
 * same. Scans that had to be folded into one record are left out. */
struct scan_means {
	uint64_t scans;
	double mean_ns;
	double variance_ns2;
	struct stats_batch_summary batches; /* of neighbours, which are not independent */
};

#define SINKS_MAX 6

struct session {
	/* what is known at the start */
	struct host host;
	const char *hash; /* as in struct survey */
	unsigned int functions; /* mask of those that are timed */
	unsigned int requested; /* mask of those that were asked for */
	const struct recording *baseline; /* to compare with, or NULL; owned by the caller */
	struct hook hook[FN_COUNT];
	struct ksm_value *setting; /* released with the session */
	size_t settings;
	uint64_t started_ns; /* CLOCK_REALTIME when armed */
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	uint64_t interval_ns; /* 0: a line a scan */
	double call_ns; /* as tracer_call_ns() */

	/* what was counted */
	uint64_t scans, passes, pages;
	uint64_t pages_growth; /* of pages_scanned, from the first scan's begin to the last's end */
	uint64_t scan_wall_ns, scan_cpu_ns;
	uint64_t ksmd_cpu_ns; /* from the first scan's begin to the last one's end */
	uint64_t elapsed_ns; /* from arming to the end of the run */
	struct histogram histogram[FN_COUNT];
	struct fn_stat recorded[FN_COUNT]; /* the sum of all scan records */
	bool cut; /* the last scan was not watched to its end */
	uint64_t recorded_calls; /* of all functions together */
	struct tracer_losses losses;
	int64_t sharing_before, sharing_after; /* pages_sharing, -1 unknown */
	int64_t profit_after; /* general_profit in bytes; INT64_MIN unknown */
	int error; /* a sink's first failure */

	/* private */
	struct sink sink[SINKS_MAX];
	unsigned int sinks;
	gsl_rstat_workspace *means[FN_COUNT];
	struct stats_batches batches[FN_COUNT]; /* of the same means */
	struct line open; /* the interval's line so far */
	bool open_used;
	uint64_t interval_end_ns; /* CLOCK_MONOTONIC */
	uint64_t last_clock_ns, last_end_ns; /* at the line before */
	uint64_t last_interval_clock_ns, last_interval_end_ns;
	uint64_t clock_ns;
};

/* Sets all to "nothing counted". Returns 0 or -ENOMEM. */
int session_init(struct session *s);
void session_release(struct session *s);

/* Sinks are called in the order in which they were added. */
void session_add_sink(struct session *s, const struct sink *sink);

/* The run begins: armed_ns is CLOCK_MONOTONIC when the tracer was armed. */
void session_begin(struct session *s, uint64_t armed_ns);

/* The tracer's events. */
void session_scan(struct session *s, const struct scan_record *record);
void session_histogram(struct session *s, const struct histogram_record *record);
void session_pass(struct session *s, const struct pass_record *record);

/* Closes the interval that is over at now_ns (CLOCK_MONOTONIC), if there are intervals. */
void session_tick(struct session *s, uint64_t now_ns);

/* The run is over: last line, then every sink's end. */
void session_end(struct session *s, uint64_t now_ns);

void session_scan_means(const struct session *s, enum ksmtrace_function fn,
			struct scan_means *means);

/* The programs' share in ksmd's time, ns a page: what it costs to get into them comes on top.
 * NAN when calls, pages or their cost are not known. */
double session_tracing_cost(const struct session *s);

/* Calls that the kernel counted and no record told of: 0 unless something is wrong. */
uint64_t session_unaccounted(const struct session *s);

#endif
