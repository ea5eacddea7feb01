/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers as people read them. Each returns buffer. */
#ifndef KSMTRACE_FORMAT_H
#define KSMTRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* Room enough for any of them. */
#define FORMAT_MAX 32

/* A duration in the unit that suits it: "812ns", "3.81us", "812.4us", "16.69ms", "2.50s". */
char *format_duration(char *buffer, double ns);

/* A duration that is usually under 100 us, in whole nanoseconds: "1413ns". */
char *format_ns(char *buffer, double ns);

/* A time of day, local time, "12:00:01", from CLOCK_REALTIME nanoseconds. */
char *format_time_of_day(char *buffer, uint64_t realtime_ns);

/* The same moment as "2026-11-30T12:00:01Z". */
char *format_utc(char *buffer, uint64_t realtime_ns);

/* A number, or "-" for KSMTRACE_UNKNOWN. */
char *format_count(char *buffer, uint64_t count);

#endif
