// SPDX-License-Identifier: GPL-2.0-only
/* The tracing command's options; see trace_options.h. */
#include <errno.h>
#include <string.h>

#include "log.h"
#include "options.h"
#include "trace_options.h"

#define WORKLOAD_DEFAULT_MIB 64
#define WORKLOAD_MAX_MIB     (1ULL << 24)
#define NS_PER_MS	     1000000ULL

enum {
	KEY_HOOK = 256,
	KEY_PLAN,
	KEY_VMLINUX,
	KEY_CSV,
	KEY_SCANS_CSV,
	KEY_BASELINE,
	KEY_JSON,
	KEY_STRICT,
	KEY_SET,
	KEY_WORKLOAD,
};

/* --- how functions are observed ----------------------------------------------------------------- */

static const struct argp_option hook_options[] = {
	{ "functions", 'f', "LIST", 0,
	  "Which functions to time, separated by commas (default: "
	  "ksm_do_scan,cmp_and_merge_page,calc_checksum; also: memcmp_pages)", 0 },
	{ "hook", KEY_HOOK, "FUNCTION=RUNG", 0,
	  "Observe the function that way: fentry, kprobe, inlined, inlined:plan, "
	  "inlined:debuginfo, inlined:machine-code, stand-in, scheduler or none", 0 },
	{ "plan", KEY_PLAN, "FILE", 0, "Use the sites saved in this file", 0 },
	{ "vmlinux", KEY_VMLINUX, "FILE", 0, "Use the debug information in this file", 0 },
	{ 0 },
};

static unsigned int parse_functions(const struct argp_state *state, const char *list)
{
	unsigned int functions = 0;
	const char *name = list;

	for (;;) {
		size_t length = strcspn(name, ",");
		enum ksmtrace_function fn;

		if (function_by_name(name, length, &fn))
			options_usage_error(state, "--functions", list,
					    "no function '%.*s'; there are: %s", (int)length, name,
					    function_names());
		functions |= 1U << fn;
		if (!name[length])
			return functions;
		name += length + 1;
	}
}

static void parse_hook(const struct argp_state *state, struct survey_options *o, const char *arg)
{
	enum ksmtrace_function fn;
	struct hook_choice choice;
	int err = hook_choice_parse(arg, &fn, &choice);

	if (err == -ENOENT)
		options_usage_error(state, "--hook", arg, "no such function; there are: %s",
				    function_names());
	if (err)
		options_usage_error(state, "--hook", arg,
				    "must be FUNCTION=RUNG, RUNG one of fentry, kprobe, inlined, "
				    "inlined:plan, inlined:debuginfo, inlined:machine-code, "
				    "stand-in, scheduler, none");
	o->choice[fn] = choice;
}

static error_t parse_hook_option(int key, char *arg, struct argp_state *state)
{
	struct survey_options *o = state->input;

	switch (key) {
	case 'f':
		o->functions = parse_functions(state, arg);
		return 0;
	case KEY_HOOK:
		parse_hook(state, o, arg);
		return 0;
	case KEY_PLAN:
		o->plan = arg;
		return 0;
	case KEY_VMLINUX:
		o->vmlinux = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp trace_hook_argp = { .options = hook_options, .parser = parse_hook_option };

/* --- the rest ------------------------------------------------------------------------------------- */

static const struct argp_option trace_list[] = {
	{ NULL, 0, NULL, 0, "When to stop (default: Ctrl-C):", 1 },
	{ "duration", 'd', "SECONDS", 0, "Stop after that long (decimals allowed)", 1 },
	{ "scans", 'n', "N", 0, "Stop after N scans (ksm_do_scan calls)", 1 },
	{ "passes", 'p', "N", 0, "Stop when full_scans has risen by N", 1 },
	{ NULL, 0, NULL, 0, "Output:", 2 },
	{ "interval", 'i', "SECONDS", 0, "One line an interval instead of one a scan", 2 },
	{ "csv", KEY_CSV, "FILE", 0, "Write the histograms at the end (- is standard output)", 2 },
	{ "scans-csv", KEY_SCANS_CSV, "FILE", 0, "Write one row a scan", 2 },
	{ "baseline", KEY_BASELINE, "FILE.csv", 0,
	  "Show each mean against that recording, live, and compare with it at the end", 2 },
	{ "json", KEY_JSON, NULL, 0, "JSON lines on standard output instead of the table", 2 },
	{ "quiet", 'q', NULL, 0, "No table, no summary, no notices: only files and errors", 2 },
	{ "strict", KEY_STRICT, NULL, 0, "Exit with status 1 when a cross-check fails", 2 },
	{ NULL, 0, NULL, 0, "KSM:", 3 },
	{ "set", KEY_SET, "NAME=VALUE", 0,
	  "Set /sys/kernel/mm/ksm/NAME for the run and restore it after (repeatable)", 3 },
	{ "workload", KEY_WORKLOAD, "MIB", OPTION_ARG_OPTIONAL,
	  "Run the built-in workload, with KSM on, for the run (default: 64 MiB)", 3 },
	{ 0 },
};

static void parse_set(const struct argp_state *state, struct trace_options *o, const char *arg)
{
	struct assignment *a;

	if (o->sets == SET_MAX)
		options_usage_error(state, "--set", arg, "too many of them (at most %d)", SET_MAX);
	a = &o->set[o->sets++];
	if (ksm_parse_assignment(arg, a->name, a->value))
		options_usage_error(state, "--set", arg, "must be NAME=VALUE");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct trace_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->survey;
		return 0;
	case 'd':
		o->duration_ns = options_seconds(state, "--duration", arg, NS_PER_MS);
		return 0;
	case 'n':
		o->scans = options_u64(state, "--scans", arg, 1, UINT64_MAX);
		return 0;
	case 'p':
		o->passes = options_u64(state, "--passes", arg, 1, UINT64_MAX);
		return 0;
	case 'i':
		/* The records are looked at ten times a second. */
		o->interval_ns = options_seconds(state, "--interval", arg, 100 * NS_PER_MS);
		return 0;
	case KEY_CSV:
		o->csv = arg;
		return 0;
	case KEY_SCANS_CSV:
		o->scans_csv = arg;
		return 0;
	case KEY_BASELINE:
		o->baseline = arg;
		return 0;
	case KEY_JSON:
		o->json = true;
		return 0;
	case 'q':
		o->quiet = true;
		log_set_level(LOG_WARN);
		return 0;
	case KEY_STRICT:
		o->strict = true;
		return 0;
	case KEY_SET:
		parse_set(state, o, arg);
		return 0;
	case KEY_WORKLOAD:
		o->workload_mib = arg ? options_u64(state, "--workload", arg, 1, WORKLOAD_MAX_MIB) :
					WORKLOAD_DEFAULT_MIB;
		return 0;
	case ARGP_KEY_ARG:
		options_usage_error(state, arg, NULL,
				    "no such command (there are: compare, hooks, workload)");
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Only one thing at a time can have standard output. */
static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

void trace_options_parse(int argc, char **argv, struct trace_options *options)
{
	const struct argp_child children[] = {
		{ &trace_hook_argp, 0, "What is observed:", 4 },
		options_common_children[0],
		{ 0 },
	};
	const struct argp argp = {
		.options = trace_list,
		.parser = parse_option,
		.args_doc = "",
		.doc = "Shows what KSM's scanning costs on this kernel: how long ksm_do_scan, "
		       "cmp_and_merge_page and calc_checksum take in ksmd, live, a line a scan, "
		       "and at the end as histograms.\v"
		       "Other commands: ksmtrace compare, hooks, workload; each has --help.\n\n"
		       "Examples:\n"
		       "  ksmtrace                          live, until Ctrl-C\n"
		       "  ksmtrace --workload -p 3          something to see: memory to merge, "
		       "three passes\n"
		       "  ksmtrace -d 60 --csv before.csv   a recording of a minute\n"
		       "  ksmtrace --baseline before.csv    live, against that recording\n"
		       "  ksmtrace --set sleep_millisecs=20 -i 1   a line a second\n",
		.children = children,
	};

	memset(options, 0, sizeof(*options));
	options->survey.functions = FUNCTIONS_DEFAULT;
	options_parse(&argp, "ksmtrace", argc, argv, options);
	if (is_stdout(options->csv) && is_stdout(options->scans_csv))
		options_usage_error(NULL, "--scans-csv", "-",
				    "--csv has standard output already");
	if (options->json && (is_stdout(options->csv) || is_stdout(options->scans_csv)))
		options_usage_error(NULL, "--json", NULL,
				    "a CSV file has standard output already");
}

const char *trace_options_set(const struct trace_options *options, const char *name)
{
	unsigned int i = options->sets;

	while (i--)
		if (!strcmp(options->set[i].name, name))
			return options->set[i].value;
	return NULL;
}
