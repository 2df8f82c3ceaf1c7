#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two processes and one output: a folder or a file is taken in one step, the
# second process is refused, and what the first one writes is as it would have
# been alone. A run that is refused leaves every file as it was, to the byte.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

cat small.toml - >fields.toml <<'END'
[[record]]
what = "spikes"
from = "*"
[[record]]
what = "fields"
from = "E"
fields = ["v_mv"]
END
expect 0 run fields.toml --quiet -o alone --digest-log alone.log
mv out kept.out

# same A B: the same recording
# shellcheck disable=SC2317 # called by holds
same() {
    cmp -s "$1" "$2"
}

# ---- two runs, one new folder ----------------------------------------------
# pair NAME ARGUMENTS...: two runs at once with the same outputs; one or both
# end with 0 (the second one may come when the first one is done), the other one
# is refused
pair() {
    name=$1
    shift
    "$volley" run fields.toml --quiet "$@" >/dev/null 2>first.err &
    first=$!
    "$volley" run fields.toml --quiet "$@" >/dev/null 2>second.err &
    second=$!
    wait $first
    first=$?
    wait $second
    second=$?
    cat first.err second.err >err
    : >out
    checks=$((checks + 1))
    case "$first $second" in
    "0 0") ;; # never for a folder, see below
    "0 4" | "4 0") grep -qE "another process writes|is being written" err ||
        bad "$name: another sentence" ;;
    "0 2" | "2 0") says "not empty" ;;
    *) bad "$name: exit codes $first and $second" ;;
    esac
}
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    pair "folder $i" -o "new$i"
    [ "$first $second" != "0 0" ] || bad "both runs have had new$i"
    holds same alone/spikes.csv "new$i/spikes.csv"
    holds same alone/spikes.1.v_mv.csv "new$i/spikes.1.v_mv.csv"
    holds [ "$(value exit_reason "new$i/manifest.json")" = "done" ]
    holds [ "$(find "new$i" -type f | wc -l)" -eq 6 ]
done
# the same in a folder that is there and empty
for i in 1 2 3 4 5 6; do
    mkdir "there$i"
    pair "empty folder $i" -o "there$i"
    [ "$first $second" != "0 0" ] || bad "both runs have had there$i"
    holds same alone/spikes.csv "there$i/spikes.csv"
done
# files: the process with the lock writes all of them
for i in 1 2 3 4 5 6; do
    pair "files $i" --record two.csv --digest-log two.log --json two.json \
        --telemetry two.jsonl --checkpoint two.ck --save-connectome two.vlc
    holds same alone/spikes.csv two.csv
    holds same alone/spikes.1.v_mv.csv two.1.v_mv.csv
    holds same alone.log two.log
    holds is_json two.json
    holds [ -z "$(find . -name 'two*.tmp')" ]
    rm two*
done
# a connectome alone: the second one is refused until the first run has ended
expect 0 run fields.toml --quiet --bursts 0 --save-connectome alone.vlc
for i in 1 2 3 4 5 6; do
    pair "connectome $i" --save-connectome two.vlc
    holds same alone.vlc two.vlc
    holds [ -z "$(find . -name 'two*.tmp')" ]
    rm two*
done

# ---- a second process while the first one goes on ---------------------------
# tree: every name and every byte under the working folder, but for those of
# the checks themselves and of the run that goes on
tree() {
    find . -type f ! -name out ! -name err ! -name 'tree.*' ! -path './going*' \
        -exec cksum {} + | sort -k3
    find . -type d | sort
}
# still CODE TEXT ARGUMENTS...: refused with one sentence, and nothing changed
still() {
    code=$1
    text=$2
    shift 2
    tree >tree.before
    expect "$code" "$@"
    says "$text"
    holds [ "$(wc -l <err)" -eq 1 ]
    tree >tree.after
    cmp -s tree.before tree.after ||
        bad "volley $* has changed: $(diff tree.before tree.after)"
}
"$volley" run fields.toml --quiet --bursts 100000000 --pace --pace-hz 200 \
    -o going --digest-log going.log --json going.json --telemetry going.jsonl \
    --checkpoint going.ck --probe burst --probe-out going.probe \
    --save-connectome going.vlc >/dev/null \
    2>going.err &
going=$!
wait_for has_lines 30 going.log
cp going/genome.resolved.toml going/manifest.json .
still 4 "going: another process writes this folder" \
    run small.toml --quiet -o going --force
still 4 "going: another process writes this folder" run small.toml --quiet -o going
mkdir linked
ln -s ../going linked/x
still 4 "linked/x: another process writes" run small.toml --quiet -o linked/x --force
holds cmp -s going/genome.resolved.toml genome.resolved.toml
holds cmp -s going/manifest.json manifest.json
# files of it, also under other names
ln -s going.log link.log
for words in "--digest-log going.log" "--digest-log link.log" \
    "--record going.log" "--telemetry going.jsonl" "--json going.json" \
    "--record going.json" "--json going.log" "--checkpoint going.ck" \
    "--save-connectome going.log" "--save-connectome going.vlc" \
    "--json going.vlc" "--record going.vlc" "--record going/spikes.csv.vls" \
    "--probe burst --probe-out going.probe" "-o other --json going.json"; do
    # shellcheck disable=SC2086 # words of a call
    still 4 "another process writes it" run small.toml --quiet $words
done
holds [ ! -e other ]
still 4 "going: another process writes this folder" sweep small.toml \
    --seeds 1:2 -o going --quiet
holds kill -0 $going
kill -TERM $going
wait $going
code=$?
checks=$((checks + 1))
[ $code -eq 6 ] || bad "the run that went on: exit code $code, wanted 6"
cp going.err err
holds [ ! -s err ]
holds is_json going/summary.json
holds is_json going.json
holds is_json going.probe
holds [ "$(value exit_reason going/manifest.json)" = signal ]
holds [ -z "$(find . -name '*.tmp')" ]
# and now the folder is free
expect 0 run small.toml --quiet -o going --force

# ---- what a killed process leaves -------------------------------------------
# It is removed by the next process that writes the same file, and only then.
"$volley" run small.toml --quiet --bursts 100000000 --pace --pace-hz 200 \
    --json dead.json --checkpoint dead.ck --digest-log dead.log >out 2>err &
dead=$!
wait_for has_lines 30 dead.log
holds [ -e dead.json.volley.tmp ]
holds [ -e dead.ck.volley.tmp ]
kill -KILL $dead
wait $dead 2>/dev/null
holds [ -e dead.json.volley.tmp ]
expect 0 run small.toml --quiet --json dead.json --checkpoint dead.ck \
    --digest-log dead.log
holds [ -z "$(find . -name 'dead*.tmp')" ]
holds is_json dead.json
# of every kind of file, as a kill in the middle of writing leaves it
for name in w.1.v_mv.csv w.csv w.json w.vlc w/manifest.json w/summary.json \
    w/genome.resolved.toml; do
    mkdir -p w
    echo half >$name.volley.tmp
done
expect 0 run fields.toml --quiet -o w --force --record w.csv --json w.json \
    --save-connectome w.vlc
holds [ -z "$(find . -name '*.volley.tmp')" ]
holds same alone/spikes.csv w.csv
echo half >n.toml.volley.tmp
expect 0 new brunel -o n.toml
holds [ ! -e n.toml.volley.tmp ]
# a foreign file is not followed and stays
echo theirs >theirs
ln -s theirs l.json.volley.tmp
expect 0 run small.toml --quiet --json l.json
holds is_json l.json
holds [ "$(cat theirs)" = theirs ]
holds [ -L l.json.volley.tmp ]

# ---- two that go on from one checkpoint -------------------------------------
expect 0 run fields.toml --quiet --bursts 100 --record part.csv \
    --digest-log part.log --checkpoint part.ck
for i in 1 2 3 4 5 6; do
    mkdir "resume$i"
    cp part.csv part.csv.vls part.log part.ck "resume$i"
    cd "resume$i" || exit 1
    cp ../fields.toml .
    pair "resume $i" --record part.csv --digest-log part.log \
        --checkpoint part.ck --resume part.ck --json part.json
    holds same ../alone/spikes.csv part.csv
    holds same ../alone.log part.log
    holds is_json part.json
    cd ..
done

# ---- two sweeps -------------------------------------------------------------
for i in 1 2 3 4 5 6; do
    "$volley" sweep small.toml --seeds 1:2 -o "sweep$i" --quiet --jobs 1 \
        2>first.err &
    first=$!
    "$volley" sweep small.toml --seeds 1:2 -o "sweep$i" --quiet --jobs 1 \
        2>second.err &
    second=$!
    wait $first
    first=$?
    wait $second
    second=$?
    cat first.err second.err >err
    checks=$((checks + 1))
    case "$first $second" in
    "0 0" | "0 4" | "4 0" | "0 2" | "2 0") ;;
    *) bad "two sweeps: exit codes $first and $second" ;;
    esac
    holds [ "$(grep -c ,done, "sweep$i/results.csv")" -eq 2 ]
done
done_checks
