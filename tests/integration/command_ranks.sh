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
delay_ms = 1.5
plasticity = "learn"
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
delay_ms = { uniform = [0.5, 8] }
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
prints "ranks             12 on 1 host by shared memory"
holds is_json many.json

# more ranks than neurons: some have none
expect 0 run "$genomes/three.toml" --json three.json
expect 0 run "$genomes/three.toml" --ranks 7 --json seven.json
holds test "$(value digest three.json)" = "$(value digest seven.json)"

# changes, another backend, weights and probes on the way
changes="--change 40=stimulus.noise.rate_hz=2000 --change
    60=plasticity.learn.frozen=true --swap 80=cpu:2"
# shellcheck disable=SC2086 # options
expect 0 run net.toml $changes --json one.json --weights one_w.csv
# shellcheck disable=SC2086
expect 0 run net.toml $changes --json many.json --weights many_w.csv --ranks 3
holds test "$(value state_digest many.json)" = "$(value state_digest one.json)"
holds test "$(value state_digest one.json)" != "$state"
holds cmp one_w.csv many_w.csv

# a checkpoint of three ranks is continued by one process, and by two: all files have
# the same bytes (a checkpoint counts how often the run was resumed, so the last one
# is that of another resumed run)
expect 0 run net.toml --ms 30 --checkpoint half.state --record x.csv
cp half.state half_1.state
expect 0 run net.toml --ranks 3 --ms 30 --checkpoint half.state --record x.csv
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

# ---- what is refused --------------------------------------------------------

expect 2 run net.toml --ranks 0
expect 2 run net.toml --ranks 2 --mpi
says "wanted one of them"
expect 2 run - --ranks 2
says "cannot be standard input"

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
