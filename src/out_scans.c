// SPDX-License-Identifier: GPL-2.0-only
/* CSV with one row a scan, flushed as scans end; its columns are described in
 * docs/recording.md. */
#include <errno.h>
#include <inttypes.h>

#include "sinks.h"

static int flush(FILE *stream)
{
	return fflush(stream) || ferror(stream) ? -errno : 0;
}

static int begin(void *arg, const struct session *s)
{
	FILE *stream = arg;
	int fn;

	fputs("time_s,scan,covers,pass,pages,wall_ns,cpu_ns", stream);
	for (fn = 0; fn < FN_COUNT; fn++) {
		const char *name = function_name((enum ksmtrace_function)fn);

		if (s->functions & 1U << fn)
			fprintf(stream, ",%s_count,%s_sum_ns,%s_min_ns,%s_max_ns", name, name,
				name, name);
	}
	fputc('\n', stream);
	return flush(stream);
}

static int line(void *arg, const struct session *s, const struct line *l)
{
	FILE *stream = arg;
	int fn;

	fprintf(stream, "%" PRIu64 ".%09" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
		l->end_ns / 1000000000, l->end_ns % 1000000000, l->scan, l->covers, l->pass);
	/* An empty field: not known. */
	if (l->pages != KSMTRACE_UNKNOWN)
		fprintf(stream, "%" PRIu64, l->pages);
	fprintf(stream, ",%" PRIu64 ",%" PRIu64, l->wall_ns, l->cpu_ns);
	for (fn = 0; fn < FN_COUNT; fn++) {
		const struct fn_stat *stat = &l->fn[fn];

		if (!(s->functions & 1U << fn))
			continue;
		fprintf(stream, ",%" PRIu64 ",%" PRIu64, (uint64_t)stat->count,
			(uint64_t)stat->sum_ns);
		if (stat->count)
			fprintf(stream, ",%" PRIu64 ",%" PRIu64, (uint64_t)stat->min_ns,
				(uint64_t)stat->max_ns);
		else
			fputs(",,", stream);
	}
	fputc('\n', stream);
	return flush(stream);
}

struct sink sink_scans_csv(FILE *stream)
{
	return (struct sink){ .begin = begin, .line = line, .arg = stream, .every_scan = true };
}
