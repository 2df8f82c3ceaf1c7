#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The monitor (a model and two rules) and the model alone against EWMA, windowed
Gaussian and static limits, on runs of split "test" of generate.py or runs.py
(which nothing was trained or tuned on).

    evaluate.py DATA MODEL.safetensors          a table in Markdown

For each kind of fault and each detector:
  recall  share of runs with an alarm in the fault, at the threshold that gives
          one false alarm in 36,000 sound records (an hour at ten a second);
          with fewer sound records than that, one that gives none
  delay   records from the fault's begin to the alarm, median of those found
  PR      area under the precision-recall curve: the fault of a run is one
          positive, each 32 sound records one negative, scored by their largest
Sound are runs without a fault and what lies before one; what lies behind one is
neither. `asked` of a run says which backends were asked for when.
"""
import argparse
import json
import pathlib

import runs
import score
import tokens

HOUR = 36000
LEAST = 9   # records that a fault is given to show, however short
PIECE = 32
DETECTORS = ["monitor", "model", "ewma", "gaussian", "static"]


def scores_of(run, nats, model, tails):
    """(records, {detector: [score]}) of a run."""
    line, names, rows = run
    kept, text, levels, _ = runs.tokenise(names, rows)
    scores = {}
    for kind in DETECTORS[2:]:
        judge = score.Detector(kind)
        scores[kind] = [judge.judge(row) for row in levels]
    if tails:
        import surprise  # pylint: disable=import-outside-toplevel
        rows = score.channels(surprise.of_run(nats, model, line, text), levels)
        limit = score.threshold(1, HOUR)
        # the monitor as the engine has it, and the model without the rules
        both, alone = score.Rarity(tails, limit), score.Rarity(tails[:1], limit)
        facts = [score.is_fact(record) for record in kept]
        scores["monitor"] = [both.judge(*x) for x in zip(rows, facts)]
        scores["model"] = [alone.judge(x[:1], fact)
                           for x, fact in zip(rows, facts)]
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
    area, hits, seen, i = 0.0, 0, 0, 0
    while i < len(ranked):
        j, new = i, 0
        while j < len(ranked) and ranked[j][0] == ranked[i][0]:
            new += ranked[j][1]
            j += 1
        hits += new
        seen = j
        area += new / len(positives) * hits / seen
        i = j
    return area


def median(values):
    """Of the values, None without any."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else None


def collect(data, nats, model, tails, options):
    """(sound {detector: [[score]]}, faults {name: [{detector: [score]}]})"""
    sound, faults = {}, {}
    for job in runs.jobs(data, options.split):
        run = runs.load(job)
        line = run[0]
        if not line.get("backend", "cpu:1").startswith(options.backend):
            continue
        records, scores = scores_of(run, nats, model, tails)
        first, last = len(records), len(records)
        if line["fault"] != "none":
            found = window(line, records)
            if found is None or found[0] <= tokens.WARM:
                continue  # the fault began before anything could be judged
            first, last = found
            faults.setdefault(line["fault"], []).append(
                {k: s[first:last] for k, s in scores.items()})
        for kind, row in scores.items():
            sound.setdefault(kind, []).append(row[tokens.WARM:first])
    return sound, faults


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path, nargs="?")
    parser.add_argument("--nats", type=pathlib.Path,
                        help="what surprise.py wrote, so that the model does "
                        "not run")
    parser.add_argument("--split", default="test")
    parser.add_argument("--backend", default="", help="its name begins so")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    model, tails, nats = None, None, None
    kinds = DETECTORS if options.model else DETECTORS[2:]
    if options.model:
        import rwkv7  # pylint: disable=import-outside-toplevel
        model, metadata = rwkv7.load(options.model)
        numbers = [float(x) for x in metadata["volley.tails"].split()]
        tails = [numbers[i:i + 3] for i in range(0, 9, 3)]
    if options.nats:
        import surprise  # pylint: disable=import-outside-toplevel
        nats = surprise.read(options.nats)
    sound, faults = collect(options.data, nats, model, tails, options)
    n_sound = sum(map(len, sound[kinds[0]]))
    limits = {k: threshold(sound[k], n_sound // HOUR) for k in kinds}
    print(f"{n_sound} sound records; false alarms allowed: "
          f"{n_sound // HOUR}; thresholds: " +
          ", ".join(f"{k} {limits[k]:.3g}" for k in kinds))
    if tails:
        own = score.threshold(1, HOUR)
        print(f"the monitor's own threshold for one an hour: {own:.3g}, "
              f"{episodes(sound['monitor'], own)} false alarms in "
              f"{n_sound} records ({n_sound / HOUR:.2f} hours)")
    print("\n| fault | runs | " + " | ".join(
        f"{k}: recall, delay, PR" for k in kinds) + " |")
    print("|---|---|" + "---|" * len(kinds))
    table = {}
    for fault, found_runs in sorted(faults.items()):
        cells = []
        for kind in kinds:
            found = [next((i for i, x in enumerate(run[kind])
                           if x >= limits[kind]), None) for run in found_runs]
            hits = [i for i in found if i is not None]
            negatives = [max(row[i:i + PIECE]) for row in sound[kind]
                         for i in range(0, len(row) - PIECE + 1, PIECE)]
            pr = average_precision([max(run[kind]) for run in found_runs],
                                   negatives)
            delay = median(hits)
            table[f"{fault}.{kind}"] = [len(hits) / len(found_runs), delay, pr]
            cells.append(f"{len(hits) / len(found_runs):.2f}, "
                         f"{'-' if delay is None else delay}, {pr:.3f}")
        print(f"| {fault} | {len(found_runs)} | " + " | ".join(cells) + " |")
    if options.json:
        options.json.write_text(json.dumps(
            {"sound": n_sound, "limits": limits, "table": table}, indent=1),
            encoding="utf-8")


if __name__ == "__main__":
    main()
