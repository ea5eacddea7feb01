// SPDX-License-Identifier: GPL-2.0-only
/* Numbers as people read them; see format.h. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "format.h"
#include "ksmtrace.h"

char *format_duration(char *buffer, double ns)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" } };
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double value = ns / units[i].unit;

		/* Rounded first: 999.96us is 1.00ms. */
		if (value < 0.99995)
			continue;
		snprintf(buffer, FORMAT_MAX, "%.*f%s", value < 99.995 ? 2 : 1, value,
			 units[i].name);
		return buffer;
	}
	snprintf(buffer, FORMAT_MAX, "%.0fns", ns);
	return buffer;
}

char *format_ns(char *buffer, double ns)
{
	if (ns >= 99999.5)
		return format_duration(buffer, ns);
	snprintf(buffer, FORMAT_MAX, "%.0fns", ns);
	return buffer;
}

char *format_time_of_day(char *buffer, uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(buffer, FORMAT_MAX, "%H:%M:%S", &tm);
	return buffer;
}

char *format_utc(char *buffer, uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(buffer, FORMAT_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return buffer;
}

char *format_count(char *buffer, uint64_t count)
{
	if (count == KSMTRACE_UNKNOWN)
		snprintf(buffer, FORMAT_MAX, "-");
	else
		snprintf(buffer, FORMAT_MAX, "%" PRIu64, count);
	return buffer;
}
