// SPDX-License-Identifier: GPL-2.0-only
/* Symbols of the kernel, from files in the form of /proc/kallsyms. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "ksyms.h"

static struct ksyms *load(const char *text, int expect)
{
	char path[] = "/tmp/ksymsXXXXXX";
	struct ksyms *ksyms = NULL;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	assert_int_equal(ksyms_load(path, &ksyms), expect);
	unlink(path);
	return ksyms;
}

static const char kernel[] = "ffffffff81000000 T _stext\n"
			     "ffffffff81000100 t helper.part.0\n"
			     "ffffffff81000200 t calc_checksum.isra.0\n"
			     "ffffffff81000300 t cmp_and_merge_page.cold\n"
			     "ffffffff81000400 t twice\n"
			     "ffffffff81000400 t alias\n"
			     "ffffffff81000480 d a_variable\n"
			     "ffffffff81000500 t twice\n"
			     "ffffffff81000600 t fancy.constprop.0.isra.12\n"
			     "ffffffffc0000000 t in_a_module\t[kvm]\n";

static void a_symbol_is_found_by_name(void **state)
{
	struct ksyms *k = load(kernel, 0);
	size_t count;

	(void)state;
	assert_int_equal(ksyms_find(k, "_stext", &count)->address, 0xffffffff81000000);
	assert_int_equal(count, 1);
	assert_null(ksyms_find(k, "absent", &count));
	assert_int_equal(count, 0);
	ksyms_free(k);
}

static void names_that_several_functions_share_are_counted(void **state)
{
	struct ksyms *k = load(kernel, 0);
	size_t count;

	(void)state;
	assert_non_null(ksyms_find(k, "twice", &count));
	assert_int_equal(count, 2);
	ksyms_free(k);
}

static void modules_are_left_out(void **state)
{
	struct ksyms *k = load(kernel, 0);

	(void)state;
	assert_null(ksyms_find(k, "in_a_module", NULL));
	ksyms_free(k);
}

static void suffixes_of_whole_functions_are_accepted(void **state)
{
	struct ksyms *k = load(kernel, 0);

	(void)state;
	assert_string_equal(ksym_name(k, ksyms_find_function(k, "calc_checksum")),
			    "calc_checksum.isra.0");
	assert_string_equal(ksym_name(k, ksyms_find_function(k, "fancy")),
			    "fancy.constprop.0.isra.12");
	ksyms_free(k);
}

static void pieces_of_functions_are_not_taken_for_them(void **state)
{
	struct ksyms *k = load(kernel, 0);

	(void)state;
	assert_null(ksyms_find_function(k, "helper"));
	assert_null(ksyms_find_function(k, "cmp_and_merge_page"));
	assert_null(ksyms_find_function(k, "calc_check"));
	assert_null(ksyms_find_function(k, "a_variable"));
	ksyms_free(k);
}

static void an_address_leads_to_its_function(void **state)
{
	struct ksyms *k = load(kernel, 0);
	const struct ksym *sym;
	uint64_t offset;

	(void)state;
	sym = ksyms_at(k, 0xffffffff81000210, &offset);
	assert_string_equal(ksym_name(k, sym), "calc_checksum.isra.0");
	assert_int_equal(offset, 0x10);
	assert_int_equal(ksym_size(k, sym), 0x100);
	/* past data, to the function before it; the first of two names */
	sym = ksyms_at(k, 0xffffffff81000490, &offset);
	assert_string_equal(ksym_name(k, sym), "twice");
	assert_null(ksyms_at(k, 0x1000, NULL));
	ksyms_free(k);
}

static void hidden_addresses_are_told_from_an_empty_file(void **state)
{
	(void)state;
	load("0000000000000000 T _stext\n0000000000000000 t main\n", -EPERM);
	load("", -ENOENT);
	load("no symbols here\n", -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_symbol_is_found_by_name),
		cmocka_unit_test(names_that_several_functions_share_are_counted),
		cmocka_unit_test(modules_are_left_out),
		cmocka_unit_test(suffixes_of_whole_functions_are_accepted),
		cmocka_unit_test(pieces_of_functions_are_not_taken_for_them),
		cmocka_unit_test(an_address_leads_to_its_function),
		cmocka_unit_test(hidden_addresses_are_told_from_an_empty_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
