// SPDX-License-Identifier: GPL-2.0-only
/* A finished session as a recording: what --csv writes. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "format.h"
#include "sinks.h"

static int add_u64(struct recording *r, const char *key, uint64_t value)
{
	if (value == KSMTRACE_UNKNOWN)
		return recording_add(r, key, "unknown");
	return recording_add(r, key, "%" PRIu64, value);
}

static const char *or_unknown(const char *text)
{
	return *text ? text : "unknown";
}

static int add_host(const struct session *s, struct recording *r)
{
	char time[FORMAT_MAX];
	size_t i;
	int err = 0;

	err |= recording_add(r, "kernel", "%s", or_unknown(s->host.release));
	err |= recording_add(r, "build_id", "%s", or_unknown(s->host.build_id_hex));
	err |= recording_add(r, "arch", "%s", or_unknown(s->host.arch));
	err |= recording_add(r, "cpu", "%s", or_unknown(s->host.cpu));
	err |= recording_add(r, "hash", "%s", s->hash);
	err |= recording_add(r, "started", "%s", format_utc(time, s->started_ns));
	err |= recording_add(r, "elapsed_s", "%.3f", (double)s->elapsed_ns / 1e9);
	for (i = 0; i < s->settings; i++) {
		char key[KSM_TEXT_MAX + 4];

		snprintf(key, sizeof(key), "ksm.%s", s->setting[i].name);
		err |= recording_add(r, key, "%s", s->setting[i].text);
	}
	return err;
}

/* Of all of KSM, not of this run: what pages_sharing and general_profit were at its end. */
static int add_savings(const struct session *s, struct recording *r)
{
	int err = 0;

	if (s->sharing_after >= 0)
		err |= recording_add(r, "pages_sharing", "%" PRId64, s->sharing_after);
	if (s->profit_after != INT64_MIN)
		err |= recording_add(r, "general_profit", "%" PRId64, s->profit_after);
	return err;
}

static int add_losses(const struct session *s, struct recording *r)
{
	int fn, err = 0;
	char key[96];

	err |= add_u64(r, "lost_scans", s->losses.lost_records + session_unaccounted(s));
	err |= add_u64(r, "folded_scan_records", s->losses.folded);
	err |= add_u64(r, "missed_probes", s->losses.missed);
	err |= add_u64(r, "clock_errors", s->losses.clock_errors);
	err |= add_u64(r, "missed_switches", s->losses.missed_switches);
	for (fn = 0; fn < FN_COUNT; fn++) {
		const char *name = function_name((enum ksmtrace_function)fn);

		if (!(s->functions & 1U << fn))
			continue;
		snprintf(key, sizeof(key), "unmatched_entries.%s", name);
		err |= add_u64(r, key, s->losses.unmatched_entries[fn]);
		snprintf(key, sizeof(key), "unmatched_exits.%s", name);
		err |= add_u64(r, key, s->losses.unmatched_exits[fn]);
	}
	return err;
}

static int add_checks(const struct session *s, struct recording *r)
{
	static const char *const words[] = { [CHECK_PASSED] = "passed", [CHECK_FAILED] = "failed",
					     [CHECK_IMPOSSIBLE] = "impossible" };
	struct check check[CHECK_COUNT];
	int i, err = 0;

	check_session(s, check);
	for (i = 0; i < CHECK_COUNT; i++) {
		char key[64];

		snprintf(key, sizeof(key), "check.%s", check[i].name);
		err |= recording_add(r, key, "%s: %s", words[check[i].result], check[i].text);
	}
	return err;
}

static int add_hook(struct recording *r, const char *name, const struct hook *hook)
{
	const char *source = site_source_name(hook->sites.source);
	char key[80];

	snprintf(key, sizeof(key), "hook.%s", name);
	if (hook->rung == RUNG_INLINED && source)
		return recording_add(r, key, "%s %s", rung_name(hook->rung), source);
	return recording_add(r, key, "%s", rung_name(hook->rung));
}

int session_to_recording(const struct session *s, struct recording *r)
{
	int fn, err;

	err = add_host(s, r);
	err |= add_u64(r, "scans", s->scans);
	err |= add_u64(r, "passes", s->passes);
	err |= add_u64(r, "pages", s->pages);
	err |= add_u64(r, "ksmd_cpu_ns", s->ksmd_cpu_ns);
	err |= add_savings(s, r);
	err |= add_losses(s, r);
	if (isnan(session_tracing_cost(s)))
		err |= recording_add(r, "tracing_cost_ns_per_page", "unknown");
	else
		err |= recording_add(r, "tracing_cost_ns_per_page", "%.1f",
				     session_tracing_cost(s));
	err |= add_checks(s, r);
	for (fn = 0; fn < FN_COUNT; fn++)
		if (s->requested & 1U << fn)
			err |= add_hook(r, function_name((enum ksmtrace_function)fn), &s->hook[fn]);
	for (fn = 0; fn < FN_COUNT; fn++) {
		struct recording_function f = { .histogram = s->histogram[fn] };
		struct scan_means means;

		if (!(s->functions & 1U << fn))
			continue;
		snprintf(f.name, sizeof(f.name), "%s",
			 function_name((enum ksmtrace_function)fn));
		session_scan_means(s, (enum ksmtrace_function)fn, &means);
		f.scans = means.scans;
		f.scan_mean_ns = means.mean_ns;
		f.scan_var_ns2 = means.variance_ns2;
		f.batches = means.batches;
		err |= recording_add_function(r, &f);
	}
	return err ? -ENOMEM : 0;
}
