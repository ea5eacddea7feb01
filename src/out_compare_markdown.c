// SPDX-License-Identifier: GPL-2.0-only
/* A comparison as Markdown tables, to paste into a patch's cover letter or a report. */
#include <math.h>
#include <string.h>

#include "out_compare.h"

/* Text in a table or a list: what would be taken for markup is escaped. */
static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\|*_`<>[]", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void legend(FILE *out, const struct comparison *c)
{
	char text[COMPARE_TEXT_MAX];
	size_t s;

	for (s = 0; s < c->sides; s++) {
		fprintf(out, "- **%s** ", c->side[s].label);
		put_escaped(out, compare_files_text(text, &c->side[s]));
		fputs(": ", out);
		put_escaped(out, compare_machine_text(text, &c->side[s]));
		fprintf(out, "; %s\n", compare_amount_text(text, &c->side[s]));
	}
	if (!c->findings)
		return;
	fputs("\nThis comparison is unfair:\n\n", out);
	for (s = 0; s < c->findings; s++) {
		fputs("- ", out);
		put_escaped(out, c->finding[s].text);
		fputc('\n', out);
	}
}

static void table_head(FILE *out, const struct comparison *c, const char *title)
{
	size_t s;

	fputs("\n| ", out);
	put_escaped(out, title);
	fputs(" |", out);
	for (s = 0; s < c->sides; s++)
		fprintf(out, " %s |", c->side[s].label);
	fputs("\n|:---|", out);
	for (s = 0; s < c->sides; s++)
		fputs("---:|", out);
	fputc('\n', out);
}

static void rows(FILE *out, const struct comparison *c, const struct compare_row *row,
		 size_t function)
{
	char cell[COMPARE_CELL_MAX];
	size_t s;

	for (; row->label; row++) {
		if (!compare_row_used(row, c, function))
			continue;
		fprintf(out, "| %s |", row->label);
		for (s = 0; s < c->sides; s++) {
			row->put(cell, c, function, s, row->quantile);
			fprintf(out, " %s |", cell);
		}
		fputc('\n', out);
	}
}

static void verdict_row(FILE *out, const struct comparison *c, size_t function)
{
	char text[COMPARE_TEXT_MAX];
	size_t s;

	fputs("| change | base |", out);
	for (s = 1; s < c->sides; s++) {
		const struct compare_cell *cell = &c->side[s].cell[function];
		bool both = cell->runs && c->side[0].cell[function].runs;

		fprintf(out, " %s |", both ? compare_verdict_text(text, cell) : "-");
	}
	fputc('\n', out);
}

static void matrix(FILE *out, const struct comparison *c, size_t function)
{
	char title[128];
	size_t row, s;

	snprintf(title, sizeof(title), "%s: decrease of the mean in %%", c->function[function]);
	table_head(out, c, title);
	for (row = 0; row < c->sides; row++) {
		fprintf(out, "| %s |", c->side[row].label);
		for (s = 0; s < c->sides; s++) {
			double d = compare_decrease(c, function, row, s);

			if (row == s || isnan(d))
				fputs(" - |", out);
			else
				fprintf(out, " %.2f |", d);
		}
		fputc('\n', out);
	}
}

void compare_put_markdown(FILE *out, const struct comparison *c)
{
	const char *note;
	unsigned int n;
	size_t f;

	legend(out, c);
	for (f = 0; f < c->functions; f++) {
		table_head(out, c, c->function[f]);
		rows(out, c, compare_function_rows, f);
		verdict_row(out, c, f);
	}
	table_head(out, c, "whole run");
	rows(out, c, compare_ksmd_rows, 0);
	for (f = 0; c->sides > 2 && f < c->functions; f++)
		matrix(out, c, f);
	for (n = 0; (note = compare_note(c, n)); n++)
		fprintf(out, "\n%s\n", note);
}
