/* SPDX-License-Identifier: GPL-2.0-only */
/* The time between arming and the end: polling, limits, signals. */
#ifndef KSMTRACE_RUN_H
#define KSMTRACE_RUN_H

#include <stdint.h>

#include "ksm.h"
#include "session.h"
#include "tracer.h"

struct run_limits {
	uint64_t duration_ns; /* 0: none */
	uint64_t passes; /* 0: none; only looked at where the kernel side cannot */
};

/* Lets SIGINT, SIGTERM and SIGHUP end the run instead of the process; SIGPIPE and SIGXFSZ are
 * ignored: writing fails instead. Call it before anything that has to be undone. */
void run_catch_signals(void);

/* Whether such a signal came. */
int run_signals(void);

/* A descriptor that is readable from the first such signal on, or -1. */
int run_signal_fd(void);

uint64_t run_now_ns(void); /* CLOCK_MONOTONIC */

/*
 * Feeds the session from the armed tracer until a limit, a signal or a sink's failure, then
 * disarms, waits for the scan under way and finishes the tracer. begin_ns is when it was
 * armed. full_scans is polled where no tracepoint tells of passes. Returns 0 or a negative
 * errno of the tracer; a sink's failure is in session->error.
 */
int run_until_over(struct tracer *tracer, struct session *session, const struct ksm *ksm,
		   const struct run_limits *limits, uint64_t begin_ns, uint64_t full_scans);

#endif
