#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --change and `volley ctl set`: wrong names and values are refused before the
# run, with nothing written; a change that fails in the run loses nothing.
# shellcheck source=tests/integration/command_support.sh disable=SC2154
. "${0%/*}/command_support.sh"
cat >learn.toml <<'GENOME'
format = 1
[run]
dt_ms = 0.5
bursts = 1000
[area.A]
model = "lif_psc_delta"
neurons = 20
[area.Back]
model = "lif_psc_delta"
neurons = 5
[plasticity.up]
rule = "stdp"
w_max_mv = 3
lambda = 0.02
[plasticity.down]
rule = "stdp_inhibitory"
w_max_mv = -2
eta_mv = 0.01
[[map]]
id = "ex"
from = "A"
to = "A"
rule = "fixed_in_degree"
in_degree = 6
weight_mv = { uniform = [0, 3] }
delay_ms = 1
plasticity = "up"
[[map]]
id = "in"
from = "Back"
to = "A"
rule = "all_to_all"
weight_mv = -1
delay_ms = 1
plasticity = "down"
[[stimulus]]
id = "ext"
kind = "poisson"
to = "*"
rate_hz = 500
weight_mv = 8
[[record]]
what = "weights"
map = "ex"
interval_bursts = 100
GENOME

# ---- refused before the run, with what is wanted ----
# refused CHANGE TEXT: by the run, and nothing is written
refused() {
    expect 2 run learn.toml --quiet --change "$1" --weights w.csv \
        --record s.csv --record-weights r.csv -o out.d --json j.json
    says "volley: --change $1: "
    says "$2"
    holds [ ! -e w.csv ]
    holds [ ! -e s.csv ]
    holds [ ! -e r.csv ]
    holds [ ! -e out.d ]
    holds [ ! -e j.json ]
}
# the form, the burst, the value
refused 40=area.A.tau_m_ms "wanted BURST=PATH=VALUE, as in "
refused area.A.tau_m_ms=5 "wanted BURST=PATH=VALUE, as in "
refused x=area.A.tau_m_ms=5 'the burst is "x", wanted a whole number'
refused -1=area.A.tau_m_ms=5 'the burst is "-1", wanted a whole number'
refused 40=plasticity.up.lambda=abc 'the value is "abc", wanted a number, true or false'
refused 40=plasticity.up.lambda= 'the value is "", wanted a number, true or false'
refused 40=plasticity.up.lambda=nan 'the value is "nan", wanted a number'
# ranges: of rules, areas, stimuli; what two parameters must be together
refused 40=plasticity.up.lambda=-1 "plasticity.up.lambda is -1, wanted 0 to 1"
refused 40=plasticity.down.eta_mv=-0.5 "plasticity.down.eta_mv is -0.5, wanted 0 to"
refused 40=plasticity.up.frozen=0.5 "plasticity.up.frozen is 0.5, wanted 0 or 1"
refused 40=plasticity.up.w_max_mv=2 "cannot change in a running net"
refused 40=plasticity.up.tau_plus_ms=2 "cannot change in a running net"
refused 40=area.A.tau_m_ms=-1 "area.A.tau_m_ms is -1, wanted 0.001 to"
refused 40=area.A.v_reset_mv=-40 "wanted v_reset_mv below v_th_mv"
refused 40=stimulus.ext.rate_hz=-1 "stimulus.ext.rate_hz is -1, wanted 0 to"
refused 40=stimulus.ext.weight_mv=900000000 "stimulus.ext.weight"
# names: of each word the nearest, or all
refused 40=plasticty.up.lambda=0.5 "did you mean plasticity?"
refused 40=plasticity.pu.lambda=0.5 "no synapse learns by a [plasticity.pu], did you mean up?"
refused 40=plasticity.none.lambda=0.5 "wanted one of up, down"
refused 40=plasticity.up.lamda=0.5 "has no parameter lamda, did you mean lambda?"
refused 40=plasticity.down.etta_mv=0.5 "did you mean eta_mv?"
refused 40=plasticity.down.eta_vm=0.5 "did you mean eta_mv?"
refused 40=plasticity.up.frozne=1 "did you mean frozen?"
refused 40=area.Bakc.tau_m_ms=5 "there is no area Bakc, did you mean Back?"
refused 40=area.none.tau_m_ms=5 "there is no area none; there are A, Back"
refused 40=area.A.tau_ms=5 "has no parameter tau_ms, did you mean tau_m_ms?"
refused 40=area.A.v_mv=-60 "area.A.v_mv is state, not a parameter"
refused 40=stimulus.exd.rate_hz=5 "there is no stimulus exd, did you mean ext?"
refused 40=stimulus.ext.rate=5 "wanted one of rate_hz, weight"

# ---- a change sees those before it, in the order of bursts ----
expect 0 run learn.toml --quiet --change 500=area.A.v_reset_mv=-45 \
    --change 400=area.A.v_th_mv=-40
expect 2 run learn.toml --quiet --change 400=area.A.v_reset_mv=-45 \
    --change 500=area.A.v_th_mv=-40
says "--change 400=area.A.v_reset_mv=-45: "
# and a resumed run those of its checkpoint
expect 0 run learn.toml --quiet --bursts 450 --record-weights r.csv \
    --checkpoint ck --change 400=area.A.v_th_mv=-40
expect 0 run learn.toml --quiet --resume ck --record-weights r.csv \
    --change 500=area.A.v_reset_mv=-45
expect 2 run learn.toml --quiet --resume ck --record-weights r.csv \
    --change 500=area.A.v_reset_mv=-35
rm r.csv
# trying changes makes none
expect 0 run learn.toml --quiet --json a.json --backend cpu:1
expect 0 run learn.toml --quiet --json b.json --backend cpu:2 \
    --change 1000=area.A.tau_m_ms=7 --change 1000=plasticity.up.frozen=1
holds [ -n "$(value digest a.json)" ]
holds [ "$(value digest a.json)" = "$(value digest b.json)" ]

# ---- maps and rules of included genomes ----
cat >top.toml <<'GENOME'
format = 1
[run]
dt_ms = 0.5
bursts = 300
[use.left]
file = "learn.toml"
[use.right]
file = "learn.toml"
[[map]]
id = "ex"
from = "left/A"
to = "right/A"
rule = "all_to_all"
weight_mv = 1
delay_ms = 1
plasticity = "right/up"
GENOME
# frozen FILE: of each map of a summary
frozen() {
    awk '/"map": / { map = $2 } /"to": / { to = $2 }
        /"frozen": true/ { print map to }' "$1" | tr -d '"' | tr '\n' ' '
}
expect 0 run top.toml --quiet --json j.json -o both \
    --change 5=plasticity.right/up.frozen=true
holds [ "$(frozen j.json)" = "ex,right/A, right/ex,right/A, " ]
holds [ "$(cut -d, -f3,4,6 both/weights.csv | sort -u | sed '/^map,/d' |
    tr '\n' ' ')" = "left/ex,left/A,left/A right/ex,right/A,right/A " ]
# samples of the map that is frozen stay
for side in left right; do
    for burst in 99 299; do
        grep "^$burst,.*,$side/ex,$side/A," both/weights.csv | cut -d, -f4- \
            >$side.$burst
    done
    holds [ "$(wc -l <$side.99)" -eq 120 ]
done
holds cmp right.99 right.299
holds eval '! cmp -s left.99 left.299'
expect 0 run top.toml --quiet --json k.json --set plasticity.left/up.frozen=true
holds [ "$(frozen k.json)" = "left/ex,left/A, " ]
expect 0 run top.toml --quiet --json k.json --set map.left/ex.plasticity=right/up \
    --change 5=plasticity.right/up.frozen=true
holds [ "$(frozen k.json)" = "ex,right/A, left/ex,left/A, right/ex,right/A, " ]
expect 2 run top.toml --quiet --change 5=plasticity.up.frozen=true
says "no synapse learns by a [plasticity.up]"
expect 2 run top.toml --quiet --change 5=plasticity.left/pu.frozen=true
says "did you mean left/up?"
expect 2 run top.toml --quiet --change 5=area.left/A.tau_m_ms=0.3e-9
says "--change 5=area.left/A.tau_m_ms=3e-10: "

# ---- a change that fails in the run: all up to it is written ----
expect 5 run learn.toml --quiet --backend cpu:1 --weights w.csv \
    --record s.csv --record-weights r.csv --json j.json \
    --inject error:in=learning_set,status=memory \
    --change 505=plasticity.up.frozen=true
says "--change 505=plasticity.up.frozen=1: "
holds is_json j.json
expect 0 run learn.toml --quiet --backend cpu:1 --weights w2.csv --bursts 505 \
    --record s2.csv --record-weights r2.csv
for name in w s r; do
    holds [ "$(wc -l <$name.csv)" -gt 20 ]
    holds cmp $name.csv ${name}2.csv
done

# ---- volley ctl set ----
"$volley" run learn.toml --bursts 1000000000 --quiet -o live --backend cpu:1 \
    --record none.csv --control ./live.sock >run.out 2>run.err &
process=$!
holds wait_for "$volley" ctl ./live.sock status
expect 2 ctl ./live.sock set plasticity.up.lambda=-1
says "plasticity.up.lambda is -1, wanted 0 to 1"
expect 2 ctl ./live.sock set plasticity.up.lambda=abc
says 'the value is "abc", wanted a number, true or false'
expect 2 ctl ./live.sock set plasticity.pu.lambda=1
says "did you mean up?"
expect 2 ctl ./live.sock set plasticity.up.lamda=1
says "did you mean lambda?"
expect 2 ctl ./live.sock set area.A.tau_ms=5
says "did you mean tau_m_ms?"
expect 2 ctl ./live.sock set area.A.tau_m_ms=-5
says "wanted 0.001 to"
expect 2 ctl ./live.sock set area.Bakc.tau_m_ms=5
says "did you mean Back?"
expect 2 ctl ./live.sock set area.A.tau_m_ms
says "wanted PATH=VALUE, as in "
expect 0 ctl ./live.sock set area.A.tau_m_ms=5
expect 0 ctl ./live.sock stop
wait $process
holds [ $? -eq 6 ]
holds [ "$(grep -c '"path": ' live/manifest.json)" -eq 1 ]
done_checks
