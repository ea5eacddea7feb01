// SPDX-License-Identifier: GPL-2.0-only
#include "standin.h"

#include "cmd.h"
#include "log.h"
#include "options.h"

/* A command as the real ones are, that prints what it got. */
static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	static const char *const words[] = { "first", "last", NULL };

	switch (key) {
	case 's':
		printf("size=%d\n", (int)options_u64(state, "--size", arg, 1, 10));
		return 0;
	case 'd':
		printf("ns=%lld\n", (long long)options_seconds(state, "--duration", arg, 1));
		return 0;
	case 'D':
		printf("differ=%u\n", options_word(state, "--differ", arg, words));
		return 0;
	case 'f':
		printf("file=%s\n", arg);
		return 0;
	case 'w':
		printf("workload=%s\n", arg ? arg : "none");
		return 0;
	case ARGP_KEY_ARG:
		options_unexpected_argument(state, arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{ "size", 's', "MIB", 0, "Size", 0 },
	{ "duration", 'd', "SECONDS", 0, "Time", 0 },
	{ "differ", 'D', "WHERE", 0, "Where", 0 },
	{ "file", 'f', "FILE", 0, "File", 0 },
	{ "workload", 'w', "MIB", OPTION_ARG_OPTIONAL, "Workload", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static const struct argp argp = { option_list, parse_option, NULL, "Does it.",
				  options_common_children, NULL, NULL };

static char out[8192], err[8192];

/* Runs the command with up to three arguments in a process of its own; its exit status. Both
 * streams are in out and err. */
static int run(const char *a, const char *b, const char *c)
{
	char *argv[] = { (char *)"ksmtrace", (char *)a, (char *)b, (char *)c, NULL };
	FILE *files[] = { tmpfile(), tmpfile() };
	int argc = 1, status;
	size_t n;
	pid_t pid;

	while (argv[argc])
		argc++;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(fileno(files[0]), STDOUT_FILENO);
		dup2(fileno(files[1]), STDERR_FILENO);
		status = options_parse(&argp, "ksmtrace thing", argc, argv, NULL);
		fflush(NULL);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rewind(files[0]);
	rewind(files[1]);
	n = fread(out, 1, sizeof(out) - 1, files[0]);
	out[n] = '\0';
	n = fread(err, 1, sizeof(err) - 1, files[1]);
	err[n] = '\0';
	fclose(files[0]);
	fclose(files[1]);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void good_values_arrive(void **state)
{
	(void)state;
	assert_int_equal(run("--size=10", "-d0.5", "--differ=last"), 0);
	assert_string_equal(out, "size=10\nns=500000000\ndiffer=1\n");
	assert_string_equal(err, "");
}

static void a_bad_number_is_a_usage_error_naming_option_and_value(void **state)
{
	static const char *const bad[] = { "10abc", "-1", "11", "0", "99999999999999999999" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(run("--size", bad[i], NULL), EXIT_USAGE);
		assert_contains(err, "--size");
		assert_contains(err, bad[i]);
		assert_string_equal(out, "");
	}
}

static void an_empty_value_can_be_seen_in_the_message(void **state)
{
	(void)state;
	assert_int_equal(run("--size", "", NULL), EXIT_USAGE);
	assert_contains(err, "--size ''");
}

static void bad_seconds_are_a_usage_error(void **state)
{
	(void)state;
	assert_int_equal(run("--duration", "2s", NULL), EXIT_USAGE);
	assert_contains(err, "--duration 2s");
	assert_int_equal(run("--duration", "0", NULL), EXIT_USAGE);
	assert_contains(err, "out of range");
}

static void an_unknown_word_is_answered_with_the_list(void **state)
{
	(void)state;
	assert_int_equal(run("--differ", "fir", NULL), EXIT_USAGE);
	assert_contains(err, "--differ fir");
	assert_contains(err, "first, last");
}

static void long_options_are_not_abbreviated(void **state)
{
	(void)state;
	assert_int_equal(run("--siz", "3", NULL), EXIT_USAGE);
	assert_contains(err, "--siz: unknown option");
	assert_int_equal(run("--siz=3", NULL, NULL), EXIT_USAGE);
	assert_contains(err, "--siz: unknown option");
	assert_int_equal(run("--verb", NULL, NULL), EXIT_USAGE);
}

static void a_value_may_look_like_an_option(void **state)
{
	(void)state;
	assert_int_equal(run("--file", "--siz", NULL), 0);
	assert_string_equal(out, "file=--siz\n");
	assert_int_equal(run("-vf", "--siz", NULL), 0);
	assert_string_equal(out, "file=--siz\n");
}

static void an_optional_value_comes_with_an_equals_sign_only(void **state)
{
	(void)state;
	assert_int_equal(run("--workload", "--size", "3"), 0);
	assert_string_equal(out, "workload=none\nsize=3\n");
	assert_int_equal(run("--workload=5", NULL, NULL), 0);
	assert_string_equal(out, "workload=5\n");
}

static void what_argp_refuses_itself_is_a_usage_error_too(void **state)
{
	(void)state;
	assert_int_equal(run("-x", NULL, NULL), EXIT_USAGE);
	assert_int_equal(run("--size", NULL, NULL), EXIT_USAGE);
	assert_contains(err, "--size");
	assert_int_equal(run("--verbose=1", NULL, NULL), EXIT_USAGE);
}

static void an_argument_too_many_is_named(void **state)
{
	(void)state;
	assert_int_equal(run("stray", NULL, NULL), EXIT_USAGE);
	assert_contains(err, "stray: unexpected argument");
}

static void help_goes_to_standard_output_and_names_the_command(void **state)
{
	static const char *const ways[] = { "-h", "--help" };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_int_equal(run(ways[i], NULL, NULL), 0);
		assert_contains(out, "Usage: ksmtrace thing");
		assert_contains(out, "-h, --help");
		assert_string_equal(err, "");
	}
}

static void version_goes_to_standard_output(void **state)
{
	(void)state;
	assert_int_equal(run("-V", NULL, NULL), 0);
	assert_contains(out, "ksmtrace ");
	assert_int_equal(run("--version", NULL, NULL), 0);
	assert_string_equal(err, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_values_arrive),
		cmocka_unit_test(a_bad_number_is_a_usage_error_naming_option_and_value),
		cmocka_unit_test(an_empty_value_can_be_seen_in_the_message),
		cmocka_unit_test(bad_seconds_are_a_usage_error),
		cmocka_unit_test(an_unknown_word_is_answered_with_the_list),
		cmocka_unit_test(long_options_are_not_abbreviated),
		cmocka_unit_test(a_value_may_look_like_an_option),
		cmocka_unit_test(an_optional_value_comes_with_an_equals_sign_only),
		cmocka_unit_test(what_argp_refuses_itself_is_a_usage_error_too),
		cmocka_unit_test(an_argument_too_many_is_named),
		cmocka_unit_test(help_goes_to_standard_output_and_names_the_command),
		cmocka_unit_test(version_goes_to_standard_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
