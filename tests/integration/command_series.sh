#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volley monitor series: a column of numbers is judged as a run is, in both
# implementations, and files that are none are refused.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"
shipped=$2/core/monitor/model/telemetry.safetensors
twins=$2/tools/monitor

printf 'time,value,note\n1,2.5,a\n\n2,x,b\n' >wrong.csv
expect 2 monitor series "$shipped" wrong.csv --column value
says 'wrong.csv:4: column 2 is "x", wanted a number'
expect 2 monitor series "$shipped" wrong.csv
says 'wrong.csv:2: column 3 is "a", wanted a number'
expect 2 monitor series "$shipped" wrong.csv --column val
says 'wrong.csv:1: no column "val", found time,value,note'
printf 'time,value\n1,nan\n' >nan.csv
expect 2 monitor series "$shipped" nan.csv
says 'column 2 is "nan", wanted a number'
printf 'time,value\n1\n' >short.csv
expect 2 monitor series "$shipped" short.csv
says 'short.csv:2: column 2 is "", wanted a number'
printf 'value\n1\n' >one.csv
expect 2 monitor series "$shipped" one.csv
says 'one.csv: 1 numbers, wanted 33 or more: the first 32 are not judged'
: >empty.csv
expect 2 monitor series "$shipped" empty.csv
says 'empty.csv: no line, wanted one of names and then numbers'
expect 4 monitor series "$shipped" none.csv
says 'none.csv: No such file'
{ echo value; seq 33; } >some.csv
expect 4 monitor series none.safetensors some.csv
says 'none.safetensors'
seq 33 >bare.csv # no names: the first line is a row
expect 0 monitor series "$shipped" bare.csv --json
holds has_lines 33 out
{ printf '\357\273\277' && seq 33; } | sed 's/$/\r/' >marked.csv
expect 0 monitor series "$shipped" marked.csv --json
holds has_lines 33 out
{ printf '\357\273\277value,x\n' && seq -f '%g,1' 32 && echo ,1; } >gap.csv
expect 2 monitor series "$shipped" gap.csv --column value
says 'gap.csv:34: column 1 is "", wanted a number'
expect 2 monitor series "$shipped" bare.csv --column value
says 'bare.csv:1: no column "value", found 1'
# an empty line of one column is a number that is not there; at the end it is not
{ seq 20 && echo && seq 21 40 && echo; } >hole.csv
expect 2 monitor series "$shipped" hole.csv
says 'hole.csv:21: an empty line between rows, wanted a number'
{ echo value && echo && seq 33 && printf '\n\n'; } >below.csv
expect 2 monitor series "$shipped" below.csv
says 'below.csv:2: an empty line'
{ echo value && seq 33 && printf '\n\n'; } >end.csv
expect 0 monitor series "$shipped" end.csv --json
holds has_lines 33 out
if ! command -v python3 >/dev/null 2>&1; then
    echo "no python3: no series to compare with"
    done_checks
    exit
fi

# a day's wave with noise, a jump to a height that was never there, a dip, and
# an end that stands still
python3 - >series.csv <<'END_OF_SERIES'
import math, random
rng = random.Random(3)
print("when,value,other")
for i in range(420):
    x = 20 + 5 * math.sin(i / 9) + rng.gauss(0, 0.5)
    x += 60 if i == 250 else -900 if i == 300 else 0
    x = 21.5 if i >= 360 else x
    print(f"{i},{x:.4f},0")
END_OF_SERIES
# a wave that is lost for a while, and a mean that goes away slowly
python3 - >slow.csv <<'END_OF_SLOW'
import math, random
rng = random.Random(5)
print("when,value")
for i in range(900):
    x = 5 * math.sin(i / 6) if not 400 <= i < 500 else 0
    x += max(0, min(i - 650, 200)) / 8
    print(f"{i},{20 + x + rng.gauss(0, 0.5):.4f}")
END_OF_SLOW
expect 0 monitor series "$shipped" series.csv --column value
holds grep -q '^row 251: .*: above all before it: ' out
holds grep -q '^row 301: .*: below all before it: ' out
holds grep -q '^row [34][0-9]*: 21.5: \(the same for\|varies less\)' out
holds has_lines 3 out
expect 0 monitor series "$shipped" series.csv --column value --json --rows 2000 \
    --alarms 2 --learn 63
holds has_lines 420 out
head -n 1 out >line.json
holds is_json line.json
cp out scores.json
expect 0 monitor series "$shipped" slow.csv --column value
holds grep -q '^row 4[0-9]*: .*: its cycle is lost: ' out
holds grep -q "^row [67][0-9]*: .*: its mean is far above the first rows': " out
holds has_lines 2 out
expect 0 monitor series "$shipped" slow.csv --column value --json --rows 2000 \
    --alarms 2 --learn 135
cp out slow.json
cat >both.py <<'END_OF_BOTH'
import csv, json, math, pathlib, sys, types
import nab, runs, score, slow, tokens
path, model, lines = map(pathlib.Path, sys.argv[1:4])
learn = int(sys.argv[4])
values = [float(row["value"]) for row in csv.DictReader(open(path))]
one = types.SimpleNamespace(values=values, probation=learn)
ours = [json.loads(line) for line in open(lines)]
assert [a["value"] for a in ours] == values
limit = score.threshold(2, 2000)
tails = [float(x) for x in runs.metadata(model)["volley.rarity"].split()]
tails[8] = nab.EXTREME_EXCESS
judge = score.Rarity([tails[i:i + 3] for i in range(0, len(tails), 3)], limit)
rest = (0.0,) * (len(tails) // 3 - 3)  # channels that a series has nothing of
surprise, seen = score.Surprise(), set()
slowly, since = slow.Slow(values[:learn]), 0
for a, text, far, shape in zip(ours, nab.series_tokens(one),
                               nab.by_rules(one), nab.shapes(one)):
    nats = [0.0] * score.N
    nats[5], nats[7] = a["nats"]["value"], a["nats"]["step"]
    row = (surprise.judge(nats, text, judge.learns()), 0.0,
           math.log2(1 + 4 * far)) + rest
    far = slowly.judge(a["value"])
    since += 1
    most = max(shape, far if since > slowly.reach() else 0)
    shape, far, most = (math.log2(1 + 4 * x) for x in (shape, far, most))
    for name, value in (("surprise", row[0]), ("extreme", row[2]),
                        ("shape", shape), ("slow", far)):
        assert abs(a[name] - value) <= 1e-9 * max(1, value), (a, row)
        seen.update([name] if value > 0 else [])
    most = min(64, (max(row[2], most) - tails[6]) / tails[8])
    got = max(judge.judge(row), most if a["row"] > tokens.WARM else 0)
    assert abs(a["monitor"] - got) <= 1e-9 * max(1, got), (a, got)
    assert abs(a["threshold"] - limit) < 1e-9, a
    since = 0 if "why" in a else since
    seen.update(["alarm"] if a["alarm"] else [])
print(*sorted(seen))
END_OF_BOTH
both() {
    PYTHONPATH="$twins" python3 both.py "$1" "$shipped" \
        "$2" "$3" >both
    printf '%s\n' "$4" >wanted
    holds cmp -s both wanted
}
both series.csv scores.json 63 'alarm extreme shape surprise'
both slow.csv slow.json 135 'alarm extreme slow surprise'
done_checks
