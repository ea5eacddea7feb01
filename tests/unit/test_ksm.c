// SPDX-License-Identifier: GPL-2.0-only
#include "standin.h"

#include <sys/inotify.h>
#include <sys/resource.h>

#include "ksm.h"

static char *root;
static struct ksm *ksm;
static char why[1024];

static int setup(void **state)
{
	(void)state;
	root = standin_new();
	standin_write(root, "pages_to_scan", "100\n");
	standin_write(root, "run", "0\n");
	standin_write(root, "sleep_millisecs", "20\n");
	standin_write(root, "advisor_mode", "[none] scan-time\n");
	standin_write_bytes(root, "full_scans", 0444, "7\n", 2);
	standin_write_bytes(root, "general_profit", 0444, "-4096\n", 6);
	return ksm_open(root, &ksm);
}

static int teardown(void **state)
{
	(void)state;
	ksm_close(ksm);
	standin_free(root);
	return 0;
}

static int set(const char *name, const char *value)
{
	return ksm_set(ksm, name, value, why, sizeof(why));
}

/* --- reading */

static void a_kernel_without_ksm_is_enoent(void **state)
{
	struct ksm *none;

	(void)state;
	assert_int_equal(ksm_open("/nonexistent/ksm", &none), -ENOENT);
}

static void numbers_are_read(void **state)
{
	uint64_t value;
	int64_t profit;

	(void)state;
	assert_int_equal(ksm_read_u64(ksm, "full_scans", &value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(ksm_read_s64(ksm, "general_profit", &profit), 0);
	assert_int_equal(profit, -4096);
	assert_int_equal(ksm_read_s64(ksm, "full_scans", &profit), 0);
	assert_int_equal(profit, 7);
}

static void the_ends_of_the_signed_range_are_read(void **state)
{
	int64_t value;

	(void)state;
	standin_write(root, "x", "-9223372036854775808\n");
	assert_int_equal(ksm_read_s64(ksm, "x", &value), 0);
	assert_true(value == INT64_MIN);
	standin_write(root, "x", "9223372036854775808\n");
	assert_int_equal(ksm_read_s64(ksm, "x", &value), -ERANGE);
}

static void a_choice_reads_as_the_chosen_word(void **state)
{
	char text[KSM_TEXT_MAX];

	(void)state;
	assert_int_equal(ksm_read_text(ksm, "advisor_mode", text, sizeof(text)), 0);
	assert_string_equal(text, "none");
}

static void what_is_no_number_is_einval(void **state)
{
	uint64_t value = 77;

	(void)state;
	standin_write(root, "x", "10abc\n");
	assert_int_equal(ksm_read_u64(ksm, "x", &value), -EINVAL);
	assert_int_equal(ksm_read_u64(ksm, "general_profit", &value), -EINVAL);
	assert_int_equal(ksm_read_u64(ksm, "advisor_mode", &value), -EINVAL);
	assert_int_equal(value, 77);
}

static void a_name_with_a_path_in_it_is_einval(void **state)
{
	uint64_t value;

	(void)state;
	assert_int_equal(ksm_read_u64(ksm, "../ksm/run", &value), -EINVAL);
	assert_int_equal(ksm_read_u64(ksm, "..", &value), -EINVAL);
	assert_int_equal(ksm_read_u64(ksm, "", &value), -EINVAL);
	assert_int_equal(ksm_read_u64(ksm, "nosuch", &value), -ENOENT);
}

static void a_long_text_is_not_cut_silently(void **state)
{
	char text[KSM_TEXT_MAX], line[400];

	(void)state;
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	standin_write(root, "x", line);
	assert_int_equal(ksm_read_text(ksm, "x", text, sizeof(text)), -EOVERFLOW);
	line[KSM_TEXT_MAX] = '\0';
	standin_write(root, "x", line);
	assert_int_equal(ksm_read_text(ksm, "x", text, sizeof(text)), -EOVERFLOW);
}

static void settings_and_statistics_are_listed_apart_and_sorted(void **state)
{
	static const char *const settings[] = { "advisor_mode", "pages_to_scan", "run",
						"sleep_millisecs" };
	struct ksm_value *values;
	size_t count, i;

	(void)state;
	assert_int_equal(ksm_list(ksm, KSM_SETTINGS, &values, &count), 0);
	assert_int_equal(count, 4);
	for (i = 0; i < count; i++)
		assert_string_equal(values[i].name, settings[i]);
	assert_string_equal(values[0].text, "none");
	free(values);

	assert_int_equal(ksm_list(ksm, KSM_STATISTICS, &values, &count), 0);
	assert_int_equal(count, 2);
	assert_string_equal(values[0].name, "full_scans");
	assert_string_equal(values[1].text, "-4096");
	free(values);
}

static void an_assignment_is_split_at_the_first_equals_sign(void **state)
{
	char name[KSM_TEXT_MAX], value[KSM_TEXT_MAX];

	(void)state;
	assert_int_equal(ksm_parse_assignment("run=a=b", name, value), 0);
	assert_string_equal(name, "run");
	assert_string_equal(value, "a=b");
}

static void what_is_no_assignment_is_einval(void **state)
{
	static const char *const bad[] = { "",	   "run",   "run=",   "=1",
					   "a/b=1", ".x=1", "..=1", "run=1\n2" };
	char name[KSM_TEXT_MAX], value[KSM_TEXT_MAX], text[200];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(ksm_parse_assignment(bad[i], name, value), -EINVAL);
	memset(text, 'n', sizeof(text));
	strcpy(text + KSM_TEXT_MAX, "=1");
	assert_int_equal(ksm_parse_assignment(text, name, value), -EINVAL);
	memset(text, '1', sizeof(text) - 1);
	memcpy(text, "run=", 4);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(ksm_parse_assignment(text, name, value), -EINVAL);
}

/* --- changing and putting back */

static void a_setting_is_changed_and_put_back(void **state)
{
	(void)state;
	assert_int_equal(set("pages_to_scan", "500"), 0);
	assert_string_equal(standin_read(root, "pages_to_scan"), "500");
	assert_int_equal(ksm_changes(ksm), 1);
	assert_int_equal(ksm_restore(ksm), 0);
	assert_string_equal(standin_read(root, "pages_to_scan"), "100");
	assert_int_equal(ksm_changes(ksm), 0);
}

static void a_setting_changed_twice_goes_back_to_the_first_value(void **state)
{
	(void)state;
	assert_int_equal(set("pages_to_scan", "500"), 0);
	assert_int_equal(set("pages_to_scan", "600"), 0);
	assert_int_equal(ksm_changes(ksm), 1);
	assert_int_equal(ksm_restore(ksm), 0);
	assert_string_equal(standin_read(root, "pages_to_scan"), "100");
}

static void a_second_restore_writes_nothing(void **state)
{
	(void)state;
	assert_int_equal(set("pages_to_scan", "500"), 0);
	assert_int_equal(ksm_restore(ksm), 0);
	standin_write(root, "pages_to_scan", "777\n");
	assert_int_equal(ksm_restore(ksm), 0);
	assert_string_equal(standin_read(root, "pages_to_scan"), "777");
}

static void a_setting_can_be_changed_again_after_a_restore(void **state)
{
	(void)state;
	assert_int_equal(set("pages_to_scan", "500"), 0);
	assert_int_equal(ksm_restore(ksm), 0);
	standin_write(root, "pages_to_scan", "300\n");
	assert_int_equal(set("pages_to_scan", "500"), 0);
	assert_int_equal(ksm_restore(ksm), 0);
	assert_string_equal(standin_read(root, "pages_to_scan"), "300");
}

static void the_last_change_is_put_back_first(void **state)
{
	char events[4096] __attribute__((aligned(8)));
	const struct inotify_event *event = (void *)events;
	int fd = inotify_init1(IN_CLOEXEC);

	(void)state;
	assert_int_equal(set("pages_to_scan", "500"), 0);
	assert_int_equal(set("run", "1"), 0);
	assert_true(inotify_add_watch(fd, root, IN_CLOSE_WRITE) >= 0);
	assert_int_equal(ksm_restore(ksm), 0);
	assert_true(read(fd, events, sizeof(events)) > 0);
	close(fd);
	assert_string_equal(event->name, "run");
	event = (const void *)((const char *)(event + 1) + event->len);
	assert_string_equal(event->name, "pages_to_scan");
}

static void an_unknown_setting_is_answered_with_the_list(void **state)
{
	(void)state;
	assert_int_equal(set("nosuch", "1"), -ENOENT);
	assert_contains(why, "advisor_mode, pages_to_scan, run, sleep_millisecs");
	assert_null(strstr(why, "full_scans"));
	assert_string_equal(standin_read(root, "nosuch"), "(no such file)");
}

static void a_list_that_does_not_fit_is_cut_within_the_buffer(void **state)
{
	char *small = malloc(50);

	(void)state;
	assert_int_equal(ksm_set(ksm, "nosuch", "1", small, 50), -ENOENT);
	assert_true(strlen(small) < 50);
	free(small);
}

static void a_path_is_no_setting(void **state)
{
	(void)state;
	assert_int_equal(set("../x", "1"), -ENOENT);
}

static void a_statistic_cannot_be_set(void **state)
{
	(void)state;
	assert_int_equal(set("full_scans", "1"), -EACCES);
	assert_contains(why, "statistic");
	assert_string_equal(standin_read(root, "full_scans"), "7");
}

static void a_refused_write_leaves_nothing_to_put_back(void **state)
{
	const struct rlimit none = { 0, RLIM_INFINITY }, all = { RLIM_INFINITY, RLIM_INFINITY };

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none);
	assert_int_equal(set("pages_to_scan", "500"), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &all);
	assert_int_equal(ksm_changes(ksm), 0);
	assert_int_not_equal(strlen(why), 0);
}

static void a_value_changed_by_others_is_put_back_with_a_warning(void **state)
{
	struct standin_capture capture;
	const char *text;

	(void)state;
	assert_int_equal(set("pages_to_scan", "500"), 0);
	standin_write(root, "pages_to_scan", "777\n");
	standin_capture(&capture);
	assert_int_equal(ksm_restore(ksm), 0);
	text = standin_release(&capture);
	assert_contains(text, "pages_to_scan was changed to 777");
	assert_contains(text, "put back to 100");
	assert_string_equal(standin_read(root, "pages_to_scan"), "100");
}

static void an_ordinary_restore_says_nothing(void **state)
{
	struct standin_capture capture;

	(void)state;
	assert_int_equal(set("pages_to_scan", "0500"), 0);
	standin_capture(&capture);
	assert_int_equal(ksm_restore(ksm), 0);
	assert_string_equal(standin_release(&capture), "");
}

static void what_the_advisor_moves_is_put_back_without_a_warning(void **state)
{
	struct standin_capture capture;

	(void)state;
	assert_int_equal(set("advisor_mode", "scan-time"), 0);
	standin_write(root, "pages_to_scan", "500\n"); /* as the kernel does */
	standin_capture(&capture);
	assert_int_equal(ksm_restore(ksm), 0);
	assert_string_equal(standin_release(&capture), "");
	assert_string_equal(standin_read(root, "advisor_mode"), "none");
	assert_string_equal(standin_read(root, "pages_to_scan"), "100");
}

static void under_an_advisor_pages_to_scan_is_the_kernels_own(void **state)
{
	(void)state;
	standin_write(root, "advisor_mode", "none [scan-time]\n");
	assert_int_equal(set("advisor_mode", "none"), 0);
	standin_write(root, "pages_to_scan", "123\n");
	assert_int_equal(ksm_restore(ksm), 0);
	assert_string_equal(standin_read(root, "advisor_mode"), "scan-time");
	assert_string_equal(standin_read(root, "pages_to_scan"), "123");
}

static void the_offline_flag_of_run_is_not_written_back(void **state)
{
	(void)state;
	standin_write(root, "run", "5\n");
	assert_int_equal(set("run", "0"), 0);
	assert_int_equal(ksm_restore(ksm), 0);
	assert_string_equal(standin_read(root, "run"), "1");
}

static void a_failed_restore_is_reported_and_the_others_go_on(void **state)
{
	struct standin_capture capture;
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(set("pages_to_scan", "500"), 0);
	assert_int_equal(set("run", "1"), 0);
	snprintf(path, sizeof(path), "%s/run", root);
	unlink(path);
	standin_capture(&capture);
	assert_int_equal(ksm_restore(ksm), -ENOENT);
	assert_contains(standin_release(&capture), "run could not be put back to 0");
	assert_string_equal(standin_read(root, "pages_to_scan"), "100");
}

static void a_forked_process_can_put_back_what_is_set_later(void **state)
{
	int pipe_fds[2], status;
	pid_t pid;
	char go;

	(void)state;
	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	if (!pid) {
		if (read(pipe_fds[0], &go, 1) != 1)
			_exit(1);
		_exit(ksm_restore(ksm) ? 2 : 0);
	}
	assert_int_equal(set("pages_to_scan", "500"), 0);
	assert_int_equal(write(pipe_fds[1], "g", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	assert_int_equal(status, 0);
	assert_string_equal(standin_read(root, "pages_to_scan"), "100");
	assert_int_equal(ksm_changes(ksm), 0);
}

/* --- two runs at once */

static void the_last_of_two_runs_puts_back_what_the_first_found(void **state)
{
	struct standin_capture capture;
	struct ksm *second;

	(void)state;
	assert_int_equal(ksm_open(root, &second), 0);
	assert_int_equal(set("run", "1"), 0);
	assert_int_equal(ksm_set(second, "run", "1", why, sizeof(why)), 0);
	standin_capture(&capture);
	assert_int_equal(ksm_restore(ksm), 0);
	assert_contains(standin_release(&capture), "run stays at 1");
	assert_string_equal(standin_read(root, "run"), "1");
	assert_int_equal(ksm_restore(second), 0);
	assert_string_equal(standin_read(root, "run"), "0");
	ksm_close(second);
}

static void two_runs_change_different_settings_freely(void **state)
{
	struct ksm *second;

	(void)state;
	assert_int_equal(ksm_open(root, &second), 0);
	assert_int_equal(set("run", "1"), 0);
	assert_int_equal(ksm_set(second, "pages_to_scan", "500", why, sizeof(why)), 0);
	assert_int_equal(ksm_restore(ksm), 0);
	assert_string_equal(standin_read(root, "run"), "0");
	assert_string_equal(standin_read(root, "pages_to_scan"), "500");
	assert_int_equal(ksm_restore(second), 0);
	assert_string_equal(standin_read(root, "pages_to_scan"), "100");
	ksm_close(second);
}

static void a_setting_that_another_run_needs_is_not_changed_under_it(void **state)
{
	struct ksm *second;

	(void)state;
	assert_int_equal(ksm_open(root, &second), 0);
	assert_int_equal(set("pages_to_scan", "500"), 0);
	assert_int_equal(ksm_set(second, "pages_to_scan", "600", why, sizeof(why)), -EBUSY);
	assert_contains(why, "another run of ksmtrace needs it at 500");
	assert_int_equal(ksm_changes(second), 0);
	assert_string_equal(standin_read(root, "pages_to_scan"), "500");
	assert_int_equal(ksm_restore(ksm), 0);
	assert_int_equal(ksm_set(second, "pages_to_scan", "600", why, sizeof(why)), 0);
	assert_int_equal(ksm_restore(second), 0);
	assert_string_equal(standin_read(root, "pages_to_scan"), "100");
	ksm_close(second);
}

static void a_killed_run_holds_nothing_back(void **state)
{
	struct ksm *other;
	pid_t pid;
	int status;

	(void)state;
	pid = fork();
	if (!pid) {
		if (!ksm_open(root, &other) && !ksm_set(other, "run", "1", why, sizeof(why)))
			raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(set("run", "2"), 0);
	assert_int_equal(ksm_restore(ksm), 0);
	assert_string_equal(standin_read(root, "run"), "1");
}

/* --- the real one, where there is one: only what it refuses anyway */

static void the_kernels_refusal_is_explained(void **state)
{
	struct ksm *real = NULL;
	int err;

	(void)state;
	if (geteuid() || ksm_open(NULL, &real))
		skip();
	err = ksm_set(real, "stable_node_chains_prune_millisecs", "x", why, sizeof(why));
	if (err != -EBUSY) { /* else a run on this machine has it just now */
		assert_int_equal(err, -EINVAL);
		assert_contains(why, "a whole number");
	}
	err = ksm_set(real, "max_page_sharing", "1", why, sizeof(why));
	if (err != -EBUSY) {
		assert_int_equal(err, -EINVAL);
		assert_contains(why, "2 or more");
	}
	assert_int_equal(ksm_changes(real), 0);
	ksm_close(real);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_without_ksm_is_enoent),
		TEST(numbers_are_read),
		TEST(the_ends_of_the_signed_range_are_read),
		TEST(a_choice_reads_as_the_chosen_word),
		TEST(what_is_no_number_is_einval),
		TEST(a_name_with_a_path_in_it_is_einval),
		TEST(a_long_text_is_not_cut_silently),
		TEST(settings_and_statistics_are_listed_apart_and_sorted),
		cmocka_unit_test(an_assignment_is_split_at_the_first_equals_sign),
		cmocka_unit_test(what_is_no_assignment_is_einval),
		TEST(a_setting_is_changed_and_put_back),
		TEST(a_setting_changed_twice_goes_back_to_the_first_value),
		TEST(a_second_restore_writes_nothing),
		TEST(a_setting_can_be_changed_again_after_a_restore),
		TEST(the_last_change_is_put_back_first),
		TEST(an_unknown_setting_is_answered_with_the_list),
		TEST(a_list_that_does_not_fit_is_cut_within_the_buffer),
		TEST(a_path_is_no_setting),
		TEST(a_statistic_cannot_be_set),
		TEST(a_refused_write_leaves_nothing_to_put_back),
		TEST(a_value_changed_by_others_is_put_back_with_a_warning),
		TEST(an_ordinary_restore_says_nothing),
		TEST(what_the_advisor_moves_is_put_back_without_a_warning),
		TEST(under_an_advisor_pages_to_scan_is_the_kernels_own),
		TEST(the_offline_flag_of_run_is_not_written_back),
		TEST(a_failed_restore_is_reported_and_the_others_go_on),
		TEST(a_forked_process_can_put_back_what_is_set_later),
		TEST(the_last_of_two_runs_puts_back_what_the_first_found),
		TEST(two_runs_change_different_settings_freely),
		TEST(a_setting_that_another_run_needs_is_not_changed_under_it),
		TEST(a_killed_run_holds_nothing_back),
		cmocka_unit_test(the_kernels_refusal_is_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
