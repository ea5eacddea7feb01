// SPDX-License-Identifier: GPL-2.0-only
/* JSON lines on a stream: one object a line, described in docs/json.md. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <jansson.h>

#include "format.h"
#include "sinks.h"

static json_t *number(uint64_t value)
{
	return value == KSMTRACE_UNKNOWN ? json_null() : json_integer((json_int_t)value);
}

static json_t *text(const char *value)
{
	return *value ? json_string(value) : json_null();
}

static json_t *seconds(uint64_t ns)
{
	/* A double holds today's time to a quarter of a microsecond. */
	return json_real((double)ns / 1e9);
}

/* Writes the object as a line and releases it. */
static int put(FILE *stream, json_t *object)
{
	int err = 0;

	if (!object)
		return -ENOMEM;
	errno = 0;
	if (json_dumpf(object, stream, JSON_COMPACT) || fputc('\n', stream) == EOF ||
	    fflush(stream))
		err = errno ? -errno : -EIO;
	json_decref(object);
	return err;
}

static void add_stat(json_t *object, const struct fn_stat *stat)
{
	json_object_set_new(object, "count", json_integer((json_int_t)stat->count));
	json_object_set_new(object, "sum_ns", json_integer((json_int_t)stat->sum_ns));
	if (!stat->count)
		return;
	json_object_set_new(object, "min_ns", json_integer((json_int_t)stat->min_ns));
	json_object_set_new(object, "max_ns", json_integer((json_int_t)stat->max_ns));
	json_object_set_new(object, "mean_ns", json_real(fn_stat_mean(stat)));
}

static int begin(void *arg, const struct session *s)
{
	json_t *object = json_object(), *settings = json_object(), *hooks = json_object();
	size_t i;
	int fn;

	json_object_set_new(object, "type", json_string("start"));
	json_object_set_new(object, "time_s", seconds(s->started_ns));
	json_object_set_new(object, "kernel", text(s->host.release));
	json_object_set_new(object, "build_id", text(s->host.build_id_hex));
	json_object_set_new(object, "arch", text(s->host.arch));
	json_object_set_new(object, "cpu", text(s->host.cpu));
	json_object_set_new(object, "hash", text(s->hash));
	for (i = 0; i < s->settings; i++)
		json_object_set_new(settings, s->setting[i].name,
				    json_string(s->setting[i].text));
	json_object_set_new(object, "ksm", settings);
	for (fn = 0; fn < FN_COUNT; fn++)
		if (s->requested & 1U << fn)
			json_object_set_new(hooks, function_name((enum ksmtrace_function)fn),
					    json_string(rung_name(s->hook[fn].rung)));
	json_object_set_new(object, "hooks", hooks);
	return put(arg, object);
}

static int line(void *arg, const struct session *s, const struct line *l)
{
	json_t *object = json_object(), *functions = json_object();
	int fn;

	json_object_set_new(object, "type", json_string(s->interval_ns ? "interval" : "scan"));
	json_object_set_new(object, "time_s", seconds(l->end_ns));
	json_object_set_new(object, "scan", number(l->scan));
	json_object_set_new(object, "covers", number(l->covers));
	json_object_set_new(object, "pass", number(l->pass));
	json_object_set_new(object, "pages", number(l->pages));
	json_object_set_new(object, "wall_ns", number(l->wall_ns));
	json_object_set_new(object, "cpu_ns", number(l->cpu_ns));
	json_object_set_new(object, "cpu_percent",
			    isnan(l->cpu_percent) ? json_null() : json_real(l->cpu_percent));
	json_object_set_new(object, "merged", l->merged_known ? json_integer(l->merged) :
								json_null());
	if (l->cut)
		json_object_set_new(object, "cut", json_true());
	for (fn = 0; fn < FN_COUNT; fn++) {
		json_t *stat;

		if (!(s->functions & 1U << fn))
			continue;
		stat = json_object();
		add_stat(stat, &l->fn[fn]);
		json_object_set_new(functions, function_name((enum ksmtrace_function)fn), stat);
	}
	json_object_set_new(object, "functions", functions);
	return put(arg, object);
}

static int pass(void *arg, const struct session *s, const struct pass_record *p)
{
	json_t *object = json_object();

	json_object_set_new(object, "type", json_string("pass"));
	json_object_set_new(object, "time_s", seconds(p->end_ns + (uint64_t)s->realtime_offset_ns));
	json_object_set_new(object, "pass", number(p->passes));
	json_object_set_new(object, "wall_ns",
			    p->begin_ns ? number(p->end_ns - p->begin_ns) : json_null());
	return put(arg, object);
}

static json_t *buckets(const struct histogram *h)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < BUCKET_COUNT; i++) {
		json_t *row;

		if (!h->bucket[i])
			continue;
		row = json_array();
		json_array_append_new(row, json_integer((json_int_t)bucket_low(i)));
		json_array_append_new(row, i < BUCKET_OVERFLOW ?
						   json_integer((json_int_t)bucket_high(i)) :
						   json_null());
		json_array_append_new(row, json_integer((json_int_t)h->bucket[i]));
		json_array_append_new(list, row);
	}
	return list;
}

static int histogram(FILE *stream, const struct session *s, enum ksmtrace_function fn)
{
	static const struct {
		const char *name;
		double q;
	} quantiles[] = { { "p50_ns", 0.5 }, { "p90_ns", 0.9 }, { "p99_ns", 0.99 },
			  { "p999_ns", 0.999 } };
	const struct histogram *h = &s->histogram[fn];
	json_t *object = json_object();
	size_t i;

	json_object_set_new(object, "type", json_string("histogram"));
	json_object_set_new(object, "function", json_string(function_name(fn)));
	json_object_set_new(object, "hook", json_string(rung_name(s->hook[fn].rung)));
	add_stat(object, &h->stat);
	for (i = 0; h->stat.count && i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		json_object_set_new(object, quantiles[i].name,
				    json_real(histogram_quantile(h, quantiles[i].q)));
	json_object_set_new(object, "buckets", buckets(h));
	return put(stream, object);
}

static int end(void *arg, const struct session *s)
{
	json_t *object;
	int fn, err;

	for (fn = 0; fn < FN_COUNT; fn++) {
		if (!(s->functions & 1U << fn))
			continue;
		err = histogram(arg, s, (enum ksmtrace_function)fn);
		if (err)
			return err;
	}
	object = json_object();
	json_object_set_new(object, "type", json_string("summary"));
	json_object_set_new(object, "elapsed_s", seconds(s->elapsed_ns));
	json_object_set_new(object, "scans", number(s->scans));
	json_object_set_new(object, "passes", number(s->passes));
	json_object_set_new(object, "pages", number(s->pages));
	json_object_set_new(object, "ksmd_cpu_ns", number(s->ksmd_cpu_ns));
	json_object_set_new(object, "lost_scans",
			    number(s->losses.lost_records + session_unaccounted(s)));
	json_object_set_new(object, "missed_probes", number(s->losses.missed));
	json_object_set_new(object, "pages_sharing",
			    s->sharing_after < 0 ? json_null() : json_integer(s->sharing_after));
	json_object_set_new(object, "general_profit",
			    s->profit_after == INT64_MIN ? json_null() :
							   json_integer(s->profit_after));
	return put(arg, object);
}

struct sink sink_json(FILE *stream)
{
	return (struct sink){ .begin = begin, .line = line, .pass = pass, .end = end,
			      .arg = stream };
}
