// SPDX-License-Identifier: GPL-2.0-only
/* Numbers as people read them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "format.h"
#include "ksmtrace.h"

static void durations_have_the_unit_that_suits_them(void **state)
{
	static const struct {
		double ns;
		const char *text;
	} cases[] = {
		{ 0, "0ns" },		   { 812, "812ns" },	     { 999.4, "999ns" },
		{ 999.96, "1.00us" },	   { 3810, "3.81us" },	     { 99994, "99.99us" },
		{ 99996, "100.0us" },	   { 812400, "812.4us" },    { 999960, "1.00ms" },
		{ 16689300, "16.69ms" },   { 2.5e9, "2.50s" },	     { 1.23456e11, "123.5s" },
	};
	char buffer[FORMAT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(format_duration(buffer, cases[i].ns), cases[i].text);
}

static void short_durations_can_stay_in_nanoseconds(void **state)
{
	char buffer[FORMAT_MAX];

	(void)state;
	assert_string_equal(format_ns(buffer, 1413.16), "1413ns");
	assert_string_equal(format_ns(buffer, 99999.4), "99999ns");
	assert_string_equal(format_ns(buffer, 99999.6), "100.0us");
}

static void what_is_unknown_is_a_dash(void **state)
{
	char buffer[FORMAT_MAX];

	(void)state;
	assert_string_equal(format_count(buffer, 200), "200");
	assert_string_equal(format_count(buffer, KSMTRACE_UNKNOWN), "-");
}

static void moments_are_written_in_utc(void **state)
{
	char buffer[FORMAT_MAX];

	(void)state;
	assert_string_equal(format_utc(buffer, 1796040001ULL * 1000000000), "2026-11-30T12:00:01Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_have_the_unit_that_suits_them),
		cmocka_unit_test(short_durations_can_stay_in_nanoseconds),
		cmocka_unit_test(what_is_unknown_is_a_dash),
		cmocka_unit_test(moments_are_written_in_utc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
