// SPDX-License-Identifier: GPL-2.0-only
/* What the tables of a comparison say, for text and Markdown; see out_compare.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "format.h"
#include "out_compare.h"

#define MIB (1024.0 * 1024.0)

/* --- cells ---------------------------------------------------------------------------------- */

static const struct compare_cell *cell_of(const struct comparison *c, size_t function, size_t side)
{
	return &c->side[side].cell[function];
}

static void put_duration(char *buffer, double ns)
{
	if (isnan(ns))
		strcpy(buffer, "-");
	else if (ns < 9999.95)
		snprintf(buffer, COMPARE_CELL_MAX, "%.1fns", ns);
	else
		format_duration(buffer, ns);
}

static void put_number(char *buffer, double value, int decimals)
{
	if (isnan(value))
		strcpy(buffer, "-");
	else
		snprintf(buffer, COMPARE_CELL_MAX, fabs(value) < 1e15 ? "%.*f" : "%.*e", decimals,
			 value);
}

static void put_calls(char *buffer, const struct comparison *c, size_t f, size_t s, double q)
{
	const struct compare_cell *cell = cell_of(c, f, s);

	(void)q;
	if (cell->runs)
		snprintf(buffer, COMPARE_CELL_MAX, "%" PRIu64,
			 (uint64_t)cell->histogram.stat.count);
	else
		strcpy(buffer, "not timed");
}

static void put_mean(char *buffer, const struct comparison *c, size_t f, size_t s, double q)
{
	const struct fn_stat *stat = &cell_of(c, f, s)->histogram.stat;

	(void)q;
	put_duration(buffer, stat->count ? fn_stat_mean(stat) : NAN);
}

static void put_scan_mean(char *buffer, const struct comparison *c, size_t f, size_t s, double q)
{
	const struct compare_cell *cell = cell_of(c, f, s);

	(void)q;
	put_duration(buffer, cell->scans ? cell->mean.mean : NAN);
}

static void put_spread(char *buffer, const struct comparison *c, size_t f, size_t s, double q)
{
	const struct compare_cell *cell = cell_of(c, f, s);

	(void)q;
	if (cell->runs > 1 && cell->mean.mean > 0)
		snprintf(buffer, COMPARE_CELL_MAX, "%.2f %%",
			 100 * cell->spread_ns / cell->mean.mean);
	else
		strcpy(buffer, "-");
}

static void put_quantile(char *buffer, const struct comparison *c, size_t f, size_t s, double q)
{
	const struct histogram *h = &cell_of(c, f, s)->histogram;
	double value, half;

	if (!h->stat.count) {
		strcpy(buffer, "-");
		return;
	}
	value = histogram_quantile(h, q);
	half = compare_half_width(value);
	put_duration(buffer, value);
	if (value > 0 && !isnan(half))
		snprintf(buffer + strlen(buffer), COMPARE_CELL_MAX - strlen(buffer), " +-%.1f%%",
			 100 * half / value);
}

static void put_max(char *buffer, const struct comparison *c, size_t f, size_t s, double q)
{
	const struct fn_stat *stat = &cell_of(c, f, s)->histogram.stat;

	(void)q;
	put_duration(buffer, stat->count ? (double)stat->max_ns : NAN);
}

const struct compare_row compare_function_rows[] = {
	{"calls", put_calls, 0},
	{"mean", put_mean, 0},
	{"mean of scans", put_scan_mean, 0},
	{"run to run +-", put_spread, 0},
	{"p50", put_quantile, 0.5},
	{"p90", put_quantile, 0.9},
	{"p99", put_quantile, 0.99},
	{"max", put_max, 0},
	{NULL, NULL, 0},
};

static void put_cpu_percent(char *buffer, const struct comparison *c, size_t f, size_t s, double q)
{
	(void)f;
	(void)q;
	put_number(buffer, c->side[s].totals.cpu_percent, 2);
}

static void put_cpu_page(char *buffer, const struct comparison *c, size_t f, size_t s, double q)
{
	(void)f;
	(void)q;
	put_number(buffer, c->side[s].totals.cpu_ns_per_page, 1);
}

static void put_rate(char *buffer, const struct comparison *c, size_t f, size_t s, double q)
{
	(void)f;
	(void)q;
	put_number(buffer, c->side[s].totals.checksum_mb_per_s, 0);
}

static void put_saved(char *buffer, const struct comparison *c, size_t f, size_t s, double q)
{
	(void)f;
	(void)q;
	put_number(buffer, c->side[s].totals.pages_sharing, 0);
}

static void put_profit(char *buffer, const struct comparison *c, size_t f, size_t s, double q)
{
	(void)f;
	(void)q;
	put_number(buffer, c->side[s].totals.general_profit / MIB, 1);
}

const struct compare_row compare_ksmd_rows[] = {
	{"ksmd CPU %", put_cpu_percent, 0}, {"CPU ns/page", put_cpu_page, 0},
	{"checksum MB/s", put_rate, 0},	    {"pages saved", put_saved, 0},
	{"profit MiB", put_profit, 0},	    {NULL, NULL, 0},
};

bool compare_row_used(const struct compare_row *row, const struct comparison *c, size_t function)
{
	char buffer[COMPARE_CELL_MAX];
	size_t s;

	for (s = 0; s < c->sides; s++) {
		row->put(buffer, c, function, s, row->quantile);
		if (strcmp(buffer, "-"))
			return true;
	}
	return false;
}

/* --- sentences ------------------------------------------------------------------------------ */

char *compare_percent_text(char *buffer, double percent)
{
	if (isnan(percent))
		strcpy(buffer, "-");
	else if (isinf(percent))
		strcpy(buffer, "unbounded");
	else if (fabs(percent) < 0.005)
		strcpy(buffer, "0.0 %");
	else if (fabs(percent) < 1e6)
		snprintf(buffer, COMPARE_CELL_MAX, "%+.2f %%", percent);
	else
		snprintf(buffer, COMPARE_CELL_MAX, "%+.1e %%", percent);
	return buffer;
}

char *compare_files_text(char *buffer, const struct compare_side *side)
{
	size_t used = 0, i;

	*buffer = '\0';
	for (i = 0; i < side->runs; i++) {
		/* Room for the name, and for what says that there are more. */
		if (used + strlen(side->file[i]) + 32 > COMPARE_TEXT_MAX) {
			if (i)
				snprintf(buffer + used, COMPARE_TEXT_MAX - used, " and %zu more",
					 side->runs - i);
			else
				snprintf(buffer, COMPARE_TEXT_MAX, "%.*s...", 200, side->file[0]);
			if (i)
				break;
			used = strlen(buffer);
			continue;
		}
		used += (size_t)snprintf(buffer + used, COMPARE_TEXT_MAX - used, "%s%s",
					 i ? ", " : "", side->file[i]);
	}
	/* A name may hold anything; a line stays a line. */
	for (i = 0; buffer[i]; i++)
		if ((unsigned char)buffer[i] < ' ' || buffer[i] == 0x7f)
			buffer[i] = '?';
	return buffer;
}

static const char *head(const struct compare_side *side, const char *key)
{
	const char *value = side->runs ? recording_get(&side->run[0], key) : NULL;

	return value ? value : "unknown";
}

char *compare_machine_text(char *buffer, const struct compare_side *side)
{
	snprintf(buffer, COMPARE_TEXT_MAX, "Linux %.60s, %.20s, %.100s, hash %.20s",
		 head(side, "kernel"), head(side, "arch"), head(side, "cpu"), head(side, "hash"));
	return buffer;
}

char *compare_amount_text(char *buffer, const struct compare_side *side)
{
	char scans[COMPARE_CELL_MAX], passes[COMPARE_CELL_MAX], time[COMPARE_CELL_MAX];

	put_number(scans, side->totals.scans, 0);
	put_number(passes, side->totals.passes, 0);
	put_number(time, side->totals.elapsed_s, 1);
	snprintf(buffer, COMPARE_TEXT_MAX, "%zu run%s, %s scans, %s passes, %s s", side->runs,
		 side->runs == 1 ? "" : "s", scans, passes, time);
	return buffer;
}

char *compare_verdict_text(char *buffer, const struct compare_cell *cell)
{
	char change[COMPARE_CELL_MAX], low[COMPARE_CELL_MAX], high[COMPARE_CELL_MAX];
	const struct stats_interval *r = &cell->ratio;

	compare_percent_text(change, compare_percent(r->value));
	compare_percent_text(low, compare_percent(r->low));
	compare_percent_text(high, compare_percent(r->high));
	/* "-1.24 to +0.53": the unit once, behind the interval's name. */
	if (strstr(low, " %"))
		*strstr(low, " %") = '\0';
	if (strstr(high, " %"))
		*strstr(high, " %") = '\0';
	if (isnan(r->value))
		snprintf(buffer, COMPARE_TEXT_MAX, "nothing to compare");
	else if (!r->known)
		snprintf(buffer, COMPARE_TEXT_MAX,
			 "%s: %s (too few scans for an interval), ratio %.4g",
			 stats_verdict_word(cell->verdict), change, r->value);
	else
		snprintf(buffer, COMPARE_TEXT_MAX, "%s: %s (95 %%: %s to %s), ratio %.4g",
			 stats_verdict_word(cell->verdict), change, low, high, r->value);
	return buffer;
}

/* --- decreases ------------------------------------------------------------------------------ */

double compare_decrease(const struct comparison *c, size_t function, size_t from, size_t to)
{
	const struct fn_stat *a = &cell_of(c, function, from)->histogram.stat;
	const struct fn_stat *b = &cell_of(c, function, to)->histogram.stat;

	if (!a->sum_ns || !b->count)
		return NAN;
	return 100 * (1 - fn_stat_mean(b) / fn_stat_mean(a));
}

char *compare_decrease_text(char *buffer, const struct comparison *c, size_t function, size_t from,
			    size_t to)
{
	double decrease = compare_decrease(c, function, from, to);

	if (isnan(decrease))
		snprintf(buffer, COMPARE_TEXT_MAX, "-");
	else
		snprintf(buffer, COMPARE_TEXT_MAX, "%.2f -> %.2f: %.2f %%",
			 fn_stat_mean(&cell_of(c, function, from)->histogram.stat),
			 fn_stat_mean(&cell_of(c, function, to)->histogram.stat), decrease);
	return buffer;
}

/* --- notes ---------------------------------------------------------------------------------- */

bool compare_uneven(const struct comparison *c, size_t function, size_t side)
{
	const struct stats_interval *r = &cell_of(c, function, side)->ratio;
	double change = compare_call_change(c, function, side);

	return r->known && !isnan(change) &&
	       (change < compare_percent(r->low) - 0.05 ||
		change > compare_percent(r->high) + 0.05);
}

static bool any_side(const struct comparison *c,
		     bool (*is)(const struct compare_side *side, const struct comparison *c))
{
	size_t s;

	for (s = 0; s < c->sides; s++)
		if (is(&c->side[s], c))
			return true;
	return false;
}

static bool is_one_run(const struct compare_side *side, const struct comparison *c)
{
	(void)c;
	return side->runs == 1;
}

static bool is_independent(const struct compare_side *side, const struct comparison *c)
{
	size_t f;

	for (f = 0; f < c->functions; f++)
		if (side->cell[f].runs == 1 && side->cell[f].independent)
			return true;
	return false;
}

const char *compare_note(const struct comparison *c, unsigned int index)
{
	const char *notes[3] = {NULL};
	unsigned int n = 0;

	if (any_side(c, is_one_run))
		notes[n++] =
			"A side with one run does not show how runs of the same kernel differ; "
			"several runs a side do (A1.csv,A2.csv B1.csv,B2.csv).";
	if (any_side(c, is_independent))
		notes[n++] =
			"Some recordings do not tell how scans depend on the ones before: their "
			"scans are taken for independent, and the interval may be too narrow.";
	return index < n ? notes[index] : NULL;
}
