// SPDX-License-Identifier: GPL-2.0-only
/* The process that puts settings back when the tool is gone; see guard.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptors.h"
#include "guard.h"
#include "ksm.h"
#include "log.h"

#define EXIT_STATUS_MAX 255

struct guard {
	struct ksm *ksm;
	pid_t pid;
	int socket; /* shut down: the guard is to do its work */
	pid_t *workload; /* shared with the guard */
};

/*
 * Returns when the tool is gone or asks for the end. Its pidfd tells of its death at once; the
 * socket alone would not, as long as a process forked from the tool still has the other end.
 */
static void wait_for_end(int socket, int tool)
{
	struct pollfd fds[] = { { .fd = socket, .events = POLLIN },
				{ .fd = tool, .events = POLLIN } };

	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
}

static void be_guard(struct guard *guard, int socket, int tool) __attribute__((noreturn));
static void be_guard(struct guard *guard, int socket, int tool)
{
	const int keep[] = { STDERR_FILENO, socket, tool, ksm_fd(guard->ksm) };
	pid_t group;
	int err;

	setsid();
	prctl(PR_SET_NAME, "ksmtrace-guard");
	descriptors_close_others(keep, sizeof(keep) / sizeof(keep[0]));
	if (write(socket, "r", 1) == 1)
		wait_for_end(socket, tool);
	group = __atomic_load_n(guard->workload, __ATOMIC_ACQUIRE);
	if (group > 1)
		kill(-group, SIGKILL);
	err = -ksm_restore(guard->ksm);
	_exit(err > EXIT_STATUS_MAX ? EIO : err);
}

/* A pidfd of this process, or -1 (then the socket has to do). */
static int own_pidfd(void)
{
#ifdef SYS_pidfd_open
	return (int)syscall(SYS_pidfd_open, getpid(), 0);
#else
	return -1;
#endif
}

/* Waits until the guard is deaf and in its own session. */
static int wait_ready(int socket)
{
	char ready;
	ssize_t n;

	do
		n = read(socket, &ready, 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : n < 0 ? -errno : -ECHILD;
}

int guard_start(struct ksm *ksm, struct guard **guard)
{
	struct guard *new = calloc(1, sizeof(*new));
	int pair[2] = { -1, -1 }, tool = -1, err;
	sigset_t all, old;

	if (!new)
		return -ENOMEM;
	new->ksm = ksm;
	new->workload = mmap(NULL, sizeof(*new->workload), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (new->workload == MAP_FAILED) {
		err = -errno;
		free(new);
		return err;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		err = -errno;
		goto cleanup;
	}
	tool = own_pidfd();

	/* Blocked before it is born: a Ctrl-C for the whole group cannot come in between. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	new->pid = fork();
	if (!new->pid) {
		close(pair[0]);
		be_guard(new, pair[1], tool);
	}
	err = new->pid < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (err)
		goto cleanup;
	close(pair[1]);
	pair[1] = -1;
	new->socket = pair[0];
	err = wait_ready(new->socket);
	if (!err) {
		if (tool >= 0)
			close(tool);
		*guard = new;
		return 0;
	}
	waitpid(new->pid, NULL, 0);

cleanup:
	if (pair[0] >= 0)
		close(pair[0]);
	if (pair[1] >= 0)
		close(pair[1]);
	if (tool >= 0)
		close(tool);
	munmap(new->workload, sizeof(*new->workload));
	free(new);
	return err;
}

void guard_set_workload(struct guard *guard, pid_t group)
{
	if (guard)
		__atomic_store_n(guard->workload, group, __ATOMIC_RELEASE);
}

pid_t guard_pid(const struct guard *guard)
{
	return guard->pid;
}

int guard_finish(struct guard *guard)
{
	int status, err;
	pid_t pid;

	if (!guard)
		return 0;
	shutdown(guard->socket, SHUT_RDWR);
	do
		pid = waitpid(guard->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	if (pid == guard->pid && WIFEXITED(status)) {
		err = -WEXITSTATUS(status);
	} else {
		log_debug("the guard is gone; settings are put back without it");
		err = ksm_restore(guard->ksm);
	}
	close(guard->socket);
	munmap(guard->workload, sizeof(*guard->workload));
	free(guard);
	return err;
}
