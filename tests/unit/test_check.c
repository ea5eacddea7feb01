// SPDX-License-Identifier: GPL-2.0-only
/* The cross-checks: each bites when the counts do not fit, and only then. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "check.h"

static struct session s;
static struct check check[CHECK_COUNT];

/* A run without a fault. */
static int set_up(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	s.functions = 1U << FN_ksm_do_scan | 1U << FN_cmp_and_merge_page | 1U << FN_calc_checksum;
	s.scans = 10;
	s.pages = s.pages_growth = 1000;
	s.recorded[FN_cmp_and_merge_page].count = 1000;
	s.recorded[FN_calc_checksum].count = 700;
	return 0;
}

static enum check_result result(const char *name)
{
	int i;

	check_session(&s, check);
	for (i = 0; i < CHECK_COUNT; i++)
		if (!strcmp(check[i].name, name))
			return check[i].result;
	fail_msg("no check %s", name);
	return CHECK_FAILED;
}

static void a_run_without_a_fault_passes_all(void **state)
{
	int i;

	(void)state;
	check_session(&s, check);
	for (i = 0; i < CHECK_COUNT; i++)
		assert_int_equal(check[i].result, CHECK_PASSED);
	assert_true(check_and_tell(&s));
}

static void a_page_without_its_call_is_found(void **state)
{
	(void)state;
	s.recorded[FN_cmp_and_merge_page].count = 999;
	assert_int_equal(result("pages_scanned"), CHECK_FAILED);
	assert_false(check_and_tell(&s));
	s.recorded[FN_cmp_and_merge_page].count = 1001;
	assert_int_equal(result("pages_scanned"), CHECK_FAILED);
}

static void a_scan_that_no_hook_saw_is_found(void **state)
{
	(void)state;
	s.functions = 1U << FN_ksm_do_scan;
	s.pages_growth = 1100;
	assert_int_equal(result("pages_scanned"), CHECK_FAILED);
}

static void without_the_kernels_count_there_is_no_such_check(void **state)
{
	(void)state;
	s.pages_growth = KSMTRACE_UNKNOWN;
	s.recorded[FN_cmp_and_merge_page].count = 5;
	s.recorded[FN_calc_checksum].count = 5;
	assert_int_equal(result("pages_scanned"), CHECK_IMPOSSIBLE);
	assert_true(check_and_tell(&s));
}

static void more_checksums_than_pages_are_found(void **state)
{
	(void)state;
	s.recorded[FN_calc_checksum].count = 1001;
	assert_int_equal(result("calc_checksum"), CHECK_FAILED);
	s.functions &= ~(1U << FN_cmp_and_merge_page);
	assert_int_equal(result("calc_checksum"), CHECK_IMPOSSIBLE);
}

static void an_entry_or_exit_alone_is_found(void **state)
{
	(void)state;
	s.losses.unmatched_entries[FN_calc_checksum] = 1;
	assert_int_equal(result("entries_and_exits"), CHECK_FAILED);
	s.losses.unmatched_entries[FN_calc_checksum] = 0;
	s.losses.unmatched_exits[FN_calc_checksum] = 1;
	assert_int_equal(result("entries_and_exits"), CHECK_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, set_up)
		T(a_run_without_a_fault_passes_all),
		T(a_page_without_its_call_is_found),
		T(a_scan_that_no_hook_saw_is_found),
		T(without_the_kernels_count_there_is_no_such_check),
		T(more_checksums_than_pages_are_found),
		T(an_entry_or_exit_alone_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
