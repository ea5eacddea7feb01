// SPDX-License-Identifier: GPL-2.0-only
/* Plans: written and read back, and everything that is wrong with one said. */
#include "standin.h"

#include <zlib.h>

#include "plan.h"

static const struct kernel_id some_kernel = {
	.build_id = { 0x3b, 0xde, 0x3c, 0xe0 },
	.build_id_size = 4,
	.release = "6.12.117+deb13-cloud-amd64",
	.machine = "x86_64",
};

static void make_plan(struct plan *plan)
{
	struct fn_sites *sites = &plan->fn[FN_cmp_and_merge_page];

	memset(plan, 0, sizeof(*plan));
	plan->kernel = some_kernel;
	sites->source = SITE_PLAN;
	sites->entries = 1;
	strcpy(sites->entry[0].symbol, "ksm_scan_thread");
	sites->entry[0].offset = 0x374;
	sites->exits = 2;
	strcpy(sites->exit[0].symbol, "ksm_scan_thread");
	sites->exit[0].offset = 0x3dd;
	strcpy(sites->exit[1].symbol, "ksm_scan_thread.cold");
	sites->exit[1].offset = 0;
}

static void a_plan_reads_back_as_it_was_written(void **state)
{
	char *root = standin_new(), path[PATH_MAX], why[256];
	struct plan plan, read;

	(void)state;
	make_plan(&plan);
	snprintf(path, sizeof(path), "%s/x.plan", root);
	assert_int_equal(plan_save(&plan, path), 0);
	assert_int_equal(plan_load(path, &read, why, sizeof(why)), 0);
	assert_memory_equal(&read, &plan, sizeof(plan));
	standin_free(root);
}

static void a_plan_is_found_for_its_kernel_only(void **state)
{
	char *root = standin_new(), path[PATH_MAX], why[256];
	struct kernel_id other = some_kernel, unknown = some_kernel;
	struct plan plan, read;

	(void)state;
	make_plan(&plan);
	snprintf(path, sizeof(path), "%s/x.plan", root);
	assert_int_equal(plan_save(&plan, path), 0);
	assert_int_equal(plan_find(&some_kernel, path, &read, why, sizeof(why)), 0);
	other.build_id[3]++;
	assert_int_equal(plan_find(&other, path, &read, why, sizeof(why)), -ESTALE);
	assert_non_null(strstr(why, "3bde3ce0"));
	assert_non_null(strstr(why, "3bde3ce1"));
	unknown.build_id_size = 0;
	assert_int_equal(plan_find(&unknown, path, &read, why, sizeof(why)), -ESTALE);
	assert_int_equal(plan_find(&other, NULL, &read, why, sizeof(why)), -ENOENT);
	snprintf(path, sizeof(path), "%s/none.plan", root);
	assert_int_equal(plan_find(&some_kernel, path, &read, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, path));
	standin_free(root);
}

/* Parses body with a proper first line and a proper end. */
static int parse_body(const char *body, char *why, size_t why_size)
{
	char text[8192];
	struct plan plan;
	int n = snprintf(text, sizeof(text), "ksmtrace-plan 1\n%s", body);

	n += sprintf(text + n, "end %08lx\n", crc32(0, (const Bytef *)text, (uInt)n));
	return plan_parse(text, (size_t)n, "name", &plan, why, why_size);
}

static void every_kind_of_damage_is_named_with_its_line(void **state)
{
	static const struct {
		const char *body, *says;
	} cases[] = {
		{ "", "no build-id" },
		{ "build-id abc\n", "line 2: not one build-id" },
		{ "build-id xy\n", "line 2: not one build-id" },
		{ "build-id ab\nbuild-id ab\n", "line 3: not one build-id" },
		{ "build-id ab\nrelease \n", "line 3: release is not one word" },
		{ "build-id ab\nrelease x\nrelease y\n", "line 4: release is not one word" },
		{ "build-id ab\nnonsense\n", "line 3: 'nonsense' has no value" },
		{ "build-id ab\nnonsense x y\n", "line 3: 'nonsense' is neither" },
		{ "build-id ab\nksm_do_scan entry\n", "line 3: 'entry SITE' or" },
		{ "build-id ab\nksm_do_scan middle f+0x1\n", "line 3: 'middle' is neither" },
		{ "build-id ab\nksm_do_scan entry f\n", "line 3: 'f' is not SYMBOL+0xOFFSET" },
		{ "build-id ab\nksm_do_scan entry f+1\n", "line 3: 'f+1' is not" },
		{ "build-id ab\nksm_do_scan entry f+0x\n", "line 3: 'f+0x' is not" },
		{ "build-id ab\nksm_do_scan entry f+0x1234567\n", "is not SYMBOL+0xOFFSET" },
		{ "build-id ab\nksm_do_scan entry f+0x1 \n", "is not SYMBOL+0xOFFSET" },
		{ "build-id ab\nksm_do_scan entry +0x1\n", "is not SYMBOL+0xOFFSET" },
		{ "build-id ab\nksm_do_scan entry a/b+0x1\n", "is not SYMBOL+0xOFFSET" },
		{ "build-id ab\nksm_do_scan entry f+0x1\n", "ksm_do_scan has entries or exits" },
		{ "build-id ab\nksm_do_scan exit f+0x1\n", "ksm_do_scan has entries or exits" },
		{ "build-id ab\n\tx y\n", "line 3: not plain text" },
		{ "build-id ab\nend 0\n", "line 3: text follows the end" },
	};
	char why[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse_body(cases[i].body, why, sizeof(why)), -EINVAL);
		if (strncmp(why, "name, line ", 11) || !strstr(why, cases[i].says))
			fail_msg("'%s' says '%s'", cases[i].body, why);
	}
	assert_int_equal(parse_body("# comment\n\nbuild-id ab\n", why, sizeof(why)), 0);
}

static void too_many_sites_are_refused(void **state)
{
	char body[8192] = "build-id ab\n", why[256];
	int i;

	(void)state;
	for (i = 0; i <= SITES_MAX; i++)
		sprintf(body + strlen(body), "calc_checksum exit f+0x%x\n", i);
	assert_int_equal(parse_body(body, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "more than"));
}

static void no_prefix_of_a_plan_and_no_changed_byte_passes(void **state)
{
	char *root = standin_new(), path[PATH_MAX], why[256], text[4096];
	struct plan plan, read;
	size_t size, i;
	FILE *f;

	(void)state;
	make_plan(&plan);
	snprintf(path, sizeof(path), "%s/x.plan", root);
	assert_int_equal(plan_save(&plan, path), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	size = fread(text, 1, sizeof(text), f);
	fclose(f);
	assert_int_equal(plan_parse(text, size, "x", &read, why, sizeof(why)), 0);
	for (i = 0; i < size; i++) {
		assert_int_not_equal(plan_parse(text, i, "x", &read, why, sizeof(why)), 0);
		text[i] ^= 1;
		assert_int_not_equal(plan_parse(text, size, "x", &read, why, sizeof(why)), 0);
		text[i] ^= 1;
	}
	standin_free(root);
}

static void another_format_is_told_apart_from_damage(void **state)
{
	static const char newer[] = "ksmtrace-plan 2\nanything\n", other[] = "elephants\n";
	struct plan plan;
	char why[256];

	(void)state;
	assert_int_equal(plan_parse(newer, strlen(newer), "x", &plan, why, sizeof(why)), -ENOTSUP);
	assert_int_equal(plan_parse(other, strlen(other), "x", &plan, why, sizeof(why)), -EINVAL);
	assert_int_equal(plan_parse("", 0, "x", &plan, why, sizeof(why)), -EINVAL);
	assert_int_equal(plan_parse("ksmtrace-plan 1\0\n", 17, "x", &plan, why, sizeof(why)),
			 -EINVAL);
}

static void a_file_that_is_too_large_is_not_read(void **state)
{
	struct plan plan;
	char why[256];

	(void)state;
	assert_int_equal(plan_load("/dev/zero", &plan, why, sizeof(why)), -EFBIG);
	assert_int_equal(plan_load("/", &plan, why, sizeof(why)), -EIO);
}

static void kernels_are_the_same_by_build_id_alone(void **state)
{
	struct kernel_id other = some_kernel, none = { 0 };
	char hex[2 * BUILD_ID_MAX + 1];

	(void)state;
	strcpy(other.release, "another");
	assert_true(kernel_id_same(&some_kernel, &other));
	other.build_id_size = 3;
	assert_false(kernel_id_same(&some_kernel, &other));
	assert_false(kernel_id_same(&none, &none));
	kernel_id_hex(&some_kernel, hex);
	assert_string_equal(hex, "3bde3ce0");
	kernel_id_hex(&none, hex);
	assert_string_equal(hex, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plan_reads_back_as_it_was_written),
		cmocka_unit_test(a_plan_is_found_for_its_kernel_only),
		cmocka_unit_test(every_kind_of_damage_is_named_with_its_line),
		cmocka_unit_test(too_many_sites_are_refused),
		cmocka_unit_test(no_prefix_of_a_plan_and_no_changed_byte_passes),
		cmocka_unit_test(another_format_is_told_apart_from_damage),
		cmocka_unit_test(a_file_that_is_too_large_is_not_read),
		cmocka_unit_test(kernels_are_the_same_by_build_id_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
