// SPDX-License-Identifier: GPL-2.0-only
/* Decoding a function, in the file's state and in those that a running kernel brings about. */
#include "codeimage.h"

#define F     BASE /* the function under test */
#define OTHER (BASE + 0x1000) /* another one */

/* Loads the bytes as function "f", beside "other", "__x86_return_thunk" and more. */
static struct code *load(struct fake *fake, const void *bytes, size_t size)
{
	fake_add_memory(fake, F, bytes, size);
	fake_add_symbol(fake, "f", F, size);
	fake_add_symbol(fake, "other", OTHER, 0x100);
	fake_add_symbol(fake, "__x86_return_thunk", BASE + 0x2000, 0x10);
	fake_add_symbol(fake, "__x86_indirect_thunk_rax", BASE + 0x2100, 0x20);
	fake_add_symbol(fake, "__pfx_padded", BASE + 0x2200, 0x10);
	fake_add_symbol(fake, "padded", BASE + 0x2210, 0x10);
	fake_add_symbol(fake, "panic", BASE + 0x2300, 0x10);
	return fake_load(fake, "f");
}

#define CODE(...) ((const uint8_t[]){ __VA_ARGS__ })
#define LOAD(fake, ...) load(fake, CODE(__VA_ARGS__), sizeof(CODE(__VA_ARGS__)))
/* A distance of four bytes, from the end of an instruction at F + end. */
#define REL(to, end)                                                                               \
	(uint8_t)((to)-F - (end)), (uint8_t)(((to)-F - (end)) >> 8),                               \
		(uint8_t)(((to)-F - (end)) >> 16), (uint8_t)(((to)-F - (end)) >> 24)

#define NOP5 0x0f, 0x1f, 0x44, 0x00, 0x00
#define RET  0xc3

static void a_branch_ends_a_block_and_a_call_does_not(void **state)
{
	struct fake fake = { 0 };
	/* call other; test %al,%al; je +1; nop; ret */
	struct code *code = LOAD(&fake, 0xe8, REL(OTHER, 5), 0x84, 0xc0, 0x74, 0x01, 0x90, RET);

	(void)state;
	assert_int_equal(code->insns, 5);
	assert_int_equal(code->insn[0].kind, INSN_CALL);
	assert_string_equal(code->insn[0].callee, "other");
	assert_int_equal(code->blocks, 3);
	assert_int_equal(code->block[0].count, 3);
	assert_int_equal(code->block[0].next[0], 1);
	assert_int_equal(code->block[0].next[1], 2);
	assert_int_equal(code->block[2].from_count, 2);
	assert_true(code->block[2].live);
	code_free(code);
	fake_free(&fake);
}

static void a_jump_out_of_the_function_returns(void **state)
{
	struct fake fake = { 0 };
	struct code *code = LOAD(&fake, 0xe9, REL(BASE + 0x2000, 5));

	(void)state;
	assert_int_equal(code->insn[0].kind, INSN_RETURN);
	assert_true(code->block[0].live);
	code_free(code);
	fake_free(&fake);
}

static void a_return_thunk_may_have_become_a_return(void **state)
{
	struct fake fake = { 0 };
	struct code *code = LOAD(&fake, RET, 0xcc, 0xcc, 0xcc, 0xcc);

	(void)state;
	assert_int_equal(code->insn[0].kind, INSN_RETURN);
	assert_int_equal(code->insn[1].kind, INSN_PADDING);
	assert_false(code->block[code->block_of[1]].reached);
	code_free(code);
	fake_free(&fake);
}

static void a_retpoline_jump_is_indirect_and_a_retpoline_call_a_call(void **state)
{
	struct fake fake = { 0 };
	struct code *code = LOAD(&fake, 0xe8, REL(BASE + 0x2100, 5), 0xe9, REL(BASE + 0x2100, 10));

	(void)state;
	assert_int_equal(code->insn[0].kind, INSN_CALL);
	assert_int_equal(code->insn[1].kind, INSN_INDIRECT);
	code_free(code);
	fake_free(&fake);
}

static void an_indirect_jump_is_known_as_such(void **state)
{
	struct fake fake = { 0 };
	struct code *code = LOAD(&fake, 0xff, 0xd0, 0xff, 0xe0); /* call *%rax; jmp *%rax */

	(void)state;
	assert_int_equal(code->insn[0].kind, INSN_CALL);
	assert_null(code->insn[0].callee);
	assert_int_equal(code->insn[1].kind, INSN_INDIRECT);
	code_free(code);
	fake_free(&fake);
}

static void a_static_call_may_have_become_a_no_op(void **state)
{
	struct fake fake = { 0 };
	/* nopl; cs cs cs xor %eax,%eax; ret */
	struct code *code = LOAD(&fake, NOP5, 0x2e, 0x2e, 0x2e, 0x31, 0xc0, RET);

	(void)state;
	assert_int_equal(code->insns, 3);
	assert_int_equal(code->insn[0].size, 5);
	assert_int_equal(code->insn[1].size, 5);
	assert_int_equal(code->insn[1].writes, 1);
	code_free(code);
	fake_free(&fake);
}

static void a_call_into_the_padding_before_a_function_calls_it(void **state)
{
	struct fake fake = { 0 };
	struct code *code = LOAD(&fake, 0xe8, REL(BASE + 0x2206, 5), RET);

	(void)state;
	assert_string_equal(code->insn[0].callee, "padded");
	code_free(code);
	fake_free(&fake);
}

static void code_behind_a_call_that_never_returns_is_not_reached(void **state)
{
	struct fake fake = { 0 };
	/* je +6; call panic; nop; ret */
	struct code *code = LOAD(&fake, 0x74, 0x06, 0xe8, REL(BASE + 0x2300, 7), 0x90, RET);

	(void)state;
	assert_int_equal(code->insn[1].kind, INSN_CALL_NORETURN);
	assert_true(code->block[code->block_of[1]].reached);
	assert_false(code->block[code->block_of[1]].live);
	assert_false(code->block[code->block_of[2]].reached);
	assert_int_equal(code->block[code->block_of[3]].from_count, 1);
	code_free(code);
	fake_free(&fake);
}

static void a_warn_with_operands_has_its_whole_length(void **state)
{
	struct fake fake = { 0 };
	/* ud1 (%edx),%rdi; ud1 0x12345678(%rip),%eax; ret */
	struct code *code = LOAD(&fake, 0x67, 0x48, 0x0f, 0xb9, 0x3a, 0x0f, 0xb9, 0x05, 0x78, 0x56,
				 0x34, 0x12, RET);

	(void)state;
	assert_int_equal(code->insns, 3);
	assert_int_equal(code->insn[0].kind, INSN_TRAP);
	assert_int_equal(code->insn[1].kind, INSN_TRAP);
	assert_int_equal(code->insn[2].kind, INSN_RETURN);
	assert_true(code_has_traps(code));
	code_free(code);
	fake_free(&fake);
}

static void a_kprobe_on_a_call_is_seen_through_by_the_call_s_target(void **state)
{
	struct fake fake = { 0 };
	struct code *code = LOAD(&fake, 0x90, 0xcc, REL(OTHER, 6), RET);

	(void)state;
	assert_int_equal(code->insn[1].kind, INSN_CALL);
	assert_int_equal(code->insn[1].size, 5);
	assert_string_equal(code->insn[1].callee, "other");
	assert_int_equal(code->insn[2].kind, INSN_RETURN);
	code_free(code);
	fake_free(&fake);
}

static void a_kprobe_on_a_return_thunk_is_a_return(void **state)
{
	struct fake fake = { 0 };
	struct code *code = LOAD(&fake, 0x90, 0xcc, REL(BASE + 0x2000, 6));

	(void)state;
	assert_int_equal(code->insn[1].kind, INSN_RETURN);
	code_free(code);
	fake_free(&fake);
}

static void a_kprobe_on_anything_else_hides_it(void **state)
{
	struct fake fake = { 0 };
	/* nop; (mov $0x12345678,%eax); ret */
	struct code *code = LOAD(&fake, 0x90, 0xcc, 0x78, 0x56, 0x34, 0x12, RET);

	(void)state;
	assert_int_equal(code->insn[1].kind, INSN_HIDDEN);
	assert_true(code->block[code->block_of[1]].reached);
	code_free(code);
	fake_free(&fake);
}

static void a_kprobe_that_the_kernel_tells_about_hides_nothing(void **state)
{
	struct fake fake = { .hidden = F + 1, .original = 0xb8 };
	struct code *code = LOAD(&fake, 0x90, 0xcc, 0x78, 0x56, 0x34, 0x12, RET);

	(void)state;
	assert_int_equal(code->insns, 3);
	assert_int_equal(code->insn[1].kind, INSN_PLAIN);
	assert_int_equal(code->insn[1].size, 5);
	assert_int_equal(code_bytes(code, 1)[0], 0xb8);
	code_free(code);
	fake_free(&fake);
}

static void breakpoints_at_the_end_are_padding(void **state)
{
	struct fake fake = { 0 };
	struct code *code = LOAD(&fake, 0xe8, REL(OTHER, 5), 0xcc, 0xcc, 0xcc);

	(void)state;
	assert_int_equal(code->insn[1].kind, INSN_PADDING);
	code_free(code);
	fake_free(&fake);
}

/* The end of the detour: mov data(%rip),%eax; nop; jmp back. */
static void an_optimized_kprobe_is_undone(void **state)
{
	const uint64_t detour = 0xffffffffc0001000ULL;
	/* What is left of the instructions of 6 and 1 bytes at F + 1. */
	const uint8_t bytes[] = { 0x90, 0xe9, REL(detour, 6), 0xee, 0x90, 0xc3 };
	const uint8_t slot[] = { 0x54, 0x9c, 0x8b, 0x05, 0x10, 0x00, 0x00, 0x00, 0x90, 0xe9,
				 (uint8_t)(F + 8 - detour - 14), (uint8_t)((F + 8 - detour - 14) >> 8),
				 (uint8_t)((F + 8 - detour - 14) >> 16),
				 (uint8_t)((F + 8 - detour - 14) >> 24) };
	struct fake fake = { 0 };
	struct code *code;

	(void)state;
	fake_add_memory(&fake, detour, slot, sizeof(slot));
	code = load(&fake, bytes, sizeof(bytes));
	assert_int_equal(code->insns, 4);
	assert_int_equal(code->insn[1].address, F + 1);
	assert_int_equal(code->insn[1].kind, INSN_PLAIN);
	assert_int_equal(code->insn[1].size, 6);
	assert_true(code->insn[1].data == detour + 8 + 0x10);
	assert_int_equal(code->insn[2].address, F + 7);
	assert_int_equal(code->insn[3].kind, INSN_RETURN);
	code_free(code);
	fake_free(&fake);
}

static void a_jump_to_nowhere_that_is_no_detour_leaves_the_function(void **state)
{
	const uint64_t nowhere = 0xffffffffc0001000ULL;
	const uint8_t bytes[] = { 0x90, 0xe9, REL(nowhere, 6), 0x90, 0xc3 };
	struct fake fake = { 0 };
	struct code *code = load(&fake, bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(code->insn[1].kind, INSN_RETURN);
	code_free(code);
	fake_free(&fake);
}

/* A table with one label, at F + 1, that leads to F + 8 when it is on. */
static void add_label(struct fake *fake)
{
	const uint64_t table = BASE + 0x100000;
	int32_t entry[4] = { (int32_t)(F + 1 - table), (int32_t)(F + 8 - table - 4) };

	fake_add_memory(fake, table, entry, sizeof(entry));
	fake_add_symbol(fake, "__start___jump_table", table, 0);
	fake_add_symbol(fake, "__stop___jump_table", table + sizeof(entry), 0);
}

static void a_jump_label_is_a_branch_in_both_states(void **state)
{
	/* nop; label; nop; ret; nop; ret */
	const uint8_t off[] = { 0x90, NOP5, 0x90, RET, 0x90, RET };
	const uint8_t on[] = { 0x90, 0xe9, REL(F + 8, 6), 0x90, RET, 0x90, RET };
	const uint8_t *states[] = { off, on };
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct fake fake = { 0 };
		struct code *code;

		add_label(&fake);
		code = load(&fake, states[i], sizeof(off));
		assert_int_equal(code->insn[1].kind, INSN_BRANCH);
		assert_true(code->insn[1].patched);
		assert_int_equal(code->blocks, 3);
		assert_true(code->block[1].live && code->block[2].live);
		code_free(code);
		fake_free(&fake);
	}
}

static void without_the_table_a_jump_label_is_what_it_is_now(void **state)
{
	struct fake fake = { 0 };
	struct code *code = LOAD(&fake, 0x90, 0xe9, REL(F + 8, 6), 0x90, RET, 0x90, RET);

	(void)state;
	assert_int_equal(code->insn[1].kind, INSN_JUMP);
	assert_false(code->block[code->block_of[2]].reached);
	code_free(code);
	fake_free(&fake);
}

static void the_cold_part_belongs_to_the_function(void **state)
{
	const uint64_t cold = BASE + 0x8000;
	/* je f.cold; ret */
	const uint8_t bytes[] = { 0x0f, 0x84, REL(cold, 6), RET };
	/* nop; jmp f + 6 */
	const uint8_t cold_bytes[] = { 0x90, 0xe9, REL(F + 6, cold - F + 6) };
	struct fake fake = { 0 };
	struct code *code;
	struct site site;

	(void)state;
	fake_add_memory(&fake, cold, cold_bytes, sizeof(cold_bytes));
	fake_add_symbol(&fake, "f.cold", cold, sizeof(cold_bytes));
	code = load(&fake, bytes, sizeof(bytes));
	assert_int_equal(code->chunks, 2);
	assert_int_equal(code->block[code->block_of[1]].from_count, 2);
	assert_int_equal(code_site(code, cold + 1, &site), 0);
	assert_string_equal(site.symbol, "f.cold");
	assert_int_equal(site.offset, 1);
	assert_true(code_address(code, &site) == cold + 1);
	code_free(code);
	fake_free(&fake);
}

static void a_branch_into_an_instruction_is_not_understood(void **state)
{
	struct fake fake = { 0 };
	/* je +1 (into the mov); mov $1,%eax; ret */
	struct code *code = LOAD(&fake, 0x74, 0x01, 0xb8, 0x01, 0x00, 0x00, 0x00, RET);

	(void)state;
	assert_int_equal(code->insn[0].kind, INSN_UNKNOWN);
	code_free(code);
	fake_free(&fake);
}

static void bytes_that_do_not_decode_are_not_understood(void **state)
{
	struct fake fake = { 0 };
	struct code *code = LOAD(&fake, 0x06, RET);

	(void)state;
	assert_int_equal(code->insn[0].kind, INSN_UNKNOWN);
	code_free(code);
	fake_free(&fake);
}

static void a_function_that_is_missing_or_ambiguous_is_refused(void **state)
{
	struct fake fake = { 0 };
	struct code_image image = fake_image(&fake);
	struct code *code;
	char why[128];

	(void)state;
	assert_int_equal(code_load(&image, "f", &code, why, sizeof(why)), -ENOENT);
	fake_add_symbol(&fake, "f", F, 16);
	assert_int_equal(code_load(&image, "f", &code, why, sizeof(why)), -EFAULT);
	fake_add_symbol(&fake, "f", F + 16, 16);
	assert_int_equal(code_load(&image, "f", &code, why, sizeof(why)), -ENOTUNIQ);
	fake.symbols = 0;
	fake_add_symbol(&fake, "f", F, 1 << 30);
	assert_int_equal(code_load(&image, "f", &code, why, sizeof(why)), -E2BIG);
}

static void locks_and_fences_are_barriers(void **state)
{
	struct fake fake = { 0 };
	/* lock decl (%rax); mfence; xchg %eax,(%rcx); mov (%rax),%ecx; ret */
	struct code *code = LOAD(&fake, 0xf0, 0xff, 0x08, 0x0f, 0xae, 0xf0, 0x87, 0x01, 0x8b, 0x08,
				 RET);

	(void)state;
	assert_true(code->insn[0].barrier && code->insn[0].stores);
	assert_true(code->insn[1].barrier);
	assert_true(code->insn[2].barrier);
	assert_false(code->insn[3].barrier || code->insn[3].stores);
	assert_int_equal(code->insn[3].writes, 1 << 1);
	code_free(code);
	fake_free(&fake);
}

static void arm64_is_decoded_too(void **state)
{
	static const uint32_t words[] = {
		0xd503233f, /* paciasp */
		0x94000400, /* bl F + 0x1004 */
		0x34000040, /* cbz w0, +8 */
		0xd4210000, /* brk #0x800 */
		0x36000041, /* tbz w1, #0, +8 */
		0x14000002, /* b +8 */
		0x54000020, /* b.eq +4 */
		0xf9400422, /* ldr x2, [x1, #8] */
		0xb8210002, /* ldadd w1, w2, [x0] */
		0xd61f0020, /* br x1 */
		0xd65f03c0, /* ret */
		0xd65f0bff, /* retaa */
	};
	static const uint8_t kinds[] = { INSN_PLAIN,  INSN_CALL,  INSN_BRANCH,	 INSN_TRAP,
					 INSN_BRANCH, INSN_JUMP,  INSN_BRANCH,	 INSN_PLAIN,
					 INSN_PLAIN,  INSN_INDIRECT, INSN_RETURN, INSN_RETURN };
	struct fake fake = { .arch = CODE_ARM64 };
	struct code *code;
	size_t i;

	(void)state;
	fake_add_symbol(&fake, "callee", F + 0x1004, 16);
	code = load(&fake, words, sizeof(words));
	assert_int_equal(code->insns, sizeof(words) / sizeof(words[0]));
	for (i = 0; i < code->insns; i++)
		assert_int_equal(code->insn[i].kind, kinds[i]);
	assert_true(code->insn[2].target == F + 16);
	assert_int_equal(code->insn[7].writes, 1 << 2);
	assert_true(code->insn[8].barrier);
	assert_false(code->insn[7].barrier);
	code_free(code);
	fake_free(&fake);
}

static void an_arm64_kprobe_hides_its_instruction(void **state)
{
	static const uint32_t words[] = { 0xd503201f, 0xd4200080, 0xd65f03c0 };
	struct fake fake = { .arch = CODE_ARM64 };
	struct code *code = load(&fake, words, sizeof(words));

	(void)state;
	assert_int_equal(code->insn[1].kind, INSN_HIDDEN);
	code_free(code);
	fake_free(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_branch_ends_a_block_and_a_call_does_not),
		cmocka_unit_test(a_jump_out_of_the_function_returns),
		cmocka_unit_test(a_return_thunk_may_have_become_a_return),
		cmocka_unit_test(a_retpoline_jump_is_indirect_and_a_retpoline_call_a_call),
		cmocka_unit_test(an_indirect_jump_is_known_as_such),
		cmocka_unit_test(a_static_call_may_have_become_a_no_op),
		cmocka_unit_test(a_call_into_the_padding_before_a_function_calls_it),
		cmocka_unit_test(code_behind_a_call_that_never_returns_is_not_reached),
		cmocka_unit_test(a_warn_with_operands_has_its_whole_length),
		cmocka_unit_test(a_kprobe_on_a_call_is_seen_through_by_the_call_s_target),
		cmocka_unit_test(a_kprobe_on_a_return_thunk_is_a_return),
		cmocka_unit_test(a_kprobe_on_anything_else_hides_it),
		cmocka_unit_test(a_kprobe_that_the_kernel_tells_about_hides_nothing),
		cmocka_unit_test(breakpoints_at_the_end_are_padding),
		cmocka_unit_test(an_optimized_kprobe_is_undone),
		cmocka_unit_test(a_jump_to_nowhere_that_is_no_detour_leaves_the_function),
		cmocka_unit_test(a_jump_label_is_a_branch_in_both_states),
		cmocka_unit_test(without_the_table_a_jump_label_is_what_it_is_now),
		cmocka_unit_test(the_cold_part_belongs_to_the_function),
		cmocka_unit_test(a_branch_into_an_instruction_is_not_understood),
		cmocka_unit_test(bytes_that_do_not_decode_are_not_understood),
		cmocka_unit_test(a_function_that_is_missing_or_ambiguous_is_refused),
		cmocka_unit_test(locks_and_fences_are_barriers),
		cmocka_unit_test(arm64_is_decoded_too),
		cmocka_unit_test(an_arm64_kprobe_hides_its_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
