// SPDX-License-Identifier: GPL-2.0-only
/* The one place that writes messages; see log.h. */
#include <stdio.h>

#include "log.h"

static enum log_level threshold = LOG_INFO;

void log_set_level(enum log_level level)
{
	threshold = level;
}

enum log_level log_level(void)
{
	return threshold;
}

void log_vprint(enum log_level level, const char *format, va_list args)
{
	/* One buffer, one write: lines of several processes do not mix. */
	char text[2048];

	if (level > threshold)
		return;
	vsnprintf(text, sizeof(text), format, args);
	fprintf(stderr, "ksmtrace: %s%s\n", level == LOG_WARN ? "warning: " : "", text);
}

void log_print(enum log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_vprint(level, format, args);
	va_end(args);
}
