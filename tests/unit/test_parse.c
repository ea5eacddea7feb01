// SPDX-License-Identifier: GPL-2.0-only
#include "standin.h"

#include "parse.h"

static void whole_numbers_are_taken(void **state)
{
	uint64_t value;

	(void)state;
	assert_int_equal(parse_u64("0", 0, 10, &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(parse_u64("0010", 0, 10, &value), 0);
	assert_int_equal(value, 10);
	assert_int_equal(parse_u64("18446744073709551615", 0, UINT64_MAX, &value), 0);
	assert_true(value == UINT64_MAX);
}

static void what_is_not_all_digits_is_refused(void **state)
{
	static const char *const bad[] = { "",    " ",   "10abc", "-1", "+1", " 1", "1 ",
					   "0x1", "1.0", "1e3",   "1\n", "x" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t value = 77;

		assert_int_equal(parse_u64(bad[i], 0, UINT64_MAX, &value), -EINVAL);
		assert_int_equal(value, 77);
	}
	assert_int_equal(parse_u64(NULL, 0, 1, NULL), -EINVAL);
}

static void numbers_out_of_range_are_refused(void **state)
{
	uint64_t value = 77;

	(void)state;
	assert_int_equal(parse_u64("18446744073709551616", 0, UINT64_MAX, &value), -ERANGE);
	assert_int_equal(parse_u64("4", 5, 10, &value), -ERANGE);
	assert_int_equal(parse_u64("11", 5, 10, &value), -ERANGE);
	assert_int_equal(value, 77);
}

static void seconds_may_have_a_fraction(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "2", 2000000000 },	   { "0.5", 500000000 },   { ".25", 250000000 },
		{ "1.000000001", 1000000001 }, { "0", 0 },
		{ "0.0000000019", 1 }, /* finer than a nanosecond: cut */
	};
	uint64_t ns;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(parse_seconds(good[i].text, 0, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
}

static void seconds_that_are_no_number_are_refused(void **state)
{
	static const char *const bad[] = { "",	 ".",	"-1",  "1s",   "1..2", "1.2.3",
					   "1e3", "0.5x", "inf", "nan", "0,5",  " 1" };
	uint64_t ns = 77;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse_seconds(bad[i], 0, &ns), -EINVAL);
	assert_int_equal(ns, 77);
}

static void seconds_out_of_range_are_refused(void **state)
{
	uint64_t ns = 77;

	(void)state;
	assert_int_equal(parse_seconds("0", 1, &ns), -ERANGE);
	assert_int_equal(parse_seconds("0.0009", 1000000, &ns), -ERANGE);
	assert_int_equal(parse_seconds("99999999999999", 0, &ns), -ERANGE);
	assert_int_equal(parse_seconds("99999999999999.5", 0, &ns), -ERANGE);
	assert_int_equal(ns, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers_are_taken),
		cmocka_unit_test(what_is_not_all_digits_is_refused),
		cmocka_unit_test(numbers_out_of_range_are_refused),
		cmocka_unit_test(seconds_may_have_a_fraction),
		cmocka_unit_test(seconds_that_are_no_number_are_refused),
		cmocka_unit_test(seconds_out_of_range_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
