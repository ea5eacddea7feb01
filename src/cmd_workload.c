// SPDX-License-Identifier: GPL-2.0-only
/* ksmtrace workload: makes mergeable memory and holds it. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "log.h"
#include "options.h"
#include "workload.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL
#define WAIT_MS	  1000 /* longest sleep; poll() takes only an int of milliseconds */

struct arguments {
	struct workload_options options;
	uint64_t duration_ns; /* 0: until a signal */
};

enum {
	KEY_PROCESSES = 0x100,
	KEY_SIZE,
	KEY_DUPLICATE,
	KEY_ZERO,
	KEY_VOLATILE,
	KEY_DIFFER,
	KEY_SEED,
	KEY_HUGE,
};

static const struct argp_option options[] = {
	{ "processes", KEY_PROCESSES, "N", 0, "Number of processes (default 2)", 0 },
	{ "size", KEY_SIZE, "MIB", 0, "Memory of each process (default 64)", 0 },
	{ "duplicate", KEY_DUPLICATE, "PERCENT", 0,
	  "Pages that can be merged, each content about 16 times (default 50)", 0 },
	{ "zero", KEY_ZERO, "PERCENT", 0, "Pages full of zeros (default 10)", 0 },
	{ "volatile", KEY_VOLATILE, "PERCENT", 0,
	  "Pages rewritten all the time (default 10); what is left is unique", 0 },
	{ "differ", KEY_DIFFER, "WHERE", 0,
	  "Where pages differ from each other: first, middle, last (the worst case of "
	  "comparing) or random (default)",
	  0 },
	{ "seed", KEY_SEED, "N", 0, "Same seed, same pages (default 1)", 0 },
	{ "huge", KEY_HUGE, NULL, 0, "Ask for huge pages (else none are used)", 0 },
	{ "duration", 'd', "SECONDS", 0, "End after that long (default: at Ctrl-C)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static void check_shares(const struct workload_options *o, struct argp_state *state)
{
	unsigned int sum = o->duplicate_percent + o->zero_percent + o->volatile_percent;
	char value[64];

	if (sum <= 100)
		return;
	snprintf(value, sizeof(value), "%u + %u + %u", o->duplicate_percent, o->zero_percent,
		 o->volatile_percent);
	options_usage_error(state, "--duplicate, --zero, --volatile", value,
			    "add up to %u, more than 100 percent", sum);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	static const char *const places[] = { "first", "middle", "last", "random", NULL };
	struct arguments *arguments = state->input;
	struct workload_options *o = &arguments->options;

	switch (key) {
	case KEY_PROCESSES:
		o->processes = (unsigned int)options_u64(state, "--processes", arg, 1,
							 WORKLOAD_PROCESSES_MAX);
		return 0;
	case KEY_SIZE:
		o->mib = options_u64(state, "--size", arg, 1, WORKLOAD_MIB_MAX);
		return 0;
	case KEY_DUPLICATE:
		o->duplicate_percent = (unsigned int)options_u64(state, "--duplicate", arg, 0, 100);
		return 0;
	case KEY_ZERO:
		o->zero_percent = (unsigned int)options_u64(state, "--zero", arg, 0, 100);
		return 0;
	case KEY_VOLATILE:
		o->volatile_percent = (unsigned int)options_u64(state, "--volatile", arg, 0, 100);
		return 0;
	case KEY_DIFFER:
		o->differ = (enum workload_differ)options_word(state, "--differ", arg, places);
		return 0;
	case KEY_SEED:
		o->seed = options_u64(state, "--seed", arg, 0, UINT64_MAX);
		return 0;
	case KEY_HUGE:
		o->huge = true;
		return 0;
	case 'd':
		arguments->duration_ns = options_seconds(state, "--duration", arg, 0);
		return 0;
	case ARGP_KEY_ARG:
		options_unexpected_argument(state, arg);
	case ARGP_KEY_END:
		check_shares(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Signals that end the command, as a descriptor; -1 with errno. */
static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* A reader may close the pipe once it has seen "ready"; the memory is held all the same. */
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Holds the memory until a signal or the end of the time. */
static int hold(struct workload *workload, int signals, uint64_t duration_ns)
{
	uint64_t end = now_ns() + duration_ns, now, left_ms = WAIT_MS;
	struct pollfd fd = { .fd = signals, .events = POLLIN };

	for (;;) {
		if (duration_ns) {
			now = now_ns();
			if (now >= end)
				return EXIT_MEASURED;
			left_ms = (end - now + NS_PER_MS - 1) / NS_PER_MS;
		}
		if (poll(&fd, 1, left_ms < WAIT_MS ? (int)left_ms : WAIT_MS) > 0)
			return EXIT_MEASURED;
		if (!workload_running(workload)) {
			log_error("a process of the workload was killed; its memory is gone "
				  "(out of memory?)");
			return EXIT_FAILED;
		}
	}
}

int cmd_workload(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse_option, NULL,
		"Make memory that KSM can merge, and hold it. Prints \"ready\" once all of it is "
		"in place and marked mergeable. Whether KSM scans it is up to KSM's settings; "
		"nothing is turned on.",
		options_common_children, NULL, NULL
	};
	struct arguments arguments = { .options = WORKLOAD_DEFAULTS };
	struct workload *workload;
	char text[512];
	int err, status, signals;

	if (options_parse(&argp, "ksmtrace workload", argc, argv, &arguments))
		return EXIT_USAGE;
	signals = open_signals();
	if (signals < 0) {
		log_error("signalfd: %s", strerror(errno));
		return EXIT_FAILED;
	}
	arguments.options.cancel_fd = signals;
	err = workload_start(&arguments.options, &workload, text, sizeof(text));
	if (err) {
		if (err != -EINTR)
			log_error("%s", text);
		status = err == -EINTR ? EXIT_MEASURED :
			 err == -EOPNOTSUPP ? EXIT_CANNOT_TRACE : EXIT_FAILED;
	} else {
		workload_describe(&arguments.options, text, sizeof(text));
		log_info("%s", text);
		puts("ready");
		fflush(stdout);
		status = hold(workload, signals, arguments.duration_ns);
		workload_stop(workload);
	}
	close(signals);
	return status;
}
