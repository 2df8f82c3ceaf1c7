#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rules of plasticity of users: the built-in rules written as users write them
# have the same bits, when moved, stopped, saved, changed, included, too.
# $5: schema_check
here=$(dirname "$0")
schema_check=$5
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

cat >hand.toml <<'END'
format = 1
[run]
dt_ms = 0.1
bursts = 1500
[synapse.pair]
param = { tau_plus = "20 ms", tau_minus = "20 ms", lambda = "0.01", alpha = "1" }
pre = { x = "tau_plus" }
post = { y = "tau_minus" }
on_pre = "w -= lambda*alpha*w_max*(w/w_max)*y"
on_post = "r = max(1 - w/w_max, 0); w += lambda*w_max*r*x"
[synapse.triplet]
param.tau_plus = "16.8 ms"
param.tau_x = "101 ms"
param.tau_minus = "33.7 ms"
param.tau_y = "125 ms"
param.a2_plus = "5e-10"
param.a2_minus = "7e-3"
param.a3_plus = "6.2e-3"
param.a3_minus = "2.3e-4"
pre = { r1 = "tau_plus", r2 = "tau_x" }
post = { o1 = "tau_minus", o2 = "tau_y" }
on_pre = "w -= o1*(a2_minus*w_max + a3_minus*w_max*r2)"
on_post = "w += r1*(a2_plus*w_max + a3_plus*w_max*o2)"
[synapse.inhibitory]
param = { tau = "20 ms", eta = "1e-3 weight", alpha = "0.12" }
pre = { x = "tau" }
post = { y = "tau" }
on_pre = "w += eta*(y - alpha)"
on_post = "w += eta*x"
[area.E]
model = "lif_psc_delta"
neurons = 60
v_mv = { uniform = [-70, -50] }
[plasticity.a]
rule = "pair"
w_max_mv = 4
lambda = 0.1
alpha = 1.05
[plasticity.b]
rule = "triplet"
w_max_mv = 3
a3_plus = 0.1
a2_minus = 0.1
nearest = true
[plasticity.c]
rule = "inhibitory"
w_max_mv = -3
eta_mv = 0.2
delay = "dendritic"
[[map]]
id = "a"
from = "E"
to = "E"
rule = "fixed_in_degree"
in_degree = 8
weight_mv = { uniform = [0, 3] }
delay_ms = 1
plasticity = "a"
[[map]]
id = "b"
from = "E"
to = "E"
rule = "fixed_in_degree"
in_degree = 8
weight_mv = 1
delay_ms = 0.4
plasticity = "b"
[[map]]
id = "c"
from = "E"
to = "E"
rule = "fixed_in_degree"
in_degree = 8
weight_mv = -1
delay_ms = 0.7
plasticity = "c"
[[stimulus]]
kind = "poisson"
to = "*"
rate_hz = 1000
weight_mv = 4
END
built="--set plasticity.a.rule=stdp --set plasticity.b.rule=stdp_triplet --set plasticity.c.rule=stdp_inhibitory"
digests() { sed -n 's/.*"\(state_digest\|digest\)": *"\([0-9a-f]*\)".*/\2/p' "$1"; }
same() {
    checks=$((checks + 1))
    [ -n "$(digests "$1")" ] && [ "$(digests "$1")" = "$(digests "$2")" ] ||
        bad "$1 and $2 differ"
}

# ---- the built-in rules, to the bit ----
expect 0 run hand.toml --backend cpu:1 --quiet --json hand.json
# shellcheck disable=SC2086 # words
expect 0 run hand.toml --backend cpu:1 --quiet --json built.json $built
same hand.json built.json
expect 0 run hand.toml --quiet --json still.json --set plasticity.a.frozen=true
holds [ "$(digests hand.json)" != "$(digests still.json)" ]
for more in delay='"dendritic"' nearest=true w_max_mv=3.5 tau_plus_ms=0.07; do
    expect 0 run hand.toml --quiet --json hand_a.json --set "plasticity.a.$more"
    # shellcheck disable=SC2086
    expect 0 run hand.toml --quiet --json built_a.json --set "plasticity.a.$more" $built
    same hand_a.json built_a.json
    holds [ "$(digests hand.json)" != "$(digests hand_a.json)" ]
done

# ---- threads, swaps, checkpoints, files, changes ----
expect 0 validate hand.toml --backends cpu:1,cpu:3 --state-every 50 --quiet
expect 0 run hand.toml --backend cpu:2 --swap 400=cpu:1 --swap 900=cpu:3 \
    --quiet --json moved.json
same hand.json moved.json
expect 0 run hand.toml --backend cpu:2 --bursts 700 --checkpoint half --quiet
expect 0 run hand.toml --resume half --backend cpu:1 --quiet --json rest.json
same hand.json rest.json
expect 0 run hand.toml --bursts 1 --save-connectome hand.vlc --quiet
expect 0 inspect hand.vlc
prints "synapse pair"
for value in 0.3 0.02; do
    change="--change 500=plasticity.a.lambda=$value --change 800=plasticity.c.eta_mv=0.01"
    # shellcheck disable=SC2086
    expect 0 run hand.toml --quiet --json hand_c.json $change
    # shellcheck disable=SC2086
    expect 0 run hand.toml --quiet --json built_c.json $built $change
    same hand_c.json built_c.json
    holds [ "$(digests hand.json)" != "$(digests hand_c.json)" ]
done
expect 2 run hand.toml --quiet --change 5=plasticity.a.tau_plus_ms=3
says "the traces of past spikes decay by it"

# ---- resolve, set, use ----
expect 0 resolve hand.toml
cp out resolved.toml
expect 0 check hand.toml
hashes=$(grep hash out)
expect 0 check resolved.toml
holds [ "$hashes" = "$(grep hash out)" ]
expect 0 run hand.toml --quiet --json set.json \
    --set synapse.pair.param.alpha=1.05 --set synapse.pair.param.lambda=0.3
same hand.json set.json # [plasticity] gives both
expect 2 check hand.toml --set synapse.pair.param.lamda=0.3
says "did you mean lambda?"
cat >uses.toml <<'END'
format = 1
[run]
dt_ms = 0.1
bursts = 1500
[use.part]
file = "hand.toml"
END
expect 0 run uses.toml --quiet --json uses.json
expect 0 resolve uses.toml
prints '[synapse."part/pair"]'
prints 'rule = "part/pair"'

# ---- what is written and not used ----
expect 0 check hand.toml --set synapse.pair.on_pre='"z = 2*x; w -= 0.1*w"'
says "[synapse.pair]: the name z is not used"
says "[synapse.pair]: trace y is not used"
says "[synapse.pair]: parameter alpha is not used"

# ---- changes that rounding loses ----
expect 0 check hand.toml --set plasticity.b.a2_plus=0
checks=$((checks + 1))
grep -q "multiples of" err && bad "a note of changes that are not lost"
expect 0 check hand.toml --set plasticity.a.lambda=1e-8 \
    --set plasticity.c.eta_mv=1e-9
multiples="mV, but weights are multiples of 3.73e-09"
says "[plasticity.a], map a (E -> E): a spike of the target just after one of the source changes a weight by 2e-08 $multiples: it is off by 6.87%"
says "[plasticity.b], map b (E -> E): a spike of the target just after one of the source changes a weight by 1.5e-09 $multiples: all of it is lost"
says "[plasticity.c], map c (E -> E): a spike that arrives alone changes a weight by 1.2e-10 $multiples: all of it is lost"

# ---- constants that the units of a map lose, keys that mean two values ----
sed 's|(w/w_max)\*y|(w^3/w_max^3)*y|' hand.toml >cube.toml
expect 2 run cube.toml --quiet
says "cube.toml:"
says "map a: [plasticity.a]: wanted constants of the changes of w that are 0 or from 2^-40"
sed 's|(w/w_max)\*y|(w/w_max)^3*y|' hand.toml >cube.toml
expect 0 run cube.toml --quiet
sed 's|eta = "1e-3 weight"|eta = "1e-3 weight", eta_mv = "2"|' hand.toml >twice.toml
expect 2 check twice.toml
says "[plasticity.c]: eta_mv is the key of two values of rule inhibitory"

# ---- on a device: changes, moves, stopped on one backend, resumed on another ----
has() { "$volley" plugins 2>/dev/null | grep -q "^$1 .*: ok"; }
if has vulkan; then
    expect 0 validate hand.toml --backends cpu:2,vulkan:0 --bursts 150 \
        --state-every 30
    prints identical
    first="--change 60=plasticity.a.alpha=2"
    then="--change 200=plasticity.c.eta_mv=0.05"
    # shellcheck disable=SC2086 # words
    {
        expect 0 run hand.toml --quiet --bursts 300 --backend cpu:1 \
            --json cpu.json $first $then
        expect 0 run hand.toml --quiet --bursts 300 --backend vulkan:0 \
            --json own.json --swap 120=cpu:2 --swap 190=vulkan:0 $first $then
        same cpu.json own.json
        for pair in cpu:2,vulkan:0 vulkan:0,cpu:1; do
            expect 0 run hand.toml --quiet --backend "${pair%,*}" \
                --bursts 170 --checkpoint ck $first
            expect 0 run hand.toml --quiet --backend "${pair#*,}" \
                --resume ck --bursts 300 --json own.json $then
            same cpu.json own.json
            rm -f ck
        done
    }
    expect 3 run hand.toml --quiet --backend vulkan:0,fault=2
    says "map a: its rule synapse pair, a program of "
    says "shaderSignedZeroInfNanPreserveFloat32"
fi

expect 0 run hand.toml --quiet --json auto.json
same hand.json auto.json

# ---- doc and schema ----
expect 0 doc synapse
prints "on_post"
expect 0 schema
cp out schema.json
for file in hand.toml resolved.toml "$genomes/rules.toml"; do
    holds "$schema_check" schema.json "$file"
done
done_checks
