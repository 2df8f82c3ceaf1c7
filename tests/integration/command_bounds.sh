#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Inputs without an end, of the wrong kind and of absurd sizes: each is refused
# with one sentence, a documented exit code, in little time and little memory.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# refused CODE SENTENCE ARGUMENTS...: within two minutes on any machine
refused() {
    wanted=$1
    sentence=$2
    shift 2
    checks=$((checks + 1))
    timeout 120 "$volley" "$@" >out 2>err </dev/null
    found=$?
    [ "$found" -eq "$wanted" ] ||
        bad "volley $*: exit code $found, wanted $wanted"
    says "$sentence"
    holds [ "$(wc -l <err)" -eq 1 ]
}

cp "$genomes/three.toml" small.toml
# a machine without cairo draws nothing
draws=yes
"$volley" plot matrix small.toml -o x.svg >out 2>err
[ $? -eq 3 ] && draws=no
rm -f x.svg
expect 0 run small.toml --quiet -o kept --record kept.csv --telemetry t.jsonl \
    --digest-log kept.log

# ---- devices, pipes, links that go in a circle ----
mkfifo pipe # without a writer
ln -s circle circle
for words in "check @" "run @" "resolve @" "inspect @" "compare kept.log @" \
    "import feagi @" "inspect --repair @" "plot raster @" "plot traces @" \
    "plot matrix @" "monitor report kept --telemetry @" \
    "monitor convert -o x.st @" \
    "run small.toml --resume @"; do
    [ "$draws" = yes ] || [ "${words#plot }" = "$words" ] || continue
    for file in /dev/zero circle; do
        code=2
        [ $file = circle ] && code=4
        # shellcheck disable=SC2046,SC2086 # words of a call
        refused $code "$file: " $(echo $words | sed "s#@#$file#")
    done
done
for words in "inspect pipe" "inspect --repair pipe" \
    "run small.toml --resume pipe" "monitor convert -o x.st pipe"; do
    # shellcheck disable=SC2086
    refused 2 "pipe: " $words
done
# a file of holes
truncate -s 1G holes
refused 2 "holes: more than 67108864 bytes" check holes
rm holes
for file in /dev/zero pipe; do
    printf 'format = 1\n[use.a]\nfile = "%s"\n' $file >use.toml
    refused 2 "use.toml:3:8: $file: a " check use.toml
    sed "/^neurons/a tau_m_ms = { file = \"$file\" }" small.toml >column.toml
    grep -q tau_m_ms column.toml && refused 2 "$file: a " check column.toml
done

mkfifo pipe.h5
timeout 120 "$volley" plot raster pipe.h5 >out 2>err
holds [ $? -ne 124 ]

# ---- pipes that are read, up to their bound ----
cat small.toml | "$volley" check /dev/stdin >out 2>err ||
    bad "a genome through a pipe"
[ "$draws" = no ] ||
    cat kept.csv | "$volley" plot raster /dev/stdin -o pipe.svg >out 2>err ||
    bad "a recording through a pipe"
cat kept.log | "$volley" compare kept.log /dev/stdin >out 2>err ||
    bad "a digest log through a pipe"
# through - the shell has opened it
for words in "check -" "check /dev/stdin" "import feagi -"; do
    checks=$((checks + 1))
    # shellcheck disable=SC2086
    yes '# no end' | timeout 120 "$volley" $words >out 2>err
    holds [ $? -ne 124 ]
    says "wanted"
done
head -c 70000 /dev/zero | tr '\0' x >long
if [ "$draws" = yes ]; then
    refused 2 "long" plot raster long
fi

# ---- pictures of what cannot be: no room, more neurons than memory has ----
if [ "$draws" = yes ]; then
    printf 'burst,time_ms,area,neuron\n0,0.1,A,0\n9,1,A,5\n' >two.csv
    refused 2 "no room in a picture of 1 x 1 inches" plot raster two.csv \
        -o x.svg --width 1 --height 1
    refused 2 "at most 32767 a side" plot raster two.csv -o x.png --width 100 --dpi 2400
    printf 'burst,time_ms,area,neuron\n0,0.1,A,0\n9,1,A,4294967294\n' >many.csv
    checks=$((checks + 1))
    (
        # shellcheck disable=SC3045 # dash and bash have it
        "$volley" doc >/dev/null && ulimit -v 16000000 && "$volley" doc >/dev/null &&
            exec "$volley" plot histograms many.csv -o x.svg
        exit 5 # a sanitizer's shadow does not fit
    ) >out 2>err
    holds [ $? -eq 5 ]
fi

# ---- genomes that mean much: counted, in 200 MB of address space ----
# stimulus NEURONS LINES: a genome of an area and a stimulus of some characters
stimulus() {
    printf 'format = 1\n[run]\ndt_ms = 0.1\nms = 1\n[area.A]\n'
    printf 'model = "lif_psc_delta"\nneurons = %s\n' "$1"
    printf '[[stimulus]]\nto = "A"\nweight_mv = 1\n'
    printf '%b' "$2"
}
stimulus 1 'kind = "pulse"\nwidth_bursts = 60000000\n' >pulse.toml
stimulus 60000000 'kind = "spikes"\nbursts = [3]\n' >spikes.toml
stimulus 1 'kind = "pulse"\nperiod_bursts = 2\ncount = 60000000\n' >train.toml
# many of a kind: a reader that looks at all before takes minutes
# with a sanitizer, which has more addresses than this, every realloc is a copy
many=30000
(
    # shellcheck disable=SC3045 # dash and bash have it
    ulimit -v 16000000 && exec "$volley" doc
) >out 2>err || many=2000
{
    stimulus 1 'kind = "dc"\namplitude_pa = 1\n' | sed '/weight_mv/d'
    yes '[[stimulus]]
to = "A"
kind = "dc"
amplitude_pa = 1' | head -n $((4 * many))
} >stimuli.toml
{
    sed '/stimulus/,$d' pulse.toml
    yes '[[map]]
from = "A"
to = "A"
rule = "one_to_one"
weight_mv = 1
delay_ms = 1' | head -n $((6 * many))
} >maps.toml
for genome in stimuli maps; do
    checks=$((checks + 1))
    timeout 240 "$volley" check --paper $genome.toml >out 2>err ||
        bad "check $genome.toml: exit code $?"
done
prints "map:$many"

limit=400000 # KiB; sanitizers and their shadow want more
"$volley" doc >out 2>err
for genome in pulse spikes train; do
    checks=$((checks + 1))
    (
        if (
            # shellcheck disable=SC3045 # dash and bash have it
            ulimit -v $limit
            exec "$volley" doc
        ) >/dev/null 2>&1; then
            # shellcheck disable=SC3045
            ulimit -v $limit
        fi
        exec "$volley" check --threads 1 $genome.toml
    ) >out 2>err || bad "check $genome.toml"
    prints "neurons"
    prints "memory        connectome"
done

done_checks
