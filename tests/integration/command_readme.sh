#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the README says is what the command does: its genomes are read and run, its
# figures are theirs, and genomes/KEYS.md is what `volley doc --markdown` prints.
here=$(cd "$(dirname "$0")" && pwd)
source=$2
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

expect 0 doc --markdown
holds cmp out "$source/genomes/KEYS.md"
expect 2 doc --markdown run

# Indented blocks that begin with "format = 1" are whole genomes.
awk '/^    format = 1$/ { n++; on = 1 }
    on && /^[^ ]/ { on = 0 }
    on { print substr($0, 5) > ("readme" n ".toml") }' "$source/README.md"
holds test -f readme1.toml
holds test -f readme2.toml
lacks=readme3.toml
checks=$((checks + 1))
[ ! -e $lacks ] || bad "the README has another genome: check it here"
for file in readme1.toml readme2.toml; do
    expect 0 check "$file"
done

# the chain: when each neuron fires
expect 0 run readme1.toml -o chain --backend cpu:1
printf 'burst,time_ms,area,neuron\n50,5.1,A,0\n150,15.1,A,1\n250,25.1,A,2\n' \
    >wanted.csv
holds cmp chain/spikes.csv wanted.csv
expect 0 run readme1.toml --set map.1.weight_mv=10 --backend cpu:1 -o weak
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
holds grep -qF 'volley run chain.toml --set map.1.weight_mv=10 -o weak' \
    "$source/README.md"
holds grep -qF 'volley plot traces weak' "$source/README.md"

# the balanced network: the summary that is printed there
expect 0 run readme2.toml --backend cpu:2 --record net.csv
for part in 87,369 43.68 22,157 44.31 109,526 54,756,835 1baad01e3364c093; do
    prints "$part"
    holds grep -qF -- "$part" "$source/README.md"
done
for g in 3:303 4:107 6:27; do
    expect 0 run readme2.toml --set "var.g=${g%:*}" --backend cpu:2 \
        --json "g.json"
    rate=$(value rate_hz g.json)
    holds [ "$(printf '%.0f' "$rate")" = "${g#*:}" ]
done
done_checks
