/* SPDX-License-Identifier: GPL-2.0-only */
/* For the unit tests: directories standing in for /sys and /proc, and a look at what other
 * processes say. Includes cmocka with what it needs before it. */
#ifndef STANDIN_H
#define STANDIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

UNUSED static char *standin_new(void)
{
	char *path = strdup("/tmp/ksmtrace-test.XXXXXX");

	assert_non_null(path);
	assert_non_null(mkdtemp(path));
	return path;
}

static inline int standin_unlink(const char *path, const struct stat *st, int type,
				 struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

UNUSED static void standin_free(char *path)
{
	char lock[PATH_MAX];

	nftw(path, standin_unlink, 16, FTW_DEPTH | FTW_PHYS);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	unlink(lock);
	free(path);
}

/* Writes size bytes to root/path, making the directories on the way. */
UNUSED static void standin_write_bytes(const char *root, const char *path, mode_t mode,
				       const void *bytes, size_t size)
{
	char full[PATH_MAX], *slash;
	FILE *file;

	assert_true(snprintf(full, sizeof(full), "%s/%s", root, path) < (int)sizeof(full));
	for (slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(full, 0755))
			assert_int_equal(errno, EEXIST);
		*slash = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
	chmod(full, mode);
}

UNUSED static void standin_write(const char *root, const char *path, const char *text)
{
	standin_write_bytes(root, path, 0644, text, strlen(text));
}

/* The first line of root/path; the buffer is overwritten by the next call. */
UNUSED static const char *standin_read(const char *root, const char *path)
{
	static char line[1024];
	char full[PATH_MAX];
	FILE *file;

	assert_true(snprintf(full, sizeof(full), "%s/%s", root, path) < (int)sizeof(full));
	file = fopen(full, "r");
	if (!file)
		return "(no such file)";
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

/* Whether root/path has that text within limit_ms. */
UNUSED static bool standin_becomes(const char *root, const char *path, const char *text,
				   int limit_ms)
{
	const struct timespec step = { .tv_nsec = 5000000 };

	for (; limit_ms > 0; limit_ms -= 5) {
		if (!strcmp(standin_read(root, path), text))
			return true;
		nanosleep(&step, NULL);
	}
	return false;
}

/* Standard error from here to standin_release() goes into a buffer of that call. */
struct standin_capture {
	FILE *file;
	int saved;
};

UNUSED static void standin_capture(struct standin_capture *capture)
{
	fflush(stderr);
	capture->file = tmpfile();
	assert_non_null(capture->file);
	capture->saved = dup(STDERR_FILENO);
	dup2(fileno(capture->file), STDERR_FILENO);
}

UNUSED static const char *standin_release(struct standin_capture *capture)
{
	static char text[8192];
	size_t n;

	fflush(stderr);
	dup2(capture->saved, STDERR_FILENO);
	close(capture->saved);
	rewind(capture->file);
	n = fread(text, 1, sizeof(text) - 1, capture->file);
	text[n] = '\0';
	fclose(capture->file);
	return text;
}

#define assert_contains(text, part)                                                                \
	do {                                                                                       \
		if (!strstr(text, part))                                                           \
			fail_msg("\"%s\" does not contain \"%s\"", text, part);                    \
	} while (0)

#endif
