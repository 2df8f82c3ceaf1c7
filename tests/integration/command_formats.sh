#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files of older versions gone on with, and the connectome's digest: in a
# manifest, a summary, a checkpoint, a stream, compared by rerun, printed by check.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

old=$here/../golden/format1
digest=83d2a1ade7b258c66f78cbbb6e4cec0e

# ---- a checkpoint and a stream of version 1 go on ----
cp "$old"/format1.toml .
expect 0 run format1.toml --bursts 200 --quiet --record whole.csv
expect 0 inspect "$old/format1.vlk"
prints "version          1,"
holds [ "$(grep -c 'connectome digest' out)" -eq 0 ]
cp "$old/format1.csv.vls" part.csv.vls
expect 0 inspect part.csv.vls
holds [ "$(grep -c 'connectome digest' out)" -eq 0 ]
expect 0 run format1.toml --bursts 160 --quiet --resume "$old/format1.vlk" \
    --record part.csv --checkpoint new.vlk
expect 0 inspect new.vlk
prints "version          2,"
prints "connectome digest $digest"
prints "frames"
# as the checkpoint of a run that was never stopped, but for its recording
expect 0 run format1.toml --bursts 200 --quiet --resume new.vlk \
    --record part.csv --json part.json
holds cmp part.csv whole.csv
holds cmp part.1.v_mv.csv whole.1.v_mv.csv
holds [ "$(value digest part.json)" = 97f6d0f601f3c12d ]
holds [ "$(value state_digest part.json)" = 540cee052a6e3e2c ]
holds [ "$(value connectome_digest part.json)" = $digest ]

# ---- the same bytes whoever writes ----
for threads in 1 3; do
    expect 0 run format1.toml --bursts 90 --quiet --backend cpu:$threads \
        --threads $threads --checkpoint "ck$threads"
done
holds cmp ck1 ck3

# ---- a stream carries it ----
"$volley" run format1.toml --bursts 1000000000 --quiet --record killed.csv \
    --checkpoint killed.ck --every 100 >out 2>err &
process=$!
holds wait_for test -e killed.ck
kill -KILL $process
wait $process 2>/dev/null
expect 0 inspect killed.csv.vls
prints "connectome digest $digest"

# ---- a folder: rerun compares ----
expect 0 run format1.toml --bursts 50 --quiet -o folder
holds [ "$(value connectome_digest folder/manifest.json)" = $digest ]
expect 0 rerun folder
prints "identical"
sed "s/$digest/0$(echo $digest | cut -c 2-)/" folder/manifest.json >m
cp m folder/manifest.json
expect 1 rerun folder
prints "differs"
prints "another connectome: its digest is $digest"
# a manifest of an older version has none
grep -v connectome_digest m >folder/manifest.json
expect 0 rerun folder

# ---- a saved connectome ----
expect 0 run format1.toml --bursts 1 --quiet --save-connectome c.vlc
expect 0 inspect c.vlc
prints "digest       $digest"

# ---- check prints it of what it compiles ----
expect 0 check format1.toml
prints "connectome digest $digest"
expect 0 check --build --threads 3 format1.toml
prints "connectome digest $digest"
expect 0 check --paper format1.toml
holds [ "$(grep -c 'connectome digest' out)" -eq 0 ]

done_checks
