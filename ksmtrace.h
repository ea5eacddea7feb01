/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records that cross from the kernel side (ksmtrace.bpf.c) to the user side.
 * Plain C: both compilers see the same layout. The kernel side includes vmlinux.h first.
 */
#ifndef KSMTRACE_H
#define KSMTRACE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "src/bucket.h"

/*
 * Every function that can be timed: X(symbol, shared), where shared is 1 when threads other
 * than ksmd run it too, so that its hooks must look at the thread. ksm_do_scan comes first:
 * it is the scan that the others happen in.
 */
#define KSMTRACE_FUNCTIONS(X)                                                                      \
	X(ksm_do_scan, 0)                                                                          \
	X(cmp_and_merge_page, 0)                                                                   \
	X(calc_checksum, 0)                                                                        \
	X(memcmp_pages, 1)

#define KSMTRACE_ENUM(symbol, shared) FN_##symbol,
enum ksmtrace_function { KSMTRACE_FUNCTIONS(KSMTRACE_ENUM) FN_COUNT };
#undef KSMTRACE_ENUM

/* How many calls the loader has the programs go through to learn what one costs. */
#define CALIBRATION_CALLS 32

/* A value that this kernel gives no way to know. */
#define KSMTRACE_UNKNOWN (~0ULL)

enum record_type { RECORD_SCAN = 1, RECORD_HISTOGRAM = 2, RECORD_PASS = 3 };

/* Durations of one function, in ns of ksmd's CPU time. min_ns and max_ns mean nothing while
 * count is 0. */
struct fn_stat {
	__u64 count;
	__u64 sum_ns;
	__u64 min_ns;
	__u64 max_ns;
};

/*
 * What happened since the record before: usually one scan (a ksm_do_scan call). A record
 * that found the ring buffer full stays in the kernel and the next scan is added to it, so
 * covers may be more than 1. It is 0 when ksm_do_scan itself is not timed and the record
 * only carries the other functions' calls of a span of time.
 */
struct scan_record {
	__u32 type; /* RECORD_SCAN */
	__u32 covers; /* scans in this record */
	__u64 seq; /* 1, 2, 3, ... over all records of all types */
	__u64 scans; /* scans since the start, this record's included */
	__u64 begin_ns; /* CLOCK_MONOTONIC, start of the first scan covered */
	__u64 end_ns; /* CLOCK_MONOTONIC, end of the last one */
	__u64 wall_ns; /* sum over the scans covered */
	__u64 cpu_ns; /* the same, in ksmd's CPU time */
	__u64 clock_ns; /* ksmd's CPU clock at end_ns; only differences mean anything */
	__u64 first_clock_ns; /* the same clock when the very first scan began */
	__u64 pages; /* pages scanned, or KSMTRACE_UNKNOWN */
	__u64 pages_growth; /* of the kernel's pages_scanned since the very first scan began */
	__u64 pass; /* full passes since the start, or KSMTRACE_UNKNOWN */
	__s64 merged; /* growth of pages_sharing; means nothing when merged_known is 0 */
	__u64 merged_known;
	struct fn_stat fn[FN_COUNT];
};

/* Everything about one function since the start: records replace each other, so that a lost
 * one loses nothing. */
struct histogram_record {
	__u32 type; /* RECORD_HISTOGRAM */
	__u32 function; /* enum ksmtrace_function */
	__u64 seq;
	struct fn_stat total;
	__u64 bucket[BUCKET_COUNT];
};

/* A full pass over all mergeable memory has ended (from the ksm_stop_scan tracepoint). */
struct pass_record {
	__u32 type; /* RECORD_PASS */
	__u32 reserved;
	__u64 seq;
	__u64 passes; /* ended since the start, this one included */
	__u64 begin_ns; /* CLOCK_MONOTONIC; 0 when the pass began before the start */
	__u64 end_ns;
};

#endif
