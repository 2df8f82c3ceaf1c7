#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The monitor, as the command has it, and the model alone against EWMA,
windowed Gaussian and static limits, on runs of split "test" of generate.py or
runs.py (which nothing was trained or tuned on).

    evaluate.py MODEL.safetensors DATA ... [--volley COMMAND]

Every score but that of the model alone is printed by `volley monitor tokens
--json --model`, so what is judged here is the code that watches runs. For each
kind of fault and each detector:
  recall  share of runs with an alarm in the fault, at the threshold that gives
          one false alarm in 36,000 sound records (an hour at ten a second);
          with fewer sound records than that, one that gives none; the
          interval of Clopper and Pearson of 95% beside that of the monitor
  delay   records from the fault's begin to the alarm, median of those found
  PR      area under the precision-recall curve: the fault of a run is one
          positive, each 32 sound records one negative, scored by their largest
Sound are runs without a fault and what lies before one; what lies behind one is
neither. Beside it: what the monitor does at the threshold that it takes by
itself.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import runs
import score
import tokens

HOUR = 36000
LEAST = 9   # records that a fault is given to show, however short
PIECE = 32
DETECTORS = ["monitor", "model", "ewma", "gaussian", "static"]


def rows_of(run, model, options):
    """What the command prints of each record of a run."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "telemetry.jsonl"
        runs.write(run, path)
        done = subprocess.run(
            [options.volley, "monitor", "tokens", str(path), "--json",
             "--model", str(model)], capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.decode().strip())
    return [json.loads(text) for text in done.stdout.splitlines()]


def scores_of(run, model, tails, options):
    """(records, {detector: [score]}) of a run."""
    _, names, rows = run
    kept = runs.tokenise(names, rows)[0]
    told = rows_of(run, model, options)
    if [r["burst"] for r in kept] != [r["burst"] for r in told]:
        sys.exit(f"{run[0]['file']}: the command makes other records of it")
    scores = {kind: [row[kind] for row in told]
              for kind in DETECTORS if kind != "model"}
    # the model alone has all of the budget
    alone = score.Rarity(tails[rows[0]["on_device"]][:1],
                         score.threshold(1, HOUR), (1.0,))
    scores["model"] = [alone.judge([row["surprise"]], score.is_fact(record))
                       for row, record in zip(told, kept)]
    return kept, scores


def window(line, records):
    """(first, behind the last) record of the fault; None: it never began."""
    begin = next((i for i, r in enumerate(records)
                  if r["burst"] > line["begin"]), None)
    if begin is None:
        return None
    end = next((i for i, r in enumerate(records)
                if r["burst"] > line["end"]), len(records))
    return begin, min(len(records), max(end, begin + LEAST))


def threshold(sound, allowed):
    """The least threshold with at most `allowed` episodes of false alarm.
    sound: lists of scores, each of records that follow each other."""
    candidates = sorted({x for run in sound for x in run}, reverse=True)
    best = candidates[0] * 1.000001 + 1e-9
    for x in candidates:
        if episodes(sound, x) > allowed:
            break
        best = x
    return best


def episodes(sound, limit):
    """Alarms: scores at or over the limit, 16 quiet records apart."""
    count = 0
    for run in sound:
        quiet = 16
        for x in run:
            if x >= limit:
                count += quiet >= 16
                quiet = 0
            else:
                quiet += 1
    return count


def average_precision(positives, negatives):
    """Area under the precision-recall curve, ties as one step."""
    ranked = sorted([(x, 1) for x in positives] + [(x, 0) for x in negatives],
                    reverse=True)
    area, hits, i = 0.0, 0, 0
    while i < len(ranked):
        j, new = i, 0
        while j < len(ranked) and ranked[j][0] == ranked[i][0]:
            new += ranked[j][1]
            j += 1
        hits += new
        area += new / len(positives) * hits / j
        i = j
    return area


def interval(hits, n, level=0.95):
    """Clopper and Pearson 1934, doi:10.1093/biomet/26.4.404."""
    def above(p):  # probability of hits or more of n
        return sum(math.comb(n, k) * p ** k * (1 - p) ** (n - k)
                   for k in range(hits, n + 1))

    def below(p):
        return sum(math.comb(n, k) * p ** k * (1 - p) ** (n - k)
                   for k in range(hits + 1))

    def root(rises):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if rises(middle) else (low, middle)
        return low
    tail = (1 - level) / 2
    return (0.0 if hits == 0 else root(lambda p: above(p) < tail),
            1.0 if hits == n else root(lambda p: below(p) > tail))


def median(values):
    """Of the values, None without any."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else None


def collect(options, tails):
    """(sound {detector: [[score]]}, faults {name: [{detector: [score]}]})"""
    sound, faults = {}, {}

    def one(job):
        run = runs.load(job)
        line = run[0]
        if not line.get("backend", "cpu:1").startswith(options.backend):
            return None
        return line, *scores_of(run, options.model, tails, options)
    jobs = [job for data in options.data
            for job in runs.jobs(data, options.split)]
    with ThreadPoolExecutor(options.jobs) as pool:
        for got in pool.map(one, jobs):
            if got is None:
                continue
            line, records, scores = got
            first, last = len(records), len(records)
            if line["fault"] != "none":
                found = window(line, records)
                if found is None or found[0] <= tokens.WARM:
                    continue  # it began before anything could be judged
                first, last = found
                faults.setdefault(line["fault"], []).append(
                    {k: s[first:last] for k, s in scores.items()})
            for kind, row in scores.items():
                sound.setdefault(kind, []).append(row[tokens.WARM:first])
    return sound, faults


def found_at(found_runs, kind, limit):
    """Delay of each run whose fault was found."""
    delays = [next((i for i, x in enumerate(run[kind]) if x >= limit), None)
              for run in found_runs]
    return [i for i in delays if i is not None]


def print_own(sound, faults):
    """The monitor at its own threshold."""
    own = score.threshold(1, HOUR)
    n = sum(map(len, sound["monitor"]))
    print(f"the monitor's own threshold for one an hour: {own:.3g}, "
          f"{episodes(sound['monitor'], own)} false alarms in "
          f"{n} records ({n / HOUR:.2f} hours); recall: " + ", ".join(
              f"{fault} {len(found_at(some, 'monitor', own))} of {len(some)}"
              for fault, some in sorted(faults.items())))


def print_table(sound, faults, limits):
    """A row for each kind of fault. Returns {fault.detector: [recall, delay,
    PR]}."""
    print("\n| fault | runs | " + " | ".join(
        f"{k}: recall{', 95%' if k == 'monitor' else ''}, delay, PR"
        for k in DETECTORS) + " |")
    print("|---|---|" + "---|" * len(DETECTORS))
    table = {}
    negatives = {kind: [max(row[i:i + PIECE]) for row in sound[kind]
                        for i in range(0, len(row) - PIECE + 1, PIECE)]
                 for kind in DETECTORS}
    for fault, some in sorted(faults.items()):
        cells = []
        for kind in DETECTORS:
            hits = found_at(some, kind, limits[kind])
            pr = average_precision([max(run[kind]) for run in some],
                                   negatives[kind])
            delay = median(hits)
            table[f"{fault}.{kind}"] = [len(hits) / len(some), delay, pr]
            low, high = interval(len(hits), len(some))
            cells.append(
                f"{len(hits) / len(some):.2f}, " +
                (f"{low:.2f} to {high:.2f}, " if kind == "monitor" else "") +
                f"{'-' if delay is None else delay}, {pr:.3f}")
        print(f"| {fault} | {len(some)} | " + " | ".join(cells) + " |")
    return table


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path, nargs="+")
    parser.add_argument("--volley", default="volley")
    parser.add_argument("--split", default="test")
    parser.add_argument("--backend", default="", help="its name begins so")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    told = runs.metadata(options.model)
    tails = []
    for key in ("volley.rarity", "volley.rarity_device"):
        numbers = told.get(key, told["volley.rarity"]).split()
        tails.append([[float(x) for x in numbers[i:i + 3]]
                      for i in range(0, len(numbers), 3)])
    sound, faults = collect(options, tails)
    n_sound = sum(map(len, sound["monitor"]))
    limits = {k: threshold(sound[k], n_sound // HOUR) for k in DETECTORS}
    print(f"{n_sound} sound records; false alarms allowed: "
          f"{n_sound // HOUR}; thresholds: " +
          ", ".join(f"{k} {limits[k]:.3g}" for k in DETECTORS))
    print_own(sound, faults)
    table = print_table(sound, faults, limits)
    if options.json:
        options.json.write_text(json.dumps(
            {"sound": n_sound, "limits": limits, "table": table}, indent=1),
            encoding="utf-8")


if __name__ == "__main__":
    main()
