/* SPDX-License-Identifier: GPL-2.0-only */
/* Where inlined functions begin and end, from a kernel's debug info (DWARF). */
#ifndef KSMTRACE_DEBUGINFO_H
#define KSMTRACE_DEBUGINFO_H

#include <stddef.h>

#include "code.h"
#include "plan.h"

struct debuginfo; /* released with debuginfo_close() */

/*
 * Opens the debug info at path, or, with path NULL, where distributions put it and through
 * debuginfod when DEBUGINFOD_URLS is set. With kernel it must be that kernel's, by build-id;
 * without (NULL; path is needed then) any will do.
 * Returns 0; or a negative errno with one sentence in why: -ENOENT nothing found, -ESTALE
 * another kernel's, -ENODATA no debug info in it, and what kernel_file_open() gives.
 */
int debuginfo_open(const char *path, const struct kernel_id *kernel, struct debuginfo **result,
		   char *why, size_t why_size);
void debuginfo_close(struct debuginfo *debuginfo);

/* The file it came from, and that file's kernel. Both belong to debuginfo. */
const char *debuginfo_path(const struct debuginfo *debuginfo);
const struct kernel_id *debuginfo_kernel(const struct debuginfo *debuginfo);

/* The code and symbols of that file. */
struct code_image debuginfo_image(struct debuginfo *debuginfo);

/*
 * Finds all inlined copies of fn in the code that ksmd runs, and where control enters and
 * leaves them. Returns 0; or a negative errno with one sentence in why: -ENOENT when no copy
 * is inlined (it may still be out of line), -ENOTSUP when one is that cannot be delimited
 * exactly, -EBADMSG for damaged debug info, -E2BIG for more sites than fit, -ENOMEM, and what
 * code_load() gives.
 */
int debuginfo_sites(struct debuginfo *debuginfo, enum ksmtrace_function fn, struct fn_sites *sites,
		    char *why, size_t why_size);

#endif
