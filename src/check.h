/* SPDX-License-Identifier: GPL-2.0-only */
/* What must be true of the counts of a run if every hook sees all of its function's calls:
 * the functions against each other, and against the kernel's own counters. */
#ifndef KSMTRACE_CHECK_H
#define KSMTRACE_CHECK_H

#include <stdbool.h>

#include "session.h"

enum check_result { CHECK_PASSED, CHECK_FAILED, CHECK_IMPOSSIBLE };

struct check {
	const char *name; /* as in "# check.NAME" of a recording */
	enum check_result result;
	char text[160]; /* both figures, or why it is impossible */
};

#define CHECK_COUNT 3

/* Makes all checks on what has been counted so far. It must not be called inside a scan's
 * record, that is, only from a sink or between polls. */
void check_session(const struct session *session, struct check check[CHECK_COUNT]);

/* Makes all checks and logs a warning for each that has failed. Returns whether none has. */
bool check_and_tell(const struct session *session);

#endif
