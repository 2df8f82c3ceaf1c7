#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volley connections: rows as the genome says them, as a genome reads them back,
# parts of them, learnt weights, and files that cannot be written. $6 1: built
# with HDF5.
# shellcheck source=tests/integration/command_support.sh disable=SC2154
. "${0%/*}/command_support.sh"
hdf5=$6

cat >net.toml <<'END'
format = 1
[run]
dt_ms = 0.1
bursts = 500
[area.A]
model = "lif_psc_delta"
neurons = 30
v_mv = { uniform = [-70, -50] }
[area.B]
model = "lif_psc_delta"
neurons = 10
[area.C]
model = "lif_psc_exp"
neurons = 4
[[map]]
id = "wide"                       # several units of weights
from = ["A", "B"]
to = ["A", "B"]
rule = "fixed_in_degree"
in_degree = 7
multiple = true
weight_mv = { lognormal = [-1, 1.7] }
delay_ms = { uniform = [0.3, 2] }
[[map]]
id = "ring"
from = "B"
to = "B"
rule = "one_to_one"
weight_mv = 0.25
delay_ms = 0.3
[[stimulus]]
kind = "poisson"
to = ["A", "B"]
rate_hz = 500
weight_mv = 8
END
{
    cat net.toml
    printf '[[map]]\nid = "other"\nfrom = "A"\nto = "C"\nrule = "all_to_all"\n'
    printf 'weight_pa = -2.5\ndelay_ms = 1\n'
} >units.toml

# sorted FILE: by pair of areas as they come, source, target
ordered() {
    awk -F, 'NR > 1 {
        pair = $1 "," $2 "," $4
        if (pair == last && ($3 < s || ($3 == s && $5 < t))) bad++
        if (pair != last && seen[pair]++) bad++
        last = pair; s = $3 + 0; t = $5 + 0 }
        END { exit !(NR > 1 && !bad) }' "$1"
}

# ---- all of them ----
expect 0 connections net.toml
cp out all.csv
holds [ "$(head -n 1 all.csv)" = \
    "map,from,source,to,target,weight_mv,delay_ms,delay_bursts" ]
holds ordered all.csv
holds [ "$(grep -c ^wide, all.csv)" = 560 ]
holds [ "$(grep -c '^ring,B,\([0-9]\),B,\1,0.25,0.3,3$' all.csv)" = 10 ]
holds [ "$(wc -l <all.csv)" = 571 ]
# the in-degrees of the rule, and delays that are its bursts
holds awk -F, '$1 == "wide" { n[$4 $5 $2]++
        if ($8 < 3 || $8 > 20 || $7 * 10 - $8 > 1e-9 || $8 - $7 * 10 > 1e-9)
            bad++ }
    END { for (k in n) { many++; if (n[k] != 7) bad++ }
          exit !(many == 80 && !bad) }' all.csv
# one pair is several projections: rows of all are in one order
expect 0 run net.toml --bursts 0 --quiet --backend cpu:1 --save-connectome n.vlc
expect 0 check net.toml
expect 0 connections n.vlc
holds cmp out all.csv
expect 0 connections net.toml --threads 2 -o file.csv
says "570 connections to file.csv"
holds cmp file.csv all.csv
expect 0 connections - --limit 3 <net.toml
holds [ "$(head -n 4 all.csv)" = "$(cat out)" ]
says "--limit leaves out 567 more"
# several units: none is in the name of the column
expect 0 connections units.toml
holds [ "$(head -n 1 out)" = "map,from,source,to,target,weight,delay_ms,delay_bursts" ]
holds [ "$(grep -c '^other,A,[0-9]*,C,[0-3],-2.5,1,10$' out)" = 120 ]
expect 0 connections units.toml --map other --limit 1
holds [ "$(sed -n 2p out)" = "other,A,0,C,0,-2.5,1,10" ]
holds [ "$(head -n 1 out)" = \
    "map,from,source,to,target,weight_pa,delay_ms,delay_bursts" ]
# with other seeds other rows, with the same the same
expect 0 connections net.toml --seed 7 -o seven.csv
holds [ "$(cmp -s seven.csv all.csv; echo $?)" = 1 ]
expect 0 connections net.toml --set run.seed_network=7
holds cmp out seven.csv

# ---- parts: what a filter of all rows gives ----
# part AWK OPTIONS...
part() {
    wanted_rows=$1
    shift
    expect 0 connections net.toml "$@"
    { head -n 1 all.csv && awk -F, "NR > 1 && ($wanted_rows)" all.csv; } >want
    holds cmp out want
}
part '$1 == "wide"' --map wide
part '$2 == "A"' --source A
part '$4 == "B"' --target B
part '$2 == "A" && $3 == 5' --source A:5
part '$2 == "A" && $3 >= 5 && $3 <= 12' --source A:5-12
part '$4 == "B" && $5 == 9' --target B:9
part '$4 == "A" && $5 >= 0 && $5 <= 3' --target A:0-3
part '$1 == "wide" && $2 == "A" && $3 >= 3 && $3 <= 20 && $4 == "B" && $5 >= 2 && $5 <= 7' \
    --map wide --source A:3-20 --target B:2-7
# a name with copies stands for all of them; a range is of each
cat >copies.toml <<'END'
format = 1
[run]
dt_ms = 0.1
bursts = 1
[area.E]
model = "lif_psc_delta"
neurons = 6
copies = 3
[area."E/1"]
neurons = 9
[area.EX]
model = "lif_psc_delta"
neurons = 2
[[map]]
id = "all"
from = ["E", "EX"]
to = "E"
rule = "all_to_all"
weight_mv = 0.5
delay_ms = 1
END
expect 0 connections copies.toml -o copies.csv
# part_of_copies AWK OPTIONS...
part_of_copies() {
    wanted_rows=$1
    shift
    expect 0 connections copies.toml "$@"
    { head -n 1 copies.csv && awk -F, "NR > 1 && ($wanted_rows)" copies.csv; } >want
    holds [ "$(wc -l <want)" -gt 1 ]
    holds cmp out want
}
part_of_copies '$2 != "EX"' --source E
part_of_copies '$2 == "E/1" && $4 == "E/2"' --source E/1 --target E/2
part_of_copies '$2 != "EX" && $3 >= 4 && $3 <= 5 && $5 == 5' --source E:4-5 --target E:5
# none: a header without a unit
for none in "--source C" "--map ring --source A"; do
    # shellcheck disable=SC2086 # words
    expect 0 connections net.toml $none
    holds [ "$(cat out)" = "map,from,source,to,target,weight,delay_ms,delay_bursts" ]
done
expect 0 connections net.toml --source A --limit 20
holds [ "$(sed -n '2,21p' out)" = \
    "$(awk -F, 'NR > 1 && $2 == "A"' all.csv | head -n 20)" ]
expect 0 connections net.toml --map ring --limit 10
holds [ "$(wc -l <out)" = 11 ]
holds [ ! -s err ]

# ---- a genome that reads them is the same network ----
# again FILE SUFFIX: maps from this file; with a suffix its populations have
# the names of the areas
again() {
    awk '/^\[\[map\]\]/ { skip = 1 } /^\[\[stimulus\]\]/ { skip = 0 } !skip' \
        net.toml
    for pair in wide.A.A wide.A.B wide.B.A wide.B.B ring.B.B; do
        map=${pair%%.*}
        ends=${pair#*.}
        name=$map
        [ -z "$2" ] || [ "$map" = ring ] || name=$pair
        printf '[[map]]\nid = "%s_%s%s"\nfrom = "%s"\nto = "%s"\n' "$map" \
            "${ends%.*}" "${ends#*.}" "${ends%.*}" "${ends#*.}"
        printf 'rule = "file"\nfile = "%s"\npopulation = "%s"\n' "$1" "$name"
        printf 'multiple = true\nself = true\n'
    done
}
# of weights that need no other unit there
sed 's/^weight_mv = { lognormal.*/weight_mv = 0.75/' net.toml >same.toml
mv same.toml net.toml
expect 0 connections net.toml -o all.csv
expect 0 run net.toml --quiet --backend cpu:1 --json net.json
again all.csv "" >again.toml
expect 0 run again.toml --quiet --backend cpu:1 --json again.json
holds [ "$(value digest again.json)" = "$(value digest net.json)" ]
holds [ "$(value state_digest again.json)" = "$(value state_digest net.json)" ]
holds [ "$(value spikes again.json)" -gt 100 ]
expect 0 connections again.toml
# two synapses of the same neurons may have changed places
holds [ "$(sed 's/^\([a-z]*\)_[AB]*,/\1,/' out | sort)" = "$(sort all.csv)" ]

# ---- SONATA ----
if [ "$hdf5" = 1 ]; then
    expect 0 connections net.toml -o all.h5
    says "570 connections to all.h5"
    expect 0 inspect all.h5
    again all.h5 populations >sonata.toml
    expect 0 run sonata.toml --quiet --backend cpu:1 --json again.json
    holds [ "$(value digest again.json)" = "$(value digest net.json)" ]
    # delays are in the file: without them a burst each, and a note
    holds [ "$(grep -c delay err)" = 0 ]
    expect 0 connections net.toml --source A:5-12 --target B
    n=$(($(wc -l <out) - 1))
    expect 0 connections net.toml --source A:5-12 --target B -o some.h5
    says "$n connections to some.h5"
    expect 0 connections net.toml --source C -o none.h5
    says "0 connections to none.h5"
else
    expect 3 connections net.toml -o all.h5
    says "SONATA files need HDF5"
fi

# ---- learnt weights ----
cat >learn.toml <<'END'
format = 1
[run]
dt_ms = 0.5
bursts = 1000
[area.A]
model = "lif_psc_delta"
neurons = 40
v_mv = { uniform = [-70, -50] }
[plasticity.p]
rule = "stdp"
w_max_mv = 3
lambda = 0.02
[[map]]
id = "ex"
from = "A"
to = "A"
rule = "fixed_in_degree"
in_degree = 6
weight_mv = { uniform = [0, 3] }
delay_ms = 1
plasticity = "p"
[[map]]
id = "fixed"
from = "A"
to = "A"
rule = "one_to_one"
weight_mv = 0.5
delay_ms = 1
[[stimulus]]
kind = "poisson"
to = "*"
rate_hz = 500
weight_mv = 8
END
expect 0 run learn.toml --quiet --backend cpu:1 --weights w.csv \
    --checkpoint end.vlk
expect 0 connections learn.toml --map ex
cp out before.csv
expect 0 connections learn.toml --map ex --resume end.vlk
# the same numbers; w.csv has 17 digits of all
holds [ "$(cut -d, -f 1-6 out | awk -F, -v OFS=, '{ $6 = sprintf("%.17g", $6) } 1')" = \
    "$(awk -F, -v OFS=, '{ $6 = sprintf("%.17g", $6) } 1' w.csv)" ]
holds [ "$(cmp -s out before.csv; echo $?)" = 1 ]
holds [ "$(cut -d, -f 1-5,7- out)" = "$(cut -d, -f 1-5,7- before.csv)" ]
expect 0 connections learn.toml --map fixed --resume end.vlk
holds [ "$(grep -c ',0.5,1,2$' out)" = 40 ]
expect 2 connections net.toml --resume end.vlk
says "another genome"
expect 4 connections learn.toml --resume none.vlk
says "none.vlk"

# ---- refused ----
expect 2 connections net.toml --map wlde
says '--map: no map "wlde" has synapses, did you mean "wide"?'
expect 2 connections net.toml --map nothing-near
says "wanted one of wide, ring"
expect 2 connections copies.toml --source E:6
says "--source E:6: wanted E:NEURON or E:FIRST-LAST, of neurons 0 to 5"
expect 2 connections net.toml --source D
says "--source: no area D"
expect 2 connections net.toml --target B:10
says "--target B:10: wanted B:NEURON or B:FIRST-LAST, of neurons 0 to 9"
for text in A: A:- A:3- A:-3 A:5-4 A:x A:1-30 A:1-2-3 A:4294967296; do
    expect 2 connections net.toml --source "$text"
    says "--source $text: wanted A:NEURON or A:FIRST-LAST, of neurons 0 to 29"
done
expect 2 connections net.toml --limit 0
expect 2 connections
expect 4 connections none.toml
says "none.toml"
expect 2 connections n.vlc --set run.dt_ms=1
says "n.vlc is not a genome"
head -c 900 n.vlc >cut.vlc
expect 2 connections cut.vlc
says "cut.vlc"
expect 2 connections net.toml -o out.vls
says "wanted .csv or .h5"
# nothing that it reads is written over
cp net.toml kept.toml
expect 2 connections net.toml -o net.toml
expect 2 connections again.toml -o all.csv
expect 2 connections n.vlc -o n.vlc
expect 2 connections learn.toml --resume end.vlk -o end.vlk
holds cmp net.toml kept.toml

# ---- a device that takes nothing, a folder that is not there, a signal ----
expect 4 connections net.toml -o none/x.csv
says "none/x.csv"
if [ -w /dev/full ]; then
    expect 4 connections net.toml -o /dev/full
    says "No space left on device"
    checks=$((checks + 1))
    "$volley" connections net.toml >/dev/full 2>err
    [ $? -eq 4 ] || bad "standard output that is full: not 4"
    says "No space left on device"
fi
# a reader that ends early: not an endless run, and no crash
"$volley" connections net.toml --threads 1 2>err | head -n 1 >out
holds [ "$(wc -l <out)" = 1 ]
# while it writes to a pipe that is full, a signal ends it at once
mkfifo slow.fifo
"$volley" connections "$genomes/brunel.toml" --set var.order=1000 --threads 1 \
    >slow.fifo 2>err &
process=$!
{
    read -r line
    wait_for handles $process
    wait_for asleep $process
    kill -INT $process
    wait_for gone $process
} <slow.fifo
wait $process
holds [ $? -eq 6 ]
holds [ "$line" = "map,from,source,to,target,weight_mv,delay_ms,delay_bursts" ]
says "stopped by a signal"

done_checks
