#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volley monitor series: a column of numbers is judged as a run is, in both
# implementations, and files that are none are refused.
here=$(dirname "$0")
# shellcheck source=tests/integration/command_support.sh
. "$here/command_support.sh"
shipped=$2/core/monitor/model/telemetry.safetensors

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
says 'one.csv: 1 numbers, wanted 2'
: >empty.csv
expect 2 monitor series "$shipped" empty.csv
says 'empty.csv: no line, wanted one of names and then numbers'
expect 4 monitor series "$shipped" none.csv
says 'none.csv: No such file'
printf 'value\n1\n2\n' >two.csv
expect 4 monitor series none.safetensors two.csv
says 'none.safetensors'
if ! command -v python3 >/dev/null 2>&1; then
    echo "no python3: no series to compare with"
    done_checks
    exit
fi

# a day's wave with noise, a jump to a height that was never there, and a dip
python3 - >series.csv <<'END_OF_SERIES'
import math, random
rng = random.Random(3)
print("when,value,other")
for i in range(420):
    x = 20 + 5 * math.sin(i / 9) + rng.gauss(0, 0.5)
    x += 60 if i == 250 else -900 if i == 370 else 0
    print(f"{i},{x:.4f},0")
END_OF_SERIES
expect 0 monitor series "$shipped" series.csv --column value --rows 1000
holds grep -q '^row 251: ' out
holds grep -q '^row 371: ' out
holds has_lines 2 out
expect 0 monitor series "$shipped" series.csv --column value --json --rows 2000 \
    --alarms 2 --learn 63
holds has_lines 420 out
head -n 1 out >line.json
holds is_json line.json
cp out scores.json
PYTHONPATH="$2/tools/monitor" python3 - series.csv "$shipped" >both <<'END_OF_BOTH'
import csv, json, math, pathlib, sys, types
import nab, runs, score
path, model = map(pathlib.Path, sys.argv[1:3])
values = [float(row["value"]) for row in csv.DictReader(open(path))]
one = types.SimpleNamespace(values=values, probation=63)
ours = [json.loads(line) for line in open("scores.json")]
assert [a["value"] for a in ours] == values
limit = score.threshold(2, 2000)
tails = [float(x) for x in runs.metadata(model)["volley.rarity"].split()]
judge = score.Rarity([tails[i:i + 3] for i in range(0, 15, 3)], limit)
surprise, seen = score.Surprise(), set()
for a, text, far in zip(ours, nab.series_tokens(one), nab.by_rules(one)):
    nats = [0.0] * score.N
    nats[5], nats[7] = a["nats"]["value"], a["nats"]["step"]
    row = (surprise.judge(nats, text, judge.learns()), 0.0, math.log2(1 + 4 * far), 0.0, 0.0)
    for name, value in zip(("surprise", "extreme"), (row[0], row[2])):
        assert abs(a[name] - value) <= 1e-9 * max(1, value), (a, row)
        seen.update([name] if value > 0 else [])
    got = judge.judge(row)
    assert abs(a["monitor"] - got) <= 1e-9 * max(1, got), (a, got)
    assert abs(a["threshold"] - limit) < 1e-9, a
    seen.update(["alarm"] if a["alarm"] else [])
print(*sorted(seen))
END_OF_BOTH
printf '%s\n' 'alarm extreme surprise' >wanted
holds cmp -s both wanted
done_checks
