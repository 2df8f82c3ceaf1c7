#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checkpoints of the command: writing, keeping, resuming, and refusals, each
# with one message and without loss of earlier files.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# refused CODE TEXT ARGUMENTS...: one line on stderr, which holds the text
refused() {
    code=$1
    text=$2
    shift 2
    expect "$code" "$@"
    says "$text"
    holds [ "$(wc -l <err)" -eq 1 ]
}

# resumes FILE [OPTIONS...]: to the end, and all is as if never stopped
resumes() {
    file=$1
    shift
    expect 0 run small.toml --bursts 3000 --quiet --resume "$file" \
        --record part.csv --digest-log part.log "$@"
    holds cmp part.csv whole.csv
    holds cmp part.log whole.log
}

# part N [OPTIONS...]: the first N bursts, and the checkpoint ck of them
part() {
    n=$1
    shift
    expect 0 run small.toml --bursts "$n" --quiet --backend cpu:1 \
        --record part.csv --digest-log part.log --checkpoint ck "$@"
}

expect 0 run small.toml --bursts 3000 --quiet --backend cpu:1 \
    --record whole.csv --digest-log whole.log --json whole.json

# ---- written at the end, gone on with on another backend ----
part 1700
cp ck good.ck
cp part.csv good.csv
cp part.log good.log
# back ...: everything as after the first part
back() {
    cp good.ck ck
    cp good.csv part.csv
    cp good.log part.log
}
resumes ck --backend cpu:2 --json part.json
holds [ "$(value digest part.json)" = "$(value digest whole.json)" ]
holds [ "$(value state_digest part.json)" = \
    "$(value state_digest whole.json)" ]
holds [ "$(value synaptic_events part.json)" = \
    "$(value synaptic_events whole.json)" ]
holds grep -q '"resumed": {' part.json
holds grep -q '"burst": 1700' part.json
# data after the checkpoint is cut: whole lines and half a line
back
printf '1700,170.1,E,3\n1701,170.2,E' >>part.csv
printf '1700 0123 0123 1\n1701 01' >>part.log
resumes ck
# a checkpoint of its end can be gone on with, and has nothing left to do
back
resumes ck --checkpoint end.ck
resumes end.ck
expect 2 run small.toml --bursts 2999 --quiet --resume end.ck
says "after burst 3000, and the run has 2999"
# with other options that leave spikes as they are
back
resumes ck --swap 1000=cpu:2 --swap 2000=cpu:1 --pace --pace-hz 100000 \
    --json part.json
holds grep -q '"reason": "it lies before the checkpoint"' part.json

# ---- --every and --keep ----
part 2000 --every 300 --keep 3
holds [ "$(find . -name 'ck*' | wc -l)" -le 3 ]
holds [ ! -e ck.tmp ]
expect 0 inspect ck
prints "bursts           2,000"
prints "by volley"
prints "part.csv"
prints "fired_gains"
resumes ck
part 1000 --every 1s
resumes ck
"$volley" run small.toml --bursts 1000000000 --quiet --checkpoint timed.ck \
    --every 1s --record part.csv --digest-log part.log >out 2>err &
process=$!
holds wait_for test -e timed.ck
kill -KILL $process
wait $process 2>/dev/null
expect 0 inspect timed.ck
for every in 0 10m -5 1.5s "1 s" "" s 99999999999h 99999999999999999999; do
    refused 2 "--every" run small.toml --checkpoint ck "--every=$every"
done
refused 2 "--every without --checkpoint" run small.toml --every 10
refused 2 "--keep without --checkpoint" run small.toml --keep 2
refused 2 "--keep is 0" run small.toml --checkpoint ck --keep 0

# ---- a signal: 6, and the state is there ----
for signal in INT TERM; do
    rm -rf "run$signal"
    "$volley" run small.toml --bursts 1000000000 --quiet -o "run$signal" \
        --digest-log "$signal.log" --record "$signal.csv" \
        --checkpoint "$signal.ck" >out 2>err &
    process=$!
    holds wait_for has_lines 100 "$signal.log"
    kill -$signal $process
    wait $process
    code=$?
    holds [ $code -eq 6 ]
    bursts=$(value bursts "run$signal/manifest.json")
    holds [ "$bursts" -gt 0 ]
    expect 0 inspect "$signal.ck"
    prints "$(value run "run$signal/manifest.json")"
    # in the same folder, whose manifest records it
    more=$((bursts + 500))
    expect 0 run small.toml --bursts $more --quiet -o "run$signal" \
        --digest-log "$signal.log" --record "$signal.csv" \
        --resume "$signal.ck"
    holds is_json "run$signal/manifest.json"
    holds [ "$(value burst "run$signal/manifest.json")" = "$bursts" ]
    holds [ "$(value exit_reason "run$signal/manifest.json")" = "done" ]
    holds grep -q '"event": "resume"' "run$signal/log.jsonl"
    holds [ "$(grep -vc '^#' "$signal.log")" = $more ]
    expect 0 rerun "run$signal/manifest.json" --quiet
    prints "identical"
done

# ---- a job that is started again while it still runs ----
back
"$volley" run small.toml --bursts 1000000000 --quiet --control own.sock \
    --resume ck --record part.csv --digest-log part.log >run.out 2>run.err &
process=$!
holds wait_for "$volley" ctl ./own.sock status
refused 4 "part.csv: cannot be written: another process writes it" run \
    small.toml --bursts 3000 --quiet --resume ck --record part.csv \
    --digest-log part.log
refused 4 "part.log: cannot be written: another process writes it" run \
    small.toml --quiet --digest-log part.log
expect 0 ctl ./own.sock stop
wait $process
# as far as both go
for what in csv log; do
    n=$(wc -c <part.$what)
    whole=$(wc -c <whole.$what)
    holds cmp -n $((n < whole ? n : whole)) part.$what whole.$what
done

# ---- a folder that is not the run's ----
mkdir other
: >other/file
back
refused 2 "the folder is not empty" run small.toml --bursts 3000 --quiet \
    --resume ck --record part.csv --digest-log part.log -o other
expect 0 run small.toml --quiet --seed 3 -o seed3
refused 2 "manifest of another genome" run small.toml --bursts 3000 --quiet \
    --resume ck --record part.csv --digest-log part.log -o seed3

# ---- checkpoint and recording in the folder that the run makes ----
expect 0 run small.toml --bursts 900 --quiet -o inside --record inside/s.csv \
    --checkpoint inside/ck --keep 2 --every 100
expect 0 run small.toml --bursts 3000 --quiet -o inside --record inside/s.csv \
    --checkpoint inside/ck --keep 2 --resume inside/ck
holds cmp inside/s.csv whole.csv
refused 4 "nowhere/ck: cannot be written" run small.toml --quiet -o fresh \
    --checkpoint nowhere/ck
holds [ ! -e fresh ]

# ---- what does not go together: nothing is changed ----
# untouched: the first part is as it was
untouched() {
    holds cmp -s part.csv good.csv
    holds cmp -s part.log good.log
    holds cmp -s ck good.ck
}
call="run small.toml --bursts 3000 --quiet --record part.csv"
call="$call --digest-log part.log --checkpoint ck --resume"
# shellcheck disable=SC2086 # words of a call
{
    refused 2 "checkpoint of another genome" $call ck --seed 9
    untouched
    refused 2 "checkpoint of another genome" $call ck --set area.E.neurons=81
    untouched
    refused 4 "none.ck: cannot be read: No such file" $call none.ck
    untouched
    refused 2 "small.toml: not a checkpoint" $call small.toml
    untouched
    refused 3 "nothing" $call ck --backend nothing
    untouched
    head -c 5000 good.csv >part.csv
    refused 2 "part.csv: has 5000 bytes, the checkpoint goes on after" $call ck
    rm part.csv
    refused 4 "part.csv: cannot be read: No such file" $call ck
    sed 's/,E,/,I,/' good.csv >part.csv
    refused 2 "part.csv: not the file of ck" $call ck
    cp good.csv part.csv
    tr 0 1 <good.log >part.log
    refused 2 "part.log: not the file of ck" $call ck
    if [ "$(id -u)" -ne 0 ]; then # nothing is closed to root
        cp good.log part.log
        chmod 444 part.log
        refused 4 "part.log: cannot be written: Permission denied" $call ck
        untouched
    fi
    rm -f part.log
    refused 4 "part.log: cannot be read: No such file" $call ck
}
back
cp small.toml recorded.toml
printf '[[record]]\nwhat = "spikes"\nfrom = "I"\n' >>recorded.toml
refused 2 "another [[record]]" run recorded.toml --bursts 3000 --quiet \
    --record part.csv --digest-log part.log --resume ck
untouched
# not recorded before
expect 0 run small.toml --bursts 1700 --quiet --checkpoint bare.ck
refused 2 "was written without --digest-log" run small.toml --bursts 3000 \
    --quiet --resume bare.ck --digest-log new.log
refused 2 "was written without --record" run small.toml --bursts 3000 \
    --quiet --resume bare.ck --record part.csv
untouched
expect 0 run small.toml --bursts 3000 --quiet --resume bare.ck \
    --record new.csv --backend cpu:1
says "new.csv begins at the checkpoint"
sed '1!d' whole.csv >tail.csv
awk -F, '$1 + 0 >= 1700 && NR > 1' whole.csv >>tail.csv
holds cmp new.csv tail.csv
# recorded before and not any more: said, not refused
expect 0 run small.toml --bursts 3000 --quiet --resume ck
says "part.csv was recorded and is not continued"
untouched
# recordings that cannot be gone on with
for path in - /dev/null; do
    refused 2 "$path: not a file" run small.toml --quiet --checkpoint ck \
        --record $path
    refused 2 "$path: not a file" run small.toml --quiet --checkpoint ck \
        --digest-log $path
done
untouched
cp small.toml precious
refused 2 "precious: there is a file that is not a checkpoint" run small.toml \
    --quiet --checkpoint precious
holds cmp precious small.toml
refused 2 "is the genome" run small.toml --quiet --checkpoint small.toml
refused 2 "given for two" run small.toml --quiet --checkpoint x --record x
refused 2 "not a file" run small.toml --quiet --checkpoint other
refused 2 "not a file" run small.toml --quiet --checkpoint /dev/full
refused 4 "none/ck" run small.toml --quiet --checkpoint none/ck
# a link is followed, to its target and to the files beside the target
mkdir far
ln -s far/new.ck near.ck
refused 4 "near.ck: the link cannot be followed" run small.toml --quiet \
    --checkpoint near.ck
cp good.ck far/new.ck
cp small.toml far/new.ck.1
refused 2 "far/new.ck.1: there is a file that is not a checkpoint" \
    run small.toml --quiet --checkpoint near.ck --keep 2
rm far/new.ck.1
expect 0 run small.toml --quiet --checkpoint near.ck --keep 2
holds [ -L near.ck ]
holds cmp far/new.ck.1 good.ck
# nor files beside it with the names of older checkpoints and of the next one
for end in 1 2 tmp; do
    cp small.toml "new.ck.$end"
    refused 2 "new.ck.$end: there is a file that is not a checkpoint" \
        run small.toml --quiet --checkpoint new.ck --keep 3
    holds cmp "new.ck.$end" small.toml
    rm "new.ck.$end"
    refused 2 "new.ck.$end is what --checkpoint new.ck writes beside it" \
        run small.toml --quiet --checkpoint new.ck --keep 3 \
        --record "./new.ck.$end"
    holds [ ! -e "new.ck.$end" ]
done
head -c 3000 /dev/zero >new.ck.tmp # as a killed process leaves it
cp good.ck new.ck.1
expect 0 run small.toml --quiet --checkpoint new.ck --keep 2 --record new.ck.2
rm new.ck*
# nor the checkpoint of --resume
for option in --json --save-connectome --record --digest-log; do
    refused 2 "the same file as ck, the checkpoint of --resume" run small.toml \
        --bursts 3000 --quiet --resume ck $option ./ck
    untouched
done

# ---- damaged files: refused by name, by inspect and by run ----
size=$(wc -c <good.ck)
for n in 0 1 7 8 12 16 100 239 240 700 1199 1200 1300 $((size - 1)); do
    head -c $n good.ck >cut.ck
    refused 2 "cut.ck" run small.toml --quiet --resume cut.ck
    # a file with only the name of a checkpoint is not recognized
    [ $n -lt 8 ] || refused 2 "cut.ck: damaged checkpoint" inspect cut.ck
done
# an earlier version, and a later one
for word in 'older:\000' 'newer:\003'; do
    cp good.ck version.ck
    # shellcheck disable=SC2059 # the byte
    printf "${word#*:}" |
        dd of=version.ck bs=1 seek=8 conv=notrunc 2>dd.err
    refused 2 "${word%%:*} than the versions 1 to 2" run small.toml --quiet \
        --resume version.ck
    refused 2 "${word%%:*} than the versions 1 to 2" inspect version.ck
done
# a byte in the middle of the state
cp good.ck bits.ck
printf '\252\252' | dd of=bits.ck bs=1 seek=1650 conv=notrunc 2>dd.err
refused 2 "checksum of section" run small.toml --quiet --resume bits.ck

# ---- a device that is lost: 3, and the run goes on elsewhere ----
VOLLEY_PLUGIN_PATH=$VOLLEY_PLUGIN_PATH:$test_plugins/failing.so \
    expect 3 run small.toml --bursts 3000 --quiet --backend failing,at=130 \
    --record lost.csv --checkpoint lost.ck --every 50
says "device lost"
expect 0 inspect lost.ck
expect 0 run small.toml --bursts 3000 --quiet --backend cpu:2 \
    --record lost.csv --resume lost.ck --json lost.json
holds cmp lost.csv whole.csv
holds [ "$(value digest lost.json)" = "$(value digest whole.json)" ]

# ---- changes of earlier processes, in the manifest of the last ----
cat >learn.toml <<'END'
format = 1
[run]
dt_ms = 1
bursts = 200
[area.P]
generator = "poisson"
neurons = 5
rate_hz = 100
[area.T]
model = "lif_psc_delta"
neurons = 5
[plasticity.a]
rule = "stdp"
w_max_mv = 20
lambda = 0.05
[[map]]
from = "P"
to = "T"
rule = "all_to_all"
weight_mv = 10
plasticity = "a"
END
# parts FOLDER OPTIONS...: 80 bursts, then up to 140 and 200 in that folder
learn="run learn.toml --quiet --backend cpu:1"
parts() {
    folder=$1
    shift
    rm -rf learnt learn.vlk
    expect 0 $learn -o learnt --bursts 80 --checkpoint learn.vlk "$@"
    expect 0 $learn -o "$folder" --bursts 140 --resume learn.vlk \
        --checkpoint learn.vlk --change 120=plasticity.a.alpha=0.5
    expect 0 $learn -o "$folder" --resume learn.vlk \
        --change 150=plasticity.a.lambda=0.01
}
parts learnt --change 50=plasticity.a.lambda=0.5
expect 0 rerun learnt --quiet --backend cpu:2
prints identical
holds grep -q '"changes_known": true' learnt/manifest.json
holds [ "$(grep -c '"burst": [0-9]*,$' learnt/manifest.json)" -ge 3 ]
# without the folder of the first part it says what it does not know
rm -rf alone
parts alone --change 50=plasticity.a.lambda=0.5
holds grep -q '"changes_known": false' alone/manifest.json
expect 2 rerun alone --quiet
says "it went on from learn.vlk, and what was changed before is not known"
rm -rf alone
parts alone
expect 0 rerun alone --quiet
# what came after the checkpoint of a process did not happen
rm -rf learnt learn.vlk
expect 0 $learn -o learnt --bursts 60 --checkpoint learn.vlk \
    --change 50=plasticity.a.lambda=0.5
cp learn.vlk early.vlk
expect 0 $learn -o learnt --bursts 120 --resume learn.vlk \
    --change 100=plasticity.a.alpha=0
expect 0 $learn -o learnt --resume early.vlk
expect 0 rerun learnt --quiet
holds [ "$(grep -c plasticity.a.alpha learnt/manifest.json)" -eq 0 ]
# a log that is damaged does not have all
sed -i 's/plasticity.a.lambda = 0.5/plasticity/' learnt/log.jsonl
expect 0 $learn -o learnt --resume early.vlk
expect 2 rerun learnt --quiet
# nor does one without the checkpoint
sed -i '/"checkpoint"/d' learnt/log.jsonl
expect 0 $learn -o learnt --resume early.vlk
holds grep -q '"changes_known": false' learnt/manifest.json

# ---- no room: the run goes on, the last one fails with 4 ----
back
(
    ulimit -f 1
    exec "$volley" run small.toml --set area.E.neurons=2000 --bursts 50 \
        --quiet --checkpoint big.ck
) >out 2>err
code=$?
checks=$((checks + 1))
[ $code -eq 4 ] || bad "checkpoint without room: $code, wanted 4"
says "big.ck: cannot be written: File too large"
holds [ -z "$(find . -name 'big.ck*')" ]
mkdir disk
# shellcheck disable=SC2016 # the inner shell's words
on_disk='mount -t tmpfs -o size=64k none disk || exit 9
v=$1
"$v" run small.toml --set area.E.neurons=9000 --bursts 20 --quiet \
    --checkpoint disk/ck || exit 8
cp disk/ck before.ck
head -c 60000 /dev/zero >disk/filler 2>/dev/null
"$v" run small.toml --set area.E.neurons=9000 --bursts 2000 --every 10 \
    --backend cpu:1 --quiet --checkpoint disk/ck --keep 2 --resume disk/ck
code=$?
cmp disk/ck before.ck || exit 7
[ "$(ls disk)" = "$(printf "ck\nfiller")" ] || exit 6
exit $code'
if unshare -rm sh -c 'mount -t tmpfs -o size=64k none disk' 2>err; then
    checks=$((checks + 1))
    unshare -rm sh -c "$on_disk" sh "$volley" >out 2>err
    code=$?
    [ $code -eq 4 ] || bad "full disk: $code, wanted 4"
    says "the run continues: disk/ck"
    says "disk/ck: cannot be written: No space left on device"
    expect 0 inspect before.ck
else
    echo "no full disk: mounting one is not permitted here"
fi
# the one before is as good as ever
resumes ck
done_checks
