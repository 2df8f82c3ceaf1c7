# SPDX-License-Identifier: Apache-2.0
"""Several ways to compute the same on one device, timed in turns: those measured
one after the other meet two devices, the second hotter. For gemm_pytorch.py and
attention_pytorch.py."""
import random
import statistics
import time

import torch

SAMPLE_S = 2e-3
WARM_S = 0.06


def clock(body):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    body()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3


class Way:
    """A graph of one run on each set, replayed as often as takes a while.
    `once` runs on all sets in the current stream; what it returns lives as long
    as the graph: each result is written where no other is, not where the last
    left the cache warm."""

    def __init__(self, once, n_sets):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                once()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.kept = once()
        self.n_sets = n_sets
        self.n_times = max(1, round(SAMPLE_S / max(clock(self.graph.replay),
                                                   1e-6)))

    def turn(self):
        for _ in range(self.n_times):
            self.graph.replay()

    def seconds(self, turn_s):
        return turn_s / (self.n_times * self.n_sets)


class Calls(Way):
    """The same by calls, for what cannot be captured and takes longer than to
    be called."""

    def __init__(self, once, n_sets):
        self.once, self.n_sets = once, n_sets
        self.kept = once()
        self.n_times = max(1, round(SAMPLE_S / max(clock(once), 1e-6)))

    def turn(self):
        for _ in range(self.n_times):
            self.kept = self.once()


def warm(ways):
    """As long as Volley's own runs and the default's before: clocks are those
    of a device at work."""
    until = time.monotonic() + WARM_S
    while True:
        for way in ways:
            clock(way.turn)
        if time.monotonic() >= until:
            return


def take_turns(ways, n_samples):
    """[way][sample] seconds of a run. Nothing is waited for between turns."""
    warm(ways)
    order = list(range(len(ways)))
    events = []
    for i in range(n_samples):
        for index in order if i % 2 == 0 else reversed(order):
            begin, end = (torch.cuda.Event(enable_timing=True)
                          for _ in range(2))
            begin.record()
            ways[index].turn()
            end.record()
            events.append((index, begin, end))
    torch.cuda.synchronize()
    taken = [[] for _ in ways]
    for index, begin, end in events:
        taken[index].append(
            ways[index].seconds(begin.elapsed_time(end) * 1e-3))
    return taken


def interval(ratios):
    """Median, and the middle 95% of those of 2,000 resamples."""
    dice = random.Random(1)
    many = sorted(statistics.median(dice.choices(ratios, k=len(ratios)))
                  for _ in range(2000))
    return statistics.median(ratios), many[50], many[-51]
