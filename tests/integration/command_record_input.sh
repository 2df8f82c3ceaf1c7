#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# [[record]] of input: the weights of what arrived at each port in each interval,
# counted again from the spikes of the sources; the same spikes without it; the
# same bytes with threads, ranks, a swap and a resume within an interval.
# shellcheck source=tests/integration/command_support.sh disable=SC2154
. "${0%/*}/command_support.sh"
hdf5=$6

# G sends to E and C, each neuron to all, with 1.5 ms: 3 bursts
cat >net.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 200
[area.G]
generator = "poisson"
neurons = 9
rate_hz = 150
[area.E]
model = "lif_psc_exp"
neurons = 6
i_e_pa = { uniform = [200, 400] }
v_mv = { uniform = [-65, -55] }
[area.C]
model = "adex"
neurons = 4
tau_ex_ms = 3
[[map]]
from = "G[0:6]"
to = "E"
rule = "all_to_all"
weight_pa = 350.5
delay_ms = 1.5
[[map]]
from = "G[6:9]"
to = "E"
rule = "all_to_all"
weight_pa = -80
delay_ms = 1.5
[[map]]
from = "G[0:6]"
to = "C"
rule = "all_to_all"
weight_ns = 6.25
delay_ms = 1.5
[[map]]
from = "G[6:9]"
to = "C"
rule = "all_to_all"
weight_ns = -2
delay_ms = 1.5
END
cat net.toml - >input.toml <<'END'
[[record]]
what = "spikes"
from = "*"
[[record]]
what = "input"
from = ["E", "C"]
interval_ms = 4
[[record]]
what = "input"
from = "E[2:5]"
start_ms = 3
stop_burst = 101
interval_bursts = 7
[[record]]
what = "rates"
from = "E"
interval_ms = 5
END

# ---- the spikes are those without a record ----
digest() {
    "$volley" run "$@" 2>err | awk '$1 == "digest" { print $2 }'
}
first=$(digest net.toml --backend cpu:1)
holds [ -n "$first" ]
holds [ "$first" = "$(digest input.toml --backend cpu:1)" ]
set -- --set area.E.tau_m_ms=14 --set area.C.a_ns=7 \
    --change 60=area.E.tau_m_ms=11 --change 90=area.C.v_peak_mv=5
changed=$(digest net.toml --backend cpu:1 "$@")
holds [ -n "$changed" ]
holds [ "$changed" != "$first" ]
holds [ "$changed" = "$(digest input.toml --backend cpu:3 "$@")" ]

# ---- what arrived ----
expect 0 run input.toml --quiet --backend cpu:1 --record one.csv
holds [ "$(ls one.*csv | paste -sd' ')" = "one.1.input_ex_ns.csv\
 one.1.input_inh_ns.csv one.1.input_pa.csv one.2.input_pa.csv\
 one.3.rate_hz.csv one.csv" ]
holds [ "$(head -n 1 one.1.input_pa.csv)" = burst,time_ms,area,neuron,input_pa ]
# sum FIRST INTERVAL LAST AREA FROM N EX INH: rows of the neurons [FROM,
# FROM + N) of an area, with weights of what the two parts of G sent 3 bursts
# before
sum() {
    awk -F, -v first="$1" -v interval="$2" -v last="$3" -v area="$4" \
        -v from="$5" -v n="$6" -v ex="$7" -v inh="$8" '
        $3 == "G" && $1 + 3 >= first {
            c[int(($1 + 3 - first) / interval)] += $4 < 6 ? ex : inh }
        END {
            for (k = 0; first + (k + 1) * interval <= last; k++)
                for (i = from; i < from + n; i++) {
                    end = first + (k + 1) * interval
                    printf "%d,%g,%s,%d,%.9g\n", end - 1, end / 2, area, i, c[k]
                }
        }' one.csv >wanted.csv
}
same() { # same FILE AREA
    awk -F, -v area="$2" '$3 == area' "$1" >found.csv
    holds cmp found.csv wanted.csv
    holds [ "$(grep -cv ',0$' wanted.csv)" -ge 2 ]
}
sum 0 8 200 E 0 6 350.5 -80
same one.1.input_pa.csv E
sum 6 7 101 E 2 3 350.5 -80
same one.2.input_pa.csv E
sum 0 8 200 C 0 4 6.25 0
same one.1.input_ex_ns.csv C
sum 0 8 200 C 0 4 0 -2
same one.1.input_inh_ns.csv C

# ---- the same bytes ----
alike() {
    for file in one*.csv; do
        holds cmp "$file" "$1${file#one}"
    done
}
expect 0 run input.toml --quiet --backend cpu:3 --record three.csv
alike three
expect 0 run input.toml --quiet --backend cpu:2 --ranks 3 --record ranks.csv
alike ranks
expect 0 run input.toml --quiet --backend cpu:1 --swap 43=cpu:2 \
    --record swap.csv
alike swap
for bursts in 5 6 7 96 101 103; do
    expect 0 run input.toml --quiet --backend cpu:1 --record half.csv \
        --bursts $bursts --checkpoint half.state
    expect 0 run input.toml --quiet --backend cpu:2 --record half.csv \
        --resume half.state
    alike half
    rm -f half*
done
# a run that begins to record in an interval leaves it out
expect 0 run input.toml --quiet --backend cpu:1 --bursts 11 --checkpoint late
expect 0 run input.toml --quiet --backend cpu:1 --resume late \
    --record late.csv
awk -F, 'NR == 1 || $1 > 18' one.1.input_pa.csv >wanted.csv
holds cmp wanted.csv late.1.input_pa.csv
# a device that told wrong from before a sum was read: a fail-over goes on behind
# that burst, where the sum cannot be read again
sed 's/interval_ms = .*/interval_bursts = 30\nstart_burst = 85/' input.toml >begin.toml
for wrong in 84 ''; do
    VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH:$test_plugins/flaky.so \
        "$volley" run begin.toml --quiet --record begin.csv \
        --backend flaky,at=95${wrong:+,wrong=$wrong} --on-device-error cpu:1 \
        --failover-every 41 --pace --pace-hz 10000 >out 2>err
    code=$?
    if [ -n "$wrong" ]; then
        holds [ $code -ne 0 ]
        says "no fail-over to cpu:1: results of flaky:0 from burst 82 on"
    else
        holds [ $code -eq 0 ]
        expect 0 run begin.toml --quiet --backend cpu:1 --record whole.csv
        for file in whole*.csv; do
            holds cmp "$file" "begin${file#whole}"
        done
    fi
done
# a record of input is part of the network
expect 0 run net.toml --quiet --backend cpu:1 --bursts 9 --checkpoint other
expect 2 run input.toml --quiet --backend cpu:1 --resume other
says "checkpoint of another genome"
# what resolve writes is the same network
expect 0 resolve input.toml
mv out again.toml
holds [ "$first" = "$(digest again.toml --backend cpu:1)" ]
expect 0 run again.toml --quiet --backend cpu:1 --record again.csv
alike again
if [ "$hdf5" = 1 ]; then
    expect 0 run input.toml --quiet --backend cpu:1 --record one.h5
    holds [ -s one.1.input_inh_ns.h5 ]
    expect 0 inspect one.1.input_inh_ns.h5
fi

# ---- the note, and a terminal's end of it ----
expect 0 check input.toml
says "note: input.toml:45:1: input is recorded: "
expect 2 run input.toml --quiet --backend cpu:1 --record -
says "--record -: rates of [[record]] go to files beside the spikes"
cat >own.toml <<'END'
format = 1
[neuron.own]
port = { fast = "mV", slow = "mV", third = "1" }
state = { v = "0 mV", x = 0 }
eq = "v' = -v/(10 ms); x' = -x/(5 ms)"
on.fast = "v += in"
on.slow = "v += 0.5*in"
on.third = "x += in"
spike = "v >= 10 mV"
reset = "v = 0 mV"
[area.E]
model = "own"
neurons = 1
[[stimulus]]
kind = "spikes"
to = "E"
times_ms = [2, 5, 6]
port = "slow"
weight_mv = -1.5
[[record]]
what = "input"
from = "E"
interval_ms = 4
END
expect 0 run own.toml --quiet --bursts 12 --backend cpu:1 --record own.csv
holds [ "$(cut -d, -f5 own.1.input_slow_mv.csv | paste -sd' ')" \
    = "input_slow_mv -1.5 -3 0" ]
holds [ "$(cut -d, -f5 own.1.input_third.csv | paste -sd' ')" \
    = "input_third 0 0 0" ]
expect 0 check own.toml
holds sh -c '! grep -q "input is recorded" err'
expect 2 run own.toml --quiet --bursts 12 --backend cpu:1 --record -
says "--record -: input of [[record]] go to files beside the spikes"
done_checks
