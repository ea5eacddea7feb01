/* SPDX-License-Identifier: GPL-2.0-only */
/* The names of the functions that can be timed. */
#ifndef KSMTRACE_FUNCTION_H
#define KSMTRACE_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "ksmtrace.h"

/* The functions that are timed unless others are asked for, as a mask of 1 << FN_... */
#define FUNCTIONS_DEFAULT                                                                          \
	(1U << FN_ksm_do_scan | 1U << FN_cmp_and_merge_page | 1U << FN_calc_checksum)

const char *function_name(enum ksmtrace_function fn);

/* Whether other threads than ksmd run the function, too. */
bool function_is_shared(enum ksmtrace_function fn);

/* Sets *fn to the function whose name is the first length bytes of name. -ENOENT for others. */
int function_by_name(const char *name, size_t length, enum ksmtrace_function *fn);

/* All names, separated by commas: for messages. */
const char *function_names(void);

#endif
