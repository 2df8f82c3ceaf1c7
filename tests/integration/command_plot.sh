#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volley plot: pictures against golden ones, sizes of files, what is refused.
# $5: image_compare; $6: recording_maker, empty without HDF5. With
# VOLLEY_UPDATE_GOLDEN=1 the golden pictures are replaced: check each of them
# then.
here=$(cd "$(dirname "$0")" && pwd)
compare=$5
maker=${6:-}
golden=$here/../golden/plot
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

lacks_file() {
    checks=$((checks + 1))
    [ ! -e "$1" ] || bad "$1 is there"
}

run_folder() { # run_folder NAME ARGUMENTS...
    name=$1
    shift
    expect 0 run "$@" -o "$name" --backend cpu:1
}
{
    cat "$genomes/brunel.toml"
    printf '\n[[record]]\nwhat = "spikes"\nfrom = "*"\n'
} >brunel.toml
run_folder brunel brunel.toml --set var.order=100 --bursts 1000
run_folder wave "$golden/wave.toml"
run_folder fields "$golden/traces.toml"

same() { # same NAME: the picture of that name
    checks=$((checks + 1))
    if [ "${VOLLEY_UPDATE_GOLDEN:-0}" = 1 ]; then
        cp "$1.png" "$golden/$1.png"
    fi
    "$compare" "$1.png" "$golden/$1.png" >out 2>err || bad "picture $1"
}
small="--dpi 72 --width 6 --height 4"
# shellcheck disable=SC2086 # a list of options
draw() { # draw NAME KIND INPUT OPTIONS...
    name=$1
    shift
    expect 0 plot "$@" $small -o "$name.png"
    prints "$name.png"
    same "$name"
}
draw raster raster brunel
draw rate rate brunel --bin 2
draw rate_cut rate brunel --bin 30 # the last bin is of 10 ms
draw histograms histograms brunel
draw voxels voxels wave --frames 6
draw traces traces fields
draw matrix matrix "$genomes/microcircuit.toml"
run_folder order "$genomes/order.toml" --weights order.csv
draw weights weights order
# a table without times has no traces; a map among several
expect 0 plot weights order.csv --map between -o order.png
expect 0 plot weights order/weights.csv --from 500 --to 900 -o order.svg
expect 2 plot weights order --map other -o no.png
says "no weights of what --map, --from and --to choose"
lacks_file no.png
expect 2 plot weights order/spikes.csv -o no.png
says "no table of weights, wanted the columns map,from,source,to,target,weight"
expect 2 plot weights fields -o no.png
says "has no weights.csv"
{
    cat order.csv
    echo "second,pair,0,pair,1,3"
} >two.csv
expect 2 plot weights two.csv -o no.png
says "has weights of map between and of map second: choose with --map"
expect 0 plot weights two.csv --map second -o two.png
# another seed draws another network
expect 0 plot matrix "$genomes/microcircuit.toml" --seed 9 --value synapses \
    --dpi 72 --width 6 --height 4 -o seeded.png

the_same() { # the_same A.png B.png: to the byte
    checks=$((checks + 1))
    cmp -s "$1" "$2" || bad "$1 and $2 differ"
}

# The unit of a field is the model's, also where its name does not end in it,
# from whatever file: "v (mV)". Five traces have one label together.
cat >units.toml <<'END'
format = 1
title = "units"
[run]
dt_ms = 1
ms = 50
[area.E]
model = "izhikevich"
neurons = 5
[[stimulus]]
kind = "poisson"
to = "E"
rate_hz = 500
weight = 8
[[record]]
what = "fields"
from = "E"
fields = ["v"]
END
run_folder units units.toml
run_folder units_stream units.toml --record-format stream
draw units traces units
expect 0 plot traces units_stream --dpi 72 --width 6 --height 4 -o same.png
the_same units.png same.png
expect 0 plot traces units/spikes.1.v.csv --genome units.toml --dpi 72 \
    --width 6 --height 4 -o same.png
the_same units.png same.png

# what was not recorded is not silent: an area, neurons, columns of voxels
{
    cat "$genomes/brunel.toml"
    printf '\n[[record]]\nwhat = "spikes"\nfrom = "E"\nneurons = [0, 5, 6]\n'
} >partial.toml
run_folder partial partial.toml --set var.order=100 --bursts 1000
draw partial_raster raster partial
draw partial_histograms histograms partial
expect 0 plot rate partial -o silent.png
expect 2 plot raster partial --area I -o no.png
says '--area I: the run did not record its spikes'
lacks_file no.png
{
    cat "$golden/wave.toml"
    printf 'neurons = [0, 1, 2, 3, 30, 31, 32, 33]\n'
} >corner.toml
run_folder corner corner.toml
draw corner voxels corner --frames 6
{
    cat "$genomes/brunel.toml"
    printf '\n[[record]]\nwhat = "fields"\nfrom = "E"\n'
    printf 'fields = ["v_mv"]\nneurons = [0]\n'
} >unseen.toml
run_folder unseen unseen.toml --set var.order=100 --bursts 10
expect 2 plot raster unseen -o no.png
says 'the run recorded no spikes'
lacks_file no.png

# the comparison itself can fail
checks=$((checks + 1))
"$compare" raster.png "$golden/rate.png" >out 2>err &&
    bad "raster and rate count as the same picture"
expect 0 plot raster brunel --dpi 72 --width 6 --height 4 --from 30 -o later.png
checks=$((checks + 1))
"$compare" later.png "$golden/raster.png" >out 2>err &&
    bad "another part of the run counts as the same picture"

# ---- files ----
expect 0 plot raster brunel -o raster.svg
holds grep -q '</svg>' raster.svg
checks=$((checks + 1))
[ "$(wc -c <raster.svg)" -lt 2000000 ] || bad "raster.svg is too large"
expect 0 plot voxels wave --frames 3 -o 'map-##.png'
holds test -s map-00.png
holds test -s map-02.png
lacks_file map-03.png
# a recording without its run, with and without the sizes of areas
expect 0 plot raster brunel/spikes.csv --genome brunel.toml -o a.png
expect 0 plot raster brunel/spikes.csv --area I -o b.svg
holds grep -q '<svg' b.svg
# a folder that was moved
mv brunel moved
expect 0 plot rate moved
holds test -s rate.png
# long names, one neuron, nothing fired
expect 0 plot raster moved --to 0.1 -o silent.png
expect 0 plot histograms moved --to 0.1 -o silent.png
expect 0 plot rate moved --to 0.1 --bin 1000 -o silent.png

# a time between two bursts, and a recording that is longer than its run
printf 'burst,time_ms,area,neuron\n2,0.3,E,1\n5,0.6,E,1\n' >edge.csv
for kind in raster rate histograms; do
    expect 0 plot $kind edge.csv --from 0.25 -o silent.png
    expect 0 plot $kind edge.csv --from 0.25 --to 0.55 -o silent.png
done
cp -r moved longer
echo '900000,90000.1,E,1' >>longer/spikes.csv
expect 0 plot rate longer --bin 100 -o silent.png
expect 0 plot raster longer -o silent.png

# more areas than colours: lines of one colour are dashed otherwise
{
    echo burst,time_ms,area,neuron
    for burst in 0 1 2 3; do
        for area in 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 \
            30 31 32; do
            echo "$burst,$((burst + 1)),a$area,0"
        done
    done
} >many.csv
expect 0 plot rate many.csv --bin 1 -o many.svg
# (older versions of cairo put commas between lengths, newer ones spaces)
holds grep -q 'stroke-dasharray[:=]"*4[, ]2' many.svg
holds grep -q 'stroke-dasharray[:=]"*1.5[, ]1.5' many.svg
holds grep -q 'stroke-dasharray[:=]"*6[, ]2[, ]1.5[, ]2' many.svg
expect 0 plot raster many.csv -o many.svg

# a recording beside its folder is found from anywhere, and after both moved
mkdir -p there/deep away
expect 0 run brunel.toml --set var.order=100 --bursts 1000 --backend cpu:1 \
    -o there/deep/run --record there/beside.csv
holds [ "$(value recording_from_folder there/deep/run/manifest.json)" = \
    ../../beside.csv ]
mv there away
picture=$PWD/same.png
checks=$((checks + 1))
(cd / && "$volley" plot raster "$folder/away/there/deep/run" --dpi 72 \
    --width 6 --height 4 -o "$picture") >out 2>err || bad "a moved recording"
the_same raster.png same.png
rm away/there/beside.csv
for kind in raster rate; do
    expect 4 plot $kind away/there/deep/run -o no.png
    says 'away/there/deep/run/../../beside.csv: No such file or directory: the'
    lacks_file no.png
done

# the same from a stream
expect 0 run brunel.toml --set var.order=100 --bursts 1000 --backend cpu:1 \
    --record stream.vls
expect 0 plot raster stream.vls --dpi 72 --width 6 --height 4 \
    --title 'Brunel 2000' -o raster.png
same raster
expect 0 run "$golden/traces.toml" --backend cpu:1 --record fields.vls
expect 0 plot traces fields.vls --dpi 72 --width 6 --height 4 -o traces.png
same traces
expect 0 plot traces fields.vls --neuron 3 --neuron 7 --area E --field v_mv \
    --from 10 --to 20 -o two.svg

# ---- SONATA ----
if [ -n "$maker" ]; then
    run_folder sonata brunel.toml --set var.order=100 --bursts 1000 \
        --record-format sonata
    for kind in raster rate histograms; do
        expect 0 plot $kind moved -o csv.png
        expect 0 plot $kind sonata -o sonata.png
        the_same csv.png sonata.png
        expect 0 plot $kind sonata/spikes.h5 --genome brunel.toml \
            --title 'Brunel 2000' -o sonata.png
        expect 0 plot $kind moved/spikes.csv --genome brunel.toml \
            --title 'Brunel 2000' -o csv.png
        the_same csv.png sonata.png
    done
    expect 0 plot traces fields -o csv.png
    run_folder reports "$golden/traces.toml" --record-format sonata
    expect 0 plot traces reports -o sonata.png
    the_same csv.png sonata.png
    expect 0 plot traces reports/spikes.1.v_mv.h5 --field v_mv -o sonata.png
    the_same csv.png sonata.png
    expect 0 plot traces reports --area E --neuron 3 --to 10 -o sonata.png
    expect 0 plot traces fields --area E --neuron 3 --to 10 -o csv.png
    the_same csv.png sonata.png
    expect 0 run "$golden/traces.toml" --backend cpu:1 -o apart \
        --record apart.h5
    holds [ "$(value recording_from_folder apart/manifest.json)" = ../apart.h5 ]
    checks=$((checks + 1))
    (cd / && "$volley" plot traces "$folder/apart" --area E --neuron 3 --to 10 \
        -o "$folder/apart.png") >out 2>err || bad "samples beside a folder"
    the_same csv.png apart.png
    rm apart.h5
    expect 4 plot raster apart -o no.png
    says 'apart/../apart.h5: No such file or directory: the recording'
    # a run that was killed has a stream only
    run_folder killed "$golden/traces.toml" --record-format sonata
    rm killed/spikes.h5 killed/spikes.1.v_mv.h5
    expect 0 run "$golden/traces.toml" --record killed/spikes.h5.vls \
        --backend cpu:1
    expect 0 plot traces killed --area E --neuron 3 --to 10 -o sonata.png
    the_same csv.png sonata.png
    run_folder streamed "$golden/traces.toml" --record-format stream
    expect 0 plot traces streamed --area E --neuron 3 --to 10 -o sonata.png
    the_same csv.png sonata.png

    run_folder units_sonata units.toml --record-format sonata
    expect 0 plot traces units_sonata --dpi 72 --width 6 --height 4 -o same.png
    the_same units.png same.png

    # areas of an included genome: V1/E is the population V1.E
    printf 'format = 1\n[area.E]\nmodel = "lif_psc_delta"\nneurons = 20\n' \
        >column.toml
    cat >outer.toml <<'END'
format = 1
[run]
dt_ms = 0.1
ms = 50
[use.V1]
file = "column.toml"
[use.V2]
file = "column.toml"
[[stimulus]]
kind = "poisson"
to = "*"
rate_hz = 2000
weight_mv = 4
[[record]]
what = "spikes"
from = "*"
[[record]]
what = "fields"
from = "V1/*"
fields = "*"
neurons = [0, 3]
END
    run_folder outer outer.toml --record-format sonata
    run_folder outer_csv outer.toml
    expect 0 plot raster outer -o sonata.png
    expect 0 plot raster outer_csv -o csv.png
    the_same csv.png sonata.png
    expect 0 plot raster outer/spikes.h5 --area V1/E -o sonata.png
    expect 0 plot raster outer_csv/spikes.csv --area V1/E -o csv.png
    the_same csv.png sonata.png
    expect 0 plot traces outer --field v_mv --area V1/E -o sonata.png
    expect 0 plot traces outer_csv --field v_mv --area V1/E -o csv.png
    the_same csv.png sonata.png
    expect 2 plot traces outer -o no.png
    says 'has samples in several files: choose with --field, or name one of'

    # of other programs: the same spikes as CSV give the same picture
    "$maker" foreign foreign.h5
    {
        echo burst,time_ms,area,neuron
        awk 'BEGIN {
            for (t = 0; t < 800; t++)
                for (a = 0; a < 2; a++)
                    for (k = 0; k < 600; k++) {
                        at = int(k / 40) * 50 + k % 40
                        burst = at > 0 ? at - 1 : 0
                        if (burst == t && (a == 1 || k >= 300))
                            print burst "," (burst + 1) / 4 "," \
                                (a ? "V1" : "V2") "," k % 40
                    }
        }'
    } >foreign.csv
    for kind in raster rate histograms; do
        expect 0 plot $kind foreign.h5 --area V1 --area V2 -o sonata.png
        expect 0 plot $kind foreign.csv -o csv.png
        the_same csv.png sonata.png
    done
    expect 0 plot raster foreign.h5 -o all.svg
    "$maker" older older.h5
    expect 0 plot raster older.h5 --area spikes -o older.png
    expect 0 plot rate foreign.h5 --area V1 --title same -o all.png
    "$maker" report voltage.h5
    expect 0 plot traces voltage.h5 -o elements.png
    expect 0 plot traces voltage.h5 --neuron 7 --area V1 -o one.svg
fi

# ---- refused ----
refused() { # refused CODE TEXT ARGUMENTS...
    code=$1
    text=$2
    shift 2
    rm -f no.png
    expect "$code" plot "$@" -o no.png
    says "$text"
    lacks_file no.png
}
refused 2 'no picture "rastr"; did you mean raster' rastr moved
refused 4 'nothing: No such file' raster nothing
refused 2 '--area EE: no such area' raster moved --area EE
refused 2 '--from 5000: nothing to show, the recording ends at' \
    raster moved --from 5000
refused 2 'no bursts between 5 and 5.01 ms, wanted at least one of' \
    raster moved --from 5 --to 5.01
refused 2 'is not before' raster moved --from 5 --to 4
refused 2 'a map shows one area' voxels moved
refused 2 'has no voxels' voxels moved --area E
refused 2 'wanted at most one a burst' voxels wave --frames 1000
refused 2 'do not fit' voxels wave --frames 120 --width 1 --height 1
printf 'burst,time_ms,area\n1,0.2,E\n' >few.csv
refused 2 'few.csv:1:1: no column neuron' raster few.csv
printf 'burst,time_ms,area,neuron\n5,0.6,E,1\n4,0.5,E,1\n' >order.csv
refused 2 'order.csv:3:1:' raster order.csv
printf 'burst,time_ms,area,neuron\n5,0.6,E,1\n6,x,E,1\n' >time.csv
refused 2 'time.csv:3:3:' raster time.csv
printf 'burst,time_ms,area,neuron\n5,0.6,A,100\n' >many.csv
refused 2 'many.csv:2:9:' raster many.csv --genome "$genomes/three.toml"
refused 2 'at most' raster moved --width 100 --height 100 --dpi 2400
printf 'format = 1\n[run]\ndt_ms = 1\nms = 1\n[area.A]\nneurons = 1\nmodel = "feagi"\n' \
    >alone.toml
refused 2 'has no synapses' matrix alone.toml
expect 0 run alone.toml -o unrecorded --backend cpu:1
refused 2 'nothing was recorded' raster unrecorded
refused 2 'has no samples of fields' traces wave
refused 2 'has no samples of w_pa' traces fields --field w_pa
refused 2 'no samples of what' traces fields --neuron 1
refused 2 'no samples of a field' traces moved/spikes.csv
# samples of a field are no spikes
for kind in raster rate histograms; do
    refused 2 'spikes.1.v_mv.csv:1:1: samples of v_mv, wanted a recording of' \
        $kind fields/spikes.1.v_mv.csv
done
expect 0 inspect fields/spikes.1.v_mv.csv
prints 'samples of a field (CSV)'
expect 0 inspect moved/spikes.csv
prints 'recording of spikes (CSV)'
refused 2 'no manifest.json in it' raster .
refused 2 'no manifest.json in it' traces .
# a recording without spikes is a picture without any, as of a folder
printf 'burst,time_ms,area,neuron\n' >header.csv
cat >silent.toml <<'END'
format = 1
[run]
dt_ms = 0.1
bursts = 50
[area.A]
model = "lif_psc_delta"
neurons = 3
[[record]]
what = "spikes"
from = "A"
END
run_folder silent silent.toml
for format in csv vls ${maker:+h5}; do
    expect 0 run silent.toml --quiet --record silent.$format
done
for kind in raster rate histograms; do
    for input in silent silent.csv silent.vls ${maker:+silent.h5} header.csv \
        "header.csv --from 5" "header.csv --to 20" "header.csv --area E" \
        "silent.csv --genome silent.toml"; do
        # shellcheck disable=SC2086 # several words
        expect 0 plot $kind $input -o empty.png
        holds [ -s empty.png ]
        rm -f empty.png
    done
    says "no spikes in the recording: the picture is empty"
    # of a recording that says how long it is too
    for input in silent silent.vls ${maker:+silent.h5}; do
        expect 0 plot $kind "$input" -o empty.png
        says "no spikes in the recording: the picture is empty"
    done
    expect 0 plot $kind silent.vls --from 2 -o empty.png
    says "no spikes in what is shown: the picture is empty"
done

# a damaged stream is shown up to the damage, with exit code 2; one of a killed
# run with a note
expect 0 run "$golden/traces.toml" --backend cpu:1 --record torn.vls
size=$(wc -c <torn.vls)
cp torn.vls cut.vls
truncate -s $((size - 10)) cut.vls
head -c $((size / 2)) torn.vls >damaged.vls
printf 'xxxxxxxxxxxxxxxx' >>damaged.vls
tail -c +$((size / 2 + 17)) torn.vls >>damaged.vls
for kind in raster rate histograms traces; do
    words="plot $kind"
    [ $kind != traces ] || words="$words --area E --field v_mv"
    # shellcheck disable=SC2086 # several words
    expect 2 $words damaged.vls -o torn.png
    says "damaged.vls: damaged at byte "
    says ": the picture has what is before"
    holds [ "$(grep -c damaged err)" -eq 1 ]
    holds [ -s torn.png ]
    rm torn.png
    # shellcheck disable=SC2086
    expect 0 $words cut.vls -o torn.png
    says "note: cut.vls: without its end, the run was killed: shown are "
    holds [ -s torn.png ]
    rm torn.png
done
for input in silent.csv silent.vls ${maker:+silent.h5}; do
    expect 0 inspect "$input"
    prints "0"
done

# marks at the edges are as large as those in the middle
edges() { # edges NAME BURST BURST: spikes of the first and of the last neuron
    cat >"$1.toml" <<END
format = 1
[run]
dt_ms = 0.1
bursts = 5000
[area.G]
generator = "spikes"
neurons = 401
bursts = [[$2, $3],$(printf '[],%.0s' $(seq 399))[$2, $3]]
[[record]]
what = "spikes"
from = "G"
END
    rm -rf "$1"
    run_folder "$1" "$1.toml"
    expect 0 plot raster "$1" --dpi 300 --width 3 --height 2 -o "$1.png"
    coloured=$("$compare" coloured "$1.png")
}
edges middle 1000 3000
middle=$coloured
edges begin 0 3000
holds [ "$coloured" = "$middle" ]
edges end 1000 4999
holds [ "$coloured" = "$middle" ]
if [ -n "$maker" ]; then
    wrong() { # wrong KIND TEXT: a recording_maker's
        "$maker" "$1" "$1.h5"
        refused 2 "$2" raster "$1.h5"
    }
    wrong length 'length.h5: /spikes/A/node_ids: 2 of them and 3 timestamps'
    wrong below 'below.h5: /spikes/A/node_ids: a number below 0'
    wrong large 'number 1: neuron 1099511627776, wanted below 268435456'
    wrong negative '/spikes/A/timestamps[1]: is -2 ms, wanted'
    wrong unit 'units are "hours", wanted ms, s or us'
    wrong float '/spikes/A/node_ids: wanted one row of whole numbers'
    wrong lacking '/spikes/A/node_ids: no such data'
    wrong huge '/spikes/A/timestamps: 9.007e+15 bytes in a file of'
    wrong unwritten '/spikes/A/timestamps: announced, but never written'
    wrong synapses 'no such group (the file holds synapses)'
    wrong empty '/spikes: no population in it'
    wrong report 'no such group (the file holds samples of fields)'
    refused 2 '--area V3: no such area' raster foreign.h5 \
        --area V3
    "$maker" short short.h5
    refused 2 '/report/V1/mapping/element_ids: wanted as many' traces short.h5
    refused 2 'no such group (the file holds spikes)' traces foreign.h5
    refused 2 'an area that the genome does not have' raster foreign.h5 \
        --genome brunel.toml
    refused 2 'has samples of v_mv, none of w_pa' \
        traces reports/spikes.1.v_mv.h5 --field w_pa
    refused 2 'no samples of what' traces voltage.h5 --neuron 1
    # cut off, and damaged byte by byte: never a crash, never a signal
    bytes=$(wc -c <foreign.h5)
    for part in 0 1 7 8 100 500 1000 2000 $((bytes / 2)) $((bytes - 1)); do
        head -c "$part" foreign.h5 >cut.h5
        refused 2 'cut.h5: no HDF5 file that can be read' raster cut.h5
    done
    at=0
    while [ $at -lt 4000 ]; do
        cp foreign.h5 flip.h5
        printf '\377\377\377' |
            dd of=flip.h5 bs=1 seek=$at conv=notrunc 2>/dev/null
        checks=$((checks + 1))
        "$volley" plot raster flip.h5 --dpi 36 -o flip.png >out 2>err
        code=$?
        [ $code -eq 0 ] || [ $code -eq 2 ] ||
            bad "byte $at changed: exit code $code"
        [ $code -eq 0 ] || [ "$(wc -l <err)" -eq 1 ] ||
            bad "byte $at changed: not one sentence"
        at=$((at + 37))
    done
else
    printf '\211HDF\r\n\032\n' >some.h5
    refused 3 'some.h5 is an HDF5 file' raster some.h5
    refused 3 'some.h5 is an HDF5 file' traces some.h5
fi
# a manifest with a number of bursts that there cannot be
cp -r moved odd
for bursts in 1e300 -1 1e17; do
    sed "s/^  \"bursts\": [0-9]*/  \"bursts\": $bursts/" moved/manifest.json \
        >odd/manifest.json
    holds grep -q "\"bursts\": $bursts" odd/manifest.json
    refused 2 "odd/manifest.json: bursts is " raster odd
done
expect 2 plot raster moved -o picture.jpg
says 'ends in .png or .svg'
expect 4 plot raster moved -o no/such/folder.png
says 'no/such/folder.png'
expect 4 plot raster moved -o no/such/folder.svg
says 'no/such/folder.svg'
# a disk that is full, as a limit of 1 or 0.5 kB on files
for ending in png svg; do
    checks=$((checks + 1))
    (ulimit -f 1 && "$volley" plot raster moved -o "full.$ending") >out 2>err
    [ $? -eq 4 ] || bad "a full disk and .$ending"
    says "full.$ending: cannot be written"
    lacks_file full.$ending
done
checks=$((checks + 1))
left=$(find . -name '*.tmp')
[ -z "$left" ] || bad "left behind: $left"
done_checks
