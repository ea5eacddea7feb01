# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2086,SC2317 # paths without spaces; functions passed on
# In the guest: runs the tool in all ways that tests/vm/run judges and leaves what
# it printed and wrote, and the kernel's own numbers, in /out.
ksm=/sys/kernel/mm/ksm
tool=/t/ksmtrace

# try NAME COMMAND...: keeps its output in NAME.out and NAME.err, its status in NAME.status.
try() {
	name=$1
	shift
	"$@" >/out/"$name".out 2>/out/"$name".err
	echo $? >/out/"$name".status
}

settings() {
	for name in run pages_to_scan sleep_millisecs merge_across_nodes max_page_sharing \
		use_zero_pages stable_node_chains_prune_millisecs smart_scan advisor_mode \
		advisor_max_cpu advisor_target_scan_time advisor_min_pages_to_scan \
		advisor_max_pages_to_scan; do
		[ ! -e $ksm/$name ] || echo "$name=$(cat $ksm/$name)"
	done
}

# What is attached anywhere: kprobes, functions with an ftrace hook, BPF programs.
attached() {
	sed 's/^[0-9a-f]* *//' /sys/kernel/debug/kprobes/list
	cat /sys/kernel/tracing/kprobe_events /sys/kernel/tracing/enabled_functions
	awk '$4 == "[bpf]" { print $3 }' /proc/kallsyms
}

# What a run left behind. Programs are freed a moment after their last user.
leftovers() {
	for _ in 1 2 3 4 5; do
		attached >/tmp/after
		cmp -s /tmp/before /tmp/after && break
		sleep 1
	done
	diff /tmp/before /tmp/after | grep '^[-+][^-+]' >/out/"$1".left
	settings >/tmp/settings
	diff /out/settings /tmp/settings | grep '^[-+][^-+]' >/out/"$1".settings
}

pages_scanned() {
	cat $ksm/pages_scanned 2>/dev/null || echo unknown
}

cp /sys/kernel/notes /out/notes
settings >/out/settings
attached >/tmp/before

try hooks $tool hooks --json
try hooks-memcmp $tool hooks --json -f memcmp_pages
leftovers hooks

# The run that users make.
try run $tool --workload=32 -p 2 --set pages_to_scan=500 --set sleep_millisecs=10 \
	--csv /out/run.csv --scans-csv /out/run-scans.csv
leftovers run

# Here and below three passes: one may go to what an earlier workload left behind, the next only
# computes checksums, and the third compares pages.
try memcmp $tool --workload=8 -p 3 -f memcmp_pages --set pages_to_scan=500 \
	--set sleep_millisecs=10 --csv /out/memcmp.csv
leftovers memcmp

# The other rungs, where a better one is there: they must work all the same.
try rungs $tool --workload=8 -p 3 -f ksm_do_scan,memcmp_pages --hook ksm_do_scan=scheduler \
	--hook memcmp_pages=kprobe --set pages_to_scan=500 --set sleep_millisecs=10 \
	--csv /out/rungs.csv --scans-csv /out/rungs-scans.csv
leftovers rungs

# Without ksm_do_scan there are no scans, and calls count all the same.
try alone $tool --workload=8 -d 3 -f cmp_and_merge_page --csv /out/alone.csv
leftovers alone
# What such a run's last record holds counts, too, when it is the only one.
try short $tool --workload=8 -p 3 -f cmp_and_merge_page --csv /out/short.csv

# counted NAME OPTION... -- COMMAND...: a run that sees all that ksmd does. KSM is turned on
# after the tool is armed, and off before the tool ends (the write to run waits for the end of
# the scan); COMMAND runs in between, with the tool's process in $tracer.
counted() {
	name=$1
	shift
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	pages_scanned >/out/"$name".before
	$tool $options --csv /out/"$name".csv --scans-csv /out/"$name"-scans.csv \
		>/out/"$name".out 2>/out/"$name".err &
	tracer=$!
	timeout 30 sh -c "until grep -q TIME /out/$name.out; do sleep 0.2; done"
	echo 1 >$ksm/run
	"$@"
	echo 0 >$ksm/run
	sleep 0.5
	kill -TERM $tracer
	wait $tracer
	echo $? >/out/"$name".status
	pages_scanned >/out/"$name".after
}

two_passes() {
	passes=$(($(cat $ksm/full_scans) + 2))
	timeout 60 sh -c "until [ \$(cat $ksm/full_scans) -ge $passes ]; do sleep 0.2; done"
}

# The tool is stopped while ksmd goes on without a pause, far longer than its buffer lasts.
stopped_reader() {
	sleep 1
	kill -STOP $tracer
	sleep 20
	kill -CONT $tracer
	sleep 1
}

$tool workload --processes 2 --size 8 --duplicate 50 --zero 10 --volatile 10 >/tmp/workload &
workload=$!
timeout 30 sh -c 'until grep -q ready /tmp/workload; do sleep 0.2; done'
echo 500 >$ksm/pages_to_scan
counted counted -- two_passes
echo 1 >$ksm/pages_to_scan
echo 0 >$ksm/sleep_millisecs
counted stopped -i 5 -- stopped_reader
sed -n 's/^sleep_millisecs=//p' /out/settings >$ksm/sleep_millisecs
sed -n 's/^pages_to_scan=//p' /out/settings >$ksm/pages_to_scan
kill $workload
wait $workload
leftovers counted
exit 0
