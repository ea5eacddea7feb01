// SPDX-License-Identifier: GPL-2.0-only
/* Reading a recording: no input may crash the reader, and what it accepts must be written so that
 * it is read again, to the same bytes; comparing it with itself must show no difference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* False when it is no recording. */
static bool read_text(const void *text, size_t size, struct recording *r)
{
	FILE *stream = fmemopen((void *)(uintptr_t)text, size, "r");
	char why[256];
	int err;

	if (!stream)
		return false;
	recording_init(r);
	err = recording_read(r, stream, "input", why, sizeof(why));
	fclose(stream);
	if (err && strncmp(why, "input", 5))
		abort();
	return !err;
}

static char *write_text(const struct recording *r, size_t *size)
{
	char *text = NULL;
	FILE *stream = open_memstream(&text, size);

	if (!stream)
		abort();
	recording_write(r, stream);
	fclose(stream);
	return text;
}

static void compare_with_itself(struct recording *a, struct recording *b)
{
	struct comparison c;
	size_t f;

	compare_init(&c);
	if (compare_add_side(&c) || compare_add_run(&c, "a", a) || compare_add_side(&c) ||
	    compare_add_run(&c, "b", b) || compare_finish(&c))
		abort();
	for (f = 0; f < c.functions; f++)
		if (c.side[1].cell[f].verdict != STATS_NOT_SHOWN)
			abort();
	compare_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recording first, second;
	char *once, *twice;
	size_t once_size, twice_size;

	if (!size || !read_text(data, size, &first))
		return 0;
	once = write_text(&first, &once_size);
	if (!read_text(once, once_size, &second))
		abort();
	twice = write_text(&second, &twice_size);
	if (once_size != twice_size || memcmp(once, twice, once_size))
		abort();
	free(once);
	free(twice);
	compare_with_itself(&first, &second);
	return 0;
}
