/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recordings set against each other. A side is one or more runs of the same kernel, pooled; the
 * first side is the base that the others are compared with.
 */
#ifndef KSMTRACE_COMPARE_H
#define KSMTRACE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording.h"
#include "stats.h"

#define COMPARE_LABEL_MAX 16
#define COMPARE_FEW_SCANS 30  /* fewer do not show how scans scatter */
#define COMPARE_COST_MAX  0.1 /* of a mean, that tracing may cost */

/* One function on one side. */
struct compare_cell {
	size_t runs;		     /* that time it; nothing below means anything when 0 */
	struct histogram histogram;  /* of all its runs */
	uint64_t scans;		     /* with a mean, in all runs */
	uint64_t fewest_scans;	     /* of one run */
	bool independent;	     /* in some run scans have to be taken for independent */
	struct stats_estimate *run;  /* each run's mean of its scans' means */
	struct stats_estimate mean;  /* the same for the side */
	double spread_ns;	     /* standard deviation of the runs' means; 0 for one run */
	struct stats_interval ratio; /* mean to that of the base */
	enum stats_verdict verdict;
};

/* A run's figures about ksmd as a whole; NAN where not every run of the side has them. */
struct compare_totals {
	double elapsed_s, scans, passes, pages, cpu_ns; /* sums */
	double pages_sharing, general_profit;		/* at a run's end, the mean of all runs */
	double cpu_percent, cpu_ns_per_page;
	double checksum_mb_per_s; /* 10^6 bytes; pages of 4096 bytes */
};

struct compare_side {
	char label[COMPARE_LABEL_MAX]; /* "A", "B", ... */
	struct recording *run;	       /* their heads only */
	char **file;
	size_t runs;
	struct compare_cell *cell; /* one for each of the comparison's functions */
	struct compare_totals totals;
};

/* Something that makes the comparison unfair. */
struct compare_finding {
	char what[80]; /* a word for scripts: "pages_to_scan", "hook.calc_checksum", "lost_scans" */
	char text[512]; /* a sentence */
};

struct comparison {
	struct compare_side *side;
	size_t sides;
	char (*function)[64]; /* those of any side; ksm_do_scan comes last */
	size_t functions;
	struct compare_finding *finding;
	size_t findings;
};

void compare_init(struct comparison *c);
void compare_release(struct comparison *c);

/* A new last side without runs. Returns 0 or -ENOMEM. */
int compare_add_side(struct comparison *c);

/* Takes the recording over, also on error, and pools it into the last side. file is how output
 * calls it. Returns 0 or -ENOMEM. */
int compare_add_run(struct comparison *c, const char *file, struct recording *recording);

/* When all runs are there: estimates, verdicts, findings. Returns 0 or -ENOMEM. */
int compare_finish(struct comparison *c);

/* Looks for what is unfair; compare_finish() calls it. Returns 0 or -ENOMEM. */
int compare_find_unfairness(struct comparison *c);

/* How a ratio is told: in percent of change. */
double compare_percent(double ratio);

/* The change of the mean over all calls in percent, NAN when there is none. The verdict does not
 * rest on it: see docs/comparing.md. */
double compare_call_change(const struct comparison *c, size_t function, size_t side);

/* Half the width of the bucket that a quantile was taken from, in ns: how far off it may be. */
double compare_half_width(double quantile_ns);

#endif
