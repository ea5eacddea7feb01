// SPDX-License-Identifier: GPL-2.0-only
/* KSM's settings changed for a run and put back; see ksm.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host.h"
#include "ksm_private.h"
#include "log.h"
#include "parse.h"

/* How long to wait for processes with merged pages to be gone. */
#define BUSY_WAIT_MS 5000
#define BUSY_STEP_MS 20

int ksm_parse_assignment(const char *text, char *name, char *value)
{
	const char *equals = strchr(text, '=');
	size_t length = equals ? (size_t)(equals - text) : 0;

	if (!length || length >= KSM_TEXT_MAX || !equals[1] || strlen(equals + 1) >= KSM_TEXT_MAX)
		return -EINVAL;
	if (*text == '.' || memchr(text, '/', length) || strchr(equals, '\n'))
		return -EINVAL;
	memcpy(name, text, length);
	name[length] = '\0';
	strcpy(value, equals + 1);
	return 0;
}

/* --- why a setting was refused ----------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static int refuse(int err, char *why, size_t size,
							 const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, size, format, args);
	va_end(args);
	return err;
}

static int refuse_unknown(const struct ksm *ksm, char *why, size_t size)
{
	struct ksm_value *values;
	size_t count, used, i;

	if (ksm_list(ksm, KSM_SETTINGS, &values, &count))
		return refuse(-ENOENT, why, size, "this kernel has no such setting");
	refuse(-ENOENT, why, size, "this kernel has no such setting; it has:%s",
	       count ? "" : " none");
	for (i = 0; i < count; i++) {
		used = strlen(why);
		snprintf(why + used, size - used, "%s %s", i ? "," : "", values[i].name);
	}
	free(values);
	return -ENOENT;
}

static int refuse_value(const struct ksm *ksm, const char *name, int err, char *why, size_t size)
{
	static const struct {
		const char *name, *rule;
	} rules[] = {
		{ "run", "0 (stop), 1 (scan) or 2 (stop and unmerge)" },
		{ "merge_across_nodes", "0 or 1" },
		{ "use_zero_pages", "0 or 1" },
		{ "smart_scan", "0 or 1" },
		{ "max_page_sharing", "a whole number, 2 or more" },
	};
	char text[KSM_RAW_MAX];
	size_t i;

	if (!strcmp(name, "pages_to_scan") &&
	    !ksm_read_text(ksm, "advisor_mode", text, sizeof(text)) && strcmp(text, "none"))
		return refuse(err, why, size,
			      "the kernel chooses pages_to_scan itself while advisor_mode is %s; "
			      "set advisor_mode=none before it",
			      text);
	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!strcmp(name, rules[i].name))
			return refuse(err, why, size, "the kernel refuses the value, it takes %s",
				      rules[i].rule);
	if (!ksm_read_raw(ksm, name, text, sizeof(text)) && strchr(text, '['))
		return refuse(err, why, size,
			      "the kernel refuses the value, it takes one of these words: %s",
			      text);
	return refuse(err, why, size,
		      "the kernel refuses the value, it takes a whole number in the range of "
		      "this setting");
}

static int refuse_write(const struct ksm *ksm, const char *name, int err, char *why, size_t size)
{
	uint64_t shared = 0;

	switch (err) {
	case -EINVAL:
	case -ERANGE:
		return refuse_value(ksm, name, err, why, size);
	case -EBUSY:
		if (!ksm_read_u64(ksm, "pages_shared", &shared) && !shared)
			return refuse(err, why, size,
				      "merged pages of a process that is just ending are still "
				      "there; try again in a moment");
		return refuse(err, why, size,
			      "the kernel changes it only while no page is shared, and now "
			      "pages_shared is %" PRIu64 "; setting run=2 before it unmerges all "
			      "pages, which takes memory",
			      shared);
	case -EACCES:
	case -EPERM:
		return refuse(-EPERM, why, size, "not permitted: changing it takes root");
	case -EROFS:
		return refuse(-EPERM, why, size, "%s is read-only here (a container?): set it "
			      "on the host", ksm->root);
	default:
		return refuse(err, why, size, "cannot be set: %s", strerror(-err));
	}
}

/* --- the journal ------------------------------------------------------------------------- */

static int write_value(const struct ksm *ksm, const char *name, const char *value)
{
	char path[PATH_MAX], line[KSM_TEXT_MAX + 1];
	int fd, err = ksm_path(ksm, name, path);
	ssize_t n, length;

	if (err)
		return err;
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	length = snprintf(line, sizeof(line), "%s\n", value);
	n = write(fd, line, (size_t)length);
	err = n < 0 ? -errno : n == length ? 0 : -EIO;
	close(fd);
	return err;
}

static unsigned int journal_count(const struct ksm *ksm)
{
	return __atomic_load_n(&ksm->journal->count, __ATOMIC_ACQUIRE);
}

static struct ksm_change *find_change(struct ksm *ksm, const char *name)
{
	unsigned int i, count = journal_count(ksm);

	for (i = 0; i < count; i++)
		if (!ksm->journal->change[i].restored &&
		    !strcmp(ksm->journal->change[i].name, name))
			return &ksm->journal->change[i];
	return NULL;
}

/* Notes a former value; from here on ksm_restore() puts it back. */
static int add_change(struct ksm *ksm, const struct ksm_change *change)
{
	unsigned int count = journal_count(ksm);

	if (count == KSM_CHANGES_MAX)
		return -ENOSPC;
	ksm->journal->change[count] = *change;
	__atomic_store_n(&ksm->journal->count, count + 1, __ATOMIC_RELEASE);
	return 0;
}

static bool same_value(const char *a, const char *b)
{
	uint64_t x, y;

	if (!parse_u64(a, 0, UINT64_MAX, &x) && !parse_u64(b, 0, UINT64_MAX, &y))
		return x == y;
	return !strcmp(a, b);
}

/* While memory is going offline the kernel adds 4 to run, and takes only the rest back. */
static void make_writable(const char *name, char *value)
{
	uint64_t flags;

	if (!strcmp(name, "run") && !parse_u64(value, 0, UINT64_MAX, &flags))
		snprintf(value, KSM_TEXT_MAX, "%" PRIu64, flags & 3);
}

/* Switching the advisor makes the kernel choose pages_to_scan. Without an advisor before, the
 * value it had was somebody's choice. */
static int note_implied(struct ksm *ksm, const char *name, const char *former)
{
	struct ksm_change *pages = find_change(ksm, "pages_to_scan");
	struct ksm_change implied = { .name = "pages_to_scan", .moved = true };

	if (strcmp(name, "advisor_mode"))
		return 0;
	if (pages)
		pages->moved = true;
	if (pages || strcmp(former, "none") ||
	    ksm_read_text(ksm, "pages_to_scan", implied.former, sizeof(implied.former)))
		return 0;
	return add_change(ksm, &implied);
}

/* Joins other runs that hold name. change->former is what it has now, and becomes what the
 * first of them found. */
static int take_lease(struct ksm *ksm, struct ksm_change *change, const char *value, char *why,
		      size_t size)
{
	char now[KSM_TEXT_MAX];
	int others;

	if (!ksm->lease)
		return 0;
	strcpy(now, change->former);
	others = lease_take(ksm->lease, change->name, now, change->former);
	if (others < 0) {
		log_debug("%s: no lock: %s", change->name, strerror(-others));
		return 0;
	}
	if (others && !same_value(now, value)) {
		lease_drop(ksm->lease, change->name);
		return refuse(-EBUSY, why, size,
			      "another run of ksmtrace needs it at %s; wait for that run to end",
			      now);
	}
	change->leased = true;
	return 0;
}

/* Notes what name has before its first change. */
static int remember(struct ksm *ksm, const char *name, const char *value, char *why, size_t size)
{
	struct ksm_change change = { 0 };
	int err = ksm_read_text(ksm, name, change.former, sizeof(change.former));

	if (err)
		return refuse(err, why, size, "cannot be read: %s", strerror(-err));
	strcpy(change.name, name);
	make_writable(name, change.former);
	err = take_lease(ksm, &change, value, why, size);
	if (err)
		return err;
	strcpy(change.written, change.former);
	err = note_implied(ksm, name, change.former);
	if (!err)
		err = add_change(ksm, &change);
	if (err) {
		if (change.leased)
			lease_drop(ksm->lease, name);
		return refuse(err, why, size, "too many settings");
	}
	return 0;
}

/* The write was refused: what was noted for it is not to be put back. */
static void forget(struct ksm *ksm, unsigned int count)
{
	unsigned int i;

	for (i = count; i < journal_count(ksm); i++)
		if (ksm->journal->change[i].leased)
			lease_drop(ksm->lease, ksm->journal->change[i].name);
	__atomic_store_n(&ksm->journal->count, count, __ATOMIC_RELEASE);
}

static int set_locked(struct ksm *ksm, const char *name, const char *value, char *why, size_t size)
{
	unsigned int count = journal_count(ksm);
	struct ksm_change *change = find_change(ksm, name);
	int err;

	if (!change) {
		err = remember(ksm, name, value, why, size);
		if (err)
			return err;
	}
	err = write_value(ksm, name, value);
	if (err) {
		forget(ksm, count);
		return refuse_write(ksm, name, err, why, size);
	}
	change = find_change(ksm, name);
	if (ksm_read_text(ksm, name, change->written, sizeof(change->written)))
		strcpy(change->written, value);
	change->moved = false;
	return 0;
}

int ksm_set(struct ksm *ksm, const char *name, const char *value, char *why, size_t size)
{
	enum ksm_kind kind;
	int err = ksm_kind_of(ksm, name, &kind);
	bool locked;

	if (err == -ENOENT || err == -EINVAL)
		return refuse_unknown(ksm, why, size);
	if (err)
		return refuse(err, why, size, "%s: %s", ksm->root, strerror(-err));
	if (kind == KSM_STATISTICS)
		return refuse(-EACCES, why, size, "is a statistic, which can only be read");
	if (strlen(value) >= KSM_TEXT_MAX || strchr(value, '\n'))
		return refuse_value(ksm, name, -EINVAL, why, size);
	locked = ksm->lease && !lease_lock(ksm->lease);
	err = set_locked(ksm, name, value, why, size);
	if (locked)
		lease_unlock(ksm->lease);
	return err;
}

/* --- putting back -------------------------------------------------------------------------- */

/*
 * A setting that the kernel changes only while no page is shared. It let us set it, so none
 * was shared then: all that are shared now were merged during the run, and are unmerged. The
 * kernel may still call it busy while processes with merged pages are on their way out.
 */
static int write_unmerged(const struct ksm *ksm, const char *name, const char *value)
{
	const struct timespec step = { .tv_nsec = BUSY_STEP_MS * 1000000L };
	int err, back, waited = 0;
	char run[KSM_TEXT_MAX];
	uint64_t sharing = 0;

	ksm_read_u64(ksm, "pages_sharing", &sharing);
	if (sharing * (uint64_t)sysconf(_SC_PAGESIZE) > host_memory_available(NULL))
		return -ENOMEM;
	err = ksm_read_text(ksm, "run", run, sizeof(run));
	if (err)
		return err;
	make_writable("run", run);
	for (;;) {
		err = write_value(ksm, "run", "2");
		if (!err)
			err = write_value(ksm, name, value);
		if (err != -EBUSY || waited >= BUSY_WAIT_MS)
			break;
		/* Unmerging happens on the change to 2 only. */
		write_value(ksm, "run", "0");
		nanosleep(&step, NULL);
		waited += BUSY_STEP_MS;
	}
	back = write_value(ksm, "run", run);
	return err ? err : back;
}

/* True when another run goes on needing the setting. */
static bool left_to_others(struct ksm *ksm, struct ksm_change *change)
{
	if (!change->leased)
		return false;
	change->leased = false;
	if (lease_drop(ksm->lease, change->name) <= 0)
		return false;
	log_info("%s stays at %s: another run of ksmtrace needs it and puts %s back", change->name,
		 change->written, change->former);
	return true;
}

static void warn_of_others(struct ksm *ksm, const struct ksm_change *change)
{
	char now[KSM_TEXT_MAX];

	if (change->moved || ksm_read_text(ksm, change->name, now, sizeof(now)))
		return;
	make_writable(change->name, now);
	if (!same_value(now, change->written) && !same_value(now, change->former))
		log_warn("%s was changed to %s by somebody else during the run; "
			 "it is put back to %s",
			 change->name, now, change->former);
}

/* One change put back; -EBUSY, not logged, leaves it for a second call with unmerge. */
static int restore_change(struct ksm *ksm, struct ksm_change *change, bool unmerge)
{
	int err;

	if (left_to_others(ksm, change)) {
		change->restored = true;
		return 0;
	}
	if (unmerge) {
		err = write_unmerged(ksm, change->name, change->former);
	} else {
		warn_of_others(ksm, change);
		err = write_value(ksm, change->name, change->former);
		if (err == -EBUSY)
			return err;
	}
	if (err)
		log_error("%s/%s could not be put back to %s: %s", ksm->root, change->name,
			  change->former, strerror(-err));
	change->restored = true;
	return err;
}

int ksm_restore(struct ksm *ksm)
{
	unsigned int i, unmerge;
	int err, first = 0;
	bool locked;

	if (!ksm_changes(ksm))
		return 0;
	locked = ksm->lease && !lease_lock(ksm->lease);
	/* What takes an unmerging comes after all the rest: it can take its time. */
	for (unmerge = 0; unmerge < 2; unmerge++) {
		for (i = journal_count(ksm); i--;) {
			if (ksm->journal->change[i].restored)
				continue;
			err = restore_change(ksm, &ksm->journal->change[i], unmerge);
			if (err && !first && ksm->journal->change[i].restored)
				first = err;
		}
	}
	if (locked)
		lease_unlock(ksm->lease);
	return first;
}

size_t ksm_changes(const struct ksm *ksm)
{
	unsigned int i, count = journal_count(ksm);
	size_t pending = 0;

	for (i = 0; i < count; i++)
		pending += !ksm->journal->change[i].restored;
	return pending;
}
