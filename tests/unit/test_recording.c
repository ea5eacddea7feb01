// SPDX-License-Identifier: GPL-2.0-only
/* Recordings as they are written. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "recording.h"
#include "sinks.h"

static char *written(const struct recording *r)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	recording_write(r, stream);
	fclose(stream);
	return text;
}

static void head_and_rows_are_written_in_order(void **state)
{
	struct recording_function f = { .name = "calc_checksum", .scans = 2,
					.scan_mean_ns = 1413.06, .scan_var_ns2 = 310.2 };
	struct recording r;
	char *text;

	(void)state;
	histogram_add(&f.histogram, 1420);
	histogram_add(&f.histogram, 1421);
	histogram_add(&f.histogram, 7);
	histogram_add(&f.histogram, 1ULL << 36);
	recording_init(&r);
	assert_int_equal(recording_add(&r, "kernel", "%s", "6.12"), 0);
	assert_int_equal(recording_add_function(&r, &f), 0);
	text = written(&r);
	assert_string_equal(text,
			    "# ksmtrace recording: 1\n"
			    "# kernel: 6.12\n"
			    "# stat.calc_checksum: count=4 sum_ns=68719479584 min_ns=7 "
			    "max_ns=68719476736 scans=2 scan_mean_ns=1413.1 scan_var_ns2=310.2\n"
			    "function,low_ns,high_ns,count\n"
			    "calc_checksum,7,8,1\n"
			    "calc_checksum,1408,1440,2\n"
			    "calc_checksum,68719476736,,1\n");
	assert_string_equal(recording_get(&r, "kernel"), "6.12");
	assert_null(recording_get(&r, "absent"));
	free(text);
	recording_release(&r);
}

/* A session's recording has every key of the format, in its order. */
static void a_session_becomes_a_complete_recording(void **state)
{
	static const char *const keys[] = {
		"kernel", "build_id", "arch", "cpu", "hash", "started", "elapsed_s",
		"ksm.pages_to_scan", "scans", "passes", "pages", "ksmd_cpu_ns", "lost_scans",
		"missed_probes", "hook.ksm_do_scan", "hook.calc_checksum", "stat.calc_checksum",
	};
	struct histogram_record h = { .function = FN_calc_checksum };
	struct recording r;
	struct session s;
	size_t i, at = 0;

	(void)state;
	assert_int_equal(session_init(&s), 0);
	s.requested = 1U << FN_ksm_do_scan | 1U << FN_calc_checksum;
	s.functions = 1U << FN_calc_checksum;
	s.hook[FN_ksm_do_scan].rung = RUNG_NONE;
	s.hook[FN_calc_checksum].rung = RUNG_INLINED;
	s.hook[FN_calc_checksum].sites.source = SITE_MACHINE_CODE;
	s.setting = calloc(1, sizeof(*s.setting));
	strcpy(s.setting->name, "pages_to_scan");
	strcpy(s.setting->text, "200");
	s.settings = 1;
	s.pages = KSMTRACE_UNKNOWN;
	s.sharing_after = 7;
	s.profit_after = -4096;
	h.total = (struct fn_stat){ 2, 2800, 1300, 1500 };
	h.bucket[bucket_index(1300)] = 1;
	h.bucket[bucket_index(1500)] = 1;
	session_histogram(&s, &h);
	recording_init(&r);
	assert_int_equal(session_to_recording(&s, &r), 0);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		while (at < r.lines && strcmp(r.line[at].key, keys[i]))
			at++;
		if (at == r.lines)
			fail_msg("no %s behind %s", keys[i], i ? keys[i - 1] : "the beginning");
	}
	assert_string_equal(recording_get(&r, "hook.calc_checksum"), "inlined machine-code");
	assert_string_equal(recording_get(&r, "hook.ksm_do_scan"), "none");
	assert_string_equal(recording_get(&r, "pages"), "unknown");
	assert_string_equal(recording_get(&r, "pages_sharing"), "7");
	assert_string_equal(recording_get(&r, "general_profit"), "-4096");
	assert_null(recording_get(&r, "stat.ksm_do_scan"));
	recording_release(&r);
	session_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(head_and_rows_are_written_in_order),
		cmocka_unit_test(a_session_becomes_a_complete_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
