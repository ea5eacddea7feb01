/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small process that outlives the tool just long enough to put KSM's settings back, however
 * the tool ended.
 */
#ifndef KSMTRACE_GUARD_H
#define KSMTRACE_GUARD_H

#include <sys/types.h>

struct ksm;
struct guard; /* owned by the caller, released with guard_finish() */

/*
 * Forks the guard. Call it before the first ksm_set() (what is set later is guarded too, the
 * journal is shared) and before anything large is in memory, as the guard is a copy. It is
 * then a process named ksmtrace-guard in a session of its own, deaf to every signal but
 * SIGKILL and SIGSTOP, and holds no descriptor of the tool but standard error.
 *
 * Once the tool is gone, in whatever way, the guard kills the workload's process group and
 * calls ksm_restore(). Returns 0, or a negative errno when there can be no guard.
 */
int guard_start(struct ksm *ksm, struct guard **guard);

/* The process group to kill when the tool is gone without having done so; 0 for none. */
void guard_set_workload(struct guard *guard, pid_t group);

pid_t guard_pid(const struct guard *guard);

/*
 * The orderly way out: has the guard put the settings back and waits for it to end. Should
 * the guard have been killed, the settings are put back here: exactly one of the two does it.
 * Frees guard (NULL is fine and does nothing). Returns 0 or the error of ksm_restore().
 */
int guard_finish(struct guard *guard);

#endif
