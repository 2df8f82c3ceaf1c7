#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volley monitor tokens and report: the golden telemetry in both implementations
# of the tokens, and pages about runs that were watched, that were not, and that
# did not end.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"
golden=$2/tests/golden/monitor

# ---- tokens ----
expect 0 monitor tokens "$golden/telemetry.jsonl"
holds cmp -s out "$golden/tokens.txt"
if command -v python3 >/dev/null 2>&1; then
    python3 "$2/tools/monitor/tokens.py" "$golden/telemetry.jsonl" >python.txt
    holds cmp -s python.txt "$golden/tokens.txt"
    # simple detectors and rules about times, in both implementations
    expect 0 monitor tokens "$golden/telemetry.jsonl" --json
    cp out scores.json
    python3 "$2/tools/monitor/score.py" "$golden/telemetry.jsonl" >python.json
    cat >same.py <<'END_OF_SAME'
import json
ours = [json.loads(line) for line in open("scores.json")]
theirs = [json.loads(line) for line in open("python.json")]
assert len(ours) == len(theirs) > 50, (len(ours), len(theirs))
for a, b in zip(ours, theirs):
    for name, value in b.items():
        if name in ("stall", "extreme", "work", "unison"):
            continue  # of the monitor: below
        assert abs(a[name] - value) <= 1e-9 * max(1, value), (a, b)
assert any(b["times"] > 0 for b in theirs)
assert any(b["times_smoothed"] > 0 for b in theirs)
END_OF_SAME
    holds python3 same.py
    # the monitor's score, with the shipped model and with one that foretells
    # nothing, and the same with the surprise that it told
    python3 "$2/tests/support/random_rwkv.py" judge.safetensors 256 1 \
        volley.tokens=2 "volley.rarity=0.3 0.05 0.2 0.5 0.05 0.4 0.1 0.05 0.8 0.2 0.05 0.5 0.2 0.05 0.5" \
        "volley.rarity_device=0.2 0.05 0.3 0.4 0.05 0.2 0.2 0.05 0.6 0.3 0.05 0.1 0.1 0.05 0.3"
    shipped=$2/core/monitor/model/telemetry.safetensors
    # some records waited for a processor, in some neurons fire together
    sed 's/"seconds": \(0[.]0[4-9][0-9]*\),/"seconds": \1, "waited_s": 0.03125,/' \
        "$golden/telemetry.jsonl" |
        sed -e '70,90s/"spikes": \([0-9]*\),/"spikes": \1, "spikes_squared": \1999,/' \
            -e '1,69s/"spikes": \([0-9]*\),/"spikes": \1, "spikes_squared": \199,/' \
            -e '45,46s/"spikes": /"moves": 1, "spikes": /' \
            -e '90,95s/"spikes": /"paused_s": 0.0009765625, &/' \
            -e '124s/"waited_s": 0.03125,/& "engine_waited_s": 0.0078125,/' \
            >waited.jsonl
    expect 0 monitor tokens waited.jsonl
    python3 "$2/tools/monitor/tokens.py" waited.jsonl >python.txt
    holds cmp -s python.txt out
    holds [ "$(grep -c '"moves": 1' waited.jsonl)" -eq 2 ]
    # the same on a device, where threads of the host waited at times
    sed -e 's/"device_bytes": 0,/"device_bytes": 7000, "threads_waited_s": 0,/' \
        -e '30,50s/"threads_waited_s": 0/"threads_waited_s": 0.0625/' \
        waited.jsonl >ondevice.jsonl
    cat >both.py <<'END_OF_BOTH'
import json, pathlib, sys
import runs, score, tokens
path, model = map(pathlib.Path, sys.argv[1:3])
names, records = tokens.records(path)
assert any(record["waited_ns"] > 0 for record in records)
inside = [r["engine_waited_ns"] for r in records if r["waited_ns"] > 0]
assert sorted(inside) == [7812500, 31250000], inside
ours = [json.loads(line) for line in open("scores.json")]
nats = [[a["nats"][name] for name in tokens.NAMES] for a in ours]
limit = score.threshold(30, 3600)
on_device = path.name == "ondevice.jsonl"
assert {record["on_device"] for record in records} == {on_device}
assert on_device == any(record["threads_waited_ns"] > 0 for record in records)
key = "volley.rarity_device" if on_device else "volley.rarity"
tails = [float(x) for x in runs.metadata(model)[key].split()]
judge = score.Rarity([tails[i:i + 3] for i in range(0, 15, 3)], limit)
rows = score.judged(names, records, nats, judge)
assert len(ours) == len(rows) > 50
quiet, seen = score.QUIET, set()
for a, (record, text, row, got) in zip(ours, rows):
    assert a["tokens"] == text, (a, text)
    for name, value in zip(score.CHANNELS, row):
        assert abs(a[name] - value) <= 1e-9 * max(1, value), (a, row)
        seen.update([name] if value > 0 else [])
    assert abs(a["monitor"] - got) <= 1e-9 * max(1, got), (a, got)
    assert abs(a["threshold"] - limit) < 1e-9, a
    assert a["alarm"] == (got >= limit and quiet >= score.QUIET), (a, quiet)
    quiet = 0 if got >= limit else min(quiet + 1, score.QUIET)
    seen.update(["alarm"] if a["alarm"] else [])
print(*sorted(seen))
END_OF_BOTH
    for model in judge.safetensors "$shipped"; do
        for file in waited.jsonl ondevice.jsonl; do
            expect 0 monitor tokens "$file" --json --model "$model" \
                --every 1000 --alarms 30
            cp out scores.json
            PYTHONPATH="$2/tools/monitor" python3 both.py "$file" "$model" \
                >>both
        done
    done
    # facts that lines tell of
    sed -e '80s/"spikes": /"failures": 1, "spikes": /' \
        -e '85s/"spikes": /"wrong_bursts": 3, "spikes": /' \
        "$golden/telemetry.jsonl" >facts.jsonl
    expect 0 monitor tokens facts.jsonl --json --model judge.safetensors
    holds [ "$(grep -c '"alarm": true, "channel": "rule"' out)" -eq 2 ]
    for file in 1 2 3 4; do
        printf '%s\n' 'alarm extreme stall surprise unison work'
    done >wanted
    holds cmp -s both wanted
fi
expect 2 monitor tokens "$golden/telemetry.jsonl" --model m.safetensors
says '--model without --json, wanted both'
expect 2 monitor tokens "$golden/telemetry.jsonl" --json --alarms 2
says 'without --model, wanted both'
expect 0 monitor tokens "$golden/telemetry.jsonl" --json
head -n 40 out | tail -n 1 >line.json
holds is_json line.json
holds grep -q '"tokens": \[0, ' line.json
# a file that was cut ends before its last line
head -c 40000 "$golden/telemetry.jsonl" >cut.jsonl
expect 0 monitor tokens cut.jsonl
cp out cut.txt
head -n "$(wc -l <cut.txt)" "$golden/tokens.txt" >begin.txt
holds cmp -s cut.txt begin.txt

# ---- what is no telemetry ----
expect 4 monitor tokens none.jsonl
says 'none.jsonl: No such file or directory'
: >empty.jsonl
expect 2 monitor tokens empty.jsonl
says 'empty.jsonl:1: not the first line of a telemetry, wanted a file of volley run --telemetry'
sed '5s/"spikes": /"spikes": -/' "$golden/telemetry.jsonl" >minus.jsonl
expect 2 monitor tokens minus.jsonl
says 'minus.jsonl:5: not a sample of a telemetry of this version'
# a line twice, two the other way round, a run behind another
sed '5p' "$golden/telemetry.jsonl" >twice.jsonl
expect 2 monitor tokens twice.jsonl
says 'twice.jsonl:6: a record from burst '
says ', where the one before it ends: records of one run, each once and in their order'
sed '5{h;d};6G' "$golden/telemetry.jsonl" >back.jsonl
expect 2 monitor tokens back.jsonl
says 'back.jsonl:5: a record from burst '
sed '2s/"bursts": /"bursts": 90000000/' "$golden/telemetry.jsonl" >before.jsonl
expect 2 monitor tokens before.jsonl
says ' bursts up to burst '
sed '3s/{/[/' "$golden/telemetry.jsonl" >array.jsonl
expect 2 monitor tokens array.jsonl
says 'array.jsonl (from line 3)'
sed '2s/"eye": [0-9]*/"eye": 0.5/' "$golden/telemetry.jsonl" >half.jsonl
expect 2 monitor tokens half.jsonl
says 'half.jsonl:2: spikes of an area are no whole number'

# ---- a run without a watcher ----
cp "$genomes/three.toml" .
expect 0 run three.toml --backend cpu:1 -o run
expect 0 monitor report run
prints 'WHAT RAN'
prints '3 neurons, 2 synapses'
prints 'bursts     100'
prints 'not known: no monitor watched this run, and it left no telemetry'
expect 0 monitor report run --telemetry "$golden/telemetry.jsonl"
prints 'No monitor watched this run. This telemetry is not its own:'
prints '/telemetry.jsonl is of another network: '
prints ' neurons, a burst is 10 ms.'
prints 'an area fell silent: its input was lost or it is inhibited'
prints 'burst 21,479 to 21,959'
holds [ "$(grep -c '    when ' out)" = 1 ]
head -n 1 "$golden/telemetry.jsonl" >run/telemetry.jsonl
expect 0 monitor report run
prints 'That telemetry has no record that'
cp "$golden/telemetry.jsonl" run/
expect 0 monitor report run
holds [ "$(grep -c '    when ' out)" = 1 ]

# ---- a run that was watched ----
cat >run/monitor.jsonl <<'END'
{"time":"2026-01-01T00:00:00.000Z","burst":1200,"anomaly":{"metric":"rate","area":"E","bursts":100,"score":9.25,"threshold":7.5,"cause":"runaway excitation","text":"burst 1200: spikes of a burst: 5 times what was usual (area E)"}}
{"time":"2026-01-01T00:00:01.000Z","burst":1300,"anomaly":{"metric":"host","area":null,"bursts":100,"score":8,"threshold":7.5,"cause":null,"text":"burst 1300: a\u001b[31mb"}}
{"time":"2026-01-01T00:00:01.0
END
truncate -s -1 run/monitor.jsonl
expect 0 monitor report run
prints '  burst 1200: spikes of a burst: 5 times what was usual (area E)'
prints '    area      E'
prints '    likely    runaway excitation'
prints '    evidence  score 9.2, threshold 7.5, by rate'
prints '    likely    no row of the table of causes fits'
holds [ "$(grep -c "$(printf '\033')" out)" = 0 ]
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
    echo '{"time":"t","burst":'$i',"anomaly":{"score":'$i',"text":"thing '$i'."}}'
done >run/monitor.jsonl
expect 0 monitor report run
prints '25 episodes; the 20 most unusual:'
holds [ "$(grep -c '    when ' out)" = 20 ]
holds [ "$(grep '  thing ' out | head -n 1)" = '  thing 6.' ]
expect 0 monitor report run --all
holds [ "$(grep -c '    when ' out)" = 25 ]
# by another detector; the run still counts as watched
expect 0 monitor report run --telemetry run/telemetry.jsonl
prints 'The monitor watched this run and reported 25 unusual episodes'
prints 'This is what a windowed Gaussian finds in that'
holds [ "$(grep -c 'No monitor watched' out)" = 0 ]
holds [ "$(grep -c '    when ' out)" = 1 ]
: >run/monitor.jsonl
expect 0 monitor report run
holds [ "$(tail -n 1 out)" = '  nothing' ]
echo '[1]' >run/monitor.jsonl
expect 0 monitor report run
echo '{"burst": x}' >run/monitor.jsonl
expect 2 monitor report run
says 'run/monitor.jsonl (from line 1)'

# ---- how it ended ----
rm -r run
expect 0 run three.toml --backend cpu:1 -o run
expect 0 monitor report run
prints '  end        done, burst 100 of 100, 20'
# a run that an error ended, and one that a signal ended
cp "$genomes/faults/sound.toml" .
expect 3 run sound.toml --bursts 200 --backend cpu:1 -o error \
    --inject error:at=100
expect 0 monitor report error
prints '  end        by an error, burst 100 of 200, 20'
prints ', exit code 3'
prints '  message    device lost, as asked for by fault error:at=100'
prints '  The run ended by an error: device lost'
expect 0 run sound.toml --bursts 200 --backend cpu:1 -o moved --swap 50=cpu:2 \
    --swap 60=nothing:1 --inject error:at=100 --on-device-error cpu:1
expect 0 monitor report moved
prints '  swap       burst 50: cpu:1 to cpu:2'
prints '  swap       burst 60: cpu:2 to nothing:1, which was not done: '
prints '  fail-over  burst 100: cpu:2 to cpu:1: device lost'
# how long bursts took in each place
cat >moves.jsonl <<'END'
{"telemetry": 1, "dt_ms": 0.1, "neurons": {"E": 10}}
END
for i in 1 2 3 4 5 6 7 8; do
    echo '{"time": "2026-01-01T00:00:00.'$i'00Z", "burst": '$i'000, "bursts": 1000, "seconds": 0.1, "backend": "cpu:1", "moves": '$((i == 5))', "burst_us": '$((i < 5 ? 20 : 50))', "delivery_us": 1, "dynamics_us": 1, "spikes": 10, "events": 10, "host_bytes": 1, "device_bytes": 0, "lost": 0, "area_spikes": {"E": 10}}'
done >>moves.jsonl
cp moves.jsonl moved/telemetry.jsonl
expect 0 monitor report moved
prints '  moved      by burst 5,000: a burst took 20 us before and 50 us after'
prints '  records    7 (short ones are part of the next), of 100 ms in the mean; the longest 100 ms for 1,000 bursts, by burst 1,000'
echo '{"burst": 9000, "area_spikes": {}}' >>moved/telemetry.jsonl
expect 2 monitor report moved
# its telemetry was written over by another run of the same network
expect 0 run sound.toml --bursts 200 --backend cpu:1 -o first --telemetry t.jsonl
expect 0 monitor report first
holds [ "$(grep -c 'not its own' out)" = 0 ]
expect 0 run sound.toml --bursts 200 --backend cpu:1 -o second --telemetry t.jsonl
expect 0 monitor report second
holds [ "$(grep -c 'not its own' out)" = 0 ]
expect 0 monitor report first
prints '  t.jsonl is of another run, started 20'
run_long() { # FOLDER OPTIONS...: until it has some records
    long=$1
    shift
    "$volley" run sound.toml --bursts 900000000 --pace --pace-hz 2000 \
        --backend cpu:1 --telemetry-every 20 -o "$long" "$@" >out 2>err &
    pid=$!
    trap 'kill -9 $pid 2>/dev/null; rm -rf "$folder"' EXIT
    holds wait_for has_lines 5 "$long/telemetry.jsonl"
}
run_long term --telemetry term/telemetry.jsonl --checkpoint c.vck
expect 0 monitor report term
prints '  end        none yet: the run continues'
kill -TERM $pid
wait $pid
expect 0 monitor report term
prints '  end        by a signal, burst '
prints ' of 900,000,000, 20'
prints ', exit code 6'
prints '  The run ended by a signal.'
prints '  nothing else'
# a requested pause is not part of a record, and not unusual
run_long paused --telemetry paused/telemetry.jsonl --monitor
holds wait_for has_lines 60 paused/telemetry.jsonl
expect 0 ctl $pid pause
sleep 1
expect 0 ctl $pid resume
lines=$(wc -l <paused/telemetry.jsonl)
holds wait_for has_lines $((lines + 5)) paused/telemetry.jsonl
kill -TERM $pid
wait $pid
expect 0 monitor report paused
prints '  paused     '
prints ' on request; no record includes this time'
expect 0 monitor tokens paused/telemetry.jsonl --json \
    --model "$2/core/monitor/model/telemetry.safetensors"
cat >pauses.py <<'END_OF_PAUSES'
import json
lines = [json.loads(line) for line in open("paused/telemetry.jsonl")][1:]
lines = [line for line in lines if "seconds" in line]
held = [line for line in lines if line["paused_s"] > 0]
assert len(held) == 1 and 0.9 < held[0]["paused_s"] <= held[0]["seconds"], held
# a stall of so long would be 10 (log2 of ms): a busy machine has shorter ones
scores = [json.loads(line) for line in open("out")]
# one that ran for less than half of the others is part of the next
scores = [line["stall"] for line in scores if line["burst"] >= held[0]["burst"]]
assert scores and scores[0] < 9.5, scores
END_OF_PAUSES
if command -v python3 >/dev/null 2>&1; then
    holds python3 pauses.py
fi
# killed, gone on with: the summary of the run before is not that of this one
expect 0 run sound.toml --bursts 40 --backend cpu:1 -o killed
run_long killed --force --telemetry killed/telemetry.jsonl --monitor
kill -KILL $pid
wait $pid 2>/dev/null
expect 0 monitor report killed
prints '  end        none: its manifest does not say how'
prints '  last       burst '
prints 'Z (telemetry.jsonl)'
prints '  likely     killed (kill -9, '
prints '  monitor    it has no last line'
prints '  The run has no end. Its last record is of burst '
prints '  nothing else'
holds [ "$(grep -c '  digest  ' out)" = 0 ]
last=$(sed -n 's/^  last  *burst \([0-9,]*\) of .*/\1/p' out)
expect 0 status killed
prints "burst             $last of 900,000,000 ("
prints ' or more'
cp -r killed cut
truncate -s -5 cut/telemetry.jsonl
expect 0 monitor report cut
prints '  likely     killed while it wrote, or its disk was full: the last line of telemetry.jsonl is cut'
expect 0 status cut
prints 'likely            killed while it wrote'
expect 0 monitor report killed --telemetry killed/telemetry.jsonl
holds [ "$(grep -c 'is cut' out)" = 0 ]
expect 0 monitor report killed --telemetry cut/telemetry.jsonl
prints 'Its last line is cut and was left out: later records are unknown.'
# what the monitor told is gone, the summary knows that it told
expect 0 run sound.toml --bursts 40 --backend cpu:1 -o gone --monitor
rm gone/monitor.jsonl
expect 0 monitor report gone
prints 'The monitor watched this run, but its findings are missing: there is no monitor.jsonl.'
echo '{"time": "2026-01-01T00:00:00.000Z", "event": "error", "burst": 9, "text": "device lost"}' \
    >>cut/log.jsonl
expect 0 monitor report cut
prints '  likely     an error, its last message: device lost'
# its disk is full: nothing of the end can be written
mkdir disk
# shellcheck disable=SC2016 # the inner shell's words
on_disk='mount -t tmpfs -o size=256k none disk || exit 9
"$0" run sound.toml --bursts 20000 --backend cpu:1 --quiet -o disk/run \
    --digest-log disk/run/digests
"$0" monitor report disk/run >full.txt
"$0" status disk/run >state.txt
rm -r disk/run
cp -r killed disk/
head -c 300000 /dev/zero >disk/filler
"$0" monitor report disk/killed >later.txt
"$0" status disk/killed >>state.txt
"$0" status disk/killed --json >state.json'
if unshare -rm sh -c 'mount -t tmpfs -o size=64k none disk' 2>/dev/null; then
    unshare -rm sh -c "$on_disk" "$volley" 2>err
    cp full.txt out
    prints '  end        none: its manifest does not say how'
    prints 'disk/run/digests: cannot be written: No space left on device'
    cp later.txt out
    prints '  likely     its disk was full, as it is now'
    cp state.txt out
    prints 'likely            an error, its last message: '
    prints 'likely            its disk was full, as it is now'
    holds grep -q '"likely": "its disk was full' state.json
fi
expect 0 run sound.toml --bursts 200 --backend cpu:1 -o again --checkpoint c.vck
expect 0 run sound.toml --bursts 300 --backend cpu:1 -o again --resume c.vck
expect 0 monitor report again
prints '  resumed    after burst 200 from c.vck, 1 time in all'
cp out before.txt
expect 4 run sound.toml --bursts 300 --backend cpu:1 -o again --resume c.vck \
    --control "$folder/none/such"
expect 0 monitor report again
holds cmp out before.txt # a run that is refused changes nothing
sed 's/"exit_reason": "done"/"exit_reason": "refused"/' again/manifest.json >m
mv m again/manifest.json
expect 0 monitor report again
prints '  The run was refused before its first burst'
holds [ "$(grep -c '  digest  ' out)" = 0 ]

# ---- what is no run ----
rm run/summary.json
expect 2 monitor report .
# shellcheck disable=SC2016 # a name in backticks
says './manifest.json: No such file or directory, wanted the folder of `volley run -o`'
expect 2 monitor report
expect 4 monitor report run --telemetry none.jsonl

done_checks
