// SPDX-License-Identifier: GPL-2.0-only
/* What --hook accepts, and the names of functions and rungs. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "hook.h"

static void every_function_and_rung_can_be_named(void **state)
{
	int f, r;

	(void)state;
	for (f = 0; f < FN_COUNT; f++) {
		for (r = 0; r < RUNG_COUNT; r++) {
			struct hook_choice choice;
			enum ksmtrace_function fn;
			char text[80];

			strcpy(text, function_name((enum ksmtrace_function)f));
			strcat(text, "=");
			strcat(text, rung_name((enum rung)r));
			assert_int_equal(hook_choice_parse(text, &fn, &choice), 0);
			assert_int_equal(fn, f);
			assert_int_equal(choice.rung, r);
			assert_true(choice.forced);
			assert_int_equal(choice.source, SITE_NONE);
		}
	}
}

static void the_source_of_inlined_sites_can_be_named(void **state)
{
	struct hook_choice choice;
	enum ksmtrace_function fn;

	(void)state;
	assert_int_equal(hook_choice_parse("ksm_do_scan=inlined:debuginfo", &fn, &choice), 0);
	assert_int_equal(choice.source, SITE_DEBUGINFO);
	assert_int_equal(hook_choice_parse("ksm_do_scan=inlined:machine-code", &fn, &choice), 0);
	assert_int_equal(choice.source, SITE_MACHINE_CODE);
	assert_int_equal(hook_choice_parse("ksm_do_scan=inlined:plan", &fn, &choice), 0);
	assert_int_equal(choice.source, SITE_PLAN);
}

static void anything_else_is_refused(void **state)
{
	static const struct {
		const char *text;
		int error;
	} cases[] = {
		{ "ksm_do_scan", -EINVAL },
		{ "ksm_do_scan=", -EINVAL },
		{ "ksm_do_scan=fentryx", -EINVAL },
		{ "ksm_do_scan=fent", -EINVAL },
		{ "ksm_do_scan=inlined:", -EINVAL },
		{ "ksm_do_scan=inlined:dwarf", -EINVAL },
		{ "ksm_do_scan=kprobe:plan", -EINVAL },
		{ "ksm_do=kprobe", -ENOENT },
		{ "=kprobe", -ENOENT },
	};
	struct hook_choice choice;
	enum ksmtrace_function fn;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(hook_choice_parse(cases[i].text, &fn, &choice), cases[i].error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_function_and_rung_can_be_named),
		cmocka_unit_test(the_source_of_inlined_sites_can_be_named),
		cmocka_unit_test(anything_else_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
