#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What check, run and resolve say of a genome is what the genome says.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# lists TEXT: a line of stdout is this, blanks apart
lists() {
    checks=$((checks + 1))
    sed 's/  */ /g; s/ $//' out | grep -qxF -- "$1" || bad "stdout lacks: $1"
}
# lacks TEXT: neither stdout nor stderr has it
lacks() {
    checks=$((checks + 1))
    cat out err | grep -qF -- "$1" && bad "it says: $1"
}

# ---- values from files ----
expect 0 check "$genomes/gallery/file_edges.toml"
lists "map:1 A -> A file 7 from the file from the file"
cp "$genomes/gallery/file_neurons.csv" .
cut -d, -f1,2 "$genomes/gallery/file_edges.csv" >pairs.csv
sed 's/"file_edges.csv"/"pairs.csv"\nweight_mv = 3\ndelay_ms = 2/' \
    "$genomes/gallery/file_edges.toml" >pairs.toml
expect 0 check pairs.toml
lists "map:1 A -> A file 7 3 2"
expect 0 check "$genomes/gallery/distance_bernoulli.toml"
prints "0.5 +0.3 d"

# a column of delays that is not on the grid
sed '3s/,[0-9.]*$/,1.44/' "$genomes/gallery/file_edges.csv" >edges.csv
sed 's/"file_edges.csv"/"edges.csv"/' "$genomes/gallery/file_edges.toml" >off.toml
head -n 3 edges.csv | grep -q ',1.44$' || bad "no delay of 1.44 ms"
expect 0 check off.toml
says "edges.csv: 1 of 7 delays are no whole number of bursts of dt_ms = 0.1 and were rounded"
expect 0 check "$genomes/gallery/file_edges.toml"
lacks "rounded"

# ---- stimuli: neurons that get something ----
cat >some.toml <<'END'
format = 1
[area.A]
model = "feagi"
voxels = [4, 4, 1]
neurons_per_voxel = 2
[[stimulus]]
kind = "spikes"
to = "A"
weight = 2
neurons = [3, 0]
bursts = [1, 2, 5]
[[stimulus]]
kind = "pattern"
to = "A"
weight = 2
voxels = [[0, 0, 0], [1, 1, 0], [0, 0, 0]]
bursts = [3]
[[stimulus]]
kind = "pulse"
to = "A"
weight = 2
first = 30
start_burst = 3
END
expect 0 check some.toml
lists "stimulus:1 spikes A 2"
lists "stimulus:2 pattern A 4"
lists "stimulus:3 pulse A 2"

# ---- areas that only fire ----
generators=$genomes/gallery/generators.toml
expect 0 check "$generators"
lists "noise generator poisson 4 64 B"
lists "list generator spikes 3 48 B"
lists "beat generator pulse 1 16 B"
lacks "generator/"
expect 0 run "$generators" --quiet --json summary.json
holds grep -q '"generator": "pulse"' summary.json
holds [ "$(grep -c '"model": ' summary.json)" = 1 ]
expect 0 resolve "$generators"
cp out resolved.toml
prints 'generator = "poisson"'
lacks "generator/"
holds [ "$(grep -c 'model = ' out)" = 1 ]
expect 0 resolve --hash "$generators"
cp out hash
expect 0 resolve --hash resolved.toml
holds cmp -s out hash

# ---- stimuli and rules that are written otherwise than they are kept ----
cat >voxels.toml <<'END'
format = 1
[run]
dt_ms = 1
bursts = 5
[area.A]
model = "lif_psc_delta"
voxels = [10, 4, 1]
[[map]]
id = "none"
from = "A"
to = "A"
rule = "patterns"
patterns = [[[20, "*", "*"], [0, 0, 0]]]
weight_mv = 1
[[map]]
from = "A"
to = "A"
rule = "distance"
kernel = { constant = 1 }
mask = { ring = [40, 50] }
weight_mv = 1
[[stimulus]]
kind = "pulse"
to = "A"
weight_mv = 20
[[stimulus]]
kind = "pattern"
to = "A"
voxels = [[0, 0, 0]]
times_ms = [2]
weight_mv = 20
END
expect 0 check voxels.toml
lists "stimulus:1 pulse A 40"
lists "stimulus:2 pattern A 1"
lists "none A -> A patterns 0"
lists "map:2 A -> A distance 0 1 1"
says "voxels.toml:8:1: none makes no synapse from A to A: no pair of voxels fits a pattern"
says "map:2 makes no synapse from A to A: no two neurons are where kernel and mask are above 0"

# one note for a pool, and only if none of its pairs has a synapse
cat > pools.toml << 'END'
format = 1
[area.A]
model = "lif_psc_delta"
neurons = 40
[[map]]
id = "some"
from = "A[:10] + A[10:]"
to = "A"
rule = "fixed_total_number"
count = 1
weight_mv = 1
[[map]]
id = "none"
from = "A[:10] + A[10:]"
to = "A"
rule = "pairwise_bernoulli"
p = 1e-9
weight_mv = 1
END
expect 0 check pools.toml
says "note: none makes no synapse from A[0:10]+A[10:40] to A"
lacks "some makes no synapse"

# ---- notes ----
expect 0 run voxels.toml
says "note: voxels.toml:8:1: none makes no synapse"
expect 0 run voxels.toml --quiet
lacks "note"
expect 0 check voxels.toml --set map.2.delay_ms=1.4
says "note: --set map.2.delay_ms=1.4: delay_ms is 1.4, rounded to 1 burst of dt_ms = 1"
expect 0 validate voxels.toml --backends cpu:1,cpu:2
says "note: voxels.toml:8:1: none makes no synapse"
expect 0 resolve voxels.toml --set map.2.periodic=true
prints "periodic = [10, 4, 0]"

# a current above the least that fires is lost to single precision, or not
cat >stands.toml <<'END'
format = 1
[run]
dt_ms = 0.01
ms = 400
[area.A]
model = "lif_psc_exp"
neurons = 1
c_m_pf = 250
tau_m_ms = 20
i_e_pa = 187.57
END
expect 0 run stands.toml --json stands.json
says "note: stands.toml:5:7: area A: its current takes the potential to"
holds [ "$(value spikes stands.json)" = 0 ]
expect 0 check stands.toml
says "without other input it never fires; a [neuron] with compensated variables does"
expect 0 run stands.toml --set area.A.i_e_pa=187.58 --json stands.json
lacks "note"
holds [ "$(value spikes stands.json)" = 2 ]

# ---- names of other scripts in tables: umlauts take one column, kanji two,
# ---- an accent of its own none ----
accent=$(printf 'e\314\201')
cat >scripts.toml <<END
format = 1
[run]
dt_ms = 0.1
ms = 10
[neuron."größe"]
port = { ex = "mV" }
state = { v = "-65 mV" }
eq = "v' = (-65 mV - v)/(10 ms)"
on.ex = "v += in"
spike = "v > -50 mV"
[area."Küken"]
model = "größe"
neurons = 10
[area."神経"]
model = "lif_psc_delta"
neurons = 10
[area."m$accent"]
model = "lif_psc_delta"
neurons = 10
[[map]]
id = "größer"
from = "神経"
to = "Küken"
rule = "one_to_one"
weight_mv = 1
delay_ms = 1
[[stimulus]]
id = "größter"
kind = "dc"
to = "神経"
amplitude_pa = 0
END
expect 0 check scripts.toml
prints "area                     model                     neurons        bytes"
prints "Küken                    größe                          10 "
prints "神経                     lif_psc_delta                  10 "
prints "m$accent                       lif_psc_delta                  10 "
prints "map            from -> to           rule  "
prints "größer         神経 -> Küken        one_to_one  "
prints "stimulus             kind       to                          neurons"
prints "größter              dc         神経                             10"
expect 0 run scripts.toml --quiet --save-connectome scripts.vlc
expect 0 run scripts.toml
prints "area         neurons           spikes"
prints "Küken             10                0"
prints "神経              10                0"
expect 0 inspect scripts.vlc
prints "神経                     lif_psc_delta                10 "
prints "größer         神経 -> Küken                    10 "

# ---- names of other simulators ----
expect 0 doc V_min
prints "none"
prints "the potential has no lower bound"
expect 0 doc V_th
lists "V_th v_t_mv adex"
lists "V_th v_peak izhikevich"
expect 0 doc pairwise_poisson
prints "nearest: fixed_total_number"
expect 0 doc PoissonGroup
lists "PoissonGroup poisson generator of [area], kind of [[stimulus]]"
expect 0 doc iaf_psc_exp
lists "iaf_psc_exp lif_psc_exp2 model"
expect 2 doc pairwise_poison
says "did you mean pairwise_poisson?"

# ---- files that are cut, values that may be left out ----
expect 0 run voxels.toml --quiet --save-connectome whole.vlc
for bytes in 1 7 8 100 300; do
    head -c $bytes whole.vlc >cut.vlc
    expect 2 inspect cut.vlc
    says "cut.vlc: "
    says "connectome"
    expect 2 run cut.vlc
    says "of a connectome or a checkpoint, wanted a genome"
done
: >empty
expect 2 inspect empty
says "empty: an empty file"
expect 2 check empty
says "empty: an empty file, wanted a genome"
expect 2 run --pace foo voxels.toml
says '--pace is "foo", wanted one of [slip|skip|stop]'
expect 2 run voxels.toml --pace foo
says '--pace is "foo", wanted one of [slip|skip|stop]'
# where there is no /dev/pts, as in a bare root, no terminal can be made
if command -v script >/dev/null 2>&1 && script -qc true /dev/null \
    </dev/null >/dev/null 2>&1; then
    checks=$((checks + 1))
    script -qc "'$volley' run voxels.toml --quiet --record - --record-format stream" \
        /dev/null </dev/null >out 2>err
    grep -q "a stream cannot be shown in a terminal" out ||
        bad "a stream went to a terminal"
fi
expect 2 run voxels.toml foo
says 'what is "foo"?'
done_checks
