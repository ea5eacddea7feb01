/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a session's lines and totals go: one constructor a sink, each in out_*.c. */
#ifndef KSMTRACE_SINKS_H
#define KSMTRACE_SINKS_H

#include <stdio.h>

#include "recording.h"
#include "session.h"

/* The live table, a line at a time. The stream stays the caller's. */
struct sink sink_table(FILE *stream);

/* The summary at the end, for people. */
struct sink sink_summary(FILE *stream);

/* JSON lines; see docs/json.md. */
struct sink sink_json(FILE *stream);

/* CSV with one row a scan. The stream stays the caller's. */
struct sink sink_scans_csv(FILE *stream);

/* Fills an empty recording from a finished session. Returns 0 or -ENOMEM. */
int session_to_recording(const struct session *session, struct recording *recording);

#endif
