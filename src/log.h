/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages to the person at the terminal: everything that is not the result goes to standard
 * error through here. */
#ifndef KSMTRACE_LOG_H
#define KSMTRACE_LOG_H

#include <stdarg.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* The most talkative level that is still printed. LOG_INFO until set. */
void log_set_level(enum log_level level);
enum log_level log_level(void);

/* One line "ksmtrace: [warning: ]text" on standard error; no newline in the format. */
void log_print(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_vprint(enum log_level level, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

#define log_error(...) log_print(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_print(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_print(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_print(LOG_DEBUG, __VA_ARGS__)

#endif
