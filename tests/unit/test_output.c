// SPDX-License-Identifier: GPL-2.0-only
/* Output files appear whole or not at all. */
#include <errno.h>
#include <glob.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "log.h"
#include "output.h"

static char directory[] = "/tmp/outputXXXXXX";
static char path[64];

static int set_up(void **state)
{
	(void)state;
	log_set_level(LOG_ERROR);
	strcpy(directory, "/tmp/outputXXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/x.csv", directory);
	return 0;
}

/* How many files there are that begin like the target's temporary names. */
static size_t leftovers(void)
{
	char pattern[80];
	glob_t g;
	size_t n;

	snprintf(pattern, sizeof(pattern), "%s.*", path);
	n = glob(pattern, 0, NULL, &g) ? 0 : g.gl_pathc;
	if (n)
		globfree(&g);
	return n;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory); /* fails when something was left behind */
}

static void write_text(const char *text)
{
	struct output out;

	assert_int_equal(output_open(&out, path), 0);
	fputs(text, out.stream);
	assert_int_equal(output_commit(&out), 0);
}

static void expect_text(const char *text)
{
	char buffer[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	if (!fgets(buffer, sizeof(buffer), f))
		buffer[0] = '\0';
	fclose(f);
	assert_string_equal(buffer, text);
}

static void the_file_is_there_only_after_the_commit(void **state)
{
	struct output out;

	(void)state;
	assert_int_equal(output_open(&out, path), 0);
	fputs("new", out.stream);
	fflush(out.stream);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(output_commit(&out), 0);
	expect_text("new");
	assert_int_equal(leftovers(), 0);
}

static void an_aborted_run_leaves_the_old_file_alone(void **state)
{
	struct output out;

	(void)state;
	write_text("old");
	assert_int_equal(output_open(&out, path), 0);
	fputs("new", out.stream);
	output_abort(&out);
	expect_text("old");
	assert_int_equal(leftovers(), 0);
}

static void permissions_are_kept_and_new_ones_follow_the_umask(void **state)
{
	struct stat st;
	mode_t mask = umask(027);

	(void)state;
	write_text("a");
	umask(mask);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(chmod(path, 0604), 0);
	write_text("b");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0604);
	if (geteuid())
		return;
	assert_int_equal(chown(path, 1, 2), 0);
	write_text("c");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 1);
	assert_int_equal(st.st_gid, 2);
}

static void a_missing_directory_is_an_error_at_once(void **state)
{
	struct output out;
	char deep[80];

	(void)state;
	snprintf(deep, sizeof(deep), "%s/no/x.csv", directory);
	assert_int_equal(output_open(&out, deep), -ENOENT);
	assert_int_equal(output_open(&out, directory), -EISDIR);
	assert_null(out.stream);
}

static void a_full_disk_is_found_at_the_commit_and_the_device_stays(void **state)
{
	struct output out;
	struct stat st;

	(void)state;
	assert_int_equal(output_open(&out, "/dev/full"), 0);
	fputs("text", out.stream);
	assert_int_equal(output_commit(&out), -ENOSPC);
	assert_int_equal(stat("/dev/full", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

static void a_file_without_a_name_is_an_error_at_once(void **state)
{
	struct output out;

	(void)state;
	log_set_level(LOG_ERROR);
	assert_int_equal(output_open(&out, ""), -ENOENT);
	assert_null(out.stream);
}

static void a_symbolic_link_stays_one(void **state)
{
	struct output out;
	struct stat st;
	char link[80];

	(void)state;
	write_text("old");
	snprintf(link, sizeof(link), "%s/link", directory);
	assert_int_equal(symlink("x.csv", link), 0);
	assert_int_equal(output_open(&out, link), 0);
	fputs("new", out.stream);
	assert_int_equal(output_commit(&out), 0);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	unlink(link);
	expect_text("new");
}

static void two_names_of_one_file_are_noticed(void **state)
{
	struct output a, b, c, device;
	char other[80];

	(void)state;
	snprintf(other, sizeof(other), "%s/./x.csv", directory);
	assert_int_equal(output_open(&a, path), 0);
	assert_int_equal(output_open(&b, other), 0);
	snprintf(other, sizeof(other), "%s/y.csv", directory);
	assert_int_equal(output_open(&c, other), 0);
	assert_int_equal(output_open(&device, "/dev/null"), 0);
	assert_true(output_same(&a, &b));
	assert_false(output_same(&a, &c));
	assert_false(output_same(&device, &device));
	output_abort(&a);
	output_abort(&b);
	output_abort(&c);
	output_abort(&device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		T(the_file_is_there_only_after_the_commit),
		T(an_aborted_run_leaves_the_old_file_alone),
		T(permissions_are_kept_and_new_ones_follow_the_umask),
		T(a_missing_directory_is_an_error_at_once),
		T(a_full_disk_is_found_at_the_commit_and_the_device_stays),
		T(a_file_without_a_name_is_an_error_at_once),
		T(a_symbolic_link_stays_one),
		T(two_names_of_one_file_are_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
