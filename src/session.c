// SPDX-License-Identifier: GPL-2.0-only
/* Adding up a run and handing its lines to the sinks; see session.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

int session_init(struct session *s)
{
	int fn;

	memset(s, 0, sizeof(*s));
	s->sharing_before = s->sharing_after = -1;
	s->profit_after = INT64_MIN;
	s->hash = "unknown";
	s->pages_growth = KSMTRACE_UNKNOWN;
	for (fn = 0; fn < FN_COUNT; fn++) {
		s->means[fn] = gsl_rstat_alloc();
		if (!s->means[fn]) {
			session_release(s);
			return -ENOMEM;
		}
		stats_batches_init(&s->batches[fn]);
	}
	return 0;
}

void session_release(struct session *s)
{
	int fn;

	for (fn = 0; fn < FN_COUNT; fn++) {
		if (s->means[fn])
			gsl_rstat_free(s->means[fn]);
		s->means[fn] = NULL;
	}
	free(s->setting);
	s->setting = NULL;
}

void session_add_sink(struct session *s, const struct sink *sink)
{
	if (s->sinks < SINKS_MAX)
		s->sink[s->sinks++] = *sink;
}

static void note_error(struct session *s, int err)
{
	if (err && !s->error)
		s->error = err;
}

static void emit_line(struct session *s, const struct line *line, bool scan)
{
	unsigned int i;

	for (i = 0; i < s->sinks; i++) {
		const struct sink *sink = &s->sink[i];

		if (!sink->line || (s->interval_ns && sink->every_scan != scan))
			continue;
		note_error(s, sink->line(sink->arg, s, line));
	}
}

void session_begin(struct session *s, uint64_t armed_ns)
{
	unsigned int i;

	s->started_ns = armed_ns + (uint64_t)s->realtime_offset_ns;
	s->last_end_ns = s->last_interval_end_ns = armed_ns;
	s->interval_end_ns = armed_ns + s->interval_ns;
	for (i = 0; i < s->sinks; i++)
		if (s->sink[i].begin)
			note_error(s, s->sink[i].begin(s->sink[i].arg, s));
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : NAN;
}

static void add_means(struct session *s, const struct scan_record *record)
{
	int fn;

	/* Only where a record is one scan is its mean a scan's mean. */
	if (record->covers != 1)
		return;
	for (fn = 0; fn < FN_COUNT; fn++) {
		double mean = fn_stat_mean(&record->fn[fn]);

		if (!record->fn[fn].count)
			continue;
		gsl_rstat_add(mean, s->means[fn]);
		stats_batches_add(&s->batches[fn], mean);
	}
}

static void add_line(struct line *to, const struct line *from)
{
	int fn;

	to->end_ns = from->end_ns;
	if (from->covers)
		to->scan = from->scan;
	to->covers += from->covers;
	to->cut |= from->cut;
	to->pass = from->pass;
	if (from->pages == KSMTRACE_UNKNOWN || to->pages == KSMTRACE_UNKNOWN)
		to->pages = KSMTRACE_UNKNOWN;
	else
		to->pages += from->pages;
	to->wall_ns += from->wall_ns;
	to->cpu_ns += from->cpu_ns;
	to->merged += from->merged;
	to->merged_known |= from->merged_known;
	for (fn = 0; fn < FN_COUNT; fn++)
		fn_stat_merge(&to->fn[fn], &from->fn[fn]);
}

void session_scan(struct session *s, const struct scan_record *r)
{
	struct line line = {
		.begin_ns = r->begin_ns + (uint64_t)s->realtime_offset_ns,
		.end_ns = r->end_ns + (uint64_t)s->realtime_offset_ns,
		.scan = r->scans,
		.covers = r->covers,
		.cut = !r->covers && s->functions & 1U << FN_ksm_do_scan,
		.pages = r->pages,
		.wall_ns = r->wall_ns,
		.cpu_ns = r->cpu_ns,
		.merged = r->merged,
		.merged_known = r->merged_known,
	};
	int fn;

	if (r->pass != KSMTRACE_UNKNOWN)
		s->passes = r->pass;
	line.pass = s->passes;
	memcpy(line.fn, r->fn, sizeof(line.fn));
	for (fn = 0; fn < FN_COUNT; fn++) {
		fn_stat_merge(&s->recorded[fn], &r->fn[fn]);
		s->recorded_calls += r->fn[fn].count;
	}
	if (line.cut) {
		/* Its end was not seen: neither its time nor its pages are known. */
		s->cut = true;
		line.end_ns = line.begin_ns;
		line.pages = KSMTRACE_UNKNOWN;
		line.cpu_percent = NAN;
		emit_line(s, &line, true);
		return;
	}
	if (!s->last_clock_ns)
		s->last_clock_ns = s->last_interval_clock_ns = r->first_clock_ns;
	line.cpu_percent = percent(r->clock_ns - s->last_clock_ns, r->end_ns - s->last_end_ns);
	s->last_clock_ns = r->clock_ns;
	s->last_end_ns = r->end_ns;
	s->clock_ns = r->clock_ns;
	s->scans = r->scans;
	if (r->pages == KSMTRACE_UNKNOWN)
		s->pages = KSMTRACE_UNKNOWN;
	else if (s->pages != KSMTRACE_UNKNOWN)
		s->pages += r->pages;
	s->pages_growth = r->pages_growth;
	s->scan_wall_ns += r->wall_ns;
	s->scan_cpu_ns += r->cpu_ns;
	s->ksmd_cpu_ns = r->clock_ns - r->first_clock_ns;
	add_means(s, r);
	emit_line(s, &line, true);
	if (!s->interval_ns)
		return;
	if (!s->open_used) {
		s->open = line;
		s->open_used = true;
	} else {
		add_line(&s->open, &line);
	}
}

void session_histogram(struct session *s, const struct histogram_record *record)
{
	struct histogram *h = &s->histogram[record->function];

	h->stat = record->total;
	memcpy(h->bucket, record->bucket, sizeof(h->bucket));
}

void session_pass(struct session *s, const struct pass_record *record)
{
	unsigned int i;

	s->passes = record->passes;
	for (i = 0; i < s->sinks; i++)
		if (s->sink[i].pass)
			note_error(s, s->sink[i].pass(s->sink[i].arg, s, record));
}

/* An interval in which no scan ended has a line, too: that nothing happened is news. */
static void close_interval(struct session *s, uint64_t end_ns)
{
	if (!s->open_used) {
		memset(&s->open, 0, sizeof(s->open));
		s->open.scan = s->scans;
		s->open.pass = s->passes;
	}
	s->open.begin_ns = s->last_interval_end_ns + (uint64_t)s->realtime_offset_ns;
	s->open.end_ns = end_ns + (uint64_t)s->realtime_offset_ns;
	/* ksmd's clock is known when a scan ends: what it spent since counts in the next line. */
	s->open.cpu_percent = percent(s->clock_ns - s->last_interval_clock_ns,
				      end_ns - s->last_interval_end_ns);
	s->last_interval_clock_ns = s->clock_ns;
	s->last_interval_end_ns = end_ns;
	emit_line(s, &s->open, false);
	s->open_used = false;
}

void session_tick(struct session *s, uint64_t now_ns)
{
	if (!s->interval_ns || now_ns < s->interval_end_ns)
		return;
	close_interval(s, now_ns);
	while (s->interval_end_ns <= now_ns)
		s->interval_end_ns += s->interval_ns;
}

void session_end(struct session *s, uint64_t now_ns)
{
	unsigned int i;

	if (s->interval_ns && s->open_used)
		close_interval(s, now_ns);
	for (i = 0; i < s->sinks; i++)
		if (s->sink[i].end)
			note_error(s, s->sink[i].end(s->sink[i].arg, s));
}

void session_scan_means(const struct session *s, enum ksmtrace_function fn,
			struct scan_means *means)
{
	means->scans = gsl_rstat_n(s->means[fn]);
	means->mean_ns = means->scans ? gsl_rstat_mean(s->means[fn]) : 0.0;
	means->variance_ns2 = means->scans > 1 ? gsl_rstat_variance(s->means[fn]) : 0.0;
	means->batches = stats_batches_sum_up(&s->batches[fn]);
}

double session_tracing_cost(const struct session *s)
{
	if (!s->pages || s->pages == KSMTRACE_UNKNOWN || s->call_ns <= 0)
		return NAN;
	return s->call_ns * (double)s->recorded_calls / (double)s->pages;
}

uint64_t session_unaccounted(const struct session *s)
{
	uint64_t sum = 0;
	int fn;

	for (fn = 0; fn < FN_COUNT; fn++) {
		uint64_t kernel = s->histogram[fn].stat.count, told = s->recorded[fn].count;

		if (s->functions & 1U << fn)
			sum += kernel > told ? kernel - told : told - kernel;
	}
	return sum;
}
