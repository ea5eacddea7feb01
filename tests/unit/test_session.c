// SPDX-License-Identifier: GPL-2.0-only
/* Adding up a run: lines, intervals, totals, folded and cut scans. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "session.h"

#define MS 1000000ULL

static struct line seen[16], every[16];
static unsigned int lines, scans_seen;
static int answer; /* of the sink */

static int on_line(void *arg, const struct session *s, const struct line *line)
{
	(void)arg;
	(void)s;
	seen[lines++ % 16] = *line;
	return answer;
}

static int on_every(void *arg, const struct session *s, const struct line *line)
{
	(void)arg;
	(void)s;
	every[scans_seen++ % 16] = *line;
	return 0;
}

static struct session s;
static uint64_t clock_ns; /* CLOCK_MONOTONIC of the made-up run */
static uint64_t ksmd_clock;
static uint64_t number;

static void begin(uint64_t interval_ns)
{
	const struct sink sink = { .line = on_line };
	const struct sink all = { .line = on_every, .every_scan = true };

	assert_int_equal(session_init(&s), 0);
	lines = scans_seen = 0;
	answer = 0;
	number = 0;
	clock_ns = 1000 * MS;
	ksmd_clock = 500 * MS;
	s.functions = 1U << FN_ksm_do_scan | 1U << FN_calc_checksum;
	s.realtime_offset_ns = 5000 * (int64_t)MS;
	s.interval_ns = interval_ns;
	session_add_sink(&s, &sink);
	session_add_sink(&s, &all);
	session_begin(&s, clock_ns);
}

/* After a pause a scan of wall time with half of it on the CPU, and some checksum calls. */
static struct scan_record scan(uint64_t pause, uint64_t wall, uint64_t calls, uint64_t each)
{
	struct scan_record r = { .type = RECORD_SCAN, .covers = 1, .scans = ++number };

	clock_ns += pause;
	r.begin_ns = clock_ns;
	clock_ns += wall;
	ksmd_clock += wall / 2;
	r.end_ns = clock_ns;
	r.wall_ns = wall;
	r.cpu_ns = wall / 2;
	r.clock_ns = ksmd_clock;
	r.first_clock_ns = 500 * MS;
	r.pages = 200;
	r.pass = KSMTRACE_UNKNOWN;
	r.merged = 3;
	r.merged_known = 1;
	r.fn[FN_ksm_do_scan] = (struct fn_stat){ 1, wall / 2, wall / 2, wall / 2 };
	if (calls)
		r.fn[FN_calc_checksum] = (struct fn_stat){ calls, calls * each, each, each };
	return r;
}

static int release(void **state)
{
	(void)state;
	session_release(&s);
	return 0;
}

static void a_scan_makes_a_line(void **state)
{
	struct scan_record r;

	(void)state;
	begin(0);
	r = scan(10 * MS, 2 * MS, 5, 1400);
	session_scan(&s, &r);
	assert_int_equal(lines, 1);
	assert_int_equal(seen[0].scan, 1);
	assert_int_equal(seen[0].covers, 1);
	assert_int_equal(seen[0].pages, 200);
	assert_int_equal(seen[0].cpu_ns, MS);
	assert_int_equal(seen[0].end_ns, clock_ns + 5000 * MS);
	assert_int_equal(seen[0].fn[FN_calc_checksum].count, 5);
	assert_int_equal(seen[0].merged, 3);
}

static void cpu_percent_is_cpu_time_over_wall_time_since_the_line_before(void **state)
{
	struct scan_record r;

	(void)state;
	begin(0);
	r = scan(8 * MS, 2 * MS, 0, 0);
	session_scan(&s, &r);
	assert_true(fabs(seen[0].cpu_percent - 10.0) < 1e-9); /* 1 ms of 10 */
	r = scan(3 * MS, 1 * MS, 0, 0);
	session_scan(&s, &r);
	assert_true(fabs(seen[1].cpu_percent - 12.5) < 1e-9); /* 0.5 ms of 4 */
}

static void an_interval_adds_up_its_scans(void **state)
{
	struct scan_record r;
	int i;

	(void)state;
	begin(100 * MS);
	for (i = 0; i < 3; i++) {
		r = scan(9 * MS, 1 * MS, 2, 1000 + (uint64_t)i);
		session_scan(&s, &r);
		session_tick(&s, clock_ns);
	}
	assert_int_equal(lines, 0);
	assert_int_equal(scans_seen, 3); /* a file with a row a scan has them all the same */
	session_tick(&s, 1000 * MS + 100 * MS);
	assert_int_equal(lines, 1);
	assert_int_equal(seen[0].covers, 3);
	assert_int_equal(seen[0].pages, 600);
	assert_int_equal(seen[0].merged, 9);
	assert_int_equal(seen[0].fn[FN_calc_checksum].count, 6);
	assert_int_equal(seen[0].fn[FN_calc_checksum].min_ns, 1000);
	assert_int_equal(seen[0].fn[FN_calc_checksum].max_ns, 1002);
	assert_true(fabs(seen[0].cpu_percent - 1.5) < 1e-9);
}

static void an_interval_without_scans_is_a_line_of_nothing(void **state)
{
	(void)state;
	begin(100 * MS);
	session_tick(&s, 1000 * MS + 250 * MS);
	assert_int_equal(lines, 1);
	assert_int_equal(seen[0].covers, 0);
	assert_int_equal(seen[0].fn[FN_ksm_do_scan].count, 0);
	/* intervals stay on their grid */
	session_tick(&s, 1000 * MS + 299 * MS);
	assert_int_equal(lines, 1);
	session_tick(&s, 1000 * MS + 300 * MS);
	assert_int_equal(lines, 2);
}

static void scan_means_weigh_each_scan_the_same(void **state)
{
	struct scan_means means;
	struct scan_record r;

	(void)state;
	begin(0);
	r = scan(MS, MS, 1, 1000);
	session_scan(&s, &r);
	r = scan(MS, MS, 99, 2000);
	session_scan(&s, &r);
	r = scan(MS, MS, 0, 0); /* no call: no mean */
	session_scan(&s, &r);
	session_scan_means(&s, FN_calc_checksum, &means);
	assert_int_equal(means.scans, 2);
	assert_true(fabs(means.mean_ns - 1500.0) < 1e-6);
	assert_true(fabs(means.variance_ns2 - 500000.0) < 1e-3);
}

static void a_folded_record_counts_in_totals_but_not_in_scan_means(void **state)
{
	struct scan_means means;
	struct scan_record r;

	(void)state;
	begin(0);
	r = scan(MS, MS, 1, 1000);
	session_scan(&s, &r);
	r = scan(MS, MS, 10, 3000);
	r.covers = 5;
	r.scans = 6;
	r.pages = 1000;
	session_scan(&s, &r);
	assert_int_equal(s.scans, 6);
	assert_int_equal(s.pages, 1200);
	assert_int_equal(s.recorded[FN_calc_checksum].count, 11);
	session_scan_means(&s, FN_calc_checksum, &means);
	assert_int_equal(means.scans, 1);
	assert_int_equal(seen[1].covers, 5);
}

static void a_cut_scan_is_no_scan_but_its_calls_count(void **state)
{
	struct scan_record r;

	(void)state;
	begin(0);
	r = scan(MS, MS, 1, 1000);
	session_scan(&s, &r);
	r = scan(MS, 0, 7, 1000);
	r.covers = 0;
	r.scans = 1;
	session_scan(&s, &r);
	assert_int_equal(s.scans, 1);
	assert_int_equal(s.pages, 200);
	assert_true(s.cut);
	assert_true(seen[1].cut);
	assert_int_equal(s.recorded[FN_calc_checksum].count, 8);
}

static void unknown_pages_stay_unknown(void **state)
{
	struct scan_record r;

	(void)state;
	begin(0);
	r = scan(MS, MS, 0, 0);
	r.pages = KSMTRACE_UNKNOWN;
	session_scan(&s, &r);
	r = scan(MS, MS, 0, 0);
	session_scan(&s, &r);
	assert_true(s.pages == KSMTRACE_UNKNOWN);
	assert_true(seen[0].pages == KSMTRACE_UNKNOWN);
}

static void calls_that_no_record_told_of_are_noticed(void **state)
{
	struct histogram_record h = { .function = FN_calc_checksum };
	struct scan_record r;

	(void)state;
	begin(0);
	r = scan(MS, MS, 10, 1000);
	session_scan(&s, &r);
	h.total = (struct fn_stat){ 10, 10000, 1000, 1000 };
	session_histogram(&s, &h);
	h.function = FN_ksm_do_scan;
	h.total = (struct fn_stat){ 1, MS / 2, MS / 2, MS / 2 };
	session_histogram(&s, &h);
	assert_int_equal(session_unaccounted(&s), 0);
	h.function = FN_calc_checksum;
	h.total = (struct fn_stat){ 13, 13000, 1000, 1000 };
	session_histogram(&s, &h);
	assert_int_equal(session_unaccounted(&s), 3);
}

static void a_failing_sink_is_remembered(void **state)
{
	struct scan_record r;

	(void)state;
	begin(0);
	answer = -EPIPE;
	r = scan(MS, MS, 0, 0);
	session_scan(&s, &r);
	assert_int_equal(s.error, -EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_teardown(name, release)
		T(a_scan_makes_a_line),
		T(cpu_percent_is_cpu_time_over_wall_time_since_the_line_before),
		T(an_interval_adds_up_its_scans),
		T(an_interval_without_scans_is_a_line_of_nothing),
		T(scan_means_weigh_each_scan_the_same),
		T(a_folded_record_counts_in_totals_but_not_in_scan_means),
		T(a_cut_scan_is_no_scan_but_its_calls_count),
		T(unknown_pages_stay_unknown),
		T(calls_that_no_record_told_of_are_noticed),
		T(a_failing_sink_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
