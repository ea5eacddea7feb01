/* SPDX-License-Identifier: GPL-2.0-only */
/* The options of the tracing command, and those of them that `hooks` has, too. */
#ifndef KSMTRACE_TRACE_OPTIONS_H
#define KSMTRACE_TRACE_OPTIONS_H

#include <argp.h>

#include "ksm.h"
#include "survey.h"

/* -f, --hook, --plan, --vmlinux. Its input is a struct survey_options. */
extern const struct argp trace_hook_argp;

#define SET_MAX 32

struct assignment {
	char name[KSM_TEXT_MAX];
	char value[KSM_TEXT_MAX];
};

struct trace_options {
	struct survey_options survey;
	uint64_t duration_ns; /* 0: no limit, as for the next two */
	uint64_t scans, passes;
	uint64_t interval_ns; /* 0: a line a scan */
	const char *csv, *scans_csv;
	const char *baseline; /* a recording to compare with, or NULL */
	bool json, quiet, strict;
	struct assignment set[SET_MAX];
	unsigned int sets;
	uint64_t workload_mib; /* 0: none */
};

/* Parses the command line; a usage error ends the process. */
void trace_options_parse(int argc, char **argv, struct trace_options *options);

/* What --set gives for name, or NULL. */
const char *trace_options_set(const struct trace_options *options, const char *name);

#endif
