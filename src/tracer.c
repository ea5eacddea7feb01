// SPDX-License-Identifier: GPL-2.0-only
/* Loading, attaching and reading the kernel side; see tracer.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "histogram.h"
#include "host.h"
#include "log.h"
#include "tracer.h"
#include "ksmtrace.skel.h"

/* fentry, fexit or one probe each way; with sites one for each of them, and the tracepoints. */
#define LINKS_MAX (FN_COUNT * 2 * SITES_MAX + 4)

struct programs {
	struct bpf_program *fentry, *fexit, *enter, *leave;
};

struct tracer {
	struct ksmtrace_bpf *skel;
	struct ring_buffer *ring;
	struct bpf_link *link[LINKS_MAX];
	unsigned int links;
	struct programs program[FN_COUNT];
	struct tracer_events events;
	unsigned int functions;
	uint64_t next_seq;
	uint64_t lost_records;
	uint64_t missed;
	double call_ns;
};

static void find_programs(struct tracer *t)
{
#define FIND(symbol, shared)                                                                       \
	t->program[FN_##symbol] = (struct programs){                                               \
		t->skel->progs.fentry_##symbol,                                                    \
		t->skel->progs.fexit_##symbol,                                                     \
		t->skel->progs.enter_##symbol,                                                     \
		t->skel->progs.leave_##symbol,                                                     \
	};
	KSMTRACE_FUNCTIONS(FIND)
#undef FIND
}

/* --- configuration: before loading --------------------------------------------------------------- */

static int choose_programs(struct tracer *t, const struct tracer_config *config)
{
	int fn, err = 0;

	for (fn = 0; fn < FN_COUNT && !err; fn++) {
		const struct hook *hook = &config->hook[fn];
		struct programs *p = &t->program[fn];
		bool wanted = config->functions & 1U << fn;
		bool trampoline = wanted && hook->rung == RUNG_FENTRY;
		bool probe = wanted && (hook->rung == RUNG_KPROBE || hook->rung == RUNG_STANDIN ||
					hook->sites.entries);

		bpf_program__set_autoload(p->fentry, trampoline);
		bpf_program__set_autoload(p->fexit, trampoline);
		bpf_program__set_autoload(p->enter, probe);
		bpf_program__set_autoload(p->leave, probe);
		if (trampoline) {
			err = bpf_program__set_attach_target(p->fentry, 0, hook->symbol);
			if (!err)
				err = bpf_program__set_attach_target(p->fexit, 0, hook->symbol);
		}
	}
	return err;
}

static void configure(struct tracer *t, const struct tracer_config *config)
{
	struct ksmtrace_bpf__rodata *ro = t->skel->rodata;
	char mode[32];
	int fn;

	ro->may_read_memory = host_lockdown(NULL, mode, sizeof(mode)) ||
			      strcmp(mode, "confidentiality") != 0;
	ro->has_scan = config->functions & 1U << FN_ksm_do_scan;
	ro->scan_by_scheduler = ro->has_scan &&
				config->hook[FN_ksm_do_scan].rung == RUNG_SCHEDULER;
	ro->switch_has_state = config->switch_has_state;
	ro->pages_scanned_at = config->pages_scanned_at;
	ro->pages_sharing_at = config->pages_sharing_at;
	ro->pages_by_calls = (config->functions & 1U << FN_cmp_and_merge_page) &&
			     config->hook[FN_cmp_and_merge_page].exact;
	for (fn = 0; fn < FN_COUNT; fn++)
		ro->check_thread[fn] = function_is_shared((enum ksmtrace_function)fn) ||
				       config->hook[fn].rung == RUNG_STANDIN;
	if (config->scan_limit)
		ro->scan_limit = config->scan_limit;
	if (config->pass_limit)
		ro->pass_limit = config->pass_limit;
}

/* Before anything is attached: the best of some runs, so that an interrupt does no harm; then
 * all is as if it had not been. */
static void calibrate(struct tracer *t)
{
	struct ksmtrace_bpf__bss *bss = t->skel->bss;
	uint64_t best = UINT64_MAX;
	int i;

	for (i = 0; i < 20; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts);
		int err;

		bss->armed = bss->in_scan = true;
		err = bpf_prog_test_run_opts(bpf_program__fd(t->skel->progs.calibrate), &opts);
		if (err) {
			log_debug("the cost of a call cannot be measured: %s", strerror(-err));
			break;
		}
		if (bss->calibration_ns < best)
			best = bss->calibration_ns;
	}
	if (!best)
		log_warn("this kernel's clock is too coarse for single calls: it stood still over %d "
			 "of them (see /sys/devices/system/clocksource/clocksource0)",
			 CALIBRATION_CALLS);
	memset(bss, 0, sizeof(*bss));
	t->call_ns = best == UINT64_MAX ? 0 : (double)best / CALIBRATION_CALLS;
}

/* --- attaching ------------------------------------------------------------------------------------ */

static int keep(struct tracer *t, struct bpf_link *link)
{
	if (!link)
		return errno ? -errno : -EINVAL;
	if (t->links == LINKS_MAX) {
		bpf_link__destroy(link);
		return -E2BIG;
	}
	t->link[t->links++] = link;
	return 0;
}

static int attach_probe(struct tracer *t, struct bpf_program *program, const char *symbol,
			uint32_t offset, bool retprobe)
{
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .offset = offset, .retprobe = retprobe);

	return keep(t, bpf_program__attach_kprobe_opts(program, symbol, &opts));
}

static int attach_sites(struct tracer *t, struct bpf_program *program, const struct site *site,
			unsigned int count)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < count && !err; i++)
		err = attach_probe(t, program, site[i].symbol, site[i].offset, false);
	return err;
}

static int attach_function(struct tracer *t, const struct hook *hook, struct programs *p)
{
	int err;

	switch (hook->rung) {
	case RUNG_FENTRY:
		err = keep(t, bpf_program__attach_trace(p->fexit));
		return err ? err : keep(t, bpf_program__attach_trace(p->fentry));
	case RUNG_KPROBE:
	case RUNG_STANDIN:
		err = attach_probe(t, p->leave, hook->symbol, 0, true);
		return err ? err : attach_probe(t, p->enter, hook->symbol, 0, false);
	default:
		return 0; /* the scheduler hook is there in any case */
	}
}

/* Exits first: a function that is entered while they are attached is seen leaving. Inlined
 * copies may be there beside the function itself. */
static int attach_hook(struct tracer *t, const struct hook *hook, struct programs *p)
{
	int err = attach_function(t, hook, p);

	if (!err)
		err = attach_sites(t, p->leave, hook->sites.exit, hook->sites.exits);
	return err ? err : attach_sites(t, p->enter, hook->sites.entry, hook->sites.entries);
}

static void detach_since(struct tracer *t, unsigned int links)
{
	while (t->links > links)
		bpf_link__destroy(t->link[--t->links]);
}

static int attach_passes(struct tracer *t)
{
	unsigned int before = t->links;
	int err = keep(t, bpf_program__attach_raw_tracepoint(t->skel->progs.on_pass_start,
							     "ksm_start_scan"));

	if (!err)
		err = keep(t, bpf_program__attach_raw_tracepoint(t->skel->progs.on_pass_stop,
								 "ksm_stop_scan"));
	if (err)
		detach_since(t, before);
	return err;
}

static int attach(struct tracer *t, const struct tracer_config *config)
{
	int fn, err;

	err = keep(t, bpf_program__attach_trace(t->skel->progs.on_switch));
	if (err) {
		log_error("cannot attach to the scheduler's sched_switch tracepoint: %s",
			  strerror(-err));
		return err;
	}
	/* The tracepoints came with Linux 6.4. */
	t->skel->bss->has_passes = !attach_passes(t);
	for (fn = 0; fn < FN_COUNT; fn++) {
		unsigned int before = t->links;

		if (!(config->functions & 1U << fn))
			continue;
		err = attach_hook(t, &config->hook[fn], &t->program[fn]);
		if (!err) {
			t->functions |= 1U << fn;
			continue;
		}
		detach_since(t, before);
		/* The others' hooks were configured to count inside scans. */
		if (fn == FN_ksm_do_scan) {
			log_error("cannot attach to ksm_do_scan (%s): %s",
				  rung_name(config->hook[fn].rung), strerror(-err));
			return err;
		}
		log_warn("%s is not timed: attaching by %s failed: %s",
			 function_name((enum ksmtrace_function)fn),
			 rung_name(config->hook[fn].rung), strerror(-err));
	}
	return 0;
}

/* --- records -------------------------------------------------------------------------------------- */

static void check_sequence(struct tracer *t, uint64_t seq)
{
	if (seq != t->next_seq) {
		t->lost_records += seq > t->next_seq ? seq - t->next_seq : 1;
		log_warn("record %llu came where %llu was due: records are missing",
			 (unsigned long long)seq, (unsigned long long)t->next_seq);
	}
	t->next_seq = seq + 1;
}

static int on_record(void *arg, void *data, size_t size)
{
	struct tracer *t = arg;
	const __u32 *type = data;

	if (size >= sizeof(struct scan_record) && *type == RECORD_SCAN) {
		const struct scan_record *scan = data;

		check_sequence(t, scan->seq);
		t->events.scan(t->events.arg, scan);
	} else if (size >= sizeof(struct histogram_record) && *type == RECORD_HISTOGRAM) {
		const struct histogram_record *histogram = data;

		check_sequence(t, histogram->seq);
		if (histogram->function < FN_COUNT)
			t->events.histogram(t->events.arg, histogram);
	} else if (size >= sizeof(struct pass_record) && *type == RECORD_PASS) {
		const struct pass_record *pass = data;

		check_sequence(t, pass->seq);
		t->events.pass(t->events.arg, pass);
	} else {
		log_error("a record of unknown type %u and size %zu: program and kernel side do not "
			  "match", size >= sizeof(*type) ? *type : 0, size);
		return -EBADMSG;
	}
	return 0;
}

/* --- the interface -------------------------------------------------------------------------------- */

int tracer_open(const struct tracer_config *config, const struct tracer_events *events,
		struct tracer **result)
{
	struct tracer *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->events = *events;
	t->next_seq = 1;
	t->skel = ksmtrace_bpf__open();
	if (!t->skel) {
		err = errno ? -errno : -EINVAL;
		log_error("cannot open the BPF object: %s", strerror(-err));
		free(t);
		return err;
	}
	find_programs(t);
	err = choose_programs(t, config);
	if (!err) {
		configure(t, config);
		err = ksmtrace_bpf__load(t->skel);
	}
	if (err) {
		log_error("the kernel does not take the BPF programs: %s (-v shows why)%s",
			  strerror(-err),
			  err == -EPERM ? "; before Linux 5.11 they count as locked memory: "
					  "ulimit -l unlimited" : "");
		goto fail;
	}
	t->ring = ring_buffer__new(bpf_map__fd(t->skel->maps.ring), on_record, t, NULL);
	if (!t->ring) {
		err = errno ? -errno : -ENOMEM;
		log_error("cannot map the ring buffer: %s", strerror(-err));
		goto fail;
	}
	calibrate(t);
	err = attach(t, config);
	if (err)
		goto fail;
	*result = t;
	return 0;
fail:
	tracer_close(t);
	return err;
}

unsigned int tracer_functions(const struct tracer *tracer)
{
	return tracer->functions;
}

bool tracer_sees_passes(const struct tracer *tracer)
{
	return tracer->skel->bss->has_passes;
}

double tracer_call_ns(const struct tracer *tracer)
{
	return tracer->call_ns;
}

void tracer_arm(struct tracer *tracer, bool ksmd_sleeps)
{
	/* Only as long as no switch of ksmd was seen: from then on the hook itself knows. */
	if (ksmd_sleeps && !tracer->skel->bss->ksmd_switches)
		tracer->skel->bss->between_scans = true;
	tracer->skel->bss->armed = true;
}

bool tracer_armed(const struct tracer *tracer)
{
	return tracer->skel->bss->armed;
}

void tracer_disarm(struct tracer *tracer)
{
	tracer->skel->bss->armed = false;
}

bool tracer_in_scan(const struct tracer *tracer)
{
	return tracer->skel->bss->in_scan;
}

int tracer_poll(struct tracer *tracer, int timeout_ms)
{
	struct timespec time = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	int err;

	/* The kernel side never wakes us, so that ksmd does not pay for it. */
	if (timeout_ms > 0 && nanosleep(&time, NULL))
		return -errno;
	err = ring_buffer__consume(tracer->ring);
	return err < 0 ? err : 0;
}

static uint64_t count_missed(struct tracer *t)
{
	struct bpf_program *program;
	uint64_t missed = 0;

	bpf_object__for_each_program(program, t->skel->obj) {
		struct bpf_prog_info info = { 0 };
		__u32 size = sizeof(info);

		if (bpf_program__fd(program) >= 0 &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			missed += info.recursion_misses;
	}
	return missed;
}

int tracer_finish(struct tracer *tracer)
{
	struct ksmtrace_bpf__bss *bss = tracer->skel->bss;
	struct scan_record last;
	bool calls = false;
	int fn, err;

	tracer_disarm(tracer);
	tracer->missed = count_missed(tracer);
	/* When a link is gone its program runs no more: what it wrote stays as it is. */
	detach_since(tracer, 0);
	err = tracer_poll(tracer, 0);

	last = bss->pending;
	if (!tracer->skel->rodata->has_scan) {
		last.pages = tracer->skel->rodata->pages_by_calls ?
				     last.fn[FN_cmp_and_merge_page].count :
				     KSMTRACE_UNKNOWN;
		if (last.end_ns < last.begin_ns)
			last.end_ns = last.begin_ns;
	}
	for (fn = 0; fn < FN_COUNT; fn++) {
		struct histogram_record *h = &bss->histogram[fn];

		calls |= last.fn[fn].count != 0;
		h->function = (__u32)fn;
		fn_stat_merge(&h->total, &last.fn[fn]);
		if (tracer->functions & 1U << fn)
			tracer->events.histogram(tracer->events.arg, h);
	}
	/* As of now: the record is as old as the last scan. */
	last.pass = bss->has_passes ? bss->passes : KSMTRACE_UNKNOWN;
	/* A scan that is still going on was cut off, whether or not calls in it were seen. */
	if (calls || last.covers || bss->in_scan)
		tracer->events.scan(tracer->events.arg, &last);
	return err;
}

void tracer_losses(const struct tracer *tracer, struct tracer_losses *losses)
{
	const struct ksmtrace_bpf__bss *bss = tracer->skel->bss;
	int fn;

	memset(losses, 0, sizeof(*losses));
	losses->lost_records = tracer->lost_records;
	losses->missed = tracer->missed;
	losses->folded = bss->folded;
	losses->clock_errors = bss->clock_errors;
	losses->missed_switches = bss->missed_switches;
	for (fn = 0; fn < FN_COUNT; fn++) {
		losses->unmatched_entries[fn] = bss->unmatched_entries[fn];
		losses->unmatched_exits[fn] = bss->unmatched_exits[fn];
	}
}

void tracer_close(struct tracer *tracer)
{
	if (!tracer)
		return;
	detach_since(tracer, 0);
	ring_buffer__free(tracer->ring);
	ksmtrace_bpf__destroy(tracer->skel);
	free(tracer);
}
