// SPDX-License-Identifier: GPL-2.0-only
/* Strict number parsing; see parse.h. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

#define NS_PER_S    1000000000ULL
#define MAX_SECONDS (500ULL * 366 * 24 * 3600)

int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	unsigned long long v;
	size_t i;

	if (!text || !*text)
		return -EINVAL;
	for (i = 0; text[i]; i++)
		if (!isdigit((unsigned char)text[i]))
			return -EINVAL;
	errno = 0;
	v = strtoull(text, NULL, 10);
	if (errno || v < min || v > max)
		return -ERANGE;
	*value = v;
	return 0;
}

int parse_double(const char *text, double *value)
{
	char *end;
	double v;

	if (!text || !*text || strspn(text, "+-.0123456789eE") != strlen(text))
		return -EINVAL;
	v = strtod(text, &end);
	if (*end || end == text)
		return -EINVAL;
	if (!isfinite(v))
		return -ERANGE;
	*value = v;
	return 0;
}

int parse_seconds(const char *text, uint64_t min_ns, uint64_t *ns)
{
	uint64_t whole = 0, fraction = 0, scale = NS_PER_S / 10, result;
	const char *point, *p;
	char digits[24];
	int err;

	if (!text)
		return -EINVAL;
	point = strchr(text, '.');
	if (!point) {
		err = parse_u64(text, 0, MAX_SECONDS, &whole);
		if (err)
			return err;
	} else {
		size_t n = (size_t)(point - text);

		if (n >= sizeof(digits) || (!n && !point[1]))
			return -EINVAL;
		memcpy(digits, text, n);
		digits[n] = '\0';
		if (n) {
			err = parse_u64(digits, 0, MAX_SECONDS, &whole);
			if (err)
				return err;
		}
		for (p = point + 1; *p; p++) {
			if (!isdigit((unsigned char)*p))
				return -EINVAL;
			fraction += (uint64_t)(*p - '0') * scale;
			scale /= 10;
		}
	}
	result = whole * NS_PER_S + fraction;
	if (result < min_ns)
		return -ERANGE;
	*ns = result;
	return 0;
}
