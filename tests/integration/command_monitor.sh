#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A run that a model watches: --monitor, --on-anomaly, volley ctl PID monitor.
# The model is random and reports everything or nothing, by its calibration: its
# quality is not tested here.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"

# ---- what cannot be, with one sentence each ----
expect 2 run small.toml --monitor-budget 0.1
says '--monitor-budget without --monitor, wanted both'
expect 2 run small.toml --on-anomaly pause
says '--on-anomaly without --monitor, wanted both'
expect 2 run small.toml --monitor=m --monitor-budget 2
says '--monitor-budget is 2, wanted a number from 0.0001 to 1'
expect 2 run small.toml --monitor=m --on-anomaly explode
says '--on-anomaly explode: wanted log, checkpoint, pause or command:CMD'
expect 2 run small.toml --monitor=m --on-anomaly command:
says 'wanted log, checkpoint, pause or command:CMD'
expect 2 run small.toml --monitor=m --on-anomaly command:a \
    --on-anomaly command:b
says 'there is a command already'
expect 2 run small.toml --monitor=
says '--monitor= is empty'
expect 2 run small.toml --monitor=m --on-anomaly checkpoint
says '--on-anomaly checkpoint without --checkpoint FILE, wanted both'
expect 2 run small.toml --monitor=m --on-anomaly pause --control off
says 'the run could not be resumed'
expect 4 run small.toml --monitor=missing.safetensors
says 'missing.safetensors: '
holds [ "$(wc -l <err)" -eq 1 ]
echo nothing >bad.safetensors
expect 2 run small.toml --monitor=bad.safetensors
says 'bad.safetensors: '
holds [ "$(wc -l <err)" -eq 1 ]
# the shipped model was not named: the run continues without it
expect 0 run small.toml --backend cpu:1 --monitor --json without.json
holds is_json without.json

if ! command -v python3 >/dev/null 2>&1; then
    echo "no python3: no model to run with"
    done_checks
    exit
fi
model() {
    python3 "$genomes/../tests/support/random_rwkv.py" "$@"
}
model other.safetensors 300 1 volley.tokens=2 "volley.rarity=6 0.02 1 6 0.02 1 6 0.02 1 6 0.02 1 6 0.02 1"
expect 2 run small.toml --monitor=other.safetensors
says 'a vocabulary of 300 tokens, wanted 256'
model raw.safetensors 256 1
expect 2 run small.toml --monitor=raw.safetensors
says 'metadata volley.tokens is missing'
model loose.safetensors 256 1 volley.tokens=2
expect 2 run small.toml --monitor=loose.safetensors
says 'metadata volley.rarity is missing, wanted fifteen numbers: it is not calibrated for this version'
model calm.safetensors 256 2 volley.tokens=2 "volley.rarity=1e6 0.02 1 1e6 0.02 1 1e6 0.02 1 1e6 0.02 1 1e6 0.02 1"
model nervous.safetensors 256 1 volley.tokens=2 "volley.rarity=1e6 0.9 1 1e-9 0.9 1e-9 1e-9 0.9 1e-9 1e6 0.9 1 1e6 0.9 1"
expect 3 run small.toml --monitor=calm.safetensors --monitor-device nothing:1
says 'nothing'
holds [ "$(wc -l <err)" -eq 1 ]
head -c 10000 calm.safetensors >cut.safetensors
expect 2 run small.toml --monitor=cut.safetensors
says 'cut.safetensors: '
holds [ "$(wc -l <err)" -eq 1 ]

# a model with finite weights and NaN logits ends the watching
model huge.safetensors 256 1 head=4e37 volley.tokens=2 "volley.rarity=1e6 0.02 1 1e6 0.02 1 1e6 0.02 1 1e6 0.02 1 1e6 0.02 1"
expect 0 run small.toml --bursts 20000 --backend cpu:1 --json huge.json \
    --monitor=huge.safetensors --telemetry-every 1 -o huge
says 'are NaN or infinite, wanted numbers: its weights are wrong'
holds grep -q '"judged": 0' huge.json
expect 2 monitor tokens huge/telemetry.jsonl --json --model huge.safetensors
says 'are NaN or infinite, wanted numbers: its weights are wrong'

# ---- watching changes nothing, and the summary names it ----
expect 0 run small.toml --bursts 20000 --backend cpu:1 --json plain.json
expect 0 run small.toml --bursts 20000 --backend cpu:2 --json watched.json \
    --monitor=calm.safetensors --telemetry-every 1 -o kept
prints 'monitor           0 anomalies in '
holds [ "$(value digest watched.json)" = "$(value digest plain.json)" ]
holds is_json watched.json
# its model is in the account of the host, after all others
holds grep -q '"best_effort_bytes": [1-9]' watched.json
holds [ -e kept/monitor.jsonl ]
holds has_lines 1 kept/monitor.jsonl
cat >figures.py <<'END_OF_FIGURES'
import json
lines = [json.loads(line) for line in open("kept/telemetry.jsonl")][1:]
ends = [line["monitor"] for line in lines if "monitor" in line]
lines = [line for line in lines if "monitor" not in line]
seen = json.load(open("watched.json"))["monitor"]
records = seen["records"] + seen["skipped"] + seen["lost"]
assert records == len(lines), (records, len(lines))
assert seen["records"] > 0 and seen["tokens"] == 16 * seen["records"], seen
# what was looked at, in the summary, the telemetry and the file of anomalies
assert seen["checked"] + seen["lost"] == len(lines) == seen["samples"] - 1, seen
assert seen["early"] == min(32, seen["records"]), seen
assert seen["judged"] == seen["records"] - seen["early"], seen
assert (seen["unjudged"] is None) == (seen["judged"] > 0), seen
assert len(ends) == 1 and ends[0]["checked"] == seen["checked"], ends
assert json.load(open("kept/monitor.jsonl"))["monitor"] == ends[0]
assert seen["failure"] is None and seen["anomalies"] == 0, seen
assert seen["model"] == "calm.safetensors" and seen["device"] == "cpu:1", seen
usual = min(0.25, max(0.05, 0.5 / seen["every_ms"]))
assert 0 <= seen["share"] and abs(seen["budget"] - usual) < 1e-12, seen
END_OF_FIGURES
holds python3 figures.py

expect 0 monitor report kept
prints 'which looked at all of them'
prints 'the model judged '

# ---- what a rule finds needs no time and no past ----
expect 0 run small.toml --bursts 20000 --backend cpu:1 --json jump.json \
    --monitor=calm.safetensors --monitor-budget 0.0001 --telemetry-every 1000 \
    --inject clock:at=10000,ms=60000 -o jump
says 'anomaly: burst '
says 'the wall clock was set forward'
prints 'monitor           1 anomaly in '
prints 'the model judged no record: of '
prints ' --telemetry-every '
expect 0 monitor report jump
prints 'score 64.0, '
prints ', by clock (rule)'
prints 'the model judged no record: of '
cat >jump.py <<'END_OF_JUMP'
import json
seen = json.load(open("jump.json"))["monitor"]
assert seen["anomalies"] == seen["anomalies_by_rule"] == 1, seen
assert seen["judged"] == 0 and seen["unjudged"], seen
lines = [json.loads(line) for line in open("jump/monitor.jsonl")]
assert lines[0]["anomaly"]["channel"] == "rule", lines
assert lines[0]["anomaly"]["score"] == 64, lines
END_OF_JUMP
holds python3 jump.py

# ---- where the net was, by the samples: three bursts between two of them, and
# for good, whenever the watcher looks ----
wrong() { # FOLDER SWAPS...
    kept=$1
    shift
    expect 0 run small.toml --bursts 20000 --backend cpu:1 -o "$kept" "$@" \
        --inject wrong:to=template,name=own --monitor=calm.safetensors \
        --telemetry-every 1000
}
wrong short --swap 5000=cpu:2 --swap 5003=cpu:1
says 'burst 5000: the backend is not the one asked for, for 3 bursts'
wrong lasting --swap 5000=cpu:2
says 'anomaly: burst 5000: the backend is not the one asked for; likely'
expect 0 run small.toml --bursts 20000 --backend cpu:1 -o failed \
    --inject error:at=5000 --on-device-error cpu:1 --monitor=calm.safetensors
says 'burst 5000: a device failed; likely'
cat >places.py <<'END_OF_PLACES'
import json
def lines(folder, name):
    return [json.loads(line) for line in open(f"{folder}/{name}.jsonl")]
for folder, wrong, moves, failures in (
        ("short", 3, 2, 0), ("lasting", 15000, 1, 0), ("failed", 0, 1, 1)):
    told = [a for a in lines(folder, "monitor") if "anomaly" in a]
    told = [a["burst"] for a in told if a["anomaly"]["channel"] == "rule"]
    assert told == [5000], (folder, told)
    samples = [a for a in lines(folder, "telemetry") if "area_spikes" in a]
    sums = [sum(a[key] for a in samples)
            for key in ("wrong_bursts", "moves", "failures")]
    assert sums == [wrong, moves, failures], (folder, sums)
    for a in samples if folder == "lasting" else []:
        place = "template:0" if a["burst"] > 5000 else "cpu:1"
        assert a["backend"] == place, a
END_OF_PLACES
holds python3 places.py

# ---- a short run: how its command ended, when things were, what would do ----
# one that goes on is left to itself, and looked at in the end
"$volley" run small.toml --bursts 20000 --backend cpu:1 --json left.json \
    --monitor=calm.safetensors --inject clock:at=10000,ms=60000 --quiet \
    --on-anomaly 'command:exec sleep 30' >out.left 2>err.left &
left=$!
expect 0 run small.toml --bursts 20000 --backend cpu:1 --json command.json \
    --monitor=calm.safetensors --inject clock:at=10000,ms=-60000 -o back \
    --on-anomaly 'command:exit 3' --telemetry-every 1
says '--on-anomaly: the command ended with exit code 3'
cat >back.py <<'END_OF_BACK'
import json
from datetime import datetime
seen = json.load(open("command.json"))["monitor"]
assert (seen["commands"], seen["commands_failed"], seen["commands_left"]) == \
    (1, 1, 0), seen
def lines(name):
    return [json.loads(line) for line in open(f"back/{name}.jsonl")]
def at(line):
    return datetime.strptime(line["time"], "%Y-%m-%dT%H:%M:%S.%fZ").timestamp()
samples = [a for a in lines("telemetry") if "area_spikes" in a]
pairs = list(zip(samples, samples[1:]))
assert any(at(a) > at(b) for a, b in pairs), "the clock was not set back"
assert all(a["steady_s"] < b["steady_s"] for a, b in pairs), samples
first, last = [a for a in lines("monitor")
               if a.get("anomaly", {}).get("channel") in (None, "rule")]
assert first["steady_s"] <= last["steady_s"], (first, last)
# both by the clock as it was set
apart = at(last) - at(first) - last["steady_s"] + first["steady_s"]
assert abs(apart) < 1, apart
END_OF_BACK
holds python3 back.py
# more samples than bursts there are not
expect 0 run small.toml --bursts 10 --pace --pace-hz 20 --backend cpu:1 \
    --monitor=calm.safetensors --telemetry-every 10
prints ' only tell what is usual; a run of '
holds [ "$(grep -c -- '--telemetry-every' out)" = 0 ]
wait "$left"
holds [ $? -eq 0 ]
cp err.left err
says 'the command is still running 5 s after the run'
holds grep -q '"commands_left": 1' left.json

# ---- anomalies, and what is done about them ----
# in real time: the monitor has the time of the processor that nothing else wants,
# and on a busy machine that is nothing beside a run at full speed
"$volley" run small.toml --bursts 900000000 --pace --pace-hz 1000 \
    --backend cpu:1 -o long \
    --monitor=nervous.safetensors --monitor-budget 1 --telemetry-every 20 \
    --control "$folder/ctl" --checkpoint c.vck --metrics 0 \
    --on-anomaly log --on-anomaly checkpoint --on-anomaly pause \
    --on-anomaly 'command:test -e told.json || { printf "%s\n" "$VOLLEY_ANOMALY" >told; mv told told.json; }' \
    >out.long 2>err.long &
pid=$!
trap 'kill -9 $pid 2>/dev/null; rm -rf "$folder"' EXIT
is_paused() {
    "$volley" ctl "$folder/ctl" | grep -q '^state  *paused'
}
checks=$((checks + 1))
wait_for is_paused || bad "never paused: $(cat err.long)"
holds wait_for test -e told.json
holds is_json told.json
holds test -e c.vck
holds has_lines 1 long/monitor.jsonl
head -n 1 long/monitor.jsonl >first.json
holds is_json first.json
cat >told.py <<'END_OF_TOLD'
import json
first = json.load(open("first.json"))
what = first["anomaly"]
assert first["burst"] > 0 and what["bursts"] > 0, first
assert what["score"] >= what["threshold"] > 0, first
assert what["metric"] and what["text"], first
assert json.load(open("told.json")) == first
# the last line may be on its way
whole = open("long/telemetry.jsonl").read().split("\n")[:-1]
notes = [line for line in map(json.loads, whole) if "anomaly" in line]
assert notes and notes[0] == first, notes
END_OF_TOLD
noted() {
    grep -q '"anomaly"' long/telemetry.jsonl
}
holds wait_for noted
holds python3 told.py
# the same by the metrics endpoint
cat >page.py <<'END_OF_PAGE'
import re, sys
from metrics_page import page
text = page(sys.argv[1])
got = {name: float(value) for name, value in
       re.findall(r"^volley_monitor_(\w+) (\S+)$", text, re.M)}
kinds = dict(re.findall(r"^# TYPE volley_monitor_(\w+) (\w+)$", text, re.M))
assert set(got) == set(kinds), (got, kinds)
for name, kind in kinds.items():
    assert (kind == "counter") == name.endswith("_total"), name
assert got["up"] == 1 and got["paused"] == float(sys.argv[2]), got
assert got["records_total"] >= 1 and got["anomalies_total"] >= 1, got
assert got["tokens_total"] == 16 * got["records_total"], got
assert got["threshold"] > 0 and got["budget_ratio"] == 1, got
assert got["used_ratio"] > 0 and got["spent_seconds_total"] > 0, got
assert got["steps_total"] >= got["records_total"], got
# the first may be reported by a rule, before the model has read enough
judged = max(0, got["records_total"] - 32)
assert got["judged_records_total"] == judged, got
assert got["samples_total"] > got["checked_records_total"] >= 1, got
assert got["anomalies_total"] >= got["facts_total"] == 0, got
assert {"skipped_samples_total", "lost_samples_total", "score",
        "behind_seconds", "burst_waits_total"} <= set(got), got
END_OF_PAGE
url=$(sed -n 's/.*metrics at \(http.*\)$/\1/p' err.long | head -n 1)
page_says() {
    PYTHONPATH="$genomes/../tests/support" PYTHONDONTWRITEBYTECODE=1 \
        python3 page.py "$url" "$1"
}
holds page_says 0
cp err.long err
says 'anomaly: '
says 'paused by the monitor; volley ctl '
expect 0 ctl "$folder/ctl" monitor
prints 'nervous.safetensors'
expect 0 ctl "$folder/ctl" monitor status
prints 'state      watching'
prints 'nervous.safetensors'
expect 0 ctl "$folder/ctl" monitor pause
prints 'state      paused'
holds page_says 1
expect 0 ctl "$folder/ctl" monitor status --json
cp out status.json
holds is_json status.json
holds grep -q '"monitor_paused": true' status.json
expect 0 ctl "$folder/ctl" monitor resume
prints 'state      watching'
expect 2 ctl "$folder/ctl" monitor explode
says 'wanted pause, resume or status'
# nothing it does is the end of the run
expect 0 ctl "$folder/ctl" resume
expect 0 ctl "$folder/ctl" stop
wait "$pid"
holds [ $? -eq 6 ]
holds is_json long/summary.json
holds grep -q '"event": "monitor"' long/log.jsonl
# anomalies that cannot be written: the run continues, and its exit code shows
# the failure
if [ -c /dev/full ]; then
    mkdir full
    ln -s /dev/full full/monitor.jsonl
    "$volley" run small.toml --bursts 900000000 --pace --pace-hz 1000 \
        --backend cpu:1 -o full --force \
        --monitor=nervous.safetensors --monitor-budget 1 --telemetry-every 20 \
        --control "$folder/ctl" >out.full 2>err.full &
    pid=$!
    warned() {
        grep -q 'anomaly: ' err.full
    }
    holds wait_for warned
    expect 0 ctl "$folder/ctl" status
    expect 0 ctl "$folder/ctl" stop
    wait "$pid"
    holds [ $? -eq 4 ]
    cp err.full err
    says 'full/monitor.jsonl'
fi

# a run that nothing watches
"$volley" run small.toml --bursts 900000000 --backend cpu:1 --quiet \
    --control "$folder/ctl" &
pid=$!
holds wait_for test -S "$folder/ctl"
expect 2 ctl "$folder/ctl" monitor pause
says 'nothing watches this run, wanted one with --monitor'
expect 0 ctl "$folder/ctl" stop
wait "$pid"
done_checks
