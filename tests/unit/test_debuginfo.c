// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sites from debug info: small kernels compiled here, in which marks say where functions really
 * begin and end; and what is known of stock kernels in the cache.
 */
#include "standin.h"

#include <gelf.h>
#include <glob.h>

#include "debuginfo.h"

/* The mark of a place: its address and what is there, in a section of their own. */
static const char source[] =
	"#define MARK(what) asm volatile(\"1: nop\\n\"					\\\n"
	"	\".pushsection .marks, \\\"a\\\"\\n.quad 1b, \" #what \"\\n.popsection\"	"
	"\\\n"
	"	::: \"memory\")\n"
	"#define always static inline __attribute__((always_inline))\n"
	"#define apart __attribute__((__noinline__))\n"
	"const char linux_banner[] __attribute__((used)) = \"Linux version 1.2.3-test (x)"
	"                                                                                \";\n"
	"int seed, stop, rare;\n"
	"apart int xxh64(int x) { asm volatile(\"\" ::: \"memory\"); return x * seed; }\n"
	"apart int memcmp_pages(int x) { asm volatile(\"\" ::: \"memory\"); return x - seed; }\n"
	"__attribute__((cold)) apart int complain(int x)\n"
	"{ asm volatile(\"\" ::: \"memory\"); return x + rare; }\n"
	/* Nested in cmp_and_merge_page. */
	"always int calc_checksum(int page)\n"
	"{\n"
	"	int sum;\n"
	"	MARK(21);\n"
	"	sum = xxh64(page);\n"
	"	MARK(22);\n"
	"	return sum;\n"
	"}\n"
	/* Returns early, has a cold part, and is inlined twice. */
	"always void cmp_and_merge_page(int page)\n"
	"{\n"
	"	MARK(11);\n"
	"	if (memcmp_pages(page)) {\n"
	"		MARK(12);\n"
	"		return;\n"
	"	}\n"
	"	if (__builtin_expect(rare, 0))\n"
	"		seed = complain(page) + complain(seed);\n"
	"	else if (calc_checksum(page) == seed)\n"
	"		seed = memcmp_pages(page + 1);\n"
	"	MARK(12);\n"
	"}\n"
	"always void ksm_do_scan(int n)\n"
	"{\n"
	"	MARK(1);\n"
	"	while (n--) {\n"
	"		int page = xxh64(n);\n"
	"		if (!page)\n"
	"			break;\n"
	"		cmp_and_merge_page(page);\n"
	"		complain(page);\n"
	"	}\n"
	"	MARK(2);\n"
	"}\n"
	"apart int ksm_scan_thread(int n)\n"
	"{\n"
	"	while (!stop) {\n"
	"		complain(1);\n"
	"		ksm_do_scan(n);\n"
	"		complain(2);\n"
	"	}\n"
	"	return 0;\n"
	"}\n"
	"apart int ksm_other(int page)\n"
	"{\n"
	"	complain(page);\n"
	"	cmp_and_merge_page(page);\n"
	"	return complain(page);\n"
	"}\n"
	/* Not run by ksmd, and gone by then. */
	"__attribute__((section(\".init.text\"))) apart int ksm_init(void)\n"
	"{\n"
	"	return calc_checksum(3);\n"
	"}\n"
	"void _start(void)\n"
	"{\n"
	"	ksm_init();\n"
	"	ksm_other(2);\n"
	"	ksm_scan_thread(1);\n"
	"}\n";

#define MARK_INIT 0x10000 /* added to marks of start-up code */

struct mark {
	uint64_t address, what;
};

struct kernel {
	char *root;
	char path[PATH_MAX];
	struct mark mark[32];
	size_t marks;
};

static void read_marks(struct kernel *k)
{
	int fd = open(k->path, O_RDONLY);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *scn = NULL;
	uint64_t init = 0, init_end = 0;
	size_t names, i;

	assert_non_null(elf);
	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;
		const char *name;

		assert_non_null(gelf_getshdr(scn, &shdr));
		name = elf_strptr(elf, names, shdr.sh_name);
		if (!strcmp(name, ".init.text")) {
			init = shdr.sh_addr;
			init_end = init + shdr.sh_size;
		}
		if (strcmp(name, ".marks"))
			continue;
		assert_true(shdr.sh_size <= sizeof(k->mark));
		memcpy(k->mark, elf_getdata(scn, NULL)->d_buf, shdr.sh_size);
		k->marks = shdr.sh_size / sizeof(k->mark[0]);
	}
	for (i = 0; i < k->marks; i++)
		if (k->mark[i].address >= init && k->mark[i].address < init_end)
			k->mark[i].what += MARK_INIT;
	elf_end(elf);
	close(fd);
	assert_true(k->marks > 6);
}

/* Compiles the source with compiler and flags. Returns false when there is no such compiler. */
static bool build(struct kernel *k, const char *compiler, const char *flags)
{
	char command[PATH_MAX + 512];

	memset(k, 0, sizeof(*k));
	snprintf(command, sizeof(command), "command -v %s >/dev/null", compiler);
	if (system(command))
		return false;
	k->root = standin_new();
	standin_write(k->root, "mm/ksm.c", source);
	snprintf(k->path, sizeof(k->path), "%s/vmlinux", k->root);
	snprintf(command, sizeof(command),
		 "cd %s && %s %s -nostdlib -static -no-pie -fno-pie -fno-stack-protector "
		 "-fcf-protection=none -Wl,--build-id=sha1 -o vmlinux mm/ksm.c 2>log",
		 k->root, compiler, flags);
	if (system(command))
		fail_msg("%s %s: %s", compiler, flags, standin_read(k->root, "log"));
	elf_version(EV_CURRENT);
	read_marks(k);
	return true;
}

static unsigned int count_marks(const struct kernel *k, uint64_t what)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < k->marks; i++)
		n += k->mark[i].what == what;
	return n;
}

static bool is_site(const struct code *code, uint64_t address, const struct site *sites,
		    unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (code_address(code, &sites[i]) == address)
			return true;
	return false;
}

/* Follows the code from address while it goes one way and calls nothing: to one of sites. */
static bool leads_to(const struct code *code, uint64_t address, const struct site *sites,
		     unsigned int count)
{
	int64_t i = code_find(code, address);
	uint32_t next[2];
	int n;

	for (n = 0; i >= 0 && n < 20; n++) {
		if (is_site(code, code->insn[i].address, sites, count))
			return true;
		if (code->insn[i].kind == INSN_CALL || code_next(code, (uint32_t)i, next) != 1)
			return false;
		i = next[0];
	}
	return false;
}

/* Whether the entry is at the mark, or before it with no call and no choice in between. */
static bool entered_at(const struct code *code, uint64_t mark, const struct site *entries,
		       unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct site site;

		if (!code_site(code, mark, &site) && code_address(code, &entries[i]) &&
		    leads_to(code, code_address(code, &entries[i]), &site, 1))
			return true;
	}
	return false;
}

/* Loads the function that address is in. */
static struct code *code_at(const struct code_image *image, uint64_t address)
{
	char function[128], why[256];
	uint64_t start, size;
	struct code *code;
	const char *symbol = image->symbol_at(image->context, address, &start, &size);

	assert_non_null(symbol);
	snprintf(function, sizeof(function), "%s", symbol);
	if (strstr(function, ".cold"))
		*strstr(function, ".cold") = '\0';
	assert_int_equal(code_load(image, function, &code, why, sizeof(why)), 0);
	return code;
}

static void check_function(const struct kernel *k, const char *flags, struct debuginfo *info,
			   enum ksmtrace_function fn, uint64_t begin, uint64_t end)
{
	struct code_image image = debuginfo_image(info);
	struct fn_sites sites;
	char why[256] = "";
	size_t i;

	if (debuginfo_sites(info, fn, &sites, why, sizeof(why)))
		fail_msg("%s: %s: %s", flags, function_name(fn), why);
	assert_int_equal(sites.source, SITE_DEBUGINFO);
	assert_int_equal(sites.entries, count_marks(k, begin));
	for (i = 0; i < k->marks; i++) {
		uint64_t address = k->mark[i].address;
		struct code *code;

		if (k->mark[i].what != begin && k->mark[i].what != end)
			continue;
		code = code_at(&image, address);
		if (k->mark[i].what == begin &&
		    !entered_at(code, address, sites.entry, sites.entries))
			fail_msg("%s: %s: no entry at its begin", flags, function_name(fn));
		if (k->mark[i].what == end && !leads_to(code, address, sites.exit, sites.exits))
			fail_msg("%s: %s: no exit behind its end", flags, function_name(fn));
		code_free(code);
	}
}

static void check_kernel(const char *compiler, const char *flags)
{
	struct debuginfo *info;
	struct fn_sites sites;
	struct kernel k;
	char why[256] = "";

	if (!build(&k, compiler, flags)) {
		skip();
		return;
	}
	if (debuginfo_open(k.path, NULL, &info, why, sizeof(why)))
		fail_msg("%s: %s", flags, why);
	assert_string_equal(debuginfo_kernel(info)->release, "1.2.3-test");
	assert_int_equal(debuginfo_kernel(info)->build_id_size, 20);
	assert_true(count_marks(&k, 11) >= 2);
	assert_int_equal(count_marks(&k, 21 + MARK_INIT), 1);
	check_function(&k, flags, info, FN_ksm_do_scan, 1, 2);
	check_function(&k, flags, info, FN_cmp_and_merge_page, 11, 12);
	check_function(&k, flags, info, FN_calc_checksum, 21, 22);
	assert_int_equal(debuginfo_sites(info, FN_memcmp_pages, &sites, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "out of line"));
	debuginfo_close(info);
	standin_free(k.root);
}

static void dwarf_4_is_read(void **state)
{
	(void)state;
	check_kernel("gcc", "-O2 -gdwarf-4");
}

static void dwarf_5_is_read(void **state)
{
	(void)state;
	check_kernel("gcc", "-O2 -gdwarf-5");
}

static void code_in_pieces_is_read(void **state)
{
	(void)state;
	check_kernel("gcc", "-O2 -gdwarf-5 -freorder-blocks-and-partition -falign-functions=64");
}

static void other_optimizations_are_read(void **state)
{
	(void)state;
	check_kernel("gcc", "-O1 -gdwarf-5");
	check_kernel("gcc", "-Os -gdwarf-4");
	check_kernel("gcc", "-O3 -gdwarf-5");
}

static void debug_info_without_address_table_is_read(void **state)
{
	(void)state;
	check_kernel("clang", "-O2 -gdwarf-5");
	check_kernel("clang", "-O2 -gdwarf-4");
}

static void compressed_debug_info_is_read(void **state)
{
	(void)state;
	check_kernel("gcc", "-O2 -gdwarf-5 -gz=zlib");
}

static void another_kernel_s_debug_info_is_refused_with_both_ids(void **state)
{
	struct kernel_id kernel = { .build_id = { 0xab, 0xcd }, .build_id_size = 2 };
	struct debuginfo *info;
	struct kernel k;
	char why[512], hex[2 * BUILD_ID_MAX + 1];

	(void)state;
	if (!build(&k, "gcc", "-O2 -g")) {
		skip();
		return;
	}
	assert_int_equal(debuginfo_open(k.path, &kernel, &info, why, sizeof(why)), -ESTALE);
	assert_non_null(strstr(why, "abcd"));
	assert_int_equal(debuginfo_open(k.path, NULL, &info, why, sizeof(why)), 0);
	kernel = *debuginfo_kernel(info);
	kernel_id_hex(&kernel, hex);
	debuginfo_close(info);
	assert_int_equal(debuginfo_open(k.path, &kernel, &info, why, sizeof(why)), 0);
	debuginfo_close(info);
	kernel.build_id[0] ^= 1;
	assert_int_equal(debuginfo_open(k.path, &kernel, &info, why, sizeof(why)), -ESTALE);
	assert_non_null(strstr(why, hex));
	standin_free(k.root);
}

static void a_file_without_debug_info_is_refused(void **state)
{
	struct debuginfo *info;
	struct fn_sites sites;
	struct kernel k;
	char why[512];
	int err;

	(void)state;
	if (!build(&k, "gcc", "-O2 -g0")) {
		skip();
		return;
	}
	err = debuginfo_open(k.path, NULL, &info, why, sizeof(why));
	if (!err) {
		err = debuginfo_sites(info, FN_ksm_do_scan, &sites, why, sizeof(why));
		debuginfo_close(info);
	}
	assert_int_equal(err, -ENODATA);
	assert_non_null(strstr(why, "no debug info"));
	standin_free(k.root);
	assert_int_equal(debuginfo_open("/dev/null", NULL, &info, why, sizeof(why)), -ENOEXEC);
	assert_int_equal(debuginfo_open("/nowhere", NULL, &info, why, sizeof(why)), -ENOENT);
}

/* Every byte of the headers and tables wrong in turn must end in a word, not in a crash. */
static void a_damaged_file_does_no_harm(void **state)
{
	struct debuginfo *info;
	struct kernel k;
	char why[512];
	unsigned char *bytes;
	struct stat st;
	size_t size, at;
	int fd, fn;

	(void)state;
	if (!build(&k, "gcc", "-O2 -gdwarf-5")) {
		skip();
		return;
	}
	fd = open(k.path, O_RDWR);
	assert_true(fd >= 0 && !fstat(fd, &st));
	size = (size_t)st.st_size;
	bytes = malloc(size);
	assert_int_equal(pread(fd, bytes, size, 0), size);
	for (at = 0; at < size; at += at < 128 ? 1 : 61) {
		unsigned char changed = bytes[at] ^ 0xff;
		struct fn_sites sites;

		assert_int_equal(pwrite(fd, &changed, 1, (off_t)at), 1);
		if (!debuginfo_open(k.path, NULL, &info, why, sizeof(why))) {
			for (fn = 0; fn < FN_COUNT; fn++)
				debuginfo_sites(info, fn, &sites, why, sizeof(why));
			debuginfo_close(info);
		}
		assert_int_equal(pwrite(fd, bytes + at, 1, (off_t)at), 1);
	}
	free(bytes);
	close(fd);
	standin_free(k.root);
}

/* What was worked out by hand, for the day when a compiler or this program changes. */
static void known_kernels_give_what_is_known(void **state)
{
	static const struct {
		const char *release;
		enum ksmtrace_function fn;
		unsigned int entry, exit;
	} known[] = {
		{ "6.12.117+deb13-cloud-amd64", FN_ksm_do_scan, 0x8b, 0x41c },
		{ "6.12.117+deb13-cloud-amd64", FN_cmp_and_merge_page, 0x374, 0x3dd },
		{ "6.12.117+deb13-cloud-amd64", FN_calc_checksum, 0x3a6, 0x3cb },
		{ "5.10.0-32-cloud-amd64", FN_ksm_do_scan, 0x95, 0x264 },
		{ "5.10.0-32-cloud-amd64", FN_cmp_and_merge_page, 0x593, 0x85f },
	};
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char pattern[512], why[512];
	size_t i, j, seen = 0;
	glob_t found;

	(void)state;
	snprintf(pattern, sizeof(pattern), "%s%s/ksmtrace/kernels/*/vmlinux",
		 cache	? cache
		 : home ? home
			: "",
		 cache ? "" : "/.cache");
	if (glob(pattern, 0, NULL, &found)) {
		skip();
		return;
	}
	for (i = 0; i < found.gl_pathc; i++) {
		struct debuginfo *info;

		assert_int_equal(debuginfo_open(found.gl_pathv[i], NULL, &info, why, sizeof(why)),
				 0);
		for (j = 0; j < sizeof(known) / sizeof(known[0]); j++) {
			struct fn_sites sites;

			if (strcmp(known[j].release, debuginfo_kernel(info)->release))
				continue;
			seen++;
			assert_int_equal(
				debuginfo_sites(info, known[j].fn, &sites, why, sizeof(why)), 0);
			assert_int_equal(sites.entries, 1);
			assert_int_equal(sites.exits, 1);
			assert_int_equal(sites.entry[0].offset, known[j].entry);
			assert_int_equal(sites.exit[0].offset, known[j].exit);
		}
		debuginfo_close(info);
	}
	globfree(&found);
	if (!seen)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dwarf_4_is_read),
		cmocka_unit_test(dwarf_5_is_read),
		cmocka_unit_test(code_in_pieces_is_read),
		cmocka_unit_test(other_optimizations_are_read),
		cmocka_unit_test(debug_info_without_address_table_is_read),
		cmocka_unit_test(compressed_debug_info_is_read),
		cmocka_unit_test(another_kernel_s_debug_info_is_refused_with_both_ids),
		cmocka_unit_test(a_file_without_debug_info_is_refused),
		cmocka_unit_test(a_damaged_file_does_no_harm),
		cmocka_unit_test(known_kernels_give_what_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
