/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Several runs at once that change the same system-wide values: who came first keeps what was
 * found, and only the last one to leave puts it back. A lock file holds it; a run that dies
 * leaves no lock behind.
 */
#ifndef KSMTRACE_LEASE_H
#define KSMTRACE_LEASE_H

#include <stddef.h>

#define LEASE_TEXT_MAX 64 /* longest name and longest value, with the final NUL */

struct lease; /* owned by the caller, released with lease_close() */

/*
 * Opens (creates) the lock file. Forked processes share the lease: it ends when the last of
 * them is gone or one of them dropped it. Returns 0, or the negative errno of opening it.
 */
int lease_open(const char *path, struct lease **lease);
void lease_close(struct lease *lease);
int lease_fd(const struct lease *lease);

/*
 * Between these two no other run takes or drops anything. lease_lock() waits for at most
 * half a second and then gives -ETIMEDOUT (the other run was stopped at a bad moment).
 */
int lease_lock(struct lease *lease);
void lease_unlock(struct lease *lease);

/*
 * Takes part in name (call with the lock held). found is the value that name has now.
 * Returns 0 when no other run holds name: original is then found itself. Returns 1 when
 * others do: original is what the first of them found. original has LEASE_TEXT_MAX bytes.
 * -ENOSPC when too many names are held, or the negative errno of the file.
 */
int lease_take(struct lease *lease, const char *name, const char *found, char *original);

/* Ends it (call with the lock held). Returns 0 when this was the last run that held name, so
 * that the original is to be put back; 1 when others go on; negative errno. */
int lease_drop(struct lease *lease, const char *name);

#endif
