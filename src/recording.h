/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording: one run's head ("# key: value" lines, in order) and one histogram a function.
 * The file format is described in docs/recording.md.
 */
#ifndef KSMTRACE_RECORDING_H
#define KSMTRACE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "histogram.h"
#include "stats.h"

#define RECORDING_VERSION	1
#define RECORDING_COLUMNS	"function,low_ns,high_ns,count"
#define RECORDING_LINE_MAX	4096 /* bytes */
#define RECORDING_HEAD_MAX	4096 /* lines */
#define RECORDING_FUNCTIONS_MAX 256

struct recording_line {
	char *key;
	char *value;
};

/* A function's part: what its stat line says, and its buckets. */
struct recording_function {
	char name[64];
	uint64_t scans; /* that have a mean: see scan_mean_ns */
	double scan_mean_ns;
	double scan_var_ns2;
	struct stats_batch_summary batches; /* of the means of scans; .batches 0: not known */
	struct histogram histogram;
};

struct recording {
	struct recording_line *line; /* the head, without the first line */
	size_t lines;
	struct recording_function *function;
	size_t functions;
};

void recording_init(struct recording *r);
void recording_release(struct recording *r);

/* Appends a head line; the value is formatted and must hold no newline. Returns 0, -ENOMEM. */
int recording_add(struct recording *r, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Appends a function with its stat line, and its batches line when those are known. Returns 0 or
 * -ENOMEM. */
int recording_add_function(struct recording *r, const struct recording_function *function);

/* The value of a head line, or NULL. */
const char *recording_get(const struct recording *r, const char *key);

/* The same as a number. False when there is no such line, or it does not hold one ("unknown"):
 * *value is then untouched. */
bool recording_get_u64(const struct recording *r, const char *key, uint64_t *value);
bool recording_get_double(const struct recording *r, const char *key, double *value);

/* The function of that name, or NULL. */
const struct recording_function *recording_find(const struct recording *r, const char *name);

/* Writes head and rows. Write errors stay in the stream, for the caller to find. */
void recording_write(const struct recording *r, FILE *stream);

/*
 * Fills an empty recording from a stream or a file; what is written from it again is the same,
 * byte for byte. Functions and keys that this version does not know are kept. Returns 0;
 * -EINVAL for anything that is no whole recording of this version; -ENOMEM; the negative errno
 * of reading. On error why (size bytes) is a sentence that begins with the file's name and,
 * where there is one, the line: "before.csv:12: ..."; the recording is then empty again.
 */
int recording_read(struct recording *r, FILE *stream, const char *name, char *why, size_t size);
int recording_load(struct recording *r, const char *path, char *why, size_t size);

#endif
