#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The standard profile of the Numenta Anomaly Benchmark (Lavin and Ahmad 2015,
doi:10.1109/ICMLA.2015.141), and detectors on it.

    nab.py DATA [MODEL.safetensors [--volley COMMAND]]

DATA has data/*/*.csv and labels/combined_windows.json. With a model every file
is judged by `volley monitor series`: by all of it, and by each of three
channels.

A detection in a window scores by a sigmoid of where it lies (1 at the window's
begin, about 0 at its end), the best of a window counts; a window without one
costs 1; any other detection costs up to 0.11, less close behind a window. The
first 15% of a file (of 5,000 rows at most) are not scored. One threshold for
the whole corpus, the best one. 0 is a detector that says nothing, 100 one that
marks the first row of each window.
"""
import argparse
import csv
import json
import math
import pathlib
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import score
import tokens

FP, FN = 0.11, 1.0
EXTREME_EXCESS = 0.32  # of a series, in place of the model's
QUIET = 0.02  # of a file's rows: after a detection, only a larger one counts


def sigmoid(position):
    """-1 (a window's begin) -> 0.987, 0 (its end) -> 0, far behind -> -1."""
    return -1.0 if position > 3 else 2 / (1 + math.exp(5 * position)) - 1


class Series:
    """One file: its values, its windows as [first, last] rows, its weights."""

    def __init__(self, path, labels):
        with open(path, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.path = path
        self.name = f"{path.parent.name}/{path.name}"
        self.values = [float(row["value"]) for row in rows]
        stamps = [row["timestamp"] for row in rows]
        self.windows = []
        for begin, end in labels[self.name]:
            inside = [i for i, s in enumerate(stamps)
                      if begin[:19] <= s <= end[:19]]
            self.windows.append((inside[0], inside[-1]))
        n = len(rows)
        self.probation = min(int(0.15 * n), 750)
        self.weights = self._weights(n)

    def _weights(self, n):
        """[(window or None, what a detection in this row scores)]"""
        most = sigmoid(-1.0)
        got = [None] * n
        for k, (first, last) in enumerate(self.windows):
            width = last - first + 1
            for i in range(first, last + 1):
                got[i] = (k, sigmoid(-(last - i + 1) / width) / most)
        behind = None
        for i in range(n):
            if got[i] is not None:
                behind = self.windows[got[i][0]]
                continue
            if behind is None:
                got[i] = (None, -FP)
            else:
                width = max(1, behind[1] - behind[0])
                got[i] = (None, FP * sigmoid((i - behind[1]) / width))
        return got


def corpus_score(series, scores):
    """(the standard score at the best threshold, that threshold)."""
    points = []
    for f, (one, row) in enumerate(zip(series, scores)):
        for i in range(one.probation, len(row)):
            points.append((row[i], f, *one.weights[i]))
    points.sort(key=lambda p: -p[0])
    n_windows = sum(len(one.windows) for one in series)
    null, perfect = -FN * n_windows, float(n_windows)
    total, best, at = null, null, math.inf
    window = {}
    for k, (value, f, which, weight) in enumerate(points):
        if which is None:
            total += weight
        else:
            old = window.get((f, which), -FN)
            if weight > old:
                total += weight - old
                window[(f, which)] = weight
        last = k + 1 == len(points) or points[k + 1][0] != value
        if last and total > best:
            best, at = total, value
    return 100 * (best - null) / (perfect - null), at


def checks(series):
    """The null and the perfect detector, by the scorer."""
    null = [[0.0] * len(one.values) for one in series]
    perfect = []
    for one, row in zip(series, null):
        row = list(row)
        for first, _ in one.windows:
            row[first] = 1.0
        perfect.append(row)
    return corpus_score(series, null)[0], corpus_score(series, perfect)[0]


def suppress(row):
    """A score counts only if none before it, for a while, was as large."""
    width = max(1, int(QUIET * len(row)))
    return [x if all(x > y for y in row[max(0, i - width):i]) else 0.0
            for i, x in enumerate(row)]


# ---- detectors of one series ----------------------------------------------

def levels_of(values, probation):
    """Values as whole numbers, fine enough for what the probation shows."""
    past = values[:max(2, probation)]
    total = squares = 0.0  # sum() of newer versions rounds otherwise
    for x in past:
        total += x
    mean = total / len(past)
    for x in past:
        squares += (x - mean) * (x - mean)
    sd = math.sqrt(squares / len(past))
    if all(x == past[0] for x in past):
        sd = max(0.01 * abs(mean), 1e-9)
    return [int(max(-1e9, min(1e9, math.floor(4096 * (x - mean) / sd + 0.5))))
            for x in values]


def simple(kind, one):
    """ewma, gaussian, static, as score.Detector, on one metric."""
    judge = score.Detector(kind)
    if kind == "static":
        judge.LEARN = one.probation
    if kind == "gaussian":
        judge.WINDOW = max(judge.WINDOW, one.probation)
    got = []
    for x in levels_of(one.values, one.probation):
        got.append(judge.judge_one(5, float(x), 64.0))
        judge.n += 1
    return got


def times(level):
    """A level where two of the times stand, as it is and turned over."""
    return [level // 8, -(level // 8)]


def by_rules(one):
    """The monitor's rule about times on one series: values beyond all before
    them, as they are and smoothed."""
    judge = score.Extremes(range(2))
    return [max(judge.judge(times(x)))
            for x in levels_of(one.values, one.probation)]


def series_tokens(one):
    """16 tokens for each row: the value at the place of rate, its step at that
    of dispersion, the others as if nothing were."""
    late = tokens.Running(64)
    step = tokens.Running(64)
    got, before = [], None
    for x in levels_of(one.values, one.probation):
        text = [1 + m * tokens.BINS + tokens.BINS // 2
                for m in range(len(tokens.METRICS))]
        jump = 0 if before is None else x - before
        for m, z in ((5, late.z16(x)), (7, step.z16(jump))):
            text[m] += tokens.bin_of(z)
        late.learn(x)
        step.learn(jump)
        before = x
        got.append([0] + text)
    return got


class Shape:
    """What no single value shows: how far a run of equal values, or the
    variation of late, lies beyond all before it."""

    WINDOW, RUN_LEAST, QUARTER_LEAST = 64, 8, 0.25
    FAR_LEAST, LESS_LEAST = 4.0, 6.0

    def __init__(self):
        self.before, self.same, self.most = None, 0, 0
        self.steps, self.variations = [], []
        self.low, self.high, self.ranged = math.inf, -math.inf, 0

    def judge(self, value):
        """Quarters of the range, 0 below 4; learns the value."""
        run = self._run(value)
        change = self._variation(value)
        if -self.LESS_LEAST < change < 0:
            change = 0.0
        self.before = value
        far = max(run, abs(change))
        return far if far >= self.FAR_LEAST else 0.0

    def _run(self, value):
        if self.before is not None and value == self.before:
            self.same += 1
        else:
            if self.before is not None:
                self.most = max(self.most, self.same)
            self.same = 1
        if self.most == 0:
            return 0.0
        return 4 / 3 * (self.same / max(self.most, self.RUN_LEAST) - 1)

    def _variation(self, value):
        if self.before is None:
            return 0.0
        self.steps.append(abs(value - self.before))
        if len(self.steps) < self.WINDOW:
            return 0.0
        late = sorted(self.steps[-self.WINDOW:])
        mean = sum(late[:-2]) / (self.WINDOW - 2)
        now = None
        if mean > 1e-9 * late[-1] and math.isfinite(mean):
            now = math.log2(mean)
        self.variations.append(now)
        past = (self.variations[-1 - self.WINDOW]
                if len(self.variations) > self.WINDOW else None)
        if past is not None:
            self.ranged += 1
            self.low, self.high = min(self.low, past), max(self.high, past)
        if now is None or self.ranged < self.WINDOW:
            return 0.0
        unit = max((self.high - self.low) / 4, self.QUARTER_LEAST)
        return (max(now - self.high, 0.0) - max(self.low - now, 0.0)) / unit


def shapes(one):
    """Shape of each row behind the probation."""
    judge = Shape()
    got = [judge.judge(x) for x in one.values]
    learn = max(2, one.probation)
    return [far if i >= learn else 0.0 for i, far in enumerate(got)]


def by_command(options, one):
    """What the command prints of each row of a file."""
    done = subprocess.run(
        [options.volley, "monitor", "series", str(options.model), str(one.path),
         "--column", "value", "--learn", str(max(2, one.probation)),
         "--json"], capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.decode().strip())
    return [json.loads(text) for text in done.stdout.splitlines()]


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path, nargs="?")
    parser.add_argument("--volley", default="volley")
    parser.add_argument("--only-model", action="store_true")
    options = parser.parse_args()
    with open(options.data / "labels" / "combined_windows.json",
              encoding="utf-8") as file:
        labels = json.load(file)
    series = [Series(path, labels)
              for path in sorted((options.data / "data").glob("*/*.csv"))]
    null, perfect = checks(series)
    print(f"{len(series)} files, {sum(len(s.values) for s in series)} rows, "
          f"{sum(len(s.windows) for s in series)} windows; "
          f"null {null:.1f}, perfect {perfect:.1f}\n")
    print("| detector | score | with quiet after a detection |")
    print("|---|---|---|")
    rng = random.Random(1)
    rows = {}
    if not options.only_model:
        rows["random"] = [[rng.random() for _ in one.values]
                          for one in series]
        for kind in ("static", "ewma", "gaussian"):
            rows[kind] = [simple(kind, one) for one in series]
        rows["rules"] = [by_rules(one) for one in series]
    if options.model:
        with ThreadPoolExecutor(2) as pool:
            told = list(pool.map(lambda one: by_command(options, one),
                                 series))
        for name, key in (("surprise", "surprise"), ("extreme", "extreme"),
                          ("shape", "shape"), ("slow", "slow"),
                          ("monitor", "monitor")):
            rows[name] = [[row[key] for row in some] for some in told]
    for name, scores in rows.items():
        plain, _ = corpus_score(series, scores)
        quiet, _ = corpus_score(series, [suppress(row) for row in scores])
        print(f"| {name} | {plain:.1f} | {quiet:.1f} |", flush=True)


if __name__ == "__main__":
    main()
