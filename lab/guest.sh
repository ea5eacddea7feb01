# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# In the guest: one recording. /t/protocol says of which memory and for how long; the
# rest is as published: KSM off while the memory is made, then 200 pages every 200 ms.
# shellcheck source=/dev/null
# shellcheck disable=SC2154 # workload and options are set there
. /t/protocol
tool=/t/ksmtrace

echo 0 >/sys/kernel/mm/ksm/run
# shellcheck disable=SC2086 # a word an option
$tool workload $workload >/out/workload 2>&1 &
until grep -qs ready /out/workload; do
	kill -0 $! || exit 1
	sleep 0.1
done
# shellcheck disable=SC2086
$tool $options --set pages_to_scan=200 --set sleep_millisecs=200 --set run=1 \
	--csv /out/recording.csv --scans-csv /out/scans.csv >/out/output
status=$?
grep . /sys/kernel/mm/ksm/* >/out/ksm
exit $status
