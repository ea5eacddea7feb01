// SPDX-License-Identifier: GPL-2.0-only
/* ksmtrace compare: recordings set against each other. Needs no privileges and no KSM. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "compare.h"
#include "log.h"
#include "options.h"
#include "out_compare.h"

enum form { FORM_TEXT, FORM_MARKDOWN, FORM_CSV, FORM_JSON };

struct arguments {
	enum form form;
	const char *form_option; /* that chose it */
	bool strict;
	char **sides; /* the arguments, in argv; NULL after the last one */
};

enum { KEY_CSV = 0x100, KEY_JSON, KEY_MARKDOWN, KEY_STRICT };

static const struct argp_option option_list[] = {
	{"csv", KEY_CSV, NULL, 0, "CSV with a figure a row instead of text", 0},
	{"json", KEY_JSON, NULL, 0, "One JSON object instead of text", 0},
	{"markdown", KEY_MARKDOWN, NULL, 0, "Markdown tables instead of text", 0},
	{"strict", KEY_STRICT, NULL, 0, "Exit with status 1 when the comparison is unfair", 0},
	{0},
};

static void choose(const struct argp_state *state, struct arguments *a, enum form form,
		   const char *option)
{
	if (a->form_option && a->form != form)
		options_usage_error(state, option, NULL, "%s was given already", a->form_option);
	a->form = form;
	a->form_option = option;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	(void)arg;
	switch (key) {
	case KEY_CSV:
		choose(state, a, FORM_CSV, "--csv");
		return 0;
	case KEY_JSON:
		choose(state, a, FORM_JSON, "--json");
		return 0;
	case KEY_MARKDOWN:
		choose(state, a, FORM_MARKDOWN, "--markdown");
		return 0;
	case KEY_STRICT:
		a->strict = true;
		return 0;
	case ARGP_KEY_ARGS:
		a->sides = state->argv + state->next;
		if (!a->sides[1])
			options_usage_error(state, a->sides[0], NULL,
					    "there is nothing to compare it with");
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		options_usage_error(state, "BEFORE.csv AFTER.csv", NULL,
				    "two recordings or more are needed");
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* 0; -EINVAL when the file is no recording (told); -ENOMEM. */
static int add_file(struct comparison *c, const char *path)
{
	struct recording recording;
	char why[512];
	int err;

	recording_init(&recording);
	err = recording_load(&recording, path, why, sizeof(why));
	if (err) {
		log_error("%s", why);
		return err == -ENOMEM ? err : -EINVAL;
	}
	return compare_add_run(c, path, &recording);
}

/* A file, or several with commas between them. All of them are tried, so that every bad one is
 * named at once. */
static int add_files(struct comparison *c, const char *argument)
{
	char *list, *path, *rest;
	int err = compare_add_side(c), failed = 0;

	if (err)
		return err;
	/* A name that has a comma in it. */
	if (!access(argument, F_OK))
		return add_file(c, argument);
	list = strdup(argument);
	if (!list)
		return -ENOMEM;
	rest = list;
	while ((path = strsep(&rest, ",")) && failed != -ENOMEM) {
		if (!*path) {
			log_error("%s: a file's name is missing beside a comma", argument);
			err = -EINVAL;
		} else {
			err = add_file(c, path);
		}
		if (err)
			failed = err;
	}
	free(list);
	return failed;
}

static int put(const struct comparison *c, enum form form)
{
	int err = 0;

	switch (form) {
	case FORM_TEXT:
		compare_put_text(stdout, c);
		break;
	case FORM_MARKDOWN:
		compare_put_markdown(stdout, c);
		break;
	case FORM_CSV:
		compare_put_csv(stdout, c);
		break;
	case FORM_JSON:
		err = compare_put_json(stdout, c, false);
		break;
	}
	if (!err && (fflush(stdout) || ferror(stdout)))
		err = errno ? -errno : -EIO;
	if (err)
		log_error("cannot write the comparison: %s", strerror(-err));
	return err;
}

static enum exit_status compare(struct comparison *c, const struct arguments *a)
{
	int err = 0, failed = 0;
	char **side;

	for (side = a->sides; *side && failed != -ENOMEM; side++) {
		err = add_files(c, *side);
		if (err)
			failed = err;
	}
	if (!failed)
		failed = compare_finish(c);
	if (failed == -ENOMEM)
		log_error("not enough memory for so many recordings");
	if (failed || put(c, a->form))
		return EXIT_FAILED;
	return a->strict && c->findings ? EXIT_FAILED : EXIT_MEASURED;
}

int cmd_compare(int argc, char **argv)
{
	const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.args_doc = "BEFORE.csv AFTER.csv [MORE.csv ...]",
		.doc = "Sets recordings (ksmtrace --csv) against each other: how much longer or "
		       "shorter each function takes than in the first one, with the 95 % "
		       "confidence "
		       "interval, and what makes the comparison unfair.\v"
		       "Several runs of the same kernel are pooled: names with commas between "
		       "them.\n\n"
		       "Examples:\n"
		       "  ksmtrace compare before.csv after.csv\n"
		       "  ksmtrace compare a1.csv,a2.csv,a3.csv b1.csv,b2.csv,b3.csv\n"
		       "  ksmtrace compare --markdown jhash2.csv xxh32.csv xxh64.csv\n",
		.children = options_common_children,
	};
	struct arguments a = {.form = FORM_TEXT};
	struct comparison c;
	enum exit_status status;

	options_parse(&argp, "ksmtrace compare", argc, argv, &a);
	compare_init(&c);
	status = compare(&c, &a);
	compare_release(&c);
	return status;
}
