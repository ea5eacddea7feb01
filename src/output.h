/* SPDX-License-Identifier: GPL-2.0-only */
/* Output files: written under a temporary name beside the target and renamed when whole. */
#ifndef KSMTRACE_OUTPUT_H
#define KSMTRACE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct output {
	FILE *stream;
	char *path; /* the target; NULL for standard output */
	char *temporary; /* NULL when the target is written directly */
};

/*
 * Opens path for writing: "-" is standard output; what exists and is no regular file (a
 * device, a pipe) is written directly; a symbolic link stays one. Returns 0 or a negative errno; the error is logged.
 */
int output_open(struct output *out, const char *path);

/* Whether one would replace what the other has written. */
bool output_same(const struct output *a, const struct output *b);

/*
 * Flushes everything to the disk and puts the file in its place. The error of any write since
 * the opening is found here, logged with the path, and returned; the target is then as it was
 * before.
 */
int output_commit(struct output *out);

/* Gives the file up: the target stays as it was. For an output that is not open: nothing. */
void output_abort(struct output *out);

#endif
