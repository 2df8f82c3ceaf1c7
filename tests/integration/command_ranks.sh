#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volley run --ranks: several processes run one network. Digests, recordings and
# checkpoints as of one process, at any number of ranks; a rank that dies or stops
# answering ends the run with exit code 3 and a sentence; --resume goes on with
# another number of ranks.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

cat >net.toml <<'END'
format = 1
[run]
dt_ms = 0.5
ms = 60
[area.F]
model = "feagi"
voxels = [5, 4, 5]
firing_threshold = 4
leak_coefficient = 0.25
refractory_period = 1
postsynaptic_current = 3
[area.D]
model = "lif_psc_delta"
neurons = 300
[area.X]
model = "lif_psc_exp2"
neurons = 130
tau_ex_ms = 0.5
tau_in_ms = 2
i_e_pa = 300
[plasticity.learn]
rule = "stdp"
w_max_mv = 2
[[map]]
id = "learns"
from = "D"
to = "D"
rule = "fixed_in_degree"
in_degree = 20
weight_mv = 0.5
delay_ms = 2.5
plasticity = "learn"
[[map]]
from = "D"
to = "F"
rule = "fixed_in_degree"
in_degree = 3
weight = 3
delay_bursts = 7
[[map]]
from = "F"
to = "X"
rule = "pairwise_bernoulli"
p = 0.3
weight_pa = 400
delay_ms = { uniform = [2.5, 8] }
[[stimulus]]
id = "noise"
kind = "poisson"
to = "D"
rate_hz = 4000
weight_mv = 1
END

# ---- the same run -----------------------------------------------------------

expect 0 run net.toml --record x.csv --json one.json --checkpoint x.state
cp x.csv one.csv
cp x.state one.state
digest=$(value digest one.json)
state=$(value state_digest one.json)
holds test -n "$digest"
holds grep -q D one.csv
for ranks in 1 2 3 5 12; do # 530 neurons: with 12 a rank has a block of 64
    expect 0 run net.toml --ranks $ranks --record x.csv --json many.json \
        --checkpoint x.state --threads 2
    holds test "$(value digest many.json)" = "$digest"
    holds test "$(value state_digest many.json)" = "$state"
    holds cmp one.csv x.csv
    holds cmp one.state x.state
done
prints "ranks             12 on 1 host by shared memory; spikes every 5 bursts (delay"
prints "rank 11 "
holds is_json many.json
# 120 bursts in 24 windows, and the state
exchanges=$(value spike_exchanges many.json)
holds test "$exchanges" -ge 24
holds test "$exchanges" -lt 40

# the reason for which there are no parts
VOLLEY_LOG=info
export VOLLEY_LOG
expect 0 run net.toml --ranks 2 --control off
says "map learns learns: every rank holds the whole network"
unset VOLLEY_LOG

# more ranks than neurons: some have none
expect 0 run "$genomes/three.toml" --json three.json
expect 0 run "$genomes/three.toml" --ranks 7 --json seven.json
holds test "$(value digest three.json)" = "$(value digest seven.json)"

# a backend for each rank, in turn
expect 0 run net.toml --ranks 3 --backend cpu:1+cpu:2 --json many.json
holds test "$(value digest many.json)" = "$digest"
prints "devices           rank 0 cpu:1, rank 1 cpu:2, rank 2 cpu:1"
holds grep -q '"cpu:2"' many.json
expect 2 run net.toml --backend cpu:1+cpu:2
says "found several backends, wanted one: only ranks (--ranks, mpirun) take one each"
expect 2 run net.toml --ranks 2 --backend cpu:1+auto
says "auto in a list, wanted the name of each backend"
expect 2 run net.toml --ranks 2 --backend cpu:1+cpu:x
says "wanted a number"

# changes, another backend, weights and probes on the way
# within windows
changes="--change 41=stimulus.noise.rate_hz=2000 --change
    63=plasticity.learn.frozen=true --swap 82=cpu:2"
# shellcheck disable=SC2086 # options
expect 0 run net.toml $changes --json one.json --weights one_w.csv
# shellcheck disable=SC2086
expect 0 run net.toml $changes --json many.json --weights many_w.csv --ranks 3 \
    --telemetry t.jsonl
holds grep -q '"rank_waited_s": \[[0-9.e-]*, [0-9.e-]*, [0-9.e-]*\]' t.jsonl
holds test "$(value state_digest many.json)" = "$(value state_digest one.json)"
holds test "$(value state_digest one.json)" != "$state"
holds cmp one_w.csv many_w.csv

# a checkpoint of three ranks is continued by one process, and by two: all files have
# the same bytes (a checkpoint counts how often the run was resumed, so the last one
# is that of another resumed run)
expect 0 run net.toml --ms 31 --checkpoint half.state --record x.csv
cp half.state half_1.state
expect 0 run net.toml --ranks 3 --ms 31 --checkpoint half.state --record x.csv
holds cmp half_1.state half.state
cp x.csv half.csv
for ranks in 1 2; do
    cp half.csv x.csv
    expect 0 run net.toml --ranks $ranks --resume half.state --record x.csv \
        --checkpoint x.state --json many.json
    [ $ranks -gt 1 ] || cp x.state resumed.state
    holds test "$(value state_digest many.json)" = "$state"
    holds cmp one.csv x.csv
    holds cmp resumed.state x.state
done

# a job that was killed while its ranks came left a name: the next one removes it, but
# none of a process that lives, of the last minute or of another program
if [ -w /dev/shm ]; then
    left=/dev/shm/volley-99999999-1a$$
    kept="/dev/shm/volley-$$-1a /dev/shm/volley-99999999-2b$$
        /dev/shm/volley-99999999-x$$"
    # shellcheck disable=SC2086 # names
    touch -d '3 minutes ago' $left $kept
    touch "/dev/shm/volley-99999999-2b$$"
    expect 0 run "$genomes/three.toml" --ranks 2 --quiet
    holds test ! -e $left
    for name in $kept; do
        holds test -e "$name"
    done
    # shellcheck disable=SC2086
    rm -f $left $kept
fi

# a network that does not learn: each rank holds its part, and all files are the
# same. With `volley ctl` a parameter of area F could change, for which rank 0
# holds the whole.
sed '/^\[plasticity/,/^w_max/d; /^plasticity/d' net.toml >fixed.toml
expect 0 run fixed.toml --control off --record x.csv --json one.json --checkpoint x.state \
    --save-connectome one.bin
cp x.csv one.csv
cp x.state one.state
bytes=$(value connectome_bytes one.json)
for ranks in 2 5; do
    expect 0 run fixed.toml --control off --ranks $ranks --record x.csv --json many.json \
        --checkpoint x.state --threads 2
    for key in connectome_hash connectome_digest synapses digest state_digest; do
        holds test "$(value $key many.json)" = "$(value $key one.json)"
    done
    holds test "$(value connectome_bytes many.json)" -lt $((bytes * 9 / 10))
    holds cmp one.csv x.csv
    holds cmp one.state x.state
done
expect 0 run fixed.toml --ranks 2 --json many.json
holds test "$(value connectome_bytes many.json)" -eq "$bytes"
expect 0 run fixed.toml --control off --ranks 3 --save-connectome many.bin
holds cmp one.bin many.bin
expect 0 run fixed.toml --control off --ranks 3 --ms 30 --checkpoint half.state \
    --record x.csv
expect 0 run fixed.toml --control off --ranks 2 --resume half.state --record x.csv \
    --json many.json --checkpoint x.state
holds test "$(value state_digest many.json)" = "$(value state_digest one.json)"
holds cmp one.csv x.csv
changed="--change 40=stimulus.noise.rate_hz=2000 --swap 80=cpu:2"
# shellcheck disable=SC2086 # options
expect 0 run fixed.toml --control off $changed --json one.json
# shellcheck disable=SC2086
expect 0 run fixed.toml --control off $changed --json many.json --ranks 3
holds test "$(value state_digest many.json)" = "$(value state_digest one.json)"
# a mistake that only the build finds is that of one process
sed 's/^weight_pa = 400/weight_pa = 1e-9/' fixed.toml >large.toml
expect 2 run large.toml
sentence=$(cat err)
expect 2 run large.toml --control off --ranks 3
holds test "$(cat err)" = "$sentence"

# the neuron with the largest sum is named at any number of ranks, also by a rank
# that does not have it
cat >large.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 1
[area.A]
model = "lif_psc_exp"
neurons = 100
[area.X]
model = "lif_psc_exp"
neurons = 130
[[map]]
from = "A"
to = "X"
rule = "fixed_in_degree"
in_degree = 80000
weight_pa = { uniform = [8e8, 1e9] }
delay_ms = 1.5
END
expect 2 run large.toml
says "wanted at most 2^30"
sentence=$(cat err)
expect 2 run large.toml --control off --ranks 3
holds test "$(cat err)" = "$sentence"

# ---- windows ----------------------------------------------------------------

cat >rate.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 400
[area.D]
model = "lif_psc_delta"
neurons = 2000
[[map]]
id = "far"
from = "D"
to = "D"
rule = "fixed_in_degree"
in_degree = 5
weight_mv = 0.1
delay_bursts = 20
[[stimulus]]
id = "noise"
kind = "poisson"
to = "D"
rate_hz = 400
weight_mv = 1
END
# At a high rate a bit for each neuron is shorter than ids, which are two bytes
# a spike for each of two ranks; at a low rate ids are: bits are 50 kB a rank.
for rate in 1000 100000; do
    expect 0 run rate.toml --json one.json --set stimulus.noise.rate_hz=$rate
    expect 0 run rate.toml --json two.json --set stimulus.noise.rate_hz=$rate --ranks 2
    holds test "$(value state_digest two.json)" = "$(value state_digest one.json)"
    holds test "$(value digest two.json)" = "$(value digest one.json)"
    holds test "$(value spike_exchanges two.json)" -lt 30
    spikes=$(value spikes one.json)
    sent=$(value sent_bytes two.json)
    if [ $rate -eq 1000 ]; then
        holds test "$spikes" -gt 0
        holds test "$sent" -lt 50000
    else
        holds test "$sent" -lt "$spikes"
    fi
done

# a burst between ranks, and one that stays in a rank
sed 's/delay_bursts = 20/delay_bursts = 1/' rate.toml >near.toml
expect 0 run near.toml --ranks 2
prints "spikes every burst (delay of far)"
expect 0 run "$genomes/memory.toml" --ranks 2 --bursts 20
prints "spikes every burst (memories)"
# areas A and B on a rank each: the map inside one of them ends no window
cat >inside.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 1000
[area.A]
model = "lif_psc_delta"
neurons = 1600
[area.B]
model = "lif_psc_delta"
neurons = 1600
[[map]]
id = "inside"
from = "A"
to = "A"
rule = "fixed_in_degree"
in_degree = 1
weight_mv = 0.1
delay_bursts = 1
[[map]]
id = "far"
from = "A"
to = "B"
rule = "fixed_in_degree"
in_degree = 1
weight_mv = 0.1
delay_bursts = 20
END
expect 0 run inside.toml --ranks 2 --json two.json --record x.csv --telemetry t.jsonl \
    --telemetry-every 60000
prints "spikes every 20 bursts (delay of far)"
# 50 windows, and one more for each call that ends in one; 1,000 with windows of a burst
holds test "$(value spike_exchanges two.json)" -lt 200

# ---- what is refused --------------------------------------------------------

expect 2 run net.toml --ranks 0
expect 2 run net.toml --ranks 2 --mpi
says "wanted one of them"
expect 2 run net.toml --ranks 2 --inject slow:at=20,factor=2,for=5
says "wanted one process"
expect 2 run - --ranks 2
says "cannot be standard input"
expect 3 run net.toml --ranks 2 --backend template
says "runs whole networks only; wanted --backend cpu or cuda, or one process"
# a user sets the variable that --ranks sets for its processes
for place in 1 "" "1 2 1 volley-1-1" "2 2 $$ volley-1-1" "0 2 $$ volley-1-1"; do
    VOLLEY_RANK=$place
    export VOLLEY_RANK
    expect 2 run net.toml
    says "the environment has VOLLEY_RANK=$place: --ranks sets this variable"
    unset VOLLEY_RANK
done

# ---- faults -----------------------------------------------------------------

# children PROCESS: the other ranks
children() {
    cat "/proc/$1/task/$1/children" 2>/dev/null
}
has_children() {
    [ "$(children "$1" | wc -w)" -eq 2 ]
}

# endless, until FAULT happens to a rank
for fault in KILL STOP; do
    rm -rf run
    "$volley" run net.toml --bursts 2000000000 --ranks 3 --rank-timeout 2 -o run \
        --quiet >out 2>err &
    process=$!
    holds wait_for has_children $process
    holds wait_for test -s run/manifest.json
    # shellcheck disable=SC2046 # numbers
    set -- $(children $process)
    kill -$fault "$2"
    wait $process
    code=$?
    holds test $code -eq 3
    says "rank 2"
    kill -KILL "$2" 2>/dev/null
    for other in "$@"; do
        holds wait_for gone "$other"
    done
done

# the leader is killed while all compile: the others do not outlive it, whatever
# their time limit is
"$volley" run "$genomes/brunel.toml" --ranks 3 --rank-timeout 86400 >out 2>err &
process=$!
holds wait_for has_children $process
# shellcheck disable=SC2046
set -- $(children $process)
kill -KILL $process
wait $process
for other in "$@"; do
    holds wait_for gone "$other"
done

# a signal to the leader ends all with everything written
rm -rf run
"$volley" run net.toml --bursts 2000000000 --ranks 3 --checkpoint signal.state \
    -o run >out 2>err &
process=$!
holds wait_for has_children $process
holds wait_for test -s run/manifest.json
# shellcheck disable=SC2046
set -- $(children $process)
kill -INT $process "$@"
wait $process
code=$?
holds test $code -eq 6
says "stopped by a signal"
holds test -s signal.state
for other in "$@"; do
    holds wait_for gone "$other"
done
holds test -z "$(find /dev/shm -name "volley-$process-*" 2>/dev/null)"

done_checks
