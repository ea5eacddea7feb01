/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers from the command line and from files: parsed whole or not at all. */
#ifndef KSMTRACE_PARSE_H
#define KSMTRACE_PARSE_H

#include <stdint.h>

/*
 * A decimal number that fills the whole of text, without sign, space or suffix.
 * Returns 0 and sets *value; -EINVAL for anything else than digits, -ERANGE when it is
 * outside [min, max]. *value is untouched on error.
 */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* The same for seconds with an optional decimal fraction ("2", "0.5", ".25"): *ns is the
 * time in nanoseconds, at least min_ns and at most about 500 years. */
int parse_seconds(const char *text, uint64_t min_ns, uint64_t *ns);

/* A number with an optional sign, decimal fraction and exponent: not "nan", "inf", hexadecimal.
 * -ERANGE when it is too large for a double. */
int parse_double(const char *text, double *value);

#endif
