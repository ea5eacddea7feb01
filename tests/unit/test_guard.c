// SPDX-License-Identifier: GPL-2.0-only
#include "standin.h"

#include <poll.h>
#include <sys/prctl.h>

#include "guard.h"
#include "ksm.h"

#define WITHIN_MS 1000 /* what is promised */

static char *root;
static char why[512];

static int setup(void **state)
{
	(void)state;
	root = standin_new();
	standin_write(root, "run", "0\n");
	standin_write(root, "pages_to_scan", "100\n");
	/* Guards that lost their parent come to us: none may be left. */
	return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static int teardown(void **state)
{
	(void)state;
	standin_free(root);
	return 0;
}

/* Waits for all children; false when one is still there after the limit. */
static bool all_gone(int limit_ms)
{
	const struct timespec step = { .tv_nsec = 5000000 };

	for (; limit_ms > 0; limit_ms -= 5) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0)
			return true;
		if (!pid)
			nanosleep(&step, NULL);
	}
	return false;
}

static void set_both(struct ksm *ksm)
{
	if (ksm_set(ksm, "run", "1", why, sizeof(why)) ||
	    ksm_set(ksm, "pages_to_scan", "500", why, sizeof(why)))
		_exit(10);
}

/* A tool with a guard and two settings changed, which then does what act says. */
static pid_t start_tool(void (*act)(struct guard *guard))
{
	struct guard *guard;
	struct ksm *ksm;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	setpgid(0, 0);
	if (ksm_open(root, &ksm) || guard_start(ksm, &guard))
		_exit(11);
	set_both(ksm);
	act(guard);
	_exit(12);
}

static void act_die(struct guard *guard)
{
	(void)guard;
	raise(SIGKILL);
}

static void settings_are_back_within_a_second_of_a_sigkill(void **state)
{
	int status;

	(void)state;
	waitpid(start_tool(act_die), &status, 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_true(standin_becomes(root, "run", "0", WITHIN_MS));
	assert_true(standin_becomes(root, "pages_to_scan", "100", WITHIN_MS));
	assert_true(all_gone(WITHIN_MS));
}

static void act_exit(struct guard *guard)
{
	(void)guard;
	_exit(0);
}

static void settings_are_back_after_an_exit_that_forgot_the_guard(void **state)
{
	(void)state;
	waitpid(start_tool(act_exit), NULL, 0);
	assert_true(standin_becomes(root, "run", "0", WITHIN_MS));
	assert_true(all_gone(WITHIN_MS));
}

static void act_group_signals(struct guard *guard)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGPIPE };
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		signal(signals[i], SIG_IGN);
		kill(0, signals[i]);
		kill(guard_pid(guard), signals[i]);
	}
	usleep(50000);
	kill(0, SIGKILL);
}

static void the_guard_outlives_signals_to_it_and_to_the_tools_group(void **state)
{
	(void)state;
	waitpid(start_tool(act_group_signals), NULL, 0);
	assert_true(standin_becomes(root, "run", "0", WITHIN_MS));
	assert_true(all_gone(WITHIN_MS));
}

static void act_leave_a_child(struct guard *guard)
{
	(void)guard;
	if (!fork()) { /* holds all descriptors of the tool, the guard's socket too */
		sleep(2 * WITHIN_MS / 1000);
		_exit(0);
	}
	raise(SIGKILL);
}

static void a_child_that_survives_the_tool_does_not_delay_the_guard(void **state)
{
	(void)state;
	waitpid(start_tool(act_leave_a_child), NULL, 0);
	assert_true(standin_becomes(root, "run", "0", WITHIN_MS));
	assert_true(all_gone(10 * WITHIN_MS));
}

static void act_with_workload(struct guard *guard)
{
	pid_t pid = fork();

	if (!pid) {
		setpgid(0, 0);
		pause();
	}
	setpgid(pid, pid);
	guard_set_workload(guard, pid);
	raise(SIGKILL);
}

static void the_workload_is_killed_when_the_tool_is_gone(void **state)
{
	(void)state;
	waitpid(start_tool(act_with_workload), NULL, 0);
	assert_true(all_gone(WITHIN_MS));
}

static void the_orderly_end_puts_back_and_leaves_no_process(void **state)
{
	struct guard *guard;
	struct ksm *ksm;
	pid_t pid;

	(void)state;
	assert_int_equal(ksm_open(root, &ksm), 0);
	assert_int_equal(guard_start(ksm, &guard), 0);
	pid = guard_pid(guard);
	assert_int_equal(ksm_set(ksm, "run", "1", why, sizeof(why)), 0);
	assert_int_equal(guard_finish(guard), 0);
	assert_string_equal(standin_read(root, "run"), "0");
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(ksm_changes(ksm), 0);
	ksm_close(ksm);
}

static void the_orderly_end_without_a_guard_is_nothing(void **state)
{
	(void)state;
	assert_int_equal(guard_finish(NULL), 0);
	guard_set_workload(NULL, 1234);
}

static void with_the_guard_killed_the_tool_puts_back_itself(void **state)
{
	struct guard *guard;
	struct ksm *ksm;

	(void)state;
	assert_int_equal(ksm_open(root, &ksm), 0);
	assert_int_equal(guard_start(ksm, &guard), 0);
	assert_int_equal(ksm_set(ksm, "run", "1", why, sizeof(why)), 0);
	kill(guard_pid(guard), SIGKILL);
	assert_int_equal(guard_finish(guard), 0);
	assert_string_equal(standin_read(root, "run"), "0");
	ksm_close(ksm);
}

static void a_restore_that_fails_in_the_guard_is_told_to_the_tool(void **state)
{
	struct standin_capture capture;
	struct guard *guard;
	char path[PATH_MAX];
	struct ksm *ksm;

	(void)state;
	standin_capture(&capture);
	assert_int_equal(ksm_open(root, &ksm), 0);
	assert_int_equal(guard_start(ksm, &guard), 0);
	assert_int_equal(ksm_set(ksm, "run", "1", why, sizeof(why)), 0);
	snprintf(path, sizeof(path), "%s/run", root);
	unlink(path);
	assert_int_equal(guard_finish(guard), -ENOENT);
	assert_contains(standin_release(&capture), "run could not be put back to 0");
	ksm_close(ksm);
}

static void the_guard_does_not_hold_the_tools_output(void **state)
{
	struct pollfd reader = { .events = POLLIN };
	struct guard *guard;
	struct ksm *ksm;
	int pair[2];

	(void)state;
	assert_int_equal(pipe(pair), 0);
	assert_int_equal(ksm_open(root, &ksm), 0);
	assert_int_equal(guard_start(ksm, &guard), 0);
	close(pair[1]);
	reader.fd = pair[0];
	assert_int_equal(poll(&reader, 1, WITHIN_MS), 1);
	assert_true(reader.revents & POLLHUP);
	assert_int_equal(guard_finish(guard), 0);
	close(pair[0]);
	ksm_close(ksm);
}

static void the_guard_has_its_name_and_a_session_of_its_own(void **state)
{
	struct guard *guard;
	struct ksm *ksm;
	char path[64];

	(void)state;
	assert_int_equal(ksm_open(root, &ksm), 0);
	assert_int_equal(guard_start(ksm, &guard), 0);
	snprintf(path, sizeof(path), "proc/%d/comm", (int)guard_pid(guard));
	assert_string_equal(standin_read("", path), "ksmtrace-guard");
	assert_int_equal(getsid(guard_pid(guard)), guard_pid(guard));
	assert_int_equal(guard_finish(guard), 0);
	ksm_close(ksm);
}

static void the_tool_keeps_its_signal_mask(void **state)
{
	sigset_t before, after;
	struct guard *guard;
	struct ksm *ksm;
	int i;

	(void)state;
	sigprocmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(ksm_open(root, &ksm), 0);
	assert_int_equal(guard_start(ksm, &guard), 0);
	sigprocmask(SIG_SETMASK, NULL, &after);
	for (i = 1; i < NSIG; i++)
		assert_int_equal(sigismember(&before, i), sigismember(&after, i));
	assert_int_equal(guard_finish(guard), 0);
	ksm_close(ksm);
}

static void the_guard_keeps_the_lock_of_a_killed_run_until_it_is_done(void **state)
{
	struct ksm *second;
	int i;

	/* However the two meet, the second run ends with what the first one found. */
	(void)state;
	for (i = 0; i < 20; i++) {
		pid_t tool = start_tool(act_die);

		assert_int_equal(ksm_open(root, &second), 0);
		if (i % 2)
			waitpid(tool, NULL, 0);
		if (!ksm_set(second, "run", "1", why, sizeof(why)))
			assert_int_equal(ksm_restore(second), 0);
		ksm_close(second);
		assert_true(standin_becomes(root, "run", "0", WITHIN_MS));
		assert_true(all_gone(WITHIN_MS));
		assert_string_equal(standin_read(root, "run"), "0");
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(settings_are_back_within_a_second_of_a_sigkill),
		TEST(settings_are_back_after_an_exit_that_forgot_the_guard),
		TEST(the_guard_outlives_signals_to_it_and_to_the_tools_group),
		TEST(a_child_that_survives_the_tool_does_not_delay_the_guard),
		TEST(the_workload_is_killed_when_the_tool_is_gone),
		TEST(the_orderly_end_puts_back_and_leaves_no_process),
		TEST(the_orderly_end_without_a_guard_is_nothing),
		TEST(with_the_guard_killed_the_tool_puts_back_itself),
		TEST(a_restore_that_fails_in_the_guard_is_told_to_the_tool),
		TEST(the_guard_does_not_hold_the_tools_output),
		TEST(the_guard_has_its_name_and_a_session_of_its_own),
		TEST(the_tool_keeps_its_signal_mask),
		TEST(the_guard_keeps_the_lock_of_a_killed_run_until_it_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
