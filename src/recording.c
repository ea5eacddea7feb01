// SPDX-License-Identifier: GPL-2.0-only
/* Building and writing recordings; see recording.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "recording.h"

void recording_init(struct recording *r)
{
	memset(r, 0, sizeof(*r));
}

void recording_release(struct recording *r)
{
	size_t i;

	for (i = 0; i < r->lines; i++) {
		free(r->line[i].key);
		free(r->line[i].value);
	}
	free(r->line);
	free(r->function);
	memset(r, 0, sizeof(*r));
}

int recording_add(struct recording *r, const char *key, const char *format, ...)
{
	struct recording_line line, *p;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&line.value, format, args);
	va_end(args);
	if (length < 0)
		return -ENOMEM;
	line.key = strdup(key);
	p = realloc(r->line, (r->lines + 1) * sizeof(*p));
	if (p)
		r->line = p;
	if (!p || !line.key) {
		free(line.key);
		free(line.value);
		return -ENOMEM;
	}
	p[r->lines++] = line;
	return 0;
}

int recording_add_function(struct recording *r, const struct recording_function *function)
{
	const struct fn_stat *stat = &function->histogram.stat;
	const struct stats_batch_summary *batches = &function->batches;
	struct recording_function *p;
	char key[80];
	int err;

	p = realloc(r->function, (r->functions + 1) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	r->function = p;
	p[r->functions++] = *function;
	snprintf(key, sizeof(key), "stat.%s", function->name);
	err = recording_add(r, key,
			    "count=%" PRIu64 " sum_ns=%" PRIu64 " min_ns=%" PRIu64
			    " max_ns=%" PRIu64 " scans=%" PRIu64
			    " scan_mean_ns=%.1f scan_var_ns2=%.1f",
			    (uint64_t)stat->count, (uint64_t)stat->sum_ns, (uint64_t)stat->min_ns,
			    (uint64_t)stat->max_ns, function->scans, function->scan_mean_ns,
			    function->scan_var_ns2);
	if (err || !batches->batches)
		return err;
	snprintf(key, sizeof(key), "batches.%s", function->name);
	return recording_add(r, key, "count=%" PRIu64 " scans=%" PRIu64 " var_ns2=%.1f lag1=%.4f",
			     batches->batches, batches->length, batches->variance, batches->lag1);
}

const char *recording_get(const struct recording *r, const char *key)
{
	size_t i;

	for (i = 0; i < r->lines; i++)
		if (!strcmp(r->line[i].key, key))
			return r->line[i].value;
	return NULL;
}

bool recording_get_u64(const struct recording *r, const char *key, uint64_t *value)
{
	return !parse_u64(recording_get(r, key), 0, UINT64_MAX, value);
}

bool recording_get_double(const struct recording *r, const char *key, double *value)
{
	return !parse_double(recording_get(r, key), value);
}

const struct recording_function *recording_find(const struct recording *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->functions; i++)
		if (!strcmp(r->function[i].name, name))
			return &r->function[i];
	return NULL;
}

static void write_rows(const struct recording_function *f, FILE *stream)
{
	unsigned int i;

	for (i = 0; i < BUCKET_COUNT; i++) {
		if (!f->histogram.bucket[i])
			continue;
		fprintf(stream, "%s,%llu,", f->name, bucket_low(i));
		if (i < BUCKET_OVERFLOW)
			fprintf(stream, "%llu", bucket_high(i));
		fprintf(stream, ",%" PRIu64 "\n", f->histogram.bucket[i]);
	}
}

void recording_write(const struct recording *r, FILE *stream)
{
	size_t i;

	fprintf(stream, "# ksmtrace recording: %d\n", RECORDING_VERSION);
	for (i = 0; i < r->lines; i++)
		fprintf(stream, "# %s: %s\n", r->line[i].key, r->line[i].value);
	fputs(RECORDING_COLUMNS "\n", stream);
	for (i = 0; i < r->functions; i++)
		write_rows(&r->function[i], stream);
}
