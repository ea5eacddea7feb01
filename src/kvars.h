/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the kernel keeps the counters that /sys/kernel/mm/ksm shows. */
#ifndef KSMTRACE_KVARS_H
#define KSMTRACE_KVARS_H

#include <stdint.h>

struct ksyms;

/*
 * The address of the unsigned long behind /sys/kernel/mm/ksm/NAME, proven by reading both. 0
 * when this kernel has no such counter or its place cannot be told.
 */
uint64_t kvars_find(const struct ksyms *ksyms, const char *name);

#endif
