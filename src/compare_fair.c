// SPDX-License-Identifier: GPL-2.0-only
/* What makes a comparison unfair: everything but the kernel that the runs do not have in common,
 * and what makes a run's own figures doubtful. See compare.h. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

/* Settings that change what a scan does. A kernel without one behaves as with this value. */
static const struct {
	const char *name, *absent;
} settings[] = {
	{"pages_to_scan", NULL},  {"sleep_millisecs", NULL},  {"smart_scan", "0"},
	{"use_zero_pages", "0"},  {"max_page_sharing", NULL}, {"merge_across_nodes", "1"},
	{"advisor_mode", "none"},
};

static int add(struct comparison *c, const char *what, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int add(struct comparison *c, const char *what, const char *format, ...)
{
	struct compare_finding *p = realloc(c->finding, (c->findings + 1) * sizeof(*p));
	va_list args;

	if (!p)
		return -ENOMEM;
	c->finding = p;
	p += c->findings++;
	snprintf(p->what, sizeof(p->what), "%s", what);
	va_start(args, format);
	vsnprintf(p->text, sizeof(p->text), format, args);
	va_end(args);
	return 0;
}

/* Appends to a text of fixed size; what does not fit is left out. */
struct text {
	char buffer[400];
	size_t used;
};

static void append(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->buffer + t->used, sizeof(t->buffer) - t->used, format, args);
	va_end(args);
	if (n > 0)
		t->used += (size_t)n;
	if (t->used >= sizeof(t->buffer))
		t->used = sizeof(t->buffer) - 1;
}

/* --- what all runs should have in common ---------------------------------------------------- */

/* The value of a key in one run. length: how much of it counts. */
static const char *value_of(const struct recording *run, const char *key, const char *absent,
			    bool first_word, size_t *length)
{
	const char *value = recording_get(run, key);

	if (!value)
		value = absent ? absent : "none";
	*length = first_word ? strcspn(value, " ") : strlen(value);
	return value;
}

/* Appends the different values that the runs of a side have, with its label. */
static void list_values(struct text *t, const struct compare_side *side, const char *key,
			const char *absent, bool first_word)
{
	const char *value, *before = NULL;
	size_t i, length, before_length = 0;

	append(t, "%s", t->used ? "; " : "");
	for (i = 0; i < side->runs; i++) {
		value = value_of(&side->run[i], key, absent, first_word, &length);
		if (before && length == before_length && !strncmp(before, value, length))
			continue;
		append(t, "%s%.*s", before ? ", " : "", (int)length, value);
		before = value;
		before_length = length;
	}
	append(t, " (%s)", side->label);
}

/* A finding when the runs of the sides from first to last differ in a key. */
static int check_common(struct comparison *c, size_t first, size_t last, const char *key,
			const char *absent, bool first_word, const char *what, const char *title)
{
	const char *reference = NULL, *value;
	size_t s, i, length, reference_length = 0;
	struct text text = {.used = 0};
	bool differ = false;

	for (s = first; s <= last; s++) {
		for (i = 0; i < c->side[s].runs; i++) {
			value = value_of(&c->side[s].run[i], key, absent, first_word, &length);
			if (!reference) {
				reference = value;
				reference_length = length;
			}
			differ |= length != reference_length || strncmp(value, reference, length);
		}
	}
	if (!differ)
		return 0;
	for (s = first; s <= last; s++)
		list_values(&text, &c->side[s], key, absent, first_word);
	return add(c, what, "%s: %s", title, text.buffer);
}

static int check_settings(struct comparison *c)
{
	char key[80], title[96];
	size_t i;
	int err = 0;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		snprintf(key, sizeof(key), "ksm.%s", settings[i].name);
		snprintf(title, sizeof(title), "different %s", settings[i].name);
		err |= check_common(c, 0, c->sides - 1, key, settings[i].absent, false,
				    settings[i].name, title);
	}
	return err;
}

/* What is pooled should be one kernel: between sides it is what is compared. */
static int check_pools(struct comparison *c)
{
	static const char *const keys[] = {"kernel", "build_id", "hash"};
	char title[96];
	size_t s, i;
	int err = 0;

	for (s = 0; s < c->sides; s++) {
		for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			size_t before = c->findings;

			snprintf(title, sizeof(title), "pooled runs differ in %s", keys[i]);
			err |= check_common(c, s, s, keys[i], NULL, false, "pooled", title);
			if (c->findings > before)
				break;
		}
	}
	return err;
}

/* --- functions ------------------------------------------------------------------------------ */

static int check_functions(struct comparison *c)
{
	size_t f, s;
	int err = 0;

	for (f = 0; f < c->functions; f++) {
		struct text missing = {.used = 0};
		char key[80], title[128];

		for (s = 0; s < c->sides; s++)
			if (c->side[s].cell[f].runs < c->side[s].runs)
				append(&missing, "%s%s%s", missing.used ? ", " : "",
				       c->side[s].cell[f].runs ? "some runs of " : "",
				       c->side[s].label);
		if (missing.used)
			err |= add(c, "functions", "functions timed: %s is not in %s",
				   c->function[f], missing.buffer);
		if (missing.used)
			continue;
		snprintf(key, sizeof(key), "hook.%s", c->function[f]);
		snprintf(title, sizeof(title), "%s hooked differently", c->function[f]);
		err |= check_common(c, 0, c->sides - 1, key, NULL, true, key, title);
	}
	return err;
}

/* Scans in which a function was called, where the run as a whole has enough of them. */
static int check_function_scans(struct comparison *c, const struct compare_side *side)
{
	size_t f;
	int err = 0;

	for (f = 0; f < c->functions; f++)
		if (side->cell[f].runs && side->cell[f].fewest_scans < COMPARE_FEW_SCANS)
			err |= add(c, "scans",
				   "fewer than %d scans: %s was called in %" PRIu64
				   " scans of a run (%s)",
				   COMPARE_FEW_SCANS, c->function[f], side->cell[f].fewest_scans,
				   side->label);
	return err;
}

/* --- each run by itself --------------------------------------------------------------------- */

static int check_scans(struct comparison *c, const struct compare_side *side)
{
	uint64_t scans, fewest = UINT64_MAX;
	size_t i, few = 0;

	for (i = 0; i < side->runs; i++) {
		if (!recording_get_u64(&side->run[i], "scans", &scans) ||
		    scans >= COMPARE_FEW_SCANS)
			continue;
		few++;
		if (scans < fewest)
			fewest = scans;
	}
	if (!few)
		return check_function_scans(c, side);
	if (side->runs == 1)
		return add(c, "scans", "fewer than %d scans: %" PRIu64 " (%s)", COMPARE_FEW_SCANS,
			   fewest, side->label);
	return add(c, "scans",
		   "fewer than %d scans: in %zu of %zu runs, the least %" PRIu64 " (%s)",
		   COMPARE_FEW_SCANS, few, side->runs, fewest, side->label);
}

static int check_count(struct comparison *c, const struct compare_side *side, const char *key,
		       const char *title)
{
	uint64_t sum = 0, value;
	size_t i;

	for (i = 0; i < side->runs; i++)
		if (recording_get_u64(&side->run[i], key, &value))
			sum = value > UINT64_MAX - sum ? UINT64_MAX : sum + value;
	return sum ? add(c, key, "%s: %" PRIu64 " (%s)", title, sum, side->label) : 0;
}

static int check_cross_checks(struct comparison *c, const struct compare_side *side)
{
	size_t i, l;

	for (i = 0; i < side->runs; i++) {
		for (l = 0; l < side->run[i].lines; l++) {
			const struct recording_line *line = &side->run[i].line[l];

			/* One is enough to doubt a side. */
			if (!strncmp(line->key, "check.", 6) && !strncmp(line->value, "failed", 6))
				return add(c, "check", "a cross-check failed: %s: %.200s (%s)",
					   line->key + 6, line->value, side->label);
		}
	}
	return 0;
}

/* The cost is known for a page: what it is of a function that is called once a page, or of a scan
 * of many pages. */
static int check_cost(struct comparison *c, const struct compare_side *side)
{
	double cost = 0, value, share, worst = 0;
	const char *worst_name = NULL;
	size_t i, f;

	for (i = 0; i < side->runs; i++)
		if (recording_get_double(&side->run[i], "tracing_cost_ns_per_page", &value) &&
		    value > cost)
			cost = value;
	for (f = 0; f < c->functions; f++) {
		const struct fn_stat *stat = &side->cell[f].histogram.stat;
		double calls = (double)stat->count;

		if (!strcmp(c->function[f], "ksm_do_scan"))
			calls = side->totals.pages;
		if (!stat->sum_ns || !(calls > 0))
			continue;
		share = cost * calls / (double)stat->sum_ns;
		if (share > worst) {
			worst = share;
			worst_name = c->function[f];
		}
	}
	if (worst <= COMPARE_COST_MAX)
		return 0;
	return add(c, "tracing_cost",
		   "tracing cost %.0f ns a page: %.0f %% of a mean, that of %s (%s)", cost,
		   100 * worst, worst_name, side->label);
}

int compare_find_unfairness(struct comparison *c)
{
	size_t s;
	int err;

	if (!c->sides)
		return 0;
	err = check_settings(c);
	err |= check_common(c, 0, c->sides - 1, "cpu", "unknown", false, "cpu",
			    "different CPU model");
	err |= check_common(c, 0, c->sides - 1, "arch", "unknown", false, "arch",
			    "different architecture");
	err |= check_functions(c);
	err |= check_pools(c);
	for (s = 0; s < c->sides; s++) {
		err |= check_cost(c, &c->side[s]);
		err |= check_count(c, &c->side[s], "lost_scans", "lost scans");
		err |= check_count(c, &c->side[s], "missed_probes", "missed probes");
		err |= check_cross_checks(c, &c->side[s]);
		err |= check_scans(c, &c->side[s]);
	}
	return err ? -ENOMEM : 0;
}
