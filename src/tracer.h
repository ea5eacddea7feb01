/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel side's life: open, load, attach, arm, poll, finish. It decodes the ring buffer's
 * records, proves that none is missing and hands them on.
 */
#ifndef KSMTRACE_TRACER_H
#define KSMTRACE_TRACER_H

#include <stdbool.h>
#include <stdint.h>

#include "hook.h"

struct tracer; /* owned by the caller, released with tracer_close() */

struct tracer_config {
	unsigned int functions; /* mask of 1 << FN_...: those that are hooked */
	const struct hook *hook; /* FN_COUNT of them */
	uint64_t pages_scanned_at; /* addresses of the kernel's counters, or 0 */
	uint64_t pages_sharing_at;
	uint64_t scan_limit; /* stop after that many scans; 0: never */
	uint64_t pass_limit; /* stop after that many passes; 0: never */
	bool switch_has_state; /* sched_switch carries the state (since 5.18) */
};

struct tracer_events {
	void (*scan)(void *arg, const struct scan_record *record);
	void (*histogram)(void *arg, const struct histogram_record *record);
	void (*pass)(void *arg, const struct pass_record *record);
	void *arg;
};

/* What was not as it should be; all 0 after a perfect run. */
struct tracer_losses {
	uint64_t lost_records; /* gaps in the sequence: must not happen */
	uint64_t folded; /* scan records that were added to a later one */
	uint64_t missed; /* hook hits that the kernel did not run the program for */
	uint64_t unmatched_entries[FN_COUNT];
	uint64_t unmatched_exits[FN_COUNT];
	uint64_t clock_errors;
	uint64_t missed_switches; /* ksmd's returns to a CPU, found out afterwards */
};

/*
 * Loads the programs and attaches them, unarmed. On error everything is undone, the reason is
 * logged, and a negative errno is returned. A function whose hook fails to attach is logged
 * and left out: see tracer_functions().
 */
int tracer_open(const struct tracer_config *config, const struct tracer_events *events,
		struct tracer **result);

/* The functions that are really hooked, and whether passes are told by tracepoint. */
unsigned int tracer_functions(const struct tracer *tracer);
bool tracer_sees_passes(const struct tracer *tracer);

/* What the programs take for one call, both hooks together, in ns, measured here; without what
 * it costs to get into them. 0 when it could not be measured (before Linux 5.10). */
double tracer_call_ns(const struct tracer *tracer);

/* Counting starts with the next scan. ksmd_sleeps: ksmd is known to be between two scans. */
void tracer_arm(struct tracer *tracer, bool ksmd_sleeps);

/* Whether the kernel side still counts: false after a limit was reached. */
bool tracer_armed(const struct tracer *tracer);

/* Lets no new scan begin. The one under way goes on to its end: see tracer_in_scan(). */
void tracer_disarm(struct tracer *tracer);
bool tracer_in_scan(const struct tracer *tracer);

/* Waits up to timeout_ms, then hands on all records there are. Returns 0, -EINTR when a signal
 * came, or another negative errno. */
int tracer_poll(struct tracer *tracer, int timeout_ms);

/*
 * Detaches everything, drains the ring buffer, and hands on what is left in the kernel: the
 * final histograms, and a last scan record when one was still pending there. Its covers is 0
 * when it only holds calls of a scan that was cut off.
 */
int tracer_finish(struct tracer *tracer);

/* Complete after tracer_finish(). */
void tracer_losses(const struct tracer *tracer, struct tracer_losses *losses);

void tracer_close(struct tracer *tracer);

#endif
