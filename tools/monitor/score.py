# SPDX-License-Identifier: Apache-2.0
"""Scores as core/monitor/surprise.c and detectors.c give them, in Python: to
choose the tail of a model, and to judge it against the simple detectors."""
import math

import tokens

N = len(tokens.METRICS)
LEAST_SPREAD = 2.0
KEEP = 0.8
AT_ONCE = 0.25
JUMP_MS = 500
Z_MOST = 64.0
MEMORY = 256
FREE = 8


class Surprise:
    """Surprise of a record's metrics into its score."""

    def __init__(self):
        self.centre = [0.0] * N
        self.spread = [LEAST_SPREAD] * N
        self.held = [0.0] * N
        self.n = 0

    def judge(self, nats, record=None):
        """nats [15] -> the score; learns them. A fact of the record (a check
        that failed, a clock that jumped) needs no model."""
        got = [self._metric(m, min(x, 1e3)) for m, x in enumerate(nats)]
        self.n += 1
        if record and (record["wrong_place"] or record["missing"] or
                       abs(record["clock_ms"]) >= JUMP_MS):
            return Z_MOST
        return max(0.0, *got)

    def _metric(self, m, x):
        if self.n == 0:
            self.centre[m] = x
            return 0.0
        s = max(self.spread[m], LEAST_SPREAD)
        d = x - self.centre[m]
        gain = self.n + 1 if self.n < MEMORY else MEMORY
        far = abs(d)
        pull = d if self.n < FREE or far < 4 * s else math.copysign(4 * s, d)
        self.centre[m] += pull / gain
        self.spread[m] += (min(far, 2 * s) - self.spread[m]) / gain
        z = min(d / s, Z_MOST)
        self.held[m] = max(0.0, self.held[m] * KEEP + z * (1 - KEEP))
        return max(self.held[m], z * AT_ONCE)


def tail(scores, quantile=0.98):
    """(base, share, excess) of the scores of sound runs."""
    ordered = sorted(scores)
    base = ordered[int(quantile * len(ordered))]
    over = [s - base for s in ordered if s > base]
    return base, len(over) / len(ordered), \
        max(1e-3, sum(over) / max(1, len(over)))


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
