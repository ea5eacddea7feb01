// SPDX-License-Identifier: GPL-2.0-only
/* The workload's processes; see workload.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "descriptors.h"
#include "host.h"
#include "workload.h"

/*
 * The pace of the volatile pages: each process rewrites up to this many every tick, about
 * 25,000 pages a second, for at most a few percent of a CPU. Each page has changed when ksmd comes
 * round again as long as a pass takes ksmd longer than the volatile pages of one process take at
 * that pace: always at KSM's default of 5,000 pages a second. A page that ksmd does see twice
 * unchanged is like no other and is not merged either.
 */
#define VOLATILE_BATCH	 256
#define VOLATILE_TICK_NS 10000000

enum step { STEP_MAP, STEP_MERGEABLE, STEP_HUGE, STEP_FILLED, STEP_MARKED };

/* What a process tells the tool. */
struct report {
	int step;
	int err; /* negative errno: step failed; 0: it is done */
};

struct process {
	pid_t pid; /* 0: gone */
	int socket;
};

struct workload {
	pid_t group;
	unsigned int count;
	struct process process[];
};

/* --- in the process ---------------------------------------------------------------------- */

static void report(int socket, enum step step, int err)
{
	const struct report r = { .step = step, .err = err };

	if (send(socket, &r, sizeof(r), MSG_NOSIGNAL) != sizeof(r) || err)
		_exit(EXIT_FAILURE);
}

/* When memory runs short, these processes are to go first, not somebody's work. */
static void volunteer_for_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "1000", 4) < 0)
		(void)0; /* only a kindness */
	close(fd);
}

static void reset_signals(void)
{
	sigset_t none;
	int i;

	for (i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void keep_rewriting(const struct workload_options *options, unsigned int index,
			   unsigned char *memory, size_t page_size)
{
	const struct timespec tick = { .tv_nsec = VOLATILE_TICK_NS };
	uint64_t pages = workload_process_pages(options, page_size);
	uint64_t page = 0, version = 1;
	unsigned int batch;

	for (;;) {
		for (batch = 0; batch < VOLATILE_BATCH && page < pages; page++) {
			if (workload_page_kind(options, page) != WORKLOAD_VOLATILE)
				continue;
			workload_rewrite_page(options, index, page, version,
					      memory + page * page_size, page_size);
			batch++;
		}
		if (page == pages) {
			page = 0;
			version++;
		}
		nanosleep(&tick, NULL);
	}
}

/* Memory for the pages, with huge pages asked for or kept away. */
static unsigned char *map_memory(const struct workload_options *options, int socket, size_t size,
				 size_t page_size)
{
	unsigned char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		report(socket, STEP_MAP, -errno);
	/* Asked on one page, so that a kernel without KSM is told of before the long part. */
	if (madvise(memory, page_size, MADV_MERGEABLE))
		report(socket, STEP_MERGEABLE, -errno);
	madvise(memory, page_size, MADV_UNMERGEABLE);
	/* A kernel that has no huge pages refuses both, and one of them does not matter. */
	if (madvise(memory, size, options->huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) &&
	    options->huge)
		report(socket, STEP_HUGE, -errno);
	return memory;
}

static void be_process(const struct workload_options *options, unsigned int index, int socket,
		       pid_t tool) __attribute__((noreturn));
static void be_process(const struct workload_options *options, unsigned int index, int socket,
		       pid_t tool)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = options->mib << 20;
	uint64_t page, pages = workload_process_pages(options, page_size);
	unsigned char *memory, *pattern;
	char go;

	/* Asked for first and checked after: the tool may have died before it was asked for. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != tool)
		_exit(EXIT_FAILURE);
	prctl(PR_SET_NAME, "ksmtrace-load");
	reset_signals();
	descriptors_close_others(&socket, 1);
	volunteer_for_oom();

	memory = map_memory(options, socket, size, page_size);
	pattern = malloc(page_size); /* NULL is only slower */
	if (pattern)
		workload_fill_pattern(options, pattern, page_size);
	for (page = 0; page < pages; page++)
		workload_fill_page(options, index, page, pattern, memory + page * page_size,
				   page_size);
	free(pattern);
	report(socket, STEP_FILLED, 0);
	if (read(socket, &go, 1) != 1)
		_exit(EXIT_FAILURE);
	if (madvise(memory, size, MADV_MERGEABLE))
		report(socket, STEP_MARKED, -errno);
	report(socket, STEP_MARKED, 0);

	if (options->volatile_percent)
		keep_rewriting(options, index, memory, page_size);
	for (;;)
		pause();
}

/* --- in the tool ------------------------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static int refuse(int err, char *why, size_t size,
							 const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, size, format, args);
	va_end(args);
	return err;
}

static int check_options(const struct workload_options *options, char *why, size_t size)
{
	uint64_t need, available = host_memory_available(NULL);

	if (!options->processes || options->processes > WORKLOAD_PROCESSES_MAX || !options->mib ||
	    options->mib > WORKLOAD_MIB_MAX)
		return refuse(-EINVAL, why, size, "number of processes or size out of range");
	if ((uint64_t)options->duplicate_percent + options->zero_percent +
		    options->volatile_percent > 100)
		return refuse(-EINVAL, why, size, "the shares add up to more than 100 percent");
	need = options->processes * options->mib;
	if (need > SIZE_MAX >> 20)
		return refuse(-ENOMEM, why, size,
			      "the workload needs %" PRIu64 " MiB, more than can be addressed",
			      need);
	if (need > available >> 20)
		return refuse(-ENOMEM, why, size,
			      "the workload needs %" PRIu64 " MiB of memory and %" PRIu64
			      " MiB are available; use fewer processes or a smaller size",
			      need, available >> 20);
	return 0;
}

static int refuse_report(const struct report *report, char *why, size_t size)
{
	switch (report->step) {
	case STEP_MERGEABLE:
		if (report->err == -EINVAL)
			return refuse(-EOPNOTSUPP, why, size,
				      "this kernel is built without KSM (CONFIG_KSM): it refuses "
				      "madvise(MADV_MERGEABLE)");
		break;
	case STEP_HUGE:
		if (report->err == -EINVAL)
			return refuse(-EOPNOTSUPP, why, size,
				      "this kernel is built without transparent huge pages "
				      "(CONFIG_TRANSPARENT_HUGEPAGE): it refuses "
				      "madvise(MADV_HUGEPAGE)");
		break;
	case STEP_MAP:
		return refuse(report->err, why, size,
			      "a process of the workload gets no memory: %s (a limit, see "
			      "ulimit -v and vm.overcommit_memory?)",
			      strerror(-report->err));
	}
	return refuse(report->err, why, size, "a process of the workload failed: %s",
		      strerror(-report->err));
}

static int refuse_death(struct process *process, char *why, size_t size)
{
	int status = 0;

	if (waitpid(process->pid, &status, 0) == process->pid)
		process->pid = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return refuse(-ECHILD, why, size,
			      "a process of the workload was killed while it filled its memory: "
			      "out of memory, or over a cgroup's limit; use a smaller size");
	return refuse(-ECHILD, why, size, "a process of the workload ended early (%s)",
		      WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit");
}

/* Waits until every process has reported that it is through with step. */
static int await(struct workload *workload, enum step step, int cancel_fd, char *why, size_t size)
{
	struct report report;
	unsigned int i;
	int ready;
	ssize_t n;

	for (i = 0; i < workload->count; i++) {
		struct pollfd fds[] = { { .fd = workload->process[i].socket, .events = POLLIN },
					{ .fd = cancel_fd, .events = POLLIN } };

		while ((ready = poll(fds, 2, -1)) < 0 && errno == EINTR && cancel_fd >= 0)
			;
		if (ready < 0)
			return refuse(-errno, why, size, "interrupted");
		if (fds[1].revents)
			return refuse(-EINTR, why, size, "interrupted");
		n = recv(workload->process[i].socket, &report, sizeof(report), MSG_WAITALL);
		if (n != sizeof(report))
			return refuse_death(&workload->process[i], why, size);
		if (report.err)
			return refuse_report(&report, why, size);
		if (report.step != (int)step)
			return refuse(-EPROTO, why, size,
				      "a process of the workload answers out of turn");
	}
	return 0;
}

static int start_process(struct workload *workload, const struct workload_options *options)
{
	struct process *process = &workload->process[workload->count];
	pid_t tool = getpid();
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	process->pid = fork();
	if (!process->pid) {
		setpgid(0, workload->group);
		be_process(options, workload->count, pair[1], tool);
	}
	err = process->pid < 0 ? -errno : 0;
	close(pair[1]);
	if (err) {
		close(pair[0]);
		return err;
	}
	/* On both sides: whichever comes first, the group is there from now on. */
	setpgid(process->pid, workload->group ? workload->group : process->pid);
	if (!workload->group)
		workload->group = process->pid;
	process->socket = pair[0];
	workload->count++;
	return 0;
}

int workload_start(const struct workload_options *options, struct workload **workload, char *why,
		   size_t size)
{
	struct workload *new;
	unsigned int i;
	int err = check_options(options, why, size);

	if (err)
		return err;
	new = calloc(1, sizeof(*new) + options->processes * sizeof(new->process[0]));
	if (!new)
		return refuse(-ENOMEM, why, size, "out of memory");
	while (new->count < options->processes) {
		err = start_process(new, options);
		if (err) {
			refuse(err, why, size, "cannot start %u processes: %s", options->processes,
			       strerror(-err));
			goto fail;
		}
	}
	err = await(new, STEP_FILLED, options->cancel_fd, why, size);
	if (err)
		goto fail;
	for (i = 0; i < new->count; i++)
		send(new->process[i].socket, "g", 1, MSG_NOSIGNAL);
	err = await(new, STEP_MARKED, options->cancel_fd, why, size);
	if (err)
		goto fail;
	*workload = new;
	return 0;

fail:
	workload_stop(new);
	return err;
}

void workload_stop(struct workload *workload)
{
	unsigned int i;

	if (!workload)
		return;
	/* All at once first, so that their memory is given back side by side. */
	for (i = 0; i < workload->count; i++)
		if (workload->process[i].pid)
			kill(workload->process[i].pid, SIGKILL);
	for (i = 0; i < workload->count; i++) {
		while (workload->process[i].pid &&
		       waitpid(workload->process[i].pid, NULL, 0) < 0 && errno == EINTR)
			;
		close(workload->process[i].socket);
	}
	free(workload);
}

bool workload_running(struct workload *workload)
{
	bool all = true;
	unsigned int i;

	for (i = 0; i < workload->count; i++) {
		struct process *process = &workload->process[i];

		if (process->pid && waitpid(process->pid, NULL, WNOHANG))
			process->pid = 0;
		all &= process->pid != 0;
	}
	return all;
}

pid_t workload_group(const struct workload *workload)
{
	return workload->group;
}
