// SPDX-License-Identifier: GPL-2.0-only
#include "standin.h"

#include <elf.h>
#include <linux/capability.h>
#include <sys/capability.h>

#include "host.h"

static char *root;

static int setup(void **state)
{
	(void)state;
	root = standin_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	standin_free(root);
	return 0;
}

/* --- build-id */

static unsigned char notes[4096];
static size_t notes_size;

static void add_note(uint32_t type, const char *name, const void *desc, uint32_t size)
{
	Elf64_Nhdr head = { .n_namesz = (uint32_t)strlen(name) + 1, .n_descsz = size,
			    .n_type = type };

	memcpy(notes + notes_size, &head, sizeof(head));
	notes_size += sizeof(head);
	memcpy(notes + notes_size, name, head.n_namesz);
	notes_size += (head.n_namesz + 3) & ~3U;
	memcpy(notes + notes_size, desc, size);
	notes_size += (size + 3) & ~3U;
}

/* Looks in a copy of exactly that size, so that a sanitizer sees a read beyond it. */
static ssize_t find(size_t size, unsigned char *id)
{
	unsigned char *copy = malloc(size ? size : 1);
	ssize_t n;

	memcpy(copy, notes, size);
	n = host_find_build_id(copy, size, id);
	free(copy);
	return n;
}

static void the_build_id_is_found_among_other_notes(void **state)
{
	unsigned char id[HOST_BUILD_ID_MAX];

	(void)state;
	notes_size = 0;
	add_note(6, "Xen", "abcd", 4);
	add_note(257, "Linux", "12345", 5); /* padded */
	add_note(NT_GNU_BUILD_ID, "Linux", "wrong name..", 12);
	add_note(NT_GNU_BUILD_ID, "GNU", "0123456789abcdefghij", 20);
	assert_int_equal(find(notes_size, id), 20);
	assert_memory_equal(id, "0123456789abcdefghij", 20);
}

static void notes_cut_short_anywhere_give_none(void **state)
{
	unsigned char id[HOST_BUILD_ID_MAX];
	size_t size;

	(void)state;
	notes_size = 0;
	add_note(257, "Linux", "12345", 5);
	add_note(NT_GNU_BUILD_ID, "GNU", "0123456789abcdefghij", 20);
	for (size = 0; size < notes_size; size++)
		assert_int_equal(find(size, id), -ENOENT);
}

static void hostile_sizes_give_none(void **state)
{
	static const uint32_t sizes[] = { 0xffffffff, 0xfffffffd, 0x80000000, 0x7fffffff, 4000 };
	unsigned char id[HOST_BUILD_ID_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		notes_size = 0;
		add_note(NT_GNU_BUILD_ID, "GNU", "0123456789abcdefghij", 20);
		memcpy(notes, &sizes[i], 4);
		assert_int_equal(find(notes_size, id), -ENOENT);
		notes_size = 0;
		add_note(NT_GNU_BUILD_ID, "GNU", "0123456789abcdefghij", 20);
		memcpy(notes + 4, &sizes[i], 4);
		assert_int_equal(find(notes_size, id), -ENOENT);
	}
}

static void a_build_id_longer_than_the_buffer_is_none(void **state)
{
	unsigned char id[HOST_BUILD_ID_MAX], body[HOST_BUILD_ID_MAX + 1] = { 0 };

	(void)state;
	notes_size = 0;
	add_note(NT_GNU_BUILD_ID, "GNU", body, sizeof(body));
	assert_int_equal(find(notes_size, id), -ENOENT);
	notes_size = 0;
	add_note(NT_GNU_BUILD_ID, "GNU", body, HOST_BUILD_ID_MAX);
	assert_int_equal(find(notes_size, id), HOST_BUILD_ID_MAX);
}

static void an_empty_build_id_is_none(void **state)
{
	unsigned char id[HOST_BUILD_ID_MAX];

	(void)state;
	notes_size = 0;
	add_note(NT_GNU_BUILD_ID, "GNU", "", 0);
	assert_int_equal(find(notes_size, id), -ENOENT);
}

static void random_notes_do_no_harm(void **state)
{
	unsigned char id[HOST_BUILD_ID_MAX];
	int round;
	size_t i;

	(void)state;
	srand(1);
	for (round = 0; round < 20000; round++) {
		size_t size = (size_t)rand() % 96;

		for (i = 0; i < size; i++)
			notes[i] = rand() % 3 ? (unsigned char)(rand() % 8) : (unsigned char)rand();
		assert_true(find(size, id) <= HOST_BUILD_ID_MAX);
	}
}

static void the_build_id_is_shown_in_hex(void **state)
{
	static const unsigned char id[] = { 0x00, 0x5f, 0xff, 0x0c };
	struct host host;

	(void)state;
	notes_size = 0;
	add_note(NT_GNU_BUILD_ID, "GNU", id, sizeof(id));
	standin_write_bytes(root, "sys/kernel/notes", 0444, notes, notes_size);
	host_read(root, &host);
	assert_int_equal(host.build_id_size, 4);
	assert_string_equal(host.build_id_hex, "005fff0c");
	assert_memory_equal(host.build_id, id, 4);
}

static void without_notes_the_build_id_is_empty(void **state)
{
	struct host host;

	(void)state;
	host_read(root, &host);
	assert_int_equal(host.build_id_size, 0);
	assert_string_equal(host.build_id_hex, "");
	assert_int_not_equal(strlen(host.release), 0);
	assert_int_not_equal(strlen(host.arch), 0);
}

/* --- processor */

static const char *cpu_name(const char *cpuinfo, const char *model)
{
	static struct host host;

	if (cpuinfo)
		standin_write(root, "proc/cpuinfo", cpuinfo);
	if (model)
		standin_write_bytes(root, "sys/firmware/devicetree/base/model", 0444, model,
				    strlen(model) + 1);
	host_read(root, &host);
	return host.cpu;
}

static void the_model_name_is_the_processor(void **state)
{
	(void)state;
	assert_string_equal(cpu_name("processor\t: 0\nmodel\t\t: 85\n"
				     "model name\t: AMD EPYC: 7B12\n\nmodel name\t: other\n",
				     NULL),
			    "AMD EPYC: 7B12");
}

static void on_arm_it_is_implementer_part_and_board(void **state)
{
	(void)state;
	assert_string_equal(cpu_name("processor\t: 0\nCPU implementer\t: 0x41\n"
				     "CPU part\t: 0xd0c\n",
				     NULL),
			    "implementer 0x41 part 0xd0c");
	assert_string_equal(cpu_name(NULL, "Board X"), "implementer 0x41 part 0xd0c, Board X");
}

static void a_machine_that_does_not_tell_has_no_processor_name(void **state)
{
	(void)state;
	assert_string_equal(cpu_name("processor\t: 0\n", NULL), "");
}

/* --- ksmd */

static void ksmd_is_the_kernel_thread_of_that_name(void **state)
{
	struct ksmd ksmd;

	(void)state;
	standin_write(root, "proc/self/stat", "1 (ksmd) S 2 0 0 0 -1 2097152 0");
	standin_write(root, "proc/9/stat", "9 (ksmd) R 1 9 9 0 -1 4194304 0"); /* a user's */
	standin_write(root, "proc/8/stat", "8 (ksmd) R) S 2 0 0 0 -1 2129984 0");
	standin_write(root, "proc/7/stat", "7 (ksmd2) S 2 0 0 0 -1 2129984 0");
	standin_write(root, "proc/6/stat", "6 (");
	standin_write(root, "proc/5/stat", "");
	assert_int_equal(host_find_ksmd(root, &ksmd), -ESRCH);
	standin_write(root, "proc/37/stat", "37 (ksmd) D 2 0 0 0 -1 2129984 0 0 0");
	assert_int_equal(host_find_ksmd(root, &ksmd), 0);
	assert_int_equal(ksmd.pid, 37);
	assert_int_equal(ksmd.state, 'D');
}

static void without_proc_there_is_an_error(void **state)
{
	struct ksmd ksmd;

	(void)state;
	assert_int_equal(host_find_ksmd(root, &ksmd), -ENOENT);
}

/* --- privileges */

/* What is missing, in a process that has only these capabilities in effect. */
static void check_missing(const cap_value_t *have, int count, int missing, const char *text)
{
	char found[128];
	int status;
	pid_t pid;
	cap_t caps;

	pid = fork();
	if (!pid) {
		caps = cap_init();
		if (count)
			cap_set_flag(caps, CAP_EFFECTIVE, count, have, CAP_SET);
		cap_set_flag(caps, CAP_PERMITTED, count, have, CAP_SET);
		if (cap_set_proc(caps))
			_exit(77);
		cap_free(caps);
		if (host_missing_capabilities(found, sizeof(found)) != missing)
			_exit(1);
		_exit(strcmp(found, text) ? 2 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void missing_capabilities_are_named(void **state)
{
	static const cap_value_t bpf[] = { CAP_BPF };

	(void)state;
	if (geteuid())
		skip();
	check_missing(bpf, 1, 2, "CAP_PERFMON, CAP_SYSLOG");
}

static void sys_admin_covers_all_but_syslog(void **state)
{
	static const cap_value_t admin[] = { CAP_SYS_ADMIN };

	(void)state;
	if (geteuid())
		skip();
	check_missing(admin, 1, 1, "CAP_SYSLOG");
}

static void the_three_capabilities_are_enough(void **state)
{
	static const cap_value_t all[] = { CAP_BPF, CAP_PERFMON, CAP_SYSLOG };

	(void)state;
	if (geteuid())
		skip();
	check_missing(all, 3, 0, "");
}

static void a_short_buffer_is_not_overrun(void **state)
{
	char *text = malloc(4);

	(void)state;
	assert_true(host_missing_capabilities(text, 4) >= 0);
	assert_true(strlen(text) < 4);
	free(text);
}

static void a_user_namespace_shows_in_the_uid_map(void **state)
{
	(void)state;
	assert_false(host_in_user_namespace(root)); /* no such file: no namespaces */
	standin_write(root, "proc/self/uid_map", "         0          0 4294967295\n");
	assert_false(host_in_user_namespace(root));
	standin_write(root, "proc/self/uid_map", "         0       1000          1\n");
	assert_true(host_in_user_namespace(root));
	standin_write(root, "proc/self/uid_map", "0 0 1000\n");
	assert_true(host_in_user_namespace(root));
}

static void the_lockdown_mode_is_the_marked_word(void **state)
{
	char mode[32] = "untouched";

	(void)state;
	assert_int_equal(host_lockdown(root, mode, sizeof(mode)), -ENOENT);
	standin_write(root, "sys/kernel/security/lockdown", "none integrity\n");
	assert_int_equal(host_lockdown(root, mode, sizeof(mode)), -EINVAL);
	assert_string_equal(mode, "untouched");
	standin_write(root, "sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	assert_int_equal(host_lockdown(root, mode, sizeof(mode)), 0);
	assert_string_equal(mode, "integrity");
}

static void available_memory_is_in_bytes(void **state)
{
	(void)state;
	assert_true(host_memory_available(root) == UINT64_MAX);
	standin_write(root, "proc/meminfo", "MemTotal:  99 kB\nMemAvailable:  12 kB\n");
	assert_int_equal(host_memory_available(root), 12 * 1024);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_build_id_is_found_among_other_notes),
		cmocka_unit_test(notes_cut_short_anywhere_give_none),
		cmocka_unit_test(hostile_sizes_give_none),
		cmocka_unit_test(a_build_id_longer_than_the_buffer_is_none),
		cmocka_unit_test(an_empty_build_id_is_none),
		cmocka_unit_test(random_notes_do_no_harm),
		TEST(the_build_id_is_shown_in_hex),
		TEST(without_notes_the_build_id_is_empty),
		TEST(the_model_name_is_the_processor),
		TEST(on_arm_it_is_implementer_part_and_board),
		TEST(a_machine_that_does_not_tell_has_no_processor_name),
		TEST(ksmd_is_the_kernel_thread_of_that_name),
		TEST(without_proc_there_is_an_error),
		cmocka_unit_test(missing_capabilities_are_named),
		cmocka_unit_test(sys_admin_covers_all_but_syslog),
		cmocka_unit_test(the_three_capabilities_are_enough),
		cmocka_unit_test(a_short_buffer_is_not_overrun),
		TEST(a_user_namespace_shows_in_the_uid_map),
		TEST(the_lockdown_mode_is_the_marked_word),
		TEST(available_memory_is_in_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
