// SPDX-License-Identifier: GPL-2.0-only
/* A comparison as plain text, at most 72 columns wide. */
#include <math.h>
#include <string.h>

#include "out_compare.h"

#define WIDTH	     72
#define LABEL_WIDTH  16
#define COLUMNS	     3 /* sides beside each other; the others follow below */
#define COLUMN_MAX   18
#define MATRIX_LABEL 4
#define MATRIX_CELL  9

/* A paragraph: the first line begins with lead, the others are indented as far. Words that are
 * longer than a line stay whole: a file's name cut in two is no use. */
static void paragraph(FILE *out, const char *lead, const char *text)
{
	size_t indent = strlen(lead), column = indent, n;

	fputs(lead, out);
	while (*text) {
		n = strcspn(text, " ");
		if (column > indent && column + 1 + n > WIDTH) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", (int)n, text);
		column += n;
		text += n;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void legend(FILE *out, const struct comparison *c)
{
	char text[COMPARE_TEXT_MAX], lead[COMPARE_LABEL_MAX + 4];
	size_t s;

	for (s = 0; s < c->sides; s++) {
		snprintf(lead, sizeof(lead), "%-2s ", c->side[s].label);
		paragraph(out, lead, compare_files_text(text, &c->side[s]));
		paragraph(out, "   ", compare_machine_text(text, &c->side[s]));
		paragraph(out, "   ", compare_amount_text(text, &c->side[s]));
	}
}

static void findings(FILE *out, const struct comparison *c)
{
	size_t i;

	if (!c->findings)
		return;
	fputs("\nThis comparison is unfair:\n", out);
	for (i = 0; i < c->findings; i++)
		paragraph(out, "- ", c->finding[i].text);
}

/* The rows for the sides from first on that fit beside each other. */
static void table(FILE *out, const struct comparison *c, const char *title,
		  const struct compare_row *row, size_t function, size_t first)
{
	size_t end = first + COLUMNS < c->sides ? first + COLUMNS : c->sides, s;
	int width = (WIDTH - LABEL_WIDTH) / (int)(end - first);
	char cell[COMPARE_CELL_MAX];

	if (width > COLUMN_MAX)
		width = COLUMN_MAX;
	fprintf(out, "\n%-*s", LABEL_WIDTH, title);
	/* A long title has the columns' heads moved along, not cut. */
	for (s = first; s < end; s++)
		fprintf(out, "%*s",
			s == first && strlen(title) > LABEL_WIDTH
				? width - (int)(strlen(title) - LABEL_WIDTH)
				: width,
			c->side[s].label);
	fputc('\n', out);
	for (; row->label; row++) {
		if (!compare_row_used(row, c, function))
			continue;
		fprintf(out, "%-*s", LABEL_WIDTH, row->label);
		for (s = first; s < end; s++) {
			row->put(cell, c, function, s, row->quantile);
			fprintf(out, "%*s", width, cell);
		}
		fputc('\n', out);
	}
}

static void tables(FILE *out, const struct comparison *c, const char *title,
		   const struct compare_row *rows, size_t function)
{
	size_t first;

	for (first = 0; first < c->sides; first += COLUMNS)
		table(out, c, title, rows, function, first);
}

static void verdicts(FILE *out, const struct comparison *c, size_t function)
{
	char text[COMPARE_TEXT_MAX], lead[2 * COMPARE_LABEL_MAX], change[COMPARE_CELL_MAX];
	char uneven[COMPARE_TEXT_MAX];
	size_t s;

	for (s = 1; s < c->sides; s++) {
		if (!c->side[0].cell[function].runs || !c->side[s].cell[function].runs)
			continue;
		snprintf(lead, sizeof(lead), "%s: ", c->side[s].label);
		paragraph(out, lead, compare_verdict_text(text, &c->side[s].cell[function]));
		if (!compare_uneven(c, function, s))
			continue;
		compare_percent_text(change, compare_call_change(c, function, s));
		snprintf(uneven, sizeof(uneven),
			 "(of the mean of scans; that of all calls changed by "
			 "%s: scans with many calls differ from others)",
			 change);
		paragraph(out, "   ", uneven);
	}
}

static void matrix(FILE *out, const struct comparison *c, size_t function)
{
	const size_t columns = (WIDTH - MATRIX_LABEL) / MATRIX_CELL;
	char text[COMPARE_TEXT_MAX], lead[2 * COMPARE_LABEL_MAX];
	size_t first, row, s;

	fprintf(out, "\n%s: mean in ns, decrease in percent\n", c->function[function]);
	for (s = 1; s < c->sides; s++) {
		snprintf(lead, sizeof(lead), "%-2s", c->side[s].label);
		fprintf(out, "%s to %s  %s\n", c->side[0].label, lead,
			compare_decrease_text(text, c, function, 0, s));
	}
	for (first = 0; first < c->sides; first += columns) {
		fprintf(out, "%-*s", MATRIX_LABEL, "");
		for (s = first; s < c->sides && s < first + columns; s++)
			fprintf(out, "%*s", MATRIX_CELL, c->side[s].label);
		fputc('\n', out);
		for (row = 0; row < c->sides; row++) {
			fprintf(out, "%-*s", MATRIX_LABEL, c->side[row].label);
			for (s = first; s < c->sides && s < first + columns; s++) {
				double d = compare_decrease(c, function, row, s);

				if (row == s || isnan(d))
					fprintf(out, "%*s", MATRIX_CELL, "-");
				else
					fprintf(out, "%*.2f", MATRIX_CELL, d);
			}
			fputc('\n', out);
		}
	}
}

void compare_put_text(FILE *out, const struct comparison *c)
{
	const char *note;
	unsigned int n;
	size_t f;

	legend(out, c);
	findings(out, c);
	for (f = 0; f < c->functions; f++) {
		tables(out, c, c->function[f], compare_function_rows, f);
		verdicts(out, c, f);
	}
	tables(out, c, "whole run", compare_ksmd_rows, 0);
	for (f = 0; c->sides > 2 && f < c->functions; f++)
		matrix(out, c, f);
	for (n = 0; (note = compare_note(c, n)); n++) {
		if (!n)
			fputc('\n', out);
		paragraph(out, "", note);
	}
}
