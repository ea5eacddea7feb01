// SPDX-License-Identifier: GPL-2.0-only
/* The workload's pages, as pure functions of its options; see workload.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "workload.h"

#define COPIES 16 /* of each content of duplicate pages */

/* Kinds are laid out by the hundred. The step has no divisor in common with 100, so that a
 * hundred pages meet each remainder once, and is close to the golden ratio of it, so that
 * pages of a kind lie apart. */
#define HUNDRED 100
#define STEP	61

/* The finalizer of SplitMix64: different inputs give different outputs, and 0 gives 0. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* Word index of the pattern that all pages share. */
static uint64_t pattern(const struct workload_options *options, uint64_t index)
{
	return mix(mix(options->seed + 1) + (index + 1) * 0x9e3779b97f4a7c15ULL);
}

/* Where page comes in its hundred: 0 ... 99, each once. */
static unsigned int place(const struct workload_options *options, uint64_t page)
{
	return (unsigned int)((page % HUNDRED * STEP + options->seed % HUNDRED) % HUNDRED);
}

uint64_t workload_process_pages(const struct workload_options *options, size_t page_size)
{
	return options->mib * (1024 * 1024 / page_size);
}

enum workload_kind workload_page_kind(const struct workload_options *options, uint64_t page)
{
	unsigned int at = place(options, page);

	if (at < options->duplicate_percent)
		return WORKLOAD_DUPLICATE;
	at -= options->duplicate_percent;
	if (at < options->zero_percent)
		return WORKLOAD_ZERO;
	at -= options->zero_percent;
	return at < options->volatile_percent ? WORKLOAD_VOLATILE : WORKLOAD_UNIQUE;
}

/* Duplicate pages of one process, the last hundred taken as whole. */
static uint64_t duplicate_span(const struct workload_options *options, size_t page_size)
{
	uint64_t pages = workload_process_pages(options, page_size);

	return (pages + HUNDRED - 1) / HUNDRED * options->duplicate_percent;
}

static uint64_t content_count(const struct workload_options *options, size_t page_size)
{
	uint64_t all = duplicate_span(options, page_size) * options->processes;

	return (all + COPIES - 1) / COPIES;
}

/* Which content a duplicate page has. They are dealt out in turns, on from process to process:
 * copies of a content lie far apart, and in different processes when there are several. */
static uint64_t content(const struct workload_options *options, unsigned int process, uint64_t page,
			size_t page_size)
{
	uint64_t rank = page / HUNDRED * options->duplicate_percent + place(options, page);

	return (process * duplicate_span(options, page_size) + rank) %
	       content_count(options, page_size);
}

/* A number that no other content has: the kind in the top bits keeps them apart. Not 0. */
static uint64_t identity(const struct workload_options *options, unsigned int process,
			 uint64_t page, uint64_t version, size_t page_size)
{
	enum workload_kind kind = workload_page_kind(options, page);
	uint64_t number;

	if (kind == WORKLOAD_DUPLICATE)
		return 1 + content(options, process, page, page_size);
	number = process * workload_process_pages(options, page_size) + page;
	if (kind == WORKLOAD_VOLATILE)
		number += version * options->processes *
			  workload_process_pages(options, page_size);
	return (uint64_t)kind << 61 | (number & ((1ULL << 61) - 1));
}

/* Writes the bytes that tell one content from all others. */
static void stamp(const struct workload_options *options, uint64_t id, void *buffer,
		  size_t page_size)
{
	size_t words = page_size / sizeof(uint64_t), at = 0;
	uint64_t value;

	switch (options->differ) {
	case WORKLOAD_DIFFER_FIRST:
		break;
	case WORKLOAD_DIFFER_MIDDLE:
		at = words / 2;
		break;
	case WORKLOAD_DIFFER_LAST:
		at = words - 1;
		break;
	case WORKLOAD_DIFFER_RANDOM:
		at = mix(id + options->seed) % words;
		break;
	}
	value = pattern(options, at) ^ mix(id);
	memcpy((char *)buffer + at * sizeof(value), &value, sizeof(value));
}

void workload_fill_pattern(const struct workload_options *options, void *buffer, size_t page_size)
{
	uint64_t *words = buffer;
	size_t i;

	for (i = 0; i < page_size / sizeof(*words); i++)
		words[i] = pattern(options, i);
}

void workload_fill_page(const struct workload_options *options, unsigned int process, uint64_t page,
			const void *shared, void *buffer, size_t page_size)
{
	if (workload_page_kind(options, page) == WORKLOAD_ZERO) {
		memset(buffer, 0, page_size);
		return;
	}
	if (shared)
		memcpy(buffer, shared, page_size);
	else
		workload_fill_pattern(options, buffer, page_size);
	stamp(options, identity(options, process, page, 0, page_size), buffer, page_size);
}

void workload_rewrite_page(const struct workload_options *options, unsigned int process,
			   uint64_t page, uint64_t version, void *buffer, size_t page_size)
{
	stamp(options, identity(options, process, page, version, page_size), buffer, page_size);
}

void workload_count(const struct workload_options *options, size_t page_size,
		    struct workload_pages *pages)
{
	uint64_t each = workload_process_pages(options, page_size);
	uint64_t page, times;

	memset(pages, 0, sizeof(*pages));
	/* Each page of the first hundred stands for all that are whole hundreds further on. */
	for (page = 0; page < HUNDRED && page < each; page++) {
		times = (each - page + HUNDRED - 1) / HUNDRED * options->processes;
		pages->kind[workload_page_kind(options, page)] += times;
	}
	pages->total = each * options->processes;
	pages->contents = content_count(options, page_size);
}

void workload_describe(const struct workload_options *options, char *text, size_t size)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct workload_pages pages;

	workload_count(options, page_size, &pages);
	snprintf(text, size,
		 "%u process%s of %" PRIu64 " MiB, %" PRIu64 " pages: %" PRIu64
		 " duplicate (%" PRIu64 " contents, so that %" PRIu64 " can be saved), %" PRIu64
		 " zero, %" PRIu64 " volatile, %" PRIu64 " unique",
		 options->processes, options->processes == 1 ? "" : "es", options->mib, pages.total,
		 pages.kind[WORKLOAD_DUPLICATE], pages.contents,
		 pages.kind[WORKLOAD_DUPLICATE] - pages.contents, pages.kind[WORKLOAD_ZERO],
		 pages.kind[WORKLOAD_VOLATILE], pages.kind[WORKLOAD_UNIQUE]);
}
