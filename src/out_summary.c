// SPDX-License-Identifier: GPL-2.0-only
/* The summary at the end of a run: totals, distributions, what was saved and at what price. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "format.h"
#include "sinks.h"

#define BAR_WIDTH 40
#define MIB	  (1024.0 * 1024.0)

static void functions(FILE *out, const struct session *s)
{
	int fn;

	fprintf(out, "%-20s%10s%10s%7s%10s%10s%10s%10s%10s%10s\n", "FUNCTION", "CALLS", "TOTAL",
		"%KSMD", "MEAN", "p50", "p90", "p99", "p99.9", "MAX");
	for (fn = 0; fn < FN_COUNT; fn++) {
		static const double q[] = { 0.5, 0.9, 0.99, 0.999, 1 };
		const struct histogram *h = &s->histogram[fn];
		char text[FORMAT_MAX];
		size_t i;

		if (!(s->requested & 1U << fn))
			continue;
		fprintf(out, "%-20s", function_name((enum ksmtrace_function)fn));
		if (!(s->functions & 1U << fn)) {
			fprintf(out, "  not timed: %s\n", s->hook[fn].note);
			continue;
		}
		fprintf(out, "%10" PRIu64 "%10s", (uint64_t)h->stat.count,
			format_duration(text, (double)h->stat.sum_ns));
		if (s->ksmd_cpu_ns)
			fprintf(out, "%7.1f",
				100.0 * (double)h->stat.sum_ns / (double)s->ksmd_cpu_ns);
		else
			fprintf(out, "%7s", "-");
		if (h->stat.count) {
			fprintf(out, "%10s", format_duration(text, fn_stat_mean(&h->stat)));
			for (i = 0; i < sizeof(q) / sizeof(q[0]); i++)
				fprintf(out, "%10s",
					format_duration(text, histogram_quantile(h, q[i])));
		}
		fputc('\n', out);
	}
}

/* How many calls fell into an octave: [low, 2 * low), the first one [0, BUCKET_SUB). */
static uint64_t octave_count(const struct histogram *h, unsigned int octave)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = octave * BUCKET_SUB; i < (octave + 1) * BUCKET_SUB && i < BUCKET_COUNT; i++)
		sum += h->bucket[i];
	return sum;
}

static void histogram(FILE *out, const char *name, const struct histogram *h)
{
	unsigned int octaves = BUCKET_OVERFLOW / BUCKET_SUB + 1, first = octaves, last = 0, i;
	uint64_t most = 0;

	for (i = 0; i < octaves; i++) {
		uint64_t count = octave_count(h, i);

		if (!count)
			continue;
		if (first == octaves)
			first = i;
		last = i;
		if (count > most)
			most = count;
	}
	if (!most)
		return;
	fprintf(out, "\n%-28s%10s  distribution\n", name, "calls");
	for (i = first; i <= last; i++) {
		uint64_t count = octave_count(h, i);
		char low[FORMAT_MAX], high[FORMAT_MAX] = "";
		int width = (int)((double)count / (double)most * BAR_WIDTH + 0.5);

		/* Any call at all is to be seen. */
		if (count && !width)
			width = 1;
		format_duration(low, (double)bucket_low(i * BUCKET_SUB));
		if (i + 1 < octaves)
			format_duration(high, (double)bucket_low((i + 1) * BUCKET_SUB));
		fprintf(out, "%10s .. %-10s%14" PRIu64 " |%-*.*s|\n", low, high, count, BAR_WIDTH,
			width, "########################################");
	}
}

static void totals(FILE *out, const struct session *s)
{
	char text[FORMAT_MAX], wall[FORMAT_MAX];
	double cpu_s = (double)s->ksmd_cpu_ns / 1e9;

	fprintf(out, "\n%" PRIu64 " scans, %" PRIu64 " passes, %s pages in %s; ", s->scans,
		s->passes, format_count(text, s->pages),
		format_duration(wall, (double)s->elapsed_ns));
	fprintf(out, "ksmd: %.3f CPU s, %.1f %% of a CPU", cpu_s,
		s->elapsed_ns ? 100.0 * (double)s->ksmd_cpu_ns / (double)s->elapsed_ns : 0.0);
	if (s->pages && s->pages != KSMTRACE_UNKNOWN)
		fprintf(out, ", %.0f ns a page", (double)s->ksmd_cpu_ns / (double)s->pages);
	fputc('\n', out);
}

static void savings(FILE *out, const struct session *s)
{
	double page = (double)sysconf(_SC_PAGESIZE), grown;

	if (s->sharing_after < 0)
		return;
	fprintf(out, "saved: %.1f MiB (pages_sharing %" PRId64 ")",
		(double)s->sharing_after * page / MIB, s->sharing_after);
	if (s->profit_after != INT64_MIN)
		fprintf(out, ", general_profit %.1f MiB", (double)s->profit_after / MIB);
	grown = s->sharing_before < 0 ? 0 :
					(double)(s->sharing_after - s->sharing_before) * page / MIB;
	if (grown > 0 && s->ksmd_cpu_ns)
		fprintf(out, "; in this run %.1f MiB more, %.4f CPU s per MiB", grown,
			(double)s->ksmd_cpu_ns / 1e9 / grown);
	fputc('\n', out);
}

static void trust(FILE *out, const struct session *s)
{
	const struct tracer_losses *l = &s->losses;
	int fn;

	fprintf(out, "lost: %" PRIu64 " scans; missed probes: %" PRIu64,
		l->lost_records + session_unaccounted(s), l->missed);
	if (l->folded)
		fprintf(out, "; %" PRIu64 " scan records were added to a later one", l->folded);
	if (l->clock_errors)
		fprintf(out, "; %" PRIu64 " durations below zero were counted as 0",
			l->clock_errors);
	if (l->missed_switches)
		fprintf(out, "; %" PRIu64 " times ksmd's return to a CPU was missed and reckoned "
			"from its run time", l->missed_switches);
	fputc('\n', out);
	if (!isnan(session_tracing_cost(s)))
		fprintf(out, "tracing: the programs took %.0f ns a call, %.1f ns a page; getting "
			"into them comes on top\n", s->call_ns, session_tracing_cost(s));
	for (fn = 0; fn < FN_COUNT; fn++) {
		uint64_t overflow = s->histogram[fn].bucket[BUCKET_OVERFLOW];
		const char *name = function_name((enum ksmtrace_function)fn);

		if (!(s->functions & 1U << fn))
			continue;
		if (l->unmatched_entries[fn] || l->unmatched_exits[fn])
			fprintf(out, "%s: %" PRIu64 " entries without an exit, %" PRIu64
				" exits without an entry: not averaged in\n", name,
				l->unmatched_entries[fn], l->unmatched_exits[fn]);
		if (overflow)
			fprintf(out, "%s: %" PRIu64 " calls of 68.7 s or more\n", name, overflow);
	}
	if (s->cut)
		fputs("the last scan was cut off: its calls are counted, it is not\n", out);
}

static void checks(FILE *out, const struct session *s)
{
	static const char *const words[] = { [CHECK_PASSED] = "passed", [CHECK_FAILED] = "FAILED" };
	struct check check[CHECK_COUNT];
	int i;

	check_session(s, check);
	for (i = 0; i < CHECK_COUNT; i++)
		if (check[i].result != CHECK_IMPOSSIBLE)
			fprintf(out, "check %s: %s (%s)\n", check[i].name, words[check[i].result],
				check[i].text);
}

static void hooks(FILE *out, const struct session *s)
{
	int fn;

	fputs("hooks:", out);
	for (fn = 0; fn < FN_COUNT; fn++) {
		const struct hook *hook = &s->hook[fn];
		const char *source = site_source_name(hook->sites.source);

		if (s->functions & 1U << fn)
			fprintf(out, " %s by %s%s%s%s;", function_name((enum ksmtrace_function)fn),
				rung_name(hook->rung),
				hook->rung == RUNG_INLINED && source ? ":" : "",
				hook->rung == RUNG_INLINED && source ? source : "",
				hook->exact ? "" : " (approximate)");
	}
	fprintf(out, " hash: %s\n", s->hash);
}

static int end(void *arg, const struct session *s)
{
	FILE *out = arg;
	int fn;

	if (!s->scans && !(s->functions & ~(1U << FN_ksm_do_scan)))
		return 0;
	fputc('\n', out);
	functions(out, s);
	for (fn = 0; fn < FN_COUNT; fn++)
		if (s->functions & 1U << fn)
			histogram(out, function_name((enum ksmtrace_function)fn),
				  &s->histogram[fn]);
	totals(out, s);
	savings(out, s);
	trust(out, s);
	checks(out, s);
	hooks(out, s);
	return fflush(out) || ferror(out) ? -errno : 0;
}

struct sink sink_summary(FILE *stream)
{
	return (struct sink){ .end = end, .arg = stream };
}
