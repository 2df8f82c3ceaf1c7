#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# README.md and docs/guide.md: their genomes are read and run, their commands are
# executed in order, their figures are those of the runs, and genomes/KEYS.md is
# what `volley doc --markdown` prints.
here=$(cd "$(dirname "$0")" && pwd)
source=$2
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"
guide=$source/docs/guide.md

expect 0 doc --markdown
holds cmp out "$source/genomes/KEYS.md"
expect 2 doc --markdown run

# genomes PAGE NAME...: indented blocks that begin with "format = 1" are whole
# genomes, by these names
genomes_of() {
    page=$1
    shift
    awk -v names="$*" 'BEGIN { n_names = split(names, name, " ") }
        /^    format = 1$/ { n++; on = 1 }
        on && /^[^ ]/ { on = 0 }
        on && n <= n_names { print substr($0, 5) > name[n] }
        END { exit n != n_names }' "$page"
}

# commands_of PAGE: its indented lines that call volley, without comments
commands_of() {
    sed -n '/^    volley /{s/^    //;s/  *#.*//;p;}' "$1"
}

# call COMMAND: exit code 0; without cairo a picture, and without a device what
# names one, end with 3. One thread: faster beside other load, the same result
call() {
    eval "set -- $1"
    shift
    case $1 in
    run) set -- "$@" --threads 1 ;;
    sweep) set -- "$@" --threads 1 --jobs 2 ;;
    esac
    case "$*" in
    plot* | *cuda*)
        checks=$((checks + 1))
        "$volley" "$@" >out 2>err
        found=$?
        [ "$found" -eq 0 ] || [ "$found" -eq 3 ] ||
            bad "volley $*: exit code $found, wanted 0 or 3"
        ;;
    *) expect 0 "$@" ;;
    esac
}

# ---- README.md ----
mkdir readme
cd readme || exit 1
holds genomes_of "$source/README.md" net.toml
commands_of "$source/README.md" >commands
holds has_lines 4 commands
while IFS= read -r line; do
    call "$line"
    cat out >>printed
done <commands
cp printed out
for part in 23.61 23.75 b3a9df385d2b5e65; do
    prints "$part"
    holds grep -qF -- "$part" "$source/README.md"
done
cd ..

# ---- docs/guide.md ----
holds genomes_of "$guide" chain.toml net.toml
# what its pictures are of: a run with a voxel area, a recording of another
# program, a smaller microcircuit than the one that ships
mkdir genomes
cp "$source/genomes/microcircuit_10.toml" genomes/microcircuit.toml
sed 's/"A"/"V"/; s/area\.A/area.V/; s/\[3, 1, 1\]/[4, 1, 1]/' chain.toml >voxels.toml
expect 0 run voxels.toml -o run
"$volley" run chain.toml --quiet --record theirs.h5 >out 2>err
hdf5=$?
commands_of "$guide" >commands
holds has_lines 17 commands
while IFS= read -r line; do
    case $line in
    *theirs.h5*) [ "$hdf5" -eq 0 ] || continue ;;
    esac
    call "$line"
    cat out >>printed
done <commands

# the chain: when each neuron fires
printf 'burst,time_ms,area,neuron\n50,5.1,A,0\n150,15.1,A,1\n250,25.1,A,2\n' \
    >wanted.csv
holds cmp chain/spikes.csv wanted.csv
holds [ "$(wc -l <weak/spikes.csv)" -eq 2 ]
# what its picture shows: one neuron that is lifted and falls back, two that
# stay; and all three stay in the first run
extremes() { # extremes FOLDER: lowest and highest sample of each neuron
    awk -F, 'NR > 1 { v = $5 + 0 }
        NR > 1 && (!($4 in lo) || v < lo[$4]) { lo[$4] = v }
        NR > 1 && (!($4 in hi) || v > hi[$4]) { hi[$4] = v }
        END { for (n = 0; n < 3; n++) printf "%g to %g;", lo[n], hi[n] }' \
        "$1/spikes.1.v_mv.csv"
}
holds [ "$(extremes weak)" = "-65 to -65;-65 to -55;-65 to -65;" ]
holds grep -q '^150,15.1,A,1,-55$' weak/spikes.1.v_mv.csv
holds [ "$(extremes chain)" = "-65 to -65;-65 to -65;-65 to -65;" ]

# the balanced network: the summary that is printed there, the rates of the sweep
cp printed out
for part in 87,369 43.68 22,157 44.31 109,526 54,756,835 1baad01e3364c093; do
    prints "$part"
    holds grep -qF -- "$part" "$guide"
done
rates=$(awk -F, 'NR == 1 { for (k = 1; k <= NF; k++) if ($k == "rate_hz.E") c = k }
    NR > 1 { printf "%.0f ", $c }' sweep/results.csv)
holds [ "$rates" = "303 107 44 27 " ]
holds grep -qF '303, 107, 44 and 27 spikes' "$guide"

# the same digest, repeated from the manifest that the guide names
expect 0 rerun net/manifest.json
done_checks
