/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a mean is worth, and how two of them differ: interval estimates on top of GSL. Which
 * test, and why, is told in docs/comparing.md.
 */
#ifndef KSMTRACE_STATS_H
#define KSMTRACE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATS_CONFIDENCE  0.95
#define STATS_BATCHES_MAX 64

/*
 * The means of scans, in the order in which they came, gathered into batches of neighbours:
 * means of scans that follow each other resemble each other, means of long batches hardly do.
 * When there are STATS_BATCHES_MAX batches, neighbours are joined and batches are twice as
 * long, so that from then on there are 32 to 63, in a fixed amount of memory.
 */
struct stats_batches {
	uint64_t length;      /* of a batch; a power of 2 */
	unsigned int batches; /* full ones */
	double sum[STATS_BATCHES_MAX];
	uint64_t open; /* how many values are in open_sum, the batch that is not full */
	double open_sum;
};

/* What of them is needed for an estimate. */
struct stats_batch_summary {
	uint64_t length;
	uint64_t batches; /* full ones; 0: not known */
	double variance;  /* sample variance of the batches' means */
	double lag1;	  /* correlation of a batch's mean with the next one's */
};

void stats_batches_init(struct stats_batches *b);
void stats_batches_add(struct stats_batches *b, double value);
struct stats_batch_summary stats_batches_sum_up(const struct stats_batches *b);

/* A mean and how well it is known. */
struct stats_estimate {
	double mean;
	double variance; /* of the mean, not of what it is the mean of */
	double df;	 /* degrees of freedom of the variance; 0: the variance is not known */
};

/*
 * The mean of n scans from their sample variance, as if scans were independent; from their
 * batches, for which they need not be. variance and batches are those that the scans have,
 * not those of the mean. Both give df 0 when there are fewer than two.
 */
struct stats_estimate stats_from_scans(double mean, double variance, uint64_t n);
struct stats_estimate stats_from_batches(double mean, const struct stats_batch_summary *batches,
					 uint64_t n);

/*
 * The mean of several runs, each weighing the same. The spread between the runs decides, but
 * never to a smaller variance than what the runs say of themselves. One run: that run.
 */
struct stats_estimate stats_from_runs(const struct stats_estimate *run, size_t runs);

/* The sample standard deviation of the runs' means; 0 for fewer than two. */
double stats_run_spread(const struct stats_estimate *run, size_t runs);

/*
 * For a comparison of a single run with several: the single run is taken to scatter from run to
 * run as much, in relation to its mean, as the others do (spread, the standard deviation of the
 * lender's runs). Its variance only ever grows.
 */
void stats_lend_spread(const struct stats_estimate *lender, size_t runs, double spread,
		       struct stats_estimate *single);

/* An interval with its estimate. known is false when the data give no bounds at all; high is
 * INFINITY where only an upper bound is missing. */
struct stats_interval {
	bool known;
	double value, low, high;
};

/* b.mean - a.mean, by Welch's t with Satterthwaite's degrees of freedom. */
struct stats_interval stats_difference(const struct stats_estimate *a,
				       const struct stats_estimate *b, double confidence);

/*
 * b.mean / a.mean: every ratio r that the same test does not reject for b.mean - r * a.mean
 * (Fieller's interval). It excludes 1 exactly when that of the difference excludes 0.
 * Both means must not be negative; value is NAN and known false when a.mean is 0.
 */
struct stats_interval stats_ratio(const struct stats_estimate *a, const struct stats_estimate *b,
				  double confidence);

enum stats_verdict { STATS_NOT_SHOWN, STATS_FASTER, STATS_SLOWER };

/* From the interval of a ratio of times alone. */
enum stats_verdict stats_verdict(const struct stats_interval *ratio);
const char *stats_verdict_word(enum stats_verdict verdict);

#endif
