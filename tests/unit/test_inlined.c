// SPDX-License-Identifier: GPL-2.0-only
/* From the address ranges of an inlined copy to where control enters and leaves it. */
#include "codeimage.h"

#include "inlined.h"

#ifdef __x86_64__

/*
 * Every case is a function with ranges: r_N_M to e_N_M, the entry in_N and the exits out_N_M.
 * The labels are local; what C sees of them is this table.
 */
asm(".pushsection .kcopies, \"a\"\n"
    "other: ret\n"
    ".balign 16\n"

    /* One range with one way in and one way out. */
    "f_simple:\n"
    "	push %rbx\n"
    "r_simple_1:\n"
    "	mov %rdi, %rbx\n"
    "	call other\n"
    "	test %eax, %eax\n"
    "	je 1f\n"
    "	inc %ebx\n"
    "1:	dec %ebx\n"
    "e_simple_1:\n"
    "	pop %rbx\n"
    "	ret\n"

    /* Two ranges and two ways out, one of them by a jump. */
    "f_two:\n"
    "	push %rbx\n"
    "r_two_1:\n"
    "	test %edi, %edi\n"
    "	je out_two_2\n"
    "	call other\n"
    "	jmp r_two_2\n"
    "e_two_1:\n"
    "out_two_2:\n"
    "	call other\n"
    "	pop %rbx\n"
    "	ret\n"
    "r_two_2:\n"
    "	call other\n"
    "	test %eax, %eax\n"
    "	je r_two_1\n"
    "e_two_2:\n"
    "	pop %rbx\n"
    "	ret\n"

    /* A return inside the range. */
    "f_return:\n"
    "r_return_1:\n"
    "	test %edi, %edi\n"
    "	je 1f\n"
    "out_return_1:\n"
    "	ret\n"
    "1:	call other\n"
    "out_return_2:\n"
    "	jmp other\n"
    "e_return_1:\n"
    "	nop\n"

    /* A hole that runs back inside is no exit. */
    "f_hole:\n"
    "r_hole_1:\n"
    "	call other\n"
    "	test %eax, %eax\n"
    "	je 1f\n"
    "	dec %eax\n"
    "e_hole_1:\n"
    "	mov %eax, %ecx\n" /* the hole */
    "	jmp r_hole_2\n"
    "1:	nop\n" /* another one, of the caller's code, that does not lead back */
    "	jmp out_hole_1\n"
    "r_hole_2:\n"
    "	call other\n"
    "e_hole_2:\n"
    "out_hole_1:\n"
    "	call other\n"
    "	ret\n"

    /* A way round to the entry is the next call's, not a hole. */
    "f_again:\n"
    "	push %rbx\n"
    "r_again_1:\n"
    "	call other\n"
    "	dec %ebx\n"
    "e_again_1:\n"
    "	nop\n"
    "	jmp r_again_1\n"

    /* An exit that runs straight into another one. */
    "f_chain:\n"
    "r_chain_1:\n"
    "	test %edi, %edi\n"
    "	je out_chain_2\n"
    "	call other\n"
    "	jmp 1f\n"
    "e_chain_1:\n"
    "1:	nop\n"
    "	jmp out_chain_2\n"
    "out_chain_2:\n"
    "	call other\n"
    "	ret\n"

    /* A part that the compiler moved before the entry is not entered, so it has no exit. */
    "f_moved:\n"
    "r_moved_1:\n"
    "	xor %ecx, %ecx\n"
    "e_moved_1:\n"
    "	call other\n"
    "r_moved_2:\n"
    "	call other\n"
    "e_moved_2:\n"
    "	ret\n"

    /* A jump that could go anywhere. */
    "f_indirect:\n"
    "r_indirect_1:\n"
    "	test %edi, %edi\n"
    "	je 1f\n"
    "	jmp *%rax\n"
    "e_indirect_1:\n"
    "1:	ret\n"

    /* It never ends. */
    "f_endless:\n"
    "r_endless_1:\n"
    "	call other\n"
    "	jmp r_endless_1\n"
    "e_endless_1:\n"
    "	ret\n"

    /* A part elsewhere. */
    "f_split:\n"
    "r_split_1:\n"
    "	test %edi, %edi\n"
    "	jne f_split.cold\n"
    "2:	dec %edi\n"
    "e_split_1:\n"
    "	ret\n"
    "f_split.cold:\n"
    "r_split_2:\n"
    "	call other\n"
    "	cmp $5, %eax\n"
    "	je 2b\n"
    "e_split_2:\n"
    "	inc %eax\n"
    "	jmp 2b + 2\n"
    "f_end:\n"
    "	ret\n"
    "	.popsection\n");

#define LABEL(name) extern const uint8_t c_##name[] asm(#name)
LABEL(other);
LABEL(f_simple);
LABEL(r_simple_1);
LABEL(e_simple_1);
LABEL(f_two);
LABEL(r_two_1);
LABEL(e_two_1);
LABEL(r_two_2);
LABEL(e_two_2);
LABEL(f_return);
LABEL(r_return_1);
LABEL(e_return_1);
LABEL(out_return_1);
LABEL(out_return_2);
LABEL(f_hole);
LABEL(r_hole_1);
LABEL(e_hole_1);
LABEL(r_hole_2);
LABEL(e_hole_2);
LABEL(f_again);
LABEL(r_again_1);
LABEL(e_again_1);
LABEL(f_chain);
LABEL(r_chain_1);
LABEL(e_chain_1);
LABEL(out_chain_2);
LABEL(f_moved);
LABEL(r_moved_1);
LABEL(e_moved_1);
LABEL(r_moved_2);
LABEL(e_moved_2);
LABEL(f_indirect);
LABEL(r_indirect_1);
LABEL(e_indirect_1);
LABEL(f_endless);
LABEL(r_endless_1);
LABEL(e_endless_1);
LABEL(f_split);
LABEL(r_split_1);
LABEL(e_split_1);
extern const uint8_t c_f_cold[] asm("f_split.cold");
LABEL(r_split_2);
LABEL(e_split_2);
LABEL(f_end);

#define AT(label) ((uint64_t)(uintptr_t)c_##label)

struct copy_case {
	uint64_t start, end; /* of the function */
	struct range ranges[2];
	size_t count;
	uint64_t entry;
};

static int sites_of(const struct copy_case *c, struct fn_sites *sites)
{
	struct fake fake = { 0 };
	char why[256] = "";
	struct code *code;
	int err;

	fake_add_symbol(&fake, "f", c->start, c->end - c->start);
	fake_add_symbol(&fake, "other", AT(other), 16);
	fake_add_memory(&fake, c->start, (const void *)(uintptr_t)c->start, c->end - c->start);
	if (c->end == (uint64_t)(uintptr_t)c_f_cold) {
		fake_add_symbol(&fake, "f.cold", c->end, AT(f_end) - c->end);
		fake_add_memory(&fake, c->end, c_f_cold, AT(f_end) - c->end);
	}
	code = fake_load(&fake, "f");
	memset(sites, 0, sizeof(*sites));
	err = inlined_sites(code, c->ranges, c->count, c->entry, sites, why, sizeof(why));
	assert_true(!err || strlen(why) > 10);
	code_free(code);
	fake_free(&fake);
	return err;
}

static bool has_exit(const struct fn_sites *sites, uint64_t start, uint64_t address)
{
	unsigned int i;

	for (i = 0; i < sites->exits; i++)
		if (sites->exit[i].offset == address - start)
			return true;
	return false;
}

static void one_range_has_one_exit_behind_it(void **state)
{
	const struct copy_case c = { AT(f_simple), AT(f_two), { { AT(r_simple_1), AT(e_simple_1) } },
				     1, AT(r_simple_1) };
	struct fn_sites sites;

	(void)state;
	assert_int_equal(sites_of(&c, &sites), 0);
	assert_int_equal(sites.entries, 1);
	assert_int_equal(sites.entry[0].offset, AT(r_simple_1) - AT(f_simple));
	assert_int_equal(sites.exits, 1);
	assert_true(has_exit(&sites, c.start, AT(e_simple_1)));
}

static void every_way_out_is_an_exit(void **state)
{
	const struct copy_case c = { AT(f_two),
				     AT(f_return),
				     { { AT(r_two_1), AT(e_two_1) }, { AT(r_two_2), AT(e_two_2) } },
				     2,
				     AT(r_two_1) };
	struct fn_sites sites;

	(void)state;
	assert_int_equal(sites_of(&c, &sites), 0);
	assert_int_equal(sites.exits, 2);
	assert_true(has_exit(&sites, c.start, AT(e_two_1)));
	assert_true(has_exit(&sites, c.start, AT(e_two_2)));
}

static void a_return_inside_is_an_exit_itself(void **state)
{
	const struct copy_case c = { AT(f_return), AT(f_hole), { { AT(r_return_1), AT(e_return_1) } },
				     1, AT(r_return_1) };
	struct fn_sites sites;

	(void)state;
	assert_int_equal(sites_of(&c, &sites), 0);
	assert_int_equal(sites.exits, 2);
	assert_true(has_exit(&sites, c.start, AT(out_return_1)));
	assert_true(has_exit(&sites, c.start, AT(out_return_2)));
}

static void a_hole_that_leads_back_is_no_exit(void **state)
{
	const struct copy_case c = {
		AT(f_hole),
		AT(f_again),
		{ { AT(r_hole_1), AT(e_hole_1) }, { AT(r_hole_2), AT(e_hole_2) } },
		2,
		AT(r_hole_1)
	};
	struct fn_sites sites;

	(void)state;
	assert_int_equal(sites_of(&c, &sites), 0);
	/* The hole in the caller's code runs straight into the exit behind the copy. */
	assert_int_equal(sites.exits, 1);
	assert_true(has_exit(&sites, c.start, AT(e_hole_2)));
}

static void a_way_round_to_the_entry_is_an_exit(void **state)
{
	const struct copy_case c = { AT(f_again), AT(f_chain), { { AT(r_again_1), AT(e_again_1) } },
				     1, AT(r_again_1) };
	struct fn_sites sites;

	(void)state;
	assert_int_equal(sites_of(&c, &sites), 0);
	assert_int_equal(sites.exits, 1);
	assert_true(has_exit(&sites, c.start, AT(e_again_1)));
}

static void an_exit_that_runs_into_another_counts_once(void **state)
{
	const struct copy_case c = { AT(f_chain), AT(f_moved), { { AT(r_chain_1), AT(e_chain_1) } },
				     1, AT(r_chain_1) };
	struct fn_sites sites;

	(void)state;
	assert_int_equal(sites_of(&c, &sites), 0);
	assert_int_equal(sites.exits, 1);
	assert_true(has_exit(&sites, c.start, AT(out_chain_2)));
}

static void a_part_before_the_entry_has_no_exit(void **state)
{
	const struct copy_case c = {
		AT(f_moved),
		AT(f_indirect),
		{ { AT(r_moved_1), AT(e_moved_1) }, { AT(r_moved_2), AT(e_moved_2) } },
		2,
		AT(r_moved_2)
	};
	struct fn_sites sites;

	(void)state;
	assert_int_equal(sites_of(&c, &sites), 0);
	assert_int_equal(sites.exits, 1);
	assert_true(has_exit(&sites, c.start, AT(e_moved_2)));
}

static void a_cold_part_belongs_to_the_copy(void **state)
{
	const struct copy_case c = {
		AT(f_split),
		(uint64_t)(uintptr_t)c_f_cold,
		{ { AT(r_split_1), AT(e_split_1) }, { AT(r_split_2), AT(e_split_2) } },
		2,
		AT(r_split_1)
	};
	struct fn_sites sites;
	unsigned int i;

	(void)state;
	assert_int_equal(sites_of(&c, &sites), 0);
	assert_int_equal(sites.exits, 1);
	for (i = 0; i < sites.exits; i++)
		assert_string_equal(sites.exit[i].symbol, "f");
	assert_true(has_exit(&sites, c.start, AT(e_split_1)));
}

static void what_cannot_be_delimited_is_refused(void **state)
{
	const struct copy_case indirect = { AT(f_indirect),
					    AT(f_endless),
					    { { AT(r_indirect_1), AT(e_indirect_1) } },
					    1,
					    AT(r_indirect_1) };
	const struct copy_case endless = { AT(f_endless),
					   AT(f_split),
					   { { AT(r_endless_1), AT(e_endless_1) } },
					   1,
					   AT(r_endless_1) };
	struct copy_case outside = endless, between = endless;
	struct fn_sites sites;

	(void)state;
	outside.entry = AT(f_simple);
	between.entry = AT(r_endless_1) + 1;
	assert_int_equal(sites_of(&indirect, &sites), -ENOTSUP);
	assert_int_equal(sites_of(&endless, &sites), -ENOTSUP);
	assert_int_equal(sites_of(&outside, &sites), -ENOTSUP);
	assert_int_equal(sites_of(&between, &sites), -ENOTSUP);
}

#else

static void only_x86_code_is_at_hand(void **state)
{
	(void)state;
	skip();
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
		cmocka_unit_test(one_range_has_one_exit_behind_it),
		cmocka_unit_test(every_way_out_is_an_exit),
		cmocka_unit_test(a_return_inside_is_an_exit_itself),
		cmocka_unit_test(a_hole_that_leads_back_is_no_exit),
		cmocka_unit_test(a_way_round_to_the_entry_is_an_exit),
		cmocka_unit_test(an_exit_that_runs_into_another_counts_once),
		cmocka_unit_test(a_part_before_the_entry_has_no_exit),
		cmocka_unit_test(a_cold_part_belongs_to_the_copy),
		cmocka_unit_test(what_cannot_be_delimited_is_refused),
#else
		cmocka_unit_test(only_x86_code_is_at_hand),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
