#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Swaps at random bursts and fail-over at chosen ones: digests, states and every
# file as of a run that neither moved nor failed. Networks with FEAGI areas, two
# ports, delays, pulses.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"
VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH:$test_plugins/flaky.so
export VOLLEY_PLUGIN_PATH

cat >mixed.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 120
[area.F]
model = "feagi"
voxels = [3, 2, 2]
firing_threshold = 4
leak_coefficient = 0.25
refractory_period = 1
postsynaptic_current = 3
[area.D]
model = "lif_psc_delta"
neurons = 30
[area.X]
model = "lif_psc_exp2"
neurons = 25
tau_ex_ms = 0.5
tau_in_ms = 2
i_e_pa = 300
[area.clock]
generator = "pulse"
neurons = 1
period_ms = 10
count = 9
[[map]]
from = "D"
to = "D"
rule = "fixed_in_degree"
in_degree = 5
weight_mv = -1.5
delay_ms = { uniform = [0.5, 8] }
[[map]]
from = "D"
to = "F"
rule = "fixed_in_degree"
in_degree = 3
weight = 3
delay_bursts = 2
[[map]]
from = "F"
to = "X"
rule = "pairwise_bernoulli"
p = 0.3
weight_pa = 400
delay_ms = 3
[[map]]
from = "X"
to = "X"
rule = "fixed_in_degree"
in_degree = 4
weight_pa = -300
delay_ms = { uniform = [1, 5] }
[[map]]
from = "clock"
to = "D"
rule = "all_to_all"
weight_mv = 9
delay_ms = 4
[[stimulus]]
id = "noise"
kind = "poisson"
to = "D"
rate_hz = 2000
weight_mv = 4
[[stimulus]]
id = "beat"
kind = "pulse"
to = "X"
weight_pa = 900
period_ms = 7
count = 6
[[stimulus]]
id = "drive"
kind = "dc"
to = "X"
amplitude_pa = 200
start_ms = 5
stop_ms = 30
END

# same NAME ARGUMENTS...: a run that leaves what base.* has
# shellcheck disable=SC2317 # called by holds
same() {
    rm -f got.*
    "$volley" run "$network" --quiet --digest-log got.log --record got.csv \
        --json got.json "$@" >out 2>err || return 1
    # the head of a digest log names the backend
    grep -v '^# backend' got.log >got.rest
    cmp -s got.rest base.rest && cmp -s got.csv base.csv &&
        [ "$(value digest got.json)" = "$(value digest base.json)" ] &&
        [ "$(value state_digest got.json)" = "$(value state_digest base.json)" ]
}

# base FILE: the run that all others are compared with
base() {
    network=$1
    expect 0 run "$network" --quiet --backend cpu:1 --digest-log base.log \
        --record base.csv --json base.json
    grep -v '^# backend' base.log >base.rest
    holds [ "$(wc -l <base.csv)" -gt 20 ]
}

# swaps NAMES: several at random bursts into $list, the same in every run of
# this test
seed=7
swaps() {
    list=
    used=" "
    for name in $1; do
        seed=$(((seed * 1103515245 + 12345) % 2147483648))
        burst=$((seed / 65536 % 121))
        case $used in *" $burst "*) continue ;; esac
        used="$used$burst "
        list="$list --swap $burst=$name"
    done
}

# other usable backends
devices=$("$volley" plugins 2>/dev/null |
    awk '/^[a-z]/ { id = $1 } /^ *device 0:/ { print id }' |
    grep -xE 'cuda|vulkan')

# ---- every network, from everywhere to everywhere ----
base mixed.toml
for round in 1 2 3 4 5 6 7 8; do
    swaps "cpu:1 cpu:2 cpu:3 flaky cpu:5 $devices cpu:1 cpu:4"
    # shellcheck disable=SC2086 # words
    holds same --backend cpu:$((round % 3 + 1)) $list
    holds [ "$(grep -c '"done": true' got.json)" -ge 4 ]
done
holds same --swap 0=cpu:2 --swap 120=cpu:1
sed -e '/^\[run\]/,/^bursts/s/bursts = 200/bursts = 120/' small.toml >delta.toml
base delta.toml
for round in 1 2 3 4; do
    swaps "cpu:1 template cpu:2 template flaky $devices template"
    # shellcheck disable=SC2086 # words
    holds same --backend template $list
done

# ---- a target that cannot take the net: the run goes on, and says why ----
base mixed.toml
holds same --backend cpu:1 --swap 10=nonesuch --swap 20=template \
    --swap 30=cpu:2 --swap 40=flaky,in=create,at=0
says "burst 10: no swap to nonesuch, the run continues on cpu:"
says "burst 20: no swap to template"
says "runs only areas of lif_psc_delta"
says "burst 40: no swap to flaky,in=create,at=0, the run continues on cpu:2: "
says "device lost, as asked for"
holds [ "$(grep -c '"done": true' got.json)" -eq 1 ]
holds [ "$(grep -c '"done": false' got.json)" -eq 3 ]
holds grep -q '"to": "cpu:2"' got.json
holds is_json got.json
expect 0 run mixed.toml --backend cpu:1 --swap 10=nonesuch --swap 30=cpu:2 \
    -o swapped
prints "swap              burst 30: cpu:1 to cpu:2 in "
prints "no swap           burst 10: to nonesuch: "
holds grep -q '"event": "swap"' swapped/log.jsonl
holds is_json swapped/manifest.json
expect 0 rerun swapped/manifest.json --quiet
prints "identical"

# ---- fail-over: as if nothing had been ----
for at in 0 1 2 9 10 11 40 60 77 118 119; do
    for every in 1 16 1000; do
        holds same --backend "flaky,at=$at" --on-device-error cpu:2 \
            --failover-every $every
        says "flaky:0 failed with"
        says "device lost, as asked for"
        holds [ "$(grep -c '"done": true' got.json)" -eq 1 ]
    done
done
# in the last call of all: the digest of the state
holds same --backend flaky,in=digest,at=120 --on-device-error cpu:1
# while a snapshot is taken, and by the clock alone
holds same --backend flaky,in=snapshot,at=32 --on-device-error cpu \
    --failover-every 8
holds same --backend flaky,at=50 --on-device-error cpu
# twice, with a swap back; a device that dies in the swap away from it
holds same --backend flaky,at=20 --on-device-error cpu:1 \
    --swap 50=flaky,at=70 --failover-every 12
holds [ "$(grep -c '"snapshot":' got.json)" -eq 2 ]
holds same --backend flaky,in=snapshot,at=40 --on-device-error cpu:1 \
    --failover-every 1000 --swap 60=cpu:2
holds [ "$(grep -c '"snapshot":' got.json)" -eq 1 ]
# while fields are sampled: the call that failed is done again and told as good
cp mixed.toml fields.toml
printf '[[record]]\nwhat = "fields"\nfields = ["v_mv"]\nfrom = "D"\n' \
    >>fields.toml
expect 0 run fields.toml --quiet --backend cpu:1 --record fields.csv
expect 0 run fields.toml --quiet --backend flaky,in=read,at=40 \
    --on-device-error cpu:1 --failover-every 7 --record lost.csv --json lost.json
holds [ "$(value digest lost.json)" = "$(value digest base.json)" ]
holds cmp fields.1.v_mv.csv lost.1.v_mv.csv
# with checkpoints: the run that is resumed after the failure is the same too
rm -f state.ckpt*
holds same --backend flaky,at=60 --on-device-error cpu:1 --failover-every 25 \
    --checkpoint state.ckpt --every 50 --keep 1
rm -f state.ckpt
expect 0 run mixed.toml --quiet --bursts 70 --backend flaky,at=60 \
    --on-device-error cpu:1 --digest-log got.log --record got.csv \
    --checkpoint state.ckpt --every 70
expect 0 run mixed.toml --quiet --resume state.ckpt --digest-log got.log \
    --record got.csv --json got.json --swap 50=cpu:1 --swap 90=cpu:2
holds cmp got.csv base.csv
holds [ "$(value digest got.json)" = "$(value digest base.json)" ]
holds [ "$(grep -c '"done": true' got.json)" -eq 1 ]
# it is in summary and folder
expect 0 run mixed.toml --backend flaky,at=30 --on-device-error cpu:2 -o failed
prints "device error      burst "
prints "went on           on cpu:2 from burst 0"
says "continues on cpu:2"
holds grep -q '"event": "fail-over"' failed/log.jsonl
holds [ "$(value backend failed/summary.json)" = cpu:2 ]
holds is_json failed/manifest.json
# without recordings, nothing was told wrong
holds [ "$(value state_digest failed/summary.json)" = \
    "$(value state_digest base.json)" ]

# ---- no going on: 3, with both reasons ----
expect 3 run mixed.toml --backend flaky,at=30
expect 3 run mixed.toml --backend flaky,at=30 --on-device-error flaky,at=10
says "no fail-over to flaky,at=10"
expect 3 run mixed.toml --backend flaky,at=30 \
    --on-device-error flaky,in=create,at=0
says "no fail-over to flaky,in=create,at=0"
expect 3 run mixed.toml --backend flaky,at=30 --on-device-error template
says "runs only areas of lif_psc_delta"
# said at the start and not when it is needed
expect 3 run mixed.toml --backend cpu:1 --on-device-error flaky:7
says "backend flaky: device 7, but there are 1"

# ---- what the device told before it failed was wrong ----
# files are cut to the snapshot (paced: a burst is reported before the next
# begins)
wrong="--backend flaky,at=100,wrong=90 --on-device-error cpu:1
    --failover-every 40 --pace --pace-hz 10000"
said="results of flaky:0 from burst 80 on were wrong"
rm -f got.*
# shellcheck disable=SC2086 # words
expect 0 run mixed.toml $wrong --digest-log got.log --record got.csv \
    --json got.json --quiet
says "$said; they are reported again"
grep -v '^# backend' got.log >got.rest
holds cmp got.rest base.rest
holds cmp got.csv base.csv
holds [ "$(value digest got.json)" = "$(value digest base.json)" ]
# where nothing was written there is nothing to cut, and a pipe cannot be
# shellcheck disable=SC2086 # words
expect 0 run mixed.toml $wrong --json x.json --quiet
says "$said; they are reported again"
holds [ "$(value digest x.json)" = "$(value digest base.json)" ]
# shellcheck disable=SC2086 # words
"$volley" run mixed.toml $wrong --digest-log - 2>err | cat >out
says "$said"
says "not a file, which alone can be cut"
# a checkpoint of it is named, and if the run goes on a right one takes its place
rm -f bad.ck*
# shellcheck disable=SC2086 # words
expect 3 run mixed.toml ${wrong%%--pace*} --pace --pace-hz 500 --quiet \
    --digest-log x.log --checkpoint bad.ck --every 85
says "bad.ck (burst 85) and older checkpoints"
says "after burst 80 contain wrong results of flaky:0: do not resume them"
rm -f bad.ck*
# shellcheck disable=SC2086 # words
expect 0 run mixed.toml ${wrong%%--pace*} --pace --pace-hz 500 --quiet \
    --bursts 105 --checkpoint bad.ck --every 99
says "bad.ck (burst 99) and older checkpoints"
expect 0 run mixed.toml --quiet --resume bad.ck --json x.json
holds [ "$(value digest x.json)" = "$(value digest base.json)" ]
done_checks
