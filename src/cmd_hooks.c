// SPDX-License-Identifier: GPL-2.0-only
/* ksmtrace hooks: how each function would be observed here. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <jansson.h>

#include "cmd.h"
#include "ksm.h"
#include "log.h"
#include "options.h"
#include "survey.h"
#include "trace_options.h"

struct arguments {
	struct survey_options survey;
	bool json;
};

enum { KEY_JSON = 300 };

static const struct argp_option option_list[] = {
	{ "json", KEY_JSON, NULL, 0, "One JSON object on standard output", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->survey;
		return 0;
	case KEY_JSON:
		a->json = true;
		return 0;
	case ARGP_KEY_ARG:
		options_unexpected_argument(state, arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static json_t *site_list(const struct site *site, unsigned int count)
{
	json_t *list = json_array();
	unsigned int i;

	for (i = 0; i < count; i++)
		json_array_append_new(list, json_sprintf("%s+0x%x", site[i].symbol,
							 site[i].offset));
	return list;
}

static json_t *function_object(enum ksmtrace_function fn, const struct hook *hook)
{
	json_t *object = json_object();
	const char *source = site_source_name(hook->sites.source);

	json_object_set_new(object, "function", json_string(function_name(fn)));
	json_object_set_new(object, "hook", json_string(rung_name(hook->rung)));
	if (hook->rung == RUNG_INLINED) {
		json_object_set_new(object, "source", json_string(source));
		json_object_set_new(object, "entry",
				    site_list(hook->sites.entry, hook->sites.entries));
		json_object_set_new(object, "exit",
				    site_list(hook->sites.exit, hook->sites.exits));
	} else if (*hook->symbol) {
		json_object_set_new(object, "symbol", json_string(hook->symbol));
	}
	json_object_set_new(object, "exact", json_boolean(hook->exact));
	json_object_set_new(object, "note", json_string(hook->note));
	return object;
}

static void print_json(const struct survey *s, unsigned int functions)
{
	json_t *object = json_object(), *list = json_array();
	int fn;

	json_object_set_new(object, "kernel", json_string(s->host.release));
	json_object_set_new(object, "arch", json_string(s->host.arch));
	json_object_set_new(object, "build_id", json_string(s->host.build_id_hex));
	json_object_set_new(object, "hash", json_string(s->hash));
	json_object_set_new(object, "hash_note", json_string(s->hash_note));
	for (fn = 0; fn < FN_COUNT; fn++)
		if (functions & 1U << fn)
			json_array_append_new(list, function_object((enum ksmtrace_function)fn,
								    &s->hook[fn]));
	json_object_set_new(object, "functions", list);
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
}

static void print_sites(const char *label, const struct site *site, unsigned int count)
{
	unsigned int i;

	printf("%24s", label);
	for (i = 0; i < count; i++)
		printf(" %s+0x%x", site[i].symbol, site[i].offset);
	putchar('\n');
}

static void print_text(const struct survey *s, unsigned int functions)
{
	int fn;

	printf("kernel %s %s, build-id %s\n", s->host.release, s->host.arch,
	       *s->host.build_id_hex ? s->host.build_id_hex : "unknown");
	printf("hash   %s%s%s\n\n", s->hash, *s->hash_note ? ": " : "", s->hash_note);
	printf("%-20s %-12s %-7s %s\n", "FUNCTION", "HOOK", "EXACT", "NOTE");
	for (fn = 0; fn < FN_COUNT; fn++) {
		const struct hook *hook = &s->hook[fn];

		if (!(functions & 1U << fn))
			continue;
		printf("%-20s %-12s %-7s %s\n", function_name((enum ksmtrace_function)fn),
		       rung_name(hook->rung),
		       hook->rung == RUNG_NONE ? "-" : hook->exact ? "yes" : "no", hook->note);
		if (hook->rung != RUNG_INLINED)
			continue;
		print_sites("entry", hook->sites.entry, hook->sites.entries);
		print_sites("exit", hook->sites.exit, hook->sites.exits);
	}
}

int cmd_hooks(int argc, char **argv)
{
	const struct argp_child children[] = {
		{ &trace_hook_argp, 0, NULL, 0 },
		options_common_children[0],
		{ 0 },
	};
	const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.doc = "How each function would be observed on this kernel. Every rung is proven "
		       "by attaching it and detaching it again; nothing stays attached.",
		.children = children,
	};
	struct arguments a = { .survey.functions = FUNCTIONS_DEFAULT };
	struct survey survey;
	uint64_t sleep_ms = 1;
	struct ksm *ksm;

	options_parse(&argp, "ksmtrace hooks", argc, argv, &a);
	if (!ksm_open(NULL, &ksm)) {
		ksm_read_u64(ksm, "sleep_millisecs", &sleep_ms);
		ksm_close(ksm);
	}
	a.survey.scans_sleep = sleep_ms != 0;
	if (survey_run(&a.survey, &survey))
		return EXIT_CANNOT_TRACE;
	if (a.json)
		print_json(&survey, a.survey.functions);
	else
		print_text(&survey, a.survey.functions);
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write to standard output: %s", strerror(errno));
		return EXIT_FAILED;
	}
	return survey.usable ? EXIT_MEASURED : EXIT_CANNOT_TRACE;
}
