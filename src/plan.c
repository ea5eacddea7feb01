// SPDX-License-Identifier: GPL-2.0-only
/* Plans: reading, writing, finding; see plan.h. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "host.h"
#include "log.h"
#include "output.h"
#include "parse.h"
#include "plan.h"

#define MAGIC	 "ksmtrace-plan "
#define FORMAT	 1
#define PLAN_MAX 65536 /* bytes of a file */

/* --- kernels -----------------------------------------------------------------------------------
 */

int kernel_id_running(struct kernel_id *id)
{
	struct host host;

	memset(id, 0, sizeof(*id));
	host_read(NULL, &host);
	snprintf(id->release, sizeof(id->release), "%s", host.release);
	snprintf(id->machine, sizeof(id->machine), "%.15s", host.arch);
	if (!host.build_id_size || host.build_id_size > BUILD_ID_MAX)
		return -ENODATA;
	memcpy(id->build_id, host.build_id, host.build_id_size);
	id->build_id_size = (unsigned int)host.build_id_size;
	return 0;
}

void kernel_id_hex(const struct kernel_id *id, char *text)
{
	unsigned int i;

	*text = '\0';
	for (i = 0; i < id->build_id_size && i < BUILD_ID_MAX; i++)
		sprintf(text + 2 * i, "%02x", id->build_id[i]);
}

bool kernel_id_same(const struct kernel_id *a, const struct kernel_id *b)
{
	return a->build_id_size && a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size);
}

/* --- writing -----------------------------------------------------------------------------------
 */

static void write_sites(FILE *f, const char *function, const char *what, const struct site *site,
			unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		fprintf(f, "%s %s %s+0x%x\n", function, what, site[i].symbol, site[i].offset);
}

static int write_plan(const struct plan *plan, FILE *out)
{
	char hex[2 * BUILD_ID_MAX + 1], *text = NULL;
	size_t size = 0;
	int fn, err = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	kernel_id_hex(&plan->kernel, hex);
	fprintf(f, MAGIC "%d\n", FORMAT);
	fprintf(f, "# Where inlined functions begin and end in this one kernel.\n");
	fprintf(f, "build-id %s\nrelease %s\nmachine %s\n", hex, plan->kernel.release,
		plan->kernel.machine);
	for (fn = 0; fn < FN_COUNT; fn++) {
		const struct fn_sites *sites = &plan->fn[fn];
		const char *name = function_name((enum ksmtrace_function)fn);

		if (sites->source == SITE_NONE)
			continue;
		write_sites(f, name, "entry", sites->entry, sites->entries);
		write_sites(f, name, "exit", sites->exit, sites->exits);
	}
	if (fclose(f))
		err = -ENOMEM;
	if (!err && fprintf(out, "%send %08lx\n", text, crc32(0, (Bytef *)text, (uInt)size)) < 0)
		err = -EIO;
	free(text);
	return err;
}

int plan_save(const struct plan *plan, const char *path)
{
	struct output out;
	int err = output_open(&out, path);

	if (err)
		return err;
	err = write_plan(plan, out.stream);
	if (!err)
		return output_commit(&out);
	log_error("%s: %s", path, strerror(-err));
	output_abort(&out);
	return err;
}

/* --- reading -----------------------------------------------------------------------------------
 */

struct reader {
	const char *name;     /* of the file */
	const char *original; /* its text; the lines are cut out of a copy */
	unsigned int line;
	char *why;
	size_t why_size;
};

static int __attribute__((format(printf, 3, 4)))
damaged(const struct reader *r, int err, const char *format, ...)
{
	size_t used = (size_t)snprintf(r->why, r->why_size, "%s, line %u: ", r->name, r->line);
	va_list args;

	va_start(args, format);
	if (used < r->why_size)
		vsnprintf(r->why + used, r->why_size - used, format, args);
	va_end(args);
	return err;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int parse_build_id(const char *text, struct kernel_id *id)
{
	size_t length = strlen(text), i;

	if (!length || length % 2 || length / 2 > BUILD_ID_MAX || id->build_id_size)
		return -EINVAL;
	for (i = 0; i < length; i += 2) {
		int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		id->build_id[i / 2] = (uint8_t)(high << 4 | low);
	}
	id->build_id_size = (unsigned int)(length / 2);
	return 0;
}

/* SYMBOL+0xOFFSET */
static int parse_site(const char *text, struct site *site)
{
	const char *plus = strchr(text, '+');
	size_t length = plus ? (size_t)(plus - text) : 0, i;
	uint32_t offset = 0;

	if (!length || length >= sizeof(site->symbol) || plus[1] != '0' || plus[2] != 'x' ||
	    !plus[3] || strlen(plus + 3) > 6)
		return -EINVAL;
	for (i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '.')
			return -EINVAL;
	for (i = 3; plus[i]; i++) {
		int digit = hex_digit(plus[i]);

		if (digit < 0)
			return -EINVAL;
		offset = offset << 4 | (uint32_t)digit;
	}
	memset(site, 0, sizeof(*site)); /* sites are compared as memory */
	memcpy(site->symbol, text, length);
	site->offset = offset;
	return 0;
}

/* FUNCTION entry|exit SITE; key is the first word. */
static int read_site(const struct reader *r, const char *key, char *rest, struct plan *plan)
{
	char *text = strchr(rest, ' ');
	enum ksmtrace_function fn;
	struct fn_sites *sites;
	struct site site = { 0 };
	bool entry;

	if (function_by_name(key, strlen(key), &fn))
		return damaged(r, -EINVAL, "'%.32s' is neither a function nor a keyword", key);
	if (!text)
		return damaged(r, -EINVAL, "'entry SITE' or 'exit SITE' is missing");
	*text++ = '\0';
	entry = !strcmp(rest, "entry");
	if (!entry && strcmp(rest, "exit"))
		return damaged(r, -EINVAL, "'%.32s' is neither entry nor exit", rest);
	if (parse_site(text, &site))
		return damaged(r, -EINVAL, "'%.96s' is not SYMBOL+0xOFFSET", text);
	sites = &plan->fn[fn];
	if ((entry ? sites->entries : sites->exits) == SITES_MAX)
		return damaged(r, -EINVAL, "more than %d sites", SITES_MAX);
	if (entry)
		sites->entry[sites->entries++] = site;
	else
		sites->exit[sites->exits++] = site;
	sites->source = SITE_PLAN;
	return 0;
}

static int set_word(const struct reader *r, const char *key, const char *value, char *to,
		    size_t size)
{
	if (*to || !*value || strlen(value) >= size)
		return damaged(r, -EINVAL, "%s is not one word, once", key);
	strcpy(to, value);
	return 0;
}

static int read_line(const struct reader *r, char *line, struct plan *plan)
{
	char *rest = strchr(line, ' ');
	const char *p;

	for (p = line; *p; p++)
		if (!isprint((unsigned char)*p))
			return damaged(r, -EINVAL, "not plain text");
	if (!*line || *line == '#')
		return 0;
	if (!rest)
		return damaged(r, -EINVAL, "'%.32s' has no value", line);
	*rest++ = '\0';
	if (!strcmp(line, "build-id"))
		return parse_build_id(rest, &plan->kernel)
			       ? damaged(r, -EINVAL, "not one build-id in hexadecimal digits")
			       : 0;
	if (!strcmp(line, "release"))
		return set_word(r, line, rest, plan->kernel.release, RELEASE_MAX);
	if (!strcmp(line, "machine"))
		return set_word(r, line, rest, plan->kernel.machine, sizeof(plan->kernel.machine));
	return read_site(r, line, rest, plan);
}

/* What only the whole file shows. */
static int check_plan(const struct reader *r, const struct plan *plan)
{
	int fn;

	if (!plan->kernel.build_id_size)
		return damaged(r, -EINVAL, "it names no build-id");
	for (fn = 0; fn < FN_COUNT; fn++)
		if (!plan->fn[fn].entries != !plan->fn[fn].exits)
			return damaged(r, -EINVAL, "%s has entries or exits, but not both",
				       function_name((enum ksmtrace_function)fn));
	return 0;
}

static int read_lines(struct reader *r, char *text, size_t size, struct plan *plan)
{
	char *line = text, *next, expected[32];
	uint64_t format;
	int err;

	for (; line < text + size; line = next) {
		char *end = memchr(line, '\n', (size_t)(text + size - line));

		r->line++;
		if (!end)
			return damaged(r, -EINVAL, "the line does not end");
		*end = '\0';
		next = end + 1;
		if (strlen(line) != (size_t)(end - line))
			return damaged(r, -EINVAL, "not plain text");
		if (r->line == 1) {
			if (strncmp(line, MAGIC, sizeof(MAGIC) - 1))
				return damaged(r, -EINVAL, "not a plan");
			if (parse_u64(line + sizeof(MAGIC) - 1, FORMAT, FORMAT, &format))
				return damaged(r, -ENOTSUP, "a plan of another format: '%.32s'",
					       line);
		} else if (!strncmp(line, "end ", 4)) {
			if (next != text + size)
				return damaged(r, -EINVAL, "text follows the end");
			snprintf(expected, sizeof(expected), "end %08lx",
				 crc32(0, (const Bytef *)r->original, (uInt)(line - text)));
			if (strcmp(line, expected))
				return damaged(r, -EINVAL,
					       "the checksum is wrong: the file was "
					       "changed by hand or damaged");
			return check_plan(r, plan);
		} else {
			err = read_line(r, line, plan);
			if (err)
				return err;
		}
	}
	return damaged(r, -EINVAL, "the end is missing");
}

int plan_parse(const char *text, size_t size, const char *name, struct plan *plan, char *why,
	       size_t why_size)
{
	struct reader r = { .name = name, .original = text, .why = why, .why_size = why_size };
	char *copy = malloc(size + 1);
	int err;

	memset(plan, 0, sizeof(*plan));
	if (!copy)
		return damaged(&r, -ENOMEM, "out of memory");
	memcpy(copy, text, size);
	copy[size] = '\0';
	err = read_lines(&r, copy, size, plan);
	free(copy);
	return err;
}

int plan_load(const char *path, struct plan *plan, char *why, size_t why_size)
{
	char *text = malloc(PLAN_MAX + 1);
	size_t size;
	FILE *f = fopen(path, "re");
	int err = f ? 0 : -errno;

	if (!err && !text)
		err = -ENOMEM;
	if (!err) {
		size = fread(text, 1, PLAN_MAX + 1, f);
		if (ferror(f))
			err = -EIO;
		else if (size > PLAN_MAX)
			err = -EFBIG;
		else
			err = plan_parse(text, size, path, plan, why, why_size);
	}
	if (err == -EIO || err == -EFBIG || err == -ENOMEM || !f)
		snprintf(why, why_size, "%s: %s", path, strerror(-err));
	if (f)
		fclose(f);
	free(text);
	return err;
}

/* --- finding -----------------------------------------------------------------------------------
 */

static int load_for(const struct kernel_id *kernel, const char *path, struct plan *plan, char *why,
		    size_t why_size)
{
	char have[2 * BUILD_ID_MAX + 1], want[2 * BUILD_ID_MAX + 1];
	int err = plan_load(path, plan, why, why_size);

	if (err || kernel_id_same(&plan->kernel, kernel))
		return err;
	kernel_id_hex(&plan->kernel, have);
	kernel_id_hex(kernel, want);
	snprintf(why, why_size, "%s is for another kernel: its build-id is %s, this kernel's %s",
		 path, have, *want ? want : "not known");
	return -ESTALE;
}

/* plans/ beside the directory that the program is in, as in a source tree after make. */
static int source_tree(char *directory, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", directory, size - 1);
	int level;

	if (n < 0)
		return -errno;
	directory[n] = '\0';
	for (level = 0; level < 2; level++) {
		char *slash = strrchr(directory, '/');

		if (!slash)
			return -ENOENT;
		*slash = '\0';
	}
	if (strlen(directory) + sizeof("/plans") > size)
		return -ENAMETOOLONG;
	strcat(directory, "/plans");
	return 0;
}

int plan_find(const struct kernel_id *kernel, const char *path, struct plan *plan, char *why,
	      size_t why_size)
{
	const char *directories[] = { "/etc/ksmtrace/plans", PREFIX "/share/ksmtrace/plans", NULL };
	char hex[2 * BUILD_ID_MAX + 1], tree[PATH_MAX], name[PATH_MAX + sizeof(hex) + 8];
	size_t i;
	int err;

	if (path)
		return load_for(kernel, path, plan, why, why_size);
	kernel_id_hex(kernel, hex);
	if (!source_tree(tree, sizeof(tree)))
		directories[2] = tree;
	for (i = 0; *hex && i < sizeof(directories) / sizeof(directories[0]); i++) {
		if (!directories[i])
			continue;
		snprintf(name, sizeof(name), "%s/%s.plan", directories[i], hex);
		err = load_for(kernel, name, plan, why, why_size);
		if (err != -ENOENT && err != -ENOTDIR && err != -EACCES)
			return err;
	}
	snprintf(why, why_size, "there is no plan for this kernel");
	return -ENOENT;
}
