#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# FEAGI's plasticity: the numbers of its own tests (genomes/coactivity.toml), and
# a net that learns by it through threads, changes of the backend, checkpoints,
# frozen learning and weights of a file.
# shellcheck source=tests/integration/command_support.sh disable=SC2154
. "${0%/*}/command_support.sh"

# ---- FEAGI's numbers, on one thread and on several ----
# weight FOLDER BURST MAP: the weights of a map after a burst, in one line
weight() {
    awk -F, -v burst="$2" -v map="$3" '$1 == burst && $3 == map {
        printf "%s ", $NF }' "$1/weights.csv"
}

for backend in cpu:1 cpu:3; do
    expect 0 run "$genomes/coactivity.toml" --quiet --backend $backend \
        -o "out$backend"
    holds [ "$(weight "out$backend" 1 window)" = "0 " ]
    holds [ "$(weight "out$backend" 2 window)" = "5 " ]
    holds [ "$(weight "out$backend" 0 same)" = "0 " ]
    holds [ "$(weight "out$backend" 1 same)" = "6 " ]
    holds [ "$(weight "out$backend" 2 same)" = "12 " ]
    holds [ "$(weight "out$backend" 1 alone)" = "9 " ]
    holds [ "$(weight "out$backend" 2 alone)" = "6 " ]
    holds [ "$(weight "out$backend" 1 faded)" = "1 " ]
    holds [ "$(weight "out$backend" 2 faded)" = "0 " ]
    holds [ "$(weight "out$backend" 2 changing)" = "7 7 7 7 7 7 7 7 7 " ]
done

# ---- a larger net ----
net=$genomes/../core/conformance/nets/plastic_window.toml
cp "$net" net.toml
expect 0 validate net.toml --backends cpu:1,cpu:2,cpu:7
prints "identical"
expect 0 run net.toml --quiet --backend cpu:2 --json whole.json \
    --weights whole.csv
state=$(value state_digest whole.json)
holds [ -n "$state" ]

# from a checkpoint at any burst, a window of two or three bursts half over
for burst in 1 2 3 50 51; do
    expect 0 run net.toml --quiet --backend cpu:1 --bursts $burst \
        --checkpoint part.ck
    expect 0 run net.toml --quiet --backend cpu:3 --resume part.ck \
        --json again.json --weights again.csv
    holds [ "$(value state_digest again.json)" = "$state" ]
    holds cmp -s whole.csv again.csv
done
expect 0 inspect part.ck

# moved while it runs
expect 0 run net.toml --quiet --backend cpu:1 --swap 77=cpu:4 --swap 78=cpu:2 \
    --json moved.json
holds [ "$(value state_digest moved.json)" = "$state" ]

# ---- frozen: the weights stay, and learning goes on where it is allowed ----
expect 0 run net.toml --quiet --set plasticity.one.frozen=true \
    --set plasticity.two.frozen=true --set plasticity.three.frozen=true \
    --weights frozen.csv
expect 0 run net.toml --quiet --bursts 1 --weights first.csv \
    --set plasticity.one.frozen=true --set plasticity.two.frozen=true \
    --set plasticity.three.frozen=true
holds cmp -s first.csv frozen.csv
holds [ "$(cmp -s first.csv whole.csv && echo same)" = "" ]
# a step is a parameter that may change; a window is not
expect 0 run net.toml --quiet --change 100=plasticity.one.ltp_multiplier=2
refused() {
    expect 2 run net.toml --quiet --change "100=plasticity.one.$1"
    says "$2"
}
refused plasticity_window=3 "cannot change in a running net"
refused ltp_multiplier=0.5 "ltp_multiplier a whole number"

# ---- names, and what a newcomer asks for ----
expect 0 doc feagi_stdp
prints "plasticity_window"
expect 0 check net.toml
holds grep -q '^one  *feagi_stdp  *0\.\.255  *-$' out
holds grep -q '^frozen  *feagi_stdp  *0\.\.30  *-, frozen$' out
# steps are whole: nothing is lost, a step of 0 neither
expect 0 check net.toml --set plasticity.three.ltd_multiplier=0
holds [ "$(grep -c 'changes a weight by' err)" -eq 0 ]

done_checks
