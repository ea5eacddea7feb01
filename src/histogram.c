// SPDX-License-Identifier: GPL-2.0-only
/* Log-linear histograms on the user side: counting, merging, quantiles. */
#include <math.h>

#include "histogram.h"

void histogram_add(struct histogram *h, uint64_t ns)
{
	struct fn_stat one = { .count = 1, .sum_ns = ns, .min_ns = ns, .max_ns = ns };

	fn_stat_merge(&h->stat, &one);
	h->bucket[bucket_index(ns)]++;
}

void fn_stat_merge(struct fn_stat *into, const struct fn_stat *from)
{
	if (!from->count)
		return;
	if (!into->count || from->min_ns < into->min_ns)
		into->min_ns = from->min_ns;
	if (!into->count || from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
	into->count += from->count;
	into->sum_ns += from->sum_ns;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	unsigned int i;

	fn_stat_merge(&into->stat, &from->stat);
	for (i = 0; i < BUCKET_COUNT; i++)
		into->bucket[i] += from->bucket[i];
}

double fn_stat_mean(const struct fn_stat *stat)
{
	return stat->count ? (double)stat->sum_ns / (double)stat->count : 0.0;
}

uint64_t histogram_bucket_sum(const struct histogram *h)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < BUCKET_COUNT; i++)
		sum += h->bucket[i];
	return sum;
}

double histogram_quantile(const struct histogram *h, double q)
{
	double rank = ceil(q * (double)h->stat.count), middle;
	uint64_t seen = 0;
	unsigned int i;

	if (!h->stat.count)
		return 0.0;
	if (rank <= 1)
		return (double)h->stat.min_ns;
	if (rank >= (double)h->stat.count)
		return (double)h->stat.max_ns;
	for (i = 0; i < BUCKET_OVERFLOW; i++) {
		seen += h->bucket[i];
		if ((double)seen >= rank)
			break;
	}
	if (i == BUCKET_OVERFLOW)
		return (double)h->stat.max_ns;
	/* The highest value in a bucket is one less than its upper bound. */
	middle = ((double)bucket_low(i) + (double)(bucket_high(i) - 1)) / 2;
	if (middle < (double)h->stat.min_ns)
		return (double)h->stat.min_ns;
	if (middle > (double)h->stat.max_ns)
		return (double)h->stat.max_ns;
	return middle;
}
