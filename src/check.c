// SPDX-License-Identifier: GPL-2.0-only
/* Cross-checks of a run's counts; see check.h. */
#include <inttypes.h>
#include <stdio.h>

#include "check.h"
#include "log.h"

static uint64_t calls(const struct session *s, enum ksmtrace_function fn)
{
	return s->recorded[fn].count;
}

static bool timed(const struct session *s, enum ksmtrace_function fn)
{
	return s->functions & 1U << fn;
}

static void impossible(struct check *c, const char *why)
{
	c->result = CHECK_IMPOSSIBLE;
	snprintf(c->text, sizeof(c->text), "%s", why);
}

/* The kernel counts pages only inside ksm_do_scan, one for each cmp_and_merge_page: a scan or a
 * call that no hook saw is a difference. */
static void check_pages(const struct session *s, struct check *c)
{
	bool merge = timed(s, FN_cmp_and_merge_page);

	c->name = "pages_scanned";
	if (s->pages_growth == KSMTRACE_UNKNOWN || !s->scans)
		return impossible(c, "the kernel's count of pages is not known");
	if (s->cut && merge)
		return impossible(c, "the last scan was cut off");
	c->result = s->pages == s->pages_growth &&
				    (!merge || calls(s, FN_cmp_and_merge_page) == s->pages) ?
			    CHECK_PASSED :
			    CHECK_FAILED;
	snprintf(c->text, sizeof(c->text), "%" PRIu64 " pages scanned, %" PRIu64 " of them in scans",
		 s->pages_growth, s->pages);
	if (merge)
		snprintf(c->text, sizeof(c->text),
			 "%" PRIu64 " pages scanned, %" PRIu64 " of them in scans, %" PRIu64
			 " calls of cmp_and_merge_page",
			 s->pages_growth, s->pages, calls(s, FN_cmp_and_merge_page));
}

/* A page's checksum is computed at most once. */
static void check_checksums(const struct session *s, struct check *c)
{
	c->name = "calc_checksum";
	if (!timed(s, FN_calc_checksum) || !timed(s, FN_cmp_and_merge_page))
		return impossible(c, "calc_checksum and cmp_and_merge_page are not both timed");
	c->result = calls(s, FN_calc_checksum) <= calls(s, FN_cmp_and_merge_page) ? CHECK_PASSED :
										   CHECK_FAILED;
	snprintf(c->text, sizeof(c->text),
		 "%" PRIu64 " calls of calc_checksum, %" PRIu64 " of cmp_and_merge_page",
		 calls(s, FN_calc_checksum), calls(s, FN_cmp_and_merge_page));
}

/* Whoever goes in comes out. */
static void check_pairs(const struct session *s, struct check *c)
{
	uint64_t alone = 0;
	int fn;

	c->name = "entries_and_exits";
	for (fn = 0; fn < FN_COUNT; fn++)
		alone += s->losses.unmatched_entries[fn] + s->losses.unmatched_exits[fn];
	c->result = alone ? CHECK_FAILED : CHECK_PASSED;
	snprintf(c->text, sizeof(c->text), "%" PRIu64 " without the other", alone);
}

void check_session(const struct session *session, struct check check[CHECK_COUNT])
{
	check_pages(session, &check[0]);
	check_checksums(session, &check[1]);
	check_pairs(session, &check[2]);
}

bool check_and_tell(const struct session *session)
{
	struct check check[CHECK_COUNT];
	bool hold = true;
	int i;

	check_session(session, check);
	for (i = 0; i < CHECK_COUNT; i++) {
		if (check[i].result != CHECK_FAILED)
			continue;
		log_warn("check %s failed: %s: a hook sees only part of the calls, or too many "
			 "(ksmtrace hooks tells how each is observed, --hook FUNCTION=RUNG takes "
			 "another way)", check[i].name, check[i].text);
		hold = false;
	}
	return hold;
}
