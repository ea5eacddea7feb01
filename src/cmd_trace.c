// SPDX-License-Identifier: GPL-2.0-only
/* ksmtrace without a command word: trace live. Wires options, ladder, tracer and sinks. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/libbpf.h>

#include "check.h"
#include "cmd.h"
#include "format.h"
#include "guard.h"
#include "ksm.h"
#include "log.h"
#include "output.h"
#include "run.h"
#include "session.h"
#include "sinks.h"
#include "survey.h"
#include "trace_options.h"
#include "workload.h"

/* Everything that a run holds and has to give back. */
struct trace {
	struct trace_options options;
	struct ksm *ksm;
	struct guard *guard;
	struct workload *workload;
	struct survey survey;
	struct tracer *tracer;
	struct session session;
	struct recording baseline;
	struct output csv, scans_csv;
	int64_t work_before; /* work_counter() at the begin */
	uint64_t begun_ns; /* CLOCK_MONOTONIC, when the program started */
};

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	char text[1024];

	/* libbpf's own errors are explained by us, one level up; -v shows them. */
	if (level == LIBBPF_DEBUG || log_level() < LOG_DEBUG)
		return 0;
	vsnprintf(text, sizeof(text), format, args);
	text[strcspn(text, "\n")] = '\0';
	log_debug("%s", text);
	return 0;
}

/* --- KSM's settings and the workload ------------------------------------------------------------- */

static int set(struct trace *t, const char *name, const char *value)
{
	char why[512];
	int err = ksm_set(t->ksm, name, value, why, sizeof(why));

	if (err)
		log_error("%s=%s: %s", name, value, why);
	return err;
}

/* All but run: that is set when the tracer is armed, so that the first scan is seen. */
static int prepare_ksm(struct trace *t)
{
	const struct trace_options *o = &t->options;
	unsigned int i;
	int err;

	if (!o->sets && !o->workload_mib)
		return 0;
	err = guard_start(t->ksm, &t->guard);
	if (err) {
		log_error("cannot start the process that restores KSM's settings: %s",
			  strerror(-err));
		return err;
	}
	for (i = 0; i < o->sets && !err; i++)
		if (strcmp(o->set[i].name, "run"))
			err = set(t, o->set[i].name, o->set[i].value);
	return err;
}

static int start_workload(struct trace *t)
{
	struct workload_options options = WORKLOAD_DEFAULTS;
	char text[512];
	int err;

	if (!t->options.workload_mib)
		return 0;
	/* All processes together: in halves, unless there is nothing to halve. */
	if (t->options.workload_mib < options.processes)
		options.processes = 1;
	options.mib = t->options.workload_mib / options.processes;
	options.cancel_fd = run_signal_fd();
	err = workload_start(&options, &t->workload, text, sizeof(text));
	if (err) {
		if (err != -EINTR)
			log_error("%s", text);
		return err;
	}
	workload_describe(&options, text, sizeof(text));
	log_info("workload: %s", text);
	guard_set_workload(t->guard, workload_group(t->workload));
	return 0;
}

static int switch_ksm(struct trace *t)
{
	const char *value = trace_options_set(&t->options, "run");

	if (!value && t->workload)
		value = "1";
	return value ? set(t, "run", value) : 0;
}

static void say_if_off(const struct trace *t)
{
	uint64_t run;

	if (!ksm_read_u64(t->ksm, "run", &run) && run != 1)
		log_info("KSM is off (/sys/kernel/mm/ksm/run is %" PRIu64 "), waiting for it: "
			 "--set run=1 turns it on for the run", run);
}

/* --- the session ------------------------------------------------------------------------------------ */

static int64_t read_or(const struct ksm *ksm, const char *name, int64_t otherwise)
{
	int64_t value;

	return ksm_read_s64(ksm, name, &value) ? otherwise : value;
}

/* A counter of the kernel that grows while ksmd works (pages_scanned came with Linux 6.6). */
static int64_t work_counter(const struct ksm *ksm)
{
	return read_or(ksm, "pages_scanned", read_or(ksm, "full_scans", 0));
}

static void describe(struct trace *t)
{
	struct session *s = &t->session;
	struct timespec wall;

	s->host = t->survey.host;
	s->hash = t->survey.hash;
	s->requested = t->options.survey.functions;
	s->functions = tracer_functions(t->tracer);
	memcpy(s->hook, t->survey.hook, sizeof(s->hook));
	s->interval_ns = t->options.interval_ns;
	s->call_ns = tracer_call_ns(t->tracer);
	if (t->options.baseline)
		s->baseline = &t->baseline;
	s->sharing_before = read_or(t->ksm, "pages_sharing", -1);
	clock_gettime(CLOCK_REALTIME, &wall);
	s->realtime_offset_ns = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec -
				(int64_t)run_now_ns();
}

/* A CSV on standard output stays alone there. */
static bool stdout_is_free(const struct trace_options *o)
{
	return !(o->csv && !strcmp(o->csv, "-")) && !(o->scans_csv && !strcmp(o->scans_csv, "-"));
}

static void add_sinks(struct trace *t)
{
	const struct trace_options *o = &t->options;
	struct session *s = &t->session;
	struct sink sink;

	if (o->json) {
		sink = sink_json(stdout);
		session_add_sink(s, &sink);
	} else if (!o->quiet && stdout_is_free(o)) {
		sink = sink_table(stdout);
		session_add_sink(s, &sink);
		sink = sink_summary(stdout);
		session_add_sink(s, &sink);
	}
	if (o->scans_csv) {
		sink = sink_scans_csv(t->scans_csv.stream);
		session_add_sink(s, &sink);
	}
}

static void on_scan(void *arg, const struct scan_record *record)
{
	session_scan(arg, record);
}

static void on_histogram(void *arg, const struct histogram_record *record)
{
	session_histogram(arg, record);
}

static void on_pass(void *arg, const struct pass_record *record)
{
	session_pass(arg, record);
}

/* --- what is traced, and how -------------------------------------------------------------------------- */

/* Names each function that is not timed, or not exactly. 0 when at least one is timed. */
static int tell_hooks(const struct trace *t)
{
	const struct survey *v = &t->survey;
	int fn;

	for (fn = 0; fn < FN_COUNT; fn++) {
		const struct hook *hook = &v->hook[fn];
		const char *name = function_name((enum ksmtrace_function)fn);

		if (!(t->options.survey.functions & 1U << fn))
			continue;
		if (hook->rung == RUNG_NONE)
			log_warn("%s is not timed: %s", name, hook->note);
		else if (!hook->exact)
			log_info("%s by %s: %s", name, rung_name(hook->rung), hook->note);
		else
			log_debug("%s by %s", name, rung_name(hook->rung));
	}
	if (v->usable)
		return 0;
	log_error("none of the functions can be timed on this kernel");
	return -EOPNOTSUPP;
}

static int open_tracer(struct trace *t)
{
	struct trace_options *o = &t->options;
	struct tracer_config config = {
		.functions = t->survey.usable,
		.hook = t->survey.hook,
		.pages_scanned_at = t->survey.pages_scanned_at,
		.pages_sharing_at = t->survey.pages_sharing_at,
		.scan_limit = o->scans,
		.pass_limit = o->passes,
		.switch_has_state = t->survey.switch_has_state,
	};
	const struct tracer_events events = { on_scan, on_histogram, on_pass, &t->session };

	if (!(config.functions & 1U << FN_ksm_do_scan)) {
		if (o->scans) {
			log_error("--scans: scans cannot be counted, as ksm_do_scan is not timed");
			return -EOPNOTSUPP;
		}
		if (!o->interval_ns) {
			log_info("ksm_do_scan is not timed: a line a second instead of one a scan");
			o->interval_ns = 1000000000;
		}
	}
	return tracer_open(&config, &events, &t->tracer);
}

/* --- the end ------------------------------------------------------------------------------------------- */

static void say_no_scan(const struct trace *t)
{
	uint64_t run, pages = 0, value;

	if (!ksm_read_u64(t->ksm, "run", &run) && run != 1) {
		log_error("ended without one scan: KSM is off (/sys/kernel/mm/ksm/run is %" PRIu64
			  "); --set run=1 turns it on for the run", run);
		return;
	}
	if (!ksm_read_u64(t->ksm, "pages_shared", &value))
		pages += value;
	if (!ksm_read_u64(t->ksm, "pages_unshared", &value))
		pages += value;
	if (!ksm_read_u64(t->ksm, "pages_volatile", &value))
		pages += value;
	if (work_counter(t->ksm) > t->work_before)
		log_error("ended without one scan: ksmd did scan pages, but no hook saw a scan from "
			  "its begin to its end; a longer run shows one, unless kprobes are switched "
			  "off (/sys/kernel/debug/kprobes/enabled is 0)");
	else if (!pages)
		log_error("ended without one scan: no process has memory marked as mergeable "
			  "(madvise MADV_MERGEABLE); --workload makes some");
	else
		log_error("ended without one scan: ksmd did not finish one in that time");
}

static int write_recording(struct trace *t)
{
	struct recording recording;
	int err;

	if (!t->csv.stream)
		return 0;
	recording_init(&recording);
	err = session_to_recording(&t->session, &recording);
	if (!err)
		recording_write(&recording, t->csv.stream);
	recording_release(&recording);
	if (err) {
		log_error("no memory for the recording");
		return err;
	}
	return output_commit(&t->csv);
}

static int load_baseline(struct trace *t)
{
	char why[512];
	int err;

	if (!t->options.baseline)
		return 0;
	err = recording_load(&t->baseline, t->options.baseline, why, sizeof(why));
	if (err)
		log_error("--baseline %s", why);
	return err;
}

static int compare_with_baseline(struct trace *t)
{
	const struct trace_options *o = &t->options;
	int err;

	if (!o->baseline || !t->session.scans || t->session.error ||
	    (!o->json && (o->quiet || !stdout_is_free(o))))
		return 0;
	t->session.baseline = NULL;
	err = baseline_compare(stdout, o->baseline, &t->baseline, &t->session, o->json);
	if (err == -EPIPE)
		return 0;
	if (err)
		log_error("cannot compare with %s: %s", o->baseline, strerror(-err));
	return err;
}

static enum exit_status finish(struct trace *t)
{
	struct session *s = &t->session;
	int err, written;

	s->sharing_after = read_or(t->ksm, "pages_sharing", -1);
	s->profit_after = read_or(t->ksm, "general_profit", INT64_MIN);
	session_end(s, run_now_ns());
	if (s->losses.lost_records || session_unaccounted(s))
		log_warn("%" PRIu64 " records and %" PRIu64 " calls are missing: the figures are "
			 "too low", s->losses.lost_records, session_unaccounted(s));
	if (s->cut && s->hook[FN_ksm_do_scan].rung == RUNG_SCHEDULER &&
	    read_or(t->ksm, "sleep_millisecs", 1) == 0)
		log_warn("sleep_millisecs became 0 during the run: ksmd sleeps no more between "
			 "scans, and the scheduler shows no scan since");
	/* A reader that went away has seen enough. */
	if (s->error == -EPIPE) {
		s->error = 0;
		if (!t->scans_csv.temporary)
			output_abort(&t->scans_csv);
	}
	err = s->error;
	if (err)
		log_error("cannot write the results: %s", strerror(-err));
	written = compare_with_baseline(t);
	if (!err)
		err = written;
	written = output_commit(&t->scans_csv);
	if (!err)
		err = written;
	written = write_recording(t);
	if (!err)
		err = written;
	if (!check_and_tell(s) && t->options.strict)
		return EXIT_FAILED;
	if (err)
		return EXIT_FAILED;
	if (!s->scans && !(s->functions & ~(1U << FN_ksm_do_scan) && s->recorded_calls)) {
		say_no_scan(t);
		return EXIT_NO_SCAN;
	}
	return EXIT_MEASURED;
}

static bool ksmd_sleeps(void)
{
	struct ksmd ksmd;

	return !host_find_ksmd(NULL, &ksmd) && ksmd.state == 'S';
}

static enum exit_status trace(struct trace *t)
{
	const struct run_limits limits = { t->options.duration_ns, t->options.passes };
	uint64_t begin_ns, full_scans = 0;

	begin_ns = run_now_ns();
	ksm_read_u64(t->ksm, "full_scans", &full_scans);
	t->work_before = work_counter(t->ksm);
	tracer_arm(t->tracer, ksmd_sleeps());
	log_debug("armed %.0f ms after the start", (double)(run_now_ns() - t->begun_ns) / 1e6);
	if (switch_ksm(t))
		return EXIT_FAILED;
	if (ksm_list(t->ksm, KSM_SETTINGS, &t->session.setting, &t->session.settings)) {
		log_error("cannot read KSM's settings in %s", KSM_ROOT);
		return EXIT_FAILED;
	}
	say_if_off(t);
	session_begin(&t->session, begin_ns);
	if (run_until_over(t->tracer, &t->session, t->ksm, &limits, begin_ns, full_scans)) {
		log_error("reading the ring buffer failed");
		return EXIT_FAILED;
	}
	return finish(t);
}

static enum exit_status set_up_and_trace(struct trace *t)
{
	const struct trace_options *o = &t->options;
	const char *sleep = trace_options_set(o, "sleep_millisecs");
	uint64_t sleep_ms = 1;
	int err;

	if (load_baseline(t))
		return EXIT_FAILED;
	if (ksm_open(NULL, &t->ksm)) {
		log_error("this kernel has no KSM (%s is missing): it needs CONFIG_KSM=y", KSM_ROOT);
		return EXIT_CANNOT_TRACE;
	}
	ksm_read_u64(t->ksm, "sleep_millisecs", &sleep_ms);
	t->options.survey.scans_sleep = sleep ? strcmp(sleep, "0") != 0 : sleep_ms != 0;
	if (survey_run(&t->options.survey, &t->survey) || tell_hooks(t))
		return EXIT_CANNOT_TRACE;
	if ((o->csv && output_open(&t->csv, o->csv)) ||
	    (o->scans_csv && output_open(&t->scans_csv, o->scans_csv)))
		return EXIT_FAILED;
	if (output_same(&t->csv, &t->scans_csv)) {
		log_error("--csv and --scans-csv are the same file, %s", t->csv.path);
		return EXIT_USAGE;
	}
	if (session_init(&t->session)) {
		log_error("no memory for the run's totals");
		return EXIT_FAILED;
	}
	if (prepare_ksm(t))
		return EXIT_FAILED;
	err = start_workload(t);
	if (err && err != -EINTR)
		return EXIT_FAILED;
	if (run_signals()) {
		log_error("ended without one scan: a signal came before tracing began");
		return EXIT_NO_SCAN;
	}
	switch (open_tracer(t)) {
	case 0:
		break;
	case -EOPNOTSUPP:
	case -EPERM:
		return EXIT_CANNOT_TRACE;
	default:
		return EXIT_FAILED;
	}
	describe(t);
	add_sinks(t);
	return trace(t);
}

int cmd_trace(int argc, char **argv)
{
	struct trace t;
	enum exit_status status;

	memset(&t, 0, sizeof(t));
	t.begun_ns = run_now_ns();
	trace_options_parse(argc, argv, &t.options);
	libbpf_set_print(print_libbpf);
	run_catch_signals();
	status = set_up_and_trace(&t);
	tracer_close(t.tracer);
	/* The workload first: what it had merged is not torn apart by the settings' return. */
	workload_stop(t.workload);
	if (t.guard)
		guard_set_workload(t.guard, 0);
	if (t.guard && guard_finish(t.guard))
		status = status == EXIT_MEASURED ? EXIT_FAILED : status;
	ksm_close(t.ksm);
	output_abort(&t.csv);
	output_abort(&t.scans_csv);
	session_release(&t.session);
	recording_release(&t.baseline);
	return status;
}
