#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volley plot: pictures against golden ones, sizes of files, what is refused.
# $5: image_compare. With VOLLEY_UPDATE_GOLDEN=1 the golden pictures are drawn
# anew: look at each of them then.
here=$(cd "$(dirname "$0")" && pwd)
compare=$5
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
draw histograms histograms brunel
draw voxels voxels wave --frames 6
draw traces traces fields
draw matrix matrix "$genomes/microcircuit.toml"
# another seed draws another network
expect 0 plot matrix "$genomes/microcircuit.toml" --seed 9 --value synapses \
    --dpi 72 --width 6 --height 4 -o seeded.png

# a comparison that cannot fail is none
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
holds grep -q 'stroke-dasharray[:=]"*4,2' many.svg
holds grep -q 'stroke-dasharray[:=]"*1.5,1.5' many.svg
holds grep -q 'stroke-dasharray[:=]"*6,2,1.5,2' many.svg
expect 0 plot raster many.csv -o many.svg

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
refused 2 'no bursts between' raster moved --from 5000
refused 2 'is not before' raster moved --from 5 --to 4
refused 2 'a map shows one area' voxels moved
refused 2 'has no voxels' voxels moved --area E
refused 2 'wanted at most one a burst' voxels wave --frames 1000
refused 2 'do not fit' voxels wave --frames 120 --width 1 --height 1
printf 'burst,time_ms,area\n1,0.2,E\n' >few.csv
refused 2 'few.csv:1:1: no column neuron' raster few.csv
printf 'burst,time_ms,area,neuron\n5,0.6,E,1\n4,0.5,E,1\n' >order.csv
refused 2 'order.csv:3:1:' raster order.csv
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
printf '\211HDF\r\n\032\n' >some.h5
refused 3 'some.h5 is an HDF5 file' raster some.h5
refused 3 'some.h5 is an HDF5 file' traces some.h5
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
left=$(find . -name '*.partial')
[ -z "$left" ] || bad "left behind: $left"
done_checks
