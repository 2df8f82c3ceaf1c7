#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Models of users on a device, beside built-in ones and maps with plasticity:
# validate, changes of parameters, swaps while running, stopped on one backend
# and resumed on the other, a device that fails. $5: the backend, as in
# vulkan:0; $6: the variable under which it must be there
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

cat >models.toml <<'END'
format = 1
[run]
dt_ms = 0.1
bursts = 400
[neuron.lif]
param = { c_m = "250 pF", tau_m = "10 ms", e_l = "-65 mV", v_th = "-50 mV", t_ref = "2 ms", tau_w = "20 ms", b = "60 pA", i_e = "0 pA" }
port = { ex = "pA", inh = "pA" }
state = { v = "e_l", g = "0 pA", w = "0 pA" }
eq = """
    v' = (e_l - v)/tau_m + (g - w + i_e)/c_m    hold
    g' = -g/tau_m
    w' = -w/tau_w
"""
on.ex = "g += in"
on.inh = "g -= in"
spike = "v >= v_th or uniform() < 0.002"
reset = "v = e_l; w += b"
refractory = "t_ref"
[neuron.steep]
param = { tau = "8 ms", v_t = "10 mV", width = "2 mV" }
port.ex = "mV"
state.v = "0 mV"
eq = "v' = (width*exp(min((v - v_t)/width, 20)) - v)/tau"
method = "heun"
on.ex = "v += in"
spike = "v >= 30 mV"
reset = "v = 0 mV"
[area.A]
model = "lif"
neurons = 60
i_e_pa = { uniform = [300, 500] }
[area.B]
model = "steep"
neurons = 40
[area.C]
model = "lif_psc_delta"
neurons = 20
[area.D]
model = "lif"
neurons = 7
tau_w_ms = [20, 21, 22, 23, 24, 25, 26]
[plasticity.p]
rule = "stdp"
w_max_pa = 90
lambda = 0.05
[plasticity.s]
rule = "tsodyks2"
tau_rec_ms = 40
[[map]]
id = "learns"
from = "B"
to = "A"
rule = "fixed_in_degree"
in_degree = 6
weight_pa = { uniform = [0, 90] }
delay_ms = 1
plasticity = "p"
[[map]]
id = "fades"
from = "A"
to = "B"
rule = "fixed_in_degree"
in_degree = 5
weight_mv = 1.5
delay_ms = { uniform = [0.5, 2] }
plasticity = "s"
[[map]]
id = "both"
from = ["A", "C"]
to = ["A", "D"]
rule = "fixed_in_degree"
in_degree = 6
weight_pa = { uniform = [-120, 100] }
delay_ms = 0.7
[[stimulus]]
kind = "poisson"
to = "B"
rate_hz = 2000
weight_mv = 1
[[stimulus]]
kind = "poisson"
to = "C"
rate_hz = 800
weight_mv = 8
END
changes="--change 90=area.A.i_e_pa=380 --change 150=area.D.t_ref_ms=1
    --change 200=area.B.tau_ms=6"

# same A B: digests and state digests of two summaries
# shellcheck disable=SC2317 # called by holds
same() {
    [ -n "$(value digest "$1")" ] &&
        [ "$(value digest "$1")" = "$(value digest "$2")" ] &&
        [ "$(value state_digest "$1")" = "$(value state_digest "$2")" ]
}

expect 0 validate models.toml --backends "cpu:2,$other" --bursts 100 \
    --state-every 10
prints identical
expect 0 run models.toml --quiet --backend cpu:1 --json cpu.json
expect 0 run models.toml --quiet --backend "$other" --json own.json
holds same cpu.json own.json
holds [ "$(value spikes own.json)" -gt 500 ]

# ---- parameters change, the net moves, stops and is resumed ----
# shellcheck disable=SC2086 # words of a call
{
    expect 0 run models.toml --quiet --backend cpu:1 --json cpu.json $changes
    expect 0 run models.toml --quiet --backend "$other" --json own.json $changes
    holds same cpu.json own.json
    expect 0 run models.toml --quiet --backend "$other" --json own.json \
        --swap 120=cpu:2 --swap "230=$other" $changes
    holds same cpu.json own.json
    expect 0 run models.toml --quiet --backend cpu:1 --json own.json \
        --swap "77=$other" --swap 180=cpu:3 $changes
    holds same cpu.json own.json
    set -- cpu:2 "$other"
    for resumes in "$other" cpu:1; do
        expect 0 run models.toml --quiet --backend "$1" --bursts 170 \
            --checkpoint ck --change 90=area.A.i_e_pa=380 \
            --change 150=area.D.t_ref_ms=1
        expect 0 run models.toml --quiet --backend "$resumes" --resume ck \
            --json own.json --change 200=area.B.tau_ms=6
        holds same cpu.json own.json
        rm -f ck
        shift
    done
}
# the device fails: the processor goes on
expect 0 run models.toml --quiet --backend cpu:2 --json cpu.json
expect 0 run models.toml --quiet --backend "$other" --inject error:at=200 \
    --on-device-error cpu:1 --json own.json
holds same cpu.json own.json

done_checks
