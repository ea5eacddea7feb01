// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sites from machine code: a ksm_scan_thread of the same shape as the kernel's, small enough to
 * read, with one condition broken at a time; and the stock kernels that are in the cache.
 */
#include "codeimage.h"

#include <glob.h>
#include <time.h>

#include "debuginfo.h"
#include "machine_code.h"
#include "kernel_file.h"

#ifdef __x86_64__

/* What the shape calls and reads, each 32 bytes apart; and a table of their names. */
asm(".macro external name\n"
    "	.pushsection .kshape, \"a\"\n"
    "	.balign 32\n"
    "k_\\name: .fill 32, 1, 0xc3\n"
    "	.popsection\n"
    "	.pushsection .rodata.kname, \"a\"\n"
    "7:	.asciz \"\\name\"\n"
    "	.popsection\n"
    "	.pushsection .data.kexternals, \"aw\"\n"
    "	.quad 7b, k_\\name\n"
    "	.popsection\n"
    ".endm\n"
    "	.pushsection .data.kexternals, \"aw\"\n"
    "	.globl kexternals\n"
    "kexternals:\n"
    "	.popsection\n"
    "	external kthread_should_stop\n"
    "	external mutex_lock\n"
    "	external mutex_unlock\n"
    "	external wait_while_offlining\n"
    "	external down_read\n"
    "	external up_read\n"
    "	external mas_find\n"
    "	external lru_add_drain_all\n"
    "	external memcmp_pages\n"
    "	external stable_tree_append\n"
    "	external remove_rmap_item_from_tree\n"
    "	external calc_checksum\n"
    "	external xxh64\n"
    "	external cmp_and_merge_page\n"
    "	external __folio_put\n"
    "	external msleep\n"
    "	external __stack_chk_fail\n"
    "	external __x86_return_thunk\n"
    "	external ksm_run\n"
    "	external ksm_mm_head\n"
    "	external ksm_thread_pages_to_scan\n"
    "	.pushsection .data.kexternals, \"aw\"\n"
    "	.quad 0, 0\n"
    "	.popsection\n");

/* One ksm_scan_thread. what names the condition that is broken. */
asm(".macro shape name what\n"
    "	.pushsection .kshape, \"a\"\n"
    "	.balign 32\n"
    "s_\\name:\n"
    "	push %rbx\n"
    "0:	call k_kthread_should_stop\n"
    "	test %al, %al\n"
    "	jne 9f\n"
    "	mov $1, %edi\n"
    "	call k_mutex_lock\n"
    "	call k_wait_while_offlining\n"
    ".ifc \\what,hoisted\n"
    "	mov k_ksm_thread_pages_to_scan(%rip), %eax\n"
    ".endif\n"
    "	testb $1, k_ksm_run(%rip)\n"
    "	je 6f\n"
    ".ifc \\what,call_before\n"
    "	call k_msleep\n"
    ".endif\n"
    "	mov k_ksm_mm_head(%rip), %rcx\n"
    "	test %rcx, %rcx\n"
    "	je 6f\n"
    ".ifnc \\what,hoisted\n"
    "	mov k_ksm_thread_pages_to_scan(%rip), %eax\n"
    ".endif\n"
    "scan_entry_\\name:\n"
    "	lea -1(%rax), %r12d\n"
    "	test %eax, %eax\n"
    "	je 6f\n"
    "	mov %rcx, 8(%rsp)\n"
    "loop_entry_\\name:\n"
    /* The loop over pages. */
    "1:	nopl 0(%rax,%rax,1)\n"
    "	call k_lru_add_drain_all\n"
    "2:	call k_down_read\n"
    "	call k_mas_find\n"
    "	test %rax, %rax\n"
    "	je 6f\n"
    "	testb $1, (%rax)\n"
    "	je 2b\n"
    "	mov %r9, (%rsp)\n"
    "	call k_up_read\n"
    ".ifc \\what,walks_again\n"
    "	call k_lru_add_drain_all\n"
    ".endif\n"
    "	mov (%rsp), %r9\n"
    "	test %r9, %r9\n"
    "	je 6f\n"
    "cmp_entry_\\name:\n"
    ".ifc \\what,second_way\n"
    "20:\n"
    ".endif\n"
    "	mov 8(%r9), %rax\n"
    ".ifc \\what,out_of_line\n"
    "	call k_cmp_and_merge_page\n"
    "after_cmp_\\name:\n"
    ".else\n"
    "	test $1, %al\n"
    "	jne 4f\n"
    "	mov (%r9), %rdi\n"
    ".ifc \\what,warn\n"
    "	test %rdi, %rdi\n"
    "	je 21f\n"
    "22:\n"
    ".endif\n"
    "	call k_memcmp_pages\n"
    "	test %eax, %eax\n"
    ".ifc \\what,duplicated\n"
    "	jne 4f\n"
    ".else\n"
    "	jne 3f\n"
    ".endif\n"
    "	call k_remove_rmap_item_from_tree\n"
    "sum_entry_\\name:\n"
    "	mov %rbx, %rdi\n"
    "	xor %edx, %edx\n"
    "	mov $0x1000, %esi\n"
    "	sub k_ksm_run(%rip), %rdi\n"
    ".ifc \\what,jhash\n"
    "	mov $0xdeadcf00, %eax\n"
    ".else\n"
    ".ifc \\what,checksum_call\n"
    "sum_call_\\name:\n"
    "	call k_calc_checksum\n"
    ".else\n"
    "	call k_xxh64\n"
    ".endif\n"
    ".endif\n"
    "sum_exit_\\name:\n"
    ".ifc \\what,two_hashes\n"
    "	call k_xxh64\n"
    ".endif\n"
    "	cmp %eax, 0x20(%r9)\n"
    "	jne 3f\n"
    "	call k_memcmp_pages\n"
    "	test %eax, %eax\n"
    "	je 3f\n"
    ".ifc \\what,early_put\n"
    /* The page is released on one way, and the function seems to end behind that. */
    "	lock decl 0x34(%rbx)\n"
    "	jmp 5f\n"
    ".else\n"
    "	call k_stable_tree_append\n"
    ".endif\n"
    "3:	mov %eax, 0x20(%r9)\n"
    ".ifc \\what,duplicated\n"
    /* What follows the function begins with a test, and this way has its own copy of it. */
    "dup_exit:\n"
    "	mov 8(%r13), %rbx\n"
    "	test $1, %bl\n"
    "	je 31f\n"
    "	jmp 32f\n"
    ".endif\n"
    "4:\n"
    ".endif\n"
    "cmp_exit_\\name:\n"
    ".ifc \\what,duplicated\n"
    "	mov 8(%r13), %rbx\n"
    "	test $1, %bl\n"
    "	jne 32f\n"
    "31:	mov %r13, %rbx\n"
    "	jmp 33f\n"
    "32:	sub $1, %rbx\n"
    "33:\n"
    ".endif\n"
    ".ifc \\what,call_behind\n"
    "	call k_stable_tree_append\n"
    ".endif\n"
    "	lock decl 0x34(%rbx)\n"
    ".ifnc \\what,no_put\n"
    "	je 8f\n"
    ".endif\n"
    "5:	sub $1, %r12d\n"
    ".ifc \\what,second_way\n"
    "	js 20b\n"
    ".endif\n"
    "	cmp $-1, %r12d\n"
    "	jne 1b\n"
    ".ifc \\what,indirect\n"
    "	jmp *%rax\n"
    ".endif\n"
    "6:\n"
    "scan_exit_\\name:\n"
    "	mov $1, %edi\n"
    ".ifc \\what,call_at_end\n"
    "	call k_msleep\n"
    ".endif\n"
    "	call k_mutex_unlock\n"
    ".ifc \\what,two_unlocks\n"
    "	call k_mutex_unlock\n"
    ".endif\n"
    "	call k_msleep\n"
    "	jmp 0b\n"
    ".ifc \\what,warn\n"
    "21:	ud2\n"
    "	jmp 22b\n"
    ".endif\n"
    ".ifnc \\what,no_put\n"
    "8:	call k___folio_put\n"
    "	jmp 5b\n"
    ".endif\n"
    "9:	pop %rbx\n"
    "	jmp k___x86_return_thunk\n"
    ".balign 16, 0xcc\n"
    "s_end_\\name:\n"
    "	.popsection\n"
    "	.pushsection .rodata.kname, \"a\"\n"
    "7:	.asciz \"\\what\"\n"
    "	.popsection\n"
    "	.pushsection .data.kshapes, \"aw\"\n"
    "	.quad 7b, s_\\name, s_end_\\name, scan_entry_\\name, scan_exit_\\name\n"
    ".ifc \\what,out_of_line\n"
    "	.quad cmp_entry_\\name + 4, after_cmp_\\name, 0, 0\n"
    ".else\n"
    ".ifc \\what,checksum_call\n"
    "	.quad cmp_entry_\\name, cmp_exit_\\name, sum_call_\\name, sum_exit_\\name\n"
    ".else\n"
    "	.quad cmp_entry_\\name, cmp_exit_\\name, sum_entry_\\name, sum_exit_\\name\n"
    ".endif\n"
    ".endif\n"
    "	.quad loop_entry_\\name\n"
    "	.popsection\n"
    ".endm\n"
    "	.pushsection .data.kshapes, \"aw\"\n"
    "	.globl kshapes\n"
    "kshapes:\n"
    "	.popsection\n"
    "	shape a good\n"
    "	shape b out_of_line\n"
    "	shape c checksum_call\n"
    "	shape d hoisted\n"
    "	shape e call_before\n"
    "	shape f walks_again\n"
    "	shape g second_way\n"
    "	shape h warn\n"
    "	shape i jhash\n"
    "	shape j two_hashes\n"
    "	shape k early_put\n"
    "	shape l call_behind\n"
    "	shape m no_put\n"
    "	shape n indirect\n"
    "	shape o call_at_end\n"
    "	shape p two_unlocks\n"
    "	shape q duplicated\n"
    "	.pushsection .data.kshapes, \"aw\"\n"
    "	.quad 0\n"
    "	.popsection\n");

struct external {
	const char *name;
	const uint8_t *start;
};

struct shape {
	const char *what;
	const uint8_t *start, *end, *scan_entry, *scan_exit, *cmp_entry, *cmp_exit, *sum_entry,
		*sum_exit, *loop_entry;
};

extern const struct external kexternals[];
extern const struct shape kshapes[];

static const struct shape *find_shape(const char *what)
{
	const struct shape *shape;

	for (shape = kshapes; shape->what; shape++)
		if (!strcmp(shape->what, what))
			return shape;
	fail_msg("no shape %s", what);
	return NULL;
}

static uint64_t at(const uint8_t *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* Sets up the shape as ksm_scan_thread. Returns its bytes, for changing. */
static uint8_t *set_up(struct fake *fake, const struct shape *shape)
{
	const struct external *external;

	memset(fake, 0, sizeof(*fake));
	for (external = kexternals; external->name; external++)
		fake_add_symbol(fake, external->name, at(external->start), 32);
	fake_add_symbol(fake, "ksm_scan_thread", at(shape->start),
			(uint64_t)(shape->end - shape->start));
	return fake_add_memory(fake, at(shape->start), shape->start,
			       (size_t)(shape->end - shape->start));
}

static void forget_symbol(struct fake *fake, const char *name)
{
	unsigned int i;

	for (i = 0; i < fake->symbols; i++)
		if (!strcmp(fake->symbol[i].name, name))
			fake->symbol[i].name = "forgotten";
}

static const char *reason; /* of the last refusal */

static int sites_of(struct fake *fake, enum ksmtrace_function fn, struct fn_sites *sites)
{
	struct code *code = fake_load(fake, "ksm_scan_thread");
	static char why[256];
	int err = machine_code_sites(code, fn, sites, why, sizeof(why));

	if (err)
		assert_true(strlen(why) > 20);
	reason = why;
	code_free(code);
	return err;
}

static void expect(struct fake *fake, const struct shape *shape, enum ksmtrace_function fn,
		   const uint8_t *entry, const uint8_t *exit)
{
	struct fn_sites sites;

	if (sites_of(fake, fn, &sites))
		fail_msg("%s: %s: %s", shape->what, function_name(fn), reason);
	assert_int_equal(sites.source, SITE_MACHINE_CODE);
	assert_int_equal(sites.entries, 1);
	assert_int_equal(sites.exits, 1);
	assert_string_equal(sites.entry[0].symbol, "ksm_scan_thread");
	assert_int_equal(sites.entry[0].offset, entry - shape->start);
	assert_int_equal(sites.exit[0].offset, exit - shape->start);
}

static void expect_all(struct fake *fake, const struct shape *shape)
{
	expect(fake, shape, FN_ksm_do_scan, shape->scan_entry, shape->scan_exit);
	expect(fake, shape, FN_cmp_and_merge_page, shape->cmp_entry, shape->cmp_exit);
	expect(fake, shape, FN_calc_checksum, shape->sum_entry, shape->sum_exit);
}

static void refused(const char *what, enum ksmtrace_function fn)
{
	struct fn_sites sites;
	struct fake fake;
	int err;

	set_up(&fake, find_shape(what));
	err = sites_of(&fake, fn, &sites);
	if (err != -ENOTSUP)
		fail_msg("%s: %s gives %d", what, function_name(fn), err);
	assert_int_equal(sites.entries + sites.exits, 0);
	fake_free(&fake);
}

static void all_three_functions_are_found(void **state)
{
	const struct shape *shape = find_shape("good");
	struct fake fake;

	(void)state;
	set_up(&fake, shape);
	expect_all(&fake, shape);
	fake_free(&fake);
}

static void without_data_symbols_a_scan_starts_where_its_loop_is_entered(void **state)
{
	const struct shape *shape = find_shape("good");
	struct fake fake;

	(void)state;
	set_up(&fake, shape);
	forget_symbol(&fake, "ksm_thread_pages_to_scan");
	/* mov %rcx,8(%rsp), the last thing before the loop. */
	expect(&fake, shape, FN_ksm_do_scan, shape->loop_entry - 5, shape->scan_exit);
	fake_free(&fake);
}

static void an_argument_read_before_the_tests_is_not_taken_for_the_start(void **state)
{
	const struct shape *shape = find_shape("hoisted");
	struct fake fake;

	(void)state;
	set_up(&fake, shape);
	expect(&fake, shape, FN_ksm_do_scan, shape->loop_entry - 5, shape->scan_exit);
	fake_free(&fake);
}

static void without_memory_hotplug_the_lock_comes_right_before(void **state)
{
	const struct shape *shape = find_shape("good");
	struct fake fake;

	(void)state;
	set_up(&fake, shape);
	/* A call to something else is a call between the lock and the scan. */
	forget_symbol(&fake, "wait_while_offlining");
	assert_int_equal(sites_of(&fake, FN_ksm_do_scan, &(struct fn_sites){ 0 }), -ENOTSUP);
	fake_free(&fake);
	memset(set_up(&fake, shape) + (shape->scan_entry - shape->start) - 34, 0x90, 5);
	expect(&fake, shape, FN_ksm_do_scan, shape->scan_entry, shape->scan_exit);
	fake_free(&fake);
}

static void functions_out_of_line_are_timed_around_their_call(void **state)
{
	const struct shape *shape = find_shape("out_of_line");
	struct fake fake;

	(void)state;
	set_up(&fake, shape);
	expect(&fake, shape, FN_ksm_do_scan, shape->scan_entry, shape->scan_exit);
	expect(&fake, shape, FN_cmp_and_merge_page, shape->cmp_entry, shape->cmp_exit);
	assert_int_equal(sites_of(&fake, FN_calc_checksum, &(struct fn_sites){ 0 }), -ENOENT);
	fake_free(&fake);
	shape = find_shape("checksum_call");
	set_up(&fake, shape);
	expect_all(&fake, shape);
	fake_free(&fake);
}

static void every_call_of_a_function_out_of_line_is_a_pair(void **state)
{
	struct fn_sites sites;
	struct fake fake;

	(void)state;
	set_up(&fake, find_shape("good"));
	assert_int_equal(sites_of(&fake, FN_memcmp_pages, &sites), 0);
	assert_int_equal(sites.entries, 2);
	assert_int_equal(sites.exits, 2);
	assert_int_equal(sites.exit[0].offset - sites.entry[0].offset, 5);
	fake_free(&fake);
}

static void a_hash_in_line_leaves_the_other_functions(void **state)
{
	const struct shape *shape = find_shape("jhash");
	struct fake fake;

	(void)state;
	set_up(&fake, shape);
	expect(&fake, shape, FN_ksm_do_scan, shape->scan_entry, shape->scan_exit);
	expect(&fake, shape, FN_cmp_and_merge_page, shape->cmp_entry, shape->cmp_exit);
	fake_free(&fake);
	refused("jhash", FN_calc_checksum);
}

extern const uint8_t dup_exit[];

static void a_duplicated_end_is_found_in_every_copy(void **state)
{
	const struct shape *shape = find_shape("duplicated");
	struct fn_sites sites;
	struct fake fake;

	(void)state;
	set_up(&fake, shape);
	assert_int_equal(sites_of(&fake, FN_cmp_and_merge_page, &sites), 0);
	assert_int_equal(sites.entries, 1);
	assert_int_equal(sites.entry[0].offset, shape->cmp_entry - shape->start);
	assert_int_equal(sites.exits, 2);
	assert_int_equal(sites.exit[0].offset, dup_exit - shape->start);
	assert_int_equal(sites.exit[1].offset, shape->cmp_exit - shape->start);
	fake_free(&fake);
}

static void a_warn_changes_nothing(void **state)
{
	const struct shape *shape = find_shape("warn");
	struct fake fake;

	(void)state;
	set_up(&fake, shape);
	expect_all(&fake, shape);
	fake_free(&fake);
}

static void a_broken_condition_refuses_ksm_do_scan(void **state)
{
	(void)state;
	refused("call_before", FN_ksm_do_scan);
	refused("call_at_end", FN_ksm_do_scan);
	refused("two_unlocks", FN_ksm_do_scan);
	refused("two_hashes", FN_ksm_do_scan);
	refused("indirect", FN_ksm_do_scan);
}

static void a_broken_condition_refuses_cmp_and_merge_page(void **state)
{
	(void)state;
	refused("walks_again", FN_cmp_and_merge_page);
	refused("second_way", FN_cmp_and_merge_page);
	refused("two_hashes", FN_cmp_and_merge_page);
	refused("early_put", FN_cmp_and_merge_page);
	refused("call_behind", FN_cmp_and_merge_page);
	refused("no_put", FN_cmp_and_merge_page);
	refused("indirect", FN_cmp_and_merge_page);
}

static void a_broken_condition_refuses_calc_checksum(void **state)
{
	(void)state;
	refused("two_hashes", FN_calc_checksum);
	refused("indirect", FN_calc_checksum);
}

static void kprobes_on_any_call_change_nothing(void **state)
{
	const struct shape *shape = find_shape("good");
	struct code *code;
	struct fake fake;
	uint8_t *bytes = set_up(&fake, shape);
	uint32_t i, n;

	(void)state;
	code = fake_load(&fake, "ksm_scan_thread");
	for (i = 0, n = 0; i < code->insns; i++)
		if (code->insn[i].kind == INSN_CALL && code->insn[i].size == 5) {
			bytes[code->insn[i].address - at(shape->start)] = 0xcc;
			n++;
		}
	assert_true(n > 12);
	code_free(code);
	expect_all(&fake, shape);
	fake_free(&fake);
}

static void a_kprobe_that_hides_an_instruction_refuses_all(void **state)
{
	const struct shape *shape = find_shape("good");
	struct fn_sites sites;
	struct fake fake;
	uint8_t *bytes = set_up(&fake, shape);

	(void)state;
	fake.original = shape->cmp_entry[0];
	bytes[shape->cmp_entry - shape->start] = 0xcc;
	assert_int_equal(sites_of(&fake, FN_ksm_do_scan, &sites), -ENOTSUP);
	assert_int_equal(sites_of(&fake, FN_cmp_and_merge_page, &sites), -ENOTSUP);
	assert_int_equal(sites_of(&fake, FN_calc_checksum, &sites), -ENOTSUP);
	/* With the kernel's word for what is under it nothing is hidden. */
	fake.hidden = at(shape->cmp_entry);
	expect_all(&fake, shape);
	fake_free(&fake);
}

static void a_return_thunk_turned_into_a_return_changes_nothing(void **state)
{
	const struct shape *shape = find_shape("good");
	struct code *code;
	struct fake fake;
	uint8_t *bytes = set_up(&fake, shape);
	uint32_t i;

	(void)state;
	code = fake_load(&fake, "ksm_scan_thread");
	for (i = 0; i < code->insns; i++)
		if (code->insn[i].kind == INSN_RETURN)
			memcpy(bytes + (code->insn[i].address - at(shape->start)),
			       "\xc3\xcc\xcc\xcc\xcc", 5);
	code_free(code);
	expect_all(&fake, shape);
	fake_free(&fake);
}

static void entries_move_back_to_where_a_jump_fits(void **state)
{
	const struct shape *shape = find_shape("checksum_call");
	struct fake fake;
	struct code *code;
	struct site site, moved;

	(void)state;
	set_up(&fake, shape);
	code = fake_load(&fake, "ksm_scan_thread");
	/* A call is no place; the 7-byte subtraction before it is. */
	assert_int_equal(code_site(code, at(shape->sum_entry), &site), 0);
	assert_true(machine_code_optimizable(code, &site, &moved));
	assert_int_equal(moved.offset, shape->sum_entry - shape->start - 7);
	/* The start of the page's part: 4 bytes, and 2 of the test behind it. */
	assert_int_equal(code_site(code, at(shape->cmp_entry), &site), 0);
	assert_true(machine_code_optimizable(code, &site, &moved));
	assert_int_equal(moved.offset, site.offset);
	/* Behind a call there is nowhere to go but the place itself, and it is no place. */
	assert_int_equal(code_site(code, at(shape->start) + 6, &site), 0);
	assert_false(machine_code_optimizable(code, &site, &moved));
	code_free(code);
	fake_free(&fake);
}

static void the_hash_is_told_with_the_evidence(void **state)
{
	static const struct {
		const char *what;
		enum ksm_hash hash;
		const char *evidence;
	} cases[] = {
		{ "good", KSM_HASH_XXH64, "ksm_scan_thread calls xxh64" },
		{ "jhash", KSM_HASH_JHASH2,
		  "ksm_scan_thread has jhash2's start value for a page, 0xdeadcf00" },
		{ "out_of_line", KSM_HASH_UNKNOWN,
		  "ksm_scan_thread calls no hash function that is known" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char evidence[128] = "";
		struct fake fake;
		struct code *code;

		set_up(&fake, find_shape(cases[i].what));
		code = fake_load(&fake, "ksm_scan_thread");
		assert_int_equal(machine_code_hash(code, evidence, sizeof(evidence)), cases[i].hash);
		assert_string_equal(evidence, cases[i].evidence);
		code_free(code);
		fake_free(&fake);
	}
}

#endif

static void an_arm64_constant_is_found_in_its_two_halves(void **state)
{
	static const uint32_t words[] = {
		0x5299e000, /* mov w0, #0xcf00 */
		0xd503201f, /* nop */
		0x72bbd5a0, /* movk w0, #0xdead, lsl #16 */
		0xd65f03c0, /* ret */
	};
	struct fake fake = { .arch = CODE_ARM64 };
	char evidence[128];
	struct code *code;

	(void)state;
	fake_add_memory(&fake, BASE, words, sizeof(words));
	fake_add_symbol(&fake, "calc_checksum", BASE, sizeof(words));
	code = fake_load(&fake, "calc_checksum");
	assert_int_equal(machine_code_hash(code, evidence, sizeof(evidence)), KSM_HASH_JHASH2);
	code_free(code);
	/* Another register's half is another constant. */
	fake.memory[0].bytes[8] |= 1;
	code = fake_load(&fake, "calc_checksum");
	assert_int_equal(machine_code_hash(code, evidence, sizeof(evidence)), KSM_HASH_UNKNOWN);
	code_free(code);
	fake_free(&fake);
}

/* --- stock kernels ----------------------------------------------------------------------------- */

static int cached_kernels(glob_t *found)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char pattern[512];

	snprintf(pattern, sizeof(pattern), "%s%s/ksmtrace/kernels/*/vmlinux",
		 cache ? cache : home ? home : "", cache ? "" : "/.cache");
	return glob(pattern, 0, NULL, found);
}

/* A kernel file read as it might be while it runs: every jump label switched over. */
struct running {
	struct code_image file;
	const struct code *code; /* of ksm_scan_thread, as in the file */
};

static int running_read(void *context, uint64_t address, void *buffer, size_t size)
{
	struct running *r = context;
	int err = r->file.read(r->file.context, address, buffer, size);
	uint32_t i;

	for (i = 0; !err && i < r->code->insns; i++) {
		const struct insn *insn = &r->code->insn[i];
		uint8_t *bytes = (uint8_t *)buffer + (insn->address - address);
		int32_t distance = (int32_t)(insn->target - insn->address - insn->size);

		if (!insn->patched || insn->address < address ||
		    insn->address + insn->size > address + size)
			continue;
		if (bytes[0] == 0xe9 || bytes[0] == 0xeb) {
			memcpy(bytes, insn->size == 5 ? "\x0f\x1f\x44\x00\x00" : "\x66\x90",
			       insn->size);
		} else if (insn->size == 5) {
			bytes[0] = 0xe9;
			memcpy(bytes + 1, &distance, 4);
		} else {
			bytes[0] = 0xeb;
			bytes[1] = (uint8_t)distance;
		}
	}
	return err;
}

static const char *running_symbol_at(void *context, uint64_t address, uint64_t *start,
				     uint64_t *size)
{
	struct running *r = context;

	return r->file.symbol_at(r->file.context, address, start, size);
}

/* Without the table of labels, the state found must do. */
static int running_symbol(void *context, const char *name, uint64_t *start, uint64_t *size)
{
	struct running *r = context;

	if (strstr(name, "jump_table"))
		return -ENOENT;
	return r->file.symbol(r->file.context, name, start, size);
}

static void same(const char *path, const struct fn_sites *a, const struct fn_sites *b)
{
	if (a->entries != b->entries || a->exits != b->exits ||
	    memcmp(a->entry, b->entry, a->entries * sizeof(a->entry[0])) ||
	    memcmp(a->exit, b->exit, a->exits * sizeof(a->exit[0])))
		fail_msg("%s: +0x%x to +0x%x is not +0x%x to +0x%x", path, a->entry[0].offset,
			 a->exit[0].offset, b->entry[0].offset, b->exit[0].offset);
}

static void stock_kernels_agree_with_their_debug_info(void **state)
{
	char why[512];
	size_t i, compared = 0;
	glob_t found;

	(void)state;
	if (cached_kernels(&found)) {
		skip();
		return;
	}
	for (i = 0; i < found.gl_pathc; i++) {
		struct debuginfo *info;
		struct code_image image;
		struct code *code;
		int fn;

		if (debuginfo_open(found.gl_pathv[i], NULL, &info, why, sizeof(why)))
			fail_msg("%s", why);
		image = debuginfo_image(info);
		if (code_load(&image, "ksm_scan_thread", &code, why, sizeof(why)))
			fail_msg("%s", why);
		for (fn = 0; fn < FN_COUNT; fn++) {
			struct fn_sites a, b;
			int err = debuginfo_sites(info, fn, &a, why, sizeof(why));

			if (err == -ENOENT)
				continue;
			if (err || machine_code_sites(code, fn, &b, why, sizeof(why)))
				fail_msg("%s", why);
			same(found.gl_pathv[i], &a, &b);
			compared++;
		}
		code_free(code);
		debuginfo_close(info);
	}
	globfree(&found);
	assert_true(compared > 0);
}

static void stock_kernels_give_the_same_with_every_jump_label_switched(void **state)
{
	char why[512];
	glob_t found;
	size_t i;

	(void)state;
	if (cached_kernels(&found)) {
		skip();
		return;
	}
	for (i = 0; i < found.gl_pathc; i++) {
		struct kernel_file *vmlinux;
		struct running running;
		struct code_image image;
		struct code *code, *switched;
		int fn;

		if (kernel_file_open(found.gl_pathv[i], &vmlinux, why, sizeof(why)))
			fail_msg("%s", why);
		running.file = kernel_file_image(vmlinux);
		if (code_load(&running.file, "ksm_scan_thread", &code, why, sizeof(why)))
			fail_msg("%s", why);
		running.code = code;
		image = running.file;
		image.read = running_read;
		image.symbol_at = running_symbol_at;
		image.symbol = running_symbol;
		image.context = &running;
		if (image.arch == CODE_X86_64) {
			if (code_load(&image, "ksm_scan_thread", &switched, why, sizeof(why)))
				fail_msg("%s", why);
			for (fn = 0; fn < FN_COUNT; fn++) {
				struct fn_sites a, b;

				if (machine_code_sites(code, fn, &a, why, sizeof(why)) ||
				    machine_code_sites(switched, fn, &b, why, sizeof(why)))
					fail_msg("%s: %s", found.gl_pathv[i], why);
				same(found.gl_pathv[i], &a, &b);
			}
			code_free(switched);
		}
		code_free(code);
		kernel_file_close(vmlinux);
	}
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
		cmocka_unit_test(all_three_functions_are_found),
		cmocka_unit_test(without_data_symbols_a_scan_starts_where_its_loop_is_entered),
		cmocka_unit_test(an_argument_read_before_the_tests_is_not_taken_for_the_start),
		cmocka_unit_test(without_memory_hotplug_the_lock_comes_right_before),
		cmocka_unit_test(functions_out_of_line_are_timed_around_their_call),
		cmocka_unit_test(every_call_of_a_function_out_of_line_is_a_pair),
		cmocka_unit_test(a_hash_in_line_leaves_the_other_functions),
		cmocka_unit_test(a_duplicated_end_is_found_in_every_copy),
		cmocka_unit_test(a_warn_changes_nothing),
		cmocka_unit_test(a_broken_condition_refuses_ksm_do_scan),
		cmocka_unit_test(a_broken_condition_refuses_cmp_and_merge_page),
		cmocka_unit_test(a_broken_condition_refuses_calc_checksum),
		cmocka_unit_test(kprobes_on_any_call_change_nothing),
		cmocka_unit_test(a_kprobe_that_hides_an_instruction_refuses_all),
		cmocka_unit_test(a_return_thunk_turned_into_a_return_changes_nothing),
		cmocka_unit_test(entries_move_back_to_where_a_jump_fits),
		cmocka_unit_test(the_hash_is_told_with_the_evidence),
#endif
		cmocka_unit_test(an_arm64_constant_is_found_in_its_two_halves),
		cmocka_unit_test(stock_kernels_agree_with_their_debug_info),
		cmocka_unit_test(stock_kernels_give_the_same_with_every_jump_label_switched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
