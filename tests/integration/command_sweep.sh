#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volley sweep: the grid, what fails in it, a second call, a killed one.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# column NAME FILE: of a CSV without quoted commas before it
column() {
    awk -F, -v name="$1" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
        { print $at }' "$2"
}

# without the times, which no two runs share
timeless() {
    awk -F, -v OFS=, 'NR == 1 {
        for (i = 1; i <= NF; i++) if ($i ~ /_s$/) drop[i] = 1 }
        { for (i in drop) $i = ""; print }' "$1"
}

sed 's/^\[area.E\]/[var]\nw = 4\n&/; s/weight_mv = 4/weight_mv = "=w"/' \
    small.toml >swept.toml
holds grep -q '"=w"' swept.toml

# ---- the grid: order, settings, digests ----
expect 0 sweep swept.toml --set var.w=3:4:0.5 --set area.E.neurons=60,80 \
    --seeds 1:2 --jobs 3 --threads 1 -o grid
prints "12 points: 12 run, 0 done before, 0 failed, 0 not run"
says "12 of 12: "
holds [ "$(wc -l <grid/results.csv)" = 13 ]
holds [ "$(column point grid/results.csv | tr '\n' ' ')" = \
    "0 1 2 3 4 5 6 7 8 9 10 11 " ]
holds [ "$(column var.w grid/results.csv | tr '\n' ' ')" = \
    "3 3 3 3 3.5 3.5 3.5 3.5 4 4 4 4 " ]
holds [ "$(column area.E.neurons grid/results.csv | tr '\n' ' ')" = \
    "60 60 80 80 60 60 80 80 60 60 80 80 " ]
holds [ "$(column seed_input grid/results.csv | tr '\n' ' ')" = \
    "1 2 1 2 1 2 1 2 1 2 1 2 " ]
for key in rate_hz.E rate_hz.I spikes synaptic_events wall_s; do
    holds [ "$(column $key grid/results.csv | grep -c '^[0-9]')" = 12 ]
done
# a point is the run with its settings
expect 0 run swept.toml --quiet --json one.json --set var.w=3.5 \
    --set area.E.neurons=80 --seed 2
holds [ "$(column digest grid/results.csv | sed -n 8p)" = \
    "$(value digest one.json)" ]
holds [ "$(column state_digest grid/results.csv | sed -n 8p)" = \
    "$(value state_digest one.json)" ]

# ---- again: nothing runs, the same rows, whatever the number of jobs ----
timeless grid/results.csv >before
expect 0 sweep swept.toml --set var.w=3:4:0.5 --set area.E.neurons=60,80 \
    --seeds 1:2 --jobs 1 -o grid
prints "0 run, 12 done before"
timeless grid/results.csv >after
holds cmp -s before after
expect 0 sweep swept.toml --set var.w=3:4:0.5 --set area.E.neurons=60,80 \
    --seeds 1:2 --jobs 1 --threads 1 -o other --quiet
timeless other/results.csv >after
holds cmp -s before after
# another grid does not replace the rows that are there
cp grid/results.csv kept.csv
for other in "--set var.w=3:4:0.5 --set area.E.neurons=60,80" \
    "--set var.w=3,4 --set area.E.neurons=60,80 --seeds 1:2" \
    "--set area.E.neurons=60,80 --set var.w=3:4:0.5 --seeds 1:2" \
    "--set var.w=3:4:0.5 --set area.E.neurons=60,80 --seeds 1" \
    "--set run.dt_ms=0.1,0.2"
do
    # shellcheck disable=SC2086 # words
    expect 2 sweep swept.toml $other -o grid
    says "grid/results.csv: rows of it are not of this sweep ("
    says "), wanted the same --set with all its values, another folder, or --force"
    holds [ "$(wc -l <err)" = 1 ]
    holds cmp -s grid/results.csv kept.csv
done
# as with a damaged or an old sweep.json
cp grid/sweep.json kept.json
sed -i 's/"settings"/"other"/' grid/sweep.json
expect 2 sweep swept.toml --set var.w=3:4:0.5 --set area.E.neurons=60,80 \
    --seeds 1:2 -o grid
says "(settings that its sweep.json does not contain)"
echo '{' >grid/sweep.json
expect 2 sweep swept.toml --set var.w=1 -o grid
says "grid/sweep.json:"
holds cmp -s grid/results.csv kept.csv
cp kept.json grid/sweep.json
# a longer list keeps finished points; another length or genome does not
expect 0 sweep swept.toml --set var.w=3,4,5 --set area.E.neurons=60,80 \
    --seeds 1:2 -o grid --force
prints "4 run, 8 done before"
expect 0 sweep swept.toml --set var.w=6,5,3,4 --set area.E.neurons=60,80 \
    --seeds 1:3 -o grid
prints "12 run, 12 done before"
expect 0 sweep swept.toml --set var.w=3,4 --set area.E.neurons=60,80 \
    --seeds 1:2 -o grid --bursts 100 --force
prints "8 run, 0 done before"
sed 's/in_degree = 5/in_degree = 6/' swept.toml >changed.toml
expect 0 sweep changed.toml --set var.w=3,4 --set area.E.neurons=60,80 \
    --seeds 1:2 -o grid --bursts 100 --force
prints "8 run, 0 done before"
# without --force rows of another genome or length are kept
cp grid/results.csv kept.csv
for other in "swept.toml --bursts 100" "changed.toml --bursts 101" changed.toml
do
    what=genome
    [ "$other" = "swept.toml --bursts 100" ] || what=length
    # shellcheck disable=SC2086 # words
    expect 2 sweep $other --set var.w=3,4 --set area.E.neurons=60,80 \
        --seeds 1:2 -o grid
    says "grid/sweep.json: its points are of another $what, wanted the same $what, another folder, or --force"
    holds [ "$(wc -l <err)" = 1 ]
    holds cmp -s grid/results.csv kept.csv
done
# nor is a genome that cannot be read any more at the point compared
sed 's/^w = .*/w = 4\nx = "=1 \/ (w - 3)"/' changed.toml >unread.toml
expect 2 sweep unread.toml --set var.w=3,4 --set area.E.neurons=60,80 \
    --seeds 1:2 -o grid --bursts 100
says "its points are of another genome"
# the same genome in another file is the same sweep
cp changed.toml renamed.toml
expect 0 sweep renamed.toml --set var.w=3,4 --set area.E.neurons=60,80 \
    --seeds 1:2 -o grid --bursts 100
prints "0 run, 8 done before"
holds [ "$(column digest grid/results.csv)" = "$(column digest kept.csv)" ]
# points of a sweep that was killed before its table was written
mkdir early && cp -r grid/points grid/sweep.json early
expect 2 sweep swept.toml --set var.w=3,4 --set area.E.neurons=60,80 \
    --seeds 1:2 -o early --bursts 100
says "early/sweep.json: its points are of another genome"

# ---- a point that fails stops no other ----
expect 2 sweep swept.toml --set area.I.neurons=20,-1,10 -o partly
prints "3 points: 2 run, 0 done before, 1 failed, 0 not run"
says "failed: --set area.I.neurons=-1"
holds [ "$(column status partly/results.csv | tr '\n' ' ')" = \
    "done failed done " ]
holds grep -q 'wanted a whole number from 0' partly/results.csv
# a point that fails during compiling, in its own process
expect 2 sweep swept.toml --set var.w=4,1e9 -o compiled
prints "1 run, 0 done before, 1 failed"
holds grep -q ',failed,.*swept.toml' compiled/results.csv

# ---- values with commas and colons of their own ----
expect 0 sweep swept.toml --set 'stimulus.kick.rate_hz=[2000,0],[0,2000]' \
    --set 'title="a:b"' -o lists
holds grep -qF '"[2000,0]"' lists/results.csv

# ---- refused before anything runs ----
echo 'format = ' >broken.toml
for bad in var.w=3:4:0 var.w=4:3:0.5 var.w=3:4:-1 var.w=3:x var.w=1:2:3:4 \
    var.w=: var.w=1,,2 var.w= var.w=1,1 var.w=0:1e9 var.w
do
    expect 2 sweep swept.toml --set "$bad" -o bad
    says "wanted"
done
expect 2 sweep swept.toml --set var.w=4:3:0.5 -o bad
says "a step of 0.5 does not lead from 4 to 3, wanted one below 0"
expect 2 sweep swept.toml --set var.w=1,2 --set var.w=3 -o bad
says "comes twice"
expect 2 sweep swept.toml --seeds 1:2:0.5 -o bad
says "1.5 is not a seed"
expect 2 sweep swept.toml --set var.w=0:999 --seeds 1:1000 -o bad
says "more than 100000 points"
expect 2 sweep swept.toml -o bad
expect 2 sweep swept.toml --set var.w=1
expect 2 sweep - --set var.w=1 -o bad
expect 3 sweep swept.toml --set var.w=1 -o bad --backend nonsense
expect 4 sweep nowhere.toml --set var.w=1 -o bad
holds [ ! -e bad ]
# an error at every point is reported once, with the code of a wrong call
for bad in vra.w=1:100 var.q=1:100 area.E.neurnos=1:100 area.F.neurons=1:100 \
    var.w=true,false
do
    expect 2 sweep swept.toml --set run.ms=3:4 --set "$bad" -o bad
    says "volley: --set ${bad%%=*}"
    holds [ "$(wc -l <err)" = 1 ]
    holds [ ! -s out ]
done
expect 2 sweep swept.toml --set area.E.neurnos=60,80 -o bad
says "did you mean neurons?"
expect 2 sweep broken.toml --set var.w=1:100 -o bad
holds [ "$(wc -l <err)" = 1 ]
holds [ ! -e bad ]
mkdir full && touch full/file
expect 2 sweep swept.toml --set var.w=1 -o full
says "not empty"

# ---- killed and gone on with ----
slow="--set run.bursts=400001:400040 --jobs 2 -o killed"
# shellcheck disable=SC2086 # words
"$volley" sweep swept.toml $slow >out 2>err &
process=$!
tries=0
while [ "$(find killed/points -name '*.json' 2>/dev/null | wc -l)" -lt 2 ] &&
    [ $tries -lt 600 ]
do
    sleep 0.1
    tries=$((tries + 1))
done
kill -9 $process
wait $process 2>/dev/null
there=$(find killed/points -name '*.json' | wc -l)
holds [ "$there" -lt 40 ]
# half a summary and one of a run that was stopped are no summaries
file=$(find killed/points -name '*.json' | head -n 1)
head -c 100 "$file" >half && cp half "$file"
short="--set run.bursts=400001:400002 --jobs 2 -o killed"
# shellcheck disable=SC2086
expect 0 sweep swept.toml $short
holds [ "$(column status killed/results.csv | tr '\n' ' ')" = \
    "done done " ]
holds [ "$(column bursts killed/results.csv | tr '\n' ' ')" = \
    "400001 400002 " ]

# A signal: what runs ends after its burst, the table is written. It is sent as
# soon as a point is done, when the next one has just been started and may not
# listen for signals yet.
for round in 1 2 3 4; do
    : >err # or the loop below would read what the last call said
    # shellcheck disable=SC2086
    "$volley" sweep swept.toml $slow >out 2>err &
    process=$!
    tries=0
    while ! grep -q ': done in' err && kill -0 $process 2>/dev/null &&
        [ $tries -lt 3000 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
    kill -TERM $process
    wait $process
    holds [ $? = 6 ]
    holds grep -q ',not run,' killed/results.csv
    holds [ "$round: $(column status killed/results.csv | grep -c failed)" = \
        "$round: 0" ]
done
done_checks
