#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Signals, and backends that err or fail on purpose.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# started LOG: waits until the run has begun
# shellcheck disable=SC2317 # called by holds
started() {
    tries=0
    until grep -q '"event": "run"' "$1" 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || return 1
        sleep 0.1
    done
}

# ---- a signal ends the run after the current burst: 6, all written ----
for signal in INT TERM; do
    "$volley" run small.toml --bursts 1000000000000 -o "run$signal" \
        --digest-log "$signal.log" --record "$signal.csv" >out 2>err &
    process=$!
    holds started "run$signal/log.jsonl"
    sleep 0.2
    kill -$signal $process
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
# ends SIGNAL CODE: the process is gone within seconds, with this code
# shellcheck disable=SC2317 # called by holds
ends() {
    kill "-$1" "$process"
    tries=0
    while kill -0 "$process" 2>/dev/null; do
        tries=$((tries + 1))
        if [ "$tries" -ge 50 ]; then
            kill -KILL "$process"
            return 1
        fi
        sleep 0.1
    done
    wait "$process"
    [ $? -eq "$2" ]
}
# reading
mkfifo input
sleep 60 >input &
writer=$!
"$volley" run - <input >out 2>err &
process=$!
sleep 1
holds ends TERM 6
says "volley: stopped by a signal"
kill $writer
# compiling: about a second
"$volley" check "$genomes/stress_1000.toml" --build --threads 1 >out 2>err &
process=$!
sleep 0.3
holds ends TERM 6
says "volley: stopped by a signal"
holds [ ! -s out ]
# the folder goes again, unless it was there
mkdir there
for folder in new there; do
    "$volley" run "$genomes/stress_1000.toml" --threads 1 -o $folder \
        >out 2>err &
    process=$!
    tries=0
    until [ -d new ] || [ $folder = there ] || [ "$tries" -ge 200 ]; do
        tries=$((tries + 1))
        sleep 0.02
    done
    sleep 0.3
    holds [ -d $folder ]
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
tries=0
until grep -q compiling err || [ "$tries" -ge 200 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
holds ends TERM 6
says "volley: stopped by a signal"

# ---- a run that cannot go on: the second signal kills, of either kind ----
# blocked: the process has used no time for a while, so the pipe is full. How
# long that takes depends on the load.
# shellcheck disable=SC2317 # called by holds
blocked() {
    tries=0
    while [ "$tries" -lt 200 ]; do
        before=$(cut -d ' ' -f 14-15 "/proc/$process/stat") || return 1
        sleep 0.5
        after=$(cut -d ' ' -f 14-15 "/proc/$process/stat") || return 1
        [ "$before" = "$after" ] && return 0
        tries=$((tries + 1))
    done
    return 1
}
for second in INT TERM; do
    mkfifo "record$second"
    # shellcheck disable=SC2217 # opens the pipe and reads nothing
    sleep 600 <"record$second" &
    reader=$!
    "$volley" run small.toml --bursts 100000000 -o "stuck$second" \
        --threads 1 --record "record$second" --record-memory 1 >out 2>err &
    process=$!
    holds started "stuck$second/log.jsonl"
    holds blocked
    kill -INT $process
    sleep 0.5
    holds kill -0 $process
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
done_checks
