// SPDX-License-Identifier: GPL-2.0-only
/* Files that appear whole or not at all; see output.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "output.h"

#define TEMPORARY_END ".XXXXXX"

static void release(struct output *out)
{
	free(out->path);
	free(out->temporary);
	memset(out, 0, sizeof(*out));
}

static int fail(struct output *out, const char *what, int err)
{
	log_error("cannot %s %s: %s", what, out->path ? out->path : "standard output",
		  strerror(-err));
	return err;
}

/* The owner and permissions that a plain open() would have given or left: mkstemp() is stricter. */
static void usual_mode(int fd, const struct stat *old)
{
	mode_t mask = umask(0);

	umask(mask);
	if (old && fchown(fd, old->st_uid, old->st_gid))
		log_debug("cannot set the owner of an output file: %s", strerror(errno));
	if (fchmod(fd, old ? old->st_mode & 0777 : 0666 & ~mask))
		log_debug("cannot set the mode of an output file: %s", strerror(errno));
}

int output_open(struct output *out, const char *path)
{
	struct stat st;
	int exists, fd;

	memset(out, 0, sizeof(*out));
	if (!strcmp(path, "-")) {
		out->stream = stdout;
		return 0;
	}
	if (!*path) {
		log_error("cannot write a file without a name");
		return -ENOENT;
	}
	/* What a symbolic link points to is replaced, not the link. */
	out->path = realpath(path, NULL);
	if (!out->path)
		out->path = strdup(path);
	if (!out->path)
		return -ENOMEM;
	path = out->path;
	exists = !stat(path, &st);
	if (exists && S_ISDIR(st.st_mode)) {
		fail(out, "write", -EISDIR);
		release(out);
		return -EISDIR;
	}
	if (exists && !S_ISREG(st.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
	} else if (asprintf(&out->temporary, "%s" TEMPORARY_END, path) < 0) {
		out->temporary = NULL;
		fd = -1;
	} else {
		fd = mkostemp(out->temporary, O_CLOEXEC);
	}
	if (fd >= 0) {
		if (out->temporary)
			usual_mode(fd, exists ? &st : NULL);
		out->stream = fdopen(fd, "w");
	}
	if (!out->stream) {
		int err = fail(out, "write", -errno);

		if (fd >= 0) {
			close(fd);
			if (out->temporary)
				unlink(out->temporary);
		}
		release(out);
		return err;
	}
	return 0;
}

bool output_same(const struct output *a, const struct output *b)
{
	char *x = a->temporary ? realpath(a->temporary, NULL) : NULL;
	char *y = b->temporary ? realpath(b->temporary, NULL) : NULL;
	/* The targets need not be there yet; the temporary files are, and only their ends differ. */
	bool same = x && y && strlen(x) == strlen(y) &&
		    !strncmp(x, y, strlen(x) - strlen(TEMPORARY_END));

	free(x);
	free(y);
	return same;
}

int output_commit(struct output *out)
{
	int err = 0;

	if (!out->stream)
		return 0;
	errno = 0;
	if (ferror(out->stream) || fflush(out->stream))
		err = errno ? -errno : -EIO;
	if (!err && out->temporary && fsync(fileno(out->stream)))
		err = -errno;
	if (out->stream != stdout && fclose(out->stream) && !err)
		err = -errno;
	out->stream = NULL;
	if (!err && out->temporary && rename(out->temporary, out->path))
		err = -errno;
	if (err) {
		fail(out, "write", err);
		if (out->temporary)
			unlink(out->temporary);
	}
	release(out);
	return err;
}

void output_abort(struct output *out)
{
	if (!out->stream)
		return;
	if (out->stream != stdout)
		fclose(out->stream);
	if (out->temporary)
		unlink(out->temporary);
	release(out);
}
