// SPDX-License-Identifier: GPL-2.0-only
/* Interval estimates: against published figures, and by simulation with a fixed seed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_statistics_double.h>

#include "stats.h"

static void assert_near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%.10g is not within %g of %.10g", value, tolerance, expected);
}

static struct stats_estimate of(const double *x, size_t n)
{
	return stats_from_scans(gsl_stats_mean(x, 1, n), gsl_stats_variance(x, 1, n), n);
}

/* Student's sleep data, with the interval that R's t.test() prints for it. */
static void welch_gives_the_published_interval(void **state)
{
	const double one[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
	const double two[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
	struct stats_estimate a = of(two, 10), b = of(one, 10);
	struct stats_interval d = stats_difference(&a, &b, 0.95);

	(void)state;
	assert_true(d.known);
	assert_near(d.value, -1.58, 1e-12);
	assert_near(d.low, -3.3654832, 1e-6);
	assert_near(d.high, 0.2054832, 1e-6);
}

/* Where only one mean is uncertain, Fieller's interval has a closed form. */
static void ratio_agrees_with_the_closed_forms(void **state)
{
	struct stats_estimate exact = {100, 0, 9}, uncertain = {150, 25, 9};
	double reach = gsl_cdf_tdist_Pinv(0.975, 9) * 5;
	struct stats_interval r = stats_ratio(&exact, &uncertain, 0.95);

	(void)state;
	assert_near(r.value, 1.5, 1e-12);
	assert_near(r.low, (150 - reach) / 100, 1e-9);
	assert_near(r.high, (150 + reach) / 100, 1e-9);
	r = stats_ratio(&uncertain, &exact, 0.95);
	assert_near(r.low, 100 / (150 + reach), 1e-9);
	assert_near(r.high, 100 / (150 - reach), 1e-9);
}

static void ratio_excludes_one_exactly_when_the_difference_excludes_zero(void **state)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	int i, shown = 0;

	(void)state;
	gsl_rng_set(rng, 7);
	for (i = 0; i < 3000; i++) {
		struct stats_estimate a = {gsl_ran_flat(rng, 50, 150), gsl_ran_flat(rng, 0, 600),
					   gsl_ran_flat(rng, 1, 40)};
		struct stats_estimate b = {gsl_ran_flat(rng, 50, 150), gsl_ran_flat(rng, 0, 600),
					   gsl_ran_flat(rng, 1, 40)};
		struct stats_interval d = stats_difference(&a, &b, 0.95);
		struct stats_interval r = stats_ratio(&a, &b, 0.95);

		assert_true(r.low <= r.value && r.value <= r.high);
		assert_int_equal(d.high < 0, stats_verdict(&r) == STATS_FASTER);
		assert_int_equal(d.low > 0, stats_verdict(&r) == STATS_SLOWER);
		shown += stats_verdict(&r) != STATS_NOT_SHOWN;
	}
	/* Both answers came up often. */
	assert_in_range(shown, 500, 2500);
	gsl_rng_free(rng);
}

static void what_gives_no_interval_says_so(void **state)
{
	struct stats_estimate good = {100, 1, 20}, one = stats_from_scans(100, 0, 1);
	struct stats_estimate zero = {0, 0, 20}, vague = {100, 1e6, 20};
	struct stats_interval r;

	(void)state;
	assert_false(stats_ratio(&good, &one, 0.95).known);
	assert_false(stats_ratio(&one, &good, 0.95).known);
	assert_false(stats_difference(&one, &good, 0.95).known);
	r = stats_ratio(&zero, &good, 0.95);
	assert_false(r.known);
	assert_true(isnan(r.value));
	assert_int_equal(stats_verdict(&r), STATS_NOT_SHOWN);
	/* A base that may be nothing at all: no ratio is too large. */
	r = stats_ratio(&vague, &good, 0.95);
	assert_true(r.known);
	assert_true(isinf(r.high));
	r = stats_ratio(&good, &vague, 0.95);
	assert_near(r.low, 0, 0);
	/* No scatter at all: the interval is a point, and a difference is one. */
	good.variance = 0;
	r = stats_ratio(&good, &good, 0.95);
	assert_near(r.low, 1, 0);
	assert_near(r.high, 1, 0);
	assert_int_equal(stats_verdict(&r), STATS_NOT_SHOWN);
}

/* --- batches -------------------------------------------------------------------------------- */

static void batches_hold_every_scan_of_a_long_run(void **state)
{
	struct stats_batch_summary s;
	struct stats_batches b;
	int i;

	(void)state;
	stats_batches_init(&b);
	s = stats_batches_sum_up(&b);
	assert_int_equal(s.batches, 0);
	for (i = 0; i < 63; i++)
		stats_batches_add(&b, i);
	s = stats_batches_sum_up(&b);
	assert_int_equal(s.batches, 63);
	assert_int_equal(s.length, 1);
	assert_near(s.variance, 63 * 64 / 12.0, 1e-9);
	for (; i < 1000; i++)
		stats_batches_add(&b, i);
	/* 64 of 16 were joined at 1024; before that 62 of 16 and 8 scans more. */
	s = stats_batches_sum_up(&b);
	assert_int_equal(s.batches, 62);
	assert_int_equal(s.length, 16);
	assert_near(s.variance, 256 * 62 * 63 / 12.0, 1e-6);
	for (; i < 1024; i++)
		stats_batches_add(&b, i);
	s = stats_batches_sum_up(&b);
	assert_int_equal(s.batches, 32);
	assert_int_equal(s.length, 32);
}

/* --- coverage ------------------------------------------------------------------------------- */

#define TRIALS 4000

/* A scan's mean: 100, some percent of scatter, correlation r with the scan before. */
struct process {
	double r, sd, x;
};

static double next(struct process *p, const gsl_rng *rng)
{
	p->x = p->r * p->x + sqrt(1 - p->r * p->r) * gsl_ran_gaussian(rng, 1);
	return 100 + p->sd * p->x;
}

/* One run; level moves all of it. */
static struct stats_estimate simulate(const gsl_rng *rng, double r, double sd, int scans,
				      double level, bool independent)
{
	struct process p = {r, sd, gsl_ran_gaussian(rng, 1)};
	double *x = malloc((size_t)scans * sizeof(*x));
	struct stats_batch_summary summary;
	struct stats_batches b;
	struct stats_estimate e;
	int i;

	stats_batches_init(&b);
	for (i = 0; i < scans; i++) {
		x[i] = next(&p, rng) * level;
		stats_batches_add(&b, x[i]);
	}
	summary = stats_batches_sum_up(&b);
	e = independent ? of(x, (size_t)scans)
			: stats_from_batches(gsl_stats_mean(x, 1, (size_t)scans), &summary,
					     (uint64_t)scans);
	free(x);
	return e;
}

/* In how many of 100 trials the interval for one run a side holds the true ratio. */
static double coverage(double r, double sd_a, double sd_b, int scans_a, int scans_b,
		       double true_ratio, bool independent)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	int i, trials = scans_a + scans_b > 1000 ? TRIALS / 4 : TRIALS, held = 0;

	gsl_rng_set(rng, 20261130);
	for (i = 0; i < trials; i++) {
		struct stats_estimate a = simulate(rng, r, sd_a, scans_a, 1, independent);
		struct stats_estimate b = simulate(rng, r, sd_b, scans_b, true_ratio, independent);
		struct stats_interval q = stats_ratio(&a, &b, STATS_CONFIDENCE);

		held += q.known && q.low <= true_ratio && true_ratio <= q.high;
	}
	gsl_rng_free(rng);
	print_message("# correlation %.2f, %d and %d scans, ratio %.2f%s: %.1f %% held\n", r,
		      scans_a, scans_b, true_ratio, independent ? ", taken for independent" : "",
		      100.0 * held / trials);
	return 100.0 * held / trials;
}

static void interval_for_independent_scans_holds_what_it_promises(void **state)
{
	(void)state;
	assert_near(coverage(0, 5, 5, 30, 30, 1, true), 95, 1);
	assert_near(coverage(0, 20, 5, 30, 200, 1.03, true), 95, 1);
	assert_near(coverage(0, 10, 30, 100, 40, 0.3, true), 95, 1);
	assert_near(coverage(0, 30, 30, 30, 30, 3.35, true), 95, 1);
}

/* Batches cost little where they are not needed, and hold where they are. */
static void interval_by_batches_holds_for_dependent_scans(void **state)
{
	(void)state;
	assert_in_range((int)coverage(0, 20, 20, 60, 60, 1, false), 94, 98);
	assert_in_range((int)coverage(0.6, 20, 20, 300, 300, 1, false), 93, 98);
	assert_in_range((int)coverage(0.9, 20, 20, 1000, 1000, 1, false), 92, 98);
	assert_in_range((int)coverage(0.96, 20, 20, 3000, 3000, 1.5, false), 92, 98);
	/* Why they are there. */
	assert_in_range((int)coverage(0.96, 20, 20, 3000, 3000, 1, true), 0, 40);
}

/* Runs that differ among themselves by 3 %, far more than one of them shows by itself. */
static double run_coverage(size_t runs_a, size_t runs_b, bool lend)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	struct stats_estimate run_a[8], run_b[8];
	int i, held = 0;
	size_t k;

	gsl_rng_set(rng, 4);
	for (i = 0; i < TRIALS; i++) {
		struct stats_estimate a, b;
		struct stats_interval q;

		for (k = 0; k < runs_a; k++)
			run_a[k] = simulate(rng, 0, 5, 50, 1 + gsl_ran_gaussian(rng, 0.03), true);
		for (k = 0; k < runs_b; k++)
			run_b[k] = simulate(rng, 0, 5, 50, 1 + gsl_ran_gaussian(rng, 0.03), true);
		a = stats_from_runs(run_a, runs_a);
		b = stats_from_runs(run_b, runs_b);
		if (lend)
			stats_lend_spread(&b, runs_b, stats_run_spread(run_b, runs_b), &a);
		q = stats_ratio(&a, &b, STATS_CONFIDENCE);
		held += q.known && q.low <= 1 && 1 <= q.high;
	}
	gsl_rng_free(rng);
	print_message("# %zu and %zu runs: %.1f %% held\n", runs_a, runs_b, 100.0 * held / TRIALS);
	return 100.0 * held / TRIALS;
}

static void spread_between_runs_enters_the_interval(void **state)
{
	(void)state;
	/* With one run a side it cannot. */
	assert_true(run_coverage(1, 1, false) < 50);
	assert_in_range((int)run_coverage(2, 2, false), 94, 99);
	assert_in_range((int)run_coverage(3, 3, false), 94, 98);
	assert_in_range((int)run_coverage(5, 5, false), 94, 98);
	assert_in_range((int)run_coverage(8, 3, false), 93, 98);
	assert_in_range((int)run_coverage(1, 5, true), 94, 98);
	assert_in_range((int)run_coverage(1, 3, true), 94, 98);
}

/* Two runs that happen to agree do not make the mean better known than their scans do. */
static void agreeing_runs_are_not_trusted_beyond_their_scans(void **state)
{
	const struct stats_estimate runs[] = {{100, 4, 50}, {100, 4, 50}};
	struct stats_estimate e = stats_from_runs(runs, 2);

	(void)state;
	assert_near(e.mean, 100, 0);
	assert_near(e.variance, 2, 1e-12);
	assert_near(e.df, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(welch_gives_the_published_interval),
		cmocka_unit_test(ratio_agrees_with_the_closed_forms),
		cmocka_unit_test(ratio_excludes_one_exactly_when_the_difference_excludes_zero),
		cmocka_unit_test(what_gives_no_interval_says_so),
		cmocka_unit_test(batches_hold_every_scan_of_a_long_run),
		cmocka_unit_test(interval_for_independent_scans_holds_what_it_promises),
		cmocka_unit_test(interval_by_batches_holds_for_dependent_scans),
		cmocka_unit_test(spread_between_runs_enters_the_interval),
		cmocka_unit_test(agreeing_runs_are_not_trusted_beyond_their_scans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
