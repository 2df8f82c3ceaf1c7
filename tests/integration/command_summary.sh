#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --summary-from: figures of areas are those of the bursts after a beginning,
# counted again here from the recording; the same across swaps, checkpoints, a
# resume and a failing device.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# figures CSV FIRST BURSTS [BIN]: "E spikes rate cv cv_neurons fano silent" and
# the same of I, of the bursts from FIRST on, by their definitions
figures() {
    awk -F, -v first="$2" -v end="$3" -v bin=30 '
        function area(name, n,   i, k, mean, var, sum, many, bins, m, v, rate) {
            bins = int((end - first) / bin)
            for (i = 0; i < n; i++) {
                k = count[name, i]
                if (k == 0) silent++
                if (k < 3) continue
                mean = (last[name, i] - begin[name, i]) / (k - 1)
                var = squares[name, i] / (k - 1) - mean * mean
                sum += (var > 0 ? sqrt(var) : 0) / mean
                many++
            }
            for (i = 0; i < bins; i++) m += in_bin[name, i] / bins
            for (i = 0; i < bins; i++) v += (in_bin[name, i] - m) ^ 2 / bins
            rate = total[name] / (n * (end - first) * 1e-4)
            printf "%s %d %.6g %.6g %d %.6g %.6g\n", name, total[name], rate,
                sum / many, many, v / m, silent / n
        }
        NR > 1 && $1 >= first {
            total[$3]++
            if (count[$3, $4]++ == 0) begin[$3, $4] = $1
            else squares[$3, $4] += ($1 - last[$3, $4]) ^ 2
            last[$3, $4] = $1
            if (int(($1 - first) / bin) < int((end - first) / bin))
                in_bin[$3, int(($1 - first) / bin)]++
        }
        END { area("E", 80); area("I", 20) }' "$1"
}

# table JSON: the same of a summary
table() {
    awk '/"areas": \[/ { on = 1 }
        on && /"id"/ { gsub(/[",]/, ""); name = $2 }
        on && /"(spikes|rate_hz|isi_cv|isi_cv_neurons|fano|silent_share)"/ {
            gsub(/[",]/, ""); key = $1; sub(/:/, "", key); got[key] = $2 }
        on && /silent_share/ {
            printf "%s %d %.6g %.6g %d %.6g %.6g\n", name, got["spikes"],
                got["rate_hz"], got["isi_cv"], got["isi_cv_neurons"],
                got["fano"], got["silent_share"] }' "$1"
}

# whole numbers are the same, others to 1e-5 of them
alike() {
    paste -d' ' "$1" "$2" | awk '
        { for (i = 1; i <= 7; i++) {
              d = $i - $(i + 7)
              if (i == 1 ? $i != $(i + 7) : !(d * d <= 1e-10 * $i * $i)) bad++
          } }
        END { exit !(NR == 2 && !bad) }'
}

run="run small.toml --quiet"
long="$run --bursts 2000"

# ---- figures are those of the rest ----
# shellcheck disable=SC2086 # words
{
    expect 0 $long --backend cpu:1 --record all.csv --json all.json
    for first in 0 1 437 1999; do
        expect 0 $long --backend cpu:1 --statistics --json from.json \
            --summary-from "$(echo $first | awk '{ print $1 / 10 }')"
        table from.json >got
        holds is_json from.json
        holds [ "$(value summary_from_burst from.json)" = $first ]
        holds [ "$(value summary_bursts from.json)" = $((2000 - first)) ]
        holds [ "$(value first_burst from.json)" = $first ]
        # totals are of the whole run
        for key in digest state_digest synaptic_events; do
            holds [ "$(value $key from.json)" = "$(value $key all.json)" ]
        done
        # of an area it stands deeper
        holds [ "$(grep '^  "spikes"' from.json)" = \
            "$(grep '^  "spikes"' all.json)" ]
        [ "$first" -eq 1999 ] && continue # no neuron fires three times
        figures all.csv $first 2000 >want
        holds alike want got
    done
    holds [ "$(value rate_hz from.json)" != "$(value rate_hz all.json)" ]
    # without the option nothing is other than before
    expect 0 $long --backend cpu:1 --summary-from 0 --statistics --json zero.json
    table all.json >want
    table zero.json >got
    holds cmp want got
}
expect 0 run small.toml --bursts 2000 --backend cpu:1 --summary-from 43.7
prints "summary from      burst 437 (43.7 ms): areas and statistics are of 1,563 bursts"

# ---- across swaps, a resume before it and one after it ----
figures all.csv 437 2000 >want
# shellcheck disable=SC2086 # words
{
    expect 0 $long --backend cpu:1 --swap 100=cpu:2 --swap 437=cpu:1 \
        --swap 438=cpu:3 --statistics --summary-from 43.7 --json got.json
    table got.json >got
    holds alike want got
    for end in 300 437; do
        expect 0 $run --backend cpu:1 --bursts $end --checkpoint early.vlk
        expect 0 $long --backend cpu:2 --resume early.vlk --statistics \
            --summary-from 43.7 --json got.json
        table got.json >got
        holds alike want got
        holds [ "$(value summary_from_burst got.json)" = 437 ]
    done
    # the process knows no earlier ones: it says where its figures begin
    expect 0 $run --backend cpu:1 --bursts 900 --checkpoint late.vlk
    expect 0 run small.toml --bursts 2000 --backend cpu:1 --resume late.vlk \
        --statistics --summary-from 43.7 --json got.json
    prints "summary from      burst 900 (90 ms): areas and statistics are of 1,100 bursts; earlier ones are not known here, asked for was burst 437"
    figures all.csv 900 2000 >want
    table got.json >got
    holds alike want got
    holds [ "$(value summary_from_burst got.json)" = 900 ]
    # from its end on: no figures, and no division by 0
    expect 0 $long --backend cpu:1 --checkpoint end.vlk
    expect 0 $long --backend cpu:1 --resume end.vlk --summary-from 43.7 \
        --statistics --json got.json
    holds is_json got.json
    holds [ "$(value summary_bursts got.json)" = 0 ]
    holds [ "$(value rate_hz got.json)" = null ]
    holds [ "$(value silent_share got.json)" = null ]
}

# ---- a run that ends before it ----
expect 7 run small.toml --bursts 2000 --backend cpu:1 --summary-from 150 \
    --statistics --pace stop --pace-hz 1e7 --json got.json
holds [ "$(value summary_bursts got.json)" = 0 ]
holds [ "$(value rate_hz got.json)" = null ]
holds [ "$(value summary_from_burst got.json)" = 1500 ]
holds is_json got.json

# ---- a device that fails, and one that reported wrong spikes before ----
figures all.csv 30 2000 >want
# shellcheck disable=SC2086 # words
if [ -e "$test_plugins/flaky.so" ]; then
    export VOLLEY_PLUGIN_PATH="${VOLLEY_PLUGIN_PATH:-}:$test_plugins/flaky.so"
    expect 0 $long --backend flaky,at=100 --on-device-error cpu:1 \
        --failover-every 200 --statistics --summary-from 3 --json got.json
    table got.json >got
    holds alike want got
    # statistics of wrong spikes are made again, in the burst loop (of a net that
    # began on the processor) and in a thread; paced, since a burst is then
    # reported before the next one begins
    expect 0 $long --backend cpu:1 --swap 20=flaky,at=100,wrong=90 \
        --on-device-error cpu:1 --failover-every 1000 --statistics \
        --pace --pace-hz 50000 --json got.json
    says "were wrong"
    first=$(value first_burst got.json)
    holds [ "$first" -le 20 ]
    figures all.csv "$first" 2000 >want
    table got.json >got
    # spikes and rates are the engine's and of all bursts
    cut -d' ' -f 1,4- want >want.rest
    cut -d' ' -f 1,4- got >got.rest
    holds cmp want.rest got.rest
    figures all.csv 0 2000 >want
    expect 0 $long --backend flaky,at=100,wrong=90 --on-device-error cpu:1 \
        --failover-every 1000 --statistics --pace --pace-hz 50000 \
        --json got.json
    says "were wrong"
    table got.json >got
    holds alike want got
    # the snapshot is burst 0, and what the device counted up to burst 95 is
    # not true
    expect 0 run small.toml --bursts 2000 --backend flaky,at=100,wrong=90 \
        --on-device-error cpu:1 --failover-every 1000 --summary-from 9.5 \
        --json got.json
    first=$(value summary_from_burst got.json)
    holds [ "$first" -ge 95 ]
    holds [ "$(value digest got.json)" = "$(value digest all.json)" ]
    spikes=$(figures all.csv "$first" 2000 | awk '{ print $2 }' | tr '\n' ' ')
    holds [ "$(table got.json | awk '{ print $2 }' | tr '\n' ' ')" = "$spikes" ]
fi

# ---- refused ----
expect 2 run small.toml --bursts 200 --summary-from 20
says "--summary-from is 20 ms, and the run ends at 20 ms: no burst would be left, wanted less"
expect 2 run small.toml --summary-from 1e9
says "no burst would be left"
expect 2 run small.toml --summary-from 0.25
says "--summary-from is 0.25, wanted a whole number of bursts of dt_ms = 0.1: 0.2 or 0.3"
expect 2 run small.toml --summary-from -1
says "--summary-from"
expect 2 run small.toml --summary-from half
says "--summary-from"

# ---- a sweep: its rates are those of the rest ----
expect 0 sweep small.toml --seeds 1,2 --bursts 2000 --summary-from 43.7 \
    --jobs 1 --threads 1 --quiet -o swept
expect 0 run small.toml --bursts 2000 --seed 2 --quiet --backend cpu:1 \
    --summary-from 43.7 --json one.json
rate=$(value rate_hz one.json)
holds grep -q ",$rate," swept/results.csv
expect 0 sweep small.toml --seeds 1,2 --bursts 2000 --summary-from 43.7 \
    --jobs 1 --threads 1 -o swept
prints "0 run, 2 done before"
expect 2 sweep small.toml --seeds 1,2 --bursts 2000 --jobs 1 -o swept
says "its points are of another --summary-from, wanted the same --summary-from"
expect 0 sweep small.toml --seeds 1,2 --bursts 2000 --jobs 1 -o swept --force
prints "2 run, 0 done before"
expect 2 sweep small.toml --seeds 1,2 --bursts 200 --summary-from 20 -o none
says "no burst would be left"

done_checks
