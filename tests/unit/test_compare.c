// SPDX-License-Identifier: GPL-2.0-only
/* Comparisons: what is shown, what is not, what is unfair, and the four forms of output. */
#include "standin.h"

#include <math.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <jansson.h>

#include "cmd.h"
#include "compare.h"
#include "out_compare.h"
#include "sinks.h"

/* --- recordings made here ------------------------------------------------------------------- */

struct spec {
	const char *function; /* NULL: calc_checksum */
	double mean, sd;      /* of a scan's mean, in ns */
	unsigned int scans;   /* 0: 300 */
	const char *key[6];   /* more head lines: key, value, key, value */
};

/* A recording whose stat line says what spec says; a call a scan, all in one bucket. */
static void make(struct recording *r, const struct spec *spec)
{
	const char *name = spec->function ? spec->function : "calc_checksum";
	unsigned int scans = spec->scans ? spec->scans : 300;
	struct recording_function f = {
		.scans = scans, .scan_mean_ns = spec->mean, .scan_var_ns2 = spec->sd * spec->sd};
	uint64_t ns = (uint64_t)(spec->mean + 0.5);
	size_t i;

	snprintf(f.name, sizeof(f.name), "%s", name);
	f.histogram.stat =
		(struct fn_stat){scans, (uint64_t)(spec->mean * scans + 0.5), ns / 2, 2 * ns};
	f.histogram.bucket[bucket_index(ns)] = scans;
	recording_init(r);
	assert_int_equal(recording_add(r, "scans", "%u", scans), 0);
	assert_int_equal(recording_add(r, "elapsed_s", "%s", "60.000"), 0);
	for (i = 0; i + 1 < sizeof(spec->key) / sizeof(spec->key[0]) && spec->key[i]; i += 2)
		assert_int_equal(recording_add(r, spec->key[i], "%s", spec->key[i + 1]), 0);
	assert_int_equal(recording_add_function(r, &f), 0);
}

static void add_run(struct comparison *c, bool new_side, const struct spec *spec)
{
	struct recording r;

	make(&r, spec);
	if (new_side)
		assert_int_equal(compare_add_side(c), 0);
	assert_int_equal(compare_add_run(c, "x.csv", &r), 0);
}

/* Two sides with a run each. */
static void compare(struct comparison *c, const struct spec *a, const struct spec *b)
{
	compare_init(c);
	add_run(c, true, a);
	add_run(c, true, b);
	assert_int_equal(compare_finish(c), 0);
}

static char *text_of(const struct comparison *c, void (*put)(FILE *, const struct comparison *))
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	put(stream, c);
	fclose(stream);
	return text;
}

/* The text of the finding with that word, or "". */
static const char *finding(const struct comparison *c, const char *what)
{
	size_t i;

	for (i = 0; i < c->findings; i++)
		if (!strcmp(c->finding[i].what, what))
			return c->finding[i].text;
	return "";
}

/* --- verdicts ------------------------------------------------------------------------------- */

static void a_recording_compared_with_itself_shows_no_difference(void **state)
{
	const struct spec spec = {.mean = 1413.2, .sd = 60};
	struct comparison c;
	char *text;

	(void)state;
	compare(&c, &spec, &spec);
	assert_true(c.side[1].cell[0].ratio.value == 1);
	assert_int_equal(c.side[1].cell[0].verdict, STATS_NOT_SHOWN);
	assert_int_equal(c.findings, 0);
	text = text_of(&c, compare_put_text);
	assert_contains(text, "no difference shown: 0.0 % (95 %: -");
	assert_null(strstr(text, "unfair"));
	free(text);
	compare_release(&c);
}

static void three_percent_are_shown_in_both_directions(void **state)
{
	const struct spec before = {.mean = 1413.2, .sd = 60};
	const struct spec slower = {.mean = 1413.2 * 1.03, .sd = 60};
	struct comparison c;

	(void)state;
	compare(&c, &before, &slower);
	assert_int_equal(c.side[1].cell[0].verdict, STATS_SLOWER);
	assert_true(fabs(c.side[1].cell[0].ratio.value - 1.03) < 0.001);
	compare_release(&c);
	compare(&c, &slower, &before);
	assert_int_equal(c.side[1].cell[0].verdict, STATS_FASTER);
	compare_release(&c);
}

/* A scan of 100 pages, with scatter as real ones have: it wanders slowly, with outliers. */
struct source {
	gsl_rng *rng;
	double x, r, scatter;
};

static uint64_t next_ns(struct source *s, double mean)
{
	double v;

	s->x = s->r * s->x + sqrt(1 - s->r * s->r) * gsl_ran_gaussian(s->rng, 1);
	v = mean * (1 + s->scatter * s->x);
	/* One in fifty is hit by an interrupt. */
	if (gsl_rng_uniform(s->rng) < 0.02)
		v *= 1 + gsl_ran_exponential(s->rng, 0.5);
	return v < mean / 4 ? (uint64_t)(mean / 4) : (uint64_t)v;
}

static void begin(struct session *s)
{
	assert_int_equal(session_init(s), 0);
	s->functions = s->requested = 1U << FN_ksm_do_scan;
}

static void scan(struct session *s, uint64_t ns)
{
	struct scan_record record = {.type = RECORD_SCAN,
				     .covers = 1,
				     .scans = s->scans + 1,
				     .pages = 100,
				     .pass = KSMTRACE_UNKNOWN,
				     .cpu_ns = ns};

	record.fn[FN_ksm_do_scan] = (struct fn_stat){1, ns, ns, ns};
	session_scan(s, &record);
	histogram_add(&s->histogram[FN_ksm_do_scan], ns);
}

static void end(struct session *s, struct recording *r)
{
	recording_init(r);
	assert_int_equal(session_to_recording(s, r), 0);
	session_release(s);
}

static enum stats_verdict verdict_of(struct recording *a, struct recording *b)
{
	enum stats_verdict verdict;
	struct comparison c;

	compare_init(&c);
	assert_int_equal(compare_add_side(&c), 0);
	assert_int_equal(compare_add_run(&c, "a", a), 0);
	assert_int_equal(compare_add_side(&c), 0);
	assert_int_equal(compare_add_run(&c, "b", b), 0);
	assert_int_equal(compare_finish(&c), 0);
	verdict = c.side[1].cell[0].verdict;
	compare_release(&c);
	return verdict;
}

/* Of 20 long runs: how often a part of each, after a change of the mean, is shown to differ from
 * the rest. mixed: its scans are picked at random, else it is the second half. */
static int shown_in_20(double r, double scatter, unsigned int scans, double change, bool mixed)
{
	struct source source = {gsl_rng_alloc(gsl_rng_mt19937), 0, r, scatter};
	int i, shown = 0;

	gsl_rng_set(source.rng, 3);
	for (i = 0; i < 20; i++) {
		struct session a, b;
		struct recording ra, rb;
		unsigned int k;

		begin(&a);
		begin(&b);
		for (k = 0; k < scans; k++) {
			bool second = mixed ? gsl_rng_uniform(source.rng) < 0.5 : k >= scans / 2;

			scan(second ? &b : &a, next_ns(&source, second ? 200000 * change : 200000));
		}
		end(&a, &ra);
		end(&b, &rb);
		shown += verdict_of(&ra, &rb) != STATS_NOT_SHOWN;
	}
	gsl_rng_free(source.rng);
	print_message(
		"# correlation %.2f, scatter %.0f %%, %u scans, change %+.0f %%%s: shown in %d "
		"of 20\n",
		r, 100 * scatter, scans, compare_percent(change), mixed ? ", scans picked" : "",
		shown);
	return shown;
}

static void halves_of_one_long_run_do_not_differ(void **state)
{
	(void)state;
	assert_in_range(shown_in_20(0, 0.05, 600, 1, false), 0, 2);
	assert_in_range(shown_in_20(0.6, 0.2, 2000, 1, false), 0, 2);
	assert_in_range(shown_in_20(0.96, 0.3, 6000, 1, false), 0, 2);
	assert_in_range(shown_in_20(0.96, 0.3, 6000, 1, true), 0, 2);
}

static void a_shift_of_three_percent_is_shown(void **state)
{
	(void)state;
	assert_in_range(shown_in_20(0, 0.05, 2000, 1.03, false), 19, 20);
	assert_in_range(shown_in_20(0.3, 0.1, 4000, 1.03, false), 18, 20);
}

static void pooled_runs_show_only_what_their_spread_lets_show(void **state)
{
	/* Each run knows its mean to 0.3 %; the runs of a side differ by 5 %. */
	const double a[] = {100, 105, 95}, b[] = {103, 108, 98};
	struct comparison c;
	struct spec spec = {.sd = 5};
	char *text;
	int i;

	(void)state;
	compare_init(&c);
	for (i = 0; i < 3; i++) {
		spec.mean = a[i] * 1000;
		spec.sd = spec.mean * 0.05;
		add_run(&c, i == 0, &spec);
	}
	for (i = 0; i < 3; i++) {
		spec.mean = b[i] * 1000;
		add_run(&c, i == 0, &spec);
	}
	assert_int_equal(compare_finish(&c), 0);
	assert_int_equal(c.side[0].cell[0].runs, 3);
	assert_int_equal(c.side[0].cell[0].histogram.stat.count, 900);
	assert_true(fabs(c.side[0].cell[0].spread_ns - 5000) < 0.1);
	assert_int_equal(c.side[1].cell[0].verdict, STATS_NOT_SHOWN);
	text = text_of(&c, compare_put_text);
	assert_contains(text, "run to run");
	assert_contains(text, "5.00 %");
	assert_null(strstr(text, "A side with one run"));
	free(text);
	compare_release(&c);
	/* The same difference between single runs is shown. */
	spec.mean = 103000;
	compare(&c, &(struct spec){.mean = 100000, .sd = 5000}, &spec);
	assert_int_equal(c.side[1].cell[0].verdict, STATS_SLOWER);
	compare_release(&c);
}

static void too_few_scans_show_nothing(void **state)
{
	struct comparison c;
	char *text;

	(void)state;
	compare(&c, &(struct spec){.mean = 100, .scans = 1},
		&(struct spec){.mean = 500, .scans = 1});
	assert_int_equal(c.side[1].cell[0].verdict, STATS_NOT_SHOWN);
	text = text_of(&c, compare_put_text);
	assert_contains(text, "no difference shown: +400.00 % (too few scans for an interval)");
	free(text);
	compare_release(&c);
}

/* --- fairness ------------------------------------------------------------------------------- */

static void assert_unfair(const struct spec *a, const struct spec *b, const char *what,
			  const char *text)
{
	struct comparison c;

	compare(&c, a, b);
	if (strcmp(finding(&c, what), text))
		fail_msg("%s: \"%s\", not \"%s\"", what, finding(&c, what), text);
	compare_release(&c);
}

#define WITH(...) (&(struct spec){.mean = 1000, .sd = 20, .key = {__VA_ARGS__}})

static void what_is_unfair_is_named(void **state)
{
	(void)state;
	assert_unfair(WITH("ksm.pages_to_scan", "200"), WITH("ksm.pages_to_scan", "100"),
		      "pages_to_scan", "different pages_to_scan: 200 (A); 100 (B)");
	assert_unfair(WITH("ksm.sleep_millisecs", "20"), WITH("ksm.sleep_millisecs", "200"),
		      "sleep_millisecs", "different sleep_millisecs: 20 (A); 200 (B)");
	assert_unfair(WITH("ksm.use_zero_pages", "0"), WITH("ksm.use_zero_pages", "1"),
		      "use_zero_pages", "different use_zero_pages: 0 (A); 1 (B)");
	assert_unfair(WITH("ksm.max_page_sharing", "256"), WITH("ksm.max_page_sharing", "2"),
		      "max_page_sharing", "different max_page_sharing: 256 (A); 2 (B)");
	/* A kernel without smart_scan scans as one with it off. */
	assert_unfair(WITH(NULL), WITH("ksm.smart_scan", "1"), "smart_scan",
		      "different smart_scan: 0 (A); 1 (B)");
	assert_unfair(WITH(NULL), WITH("ksm.smart_scan", "0"), "smart_scan", "");
	assert_unfair(WITH("cpu", "Xeon"), WITH("cpu", "EPYC"), "cpu",
		      "different CPU model: Xeon (A); EPYC (B)");
	assert_unfair(WITH("arch", "x86_64"), WITH("arch", "aarch64"), "arch",
		      "different architecture: x86_64 (A); aarch64 (B)");
	assert_unfair(WITH("lost_scans", "0"), WITH("lost_scans", "3"), "lost_scans",
		      "lost scans: 3 (B)");
	assert_unfair(WITH("missed_probes", "9"), WITH("missed_probes", "0"), "missed_probes",
		      "missed probes: 9 (A)");
	assert_unfair(WITH("check.pages_scanned", "failed: 1 of 2"), WITH(NULL), "check",
		      "a cross-check failed: pages_scanned: failed: 1 of 2 (A)");
	/* What differs between kernels is what is compared. */
	assert_unfair(WITH("kernel", "6.1", "hash", "xxh64"), WITH("kernel", "6.12"), "pooled", "");
}

static void another_rung_is_unfair_and_another_source_of_sites_is_not(void **state)
{
	(void)state;
	assert_unfair(WITH("hook.calc_checksum", "fentry"),
		      WITH("hook.calc_checksum", "inlined machine-code"), "hook.calc_checksum",
		      "calc_checksum hooked differently: fentry (A); inlined (B)");
	assert_unfair(WITH("hook.calc_checksum", "inlined plan"),
		      WITH("hook.calc_checksum", "inlined machine-code"), "hook.calc_checksum", "");
}

static void functions_that_one_side_lacks_are_named(void **state)
{
	(void)state;
	assert_unfair(WITH(NULL), &(struct spec){.function = "ksm_do_scan", .mean = 9, .sd = 1},
		      "functions", "functions timed: calc_checksum is not in B");
}

static void few_scans_are_unfair(void **state)
{
	const struct spec few = {.mean = 1000, .sd = 20, .scans = 29};
	const struct spec enough = {.mean = 1000, .sd = 20, .scans = 30};

	(void)state;
	assert_unfair(&few, &enough, "scans", "fewer than 30 scans: 29 (A)");
	assert_unfair(&enough, &enough, "scans", "");
}

static void tracing_that_costs_more_than_a_tenth_is_unfair(void **state)
{
	(void)state;
	assert_unfair(WITH(NULL), WITH("tracing_cost_ns_per_page", "210"), "tracing_cost",
		      "tracing cost 210 ns a page: 21 % of a mean, that of calc_checksum (B)");
	assert_unfair(WITH(NULL), WITH("tracing_cost_ns_per_page", "99.5"), "tracing_cost", "");
	assert_unfair(WITH(NULL), WITH("tracing_cost_ns_per_page", "unknown"), "tracing_cost", "");
	/* A scan is many pages. */
	assert_unfair(&(struct spec){.function = "ksm_do_scan",
				     .mean = 100000,
				     .sd = 1,
				     .key = {"pages", "30000", "tracing_cost_ns_per_page", "50"}},
		      WITH(NULL), "tracing_cost", "");
	assert_unfair(&(struct spec){.function = "ksm_do_scan",
				     .mean = 100000,
				     .sd = 1,
				     .key = {"pages", "30000", "tracing_cost_ns_per_page", "150"}},
		      WITH(NULL), "tracing_cost",
		      "tracing cost 150 ns a page: 15 % of a mean, that of ksm_do_scan (A)");
}

static void pooling_different_kernels_is_unfair(void **state)
{
	struct comparison c;

	(void)state;
	compare_init(&c);
	add_run(&c, true, WITH("kernel", "6.1"));
	add_run(&c, false, WITH("kernel", "6.12"));
	add_run(&c, true, WITH("kernel", "6.12"));
	assert_int_equal(compare_finish(&c), 0);
	assert_string_equal(finding(&c, "pooled"), "pooled runs differ in kernel: 6.1, 6.12 (A)");
	compare_release(&c);
}

/* --- output --------------------------------------------------------------------------------- */

/* Five hashes, as in the kernel's xxhash patch series. */
static void compare_hashes(struct comparison *c)
{
	static const struct {
		const char *name;
		double mean;
	} hashes[] = {{"jhash2", 5128.30},
		      {"xxh64", 1413.16},
		      {"xxh32", 2227.75},
		      {"crc32c", 1084.10},
		      {"crc32c-generic", 7012.51}};
	size_t i;

	compare_init(c);
	for (i = 0; i < 5; i++) {
		struct spec spec = {.mean = hashes[i].mean,
				    .sd = 100,
				    .key = {"hash", hashes[i].name, "cpu",
					    "Intel(R) Xeon(R) CPU E5-2620 v3 @ 2.40GHz"}};
		struct spec whole = spec;

		whole.function = "ksm_do_scan";
		whole.mean *= 300;
		add_run(c, true, &whole);
		add_run(c, false, &spec);
	}
	assert_int_equal(compare_finish(c), 0);
}

static void three_or_more_get_the_matrix_of_decreases(void **state)
{
	struct comparison c;
	char *text;

	(void)state;
	compare_hashes(&c);
	text = text_of(&c, compare_put_text);
	assert_contains(text, "A to B   5128.30 -> 1413.16: 72.44 %");
	assert_contains(text, "A to E   5128.30 -> 7012.51: -36.74 %");
	assert_contains(text, "\nA           -    72.44    56.56    78.86   -36.74\n");
	assert_contains(text, "\nB     -262.90        -   -57.64    23.29  -396.23\n");
	free(text);
	text = text_of(&c, compare_put_markdown);
	assert_contains(text, "| A | - | 72.44 | 56.56 | 78.86 | -36.74 |");
	free(text);
	compare_release(&c);
}

static void text_is_at_most_72_columns_wide(void **state)
{
	struct comparison c;
	char *text, *line, *rest;

	(void)state;
	compare_hashes(&c);
	text = rest = text_of(&c, compare_put_text);
	while ((line = strsep(&rest, "\n")))
		if (strlen(line) > 72)
			fail_msg("%zu columns: %s", strlen(line), line);
	free(text);
	compare_release(&c);
}

static void ksm_do_scan_comes_after_the_other_functions(void **state)
{
	struct comparison c;

	(void)state;
	compare_hashes(&c);
	assert_int_equal(c.functions, 2);
	assert_string_equal(c.function[0], "calc_checksum");
	assert_string_equal(c.function[1], "ksm_do_scan");
	/* The figures moved along. */
	assert_int_equal(c.side[1].cell[0].histogram.stat.count, 300);
	assert_true(fabs(c.side[1].cell[0].mean.mean - 1413.2) < 0.1);
	compare_release(&c);
}

static void figures_of_the_whole_run_are_shown(void **state)
{
	const struct spec spec = {
		.mean = 2048,
		.sd = 20,
		.key = {"ksmd_cpu_ns", "1200000000", "pages", "60000", "pages_sharing", "7679"}};
	struct comparison c;
	char *text;

	(void)state;
	compare(&c, &spec, &spec);
	text = text_of(&c, compare_put_text);
	assert_contains(text, "ksmd CPU %                    2.00              2.00\n");
	assert_contains(text, "CPU ns/page                20000.0           20000.0\n");
	assert_contains(text, "checksum MB/s                 2000              2000\n");
	assert_contains(text, "pages saved                   7679              7679\n");
	/* 2048 is in a bucket of 64 ns. */
	assert_contains(text, "p50                2079.5ns +-1.5%");
	free(text);
	compare_release(&c);
}

static void csv_has_a_figure_a_row(void **state)
{
	struct comparison c;
	char *text, *line, *rest;
	size_t rows = 0;

	(void)state;
	compare(&c, WITH("ksm.pages_to_scan", "1"), WITH("ksm.pages_to_scan", "2"));
	text = rest = text_of(&c, compare_put_csv);
	assert_contains(text, "# unfair.pages_to_scan: different pages_to_scan: 1 (A); 2 (B)\n"
			      "function,side,figure,value,low,high\n");
	assert_contains(text, "\ncalc_checksum,A,mean_ns,1000,,\n");
	assert_contains(text, "\ncalc_checksum,B,ratio,1,0.99");
	assert_contains(text, "\ncalc_checksum,B,verdict,no difference shown,,\n");
	while ((line = strsep(&rest, "\n"))) {
		size_t commas = 0;

		if (!*line || *line == '#')
			continue;
		for (; *line; line++)
			commas += *line == ',';
		assert_int_equal(commas, 5);
		rows++;
	}
	assert_true(rows > 20);
	free(text);
	compare_release(&c);
}

static void json_is_one_object(void **state)
{
	struct comparison c;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	json_t *root, *side;

	(void)state;
	compare_hashes(&c);
	assert_int_equal(compare_put_json(stream, &c, true), 0);
	fclose(stream);
	assert_ptr_equal(strchr(text, '\n'), text + size - 1);
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "type")), "compare");
	assert_int_equal(json_array_size(json_object_get(root, "sides")), 5);
	side = json_object_get(json_array_get(json_object_get(root, "functions"), 0), "sides");
	side = json_array_get(side, 1);
	assert_string_equal(json_string_value(json_object_get(side, "verdict")), "faster");
	assert_true(json_number_value(json_object_get(side, "ratio_high")) < 0.3);
	assert_true(json_number_value(json_object_get(side, "mean_ns")) > 1413.1);
	json_decref(root);
	free(text);
	compare_release(&c);
}

/* --- live ----------------------------------------------------------------------------------- */

/* The table's lines for a scan of 200 us with and without a recording to set it against. */
static char *table(const struct recording *baseline)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct sink sink = sink_table(stream);
	struct session s;

	begin(&s);
	s.baseline = baseline;
	session_add_sink(&s, &sink);
	session_begin(&s, 1);
	scan(&s, 200000);
	session_release(&s);
	fclose(stream);
	return text;
}

static void the_live_table_has_the_change_beside_each_mean(void **state)
{
	struct recording baseline;
	char *text, *second;

	(void)state;
	make(&baseline, &(struct spec){.function = "ksm_do_scan", .mean = 160000, .sd = 1});
	text = table(&baseline);
	assert_contains(text, "      SCAN  vs BASE   CPU%  CMP/page  vs BASE  CKSUM/call  vs BASE");
	assert_contains(text, "   200.0us   +25.0%");
	second = strchr(text, '\n') + 1;
	/* Columns stay put. */
	assert_int_equal(second - text - 1, strlen(second) - 1);
	free(text);
	text = table(NULL);
	assert_null(strstr(text, "BASE"));
	assert_null(strchr(text, '+'));
	free(text);
	recording_release(&baseline);
}

static void the_run_is_compared_with_the_baseline(void **state)
{
	struct recording baseline;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct session s;
	unsigned int i;

	(void)state;
	make(&baseline, &(struct spec){.function = "ksm_do_scan", .mean = 160000, .sd = 1000});
	begin(&s);
	for (i = 0; i < 100; i++)
		scan(&s, 200000 + i % 7 * 100);
	assert_int_equal(baseline_compare(stream, "before.csv", &baseline, &s, false), 0);
	fclose(stream);
	assert_contains(text, "A  before.csv");
	assert_contains(text, "B  this run");
	assert_contains(text, "B: slower: +25.1");
	session_release(&s);
	free(text);
}

/* --- the command ---------------------------------------------------------------------------- */

static void write_recording(const char *root, const char *name, const struct spec *spec)
{
	struct recording r;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	make(&r, spec);
	recording_write(&r, stream);
	fclose(stream);
	standin_write(root, name, text);
	free(text);
	recording_release(&r);
}

/* The status of "compare" with up to three arguments; what it says goes nowhere. */
static int run(const char *one, const char *two, const char *three)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		char *argv[] = {strdup("compare"), strdup(one), two ? strdup(two) : NULL,
				three ? strdup(three) : NULL, NULL};

		if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
			_exit(99);
		_exit(cmd_compare(three ? 4 : two ? 3 : 2, argv));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void the_command_tells_by_its_status(void **state)
{
	char *root = standin_new();
	char a[256], b[256], pool[512], bad[256];

	(void)state;
	write_recording(root, "a,1.csv", WITH("ksm.pages_to_scan", "1"));
	write_recording(root, "b.csv", WITH("ksm.pages_to_scan", "2"));
	standin_write(root, "bad.csv", "a,b\n");
	snprintf(a, sizeof(a), "%s/a,1.csv", root);
	snprintf(b, sizeof(b), "%s/b.csv", root);
	snprintf(bad, sizeof(bad), "%s/bad.csv", root);
	snprintf(pool, sizeof(pool), "%s,%s", b, b);
	assert_int_equal(run(a, b, NULL), EXIT_MEASURED);
	assert_int_equal(run(b, pool, NULL), EXIT_MEASURED);
	assert_int_equal(run(b, pool, "--strict"), EXIT_MEASURED);
	assert_int_equal(run(a, b, "--strict"), EXIT_FAILED);
	assert_int_equal(run(a, bad, NULL), EXIT_FAILED);
	assert_int_equal(run(a, "/nonexistent", NULL), EXIT_FAILED);
	assert_int_equal(run(a, NULL, NULL), EXIT_USAGE);
	assert_int_equal(run("--json", "--csv", a), EXIT_USAGE);
	assert_int_equal(run("--jso", a, b), EXIT_USAGE);
	standin_free(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_compared_with_itself_shows_no_difference),
		cmocka_unit_test(three_percent_are_shown_in_both_directions),
		cmocka_unit_test(halves_of_one_long_run_do_not_differ),
		cmocka_unit_test(a_shift_of_three_percent_is_shown),
		cmocka_unit_test(pooled_runs_show_only_what_their_spread_lets_show),
		cmocka_unit_test(too_few_scans_show_nothing),
		cmocka_unit_test(what_is_unfair_is_named),
		cmocka_unit_test(another_rung_is_unfair_and_another_source_of_sites_is_not),
		cmocka_unit_test(functions_that_one_side_lacks_are_named),
		cmocka_unit_test(few_scans_are_unfair),
		cmocka_unit_test(tracing_that_costs_more_than_a_tenth_is_unfair),
		cmocka_unit_test(pooling_different_kernels_is_unfair),
		cmocka_unit_test(three_or_more_get_the_matrix_of_decreases),
		cmocka_unit_test(text_is_at_most_72_columns_wide),
		cmocka_unit_test(ksm_do_scan_comes_after_the_other_functions),
		cmocka_unit_test(figures_of_the_whole_run_are_shown),
		cmocka_unit_test(csv_has_a_figure_a_row),
		cmocka_unit_test(json_is_one_object),
		cmocka_unit_test(the_live_table_has_the_change_beside_each_mean),
		cmocka_unit_test(the_run_is_compared_with_the_baseline),
		cmocka_unit_test(the_command_tells_by_its_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
