// SPDX-License-Identifier: GPL-2.0-only
/* Interval estimates of means, differences and ratios; see stats.h and docs/comparing.md. */
#include <math.h>
#include <string.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_roots.h>
#include <gsl/gsl_statistics_double.h>

#include "stats.h"

/* With a stronger correlation than that the few batches say nothing any more. */
#define LAG1_MAX 0.95

/* --- batches -------------------------------------------------------------------------------- */

void stats_batches_init(struct stats_batches *b)
{
	memset(b, 0, sizeof(*b));
	b->length = 1;
}

static void join_neighbours(struct stats_batches *b)
{
	unsigned int i;

	for (i = 0; i < STATS_BATCHES_MAX / 2; i++)
		b->sum[i] = b->sum[2 * i] + b->sum[2 * i + 1];
	b->batches = STATS_BATCHES_MAX / 2;
	b->length *= 2;
}

void stats_batches_add(struct stats_batches *b, double value)
{
	b->open_sum += value;
	if (++b->open < b->length)
		return;
	b->sum[b->batches++] = b->open_sum;
	b->open_sum = 0;
	b->open = 0;
	if (b->batches == STATS_BATCHES_MAX)
		join_neighbours(b);
}

struct stats_batch_summary stats_batches_sum_up(const struct stats_batches *b)
{
	struct stats_batch_summary s = {.length = b->length, .batches = b->batches};
	double mean[STATS_BATCHES_MAX], products = 0, squares = 0, average;
	unsigned int i;

	if (b->batches < 2)
		return s;
	for (i = 0; i < b->batches; i++)
		mean[i] = b->sum[i] / (double)b->length;
	average = gsl_stats_mean(mean, 1, b->batches);
	for (i = 0; i < b->batches; i++) {
		squares += gsl_pow_2(mean[i] - average);
		if (i)
			products += (mean[i] - average) * (mean[i - 1] - average);
	}
	s.variance = squares / (b->batches - 1);
	s.lag1 = squares > 0 ? products / squares : 0;
	return s;
}

/* --- estimates ------------------------------------------------------------------------------ */

struct stats_estimate stats_from_scans(double mean, double variance, uint64_t n)
{
	struct stats_estimate e = {.mean = mean};

	if (n < 2)
		return e;
	e.variance = variance / (double)n;
	e.df = (double)(n - 1);
	return e;
}

/*
 * What correlation is left between batches is taken for that of a first-order autoregressive
 * process: it makes the mean of the batches vary (1 + r) / (1 - r) times as much, as if there
 * were that many times fewer of them.
 */
struct stats_estimate stats_from_batches(double mean, const struct stats_batch_summary *batches,
					 uint64_t n)
{
	struct stats_estimate e = {.mean = mean};
	double r = GSL_MIN_DBL(GSL_MAX_DBL(batches->lag1, 0), LAG1_MAX);
	double inflation = (1 + r) / (1 - r);

	if (batches->batches < 2 || !n)
		return e;
	e.variance = batches->variance * (double)batches->length / (double)n * inflation;
	e.df = GSL_MAX_DBL((double)batches->batches / inflation - 1, 1);
	return e;
}

double stats_run_spread(const struct stats_estimate *run, size_t runs)
{
	if (runs < 2)
		return 0;
	return gsl_stats_sd(&run->mean, sizeof(*run) / sizeof(double), runs);
}

struct stats_estimate stats_from_runs(const struct stats_estimate *run, size_t runs)
{
	struct stats_estimate e = {0};
	double within = 0;
	size_t i;

	if (!runs)
		return e;
	if (runs == 1)
		return run[0];
	for (i = 0; i < runs; i++)
		within += run[i].variance;
	within /= gsl_pow_2((double)runs);
	e.mean = gsl_stats_mean(&run->mean, sizeof(*run) / sizeof(double), runs);
	e.variance = GSL_MAX_DBL(gsl_pow_2(stats_run_spread(run, runs)) / (double)runs, within);
	e.df = (double)(runs - 1);
	return e;
}

/*
 * Both sides' variances then rest on the same runs - 1 degrees of freedom. The single run, which
 * has its share runs / (runs + 1) of the sum, gets what makes Satterthwaite's formula say so.
 */
void stats_lend_spread(const struct stats_estimate *lender, size_t runs, double spread,
		       struct stats_estimate *single)
{
	double n = (double)runs;

	if (runs < 2 || !(single->df > 0) || !(lender->mean > 0))
		return;
	single->variance =
		GSL_MAX_DBL(single->variance, gsl_pow_2(spread / lender->mean * single->mean));
	single->df = GSL_MIN_DBL(single->df, (n - 1) * n / (n + 2));
}

/* --- intervals ------------------------------------------------------------------------------ */

/* How far b.mean - ratio * a.mean may be from 0 by chance: Student's quantile times its standard
 * error, with the degrees of freedom that belong to this ratio. */
static double reach(const struct stats_estimate *a, const struct stats_estimate *b, double ratio,
		    double confidence)
{
	double va = ratio * ratio * a->variance, vb = b->variance, df;

	if (va + vb <= 0)
		return 0;
	/* In shares of the whole, which cannot overflow when squared. */
	df = 1 / (gsl_pow_2(va / (va + vb)) / a->df + gsl_pow_2(vb / (va + vb)) / b->df);
	return gsl_cdf_tdist_Qinv((1 - confidence) / 2, df) * sqrt(va + vb);
}

struct stats_interval stats_difference(const struct stats_estimate *a,
				       const struct stats_estimate *b, double confidence)
{
	struct stats_interval d = {.value = b->mean - a->mean};
	gsl_error_handler_t *handler;
	double r;

	if (!(a->df > 0) || !(b->df > 0))
		return d;
	handler = gsl_set_error_handler_off();
	r = reach(a, b, 1, confidence);
	gsl_set_error_handler(handler);
	d.known = isfinite(r);
	d.low = d.value - r;
	d.high = d.value + r;
	return d;
}

struct edge {
	const struct stats_estimate *a, *b;
	double confidence;
	int side; /* +1: the lower bound, where b.mean is too large for the ratio; -1: the upper */
};

/* Positive for ratios that the test rejects on this side. */
static double rejection(double ratio, void *arg)
{
	const struct edge *e = arg;

	return e->side * (e->b->mean - ratio * e->a->mean) -
	       reach(e->a, e->b, ratio, e->confidence);
}

/* Where rejection() changes its sign between from and to; the caller knows that it does. */
static double find_edge(struct edge *edge, double from, double to)
{
	gsl_function f = {.function = rejection, .params = edge};
	gsl_root_fsolver *solver = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
	double root = from;
	int i;

	if (!solver)
		return NAN;
	if (gsl_root_fsolver_set(solver, &f, from, to)) {
		gsl_root_fsolver_free(solver);
		return NAN;
	}
	for (i = 0; i < 200; i++) {
		if (gsl_root_fsolver_iterate(solver))
			break;
		root = gsl_root_fsolver_root(solver);
		if (gsl_root_test_interval(gsl_root_fsolver_x_lower(solver),
					   gsl_root_fsolver_x_upper(solver), 0,
					   1e-12) == GSL_SUCCESS)
			break;
	}
	gsl_root_fsolver_free(solver);
	return root;
}

static double lower_edge(struct edge *edge, double value)
{
	edge->side = 1;
	/* Times are not negative: neither is their ratio. */
	if (!(rejection(0, edge) > 0))
		return 0;
	return rejection(value, edge) < 0 ? find_edge(edge, 0, value) : value;
}

static double upper_edge(struct edge *edge, double value)
{
	double from = value, to = value;
	int i;

	edge->side = -1;
	if (!(rejection(value, edge) < 0))
		return value;
	/* Where a.mean itself may be 0, no ratio is too large. */
	for (i = 0; i < 64; i++) {
		from = to;
		to = 2 * to + value;
		if (rejection(to, edge) > 0)
			return find_edge(edge, from, to);
	}
	return INFINITY;
}

struct stats_interval stats_ratio(const struct stats_estimate *a, const struct stats_estimate *b,
				  double confidence)
{
	struct edge edge = {.a = a, .b = b, .confidence = confidence};
	struct stats_interval r = {.value = a->mean > 0 ? b->mean / a->mean : NAN};
	gsl_error_handler_t *handler;

	if (!(a->df > 0) || !(b->df > 0) || !(r.value > 0) || !isfinite(r.value))
		return r;
	/* Its handler would abort the program; what fails is told by a value that is no number. */
	handler = gsl_set_error_handler_off();
	r.low = lower_edge(&edge, r.value);
	r.high = upper_edge(&edge, r.value);
	r.known = isfinite(reach(a, b, r.value, confidence)) && !isnan(r.low) && !isnan(r.high);
	gsl_set_error_handler(handler);
	return r;
}

enum stats_verdict stats_verdict(const struct stats_interval *ratio)
{
	if (ratio->known && ratio->high < 1)
		return STATS_FASTER;
	if (ratio->known && ratio->low > 1)
		return STATS_SLOWER;
	return STATS_NOT_SHOWN;
}

const char *stats_verdict_word(enum stats_verdict verdict)
{
	static const char *const words[] = {
		[STATS_NOT_SHOWN] = "no difference shown",
		[STATS_FASTER] = "faster",
		[STATS_SLOWER] = "slower",
	};

	return words[verdict];
}
