// SPDX-License-Identifier: GPL-2.0-only
/* Reading recordings: what is whole is kept to the byte, what is damaged is refused by line. */
#include "standin.h"

#include "recording.h"

#define FIRST	"# ksmtrace recording: 1\n"
#define COLUMNS "function,low_ns,high_ns,count\n"
#define STAT                                                                                       \
	"# stat.calc_checksum: count=4 sum_ns=4261 min_ns=7 max_ns=1421 scans=3 "                  \
	"scan_mean_ns=1065.3 scan_var_ns2=310.2\n"
#define ROWS "calc_checksum,7,8,1\ncalc_checksum,1408,1440,3\n"
#define GOOD FIRST "# kernel: 6.12\n" STAT COLUMNS ROWS

static char why[512];

/* size bytes of text as a file called x.csv. */
static int read_bytes(struct recording *r, const char *text, size_t size)
{
	FILE *stream = size ? fmemopen((void *)(uintptr_t)text, size, "r") : tmpfile();
	int err;

	assert_non_null(stream);
	why[0] = '\0';
	recording_init(r);
	err = recording_read(r, stream, "x.csv", why, sizeof(why));
	fclose(stream);
	return err;
}

static int read_text(struct recording *r, const char *text)
{
	return read_bytes(r, text, strlen(text));
}

static char *written(const struct recording *r)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	recording_write(r, stream);
	fclose(stream);
	return text;
}

static void assert_refused(const char *text, const char *message)
{
	struct recording r;

	if (!read_text(&r, text))
		fail_msg("accepted, though it should say \"%s\"", message);
	if (strncmp(why, message, strlen(message)))
		fail_msg("says \"%s\", not \"%s\"", why, message);
	assert_int_equal(r.lines, 0);
	assert_int_equal(r.functions, 0);
}

static void assert_kept(const char *text)
{
	struct recording r;
	char *again;

	if (read_text(&r, text))
		fail_msg("%s", why);
	again = written(&r);
	assert_string_equal(again, text);
	free(again);
	recording_release(&r);
}

static void a_whole_recording_is_read(void **state)
{
	const struct recording_function *f;
	struct recording r;

	(void)state;
	assert_int_equal(read_text(&r, GOOD), 0);
	assert_string_equal(recording_get(&r, "kernel"), "6.12");
	assert_int_equal(r.functions, 1);
	f = recording_find(&r, "calc_checksum");
	assert_non_null(f);
	assert_int_equal(f->histogram.stat.count, 4);
	assert_int_equal(f->histogram.stat.sum_ns, 4261);
	assert_int_equal(f->histogram.stat.min_ns, 7);
	assert_int_equal(f->histogram.stat.max_ns, 1421);
	assert_int_equal(f->scans, 3);
	assert_true(f->scan_mean_ns == 1065.3);
	assert_true(f->scan_var_ns2 == 310.2);
	assert_int_equal(f->batches.batches, 0);
	assert_int_equal(f->histogram.bucket[7], 1);
	assert_int_equal(f->histogram.bucket[bucket_index(1420)], 3);
	assert_null(recording_find(&r, "calc"));
	recording_release(&r);
}

static void write_read_write_gives_the_same_bytes(void **state)
{
	struct recording_function f = {.name = "calc_checksum",
				       .scans = 2000,
				       .scan_mean_ns = 1413.06,
				       .scan_var_ns2 = 310.2,
				       .batches = {64, 31, 17.25, -0.0312}};
	struct recording r;
	uint64_t ns;
	char *text;

	(void)state;
	for (ns = 0; ns < 1ULL << 37; ns = ns * 3 + 1) {
		int i;

		for (i = 0; i < 100; i++)
			histogram_add(&f.histogram, ns + (unsigned int)i);
	}
	f.scans = 1990;
	recording_init(&r);
	assert_int_equal(recording_add(&r, "kernel", "6.12"), 0);
	assert_int_equal(recording_add(&r, "check.pages_scanned", "passed: 10 calls, 10 pages"), 0);
	assert_int_equal(recording_add_function(&r, &f), 0);
	snprintf(f.name, sizeof(f.name), "memcmp_pages");
	memset(&f.histogram, 0, sizeof(f.histogram));
	f.scans = f.batches.batches = 0;
	assert_int_equal(recording_add_function(&r, &f), 0);
	assert_int_equal(recording_add(&r, "later", "x"), 0);
	text = written(&r);
	recording_release(&r);
	assert_contains(text,
			"# batches.calc_checksum: count=31 scans=64 var_ns2=17.2 lag1=-0.0312");
	assert_kept(text);
	free(text);
}

static void what_this_version_does_not_know_is_kept(void **state)
{
	(void)state;
	/* Keys, words of a stat line, a function, and an order of functions. */
	assert_kept(FIRST "# colour: blue: very\n# kernel: \n" STAT
			  "# stat.new_function.isra.0: count=1 sum_ns=5 min_ns=5 max_ns=5 scans=1 "
			  "scan_mean_ns=5.0 scan_var_ns2=0.0 mode_ns=5\n"
			  "# after: the stats\n" COLUMNS "new_function.isra.0,5,6,1\n" ROWS);
	assert_kept(FIRST
		    "# scans: unknown\n# pages: unknown\n# tracing_cost_ns_per_page: unknown\n"
		    "# passes: 18446744073709551615\n" STAT COLUMNS ROWS);
}

static void numbers_are_read_whole_or_not_at_all(void **state)
{
	struct recording r;
	uint64_t u = 3;
	double d = 3;

	(void)state;
	assert_int_equal(
		read_text(
			&r, FIRST
			"# a: 12\n# b: 12x\n# c: -1.5e1\n# d: 0x10\n# e: nan\n" STAT COLUMNS ROWS),
		0);
	assert_true(recording_get_u64(&r, "a", &u));
	assert_int_equal(u, 12);
	assert_false(recording_get_u64(&r, "b", &u));
	assert_false(recording_get_u64(&r, "absent", &u));
	assert_int_equal(u, 12);
	assert_true(recording_get_double(&r, "c", &d));
	assert_true(d == -15);
	assert_false(recording_get_double(&r, "d", &d));
	assert_false(recording_get_double(&r, "e", &d));
	assert_false(recording_get_double(&r, "absent", &d));
	recording_release(&r);
}

static void foreign_files_are_refused(void **state)
{
	(void)state;
	assert_refused("", "x.csv:1: the file is empty");
	assert_refused("a,b,c\n1,2,3\n", "x.csv:1: no recording of ksmtrace");
	assert_refused(STAT COLUMNS ROWS, "x.csv:1: no recording of ksmtrace");
	assert_refused("time_s,scan,covers\n", "x.csv:1: no recording of ksmtrace");
	assert_refused("# ksmtrace recording: 2\n" STAT COLUMNS ROWS,
		       "x.csv:1: a recording of version 2; this program reads version 1");
	assert_refused("# ksmtrace recording: 1x\n", "x.csv:1: '1x' is no version number");
	assert_refused("# ksmtrace recording: \n", "x.csv:1: '' is no version number");
	assert_refused("# ksmtrace recording: 1\r\n", "x.csv:1: a carriage return");
	assert_refused(FIRST "# kernel: \x01\n", "x.csv:2: a control character (0x01)");
}

static void nul_bytes_are_refused(void **state)
{
	static const char text[] = FIRST "# kernel: 6\0.12\n" STAT COLUMNS ROWS;
	struct recording r;

	(void)state;
	assert_int_equal(read_bytes(&r, text, sizeof(text) - 1), -EINVAL);
	assert_contains(why, "x.csv:2: a control character (0x00)");
}

static void a_damaged_head_is_refused(void **state)
{
	(void)state;
	assert_refused(FIRST "# kernel 6.12\n", "x.csv:2: not '# key: value'");
	assert_refused(FIRST "#kernel: 6.12\n", "x.csv:2: not '# key: value'");
	assert_refused(FIRST "# : 6.12\n", "x.csv:2: not '# key: value'");
	assert_refused(FIRST "kernel\n", "x.csv:2: neither '# key: value' nor");
	assert_refused(FIRST COLUMNS, "x.csv:2: no stat line");
	assert_refused(FIRST "# scans: 12abc\n", "x.csv:2: scans: '12abc'");
	assert_refused(FIRST "# pages: -1\n", "x.csv:2: pages: '-1'");
	assert_refused(FIRST "# ksmd_cpu_ns: 18446744073709551616\n", "x.csv:2: ksmd_cpu_ns:");
	assert_refused(FIRST "# elapsed_s: inf\n", "x.csv:2: elapsed_s:");
	assert_refused(FIRST STAT STAT, "x.csv:3: a second stat line of calc_checksum");
	assert_refused(FIRST "# stat.: count=0\n", "x.csv:2: '' is no name of a function");
	assert_refused(FIRST "# stat.a,b: count=0\n", "x.csv:2: 'a,b' is no name of a function");
	assert_refused(FIRST "# batches.f: count=2 scans=1 var_ns2=1.0 lag1=0.0\n",
		       "x.csv:2: batches.f without a stat line");
	assert_refused(FIRST STAT "# batches.calc_checksum: count=2 scans=2 var_ns2=1 lag1=0\n",
		       "x.csv:3: batches.calc_checksum: more batches");
	assert_refused(FIRST STAT "# batches.calc_checksum: count=2 scans=1 var_ns2=1 lag1=7\n",
		       "x.csv:3: batches.calc_checksum must have");
}

static void a_damaged_stat_line_is_refused(void **state)
{
	static const char *const bad[] = {
		/* A number is missing, double, no number, too large, below zero. */
		"count=1 sum_ns=5 min_ns=5 max_ns=5 scans=1 scan_mean_ns=5.0",
		"count=1 count=1 sum_ns=5 min_ns=5 max_ns=5 scans=1 scan_mean_ns=5.0 "
		"scan_var_ns2=0",
		"count=1x sum_ns=5 min_ns=5 max_ns=5 scans=1 scan_mean_ns=5.0 scan_var_ns2=0",
		"count= sum_ns=5 min_ns=5 max_ns=5 scans=1 scan_mean_ns=5.0 scan_var_ns2=0",
		"count=1 sum_ns=99999999999999999999 min_ns=5 max_ns=5 scans=1 scan_mean_ns=5 "
		"scan_var_ns2=0",
		"count=1 sum_ns=5 min_ns=5 max_ns=5 scans=1 scan_mean_ns=nan scan_var_ns2=0",
		"count=1 sum_ns=5 min_ns=5 max_ns=5 scans=1 scan_mean_ns=5 scan_var_ns2=1e99",
		"count=1 sum_ns=5 min_ns=5 max_ns=5 scans=1 scan_mean_ns=5 scan_var_ns2=-1",
		/* They contradict each other. */
		"count=1 sum_ns=5 min_ns=6 max_ns=7 scans=1 scan_mean_ns=5 scan_var_ns2=0",
		"count=1 sum_ns=5 min_ns=5 max_ns=4 scans=1 scan_mean_ns=5 scan_var_ns2=0",
		"count=1 sum_ns=5 min_ns=5 max_ns=5 scans=2 scan_mean_ns=5 scan_var_ns2=0",
	};
	char text[512];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), FIRST "# stat.f: %s\n" COLUMNS "f,5,6,1\n", bad[i]);
		assert_refused(text, "x.csv:2: stat.f");
	}
}

static void damaged_rows_are_refused(void **state)
{
	(void)state;
#define HEAD FIRST STAT COLUMNS
	assert_refused(HEAD "calc_checksum,7,8\n", "x.csv:4: not four columns");
	assert_refused(HEAD "calc_checksum,7,8,1,\n", "x.csv:4: not four columns");
	assert_refused(HEAD "\n", "x.csv:4: not four columns");
	assert_refused(HEAD "# late: 1\n", "x.csv:4: not four columns");
	assert_refused(HEAD "other,7,8,4\n", "x.csv:4: 'other' has no stat line");
	assert_refused(HEAD "calc,7,8,4\n", "x.csv:4: 'calc' has no stat line");
	assert_refused(HEAD "calc_checksum,x,8,4\n", "x.csv:4: low_ns 'x'");
	assert_refused(HEAD "calc_checksum,7,8x,4\n", "x.csv:4: high_ns '8x'");
	assert_refused(HEAD "calc_checksum,7,8,4x\n", "x.csv:4: count '4x'");
	assert_refused(HEAD "calc_checksum,7,8, 4\n", "x.csv:4: count ' 4'");
	assert_refused(HEAD "calc_checksum,7,8,0\n", "x.csv:4: count '0'");
	assert_refused(HEAD "calc_checksum,7,8,\n", "x.csv:4: count ''");
	/* A hole or an overlap within a row, a bucket of another width, no end, an end too many. */
	assert_refused(HEAD "calc_checksum,7,9,4\n", "x.csv:4: 7 to 9 is no bucket");
	assert_refused(HEAD "calc_checksum,8,7,4\n", "x.csv:4: 8 to 7 is no bucket");
	assert_refused(HEAD "calc_checksum,1024,2048,4\n", "x.csv:4: 1024 to 2048 is no bucket");
	assert_refused(HEAD "calc_checksum,7,,4\n", "x.csv:4: 7 to (no end) is no bucket");
	assert_refused(HEAD "calc_checksum,68719476736,70866960384,4\n", "x.csv:4: 68719476736 to");
	assert_refused(HEAD "calc_checksum,68719476737,,4\n", "x.csv:4: 68719476737 to (no end)");
	/* Descending, twice the same. */
	assert_refused(HEAD "calc_checksum,8,9,3\ncalc_checksum,7,8,1\n",
		       "x.csv:5: the rows of calc_checksum do not ascend");
	assert_refused(HEAD "calc_checksum,7,8,3\ncalc_checksum,7,8,1\n",
		       "x.csv:5: the rows of calc_checksum do not ascend");
	assert_refused(HEAD "calc_checksum,7,8,18446744073709551615\ncalc_checksum,8,9,1\n",
		       "x.csv:5: the counts of calc_checksum add up to more");
}

static void counts_that_do_not_add_up_are_refused(void **state)
{
	static const char other[] = "# stat.f: count=1 sum_ns=5 min_ns=5 max_ns=5 scans=1 "
				    "scan_mean_ns=5 scan_var_ns2=0\n";
	char text[1024];

	(void)state;
	assert_refused(
		HEAD "calc_checksum,7,8,1\ncalc_checksum,1408,1440,4\n",
		"x.csv:5: the rows of calc_checksum add up to 5 calls, its stat line says 4");
	snprintf(text, sizeof(text), FIRST "%s" STAT COLUMNS "f,5,6,2\n" ROWS, other);
	assert_refused(text, "x.csv:6: the rows of f add up to 2 calls, its stat line says 1");
	snprintf(text, sizeof(text),
		 FIRST "%s" STAT COLUMNS "calc_checksum,7,8,4\nf,5,6,1\n"
		       "calc_checksum,8,9,1\n",
		 other);
	assert_refused(text, "x.csv:7: the rows of calc_checksum are not all together");
}

static void a_file_cut_anywhere_is_refused(void **state)
{
	size_t size;

	(void)state;
	for (size = 0; size < strlen(GOOD); size++) {
		struct recording r;

		assert_int_equal(read_bytes(&r, GOOD, size), -EINVAL);
		assert_memory_equal(why, "x.csv:", 6);
	}
	assert_refused(FIRST STAT COLUMNS,
		       "x.csv:3: the file is cut short: calc_checksum has no rows");
	assert_refused(FIRST STAT, "x.csv:3: the file is cut short: no line 'function,");
	assert_refused(HEAD "calc_checksum,7,8,4",
		       "x.csv:4: the file is cut short: this line has no end");
}

static void overlong_lines_and_heads_are_refused(void **state)
{
	size_t i, size = 1 << 20;
	char *text = malloc(size), *p;

	(void)state;
	p = text + sprintf(text, FIRST "# key: ");
	memset(p, 'x', RECORDING_LINE_MAX);
	strcpy(p + RECORDING_LINE_MAX, "\n");
	assert_refused(text, "x.csv:2: longer than 4096 bytes");
	p = text + sprintf(text, FIRST);
	for (i = 0; i < RECORDING_HEAD_MAX + 1; i++)
		p += sprintf(p, "# key%zu: x\n", i);
	assert_refused(text, "x.csv:4098: more than 4096 lines of head");
	p = text + sprintf(text, FIRST);
	for (i = 0; i < RECORDING_FUNCTIONS_MAX + 1; i++)
		p += sprintf(p,
			     "# stat.f%zu: count=0 sum_ns=0 min_ns=0 max_ns=0 scans=0 "
			     "scan_mean_ns=0.0 scan_var_ns2=0.0\n",
			     i);
	assert_refused(text, "x.csv:258: more than 256 functions");
	free(text);
}

/* 100,000 rows that are no recording end at the first that is wrong; that are one, are read. */
static void huge_files_are_read_or_refused(void **state)
{
	const unsigned int functions = 98, each = BUCKET_COUNT;
	char *text = malloc(8 << 20), *p = text;
	unsigned int f, i;

	(void)state;
	p += sprintf(p, FIRST "# stat.f: count=100000 sum_ns=100000 min_ns=1 max_ns=1 scans=0 "
			      "scan_mean_ns=0 scan_var_ns2=0\n" COLUMNS);
	for (i = 0; i < 100000; i++)
		p += sprintf(p, "f,%u,%u,1\n", i, i + 1);
	assert_refused(text, "x.csv:68: 64 to 65 is no bucket");
	p = text + sprintf(text, FIRST);
	for (f = 0; f < functions; f++)
		p += sprintf(p,
			     "# stat.f%u: count=%u sum_ns=%u min_ns=0 max_ns=68719476736 "
			     "scans=0 scan_mean_ns=0.0 scan_var_ns2=0.0\n",
			     f, each, each);
	p += sprintf(p, COLUMNS);
	for (f = 0; f < functions; f++) {
		for (i = 0; i < each - 1; i++)
			p += sprintf(p, "f%u,%llu,%llu,1\n", f, bucket_low(i), bucket_high(i));
		p += sprintf(p, "f%u,%llu,,1\n", f, bucket_low(i));
	}
	assert_kept(text);
	free(text);
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
	char *root = standin_new();
	struct recording r;
	char path[256];

	(void)state;
	recording_init(&r);
	snprintf(path, sizeof(path), "%s/none.csv", root);
	assert_int_equal(recording_load(&r, path, why, sizeof(why)), -ENOENT);
	assert_contains(why, path);
	assert_int_equal(recording_load(&r, root, why, sizeof(why)), -EISDIR);
	assert_contains(why, root);
	standin_write(root, "good.csv", GOOD);
	snprintf(path, sizeof(path), "%s/good.csv", root);
	assert_int_equal(recording_load(&r, path, why, sizeof(why)), 0);
	recording_release(&r);
	standin_free(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_recording_is_read),
		cmocka_unit_test(write_read_write_gives_the_same_bytes),
		cmocka_unit_test(what_this_version_does_not_know_is_kept),
		cmocka_unit_test(numbers_are_read_whole_or_not_at_all),
		cmocka_unit_test(foreign_files_are_refused),
		cmocka_unit_test(nul_bytes_are_refused),
		cmocka_unit_test(a_damaged_head_is_refused),
		cmocka_unit_test(a_damaged_stat_line_is_refused),
		cmocka_unit_test(damaged_rows_are_refused),
		cmocka_unit_test(counts_that_do_not_add_up_are_refused),
		cmocka_unit_test(a_file_cut_anywhere_is_refused),
		cmocka_unit_test(overlong_lines_and_heads_are_refused),
		cmocka_unit_test(huge_files_are_read_or_refused),
		cmocka_unit_test(a_file_that_cannot_be_read_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
