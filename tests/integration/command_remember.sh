#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# FEAGI's memory areas and associative memory: the spikes that the shipped genome
# promises, its summary, a rerun, and runs that are moved, stopped at any burst and
# go on, are killed, or lose their device.
# shellcheck source=tests/integration/command_support.sh disable=SC2154
. "${0%/*}/command_support.sh"

# all backends that are here and give the same
others="cpu:3"
"$volley" plugins 2>/dev/null | grep -q '^vulkan .*: ok' &&
    others="$others vulkan"

# ---- a word for what is seen ----
fired() { # fired AREA: "BURST:NEURON ..." of its spikes
    awk -F, -v area="$1" '$3 == area { printf "%s:%s ", $1, $4 }' spikes.csv
}
for backend in cpu:1 $others; do
    expect 0 run "$genomes/memory.toml" --backend "$backend" \
        --record spikes.csv --json summary.json
    holds [ "$(fired word)" = "11:0 16:1 21:0 26:1 42:0 62:1 " ]
    holds [ "$(fired object)" = "11:0 12:0 16:1 17:1 21:0 22:0 26:1 27:1 41:0 43:0 61:1 63:1 " ]
    prints "area object: 2 patterns known, room for 20; 0 long-term, 4 seen again"
    prints "naming (object, word): 2 synapses"
    holds grep -q '"dropped": 0' summary.json
    holds grep -q '"synapses": 2' summary.json
done
expect 0 run "$genomes/memory.toml" --set area.object.neurons=1
prints "0 forgotten, 3 dropped because the area was full"
expect 0 run "$genomes/memory.toml" --set memory.object.longterm_mem_threshold=30
prints "2 patterns known, room for 20; 2 long-term"

expect 0 run "$genomes/memory.toml" --quiet --backend cpu:1 -o folder
expect 0 rerun folder/manifest.json --backend cpu:2
prints "identical: 80 bursts, 54 spikes"

# ---- a larger net: threads, backends, moves ----
net=$genomes/../tests/golden/genome/memories.toml
expect 0 run "$net" --quiet --backend cpu:1 --json whole.json --record whole.csv
state=$(value state_digest whole.json)
holds [ -n "$state" ]
list=cpu:1
for backend in $others; do
    list="$list,$backend"
done
expect 0 validate "$net" --backends "$list" --bursts 120
prints "identical"
last=${list##*,}
expect 0 run "$net" --quiet --backend cpu:2 --swap "77=$last" --swap 78=cpu:1 \
    --swap "300=$last" --json moved.json --record moved.csv
holds [ "$(value state_digest moved.json)" = "$state" ]
holds cmp -s whole.csv moved.csv

# ---- stopped at any burst, and on with another backend ----
for burst in 1 2 3 50 51 255; do
    rm -f part.csv
    expect 0 run "$net" --quiet --backend cpu:1 --bursts $burst \
        --checkpoint part.ck --record part.csv
    expect 0 run "$net" --quiet --backend "$last" --resume part.ck \
        --json again.json --record part.csv
    holds [ "$(value state_digest again.json)" = "$state" ]
    holds cmp -s whole.csv part.csv
done
expect 0 inspect part.ck
prints "memories"

# ---- killed, and on from its last checkpoint ----
"$volley" run "$net" --bursts 1000000 --quiet --backend cpu:1 \
    --checkpoint killed.ck --every 500 --record part.csv >out 2>err &
process=$!
holds wait_for test -e killed.ck
kill -KILL $process
wait $process 2>/dev/null
expect 0 inspect killed.ck
burst=$(sed -n 's/^bursts  *//p' out | tr -d ,)
bursts=$((burst + 300))
expect 0 run "$net" --bursts $bursts --quiet --backend "$last" \
    --resume killed.ck --json again.json --record part.csv
expect 0 run "$net" --bursts $bursts --quiet --backend cpu:1 --json long.json \
    --record long.csv
holds [ "$(value state_digest again.json)" = "$(value state_digest long.json)" ]
holds cmp -s long.csv part.csv

# ---- a device that fails ----
expect 0 run "$net" --quiet --backend cpu:2 --inject error:at=200 \
    --on-device-error cpu:1 --failover-every 64 --json failed.json
holds [ "$(value state_digest failed.json)" = "$state" ]

# ---- a genome within a genome ----
cat >outer.toml <<EOF
format = 1
[run]
bursts = 600
[use.in]
file = "$net"
[area.more]
model = "feagi"
neurons = 2
[association.more]
from = "more"
to = "in/object"
EOF
expect 0 resolve outer.toml
prints '[memory."in/object"]'
prints 'twins = ["in/sight_again"]'
prints '[association."in/naming"]'
expect 0 run outer.toml --quiet
done_checks
