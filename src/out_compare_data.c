// SPDX-License-Identifier: GPL-2.0-only
/* A comparison for programs: CSV with a figure a row, and a JSON object. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <jansson.h>

#include "out_compare.h"

static const struct {
	const char *name;
	double q;
} quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}};

#define QUANTILES (sizeof(quantiles) / sizeof(quantiles[0]))

/* ksmd's figures by their names in both forms. */
struct total {
	const char *name;
	double value;
};

#define TOTALS 10

static void list_totals(const struct compare_side *side, struct total list[TOTALS])
{
	const struct compare_totals *t = &side->totals;
	const struct total all[TOTALS] = {
		{"scans", t->scans},
		{"passes", t->passes},
		{"pages", t->pages},
		{"elapsed_s", t->elapsed_s},
		{"cpu_ns", t->cpu_ns},
		{"cpu_percent", t->cpu_percent},
		{"cpu_ns_per_page", t->cpu_ns_per_page},
		{"checksum_mb_per_s", t->checksum_mb_per_s},
		{"pages_sharing", t->pages_sharing},
		{"general_profit", t->general_profit},
	};

	memcpy(list, all, sizeof(all));
}

/* --- CSV ------------------------------------------------------------------------------------ */

static void number(FILE *out, double value)
{
	if (isfinite(value))
		fprintf(out, "%.10g", value);
}

/* A figure: its value and, where it has them, its bounds. */
static void figure(FILE *out, const char *function, const char *label, const char *name,
		   double value, double low, double high)
{
	if (isnan(value))
		return;
	fprintf(out, "%s,%s,%s,", function, label, name);
	number(out, value);
	fputc(',', out);
	number(out, low);
	fputc(',', out);
	number(out, high);
	fputc('\n', out);
}

static void function_figures(FILE *out, const struct comparison *c, size_t f, size_t s)
{
	const struct compare_cell *cell = &c->side[s].cell[f];
	const struct fn_stat *stat = &cell->histogram.stat;
	const char *name = c->function[f], *label = c->side[s].label;
	size_t i;

	if (!cell->runs)
		return;
	figure(out, name, label, "runs", (double)cell->runs, NAN, NAN);
	figure(out, name, label, "scans", (double)cell->scans, NAN, NAN);
	fprintf(out, "%s,%s,calls,%" PRIu64 ",,\n", name, label, (uint64_t)stat->count);
	if (!stat->count)
		return;
	figure(out, name, label, "mean_ns", fn_stat_mean(stat), NAN, NAN);
	figure(out, name, label, "scan_mean_ns", cell->scans ? cell->mean.mean : NAN, NAN, NAN);
	if (cell->runs > 1)
		figure(out, name, label, "run_to_run_ns", cell->spread_ns, NAN, NAN);
	for (i = 0; i < QUANTILES; i++) {
		double value = histogram_quantile(&cell->histogram, quantiles[i].q);
		double half = compare_half_width(value);
		char what[16];

		snprintf(what, sizeof(what), "%s_ns", quantiles[i].name);
		figure(out, name, label, what, value, value - half, value + half);
	}
	fprintf(out, "%s,%s,max_ns,%" PRIu64 ",,\n", name, label, (uint64_t)stat->max_ns);
	if (!s || !c->side[0].cell[f].runs)
		return;
	figure(out, name, label, "change_percent", compare_percent(cell->ratio.value),
	       cell->ratio.known ? compare_percent(cell->ratio.low) : NAN,
	       cell->ratio.known ? compare_percent(cell->ratio.high) : NAN);
	figure(out, name, label, "ratio", cell->ratio.value,
	       cell->ratio.known ? cell->ratio.low : NAN,
	       cell->ratio.known ? cell->ratio.high : NAN);
	fprintf(out, "%s,%s,verdict,%s,,\n", name, label, stats_verdict_word(cell->verdict));
}

void compare_put_csv(FILE *out, const struct comparison *c)
{
	char text[COMPARE_TEXT_MAX];
	size_t f, s, i;

	for (s = 0; s < c->sides; s++) {
		fprintf(out, "# side.%s: %s\n", c->side[s].label,
			compare_files_text(text, &c->side[s]));
		fprintf(out, "# machine.%s: %s\n", c->side[s].label,
			compare_machine_text(text, &c->side[s]));
	}
	for (i = 0; i < c->findings; i++)
		fprintf(out, "# unfair.%s: %s\n", c->finding[i].what, c->finding[i].text);
	fputs("function,side,figure,value,low,high\n", out);
	for (f = 0; f < c->functions; f++)
		for (s = 0; s < c->sides; s++)
			function_figures(out, c, f, s);
	for (s = 0; s < c->sides; s++) {
		struct total total[TOTALS];

		list_totals(&c->side[s], total);
		for (i = 0; i < TOTALS; i++)
			figure(out, "ksmd", c->side[s].label, total[i].name, total[i].value, NAN,
			       NAN);
	}
}

/* --- JSON ----------------------------------------------------------------------------------- */

static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

/* A value, or null where it is no text in UTF-8. */
static json_t *text(const char *value)
{
	json_t *string = value ? json_string(value) : NULL;

	return string ? string : json_null();
}

static json_t *side_object(const struct compare_side *side)
{
	static const char *const keys[] = {"kernel", "build_id", "arch", "cpu", "hash"};
	json_t *object = json_object(), *files = json_array(), *ksmd = json_object();
	struct total total[TOTALS];
	size_t i;

	json_object_set_new(object, "side", json_string(side->label));
	for (i = 0; i < side->runs; i++)
		json_array_append_new(files, text(side->file[i]));
	json_object_set_new(object, "files", files);
	json_object_set_new(object, "runs", json_integer((json_int_t)side->runs));
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_object_set_new(object, keys[i], text(recording_get(&side->run[0], keys[i])));
	list_totals(side, total);
	for (i = 0; i < TOTALS; i++)
		json_object_set_new(ksmd, total[i].name, real(total[i].value));
	json_object_set_new(object, "ksmd", ksmd);
	return object;
}

static void add_change(json_t *object, const struct compare_cell *cell)
{
	const struct stats_interval *r = &cell->ratio;
	double low = r->known ? r->low : NAN, high = r->known ? r->high : NAN;

	json_object_set_new(object, "change_percent", real(compare_percent(r->value)));
	json_object_set_new(object, "change_low_percent", real(compare_percent(low)));
	json_object_set_new(object, "change_high_percent", real(compare_percent(high)));
	json_object_set_new(object, "ratio", real(r->value));
	json_object_set_new(object, "ratio_low", real(low));
	json_object_set_new(object, "ratio_high", real(high));
	json_object_set_new(object, "verdict", json_string(stats_verdict_word(cell->verdict)));
}

static json_t *cell_object(const struct comparison *c, size_t f, size_t s)
{
	const struct compare_cell *cell = &c->side[s].cell[f];
	const struct fn_stat *stat = &cell->histogram.stat;
	json_t *object = json_object();
	char key[32];
	size_t i;

	json_object_set_new(object, "side", json_string(c->side[s].label));
	json_object_set_new(object, "runs", json_integer((json_int_t)cell->runs));
	json_object_set_new(object, "scans", json_integer((json_int_t)cell->scans));
	json_object_set_new(object, "calls", json_integer((json_int_t)stat->count));
	if (!stat->count)
		return object;
	json_object_set_new(object, "mean_ns", real(fn_stat_mean(stat)));
	json_object_set_new(object, "scan_mean_ns", real(cell->scans ? cell->mean.mean : NAN));
	json_object_set_new(object, "run_to_run_ns", real(cell->runs > 1 ? cell->spread_ns : NAN));
	for (i = 0; i < QUANTILES; i++) {
		double value = histogram_quantile(&cell->histogram, quantiles[i].q);

		snprintf(key, sizeof(key), "%s_ns", quantiles[i].name);
		json_object_set_new(object, key, real(value));
		snprintf(key, sizeof(key), "%s_half_width_ns", quantiles[i].name);
		json_object_set_new(object, key, real(compare_half_width(value)));
	}
	json_object_set_new(object, "max_ns", json_integer((json_int_t)stat->max_ns));
	if (s && c->side[0].cell[f].runs)
		add_change(object, cell);
	return object;
}

/* One row a side: from it to each of the sides. */
static json_t *decreases(const struct comparison *c, size_t f)
{
	json_t *rows = json_array();
	size_t from, to;

	for (from = 0; from < c->sides; from++) {
		json_t *row = json_array();

		for (to = 0; to < c->sides; to++)
			json_array_append_new(row, real(compare_decrease(c, f, from, to)));
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *function_object(const struct comparison *c, size_t f)
{
	json_t *object = json_object(), *sides = json_array();
	size_t s;

	json_object_set_new(object, "function", json_string(c->function[f]));
	for (s = 0; s < c->sides; s++)
		json_array_append_new(sides, cell_object(c, f, s));
	json_object_set_new(object, "sides", sides);
	json_object_set_new(object, "decrease_percent", decreases(c, f));
	return object;
}

int compare_put_json(FILE *out, const struct comparison *c, bool line)
{
	json_t *object = json_object(), *sides = json_array(), *unfair = json_array(),
	       *functions = json_array();
	size_t i;
	int err;

	json_object_set_new(object, "type", json_string("compare"));
	for (i = 0; i < c->sides; i++)
		json_array_append_new(sides, side_object(&c->side[i]));
	json_object_set_new(object, "sides", sides);
	for (i = 0; i < c->findings; i++) {
		json_t *finding = json_object();

		json_object_set_new(finding, "what", text(c->finding[i].what));
		json_object_set_new(finding, "text", text(c->finding[i].text));
		json_array_append_new(unfair, finding);
	}
	json_object_set_new(object, "unfair", unfair);
	for (i = 0; i < c->functions; i++)
		json_array_append_new(functions, function_object(c, i));
	json_object_set_new(object, "functions", functions);
	err = object ? 0 : -ENOMEM;
	if (!err) {
		json_dumpf(object, out, line ? JSON_COMPACT : JSON_INDENT(1));
		fputc('\n', out);
	}
	json_decref(object);
	return err;
}
