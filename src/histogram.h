/* SPDX-License-Identifier: GPL-2.0-only */
/* A function's durations: exact count, sum, minimum and maximum, and a log-linear histogram
 * (bucket.h) for everything that needs a distribution. All values are nanoseconds. */
#ifndef KSMTRACE_HISTOGRAM_H
#define KSMTRACE_HISTOGRAM_H

#include <stdint.h>

#include "ksmtrace.h"

struct histogram {
	struct fn_stat stat;
	uint64_t bucket[BUCKET_COUNT];
};

/* Counts one duration. */
void histogram_add(struct histogram *h, uint64_t ns);

/* Adds from to into, for all purposes as if the calls had been counted there. */
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The sum of two stats; either may be empty. */
void fn_stat_merge(struct fn_stat *into, const struct fn_stat *from);

/* The mean in ns, or 0 when nothing was counted. */
double fn_stat_mean(const struct fn_stat *stat);

/* How many calls the buckets hold; the same as stat.count in a consistent histogram. */
uint64_t histogram_bucket_sum(const struct histogram *h);

/*
 * The q-quantile, 0 <= q <= 1: the value of rank ceil(q * count), taken from the middle of the
 * bucket that holds it, but never below the minimum nor above the maximum, which are exact
 * (and are what q = 0 and q = 1 give; a value in the overflow bucket is given as the maximum).
 * Off from the true value by at most half the bucket's width. 0 when nothing was counted.
 */
double histogram_quantile(const struct histogram *h, double q);

#endif
