#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No output replaces what a command reads, under whatever name, and no two
# outputs are one file: exit code 2, one sentence with both names, and every
# file is as it was, to the byte. The same for every other way in which a run
# can be refused.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# tree: every name and every byte under the working folder, but for the checks'
tree() {
    find . -type f ! -name out ! -name err ! -name 'tree.*' -exec cksum {} + |
        sort -k3
    find . ! -type f | sort
}
# unchanged WORDS...: the command prints WORDS and changes nothing
unchanged() {
    checks=$((checks + 1))
    tree >tree.after
    cmp -s tree.before tree.after ||
        bad "$* has changed: $(diff tree.before tree.after)"
}
# still CODE TEXT ARGUMENTS...: refused with one sentence, and nothing changed
still() {
    code=$1
    text=$2
    shift 2
    expect "$code" "$@"
    says "$text"
    holds [ "$(wc -l <err)" -eq 1 ]
    unchanged "volley $*"
}

# ---- a run ------------------------------------------------------------------
cat >edges.csv <<'END'
source,target,weight_mv,delay_ms
0,1,1,1
2,3,1,1
END
{
    echo v_th_mv
    yes -- -50 | head -n 80
} >values.csv
cp small.toml part.toml
{
    cat small.toml
    cat <<'END'
[use.P]
file = "part.toml"
[model.cell]
type = "lif_psc_delta"
v_th_mv = { file = "values.csv" }
[area.C]
model = "cell"
neurons = 80
[[map]]
from = "E"
to = "C"
rule = "file"
file = "edges.csv"
[[record]]
what = "spikes"
from = "*"
[[record]]
what = "fields"
from = "E"
fields = ["v_mv"]
END
} >g.toml
expect 0 run g.toml --quiet --bursts 50 -o before --checkpoint before.ck
mkdir sub
for name in g.toml part.toml edges.csv values.csv; do
    ln -s ../$name sub/link.$name
    ln $name sub/hard.$name
done
tree >tree.before
for name in g.toml part.toml edges.csv values.csv; do
    for option in --record --digest-log --json --save-connectome --telemetry \
        --checkpoint "--probe burst --probe-out"; do
        # shellcheck disable=SC2086 # words of a call
        still 2 "$name is " run g.toml --quiet $option $name
    done
    for other in ./$name sub/../$name sub/link.$name sub/hard.$name \
        "$PWD/$name"; do
        still 2 "$other is the same file as $name, " run g.toml --quiet \
            --record "$other"
    done
    still 2 "wanted another file for output" run sub/../g.toml --quiet \
        -o new --json sub/link.$name
    checks=$((checks + 1))
    "$volley" run - --quiet --json $name <g.toml >out 2>err
    [ $? -eq 2 ] || bad "a genome from standard input: $name is an output"
    unchanged "a genome from standard input"
done
# what the folder and a recording write
for name in manifest.json summary.json genome.resolved.toml log.jsonl \
    monitor.jsonl telemetry.jsonl spikes.csv spikes.csv.vls spikes.1.v_mv.csv; do
    mkdir folder
    cp edges.csv folder/$name
    sed "s#\"edges.csv\"#\"folder/$name\"#" g.toml >h.toml
    tree >tree.before
    still 2 "folder/$name is a file that the genome reads" run h.toml \
        --quiet --monitor -o folder --force
    rm -r folder
done
for name in r.csv r.csv.vls r.1.v_mv.csv; do
    cp edges.csv $name
    sed "s#\"edges.csv\"#\"$name\"#" g.toml >h.toml
    tree >tree.before
    still 2 "$name is a file that the genome reads" run h.toml --quiet \
        --record r.csv
    rm $name
done
rm h.toml
tree >tree.before
still 2 "genome.resolved.toml is the genome" run before/genome.resolved.toml \
    --quiet -o before --force
for option in --record --digest-log --json --save-connectome --telemetry; do
    still 2 "before.ck is the checkpoint of --resume" run g.toml --quiet \
        --resume before.ck $option before.ck
done
still 2 "before/manifest.json is the manifest" rerun before --quiet \
    --digest-log before/manifest.json
still 2 "before/genome.resolved.toml is the genome" rerun before --quiet \
    --digest-log before/genome.resolved.toml
# one output under two names
still 2 "is given for two of" run g.toml --quiet --json x --record ./x
still 2 "is given for two of" run g.toml --quiet --json sub/x --telemetry \
    sub/../sub/x

# ---- everything else that can refuse a run ----------------------------------
expect 0 run g.toml --quiet -o old --record old.csv --digest-log old.log \
    --json old.json --save-connectome old.vlc --checkpoint old.ck \
    --telemetry old.jsonl --probe burst --probe-out old.probe
tree >tree.before
# refused CODE ARGUMENTS...: a run with all kinds of outputs, ones that are
# there and new ones
refused() {
    code=$1
    shift
    for made in old new; do
        expect "$code" run g.toml --quiet -o $made --force \
            --record $made.csv --digest-log $made.log --json $made.json \
            --save-connectome $made.vlc --checkpoint $made.ck \
            --telemetry $made.jsonl --probe burst --probe-out $made.probe "$@"
        unchanged "a run that was refused by $*"
    done
}
refused 2 --metrics 99999
refused 4 --metrics 192.0.2.1:1
refused 4 --control none/such
refused 3 --backend nonesuch
refused 3 --on-device-error nonesuch
refused 2 --swap 10000=cpu
refused 2 --set area.X.neurons=3
refused 2 --set area.E.neurons=-1
refused 2 --pace-hz 5
refused 2 --every 10bursts
refused 4 --resume none.ck
refused 2 --resume g.toml
refused 2 --inject nonesuch
refused 4 --monitor=none.safetensors
# the recordings of a run that is gone on with are not cut either
checkpoint="--resume old.ck --bursts 300 --record old.csv --digest-log old.log"
for why in "--metrics 192.0.2.1:1" "--control none/such"; do
    # shellcheck disable=SC2086 # words of a call
    still 4 "" run g.toml --quiet -o old $checkpoint --checkpoint old.ck $why
done

# ---- other commands ---------------------------------------------------------
echo '{}' >in.json
cp edges.csv edges.png
sed 's#"edges.csv"#"edges.png"#' g.toml >h.toml
expect 0 run g.toml --quiet -o drawn
ln drawn/spikes.csv spikes.png
mkdir swept
expect 0 run g.toml --quiet --record s.vls --bursts 20
cp old.json bench.json
tree >tree.before
cp "$(dirname "$volley")"/../lib/volley/plugins/cpu.so mine.so
mkdir plugins
mv mine.so plugins
tree >tree.before
checks=$((checks + 1))
VOLLEY_PLUGIN_PATH=$PWD/plugins "$volley" plugins --json plugins/mine.so >out 2>err
[ $? -eq 2 ] || bad "plugins --json: a plugin is an output"
says "a plugin"
unchanged "plugins --json"
still 2 "in.json is what is imported" import feagi in.json -o in.json --force
expect 2 inspect --repair s.vls --to ./s.vls
says "./s.vls is the same file as s.vls, what is repaired"
unchanged "inspect --repair"
still 2 "--json b and --save ./b are one file" bench --quick --json b --save ./b
still 2 "bench.json is the bench of --compare" bench --quick \
    --json bench.json --compare bench.json
still 2 "edges.png is a file that the genome reads" plot matrix h.toml \
    -o edges.png
still 2 "spikes.png is the same file as drawn/spikes.csv, a file of the" \
    plot raster drawn -o spikes.png
still 2 "spikes.png is the same file as drawn/spikes.csv, what is drawn" \
    plot raster drawn/spikes.csv -o spikes.png --genome g.toml
for name in sweep.json results.csv; do
    cp edges.csv swept/$name
    sed "s#\"edges.csv\"#\"swept/$name\"#" g.toml >h.toml
    tree >tree.before
    still 2 "swept/$name is a file that the genome reads" sweep h.toml \
        --seeds 1:2 -o swept --quiet
    rm swept/$name
done

# ---- names of files that are not written to their end ----
cp small.toml in.volley.tmp
ln small.toml hard.volley.tmp
ln -s small.toml link.volley.tmp
tree >tree.before
still 2 "in.volley.tmp, the genome, is where in is written meanwhile" \
    run in.volley.tmp --quiet --json in
still 2 "in.volley.tmp, the genome, is where in is written meanwhile" \
    run in.volley.tmp --quiet -o new --checkpoint in
still 2 "small.toml, the genome, is where hard is written meanwhile" \
    run small.toml --quiet --digest-log new.log --json hard
still 2 "json.volley.tmp ends in .volley.tmp" \
    run small.toml --quiet --json json --record json.volley.tmp
still 2 "ck.volley.tmp ends in .volley.tmp" \
    run small.toml --quiet --checkpoint ck --digest-log ck.volley.tmp
# an existing link and its target stay
expect 0 run small.toml --quiet --json link
rm link
unchanged "run --json with a link beside it"

done_checks
