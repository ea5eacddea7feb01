/* SPDX-License-Identifier: GPL-2.0-only */
/* What the option handling of all commands shares, on top of argp. */
#ifndef KSMTRACE_OPTIONS_H
#define KSMTRACE_OPTIONS_H

#include <argp.h>
#include <stdint.h>

/*
 * Child parser for every command: -h/--help, --usage, -V/--version, and -v/--verbose, which
 * sets the log level. Give it as .children = options_common_children; argp's own --help is off.
 * A command uses no key of OPTIONS_KEY_COMMON or above.
 */
extern const struct argp_child options_common_children[];

#define OPTIONS_KEY_COMMON 0x10000

/*
 * Parses argv[1..] by argp for the command that messages call name ("ksmtrace workload").
 * Stricter than argp alone: long options are not abbreviated, so that a script keeps its
 * meaning when an option is added. A usage error ends the process with EXIT_USAGE, --help
 * and --version end it with 0. Returns what the parser returns (0, or its error).
 * Arguments that the parser keeps point into argv.
 */
int options_parse(const struct argp *argp, const char *name, int argc, char **argv, void *input);

/* "ksmtrace: --size 10abc: TEXT", a pointer to --help, and exit with EXIT_USAGE.
 * value NULL: the option alone is named. */
void options_usage_error(const struct argp_state *state, const char *option, const char *value,
			 const char *format, ...)
	__attribute__((format(printf, 4, 5), noreturn));

/* For a command that takes no arguments: ARGP_KEY_ARG ends up here. */
void options_unexpected_argument(const struct argp_state *state, const char *argument)
	__attribute__((noreturn));

/* A whole number in [min, max]; anything else is a usage error. */
uint64_t options_u64(const struct argp_state *state, const char *option, const char *value,
		     uint64_t min, uint64_t max);

/* Seconds, decimals allowed, at least min_ns; returned in nanoseconds. */
uint64_t options_seconds(const struct argp_state *state, const char *option, const char *value,
			 uint64_t min_ns);

/* The index of value in words (NULL-terminated); anything else is a usage error that lists
 * the words. */
unsigned int options_word(const struct argp_state *state, const char *option, const char *value,
			  const char *const *words);

#endif
