// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel side: times functions inside ksmd, keeps their histograms and hands one record a
 * scan to user space. Everything is a plain global: ksmd is one thread, and what the hooks of
 * other threads do here ends at a look at the thread.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "ksmtrace.h"

char LICENSE[] SEC("license") = "GPL";

/* Set by the loader before the programs are loaded. */
const volatile bool has_scan = true; /* ksm_do_scan is timed: the others count inside it only */
const volatile bool scan_by_scheduler = false; /* a scan is from ksmd waking to its sleeping */
const volatile bool check_thread[FN_COUNT] = {}; /* hooked where other threads come by, too */
const volatile bool switch_has_state = true; /* sched_switch's fourth argument, since 5.18 */
const volatile bool may_read_memory = true; /* helpers that read the kernel's memory are there */
const volatile bool pages_by_calls = false; /* a cmp_and_merge_page call is a page */
const volatile __u64 pages_scanned_at = 0; /* addresses of the kernel's counters, or 0 */
const volatile __u64 pages_sharing_at = 0;
const volatile __u64 scan_limit = ~0ULL; /* disarm after that many scans */
const volatile __u64 pass_limit = ~0ULL; /* disarm after the scan that ends that many passes */
const volatile __u64 histogram_period_ns = 1000000000;

/* The loader's switch, thrown when all hooks are attached: no scan is counted that began
 * before. Cleared here, too, when a limit is reached. */
volatile bool armed = false;
/* Set by the loader, when it knows that ksmd sleeps between scans. */
volatile bool between_scans = false;
/* Set by the loader, when the ksm_stop_scan tracepoint is hooked. */
volatile bool has_passes = false;

/* What the loader reads. */
volatile bool in_scan = false;
volatile __u64 ksmd_switches = 0;
struct scan_record pending = {}; /* not yet sent */
struct histogram_record histogram[FN_COUNT] = {}; /* total: without what is pending */
__u64 passes = 0;
__u64 sequence = 0; /* of the last record sent */
__u64 folded = 0; /* scan records that found the ring buffer full */
__u64 unmatched_entries[FN_COUNT] = {};
__u64 unmatched_exits[FN_COUNT] = {};
__u64 clock_errors = 0; /* durations that would have been negative */
__u64 calibration_ns = 0; /* of CALIBRATION_CALLS calls */
__u64 missed_switches = 0; /* times that ksmd came back to a CPU and the hook did not run */

/* Only for the programs here, but not static: clang would split the arrays, and the kernel
 * then refuses their BTF. */
__u64 ksmd = 0; /* its task_struct's address, once seen */
__u64 switched_out_ns = 0; /* when ksmd left the CPU; 0 while it runs */
__u64 switched_out_runtime = 0; /* ksmd's run time by the scheduler's count, then */
__u64 off_cpu_ns = 0; /* how long ksmd was off the CPU since the programs run */
__u64 entered_at[FN_COUNT] = {}; /* ksmd's CPU clock at the entry; 0: not inside */
bool entered_once[FN_COUNT] = {};
__u64 scan_wall_begin = 0;
__u64 scan_pages_begin = 0;
__u64 scan_sharing_begin = 0;
__u64 first_scan_pages = 0;
__u64 scan_passes_begin = 0;
__u64 pass_begin_ns = 0;
__u64 histograms_sent_ns = 0;
bool last_pass_done = false;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

static __always_inline void end_off_cpu(__u64 now)
{
	if (switched_out_ns && now > switched_out_ns)
		off_cpu_ns += now - switched_out_ns;
	switched_out_ns = 0;
}

/*
 * ksmd's CPU clock: it stands still while ksmd is switched out. Only for hooks in ksmd. When
 * one finds ksmd still switched out, its return was missed: it was just before, as hooks are
 * close together.
 */
static __always_inline __u64 ksmd_clock(__u64 now)
{
	if (switched_out_ns) {
		missed_switches++;
		end_off_cpu(now);
	}
	return now - off_cpu_ns;
}

static __always_inline __u64 kernel_counter(__u64 address)
{
	__u64 value = 0;

	if (address)
		bpf_probe_read_kernel(&value, sizeof(value), (void *)address);
	return value;
}

static __always_inline bool task_is_ksmd(struct task_struct *task)
{
	__u64 name = 0;

	if (!(BPF_CORE_READ(task, flags) & PF_KTHREAD))
		return false;
	bpf_probe_read_kernel(&name, sizeof(name), &task->comm);
	/* "ksmd" and its final zero, little endian: behind it anything may follow. */
	return (name & 0xffffffffff) == 0x646d736b;
}

/* The same for a task that a tracepoint hands over: read without helpers, for a kernel that is
 * locked down for confidentiality has none that read its memory. */
static __always_inline bool tracepoint_task_is_ksmd(const struct task_struct *task)
{
	return (task->flags & PF_KTHREAD) && task->comm[0] == 'k' && task->comm[1] == 's' &&
	       task->comm[2] == 'm' && task->comm[3] == 'd' && !task->comm[4];
}

static __always_inline bool current_is_ksmd(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (ksmd)
		return (__u64)task == ksmd;
	/* Else on_switch() will know it soon. */
	if (!may_read_memory || !task_is_ksmd(task))
		return false;
	ksmd = (__u64)task;
	return true;
}

static __always_inline void count_call(int fn, __u64 duration)
{
	struct fn_stat *stat = &pending.fn[fn];
	unsigned int index = bucket_index(duration);

	if (!stat->count || duration < stat->min_ns)
		stat->min_ns = duration;
	if (duration > stat->max_ns)
		stat->max_ns = duration;
	stat->count++;
	stat->sum_ns += duration;
	if (index < BUCKET_COUNT) /* always: for the verifier */
		histogram[fn].bucket[index]++;
}

static __always_inline void add_stat(struct fn_stat *to, const struct fn_stat *from)
{
	if (!from->count)
		return;
	if (!to->count || from->min_ns < to->min_ns)
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	to->count += from->count;
	to->sum_ns += from->sum_ns;
}

static __always_inline void send_histogram(int fn)
{
	if (!histogram[fn].total.count)
		return;
	histogram[fn].type = RECORD_HISTOGRAM;
	histogram[fn].function = fn;
	histogram[fn].seq = sequence + 1;
	if (!bpf_ringbuf_output(&ring, &histogram[fn], sizeof(histogram[fn]), BPF_RB_NO_WAKEUP))
		sequence++;
}

/*
 * Sends what is pending, or leaves it for the next time when the ring buffer is full. The
 * loader is never woken: it looks at the buffer ten times a second, which costs ksmd nothing.
 */
static __noinline int send_pending(__u64 now)
{
	int fn;

	pending.type = RECORD_SCAN;
	pending.seq = sequence + 1;
	pending.pass = has_passes ? passes : KSMTRACE_UNKNOWN;
	if (bpf_ringbuf_output(&ring, &pending, sizeof(pending), BPF_RB_NO_WAKEUP)) {
		folded++;
		return 0;
	}
	sequence++;
#pragma unroll
	for (fn = 0; fn < FN_COUNT; fn++) {
		add_stat(&histogram[fn].total, &pending.fn[fn]);
		__builtin_memset(&pending.fn[fn], 0, sizeof(pending.fn[fn]));
	}
	pending.covers = 0;
	pending.begin_ns = 0;
	pending.wall_ns = 0;
	pending.cpu_ns = 0;
	pending.pages = 0;
	pending.merged = 0;
	if (now - histograms_sent_ns < histogram_period_ns)
		return 0;
	histograms_sent_ns = now;
#pragma unroll
	for (fn = 0; fn < FN_COUNT; fn++)
		send_histogram(fn);
	return 0;
}

/* seen: it is now that the scan begins, not some time ago. */
static __noinline int begin_scan(__u64 now, bool seen)
{
	int fn;

	if (!armed)
		return 0;
	if (in_scan)
		unmatched_entries[FN_ksm_do_scan]++;
#pragma unroll
	for (fn = 0; fn < FN_COUNT; fn++)
		entered_at[fn] = 0;
	in_scan = true;
	scan_wall_begin = now;
	scan_passes_begin = passes;
	/* Else the counters are still known from the end of the scan before. */
	if (seen || !scan_pages_begin) {
		scan_pages_begin = kernel_counter(pages_scanned_at);
		scan_sharing_begin = kernel_counter(pages_sharing_at);
	}
	if (!pending.first_clock_ns) {
		pending.first_clock_ns = ksmd_clock(now);
		first_scan_pages = scan_pages_begin;
	}
	if (!pending.begin_ns)
		pending.begin_ns = now;
	entered_at[FN_ksm_do_scan] = ksmd_clock(scan_by_scheduler ? now : bpf_ktime_get_ns());
	return 0;
}

static __noinline int end_scan(__u64 now, __u64 clock)
{
	__u64 duration = clock - entered_at[FN_ksm_do_scan], calls;
	__u64 pages_now = kernel_counter(pages_scanned_at), pages = pages_now - scan_pages_begin;
	__u64 sharing_now = kernel_counter(pages_sharing_at);
	__s64 merged = sharing_now - scan_sharing_begin;
	int fn;

	in_scan = false;
	scan_pages_begin = pages_now;
	scan_sharing_begin = sharing_now;
	/* To the scheduler it looks like a scan, too, when ksmd wakes and finds nothing to do. */
	if (scan_by_scheduler && pages_scanned_at && !pages && passes == scan_passes_begin) {
		if (!pending.covers)
			pending.begin_ns = 0;
		return 0;
	}
	if ((__s64)duration < 0) {
		duration = 0;
		clock_errors++;
	}
	calls = pending.fn[FN_cmp_and_merge_page].count;
	count_call(FN_ksm_do_scan, duration);
#pragma unroll
	for (fn = 1; fn < FN_COUNT; fn++)
		if (entered_at[fn])
			unmatched_entries[fn]++;
	pending.covers++;
	pending.scans++;
	pending.end_ns = now;
	pending.clock_ns = clock;
	pending.wall_ns += now - scan_wall_begin;
	pending.cpu_ns += duration;
	if (pages_scanned_at) {
		pending.pages += pages;
		pending.pages_growth = pages_now - first_scan_pages;
	} else {
		pending.pages = pages_by_calls ? calls : KSMTRACE_UNKNOWN;
		pending.pages_growth = KSMTRACE_UNKNOWN;
	}
	if (pages_sharing_at) {
		pending.merged += merged;
		pending.merged_known = 1;
	}
	if (pending.scans >= scan_limit || last_pass_done)
		armed = false;
	return send_pending(now);
}

static __always_inline void enter(int fn)
{
	if (check_thread[fn] && !current_is_ksmd())
		return;
	if (fn == FN_ksm_do_scan) {
		begin_scan(bpf_ktime_get_ns(), true);
		return;
	}
	if (has_scan ? !in_scan : !armed)
		return;
	if (entered_at[fn])
		unmatched_entries[fn]++;
	entered_once[fn] = true;
	entered_at[fn] = ksmd_clock(bpf_ktime_get_ns());
}

/* Without scans to end a record, one is sent every tenth of a second. */
static __always_inline void end_span(__u64 now, __u64 clock, __u64 begin)
{
	if (!pending.first_clock_ns)
		pending.first_clock_ns = begin;
	if (!pending.begin_ns)
		pending.begin_ns = now;
	/* Each time: the loader takes the last record as it is. */
	pending.end_ns = now;
	pending.clock_ns = clock;
	pending.wall_ns = now - pending.begin_ns;
	if (pending.wall_ns < histogram_period_ns / 10)
		return;
	pending.pages = pages_by_calls ? pending.fn[FN_cmp_and_merge_page].count : KSMTRACE_UNKNOWN;
	send_pending(now);
}

static __always_inline void leave(int fn)
{
	__u64 now = bpf_ktime_get_ns(), clock, begin, duration;

	if (check_thread[fn] && !current_is_ksmd())
		return;
	clock = ksmd_clock(now);
	if (fn == FN_ksm_do_scan) {
		/* An exit alone is no fault here: when there is nothing to scan, ksmd's loop
		 * passes the place where an inlined ksm_do_scan ends without entering it. */
		if (in_scan)
			end_scan(now, clock);
		return;
	}
	begin = entered_at[fn];
	if (!begin) {
		if ((has_scan ? in_scan : armed) && entered_once[fn])
			unmatched_exits[fn]++;
		return;
	}
	entered_at[fn] = 0;
	duration = clock - begin;
	if ((__s64)duration < 0) {
		duration = 0;
		clock_errors++;
	}
	count_call(fn, duration);
	if (!has_scan)
		end_span(now, clock, begin);
}

/* A function's hooks: the loader attaches the pair that its rung calls for. enter_* and leave_*
 * serve kprobe and kretprobe as well as kprobes at an inlined copy's sites. */
#define HOOKS(symbol, shared)                                                                      \
	SEC("fentry")                                                                              \
	int fentry_##symbol(void *ctx)                                                             \
	{                                                                                          \
		enter(FN_##symbol);                                                                \
		return 0;                                                                          \
	}                                                                                          \
	SEC("fexit")                                                                               \
	int fexit_##symbol(void *ctx)                                                              \
	{                                                                                          \
		leave(FN_##symbol);                                                                \
		return 0;                                                                          \
	}                                                                                          \
	SEC("kprobe")                                                                              \
	int enter_##symbol(struct pt_regs *ctx)                                                    \
	{                                                                                          \
		enter(FN_##symbol);                                                                \
		return 0;                                                                          \
	}                                                                                          \
	SEC("kprobe")                                                                              \
	int leave_##symbol(struct pt_regs *ctx)                                                    \
	{                                                                                          \
		leave(FN_##symbol);                                                                \
		return 0;                                                                          \
	}
KSMTRACE_FUNCTIONS(HOOKS)

/* Run by the loader before anything is attached: how long the programs take for a call. */
SEC("raw_tp")
int calibrate(void *ctx)
{
	__u64 begin = bpf_ktime_get_ns();
	int i;

	for (i = 0; i < CALIBRATION_CALLS; i++) {
		enter(FN_cmp_and_merge_page);
		leave(FN_cmp_and_merge_page);
	}
	calibration_ns = bpf_ktime_get_ns() - begin;
	return 0;
}

/* The state in which a task is being switched out. */
static __always_inline long switch_state(unsigned long long *ctx, struct task_struct *prev)
{
	struct task_struct___before_5_14 *old = (void *)prev;

	/* The argument is the only one that no wake-up on another CPU can have changed since. */
	if (switch_has_state)
		return (long)ctx[3];
	if (bpf_core_field_exists(prev->__state))
		return BPF_CORE_READ(prev, __state);
	return BPF_CORE_READ(old, state);
}

static __always_inline void ksmd_in(__u64 now, bool seen)
{
	end_off_cpu(now);
	if (scan_by_scheduler && between_scans) {
		between_scans = false;
		begin_scan(now, seen);
	}
}

static __always_inline void ksmd_out(__u64 now, struct task_struct *task, bool preempt, long state)
{
	__u64 runtime = task->se.sum_exec_runtime;

	/* Its return was not seen, and no hook ran since: how long it ran tells when it was. */
	if (switched_out_ns) {
		__u64 ran = runtime - switched_out_runtime, gone = now - switched_out_ns;

		missed_switches++;
		ksmd_in(ran < gone ? now - ran : switched_out_ns, false);
	}
	switched_out_ns = now;
	switched_out_runtime = runtime;
	if (!scan_by_scheduler)
		return;
	/* Only the sleep between two scans is interruptible: a wait for a lock is not. */
	between_scans = !preempt && (state & TASK_INTERRUPTIBLE) && !(state & TASK_UNINTERRUPTIBLE);
	if (between_scans && in_scan)
		end_scan(now, now - off_cpu_ns);
}

SEC("tp_btf/sched_switch")
int on_switch(unsigned long long *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];

	if (!ksmd) {
		if (tracepoint_task_is_ksmd(next))
			ksmd = (__u64)next;
		else if (tracepoint_task_is_ksmd(prev))
			ksmd = (__u64)prev;
	}
	if ((__u64)prev == ksmd) {
		ksmd_switches++;
		ksmd_out(bpf_ktime_get_ns(), prev, ctx[0], switch_state(ctx, prev));
	} else if ((__u64)next == ksmd) {
		ksmd_switches++;
		ksmd_in(bpf_ktime_get_ns(), true);
	}
	return 0;
}

/* A pass over all mergeable memory begins and ends in ksmd, in the middle of scans. */
SEC("raw_tp/ksm_start_scan")
int on_pass_start(void *ctx)
{
	if (armed)
		pass_begin_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/ksm_stop_scan")
int on_pass_stop(void *ctx)
{
	struct pass_record record = { .type = RECORD_PASS, .seq = sequence + 1 };

	if (!armed || (has_scan && !in_scan))
		return 0;
	record.passes = ++passes;
	record.begin_ns = pass_begin_ns;
	record.end_ns = bpf_ktime_get_ns();
	if (!bpf_ringbuf_output(&ring, &record, sizeof(record), BPF_RB_NO_WAKEUP))
		sequence++;
	if (passes >= pass_limit) {
		if (has_scan)
			last_pass_done = true;
		else
			armed = false;
	}
	return 0;
}
