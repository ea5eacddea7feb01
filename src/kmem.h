/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading the running kernel's memory: its code as it is now, and its static variables. */
#ifndef KSMTRACE_KMEM_H
#define KSMTRACE_KMEM_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copies size bytes at kernel address into buffer. A small BPF program does the reading, so
 * that it works where /proc/kcore is absent and needs no more than CAP_BPF and CAP_PERFMON.
 * Returns 0; -EFAULT when the address is not mapped; -EPERM when the kernel does not allow it
 * (privileges, lockdown); other negative errno from the kernel.
 */
int kmem_read(uint64_t address, void *buffer, size_t size);

#endif
