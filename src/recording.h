/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording: one run's head ("# key: value" lines, in order) and one histogram a function.
 * The file format is described in docs/recording.md.
 */
#ifndef KSMTRACE_RECORDING_H
#define KSMTRACE_RECORDING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "histogram.h"

#define RECORDING_VERSION 1

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

/* Appends a function with its stat line. Returns 0 or -ENOMEM. */
int recording_add_function(struct recording *r, const struct recording_function *function);

/* The value of a head line, or NULL. */
const char *recording_get(const struct recording *r, const char *key);

/* Writes head and rows. Write errors stay in the stream, for the caller to find. */
void recording_write(const struct recording *r, FILE *stream);

#endif
