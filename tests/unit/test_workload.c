// SPDX-License-Identifier: GPL-2.0-only
#include "standin.h"

#include <dirent.h>
#include <sys/prctl.h>

#include "cmd.h"
#include "workload.h"

#define PAGE 4096

static char why[512];

static int setup(void **state)
{
	(void)state;
	return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static bool no_ksm(void)
{
	return access("/sys/kernel/mm/ksm", F_OK) != 0;
}

/* The processes of a group, at most size. */
static size_t group_members(pid_t group, pid_t *pids, size_t size)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) && n < size) {
		pid_t pid = atoi(entry->d_name);

		if (pid > 0 && getpgid(pid) == group)
			pids[n++] = pid;
	}
	closedir(dir);
	return n;
}

static struct workload_options small(void)
{
	struct workload_options o = WORKLOAD_DEFAULTS;

	o.mib = 2;
	return o;
}

/* The range of the mergeable mapping of pid, and its resident KiB. */
static bool find_mergeable(pid_t pid, unsigned long *from, unsigned long *to, unsigned long *rss)
{
	unsigned long start = 0, end = 0, kib = 0, a, b;
	char path[64], line[512];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &a, &b) == 2) {
			start = a;
			end = b;
		}
		sscanf(line, "Rss: %lu kB", &kib);
		if (!strncmp(line, "VmFlags:", 8) && strstr(line, " mg")) {
			*from = start;
			*to = end;
			*rss = kib;
			found = true;
		}
	}
	fclose(file);
	return found;
}

static void all_memory_is_in_place_and_mergeable_at_the_start(void **state)
{
	struct workload_options o = small();
	unsigned long from, to, rss;
	struct workload *workload;
	pid_t pids[8];
	size_t i, n;

	(void)state;
	if (no_ksm())
		skip();
	assert_int_equal(workload_start(&o, &workload, why, sizeof(why)), 0);
	n = group_members(workload_group(workload), pids, 8);
	assert_int_equal(n, 2);
	for (i = 0; i < n; i++) {
		assert_true(find_mergeable(pids[i], &from, &to, &rss));
		assert_int_equal(to - from, 2 << 20);
		assert_int_equal(rss, 2048);
	}
	workload_stop(workload);
}

static void the_processes_hold_the_generators_pages(void **state)
{
	struct workload_options o = small();
	unsigned char theirs[PAGE], ours[PAGE];
	unsigned long from, to, rss;
	struct workload *workload;
	uint64_t page, pages;
	pid_t pids[8];
	char path[64];
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	int fd;

	(void)state;
	if (no_ksm() || page_size != PAGE)
		skip();
	o.processes = 1;
	o.volatile_percent = 0;
	assert_int_equal(workload_start(&o, &workload, why, sizeof(why)), 0);
	assert_int_equal(group_members(workload_group(workload), pids, 8), 1);
	assert_true(find_mergeable(pids[0], &from, &to, &rss));
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pids[0]);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	pages = workload_process_pages(&o, PAGE);
	for (page = 0; page < pages; page++) {
		assert_int_equal(pread(fd, theirs, PAGE, (off_t)(from + page * PAGE)), PAGE);
		workload_fill_page(&o, 0, page, NULL, ours, PAGE);
		assert_memory_equal(theirs, ours, PAGE);
	}
	close(fd);
	workload_stop(workload);
}

static void stopping_leaves_no_process(void **state)
{
	struct workload_options o = small();
	struct workload *workload;
	pid_t group, pids[8];

	(void)state;
	if (no_ksm())
		skip();
	assert_int_equal(workload_start(&o, &workload, why, sizeof(why)), 0);
	group = workload_group(workload);
	workload_stop(workload);
	assert_int_equal(group_members(group, pids, 8), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void a_killed_tool_leaves_no_process(void **state)
{
	struct workload_options o = small();
	struct workload *workload;
	int tries, status;
	pid_t tool;

	(void)state;
	if (no_ksm())
		skip();
	tool = fork();
	if (!tool) {
		if (!workload_start(&o, &workload, why, sizeof(why)))
			raise(SIGKILL);
		_exit(1);
	}
	waitpid(tool, &status, 0);
	assert_true(WIFSIGNALED(status));
	/* Orphans come to us: all of them are dead or about to be. */
	for (tries = 0; waitpid(-1, NULL, WNOHANG) >= 0; tries++) {
		assert_true(tries < 200);
		usleep(5000);
	}
}

static void the_death_of_a_process_shows(void **state)
{
	struct workload_options o = small();
	struct workload *workload;
	int tries;

	(void)state;
	if (no_ksm())
		skip();
	assert_int_equal(workload_start(&o, &workload, why, sizeof(why)), 0);
	assert_true(workload_running(workload));
	kill(workload_group(workload), SIGKILL);
	for (tries = 0; workload_running(workload) && tries < 200; tries++)
		usleep(5000);
	assert_false(workload_running(workload));
	workload_stop(workload);
}

static void the_start_can_be_cancelled(void **state)
{
	struct workload_options o = small();
	struct workload *workload;
	int pair[2];

	(void)state;
	assert_int_equal(pipe(pair), 0);
	assert_int_equal(write(pair[1], "x", 1), 1);
	o.cancel_fd = pair[0];
	assert_int_equal(workload_start(&o, &workload, why, sizeof(why)), -EINTR);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	close(pair[0]);
	close(pair[1]);
}

static void too_much_memory_is_refused_with_both_figures(void **state)
{
	struct workload_options o = small();
	struct workload *workload;

	(void)state;
	o.processes = WORKLOAD_PROCESSES_MAX;
	o.mib = WORKLOAD_MIB_MAX;
	assert_int_equal(workload_start(&o, &workload, why, sizeof(why)), -ENOMEM);
	assert_contains(why, "needs 1073741824 MiB");
	assert_contains(why, "are available");
}

static void shares_of_more_than_all_are_refused(void **state)
{
	struct workload_options o = small();
	struct workload *workload;

	(void)state;
	o.duplicate_percent = 91;
	o.zero_percent = 0;
	assert_int_equal(workload_start(&o, &workload, why, sizeof(why)), -EINVAL);
	assert_contains(why, "more than 100");
}

/* --- the command */

static int run_command(const char *a, const char *b, char *out, size_t size)
{
	char *argv[] = { (char *)"workload", (char *)a, (char *)b, (char *)"--size=1", NULL };
	FILE *file = tmpfile();
	int status;
	pid_t pid;
	size_t n;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(fileno(file), STDOUT_FILENO);
		dup2(fileno(file), STDERR_FILENO);
		status = cmd_workload(4, argv);
		fflush(NULL);
		_exit(status);
	}
	waitpid(pid, &status, 0);
	rewind(file);
	n = fread(out, 1, size - 1, file);
	out[n] = '\0';
	fclose(file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void the_command_says_ready_and_ends_after_its_time(void **state)
{
	char out[2048];

	(void)state;
	if (no_ksm())
		skip();
	assert_int_equal(run_command("--duration=0.1", "--seed=3", out, sizeof(out)),
			 EXIT_MEASURED);
	assert_contains(out, "ready\n");
	assert_contains(out, "512 pages");
}

static void the_command_refuses_shares_of_more_than_all(void **state)
{
	char out[2048];

	(void)state;
	assert_int_equal(run_command("--duplicate=60", "--zero=31", out, sizeof(out)), EXIT_USAGE);
	assert_contains(out, "add up to 101");
	assert_contains(out, "--duplicate, --zero, --volatile 60 + 31 + 10");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(all_memory_is_in_place_and_mergeable_at_the_start, setup),
		cmocka_unit_test_setup(the_processes_hold_the_generators_pages, setup),
		cmocka_unit_test_setup(stopping_leaves_no_process, setup),
		cmocka_unit_test_setup(a_killed_tool_leaves_no_process, setup),
		cmocka_unit_test_setup(the_death_of_a_process_shows, setup),
		cmocka_unit_test_setup(the_start_can_be_cancelled, setup),
		cmocka_unit_test(too_much_memory_is_refused_with_both_figures),
		cmocka_unit_test(shares_of_more_than_all_are_refused),
		cmocka_unit_test(the_command_says_ready_and_ends_after_its_time),
		cmocka_unit_test(the_command_refuses_shares_of_more_than_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
