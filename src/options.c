// SPDX-License-Identifier: GPL-2.0-only
/* Option handling that all commands share; see options.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "log.h"
#include "options.h"
#include "parse.h"

#ifdef __has_include
#if __has_include("revision.h")
#include "revision.h"
#endif
#endif
#ifndef KSMTRACE_VERSION
#define KSMTRACE_VERSION "unknown"
#endif
#ifndef KSMTRACE_REVISION
#define KSMTRACE_REVISION ""
#endif

enum { KEY_USAGE = OPTIONS_KEY_COMMON };

static const struct argp_option common_options[] = {
	{ "verbose", 'v', NULL, 0, "Say more about what is done and why", 1 },
	{ "help", 'h', NULL, 0, "Show this help", 1 },
	{ "usage", KEY_USAGE, NULL, OPTION_HIDDEN, NULL, 1 },
	{ "version", 'V', NULL, 0, "Show the version", 1 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	switch (key) {
	case 'v':
		log_set_level(LOG_DEBUG);
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case KEY_USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	case 'V':
		puts(*KSMTRACE_REVISION ? "ksmtrace " KSMTRACE_VERSION " (" KSMTRACE_REVISION ")"
					: "ksmtrace " KSMTRACE_VERSION);
		exit(EXIT_MEASURED);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp common_argp = { .options = common_options, .parser = parse_common };

const struct argp_child options_common_children[] = {
	{ &common_argp, 0, "General:", 10 },
	{ NULL, 0, NULL, 0 },
};

void options_usage_error(const struct argp_state *state, const char *option, const char *value,
			 const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (value)
		log_error("%s %s: %s", option, *value ? value : "''", text);
	else
		log_error("%s: %s", option, text);
	fprintf(stderr, "Try '%s --help'.\n", state && state->name ? state->name : "ksmtrace");
	exit(EXIT_USAGE);
}

void options_unexpected_argument(const struct argp_state *state, const char *argument)
{
	options_usage_error(state, argument, NULL, "unexpected argument");
}

uint64_t options_u64(const struct argp_state *state, const char *option, const char *value,
		     uint64_t min, uint64_t max)
{
	uint64_t result;

	if (!parse_u64(value, min, max, &result))
		return result;
	if (max == UINT64_MAX)
		options_usage_error(state, option, value,
				    "must be a whole number, %" PRIu64 " or more", min);
	options_usage_error(state, option, value,
			    "must be a whole number from %" PRIu64 " to %" PRIu64, min, max);
}

uint64_t options_seconds(const struct argp_state *state, const char *option, const char *value,
			 uint64_t min_ns)
{
	uint64_t ns;

	switch (parse_seconds(value, min_ns, &ns)) {
	case 0:
		return ns;
	case -ERANGE:
		options_usage_error(state, option, value,
				    "seconds out of range, the least is %g", (double)min_ns / 1e9);
	default:
		options_usage_error(state, option, value,
				    "must be a number of seconds, such as 2 or 0.5");
	}
}

unsigned int options_word(const struct argp_state *state, const char *option, const char *value,
			  const char *const *words)
{
	char list[512] = "";
	size_t used = 0;
	unsigned int i;

	for (i = 0; words[i]; i++) {
		if (!strcmp(words[i], value))
			return i;
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
					 i ? ", " : "", words[i]);
		if (used >= sizeof(list))
			used = sizeof(list) - 1;
	}
	options_usage_error(state, option, value, "must be one of %s", list);
}

/* The option of argp or its children with that long name (length bytes) or that short key. */
static const struct argp_option *find_option(const struct argp *argp, const char *name,
					     size_t length, int key)
{
	const struct argp_option *option;
	const struct argp_child *child;

	for (option = argp->options; option && (option->name || option->key || option->doc);
	     option++) {
		if (name && option->name && strlen(option->name) == length &&
		    !strncmp(option->name, name, length))
			return option;
		if (!name && option->key == key)
			return option;
	}
	for (child = argp->children; child && child->argp; child++) {
		option = find_option(child->argp, name, length, key);
		if (option)
			return option;
	}
	return NULL;
}

static bool takes_argument(const struct argp_option *option)
{
	return option && option->arg && !(option->flags & OPTION_ARG_OPTIONAL);
}

/* Whether the cluster of short options ("-vd") leaves its value to the next argument. */
static bool cluster_takes_next(const struct argp *argp, const char *cluster)
{
	const struct argp_option *option;

	for (; *cluster; cluster++) {
		option = find_option(argp, NULL, 0, (unsigned char)*cluster);
		if (!option || option->arg)
			return takes_argument(option) && !cluster[1];
	}
	return false;
}

/* getopt accepts any unambiguous start of a long option; refuse what is not the whole name. */
static void refuse_abbreviations(const struct argp *argp, const struct argp_state *state,
				 int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		const char *arg = argv[i];
		const struct argp_option *option;
		char name[128];
		size_t length;

		if (!strcmp(arg, "--"))
			return;
		if (arg[0] != '-' || !arg[1])
			continue;
		if (arg[1] != '-') {
			if (cluster_takes_next(argp, arg + 1))
				i++;
			continue;
		}
		length = strcspn(arg + 2, "=");
		option = find_option(argp, arg + 2, length, 0);
		if (!option) {
			snprintf(name, sizeof(name), "--%.*s", (int)length, arg + 2);
			options_usage_error(state, name, NULL, "unknown option");
		}
		if (takes_argument(option) && !arg[2 + length])
			i++;
	}
}

int options_parse(const struct argp *argp, const char *name, int argc, char **argv, void *input)
{
	struct argp_state state = { .name = (char *)(uintptr_t)name };
	char *saved = argv[0];
	int err;

	argp_err_exit_status = EXIT_USAGE;
	refuse_abbreviations(argp, &state, argc, argv);
	argv[0] = state.name;
	err = argp_parse(argp, argc, argv, ARGP_NO_HELP, NULL, input);
	argv[0] = saved;
	return err;
}
