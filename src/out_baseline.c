// SPDX-License-Identifier: GPL-2.0-only
/* The end of a run with --baseline: the recording compared with what was just seen. */
#include <errno.h>

#include "compare.h"
#include "out_compare.h"
#include "sinks.h"

int baseline_compare(FILE *stream, const char *file, struct recording *baseline,
		     const struct session *session, bool json)
{
	struct comparison c;
	struct recording run;
	int err;

	compare_init(&c);
	recording_init(&run);
	err = compare_add_side(&c);
	if (!err)
		err = compare_add_run(&c, file, baseline);
	if (!err)
		err = compare_add_side(&c);
	if (!err)
		err = session_to_recording(session, &run);
	if (!err)
		err = compare_add_run(&c, "this run", &run);
	if (!err)
		err = compare_finish(&c);
	if (!err && json)
		err = compare_put_json(stream, &c, true);
	if (!err && !json) {
		fputc('\n', stream);
		compare_put_text(stream, &c);
	}
	if (!err && (fflush(stream) || ferror(stream)))
		err = errno ? -errno : -EIO;
	recording_release(&run);
	compare_release(&c);
	return err;
}
