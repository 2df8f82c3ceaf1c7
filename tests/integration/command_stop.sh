#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Signals, and backends that err or fail on purpose.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# ---- a signal ends the run after the current burst: 6, all written ----
for signal in INT TERM; do
    "$volley" run small.toml --bursts 1000000000000 -o "run$signal" \
        --digest-log "$signal.log" --record "$signal.csv" >out 2>err &
    process=$!
    holds wait_for has_lines 100 "$signal.log"
    kill -$signal $process $process # twice at once, as timeout does
    wait $process
    code=$?
    holds [ $code -eq 6 ]
    says "stopped by a signal after burst"
    manifest=run$signal/manifest.json
    holds is_json "$manifest"
    holds [ "$(value exit_reason "$manifest")" = signal ]
    holds [ "$(value exit_code "$manifest")" = 6 ]
    bursts=$(value bursts "$manifest")
    holds [ "$bursts" -gt 0 ]
    # every burst is in the log, every line is whole, the digest is the same
    holds [ "$(grep -vc '^#' "$signal.log")" = "$bursts" ]
    holds [ "$(tail -n 1 "$signal.log" | cut -d ' ' -f 3)" = \
        "$(value run "$manifest")" ]
    holds [ "$(value spikes "run$signal/summary.json")" = \
        "$(($(wc -l <"$signal.csv") - 1))" ]
    holds [ -z "$(find . -name '*.tmp')" ]
done
expect 0 rerun runINT/manifest.json --quiet
prints "identical"

# ---- before the first burst a signal ends the command at once: 6 ----
# ends SIGNAL CODE: the process goes, with this code
# shellcheck disable=SC2317 # called by holds
ends() {
    kill "-$1" "$process"
    if ! wait_for gone "$process"; then
        kill -KILL "$process"
        return 1
    fi
    wait "$process"
    [ $? -eq "$2" ]
}
# a pipe that no process reads: refused, in 10 s; judged at the end
mkfifo unread
"$volley" run small.toml --record unread --quiet -o nothing >unread.out \
    2>unread.err &
unread=$!
# and a signal ends the wait at once
for option in --record --digest-log; do
    mkfifo "alone$option"
    "$volley" run small.toml --quiet $option "./alone$option" >out 2>err &
    process=$!
    holds wait_for handles $process
    holds ends INT 6
    says "volley: stopped by a signal"
done
# waits for a later one
mkfifo late
"$volley" run small.toml --quiet --record late >out 2>err &
process=$!
holds wait_for handles $process
cat late >late.csv
wait $process
holds [ $? = 0 ]
expect 0 run small.toml --quiet --record soon.csv
holds cmp -s late.csv soon.csv
# reading
mkfifo input
sleep 60 >input &
writer=$!
"$volley" run - <input >out 2>err &
process=$!
holds wait_for handles $process
holds ends TERM 6
says "volley: stopped by a signal"
kill $writer
# compiling: every pair of 10^6 neurons is looked at, which takes days
cat >endless.toml <<'END'
format = 1
[run]
dt_ms = 0.1
bursts = 10
[area.N]
model = "lif_psc_delta"
voxels = [1000, 1000, 1]
[[map]]
from = "N"
to = "N"
rule = "distance"
draw = "pairwise_bernoulli"
kernel = { gaussian = 30, amplitude = 0.00001 }
weight_mv = 1
END
"$volley" check endless.toml --build --threads 1 >out 2>err &
process=$!
holds wait_for handles $process
holds ends TERM 6
says "volley: stopped by a signal"
holds [ ! -s out ]
# the folder goes again, unless it was there
mkdir there
for folder in new there; do
    "$volley" run endless.toml --threads 1 -o $folder >out 2>err &
    process=$!
    holds wait_for handles $process
    holds wait_for [ -d $folder ]
    holds ends TERM 6
    says "volley: stopped by a signal"
done
holds [ ! -e new ]
holds [ -d there ]
# and where the network cannot be compiled
expect 2 run small.toml --set stimulus.kick.weight_mv=1e9 -o new
holds [ ! -e new ]
# measuring
"$volley" bench build >out 2>err &
process=$!
holds wait_for grep -q compiling err
holds ends TERM 6
says "volley: stopped by a signal"

# ---- a run that cannot go on: the second signal kills, of either kind ----
for second in INT TERM; do
    mkfifo "record$second"
    # shellcheck disable=SC2217 # opens the pipe and reads nothing
    sleep 600 <"record$second" &
    reader=$!
    "$volley" run small.toml --bursts 100000000 -o "stuck$second" \
        --threads 1 --record "record$second" --record-memory 1 >out 2>err &
    process=$!
    # it sleeps once the pipe and the memory are full
    holds wait_for grep -q '"event": "run"' "stuck$second/log.jsonl"
    holds wait_for asleep $process
    kill -INT $process
    holds wait_for took $process
    holds wait_for asleep $process
    holds kill -0 $process
    sleep 0.4 # what comes sooner is the same request
    if [ $second = INT ]; then
        holds ends INT 130
    else
        holds ends TERM 143
    fi
    kill $reader
done

# ---- a backend that errs: 1 with burst, neuron, field, both values ----
VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH:$test_plugins/erring.so
VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH:$test_plugins/failing.so
export VOLLEY_PLUGIN_PATH
expect 0 validate small.toml --backends cpu:1,erring
expect 1 validate small.toml --backends cpu:2,erring,at=57,neuron=83
prints "burst 57"
prints "neuron 83 (I[3])"
prints "v_mv"
prints "0x"
VOLLEY_ERRING_BURST=21 expect 1 validate small.toml --backends erring,cpu
prints "burst 21"
# ---- a device that is lost in a run: 3, what was done is written ----
expect 3 run small.toml --backend failing,at=30 -o lost --digest-log lost.log
says "device lost"
holds [ "$(value exit_reason lost/manifest.json)" = error ]
holds [ "$(value exit_code lost/manifest.json)" = 3 ]
holds grep -q '"event": "error"' lost/log.jsonl
# swap to a device that cannot run: the same
expect 3 run small.toml --swap 10=failing,at=30 --quiet
wait $unread
holds [ $? = 4 ]
cp unread.err err
cp unread.out out
says "unread: cannot be written: a pipe that no process has opened to read for 10 s"
holds [ "$(wc -l <err)" -eq 1 ]
holds [ ! -e nothing ]
done_checks
