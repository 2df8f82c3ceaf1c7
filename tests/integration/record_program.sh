#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# record_program.sh PROGRAM VOLLEY GENOMES: files that a C program records by the
# public headers are those of the command.
set -u
program=$1
volley=$2
genomes=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

bad() {
    failed=$((failed + 1))
    echo "FAILED: $*"
    cat out err
}

# same GENOME BURSTS
same() {
    "$program" "$1" "$2" ours >out 2>err || bad "$1: exit code $?"
    rm -rf theirs.*
    "$volley" run "$1" --backend cpu:1 --bursts "$2" --quiet \
        --record theirs.csv --digest-log theirs.digests --json theirs.json \
        >run_out 2>err || bad "volley run: exit code $?"
    cmp -s ours.csv theirs.csv || bad "$1: another CSV"
    # the same digests, burst by burst
    "$volley" compare ours.digests theirs.digests >run_out 2>err ||
        bad "$1: other digests"
    n=$(($(wc -l <theirs.csv) - 1))
    samples=$((($2 + 49) / 50))
    digest=$(sed -n 's/.*"digest": *"\([0-9a-f]*\)".*/\1/p' theirs.json | head -n 1)
    wanted="$n spikes, $n converted, $n watched in $samples samples, $2 bursts, $digest"
    [ "$(cat out)" = "$wanted" ] || bad "$1: wanted $wanted"
    # the stream is a recording like every other one
    "$volley" inspect ours.vls >run_out 2>err || bad "$1: inspect: $?"
}

same "$genomes/three.toml" 100
same "$genomes/izhikevich.toml" 230
# no folder for the files: one sentence, exit code 4
"$program" "$genomes/three.toml" 100 nowhere/ours >out 2>err
[ $? = 4 ] || bad "a folder that is missing"
[ "$(wc -l <err)" = 1 ] || bad "not one sentence"
[ "$failed" -eq 0 ]
