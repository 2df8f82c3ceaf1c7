#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Recordings: formats that hold the same, files that depend on nothing but the
# network, what a killed run leaves, a full disk. $6 1: built with HDF5.
# shellcheck source=tests/integration/command_support.sh disable=SC2154
. "${0%/*}/command_support.sh"
hdf5=$6
sed -i 's/^bursts = 200$/bursts = 2000/' small.toml

# limited BLOCKS ARGUMENTS...: volley with files of at most so many blocks of
# 512 bytes
limited() {
    blocks=$1
    shift
    (ulimit -f "$blocks" && exec "$volley" "$@") >out 2>err
}

# positive KEY FILE: a number of a JSON file
# shellcheck disable=SC2317 # called by holds
positive() {
    awk -v x="$(value "$1" "$2")" 'BEGIN { exit !(x > 0) }'
}

# ---- one recording, three formats ----
expect 0 run small.toml --threads 1 --quiet --record whole.csv --backend cpu:1 \
    --json whole.json
holds is_json whole.json
expect 0 run small.toml --threads 1 --quiet --record whole.vls --backend cpu:1
expect 0 inspect whole.vls
prints "recording (stream)"
prints "state    whole"
prints "done: 2,000"
expect 0 inspect --repair whole.vls --to made.csv
holds cmp whole.csv made.csv
holds positive spikes whole.json
holds [ "$(sed 1d whole.csv | wc -l)" -eq "$(value spikes whole.json)" ]
holds [ "$(wc -c <whole.vls)" -lt "$(($(wc -c <whole.csv) / 2))" ]

# ---- the bytes depend on neither threads nor swaps nor where it was written --
expect 0 run small.toml --threads 1 --quiet --record other.vls --backend cpu:3 \
    --swap 7=cpu:1 --swap 1300=cpu:2
holds cmp whole.vls other.vls
"$volley" run small.toml --threads 1 --quiet --record - \
    --record-format stream >out 2>err
holds cmp whole.vls out
"$volley" run small.toml --threads 1 --quiet --record - \
    --record-format stream | cat >piped
holds cmp whole.vls piped
expect 0 run small.toml --threads 1 --quiet --record named \
    --record-format stream \
    --record-memory 1
holds cmp whole.vls named
expect 0 run small.toml --threads 1 --quiet -o folder --record-format stream
holds cmp whole.vls folder/spikes.vls

# ---- who reads slowly holds up the run once the memory is used, and no more --
call="run small.toml --threads 1 --quiet --bursts 100000 --backend cpu:1"
# shellcheck disable=SC2086 # words of a call
expect 0 $call --record fast.csv --json fast.json
holds [ "$(value waits fast.json)" -eq 0 ]
mkfifo slow.fifo
# shellcheck disable=SC2086
"$volley" $call --record - --record-memory 1 --json slow.json >slow.fifo &
process=$!
{
    # nothing is taken until the run sleeps: pipe and memory are full
    wait_for handles $process
    wait_for asleep $process
    cat
} <slow.fifo >slow.csv
wait $process
holds cmp slow.csv fast.csv
holds positive waits slow.json
holds positive waited_s slow.json
holds [ "$(value queue_bytes slow.json)" -le 1048576 ]
holds [ "$(value dropped slow.json)" -eq 0 ]

# ---- statistics: of what is recorded, or asked for ----
for key in isi_cv isi_cv_neurons fano bin_ms; do
    holds positive $key whole.json
done
expect 0 run small.toml --threads 1 --quiet --json bare.json
holds [ "$(value isi_cv bare.json)" = "null" ]
holds [ "$(value statistics bare.json)" = "null" ]
holds [ "$(value recording bare.json)" = "null" ]
expect 0 run small.toml --threads 1 --statistics --json bare.json
prints "silent"
for key in isi_cv isi_cv_neurons fano silent_share bin_ms; do
    holds [ "$(value $key bare.json)" = "$(value $key whole.json)" ]
done
expect 0 run small.toml --threads 1 --set run.bursts=1 \
    --set stimulus.kick.rate_hz=0 \
    --record silent.csv
prints "100.0%"

# ---- killed: good up to the last block ----
# shellcheck disable=SC2317 # called by wait_for
has_bytes() { # N FILE
    [ -e "$2" ] && [ "$(stat -c %s "$2")" -ge "$1" ]
}
killed() { # NAME: a long run that is killed once something is in the file
    # (in a subshell, which does not report the kill)
    (
        "$volley" run small.toml --threads 1 --quiet --bursts 200000000 \
            --backend cpu:1 \
            --record "$1" >/dev/null 2>&1 &
        run=$!
        wait_for has_bytes 100000 "$2"
        "$volley" inspect "$2" >live.out 2>live.err
        echo $? >live.code
        kill -9 $run
        wait $run
    ) >/dev/null 2>&1
}
killed lost.vls lost.vls
holds [ "$(cat live.code)" -eq 4 ]
holds grep -q "is being written" live.err
expect 0 inspect lost.vls
prints "without its end"
expect 0 inspect --repair lost.vls
expect 0 inspect --repair lost.vls --to lost.csv
n=$(sed 1d lost.csv | wc -l)
holds [ "$n" -gt 1000 ]
# the existing data equals that of an undisturbed run
last=$(tail -n 1 lost.csv | cut -d, -f1)
expect 0 run small.toml --threads 1 --quiet --bursts $((last + 1)) \
    --record undisturbed.csv
holds cmp lost.csv undisturbed.csv

# ---- a stream that is cut or damaged ----
size=$(wc -c <whole.vls)
head -c $((size - 3)) whole.vls >cut.vls
expect 0 inspect cut.vls
prints "left out the last"
{
    head -c $((size / 2)) whole.vls
    printf 'volley'
    tail -c +$((size / 2 + 7)) whole.vls
} >damaged.vls
expect 2 inspect damaged.vls
says "damaged at byte"
expect 2 inspect --repair damaged.vls --to damaged.csv
says "damaged at byte"
n=$(wc -c <damaged.csv)
holds [ "$n" -gt 1000 ]
head -c "$n" whole.csv >part.csv
holds cmp damaged.csv part.csv
head -c 50 whole.vls >cut.vls
expect 2 inspect --repair cut.vls
says "ends in its head"
expect 2 inspect --repair small.toml
says "not a stream"
# a CSV that was cut: its last line goes
cp whole.csv nothing.csv
expect 0 inspect --repair nothing.csv
holds cmp nothing.csv whole.csv
size=$(wc -c <whole.csv)
head -c $((size - 2)) whole.csv >cut.csv
head -n -1 whole.csv >lines.csv
expect 0 inspect --repair cut.csv
prints "a line without its end"
holds cmp cut.csv lines.csv
mkdir killed
head -c $((size - 2)) whole.csv >killed/spikes.csv
expect 0 inspect --repair killed
holds cmp killed/spikes.csv lines.csv
expect 4 inspect --repair missing.vls
expect 2 inspect --to x.csv whole.vls
says "--to without --repair"
mkdir nothing
expect 2 inspect --repair nothing
says "neither a stream"
expect 2 inspect --repair nothing --to x.csv

# ---- gone on with: the same bytes ----
call="run small.toml --threads 1 --quiet --record part.vls --checkpoint ck"
# shellcheck disable=SC2086 # words of a call
expect 0 $call --bursts 700
# shellcheck disable=SC2086
expect 0 $call --bursts 1500 --resume ck
# shellcheck disable=SC2086
expect 0 $call --resume ck --backend cpu:2
holds cmp part.vls whole.vls
expect 2 run small.toml --threads 1 --quiet --bursts 2500 \
    --record whole.csv --resume ck
says "not the file of ck"

# ---- neurons and fields of [[record]] ----
{
    cat small.toml
    printf '[[record]]\nwhat = "spikes"\nfrom = "I"\nneurons = [3, 1, 7]\n'
    printf '[[record]]\nwhat = "fields"\nfrom = ["I", "E"]\n'
    printf 'fields = ["v_mv", "refractory"]\nneurons = [5, 0]\n'
    printf 'interval_ms = 2.5\n'
} >fields.toml
awk -F, 'NR == 1 || ($3 == "I" && ($4 == 3 || $4 == 1 || $4 == 7))' whole.csv \
    >wanted
expect 0 run fields.toml --threads 1 --quiet --record chosen.csv \
    --json chosen.json
holds cmp chosen.csv wanted
holds [ ! -e chosen.csv.vls ]
holds [ "$(value samples chosen.json)" -eq 320 ]
holds [ "$(value digest chosen.json)" = "$(value digest whole.json)" ]
holds [ "$(wc -l <chosen.1.v_mv.csv)" -eq $((1 + 2 * 2 * 80)) ]
holds [ "$(sed -n 2p chosen.1.v_mv.csv | cut -d, -f1-4)" = 24,2.5,I,0 ]
holds [ "$(tail -n 1 chosen.1.refractory.csv | cut -d, -f1-4)" = 1999,200,E,5 ]
expect 0 run fields.toml --threads 1 --quiet -o chosen --backend cpu:3 \
    --swap 25=cpu:1
holds cmp chosen/spikes.csv chosen.csv
holds cmp chosen/spikes.1.v_mv.csv chosen.1.v_mv.csv
expect 2 run fields.toml --threads 1 --quiet --record -
says "go to files beside"
# the files of fields are outputs as any other
for option in --json --digest-log --checkpoint --telemetry --save-connectome; do
    expect 2 run fields.toml --threads 1 --quiet --record taken.csv \
        $option ./taken.1.refractory.csv
    says "./taken.1.refractory.csv is where samples of [[record]] go"
    expect 2 run fields.toml --threads 1 --quiet -o taken \
        $option taken/spikes.1.v_mv.csv
    says "is where samples of [[record]] go"
done
holds [ ! -e taken ]
cp fields.toml taken.1.v_mv.csv
expect 2 run taken.1.v_mv.csv --threads 1 --quiet --record taken.csv
says "taken.1.v_mv.csv is the genome"
holds cmp fields.toml taken.1.v_mv.csv
if [ "$hdf5" = 1 ]; then
    expect 0 run fields.toml --threads 1 --quiet --bursts 9 --checkpoint old.ck \
        --record old.csv
    ln old.ck old.1.v_mv.h5
    expect 2 run fields.toml --threads 1 --quiet --record old.h5 --resume old.ck
    says "old.1.v_mv.h5 is the same file as old.ck, the checkpoint of --resume"
fi
"$volley" run fields.toml --threads 1 --quiet --record - \
    --record-format stream >out 2>err
expect 0 run fields.toml --threads 1 --quiet --record fields.vls
"$volley" run fields.toml --threads 1 --quiet --record - \
    --record-format stream >piped
holds cmp fields.vls piped
expect 0 inspect fields.vls
prints "v_mv of 2 neurons of I, every 25 bursts"
# only fields: no ids cross for it
sed '/what = "spikes"/,/neurons = /d; /^\[\[record\]\]$/d' fields.toml |
    sed 's/^what = "fields"/[[record]]\n&/' >only.toml
expect 0 run only.toml --threads 1 --quiet --record only.csv --json only.json
holds [ ! -e only.csv ]
holds cmp only.1.v_mv.csv chosen.1.v_mv.csv
holds [ "$(value statistics only.json)" = null ]
# stopped by a signal and gone on with: no sample is missing, none is double
expect 0 run fields.toml --threads 1 --quiet --record part.vls \
    --checkpoint fk --bursts 25
expect 0 run fields.toml --threads 1 --quiet --record part.vls \
    --checkpoint fk --bursts 999 \
    --resume fk
expect 0 run fields.toml --threads 1 --quiet --record part.vls --resume fk
holds cmp part.vls fields.vls
sed 's/interval_ms = 2.5/interval_ms = 5/' fields.toml >others.toml
expect 0 run fields.toml --threads 1 --quiet --record part.vls \
    --checkpoint fk --bursts 25
expect 2 run others.toml --threads 1 --quiet --record part.vls --resume fk
says "another [[record]]"
# a stream that was damaged before the place: not gone on with, not touched, and
# not made into a file that ends there
expect 0 run fields.toml --threads 1 --quiet --record hurt.csv \
    --checkpoint hk --bursts 2000
{
    head -c 500 hurt.csv.vls
    printf 'volley'
    tail -c +507 hurt.csv.vls
} >hurt.vls
cp hurt.vls hurt.csv.vls
expect 2 run fields.toml --threads 1 --quiet --bursts 2500 --record hurt.csv \
    --resume hk
says "hurt.csv.vls: damaged at byte"
holds cmp hurt.vls hurt.csv.vls

# ---- a device that told wrong: cut to the snapshot, and told again ----
flaky() {
    VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH:$test_plugins/flaky.so \
        "$volley" "$@" --quiet --backend flaky,at=100,wrong=90 \
        --on-device-error cpu:1 --failover-every 40 --pace --pace-hz 10000 \
        --bursts 300 >out 2>err
}
expect 0 run small.toml --threads 1 --quiet --bursts 300 --record right.vls
flaky run small.toml --record wrong.vls --json wrong.json
holds [ $? -eq 0 ]
says "they are reported again"
holds cmp wrong.vls right.vls
# statistics cover the time since then, and the summary has its range
holds [ "$(value first_burst wrong.json)" -eq 80 ]
# samples are taken between two bursts and not told again; one before the
# snapshot stays
flaky run fields.toml --record wrong.vls
holds [ $? -eq 3 ]
sed 's/interval_ms = 2.5/interval_ms = 7/' fields.toml >seldom.toml
flaky run seldom.toml --record wrong.vls
holds [ $? -eq 0 ]
says "they are reported again"
expect 0 run seldom.toml --threads 1 --quiet --bursts 300 --record right.vls
holds cmp wrong.vls right.vls

# ---- calls that are wrong ----
expect 2 run small.toml --threads 1 --quiet --record-format vls --record x
says "wanted csv, sonata or stream"
expect 2 run small.toml --threads 1 --quiet --record-format csv
says "--record-format without"
expect 2 run small.toml --threads 1 --quiet --record-memory 0 --record x

# ---- a full disk: said, what is there is good ----
limited 8 run small.toml --threads 1 --quiet --record full.vls
holds [ $? -eq 4 ]
says "full.vls: cannot be written"
expect 0 inspect full.vls
prints "without its end"
# text ends after its last whole line, wherever the disk became full. Telemetry of a
# short run has three lines at least.
expect 0 run small.toml --threads 1 --quiet --record lines.csv \
    --digest-log lines.log
for name in csv log; do
    option=--record
    [ $name = csv ] || option=--digest-log
    for blocks in 3 9 10 11 17; do
        [ $((blocks * 512)) -lt "$(wc -c <lines.$name)" ] || bad "lines.$name"
        limited $blocks run small.toml --threads 1 --quiet $option cut.$name
        holds [ $? -eq 4 ]
        says "cut.$name: cannot be written: File too large"
        says "; it ends after its last whole line"
        holds [ "$(tail -c 1 cut.$name | wc -l)" -eq 1 ]
        holds [ "$(wc -c <cut.$name)" -gt $((blocks * 512 - 100)) ]
        head -n "$(wc -l <cut.$name)" lines.$name >lines.head
        holds cmp cut.$name lines.head
    done
done
limited 2 run small.toml --threads 1 --quiet --telemetry cut.jsonl \
    --telemetry-every 1
holds [ $? -eq 4 ]
says "cut.jsonl: cannot be written: File too large"
holds [ "$(tail -c 1 cut.jsonl | wc -l)" -eq 1 ]
if [ -w /dev/full ]; then
    expect 4 run small.toml --threads 1 --quiet --record /dev/full \
        --record-format stream
    says "No space left"
fi

if [ "$hdf5" != 1 ]; then
    expect 3 run small.toml --threads 1 --quiet --record x.h5
    says "built without it"
    holds [ ! -e x.h5 ]
    holds [ ! -e x.h5.vls ]
    expect 0 run small.toml --threads 1 --quiet --record x.csv
    done_checks
fi

# ---- SONATA ----
expect 0 run small.toml --threads 1 --quiet --record whole.h5
holds [ ! -e whole.h5.vls ]
# a full disk is never reported as lack of memory, whichever call of HDF5 finds
# it
cat >many.toml <<'END'
format = 1
[run]
dt_ms = 0.1
ms = 100
[area.P]
generator = "poisson"
neurons = 2000
rate_hz = 300
[[record]]
what = "spikes"
from = "P"
END
refusals=0
for size in 250 300 350 400 600 800; do
    rm -f many.h5*
    (
        ulimit -f $size
        exec "$volley" run many.toml --threads 1 --quiet --record many.h5
    ) >out 2>err
    code=$?
    checks=$((checks + 1))
    if [ $code -eq 0 ]; then # it had room
        holds [ -s many.h5 ]
        continue
    fi
    [ $code -eq 4 ] || bad "a file of $size blocks: $code, wanted 4"
    says "cannot be written: File too large"
    holds [ -s many.h5.vls ]
    refusals=$((refusals + 1))
done
holds [ $refusals -ge 2 ] # whether a block is 512 or 1,024 bytes
expect 0 run small.toml --threads 1 --quiet -o sonata --record-format sonata \
    --backend cpu:2 --swap 100=cpu:1
holds cmp whole.h5 sonata/spikes.h5
holds [ "$(value format sonata/summary.json)" = sonata ]

# killed, repaired: the folder, and one stream
mkdir -p kept
killed kept/lost.h5 kept/lost.h5.vls
holds [ ! -e kept/lost.h5 ]
expect 0 inspect --repair kept
prints "made     kept/lost.h5"
expect 0 inspect --repair kept/lost.h5.vls --to lost.csv

# the folder has the path of its recording; a complete file is unchanged
left() { # left RECORDING REASON: a folder of which only the manifest is there
    mkdir -p left
    printf '{"recording": "%s", "exit_reason": "%s"}\n' "$1" "$2" \
        >left/manifest.json
}
mkdir -p beside
mv kept/lost.h5.vls beside/lost.h5.vls
left beside/lost.h5 running
expect 0 inspect --repair left
prints "made     beside/lost.h5"
left "$PWD/beside/lost.h5" running
rm beside/lost.h5
checks=$((checks + 1))
(cd / && "$volley" inspect --repair "$folder/left") >out 2>err ||
    bad "a recording elsewhere"
prints "made     "
holds [ -e beside/lost.h5 ]
{
    head -n 9 whole.csv
    printf 7
} >beside/cut.csv
cp beside/cut.csv part.csv
left beside/cut.csv "done"
expect 2 inspect --repair left
says "nothing to repair"
holds cmp beside/cut.csv part.csv
left beside/cut.csv running
expect 0 inspect --repair left
prints "a line without its end"

# with checkpoints the stream stays, and the file is made each time
call="run small.toml --threads 1 --quiet --record again.h5 --checkpoint \
    again.ck"
# shellcheck disable=SC2086
expect 0 $call --bursts 900
holds [ -e again.h5.vls ]
# shellcheck disable=SC2086
expect 0 $call --resume again.ck
holds cmp again.h5 whole.h5

# a full disk at the end: the stream has everything
expect 0 run small.toml --threads 1 --quiet --record whole.h5
n=$(($(wc -c <whole.vls) / 512 + 8))
limited $n run small.toml --threads 1 --quiet --record full.h5
holds [ $? -eq 4 ]
says "full.h5: cannot be written: File too large; full.h5.vls has everything"
holds [ ! -e full.h5 ]
holds [ -z "$(find . -name "*.tmp")" ]
expect 0 inspect --repair full.h5.vls
holds cmp full.h5 whole.h5
expect 2 run small.toml --threads 1 --quiet --record x.h5 --json x.h5.vls
says "is given for two"
expect 2 run small.toml --threads 1 --quiet --record - --record-format sonata
says "cannot be standard output"
expect 4 run small.toml --threads 1 --quiet --record missing/x.h5
# a run that never began leaves no stream
expect 4 run small.toml --threads 1 --quiet --record never.h5 \
    --digest-log missing/x.log
holds [ ! -e never.h5.vls ]
expect 0 inspect whole.h5
prints "recording of spikes (SONATA)"
prints "population E: "
# an independent reader, where it is installed: h5py
for python in python3 /usr/bin/python3; do
    $python -c 'import h5py' 2>/dev/null || continue
    cat >compare.py <<'PY'
import csv, h5py
rows = {}
for row in csv.DictReader(open("whole.csv")):
    rows.setdefault(row["area"], []).append(
        (float(row["time_ms"]), int(row["neuron"])))
with h5py.File("whole.h5", "r") as file:
    for area, group in file["spikes"].items():
        found = list(zip(group["timestamps"][:], group["node_ids"][:]))
        assert found == rows.pop(area), area
        units = group["timestamps"].attrs["units"]
        assert units in ("ms", b"ms"), units
        assert group.attrs["sorting"] == 2
assert not rows
PY
    checks=$((checks + 1))
    $python compare.py >out 2>err || bad "h5py reads something else"
    break
done

# and another one: every number of h5dump against the CSV
if ! command -v h5dump >/dev/null; then
    echo "SONATA files not read back: no h5dump (hdf5-tools)"
    done_checks
fi
dump() { # DATASET FILE: one number a line
    h5dump -y -w 1 -A 0 -m '%.15g' -d "$1" "$2" | sed -n '/DATA {/,/}/p' |
        tr -d ' ,' | grep -E '^[-0-9.e+]+$'
}
for area in E I; do
    dump /spikes/$area/timestamps whole.h5 >"times"
    dump /spikes/$area/node_ids whole.h5 >nodes
    paste -d, times nodes >found
    awk -F, -v area=$area '$3 == area { print $2 "," $4 }' whole.csv >wanted
    holds [ -s wanted ]
    holds cmp found wanted
done
h5dump -A whole.h5 >attributes
for text in '"ms"' '"by_time" *2' 'H5T_STD_U64LE' 'H5T_IEEE_F64LE'; do
    holds grep -q "$text" attributes
done
# samples, against the CSV of the same network
expect 0 run fields.toml --threads 1 --quiet --record chosen.h5
for field in v_mv refractory; do
    for area in E I; do
        dump /report/$area/data chosen.1.$field.h5 >found
        awk -F, -v area=$area '$3 == area { print $5 }' chosen.1.$field.csv |
            awk '{ printf "%.6g\n", $1 }' >wanted
        awk '{ printf "%.6g\n", $1 }' found >rounded
        holds [ -s wanted ]
        holds cmp rounded wanted
    done
done
dump /report/E/mapping/time chosen.1.v_mv.h5 >found
printf '2.5\n202.5\n2.5\n' >wanted
holds cmp found wanted
for name in node_ids:0,5 index_pointers:0,1,2 index_pointer:0,1,2 \
    element_ids:1,1; do
    dump "/report/I/mapping/${name%%:*}" chosen.1.v_mv.h5 | paste -sd, >found
    holds [ "$(cat found)" = "${name#*:}" ]
done
h5dump -A chosen.1.v_mv.h5 >attributes
holds grep -q '"mV"' attributes
holds grep -q 'SIMPLE { ( 80, 2 )' attributes
holds grep -q 'H5T_IEEE_F32LE' attributes
h5dump -A chosen.1.refractory.h5 >attributes
holds grep -q 'H5T_STD_U32LE' attributes
expect 0 inspect --repair fields.vls --to again.h5
holds cmp again.1.v_mv.h5 chosen.1.v_mv.h5
holds cmp again.h5 chosen.h5

# and of the run that was killed
dump /spikes/I/node_ids kept/lost.h5 >found
awk -F, '$3 == "I" { print $4 }' lost.csv >wanted
holds [ -s wanted ]
holds cmp found wanted
done_checks
