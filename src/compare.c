// SPDX-License-Identifier: GPL-2.0-only
/* Pooling runs into sides, and the estimates of their differences; see compare.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

#define PAGE_BYTES    4096.0 /* what calc_checksum hashes */
#define CHECKSUM      "calc_checksum"
#define LAST_FUNCTION "ksm_do_scan"

void compare_init(struct comparison *c)
{
	memset(c, 0, sizeof(*c));
}

static void release_side(struct compare_side *side, size_t functions)
{
	size_t i;

	for (i = 0; i < side->runs; i++) {
		recording_release(&side->run[i]);
		free(side->file[i]);
	}
	for (i = 0; side->cell && i < functions; i++)
		free(side->cell[i].run);
	free(side->run);
	free(side->file);
	free(side->cell);
}

void compare_release(struct comparison *c)
{
	size_t i;

	for (i = 0; i < c->sides; i++)
		release_side(&c->side[i], c->functions);
	free(c->side);
	free(c->function);
	free(c->finding);
	memset(c, 0, sizeof(*c));
}

/* --- sides and runs ------------------------------------------------------------------------- */

/* A to Z, AA to ZZ and so on, as spreadsheets name columns. */
static void name_side(char *label, size_t index)
{
	char reversed[COMPARE_LABEL_MAX];
	size_t n = 0;

	do {
		reversed[n++] = (char)('A' + index % 26);
		index /= 26;
	} while (index-- && n < sizeof(reversed) - 1);
	while (n)
		*label++ = reversed[--n];
	*label = '\0';
}

int compare_add_side(struct comparison *c)
{
	struct compare_side *p = realloc(c->side, (c->sides + 1) * sizeof(*p));

	if (!p)
		return -ENOMEM;
	c->side = p;
	p += c->sides;
	memset(p, 0, sizeof(*p));
	p->cell = calloc(c->functions ? c->functions : 1, sizeof(*p->cell));
	if (!p->cell)
		return -ENOMEM;
	name_side(p->label, c->sides++);
	return 0;
}

/* The index of the function of that name, which is added when it is new; -1: no memory. */
static ssize_t function_index(struct comparison *c, const char *name)
{
	char(*names)[64];
	size_t i;

	for (i = 0; i < c->functions; i++)
		if (!strcmp(c->function[i], name))
			return (ssize_t)i;
	names = realloc(c->function, (c->functions + 1) * sizeof(*names));
	if (!names)
		return -1;
	c->function = names;
	for (i = 0; i < c->sides; i++) {
		struct compare_side *side = &c->side[i];
		struct compare_cell *cell = realloc(side->cell, (c->functions + 1) * sizeof(*cell));

		if (!cell)
			return -1;
		side->cell = cell;
		memset(&cell[c->functions], 0, sizeof(*cell));
	}
	snprintf(names[c->functions], sizeof(names[0]), "%s", name);
	return (ssize_t)c->functions++;
}

static int pool_function(struct compare_cell *cell, const struct recording_function *f)
{
	struct stats_estimate *p = realloc(cell->run, (cell->runs + 1) * sizeof(*p));
	bool batches = f->batches.batches >= 2;

	if (!p)
		return -ENOMEM;
	cell->run = p;
	p[cell->runs] = batches ? stats_from_batches(f->scan_mean_ns, &f->batches, f->scans)
				: stats_from_scans(f->scan_mean_ns, f->scan_var_ns2, f->scans);
	if (!cell->runs || f->scans < cell->fewest_scans)
		cell->fewest_scans = f->scans;
	cell->runs++;
	cell->scans += f->scans;
	cell->independent |= !batches;
	histogram_merge(&cell->histogram, &f->histogram);
	return 0;
}

int compare_add_run(struct comparison *c, const char *file, struct recording *recording)
{
	struct compare_side *side = &c->side[c->sides - 1];
	struct recording *run = realloc(side->run, (side->runs + 1) * sizeof(*run));
	char **names, *name;
	size_t i;

	if (run)
		side->run = run;
	names = realloc(side->file, (side->runs + 1) * sizeof(*names));
	if (names)
		side->file = names;
	name = strdup(file);
	if (!run || !names || !name) {
		free(name);
		recording_release(recording);
		return -ENOMEM;
	}
	names[side->runs] = name;
	run += side->runs++;
	*run = *recording;
	memset(recording, 0, sizeof(*recording));
	for (i = 0; i < run->functions; i++) {
		ssize_t index = function_index(c, run->function[i].name);

		if (index < 0 || pool_function(&side->cell[index], &run->function[i]))
			return -ENOMEM;
	}
	/* The histograms are in the side now: a thousand runs' own ones would fill the memory. */
	free(run->function);
	run->function = NULL;
	run->functions = 0;
	return 0;
}

/* --- estimates ------------------------------------------------------------------------------ */

/* The sum over the runs of a number in the head, NAN when a run does not have it. */
static double sum_of(const struct compare_side *side, const char *key)
{
	double sum = 0, value;
	size_t i;

	for (i = 0; i < side->runs; i++) {
		if (!recording_get_double(&side->run[i], key, &value))
			return NAN;
		sum += value;
	}
	return sum;
}

static double quotient(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

static void add_up(const struct comparison *c, struct compare_side *side)
{
	struct compare_totals *t = &side->totals;
	double runs = (double)side->runs;
	size_t i;

	t->elapsed_s = sum_of(side, "elapsed_s");
	t->scans = sum_of(side, "scans");
	t->passes = sum_of(side, "passes");
	t->pages = sum_of(side, "pages");
	t->cpu_ns = sum_of(side, "ksmd_cpu_ns");
	t->pages_sharing = quotient(sum_of(side, "pages_sharing"), runs);
	t->general_profit = quotient(sum_of(side, "general_profit"), runs);
	t->cpu_percent = quotient(t->cpu_ns / 1e7, t->elapsed_s);
	t->cpu_ns_per_page = quotient(t->cpu_ns, t->pages);
	t->checksum_mb_per_s = NAN;
	for (i = 0; i < c->functions; i++)
		if (!strcmp(c->function[i], CHECKSUM))
			t->checksum_mb_per_s = quotient(
				PAGE_BYTES * 1000, fn_stat_mean(&side->cell[i].histogram.stat));
}

static void estimate(struct compare_cell *base, struct compare_cell *cell)
{
	struct stats_estimate a = base->mean, b = cell->mean;

	if (base->runs == 1 && cell->runs > 1)
		stats_lend_spread(&b, cell->runs, cell->spread_ns, &a);
	else if (cell->runs == 1 && base->runs > 1)
		stats_lend_spread(&a, base->runs, base->spread_ns, &b);
	cell->ratio = stats_ratio(&a, &b, STATS_CONFIDENCE);
	cell->verdict = stats_verdict(&cell->ratio);
}

/* ksm_do_scan, which the others happen in, goes to the end. */
static void move_scan_last(struct comparison *c)
{
	size_t i, s, last = c->functions ? c->functions - 1 : 0;

	for (i = 0; i < last && strcmp(c->function[i], LAST_FUNCTION); i++)
		;
	if (i >= last)
		return;
	memmove(c->function[i], c->function[i + 1], (last - i) * sizeof(c->function[0]));
	strcpy(c->function[last], LAST_FUNCTION);
	for (s = 0; s < c->sides; s++) {
		struct compare_cell *cell = c->side[s].cell, saved = cell[i];

		memmove(&cell[i], &cell[i + 1], (last - i) * sizeof(*cell));
		cell[last] = saved;
	}
}

int compare_finish(struct comparison *c)
{
	size_t i, s;

	move_scan_last(c);
	for (s = 0; s < c->sides; s++) {
		for (i = 0; i < c->functions; i++) {
			struct compare_cell *cell = &c->side[s].cell[i];

			cell->mean = stats_from_runs(cell->run, cell->runs);
			cell->spread_ns = stats_run_spread(cell->run, cell->runs);
			cell->ratio.value = NAN;
			if (s && cell->runs && c->side[0].cell[i].runs)
				estimate(&c->side[0].cell[i], cell);
		}
		add_up(c, &c->side[s]);
	}
	return compare_find_unfairness(c);
}

double compare_percent(double ratio)
{
	return 100 * (ratio - 1);
}

double compare_call_change(const struct comparison *c, size_t function, size_t side)
{
	const struct compare_cell *a = &c->side[0].cell[function],
				  *b = &c->side[side].cell[function];

	if (!a->runs || !b->runs || !b->histogram.stat.count)
		return NAN;
	return compare_percent(
		quotient(fn_stat_mean(&b->histogram.stat), fn_stat_mean(&a->histogram.stat)));
}

double compare_half_width(double quantile_ns)
{
	unsigned int bucket = bucket_index((uint64_t)quantile_ns);

	if (bucket == BUCKET_OVERFLOW)
		return NAN;
	return (double)(bucket_high(bucket) - 1 - bucket_low(bucket)) / 2;
}
