/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where an inlined function begins and ends inside the functions that contain it: the places
 * to put kprobes at. Filled by debuginfo.c, machine_code.c and plan.c, used by hook.c.
 */
#ifndef KSMTRACE_SITES_H
#define KSMTRACE_SITES_H

#include <stdint.h>

#define SITES_MAX      32 /* a function's entries, or exits */
#define SITE_SYMBOL_MAX 64

enum site_source { SITE_NONE, SITE_PLAN, SITE_DEBUGINFO, SITE_MACHINE_CODE };

struct site {
	char symbol[SITE_SYMBOL_MAX]; /* the containing function, as in kallsyms */
	uint32_t offset;
};

/* One function's sites. A thread that passes an entry is in the function until it passes an
 * exit; the instruction at an exit is the first that no longer belongs to it. */
struct fn_sites {
	enum site_source source;
	unsigned int entries, exits;
	struct site entry[SITES_MAX];
	struct site exit[SITES_MAX];
};

#endif
