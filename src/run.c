// SPDX-License-Identifier: GPL-2.0-only
/* The loop of a tracing run; see run.h. */
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <sys/eventfd.h>

#include "check.h"
#include "log.h"
#include "run.h"

#define EARLY_SCANS   5 /* after so many a hook that sees too little shows */
#define POLL_MS	      100
#define NS_PER_MS     1000000ULL
#define SCAN_WAIT_NS  (10 * 1000 * NS_PER_MS) /* for the scan under way at the end */
#define SCAN_NOTICE_NS (1000 * NS_PER_MS)

static volatile sig_atomic_t signals;
static int signal_fd = -1;

static void on_signal(int signal)
{
	const uint64_t one = 1;
	int saved = errno;

	(void)signal;
	signals++;
	if (signal_fd >= 0 && write(signal_fd, &one, sizeof(one)) < 0)
		(void)0; /* it is readable already */
	errno = saved;
}

void run_catch_signals(void)
{
	/* No SA_RESTART: the sleep between two polls ends at once. */
	struct sigaction catch = { .sa_handler = on_signal }, ignore = { .sa_handler = SIG_IGN };
	struct sigaction before;

	signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sigaction(SIGINT, &catch, NULL);
	sigaction(SIGTERM, &catch, NULL);
	/* Under nohup the run goes on without its terminal. */
	if (!sigaction(SIGHUP, NULL, &before) && before.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &catch, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
}

int run_signals(void)
{
	return signals;
}

int run_signal_fd(void)
{
	return signal_fd;
}

uint64_t run_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Passes from full_scans, where the kernel has no tracepoint for them. */
static void poll_passes(struct session *s, const struct ksm *ksm, uint64_t full_scans)
{
	uint64_t now;

	if (!ksm_read_u64(ksm, "full_scans", &now) && now >= full_scans)
		s->passes = now - full_scans;
}

/* The scan under way is a scan like any other: it is worth waiting for. */
static void wait_for_scan(struct tracer *t, uint64_t since)
{
	int before = signals;
	bool told = false;

	while (tracer_in_scan(t) && signals == before && run_now_ns() - since < SCAN_WAIT_NS) {
		if (!told && run_now_ns() - since > SCAN_NOTICE_NS) {
			log_info("waiting for the scan under way to end (Ctrl-C cuts it off)");
			told = true;
		}
		tracer_poll(t, 10);
	}
}

int run_until_over(struct tracer *tracer, struct session *session, const struct ksm *ksm,
		   const struct run_limits *limits, uint64_t begin_ns, uint64_t full_scans)
{
	bool poll = !tracer_sees_passes(tracer);
	uint64_t now = begin_ns;
	bool checked = false;
	int err = 0;

	while (!signals && !session->error && !err) {
		uint64_t wait_ns = POLL_MS * NS_PER_MS;

		if (limits->duration_ns) {
			uint64_t gone = now - begin_ns;

			if (gone >= limits->duration_ns)
				break;
			if (limits->duration_ns - gone < wait_ns)
				wait_ns = limits->duration_ns - gone;
		}
		if (!tracer_armed(tracer) && !tracer_in_scan(tracer))
			break;
		if (poll) {
			poll_passes(session, ksm, full_scans);
			if (limits->passes && session->passes >= limits->passes)
				break;
		}
		err = tracer_poll(tracer, (int)((wait_ns + NS_PER_MS - 1) / NS_PER_MS));
		if (err == -EINTR)
			err = 0;
		now = run_now_ns();
		session_tick(session, now);
		/* At the end again, in full: but then a long run would be in vain. */
		if (!checked && session->scans >= EARLY_SCANS) {
			check_and_tell(session);
			checked = true;
		}
	}
	tracer_disarm(tracer);
	wait_for_scan(tracer, run_now_ns());
	if (!err)
		err = tracer_finish(tracer);
	else
		tracer_finish(tracer);
	tracer_losses(tracer, &session->losses);
	now = run_now_ns();
	session->elapsed_ns = now - begin_ns;
	return err;
}
