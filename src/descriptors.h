/* SPDX-License-Identifier: GPL-2.0-only */
/* What a forked helper process does with the descriptors it got along. */
#ifndef KSMTRACE_DESCRIPTORS_H
#define KSMTRACE_DESCRIPTORS_H

#include <stddef.h>

/* Closes all descriptors but the count ones in keep (-1 among them is passed over). A helper
 * must not hold the tool's output: who reads it would wait for the helper's end, too. */
void descriptors_close_others(const int *keep, size_t count);

#endif
