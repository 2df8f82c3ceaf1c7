#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Bursts in real time: rate, the three policies on a backend that is too slow,
# the same digest as without, signals. Machines that test may be loaded, so that
# only what cannot be faster is held against the clock.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"
VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH:$test_plugins/erring.so
export VOLLEY_PLUGIN_PATH

# at_least NUMBER NUMBER
# shellcheck disable=SC2317 # called by holds
at_least() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a >= b) }'
}

expect 0 run small.toml --quiet --json free.json
holds grep -q '"pace": null' free.json
digest=$(value digest free.json)
state=$(value state_digest free.json)

# ---- 200 bursts at 400 a second: half a second, nearly ----
for policy in "" slip skip; do
    # shellcheck disable=SC2086 # no word where there is none
    expect 0 run --pace $policy --pace-hz 400 small.toml --json paced.json
    holds is_json paced.json
    holds [ "$(value digest paced.json)" = "$digest" ]
    holds [ "$(value state_digest paced.json)" = "$state" ]
    holds [ "$(value policy paced.json)" = "${policy:-slip}" ]
    holds [ "$(value pace_hz paced.json)" = 400 ]
    holds at_least "$(value wall_s paced.json)" 0.497
    prints "400 bursts/s, ${policy:-slip}:"
    prints "jitter            half below"
    sum=$(awk -F: '/"bursts":/ { gsub(/[ ,]/, "", $2); n += $2 }
        END { print n - 200 }' paced.json)
    holds [ "$sum" = 200 ] # the histogram, without the run's own line
done

# ---- the genome's rate ----
sed 's/^dt_ms.*/rate_hz = 30/; s/1.5$/40/' small.toml >slow.toml
expect 0 run slow.toml --pace=skip --bursts 10 --quiet --json paced.json
holds [ "$(value pace_hz paced.json)" = 30 ]
holds at_least "$(value wall_s paced.json)" 0.299
expect 0 run small.toml --pace --bursts 5 --quiet --json paced.json
holds [ "$(value pace_hz paced.json)" = 10000 ]

# ---- too slow by half: 15 ms a burst at 100 a second ----
slow="--backend erring,slow=15 --pace-hz 100 --bursts 20"
expect 0 run small.toml --bursts 20 --quiet --json free.json
digest=$(value digest free.json)
# shellcheck disable=SC2086 # words of a call
expect 0 run small.toml $slow --pace slip --quiet --json slip.json
holds [ "$(value missed slip.json)" = 20 ]
holds [ "$(value skipped slip.json)" = 0 ]
holds at_least "$(value slipped_s slip.json)" 0.1
holds at_least "$(value wall_s slip.json)" 0.3
holds [ "$(value digest slip.json)" = "$digest" ]
# every burst takes two periods, and none is left out
# shellcheck disable=SC2086 # words of a call
expect 0 run small.toml $slow --pace skip --quiet --json skip.json
holds [ "$(value missed skip.json)" = 20 ]
holds at_least "$(value skipped skip.json)" 20
holds [ "$(value slipped_s skip.json)" = 0 ]
holds at_least "$(value wall_s skip.json)" 0.394
holds [ "$(value bursts skip.json)" = 20 ]
holds [ "$(value digest skip.json)" = "$digest" ]
# shellcheck disable=SC2086 # words of a call
expect 7 run small.toml $slow --pace stop -o late --digest-log late.log
says "--pace stop: burst 1 of 20 missed its deadline"
holds [ "$(value missed late/summary.json)" = 1 ]
holds [ "$(value bursts late/manifest.json)" = 1 ]
holds [ "$(value exit_reason late/manifest.json)" = deadline ]
holds [ "$(value exit_code late/manifest.json)" = 7 ]
holds [ "$(grep -vc '^#' late.log)" = 1 ]
expect 0 rerun late/manifest.json --quiet

# ---- with swaps, and a recording: the same ----
expect 0 run small.toml --bursts 40 --quiet --record free.csv --json free.json
expect 0 run small.toml --bursts 40 --quiet --record paced.csv \
    --json paced.json --pace --pace-hz 200 --swap 10=cpu:2
holds [ "$(value digest paced.json)" = "$(value digest free.json)" ]
holds cmp -s free.csv paced.csv

# ---- a signal while it waits a quarter of an hour: at once ----
"$volley" run small.toml --pace --pace-hz 0.001 -o waits >out 2>err &
process=$!
holds wait_for grep -q '"event": "run"' waits/log.jsonl
holds wait_for asleep $process
kill -INT $process
wait $process
holds [ $? -eq 6 ]
holds [ "$(value exit_reason waits/manifest.json)" = signal ]
holds [ "$(value bursts waits/manifest.json)" = 1 ]
holds at_least 500 "$(value wall_s waits/summary.json)"

# ---- wrong calls ----
expect 2 run small.toml --pace=fast
says '--pace is "fast", wanted one of [slip|skip|stop]'
expect 2 run small.toml --pace fast
says '--pace is "fast", wanted one of [slip|skip|stop]'
expect 2 run small.toml --pace-hz 5
says "without --pace"
expect 2 run small.toml --pace --pace-hz 0
expect 2 run small.toml --pace --pace skip
says "given twice"
expect 0 run --help
prints "--pace [slip|skip|stop]"
done_checks
