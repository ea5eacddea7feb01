// SPDX-License-Identifier: GPL-2.0-only
/* Whatever is in a plan file: it is refused with a reason, or it survives being written and
 * read again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, size_t size)
{
	struct plan plan;
	char why[200] = "";
	int fn;

	if (plan_parse(text, size, "fuzz", &plan, why, sizeof(why))) {
		if (!*why)
			abort();
		return;
	}
	for (fn = 0; fn < FN_COUNT; fn++)
		if (plan.fn[fn].entries > SITES_MAX || plan.fn[fn].exits > SITES_MAX ||
		    !plan.fn[fn].entries != !plan.fn[fn].exits)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 64);
	size_t n;

	if (!text)
		return 0;
	memcpy(text, data, size);
	check(text, size);
	/* The checksum would keep all else from being reached: once more with the right one. */
	n = (size_t)sprintf(text, "ksmtrace-plan 1\n");
	memcpy(text + n, data, size);
	n += size;
	text = realloc(text, n + 64);
	if (!text)
		return 0;
	if (text[n - 1] != '\n')
		text[n++] = '\n';
	n += (size_t)sprintf(text + n, "end %08lx\n", crc32(0, (const Bytef *)text, (uInt)n));
	check(text, n);
	free(text);
	return 0;
}
