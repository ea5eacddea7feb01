// SPDX-License-Identifier: GPL-2.0-only
/* The functions that can be timed, by name; the list itself is in ksmtrace.h. */
#include <errno.h>
#include <string.h>

#include "function.h"

#define NAME(symbol, shared) #symbol,
#define SHARED(symbol, shared) shared,
#define LISTED(symbol, shared) ", " #symbol

static const char *const names[FN_COUNT] = { KSMTRACE_FUNCTIONS(NAME) };
static const bool is_shared[FN_COUNT] = { KSMTRACE_FUNCTIONS(SHARED) };

const char *function_name(enum ksmtrace_function fn)
{
	return names[fn];
}

bool function_is_shared(enum ksmtrace_function fn)
{
	return is_shared[fn];
}

int function_by_name(const char *name, size_t length, enum ksmtrace_function *fn)
{
	int i;

	for (i = 0; i < FN_COUNT; i++) {
		if (strlen(names[i]) == length && !strncmp(names[i], name, length)) {
			*fn = (enum ksmtrace_function)i;
			return 0;
		}
	}
	return -ENOENT;
}

const char *function_names(void)
{
	static const char list[] = KSMTRACE_FUNCTIONS(LISTED);

	return list + 2;
}
