#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scores as core/monitor/surprise.c, extremes.c and detectors.c give them, in
Python: to choose the tails of a model, and to judge it against the simple
detectors.

    score.py TELEMETRY.jsonl     what needs no model, a line of JSON a record
"""
import json
import math
import pathlib
import sys

import runs
import tokens

N = len(tokens.METRICS)
LEAST_SPREAD = 2.0
KEEP = 0.85
AT_ONCE = 0.2
JUMP_MS = 500
Z_MOST = 64.0
MEMORY = 256
FREE = 8
PRIOR = 4096
# of the false alarms that are bearable, what each channel may make
BUDGET = [0.78, 0.15, 0.02, 0.03, 0.02]
CHANNELS = ["surprise", "stall", "extreme", "work", "unison"]
TIMES = range(4)  # pace, burst, delivery, dynamics
GAIN_LEAST = 0.1  # of what is smoothed
QUIET = 16
LONG = 512


class Counting:
    """What counting bins foretells, beside the model (counting.c)."""

    MEMORY = 1024
    MOST = 512
    NATS = 4.0
    FIRST = 0.5
    WAITS = 8

    def __init__(self):
        self.waiting, self.n_seen = [], 0
        self.seen = [[0.0] * tokens.BINS for _ in range(N)]
        self.total = [0.0] * N
        self.behind = [0.0] * N
        self.n = [0] * N

    def leads(self, m):
        """Whether it foretold metric m better than the model of late."""
        return self.behind[m] > 0

    def learn(self, text, nats, absent=()):
        """One more record: its 16 tokens, how surprised the model was, metrics
        without a value, of which it says nothing."""
        if len(self.waiting) == self.WAITS:
            self._compare(self.waiting.pop(0), range(len(TIMES), N))
        said = []
        for m, x in enumerate(nats):
            if m in absent:
                said.append(None)
                continue
            b = text[m + 1] - 1 - m * tokens.BINS
            counted = math.log((self.total[m] + self.FIRST * tokens.BINS) /
                               (self.seen[m][b] + self.FIRST))
            said.append(max(-self.NATS, min(self.NATS, x - counted)))
            self._count(m, b)
        self._compare(said, TIMES)  # of the machine; of the net they wait
        self.n_seen += 1
        if self.n_seen > self.WAITS:
            self.waiting.append(said)

    def _compare(self, said, metrics):
        for m in metrics:
            if said[m] is None:
                continue
            self.n[m] += 1
            self.behind[m] += (said[m] - self.behind[m]) / \
                min(self.n[m], self.MEMORY)

    def _count(self, m, b):
        self.seen[m][b] += 1
        self.total[m] += 1
        if self.total[m] >= self.MOST:
            self.seen[m] = [x / 2 for x in self.seen[m]]
            self.total[m] = sum(self.seen[m])


class Surprise:
    """Surprise of a record's metrics against that of late; of a metric that
    counting foretells better none counts."""

    def __init__(self):
        self.counting = Counting()
        self.centre = [0.0] * N
        self.spread = [LEAST_SPREAD] * N
        self.held = [0.0] * N
        self.n = [0] * N

    def judge(self, nats, text, learns=True, absent=()):
        """nats [15], text [16], metrics without a value -> how strange the
        strangest metric is; learns them, unless an episode goes on
        (Rarity.learns)."""
        got = [self._fade(m, text) if m in absent else
               self._metric(m, min(x, 1e3), learns, text)
               for m, x in enumerate(nats)]
        if learns:
            self.counting.learn(text, nats, absent)
        return max(0.0, *got)

    def _fade(self, m, text):
        self.held[m] *= KEEP
        return self._known(m, self.held[m], text)

    def _known(self, m, z, text):
        """z, and 0 where counting leads."""
        memory = [tokens.NAMES.index(k) for k in ("host", "memory")]
        grows = any(text[k + 1] - 1 - k * tokens.BINS > tokens.BINS // 2
                    for k in memory)
        if self.counting.leads(m) and not (grows and m in memory):
            self.held[m] = z = 0.0
        return z

    def _metric(self, m, x, learns, text):
        n, self.n[m] = self.n[m], self.n[m] + 1
        if n == 0:
            self.centre[m] = x
            return self._known(m, 0.0, text)
        s = max(self.spread[m], LEAST_SPREAD)
        d = x - self.centre[m]
        gain = n + 1 if n < MEMORY else MEMORY
        far = abs(d)
        pull = d if n < FREE or far < 4 * s else math.copysign(4 * s, d)
        if learns:
            self.centre[m] += pull / gain
            self.spread[m] += (min(far, 2 * s) - self.spread[m]) / gain
        z = min(d / s, Z_MOST)
        self.held[m] = max(0.0, self.held[m] * KEEP + z * (1 - KEEP))
        return self._known(m, max(self.held[m], z * AT_ONCE), text)


class Extremes:
    """How far times lie above all that they have been: as they are, and
    smoothed. Reads levels (tokens.Tokens.levels)."""

    def __init__(self, metrics=TIMES):
        self.metrics = list(metrics)
        self.ranges = [[Range(tokens.METRICS[m][1]) for m in self.metrics]
                       for _ in range(2)]
        self.smooth = [0.0] * len(self.metrics)
        self.n = [0] * len(self.metrics)

    def judge(self, levels, told=None):
        """(the furthest now, the furthest of what is smoothed), above 0
        outside; learns them. told: whether each has a level, now or before;
        None: each has."""
        far = [0.0, 0.0]
        for k, m in enumerate(self.metrics):
            if told and not told[m]:
                continue
            n, self.n[k] = self.n[k], self.n[k] + 1
            x = float(levels[m])
            gain = max(1 / (n + 1), GAIN_LEAST)
            self.smooth[k] += (x - self.smooth[k]) * gain
            if n >= FREE:
                far = [max(far[0], self.ranges[0][k].over(x)),
                       max(far[1], self.ranges[1][k].over(self.smooth[k]))]
        return far


class Range:
    """All that one number has been. both: lower than ever counts too."""

    def __init__(self, floor, both=False):
        self.floor, self.low, self.high = floor, None, None
        self.both = both

    def over(self, x):
        """How far above, in quarters of the range; learns it."""
        if self.low is None:
            self.low = self.high = x
            return 0.0
        unit = max((self.high - self.low) / 4, self.floor)
        got = max(x - self.high, self.low - x if self.both else 0.0,
                  0.0) / unit
        self.low, self.high = min(self.low, x), max(self.high, x)
        return got


class Work:
    """What a burst costs its thread, without waiting for a processor, above
    where that has been: the least of the last records (work.c)."""

    FLOORS = 32, 8  # on processors, on a device
    TOLD, OTHERS = 64, 8
    LASTS = 4

    def __init__(self):
        self.work = tokens.Running(self.FLOORS[0])
        self.events = tokens.Running(self.FLOORS[0])
        self.late = []

    def judge(self, record, learns=True):
        """In spreads, 0 below; learns it, unless an episode goes on."""
        n, run = record["bursts"], record["run_ns"]
        spent = run - min(run, record["engine_waited_ns"])
        if n == 0 or spent <= run // self.TOLD or \
                record["threads_waited_ns"] > run // self.OTHERS:
            return 0.0
        self.work.floor = self.events.floor = \
            256 * self.FLOORS[record["on_device"]]
        level = tokens.level(spent) - tokens.level(n)
        events = tokens.level(record["events"]) - tokens.level(n)
        self.late.append(self._above(level, events))
        if learns:
            self.work.learn(level)
            self.events.learn(events)
        self.late = self.late[-self.LASTS:]
        return max(0.0, min(self.late)) if len(self.late) == self.LASTS \
            else 0.0

    def _above(self, level, events):
        if self.work.n == 0:
            return 0.0
        more = max(0, events * 256 - self.events.centre)
        return (level * 256 - self.work.centre - more) / \
            max(self.work.spread, self.work.floor)


class Unison:
    """Variance over mean of the spikes of a record's bursts, above where it
    has been, held (unison.c)."""

    FLOOR = 8
    Z_MOST = 8.0
    KEEP = 0.85

    def __init__(self):
        self.late = tokens.Running(self.FLOOR)
        self.bursts = tokens.Running(self.FLOOR)
        self.held = 0.0

    def judge(self, record, learns=True):
        """In spreads; learns it, unless an episode goes on."""
        n, total = float(record["bursts"]), float(record["spikes"])
        if n < 8 or total < 16 or record["squares"] < record["spikes"]:
            return self.held
        f = max(0.0, float(record["squares"]) - total * total / n) * \
            256 / total
        level = tokens.level(int(f) if f < 1e18 else 1 << 60)
        bursts = tokens.level(record["bursts"])
        if self.late.n:
            # what a variance is known to goes with the root of the bursts
            fewer = (self.bursts.centre - bursts * 256) / 256
            z = (level * 256 - self.late.centre) / \
                (max(self.late.spread, self.late.floor) *
                 2 ** (max(0.0, fewer) / 128))
            self.held = max(0.0, self.held * self.KEEP +
                            min(z, self.Z_MOST) * (1 - self.KEEP))
        if learns:
            self.late.learn(level)
            self.bursts.learn(bursts)
        return self.held


def without_model(records, levels):
    """[4] of each record of a run: stall, extreme, work, unison."""
    got = []
    for record, row in zip(records, levels):
        if record["moved"] or not got:
            extremes, work, unison = Extremes(), Work(), Unison()
        got.append((math.log2(1 + record["stall_ms"]),
                    math.log2(1 + 4 * max(extremes.judge(row, record["told"]))),
                    work.judge(record), unison.judge(record)))
    return got


def channels(nats, text, records, levels):
    """[5] of each record of a run: surprise, stall, extreme, work, unison; as
    if no episode were."""
    surprise = Surprise()
    return [(surprise.judge(x, words, absent=record["absent"]), *row)
            for x, words, record, row in
            zip(nats, text, records, without_model(records, levels))]


def judged(names, records, nats, judge):
    """(record, 16 tokens, [5], score by judge, a Rarity) of each record of a
    run, as it is watched: what is judged says when nothing is learned."""
    state = tokens.Tokens(len(names))
    surprise, extremes, got = Surprise(), Extremes(), []
    work, unison = Work(), Unison()
    for (record, text, levels, _), x in zip(runs.steps(state, records), nats):
        if record["moved"]:
            surprise, extremes, unison = Surprise(), Extremes(), Unison()
            work.late = []
            judge.forget()
            judge.moved = bool(got)
        learns = judge.learns()
        row = (surprise.judge(x, text, learns, record["absent"]),
               math.log2(1 + record["stall_ms"]),
               math.log2(1 + 4 * max(extremes.judge(levels, record["told"]))),
               work.judge(record, learns), unison.judge(record, learns))
        moved = judge.moved
        got.append((record, text, row, judge.judge(row, is_fact(record))))
        if judge.alarm:
            surprise.counting.waiting = []  # they may be the fault's
        if moved and not judge.moved:
            work = Work()  # told, and how it is from now on
        state.held = not judge.learns()
    return got


def is_fact(record):
    """A check that failed, or a clock that jumped: it needs no model."""
    return bool(record["wrong_place"] or record["missing"] or
                record["failures"] or
                abs(record["clock_ms"]) >= JUMP_MS)


def tail(scores, quantile=0.99):
    """(base, share, excess) of the scores of sound runs."""
    ordered = sorted(scores)
    base = ordered[int(quantile * len(ordered))]
    over = [s - base for s in ordered if s > base]
    return base, max(1, len(over)) / len(ordered), \
        max(1e-3, sum(over) / max(1, len(over)))


class Rarity:
    """Channels of a record into -log of the share of sound records that are
    as strange. What this net adds to a tail counts beside 4,096 of the
    model's records; of an episode only the first record does."""

    def __init__(self, tails, limit, budget=tuple(BUDGET)):
        self.tails, self.limit, self.budget = tails, limit, budget
        self.forget()

    def forget(self):
        """As in a run that begins: the net was moved."""
        tails = self.tails
        self.above = [PRIOR * share + 1 for _, share, _ in tails]
        self.sums = [a * t[2] for a, t in zip(self.above, tails)]
        self.peak = 0.0  # of records of work that go on
        self.n, self.quiet, self.episode = 0, QUIET, 0
        self.moved = False  # work is that of before until it is judged
        self.alarm = False  # the last record began an episode

    def learns(self):
        """Whether surprise is learned from: not while an episode goes on,
        unless it is a long one."""
        return self.episode == 0 or self.episode > LONG

    def judge(self, values, fact=False):
        """The record's score, 0 while there are too few (but for facts);
        learns it."""
        warm = self.n >= tokens.WARM
        behind = self.moved and not warm and not fact
        work = CHANNELS.index("work")
        got = Z_MOST if fact else min(Z_MOST, max(
            self._rarity(c, x) for c, x in enumerate(values)
            if c == work or not behind))
        if warm and not fact and self.quiet >= QUIET:
            for c, x in enumerate(values):
                self._learn(c, x)
        strange = fact or ((warm or behind) and got >= self.limit)
        self.alarm = strange and not fact and self.quiet >= QUIET
        if behind and strange:
            self.moved = False
        else:
            self.quiet = 0 if strange else min(self.quiet + 1, QUIET)
        self.episode = self.episode + 1 if self.quiet < QUIET else 0
        self.n += 1
        return got if warm or fact or behind else 0.0

    def _learn(self, c, x):
        base, _, excess = self.tails[c]
        over = max(0.0, min(x - base, 4 * excess))
        if c != CHANNELS.index("work"):
            self.above[c] += over > 0
            self.sums[c] += over
            return
        # of those that follow each other the largest counts, once
        if over > self.peak:
            self.above[c] += self.peak == 0
            self.sums[c] += over - self.peak
            self.peak = over
        if over == 0:
            self.peak = 0.0

    def _rarity(self, c, x):
        base, share, excess = self.tails[c]
        if x <= base:
            return 0.0
        share = max(share, self.above[c] / (PRIOR + self.n))
        excess = max(excess, self.sums[c] / self.above[c])
        return max(0.0, (x - base) / excess - math.log(min(1.0, share)) +
                   math.log(self.budget[c]))


def threshold(alarms, records):
    """What so many sound records reach so often, by all channels together."""
    return max(0.0, math.log(records / alarms))


class Detector:
    """kind: ewma, gaussian, static. Reads levels (tokens.Tokens.levels)."""

    WINDOW = 128
    LEARN = 64
    GAIN = 0.05

    def __init__(self, kind):
        self.judge_one = {"ewma": self._ewma, "gaussian": self._gaussian,
                          "static": self._static}[kind]
        self.past = [[0.0, 0.0] for _ in range(N)]
        self.window = [[] for _ in range(N)]
        self.n = 0

    def judge(self, levels):
        """levels [15] -> the record's score"""
        scores = [self.judge_one(m, float(x), float(tokens.METRICS[m][1]))
                  for m, x in enumerate(levels)]
        self.n += 1
        return min(1e6, max(0.0, *scores)) if self.n > tokens.WARM else 0.0

    def _ewma(self, m, x, floor):
        past = self.past[m]
        if self.n == 0:
            past[0] = x
            return 0.0
        d = x - past[0]
        sd = math.sqrt(past[1])
        past[0] += self.GAIN * d
        past[1] = (1 - self.GAIN) * (past[1] + self.GAIN * d * d)
        return abs(d) / max(sd, floor)

    def _gaussian(self, m, x, floor):
        window = self.window[m]
        n = len(window)
        mean = sum(window) / n if n else x
        sd = math.sqrt(sum((y - mean) ** 2 for y in window) / (n - 1)) \
            if n > 1 else 0.0
        window.append(x)
        if n == self.WINDOW:
            window.pop(0)
        return abs(x - mean) / max(sd, floor)

    def _static(self, m, x, floor):
        past = self.past[m]
        if self.n < self.LEARN:
            past[0] = x if self.n == 0 else min(past[0], x)
            past[1] = x if self.n == 0 else max(past[1], x)
            return 0.0
        over = x - past[1] if x > past[1] else max(0.0, past[0] - x)
        return over / max((past[1] - past[0]) / 4, floor)


def main():
    """The command."""
    names, records = tokens.records(pathlib.Path(sys.argv[1]))
    judges = [Detector(k) for k in ("ewma", "gaussian", "static")]
    extremes = Extremes()
    records, _, rows, _ = runs.tokenise(names, records)
    stalls = without_model(records, rows)
    for record, levels, more in zip(records, rows, stalls):
        if record["moved"]:
            extremes = Extremes()
            judges = [Detector(k) for k in ("ewma", "gaussian", "static")]
        got = {kind: judge.judge(levels) for kind, judge in
               zip(("ewma", "gaussian", "static"), judges)}
        got["times"], got["times_smoothed"] = extremes.judge(levels, record["told"])
        got["stall"], got["extreme"], got["work"], \
            got["unison"] = more
        print(json.dumps(got))


if __name__ == "__main__":
    main()
