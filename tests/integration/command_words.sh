#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What would be silent or misleading is said: a length that is not a whole number of
# bursts, recordings that are fed back, recordings without spikes, files that are
# inspected.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# ---- lengths ----
for command in "run small.toml" "validate small.toml --backends cpu:1,cpu:2" \
    "sweep small.toml --set map.all.weight_mv=0.2,0.3 -o swept"; do
    # shellcheck disable=SC2086 # several words
    expect 2 $command --quiet --ms 0.15
    says "--ms is 0.15, wanted a whole number of bursts of dt_ms = 0.1: 0.1 or 0.2"
    # shellcheck disable=SC2086
    expect 2 $command --quiet --ms 0.04
    says "--ms is 0.04, wanted a whole number of bursts of dt_ms = 0.1: 0.1"
    # shellcheck disable=SC2086
    expect 2 $command --quiet --ms 1e-300
    says "--ms is 1e-300, wanted a whole number of bursts of dt_ms = 0.1: 0.1"
done
holds [ ! -e swept/results.csv ]
expect 2 run small.toml --quiet --ms 1e300
says "--ms"
expect 0 run small.toml --quiet --ms 0.3 --json short.json
holds [ "$(value bursts short.json)" = 3 ]
expect 0 run small.toml --quiet --ms 0 --json none.json
holds [ "$(value bursts none.json)" = 0 ]
sed 's/^bursts = 200/ms = 0.15/' small.toml >grid.toml
expect 2 check grid.toml
says "grid.toml:4:6: ms is 0.15, wanted a whole number of bursts of dt_ms = 0.1: 0.1 or 0.2"
expect 2 run small.toml --set run.dt_ms=0.3 --ms 1 --quiet
says "wanted a whole number of bursts of dt_ms = 0.3: 0.9 or 1.2"

# ---- a saved connectome with lists of spikes is read back ----
{
    cat small.toml
    for neuron in 1 2 3; do
        printf '[[stimulus]]\nkind = "spikes"\nto = "E"\nneurons = [%s]\n' $neuron
        printf 'times_ms = [[1, 2]]\nweight_mv = 20\n'
    done
} >lists.toml
expect 0 run lists.toml --quiet --save-connectome lists.vlc
expect 0 inspect lists.vlc
prints "connectome, checksums verified"
expect 0 inspect --no-verify lists.vlc
prints "neurons      100"

# ---- recordings that are fed back: the same file comes out ----
# replay: a genome of generators from lines "time area neuron" on stdin
replay() {
    awk -v begun="$1" '
        { lists[$2, $3] = lists[$2, $3] (lists[$2, $3] ? ", " : "") $1 }
        function area(name, n, k) {
            print "[area." name "]\ngenerator = \"spikes\"\nneurons = " n
            print "times_at = \"" begun "\"\ntimes_ms = ["
            for (k = 0; k < n; k++)
                print "[" lists[name, k] "],"
            print "]"
        }
        END {
            print "format = 1\n[run]\ndt_ms = 0.1\nbursts = 200"
            area("E", 80)
            area("I", 20)
            print "[[record]]\nwhat = \"spikes\"\nfrom = \"*\""
        }'
}
expect 0 run small.toml --quiet --record first.csv
holds [ "$(wc -l <first.csv)" -gt 20 ]
# shellcheck disable=SC2016 # fields of awk
awk -F, 'NR > 1 { print $2, $3, $4 }' first.csv | replay end >again.toml
expect 0 run again.toml --quiet --record again.csv
holds cmp first.csv again.csv
# without, times are where bursts begin: each spike comes one burst later
sed 's/"end"/"begin"/' again.toml >later.toml
expect 0 run later.toml --quiet --record later.csv
# shellcheck disable=SC2016
awk -F, 'NR == 1 || $1 < 199 { $1 += NR > 1; $2 = "x"; print }' first.csv >moved
# shellcheck disable=SC2016
awk -F, '{ $2 = "x"; print }' later.csv >found
sed 1d moved >one
sed 1d found >two
holds cmp one two
# stimuli too: an arrival in the burst that ends at 1 ms
cat >stimulus.toml <<'END'
format = 1
[run]
dt_ms = 0.1
bursts = 20
[area.A]
model = "lif_psc_delta"
neurons = 1
[[stimulus]]
kind = "spikes"
to = "A"
times_ms = [1]
times_at = "end"
weight_mv = 20
END
expect 0 run stimulus.toml --quiet --record stimulus.csv
holds [ "$(sed -n 2p stimulus.csv)" = "9,1,A,0" ]
# and a spike of a generator at 1 ms arrives at 2 ms with a delay of 1 ms, where
# recordings have the end of the burst
cat >delay.toml <<'END'
format = 1
[run]
dt_ms = 0.1
bursts = 30
[area.G]
generator = "spikes"
neurons = 1
times_ms = [1]
times_at = "end"
[area.A]
model = "lif_psc_delta"
neurons = 1
[[map]]
from = "G"
to = "A"
rule = "all_to_all"
weight_mv = 1
delay_ms = 1
[[record]]
what = "fields"
from = "A"
fields = ["v_mv"]
interval_ms = 0.1
END
expect 0 run delay.toml --quiet --record delay.csv
# shellcheck disable=SC2016 # fields of awk
holds [ "$(awk -F, 'NR > 1 && $5 > -65 { print $2; exit }' delay.1.v_mv.csv)" = 2 ]
if [ "$6" = 1 ]; then
    expect 0 run small.toml --quiet --record first.h5
    "$(dirname "$json_check")/recording_times" first.h5 >times1 || bad "first.h5"
    replay end <times1 >again.toml
    expect 0 run again.toml --quiet --record again.h5
    "$(dirname "$json_check")/recording_times" again.h5 >times2 || bad "again.h5"
    holds cmp times1 times2
    holds cmp first.h5 again.h5
    expect 0 run again.toml --quiet --record again.csv
    holds cmp first.csv again.csv
fi

# ---- inspect says what is in SONATA files ----
if [ "$6" = 1 ]; then
    spikes=$(($(wc -l <first.csv) - 1))
    expect 0 inspect first.h5
    prints "recording of spikes (SONATA)"
    prints "population E: "
    prints "population I: "
    holds [ "$(sed -n 's/.*: \([0-9,]*\) spikes.*/\1/p' out | tr -d , |
        awk '{ n += $1 } END { print n }')" = "$spikes" ]
    prints " to 20 ms, nodes "
    cat >fields.toml <<'END'
format = 1
[run]
dt_ms = 0.1
bursts = 100
[area.A]
model = "lif_psc_delta"
neurons = 70
i_e_pa = 10
[[record]]
what = "fields"
from = "A"
fields = ["v_mv"]
[[record]]
what = "spikes"
from = "A"
END
    expect 0 run fields.toml --quiet --record fields.h5
    expect 0 inspect fields.1.v_mv.h5
    prints "samples of a field (SONATA report)"
    prints "population A: 10 samples of 64 columns, every 1 ms, 1 to 10 ms, values -64.9619 to "
    prints ", in mV"
    prints "and more columns than the first 64"
    expect 0 inspect fields.h5
    prints "population A: 0 spikes"
    expect 0 inspect "$genomes/gallery/sonata_edges.h5"
    prints "synapses (SONATA edges)"
    prints "population A_to_A: 7 edges, syn_weight, delay"
    corpus=$genomes/../tests/fuzz/corpus/sonata
    for name in crash_heap cut head symbols; do
        expect 2 inspect "$corpus/$name.h5"
        holds [ "$(wc -l <err)" -eq 1 ]
        holds [ ! -s out ]
    done
    # HDF5 1.10 crashes on this one, 1.14 reads that nothing is in it
    checks=$((checks + 1))
    "$volley" inspect "$corpus/crash_read.h5" >out 2>err
    code=$?
    [ $code -eq 2 ] || grep -q 'no population' out ||
        bad "inspect crash_read.h5: exit code $code, wanted 2 or no population"
fi

# ---- a degree of 0 is one, by distance too, and where nothing is in reach ----
for draw in in out; do
    for multiple in true false; do
        cat >degree.toml <<END
format = 1
[run]
dt_ms = 0.1
bursts = 5
[area.A]
model = "lif_psc_delta"
voxels = [4, 4, 1]
[[map]]
from = "A"
to = "A"
rule = "distance"
draw = "fixed_${draw}_degree"
degree = 0
multiple = $multiple
self = false
kernel = { constant = 1 }
mask = { sphere = 0.5 }
weight_mv = 1
delay_ms = 1
END
        expect 0 run degree.toml --quiet --json degree.json
        holds [ "$(value synapses degree.json)" = 0 ]
        expect 0 resolve degree.toml
        prints "degree = 0"
        cp out resolved.toml
        expect 0 run resolved.toml --quiet --json again.json
        holds [ "$(value genome_hash degree.json)" = "$(value genome_hash again.json)" ]
    done
done
expect 2 run degree.toml --quiet --set map.1.degree=1
says "has 0 targets in reach, wanted at least 1"

# ---- limits and steps are in the texts ----
expect 0 doc limits
prints "areas                                             4096"
awk 'BEGIN { print "format = 1"; for (i = 0; i < 4097; i++)
    printf "[area.a%d]\nmodel = \"lif_psc_delta\"\nneurons = 1\n", i }' >many.toml
expect 2 check many.toml
says "4097 areas, wanted at most 4096"
expect 0 doc step
prints "weights of izhikevich"
prints "mean and sd of a stimulus of kind normal"
for name in izhikevich lif_psc_delta lif_psc_exp lif_psc_exp2; do
    expect 0 doc $name
    grep -q "weight \* dt_ms\|doc step" out || bad "doc $name says nothing of dt_ms"
done
expect 0 doc normal
prints "of what is added in a burst: as dt_ms changes, so must it (doc step)"
cat >step.toml <<'END'
format = 1
[run]
dt_ms = 0.001
bursts = 10
[area.A]
model = "lif_psc_delta"
neurons = 1
tau_m_ms = 20
END
expect 0 run step.toml --quiet
expect 0 check step.toml
says "step.toml:5:7: area A: its membrane time constant is 2e+04 bursts"

# ---- what is rounded says so: lists, defaults, columns, bins ----
cat >rounded.toml <<'END'
format = 1
[run]
dt_ms = 0.3
ms = 9
[area.A]
model = "lif_psc_delta"
neurons = 3
[area.B]
model = "lif_psc_delta"
neurons = 3
t_ref_ms = { file = "ref.csv", column = "ref" }
[area.C]
generator = "spikes"
neurons = 2
times_ms = [[0.3, 0.65], [0.6, 1.0, 1.5]]
[[stimulus]]
kind = "spikes"
to = "A"
times_ms = [0.31, 0.9]
weight_mv = 30
[[record]]
what = "spikes"
from = "A"
[[record]]
what = "fields"
from = "A"
fields = ["v_mv"]
END
printf 'ref\n2\n2.1\n2.5\n' >ref.csv
expect 0 check rounded.toml
says "rounded.toml:5:7: t_ref_ms, by default, is 2, rounded to 7 bursts of dt_ms = 0.3"
says "rounded.toml:11:1: t_ref_ms: 2 of 3 rounded to bursts of dt_ms = 0.3"
says "rounded.toml:15:12: times_ms: 2 of 5 rounded to bursts of dt_ms = 0.3"
says "times_ms: 1 of 2 rounded to bursts of dt_ms = 0.3"
says "interval_ms, by default, is 1, rounded to 3 bursts of dt_ms = 0.3"
holds [ "$(grep -c 'note: ' err)" -eq 5 ]
sed 's/0.65/0.6/; s/1.0,/0.9,/; s/0.31/0.3/; s/^model/t_ref_ms = 2.1\n&/' rounded.toml |
    sed '/ref.csv/d; s/^what = "fields"/&\ninterval_bursts = 3/' >grid.toml
expect 0 check grid.toml
holds [ "$(grep -c 'note: ' err)" -eq 0 ]
expect 0 run grid.toml -o grid
if "$volley" plot rate grid >out 2>err; then
    expect 0 plot rate grid --bin 0.7
    says "note: --bin is 0.7 ms, drawn are bins of 0.6 ms: whole bursts of 0.3 ms"
    expect 0 plot rate grid --bin 100
    says "note: --bin is 100 ms, drawn are bins of 9 ms"
    expect 0 plot rate grid --bin 0.9
    holds [ "$(grep -c 'note: ' err)" -eq 0 ]
fi

# ---- a constant weight that is off by more than 0.1% ----
cat >coarse.toml <<'END'
format = 1
[run]
dt_ms = 0.1
ms = 1
[area.A]
model = "lif_psc_exp"
neurons = 3
[[map]]
id = "big"
from = "A"
to = "A"
rule = "all_to_all"
weight_pa = 9000
delay_ms = 1
[[map]]
id = "small"
from = "A"
to = "A"
rule = "all_to_all"
weight_pa = 0.0126
delay_ms = 1
[[stimulus]]
kind = "poisson"
to = "A"
rate_hz = 10
weight_pa = 0.0126
END
expect 0 run coarse.toml
says "coarse.toml:20:13: map small (A -> A): the weight is off by 0.212% at most"
says "stimulus stimulus:1 (onto A): the weight is off by 0.212%: the unit is"
prints "coarse weights    of 2 maps or stimuli, off by 0.212% at most (map small)"
expect 0 check coarse.toml
says "map small (A -> A): the weight is off by 0.212% at most"

# ---- the connectome digest depends on the order of maps, spikes do not ----
ordered() { # ordered ID ID
    sed '/^\[\[map/,$d' small.toml >ordered.toml
    for id in "$@"; do
        sed -n '/^\[\[map/,/^delay/p' small.toml | sed "s/^id = .*/id = \"$id\"/"
    done >>ordered.toml
    sed -n '/^\[\[stimulus/,$p' small.toml >>ordered.toml
    expect 0 check ordered.toml
    sed -n 's/^connectome digest //p' out >ordered.digest
    expect 0 run ordered.toml --quiet --json ordered.json
}
ordered one two
cp ordered.digest first.digest
spikes=$(value digest ordered.json)
ordered two one
holds [ "$(value digest ordered.json)" = "$spikes" ]
holds [ -s first.digest ]
holds [ "$(cat ordered.digest)" != "$(cat first.digest)" ]

# ---- rates of which 2^-32 a burst is a part, in the same words ----
cat >rare.toml <<'END'
format = 1
[run]
dt_ms = 0.1
ms = 1
[area.A]
model = "lif_psc_delta"
neurons = 3
[area.G]
generator = "poisson"
neurons = 2
rate_hz = 2e-5
[[stimulus]]
kind = "poisson"
to = "A"
rate_hz = 1e-5
weight_mv = 1
END
expect 0 run rare.toml --json rare.json
says "rare.toml:12:1: stimulus stimulus:1 (onto A): the rate is off by 16.4%: asked 1e-05/s, drawn 1.16415e-05/s: the unit is 2.32831e-06/s, a chance of 2^-32 a burst"
says "rare.toml:8:7: generator G (onto G): the rate is off by 4.77%: asked 2e-05/s, drawn 2.09548e-05/s"
prints "coarse rates      of 2 stimuli, off by 16.4% at most (stimulus stimulus:1)"
holds grep -q '"generator": "G",' rare.json
holds grep -q '"drawn_hz": 1.16415' rare.json
holds is_json rare.json
expect 0 check rare.toml
says "the rate is off by 16.4%"
expect 0 check rare.toml --set stimulus.1.rate_hz=1 --set area.G.rate_hz=1
holds [ ! -s err ]

# ---- delays of a distribution: whole bursts, one at least ----
# delays LAW [DT]: of a map
delays() {
    sed '/^\[area.G\]/,$d' rare.toml >delays.toml
    sed -i "s/^dt_ms = .*/dt_ms = ${2:-0.1}/" delays.toml
    cat >>delays.toml <<END
[[map]]
from = "A"
to = "A"
rule = "all_to_all"
weight_mv = 1
delay_ms = $1
END
    expect 0 check delays.toml
}
delays '{ normal = [1.5, 0.75] }'
says "delays.toml:13:12: delays of map map:1: mean 1.5 ms, deviation 0.75 ms as written, 1.547 and 0.702 ms as drawn: whole bursts of dt_ms = 0.1, at least one"
delays '{ exponential = 0.5 }'
says "mean 0.4968 ms, deviation 0.489 ms as written, 0.5485 and 0.488 ms as drawn"
delays '{ uniform = [0, 0.3] }'
says "mean 0.15 ms, deviation 0.0866 ms as written, "
delays '{ lognormal = [-2, 0.3] }'
says "delays of map map:1: mean 0.14"
delays '{ normal = [1.33, 0.02] }'
says "mean 1.33 ms, deviation 0.02 ms as written, 1.316 and 0.0365 ms as drawn"
# a cut that is asked for, and one that nothing of it reaches
for law in '{ normal = [1.5, 0.75], clip = [0.1, "inf"] }' \
    '{ normal = [5, 0.5] }' '{ uniform = [0.5, 2] }' '{ lognormal = [1, 0.3] }'
do
    delays "$law"
    holds [ ! -s err ]
done
sed 's/^delay_ms.*/delay_bursts = { uniform = [0.5, 1.5] }/' delays.toml >of.toml
expect 0 check of.toml
holds [ ! -s err ]

# ---- a parameter of a distribution that its range cuts: drawn again ----
# cut LAW: tau_m_ms of an area, from 0.001 to 1e6
cut() {
    cat >cut.toml <<END
format = 1
[run]
dt_ms = 0.1
ms = 1
[area.A]
model = "lif_psc_exp"
neurons = 20
tau_m_ms = $1
END
    expect 0 check cut.toml
}
cut '{ normal = [1, 10] }'
says "cut.toml:8:1: tau_m_ms: 46% of the distribution is outside its range, 0.001 to 1000000, and is drawn again: mean 1, deviation 10 as written, 8.354 and 6.21 as drawn"
cut '{ lognormal = [13, 2] }'
says "34.2% of the distribution is outside its range"
cut '{ exponential = 1e6 }'
says "36.8% of the distribution is outside its range"
cut '{ normal = [1, 10], clip = ["-inf", 20] }'
says "mean 0.3244, deviation 9.31 as written, "
cut '{ mixture = [5, { normal = [1, 10] }], p = [0.5, 0.5] }'
says "46% of the distribution"
# what its clip cuts is meant, and a hundredth is little
for law in '{ normal = [1, 10], clip = [0.5, 20] }' '{ normal = [25, 10] }' \
    '{ lognormal = [1, 1] }' '{ exponential = 20 }' '{ uniform = [1, 5] }'; do
    cut "$law"
    holds [ ! -s err ]
done

# ---- a distribution: how far its smallest weights and its mean are off ----
# law BIG LAW: a map of that law beside one of BIG
law() {
    sed "s/weight_pa = 9000/weight_pa = $1/" coarse.toml |
        sed "20s/.*/weight_pa = $2/; 22,\$d" >law.toml
    expect 0 check law.toml
}
law 90000 '{ uniform = [0.0503, 0.0504] }'
says "law.toml:20:13: map small (A -> A): their mean is off by 0.857%: the unit is 0.000976562"
law 90000 '{ uniform = [0.0003, 0.0011] }'
says "off by a factor of "
says "their mean is off by 39.5%"
sed -i 's/^neurons = 3/neurons = 200/' coarse.toml
law 1 '{ lognormal = [-3, 3] }'
says "of its weights may be off by more than 1%, by a factor of "

# ---- noise beside weights that are large: a finer unit, or a note ----
sed '22,$d; s/^neurons = 200/neurons = 3/' coarse.toml >noise.toml
cat >>noise.toml <<'END'
[[stimulus]]
id = "noise"
kind = "normal"
to = "A"
mean_pa = 0.01
sd_pa = 0.001
END
sed -i 's/0.0126/100/' noise.toml
expect 0 check noise.toml --set map.small.weight_pa=9
holds [ "$(grep -c 'noise' err)" -eq 0 ]
expect 0 check noise.toml --set map.big.weight_pa=90000
says "stimulus noise (onto A): its mean or deviation is off by"

done_checks
