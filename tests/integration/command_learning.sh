#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Networks that learn on a device: validate, changes and frozen rules, weights,
# stopped on one backend and resumed on the other, what is refused. $5: the
# backend, as in vulkan:0; $6: the variable under which it must be there
other=$5
required=$6
# shellcheck source=tests/integration/command_support.sh disable=SC2154
. "${0%/*}/command_support.sh"

id=${other%%[:,]*}
if ! "$volley" plugins 2>err | grep -q "^$id .*: ok"; then
    [ "$(printenv "$required")" = 1 ] && bad "no device of $id"
    echo "skipped: no device of $id"
    [ "$failed" -eq 0 ]
    exit
fi

cat >learn.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 600
[area.A]
model = "lif_psc_delta"
neurons = 40
v_mv = { uniform = [-70, -50] }
[area.B]
model = "lif_psc_delta"
neurons = 10
[plasticity.p]
rule = "stdp"
w_max_mv = 3
lambda = 0.02
mu_plus = 0.4
[plasticity.q]
rule = "stdp_inhibitory"
w_max_mv = -2
eta_mv = 0.01
[plasticity.t]
rule = "stdp_triplet"
w_max_mv = 1
a2_minus = 0.01
a3_plus = 0.01
delay = "dendritic"
[plasticity.w]
rule = "stdp_power"
w_max_mv = 1
nearest = true
[[map]]
id = "ex"
from = ["A", "B"]
to = "A"
rule = "fixed_in_degree"
in_degree = 6
weight_mv = { uniform = [0, 3] }
delay_ms = 1
plasticity = "p"
[[map]]
id = "in"
from = "B"
to = "A"
rule = "all_to_all"
weight_mv = -1
delay_ms = 1
plasticity = "q"
[[map]]
id = "back"
from = "A"
to = "B"
rule = "all_to_all"
weight_mv = 0.1
delay_ms = 1.5
plasticity = "t"
[[map]]
id = "own"
from = "B"
to = "B"
rule = "all_to_all"
weight_mv = 0.2
delay_ms = 0.5
plasticity = "w"
[[stimulus]]
kind = "poisson"
to = "*"
rate_hz = 500
weight_mv = 8
END
changes="--change 100=plasticity.p.frozen=true
    --change 150=plasticity.q.eta_mv=0.05 --change 200=area.A.tau_m_ms=12
    --change 300=plasticity.p.frozen=false"

# same A B: digests and state digests of two summaries
# shellcheck disable=SC2317 # called by holds
same() {
    [ -n "$(value digest "$1")" ] &&
        [ "$(value digest "$1")" = "$(value digest "$2")" ] &&
        [ "$(value state_digest "$1")" = "$(value state_digest "$2")" ]
}

# ---- the same spikes, state and weights ----
expect 0 validate learn.toml --backends "cpu:2,$other" --bursts 150 \
    --state-every 10
prints identical
expect 0 run learn.toml --quiet --backend cpu:1 --json cpu.json --weights cpu.csv
expect 0 run learn.toml --quiet --backend "$other" --json own.json \
    --weights own.csv
holds same cpu.json own.json
holds cmp cpu.csv own.csv
holds [ "$(wc -l <own.csv)" -eq 1381 ]
expect 0 run learn.toml --quiet --backend cpu:1 --json frozen.json \
    --set plasticity.p.frozen=true
expect 0 run learn.toml --quiet --backend "$other" --json own.json \
    --set plasticity.p.frozen=true
holds same frozen.json own.json
holds eval '! same frozen.json cpu.json'

# ---- rules change, the net moves, stops and is resumed ----
# shellcheck disable=SC2086 # words of a call
{
    expect 0 run learn.toml --quiet --backend cpu:1 --json cpu.json $changes
    expect 0 run learn.toml --quiet --backend "$other" --json own.json $changes
    holds same cpu.json own.json
    expect 0 run learn.toml --quiet --backend "$other" --json own.json \
        --swap 120=cpu:2 --swap "230=$other" $changes
    holds same cpu.json own.json
    set -- cpu:2 "$other"
    for resumes in "$other" cpu:1; do
        expect 0 run learn.toml --quiet --backend "$1" --bursts 170 \
            --checkpoint ck --change 100=plasticity.p.frozen=true \
            --change 150=plasticity.q.eta_mv=0.05
        expect 0 run learn.toml --quiet --backend "$resumes" --resume ck \
            --json own.json --change 200=area.A.tau_m_ms=12 \
            --change 300=plasticity.p.frozen=false
        holds same cpu.json own.json
        rm -f ck
        shift
    done
}
# the device fails: the processor goes on with the weights
expect 0 run learn.toml --quiet --backend "$other" --inject error:at=200 \
    --on-device-error cpu:1 --json own.json --weights own.csv
expect 0 run learn.toml --quiet --backend cpu:2 --json cpu.json
holds same cpu.json own.json
holds cmp cpu.csv own.csv

# ---- reward, windows, short-term plasticity ----
cat >others.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 200
[area.A]
model = "lif_psc_delta"
neurons = 30
v_mv = { uniform = [-70, -50] }
[area.D]
model = "lif_psc_delta"
neurons = 3
[area.F]
model = "feagi"
neurons = 12
firing_threshold = 2
[plasticity.r]
rule = "stdp_reward"
w_max_mv = 3
a_plus_mv = 0.5
a_minus_mv = 0.3
tau_c_ms = 30
tau_n_ms = 4
increment = 20
interval_ms = 3.5
modulator = "D"
[plasticity.w]
rule = "feagi_stdp"
w_max = 40
plasticity_window = 2
[plasticity.s]
rule = "tsodyks2"
tau_rec_ms = 40
[plasticity.u]
rule = "tsodyks"
U = 0.3
tau_rec_ms = 25
[[map]]
id = "rewarded"
from = "A"
to = "A"
rule = "fixed_in_degree"
in_degree = 6
weight_mv = { uniform = [0, 3] }
delay_ms = 1
plasticity = "r"
[[map]]
id = "stepped"
from = "A"
to = "F"
rule = "fixed_in_degree"
in_degree = 5
weight = { uniform = [0, 40] }
delay_ms = 1
plasticity = "w"
[[map]]
id = "fades"
from = "A"
to = "D"
rule = "all_to_all"
weight_mv = 0.4
delay_ms = { uniform = [0.5, 6] }
plasticity = "s"
[[map]]
id = "used"
from = "D"
to = "A"
rule = "all_to_all"
weight_mv = -2
delay_ms = 1.5
plasticity = "u"
[[stimulus]]
kind = "poisson"
to = ["A", "D"]
rate_hz = 500
weight_mv = 8
END
changes="--change 40=plasticity.r.reward=40 --change 61=plasticity.r.reward=-9
    --change 70=plasticity.r.frozen=true --change 75=plasticity.s.U=0.2
    --change 90=plasticity.r.frozen=false --change 95=plasticity.w.frozen=true
    --change 120=plasticity.u.U=0.6"
expect 0 validate others.toml --backends "cpu:2,$other" --bursts 60 \
    --state-every 10
prints identical
# shellcheck disable=SC2086 # words of a call
{
    expect 0 run others.toml --quiet --backend cpu:1 --json cpu.json \
        --weights cpu.csv $changes
    expect 0 run others.toml --quiet --backend "$other" --json own.json \
        --weights own.csv $changes
    holds same cpu.json own.json
    holds cmp cpu.csv own.csv
    expect 0 run others.toml --quiet --backend "$other" --json own.json \
        --swap 50=cpu:2 --swap "80=$other" $changes
    holds same cpu.json own.json
}
expect 0 run others.toml --quiet --backend cpu:1 --json cpu.json
holds eval '! same own.json cpu.json'
set -- cpu:2 "$other"
for resumes in "$other" cpu:1; do
    expect 0 run others.toml --quiet --backend "$1" --bursts 77 --checkpoint ck
    expect 0 run others.toml --quiet --backend "$resumes" --resume ck \
        --json own.json
    holds same cpu.json own.json
    rm -f ck
    shift
done

# ---- refused ----
if [ "$id" = vulkan ]; then
    expect 3 run learn.toml --quiet --backend vulkan:0,plan=sliced
    says "plan=sliced is not for this net: it has maps that learn"
    expect 3 run "$genomes/tsodyks.toml" --quiet \
        --backend vulkan:0,plan=sliced
    says "plan=sliced is not for this net: it has maps with short-term plasticity"
    expect 2 run learn.toml --quiet --backend vulkan:0,block=3
    says "vulkan option block=3: wanted a power of two up to "
    expect 5 run learn.toml --quiet --backend vulkan:0,memory=40
    says "out of memory"
fi
done_checks
