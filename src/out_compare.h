/* SPDX-License-Identifier: GPL-2.0-only */
/* A comparison on a stream, in four forms; see docs/comparing.md. Write errors stay in the stream,
 * for the caller to find. */
#ifndef KSMTRACE_OUT_COMPARE_H
#define KSMTRACE_OUT_COMPARE_H

#include <stdio.h>

#include "compare.h"

void compare_put_text(FILE *out, const struct comparison *c); /* 72 columns, as mail wants */
void compare_put_markdown(FILE *out, const struct comparison *c);
void compare_put_csv(FILE *out, const struct comparison *c);

/* One object, on one line when it is one of several ("type": "compare" tells it from the others).
 * Returns 0 or -ENOMEM. */
int compare_put_json(FILE *out, const struct comparison *c, bool line);

/* --- what text and Markdown have in common -------------------------------------------------- */

#define COMPARE_CELL_MAX 48
#define COMPARE_TEXT_MAX 256

/* A row of a table: its label, and what it says of a side ("-": nothing). put() fills buffer, of
 * COMPARE_CELL_MAX bytes. */
struct compare_row {
	const char *label;
	void (*put)(char *buffer, const struct comparison *c, size_t function, size_t side,
		    double quantile);
	double quantile;
};

/* Both end with a row without a label. */
extern const struct compare_row compare_function_rows[];
extern const struct compare_row compare_ksmd_rows[];

/* Whether the row has anything to say of any side. */
bool compare_row_used(const struct compare_row *row, const struct comparison *c, size_t function);

/* A change in percent: "-72.44 %". Returns buffer, of COMPARE_CELL_MAX bytes. */
char *compare_percent_text(char *buffer, double percent);

/* These fill buffer, of COMPARE_TEXT_MAX bytes, and return it. */

/* The files of a side. */
char *compare_files_text(char *buffer, const struct compare_side *side);
/* What it ran on, "Linux 6.1.0, x86_64, AMD EPYC, hash xxh64"; how much it saw. */
char *compare_machine_text(char *buffer, const struct compare_side *side);
char *compare_amount_text(char *buffer, const struct compare_side *side);
/* "no difference shown: -0.35 % (95 %: -1.24 to +0.53), ratio 0.9965" */
char *compare_verdict_text(char *buffer, const struct compare_cell *cell);
/* "5128.30 -> 1413.16: 72.44 %", as kernel changelogs put it. */
char *compare_decrease_text(char *buffer, const struct comparison *c, size_t function, size_t from,
			    size_t to);

/* By how much the mean over all calls is lower on one side than on another, in percent. */
double compare_decrease(const struct comparison *c, size_t function, size_t from, size_t to);

/* What the reader has to know of how the intervals came about; NULL after the last one. */
const char *compare_note(const struct comparison *c, unsigned int index);

/* A function whose change over all calls is not inside the interval for scans. */
bool compare_uneven(const struct comparison *c, size_t function, size_t side);

#endif
