#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The model against EWMA, windowed Gaussian and static limits, on runs of
split "test" of generate.py or runs.py (which nothing was trained or tuned on).

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
DETECTORS = ["model", "ewma", "gaussian", "static"]


def scores_of(run, nats, model):
    """(records, {detector: [score]}) of a run; nats: {file: rows} or None,
    where the model is asked if there is one."""
    line, names, rows = run
    kept, text, levels, _ = runs.tokenise(names, rows)
    scores = {}
    for kind in DETECTORS[1:]:
        judge = score.Detector(kind)
        scores[kind] = [judge.judge(row) for row in levels]
    if nats is not None:
        rows = nats[line["file"]]
    elif model is not None:
        import train  # pylint: disable=import-outside-toplevel
        rows = train.nats_of(model, [text])[0].tolist()
    if nats is not None or model is not None:
        judge = score.Surprise()
        scores["model"] = [judge.judge(row, record)
                           for row, record in zip(rows, kept)]
        scores["model"][:tokens.WARM] = [0.0] * tokens.WARM
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


def collect(data, nats, model):
    """(sound {detector: [[score]]}, faults {name: [{detector: [score]}]})"""
    sound, faults = {}, {}
    for job in runs.jobs(data, "test"):
        run = runs.load(job)
        line = run[0]
        records, scores = scores_of(run, nats, model)
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
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    model, metadata, nats = None, {}, None
    kinds = DETECTORS if options.model or options.nats else DETECTORS[1:]
    if options.model:
        import rwkv7  # pylint: disable=import-outside-toplevel
        model, metadata = rwkv7.load(options.model)
    if options.nats:
        import surprise  # pylint: disable=import-outside-toplevel
        nats = surprise.read(options.nats)
    sound, faults = collect(options.data, nats, model)
    n_sound = sum(map(len, sound[kinds[0]]))
    limits = {k: threshold(sound[k], n_sound // HOUR) for k in kinds}
    print(f"{n_sound} sound records; false alarms allowed: "
          f"{n_sound // HOUR}; thresholds: " +
          ", ".join(f"{k} {limits[k]:.3g}" for k in kinds))
    if "volley.tail" in metadata:
        tail = [float(x) for x in metadata["volley.tail"].split()]
        from math import log
        own = tail[0] + tail[2] * log(max(1.0, tail[1] * HOUR))
        print(f"the model's own threshold for one an hour: {own:.3g}, "
              f"{episodes(sound['model'], own)} false alarms in "
              f"{n_sound} records")
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
