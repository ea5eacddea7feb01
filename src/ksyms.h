/* SPDX-License-Identifier: GPL-2.0-only */
/* The running kernel's symbols, from /proc/kallsyms. */
#ifndef KSMTRACE_KSYMS_H
#define KSMTRACE_KSYMS_H

#include <stddef.h>
#include <stdint.h>

/* A symbol of the kernel image itself; modules' symbols are left out. */
struct ksym {
	uint64_t address;
	uint32_t name; /* offset of the name, see ksym_name() */
	char type; /* as nm prints it */
};

struct ksyms; /* owned by the caller, released with ksyms_free() */

/*
 * Reads all symbols from path (NULL: /proc/kallsyms) into *result.
 * Returns 0; -EPERM when the addresses are hidden (all zero: no CAP_SYSLOG or kptr_restrict),
 * -ENOENT and others when the file cannot be read, -ENOMEM.
 */
int ksyms_load(const char *path, struct ksyms **result);
void ksyms_free(struct ksyms *ksyms);

const char *ksym_name(const struct ksyms *ksyms, const struct ksym *sym);

/*
 * The symbol of exactly that name. Returns NULL when there is none. *count (may be NULL) is
 * set to how many there are: with more than one, static functions of different files share
 * the name and the one returned is only the first.
 */
const struct ksym *ksyms_find(const struct ksyms *ksyms, const char *name, size_t *count);

/*
 * The symbol under which function is out of line: its plain name, or the one with a suffix
 * that leaves the function whole (.isra.N, .constprop.N). Never .part.N or .cold, which are
 * only pieces. NULL when there is none.
 */
const struct ksym *ksyms_find_function(const struct ksyms *ksyms, const char *function);

/* The text symbol that address lies in (the last one at or below it); *offset (may be NULL)
 * is the distance to its start. NULL when address is below all text. */
const struct ksym *ksyms_at(const struct ksyms *ksyms, uint64_t address, uint64_t *offset);

/* The size of a text symbol: the distance to the next symbol at a higher address. */
uint64_t ksym_size(const struct ksyms *ksyms, const struct ksym *sym);

#endif
