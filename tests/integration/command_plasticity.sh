#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Maps that learn: check, resolve, doc and schema. $5: schema_check
here=$(dirname "$0")
schema_check=$5
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

cat >learns.toml <<'END'
format = 1
[run]
dt_ms = 0.1
ms = 10
[area.E]
model = "lif_psc_exp"
neurons = 10
[plasticity.a]
rule = "stdp_inhibitory"
w_max_pa = 3
eta_pa = 5e-10
[plasticity.b]
rule = "stdp_inhibitory"
w_max_pa = 3
eta_pa = 3e-9
nearest = true
[plasticity.c]
rule = "stdp"
w_max_pa = -3
lambda = 1e-10
delay = "dendritic"
frozen = true
[plasticity.d]
rule = "stdp_triplet"
w_max_pa = 3
[[map]]
id = "a"
from = "E"
to = "E"
rule = "all_to_all"
weight_pa = 1
plasticity = "a"
[[map]]
id = "b"
from = "E"
to = "E"
rule = "all_to_all"
weight_pa = 1
plasticity = "b"
[[map]]
id = "c"
from = "E"
to = "E"
rule = "all_to_all"
weight_pa = -1
plasticity = "c"
END

# ---- check: what there is, and changes that rounding loses ----
expect 0 check learns.toml
holds grep -q '^b  *stdp_inhibitory  *0\.\.3  *axonal, nearest neighbours$' out
holds grep -q '^c  *stdp  *-3\.\.0  *dendritic, frozen$' out
says "learns.toml:23:13: [plasticity.d] is not used: no map has plasticity = \"d\""
multiples="but weights are multiples of 1.86e-09"
says "learns.toml:8:13: [plasticity.a], map a (E -> E): a spike of the target just after one of the source changes a weight by 5e-10 pA, $multiples: all of it is lost"
says "[plasticity.a], map a (E -> E): a spike that arrives alone changes a weight by 6e-11 pA, $multiples: all of it is lost"
says "[plasticity.b], map b (E -> E): a spike of the target just after one of the source changes a weight by 3e-09 pA, $multiples: it is off by 24.2%"
says "[plasticity.b], map b (E -> E): a spike that arrives just after one of the target changes a weight by 2.64e-09 pA, $multiples: it is off by 29.4%"
says "[plasticity.c], map c (E -> E): a spike that arrives just after one of the target changes a weight by 1.5e-10 pA, $multiples: all of it is lost"
expect 0 check learns.toml --set plasticity.a.eta_pa=0.01 \
    --set plasticity.b.eta_pa=0.01 --set plasticity.c.lambda=0.01
checks=$((checks + 1))
grep -q "multiples of" err && bad "a note of changes that are not lost"
# 4 bytes a synapse at burst 0 more
expect 0 check --paper learns.toml
holds grep -q '^memory  *connectome 3[.0-9]* kB' out

# ---- a modulator: by an area, by the host, repeated by rerun ----
cat >reward.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 400
[area.E]
model = "lif_psc_delta"
neurons = 40
v_mv = { uniform = [-70, -50] }
[area.VTA]
model = "lif_psc_delta"
neurons = 3
[plasticity.r]
rule = "stdp_reward"
w_max_mv = 3
a_plus_mv = 0.5
a_minus_mv = 0.3
tau_c_ms = 60
interval_ms = 2
modulator = "VTA"
[[map]]
id = "m"
from = "E"
to = "E"
rule = "fixed_in_degree"
in_degree = 6
weight_mv = 1
plasticity = "r"
[[stimulus]]
kind = "poisson"
to = "*"
rate_hz = 500
weight_mv = 8
END
expect 0 check reward.toml
holds grep -q '^r  *stdp_reward  *0\.\.3  *axonal, modulated by VTA$' out
expect 0 check reward.toml --set plasticity.r.a_plus_mv=1e-9
says "changes an eligibility by 1e-09 mV, but eligibilities are multiples of"
expect 0 validate reward.toml --backends cpu:1,cpu:3 --state-every 10 --quiet
expect 0 run reward.toml -o r0 --quiet --backend cpu:2
for value in 30 -30; do
    rm -rf r1
    expect 0 run reward.toml -o r1 --backend cpu:2 \
        --change 100=plasticity.r.reward=$value
    prints "changes           burst 100: plasticity.r.reward = $value"
    expect 0 rerun r1 --quiet --backend cpu:3
    holds eval "! cmp -s r0/summary.json r1/summary.json"
    holds [ "$(sed -n 's/.*"state_digest": *"\([^"]*\).*/\1/p' r0/summary.json)" != \
        "$(sed -n 's/.*"state_digest": *"\([^"]*\).*/\1/p' r1/summary.json)" ]
done
# a parameter rises as far as eligibilities have room in the unit of the start
expect 0 run reward.toml --quiet --change 100=plasticity.r.a_plus_mv=0.6
expect 2 run reward.toml --quiet --change 100=plasticity.r.a_plus_mv=50
says "plasticity.r.a_plus_mv is 50, wanted at most 0.99999994 in this net"
expect 2 run reward.toml --quiet --change 100=plasticity.r.reward=99999
says "is 99999 1/s, wanted -16383 to 16383"
expect 2 run reward.toml --quiet --change 100=plasticity.r.rewards=1
says "did you mean reward?"
expect 2 run learns.toml --quiet --change 10=plasticity.a.reward=1
says "plasticity.a has no modulator: its rule is stdp_inhibitory"

# ---- when a change is recorded: `volley doc learning` ----

cat >when.toml <<'END'
format = 1
[run]
dt_ms = 1
bursts = 80
[area.P]
generator = "spikes"
neurons = 1
bursts = [[20]]
[area.T]
model = "lif_psc_delta"
neurons = 1
[plasticity.a]
rule = "stdp"
w_max_mv = 1
[[map]]
id = "m"
from = "P"
to = "T"
rule = "all_to_all"
weight_mv = 0.5
delay_bursts = 3
plasticity = "a"
[[stimulus]]
kind = "spikes"
to = "T"
bursts = [12, 40]
weight_mv = 30
[[record]]
what = "weights"
map = "m"
interval_bursts = 1
END
# changes DELAY BURSTS: the bursts in which the weight is another one
changes() {
    rm -rf when
    expect 0 run when.toml -o when --quiet --set "plasticity.a.delay=$1"
    holds [ "$(sed 1,2d when/weights.csv |
        awk -F, -v w=0.5 '$8 != w { printf "%s ", $1; w = $8 }')" = "$2" ]
}
changes axonal "23 40 "
changes dendritic "23 46 "
expect 0 doc learning
prints "change in  spike of the source  spike of the target"
prints "axonal     t + d                t"
prints "dendritic  t + d                t + 2d"

# ---- coefficients that are too small ----

cat >steep.toml <<'END'
format = 1
[run]
dt_ms = 1
bursts = 60
[area.P]
generator = "spikes"
neurons = 1
bursts = [[10, 30, 50]]
[area.T]
model = "lif_psc_delta"
neurons = 1
[plasticity.a]
rule = "stdp_power"
w_max_mv = 1
lambda = 0.1
mu = 2
[plasticity.f]
rule = "tsodyks2"
[[map]]
id = "m"
from = "P"
to = "T"
rule = "all_to_all"
weight_mv = 0.8
plasticity = "a"
[[map]]
id = "s"
from = "P"
to = "T"
rule = "all_to_all"
weight_mv = 0.8
plasticity = "f"
END
expect 0 run steep.toml --quiet
small="0 or from 2^-40 = 9.1e-13 to 2^40 = 1.1e12"
of_map="in units of the map's weights, not 2.27e-14"
lost="[plasticity.a]: wanted a coefficient up (of lambda, mu, w_0) that is"
sed 's/mu = 2/mu = 4/' steep.toml >steeper.toml
expect 2 check steeper.toml
says "steeper.toml:12:13: map m: $lost $small $of_map"
expect 2 check steep.toml --set plasticity.a.mu=4
says "map m: $lost $small $of_map"
expect 2 run steep.toml --quiet --change 20=plasticity.a.mu=4
says "plasticity.a: wanted a coefficient up (of lambda, mu, w_0) that is $small"
expect 2 check steep.toml --set plasticity.f.U=1e-13
says "map s: [plasticity.f]: wanted a coefficient U (of U) that is $small, not"
expect 2 run steep.toml --quiet --change 20=plasticity.f.U=1e-13
says "plasticity.f: wanted a coefficient U (of U) that is $small, not"
expect 0 run steep.toml --quiet --change 20=plasticity.f.U=0

# ---- resolve ----
expect 0 resolve learns.toml
cp out resolved.toml
prints "w_max_pa = -3  # line 19"
prints "eta_pa = 5e-10  # line 11"
prints "tau_ms = 20  # default"
expect 0 resolve resolved.toml
sed 's/  *#.*//' out >second
holds eval "sed 's/  *#.*//' resolved.toml | cmp - second"
expect 0 check learns.toml
hashes=$(grep hash out)
expect 0 check resolved.toml
holds [ "$hashes" = "$(grep hash out)" ]

# ---- inspect ----
expect 0 inspect "$genomes/../tests/fuzz/corpus/connectome/learning.vlc"
holds grep -q '^p  *stdp  *0\.\.2  axonal$' out
holds grep -q '^t  *stdp_triplet  *-3\.\.0  dendritic$' out

# ---- short-term plasticity ----
cat >fades.toml <<'END'
format = 1
[run]
dt_ms = 0.1
ms = 60
[area.E]
model = "lif_psc_delta"
neurons = 200
[plasticity.d]
rule = "tsodyks2"
tau_rec_ms = 50
[[map]]
id = "m"
from = "E"
to = "E"
rule = "fixed_in_degree"
in_degree = 20
weight_mv = { uniform = [-1, 1] }
delay_ms = { uniform = [0.3, 9] }
plasticity = "d"
[[stimulus]]
kind = "poisson"
to = "E"
rate_hz = 9000
weight_mv = 0.3
END
expect 0 check fades.toml
holds grep -q '^d  *tsodyks2  *stay  *that of the map$' out
checks=$((checks + 1))
grep -q "events are multiples" err && bad "a note of events that are fine"
expect 0 check fades.toml --set plasticity.d.U=0.0001
says "[plasticity.d], map m (E -> E): an event after a silence is at most 0.0001 mV, but events are multiples of 6.1e-05: it may be off by 30.5%"
expect 0 resolve fades.toml
prints "u_start = -1  # default"
cp out resolved.toml
expect 0 check fades.toml
hashes=$(grep hash out)
expect 0 check resolved.toml
holds [ "$hashes" = "$(grep hash out)" ]
expect 0 validate fades.toml --backends cpu:1,cpu:2,cpu:3 --quiet
# changed while events are under way, moved, kept, continued and repeated
changes="--change 203=plasticity.d.U=0.9 --change 300=plasticity.d.U=0.1"
expect 0 run fades.toml --backend cpu:1 $changes --quiet --json all.json
digests() { sed -n 's/.*"\(state_digest\|digest\)": *"\([0-9a-f]*\)".*/\2/p' "$1"; }
holds [ -n "$(digests all.json)" ]
expect 0 run fades.toml --backend cpu:2 $changes --swap 210=cpu:1 \
    --swap 333=cpu:2 --quiet --json moved.json
holds [ "$(digests all.json)" = "$(digests moved.json)" ]
expect 0 run fades.toml --backend cpu:2 --ms 25 \
    --change 203=plasticity.d.U=0.9 --checkpoint half --quiet
expect 0 run fades.toml --resume half --backend cpu:1 \
    --change 300=plasticity.d.U=0.1 --quiet --json rest.json
holds [ "$(digests all.json)" = "$(digests rest.json)" ]
expect 0 run fades.toml --set plasticity.d.U=0.9 --quiet --json other.json
holds [ "$(digests all.json)" != "$(digests other.json)" ]
expect 0 run fades.toml $changes --quiet -o kept
expect 0 rerun kept --quiet
expect 0 run fades.toml --quiet --save-connectome fades.vlc
expect 0 inspect fades.vlc
holds grep -q '^m  *tsodyks2  *stay  *that of the map$' out
expect 0 doc tsodyks
prints "plasticity rule tsodyks: "
prints "tau_psc_ms"
checks=$((checks + 1))
grep -q w_max out && bad "short-term plasticity has no w_max"
expect 2 run fades.toml --change 100=plasticity.d.tau_rec_ms=1 --quiet
says "plasticity.d.tau_rec_ms cannot change in a running net"

# ---- doc ----
for rule in stdp stdp_power stdp_triplet stdp_inhibitory stdp_reward; do
    expect 0 doc
    prints "$rule "
    expect 0 doc "$rule"
    prints "plasticity rule $rule: "
    prints "w += "
    prints "w_max_<unit> is wanted too"
    expect 0 doc --markdown
    prints "### \`$rule\`"
done
# doc_says RULE TEXT: in the lines of its equations
doc_says() {
    expect 0 doc "$1"
    tr '\n' ' ' <out | tr -s ' ' >words
    holds grep -qF "$2" words
}
doc_says stdp_power "a weight below about 2^-22 w_max counts as 0"
doc_says stdp_reward "cut off at 1,024 times the larger of a_plus and a_minus"
expect 0 doc plasticity
prints "w_max_<unit>"
expect 0 doc learning
prints "neither"
for simulator in Volley NEST GeNN "Brian 2" Auryn; do
    prints "  $simulator "
done
expect 0 doc eta_ns
prints "stdp_inhibitory"
expect 0 doc stdp_pl_synapse_hom
prints "w_max is wanted here"
expect 0 doc tau_minus
prints "stdp_triplet"
for name in Apre Apost dApre dApost; do
    expect 0 doc $name
    holds grep -q "^$name  *\(lambda\|alpha\)  *stdp$" out
done
expect 2 doc stdp_pover
says "did you mean stdp_power?"

# ---- schema ----
expect 0 schema
cp out schema.json
for file in learns.toml resolved.toml; do
    holds "$schema_check" schema.json "$file"
done
invalid=$(dirname "$schema_check")/cases/invalid
for name in bound_list delay_number frozen_text key_far key_unknown map_number \
    nearest_number param_above param_below param_list rule_number \
    rule_unknown table_number
do
    holds [ -s "$invalid/plasticity_$name.toml" ]
    checks=$((checks + 1))
    "$schema_check" schema.json "$invalid/plasticity_$name.toml" >out 2>err &&
        bad "the schema takes plasticity_$name.toml"
done

done_checks
