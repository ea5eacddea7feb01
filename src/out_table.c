// SPDX-License-Identifier: GPL-2.0-only
/* The live table: one line a scan (or an interval), columns that stay put. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format.h"
#include "sinks.h"

#define PAGE_BYTES	 4096.0 /* what calc_checksum hashes */
#define LINES_PER_HEADER 40 /* on a terminal, where the first one scrolls away */

/* The functions that have a column of their own in every table. */
#define STANDARD FUNCTIONS_DEFAULT

/* With a baseline: beside each mean, how much it is above or below the recording's. */
#define CHANGE_WIDTH 9

static int flush(FILE *stream)
{
	return fflush(stream) || ferror(stream) ? -errno : 0;
}

static void header(FILE *stream, const struct session *s)
{
	int fn;

	const char *change = s->baseline ? "vs BASE" : "";
	int width = s->baseline ? CHANGE_WIDTH : 0;

	fprintf(stream, "%-8s%6s%6s%7s%10s%*s%7s%10s%*s%12s%*s%7s%8s", "TIME", "SCAN", "PASS",
		"PAGES", "SCAN", width, change, "CPU%", "CMP/page", width, change, "CKSUM/call",
		width, change, "MB/s", "MERGED");
	for (fn = 0; fn < FN_COUNT; fn++)
		if (s->functions & ~STANDARD & 1U << fn)
			fprintf(stream, "  %s", function_name((enum ksmtrace_function)fn));
	fputc('\n', stream);
}

static int begin(void *arg, const struct session *s)
{
	FILE *stream = arg;

	header(stream, s);
	return flush(stream);
}

static char *mean(char *buffer, const struct fn_stat *stat, char *(*format)(char *, double))
{
	return stat->count ? format(buffer, fn_stat_mean(stat)) : strcpy(buffer, "-");
}

/* Of the mean of all calls: what a line shows has no interval. Without a baseline: "". */
static char *change(char *buffer, const struct session *s, const struct line *l,
		    enum ksmtrace_function fn)
{
	const struct recording_function *base;
	double percent;

	*buffer = '\0';
	if (!s->baseline)
		return buffer;
	base = recording_find(s->baseline, function_name(fn));
	if (!l->fn[fn].count || !base || !base->histogram.stat.sum_ns)
		return strcpy(buffer, "-");
	percent = 100 * (fn_stat_mean(&l->fn[fn]) / fn_stat_mean(&base->histogram.stat) - 1);
	if (percent > 9999)
		return strcpy(buffer, ">9999%");
	snprintf(buffer, FORMAT_MAX, "%+.1f%%", percent);
	return buffer;
}

static int line(void *arg, const struct session *s, const struct line *l)
{
	const struct fn_stat *sum = &l->fn[FN_calc_checksum];
	char time[FORMAT_MAX], pages[FORMAT_MAX], scan[FORMAT_MAX], cpu[FORMAT_MAX];
	char cmp[FORMAT_MAX], sum_ns[FORMAT_MAX], rate[FORMAT_MAX], merged[FORMAT_MAX];
	char scan_change[FORMAT_MAX], cmp_change[FORMAT_MAX], sum_change[FORMAT_MAX];
	int fn, width = s->baseline ? CHANGE_WIDTH : 0;
	FILE *stream = arg;

	if (isatty(fileno(stream)) && l->scan && l->scan % LINES_PER_HEADER == 0)
		header(stream, s);
	/* Several scans in one line: the mean of them. */
	mean(scan, &l->fn[FN_ksm_do_scan], format_duration);
	mean(cmp, &l->fn[FN_cmp_and_merge_page], format_duration);
	mean(sum_ns, sum, format_ns);
	snprintf(cpu, sizeof(cpu), isnan(l->cpu_percent) ? "-" : "%.1f", l->cpu_percent);
	/* bytes a nanosecond times 1000 is 10^6 bytes a second */
	snprintf(rate, sizeof(rate), sum->sum_ns ? "%.0f" : "-",
		 PAGE_BYTES / fn_stat_mean(sum) * 1000);
	snprintf(merged, sizeof(merged), l->merged_known ? "%lld" : "-", (long long)l->merged);
	fprintf(stream, "%-8s%6llu%6llu%7s%10s%*s%7s%10s%*s%12s%*s%7s%8s",
		format_time_of_day(time, l->end_ns), (unsigned long long)l->scan,
		(unsigned long long)l->pass, format_count(pages, l->pages), scan, width,
		change(scan_change, s, l, FN_ksm_do_scan), cpu, cmp, width,
		change(cmp_change, s, l, FN_cmp_and_merge_page), sum_ns, width,
		change(sum_change, s, l, FN_calc_checksum), rate, merged);
	for (fn = 0; fn < FN_COUNT; fn++)
		if (s->functions & ~STANDARD & 1U << fn)
			fprintf(stream, "  %*s",
				(int)strlen(function_name((enum ksmtrace_function)fn)),
				mean(cmp, &l->fn[fn], format_ns));
	fputc('\n', stream);
	return flush(stream);
}

struct sink sink_table(FILE *stream)
{
	return (struct sink){ .begin = begin, .line = line, .arg = stream };
}
