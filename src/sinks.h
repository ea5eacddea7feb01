/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a session's lines and totals go: one constructor a sink, each in out_*.c. */
#ifndef KSMTRACE_SINKS_H
#define KSMTRACE_SINKS_H

#include <stdio.h>

#include "recording.h"
#include "session.h"

/* The live table, a line at a time. The stream stays the caller's. With a baseline in the session
 * each mean has its change against it in a column beside it. */
struct sink sink_table(FILE *stream);

/* The summary at the end, for people. */
struct sink sink_summary(FILE *stream);

/* JSON lines; see docs/json.md. */
struct sink sink_json(FILE *stream);

/* CSV with one row a scan. The stream stays the caller's. */
struct sink sink_scans_csv(FILE *stream);

/* Fills an empty recording from a finished session. Returns 0 or -ENOMEM. */
int session_to_recording(const struct session *session, struct recording *recording);

/* A finished session compared with a recording, which is used up: as text, or as a JSON line.
 * file is what the recording is called. Returns 0 or a negative errno. */
int baseline_compare(FILE *stream, const char *file, struct recording *baseline,
		     const struct session *session, bool json);

#endif
