#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes decision_reference.csv: how often the network of genomes/decision.toml decides
for the stronger input, and its rates, simulated here in double from the equations of the
paper, with states and input of its own. Needs numpy; the build does not.

    decision_reference.py [TRIALS] > decision_reference.csv
    decision_reference.py late   # how many more gates are open than if they opened at once

Wang 2002, doi:10.1016/S0896-6273(02)01092-9. Here a gate of NMDA opens in 2 ms, as in the
paper, by s' = -s/tau + alpha x (1 - s) in each source; in the genome at once. Potentials by
Heun's method in steps of 0.1 ms.
"""
import sys

import numpy

DT, STEPS, ON, OFF, DELAY = 0.1, 25000, 5000, 15000, 5
GROUP, N_E, N_I = 240, 1600, 400
N = N_E + N_I
E = numpy.arange(N) < N_E
C, G_L, T_REF = (numpy.where(E, a, b) for a, b in ((500.0, 200.0), (25.0, 20.0), (20, 10)))
OUTSIDE = numpy.where(E, 2.1, 1.62)
PLUS, F = 1.7, 0.15
MINUS = 1 - F * (PLUS - 1) / (1 - F)
# from A, B, others (columns) to A, B, others, I (rows)
WEIGHTS = numpy.array([[PLUS, MINUS, MINUS], [MINUS, PLUS, MINUS], [1, 1, 1], [1, 1, 1]])
PARTS = [slice(0, GROUP), slice(GROUP, 2 * GROUP), slice(2 * GROUP, N_E), slice(N_E, N)]


def spread(values):
    """A value of each part of the network to its neurons: [trials, 4] to [trials, N]."""
    return numpy.repeat(values, [GROUP, GROUP, N_E - 2 * GROUP, N_I], axis=1)


def simulate(coherence, trials, random):
    shape = trials, N
    v = random.uniform(-70.0, -50.0, shape)
    ampa, gaba, left = numpy.zeros(shape), numpy.zeros(shape), numpy.zeros(shape, int)
    s, x = numpy.zeros((trials, N_E)), numpy.zeros((trials, N_E))
    waiting = numpy.zeros((DELAY, trials, 4))
    gates = numpy.zeros((DELAY, trials, 3))
    counts = numpy.zeros((STEPS // 100, trials, 4))
    g_nmda = numpy.array([0.165, 0.165, 0.165, 0.13])
    g_ampa = numpy.array([0.05, 0.05, 0.05, 0.04])
    g_gaba = numpy.array([1.3, 1.3, 1.3, 1.0])
    extra = [40 * (1 + coherence / 100), 40 * (1 - coherence / 100)]
    decay = numpy.exp(-DT / numpy.array([2.0, 5.0, 2.0]))  # AMPA, GABA, x

    def slope(v, ampa, nmda, gaba):
        opened = 1 / (1 + numpy.exp(-0.062 * v) / 3.57)
        return (G_L * (-70.0 - v) - (ampa + opened * nmda) * v + gaba * (-70.0 - v)) / C

    for step in range(STEPS):
        arrived = waiting[step % DELAY].copy()
        nmda = spread(gates[step % DELAY] @ WEIGHTS.T * g_nmda)
        one = slope(v, ampa, nmda, gaba)
        two = slope(v + DT * one, ampa * decay[0], nmda, gaba * decay[1])
        v = numpy.where(left > 0, v, v + 0.5 * DT * (one + two))
        ampa *= decay[0]
        gaba *= decay[1]
        # the gates, by the midpoint
        x_half = x * numpy.sqrt(decay[2])
        half = s + 0.5 * DT * (-s / 100 + 0.5 * x * (1 - s))
        s = s + DT * (-half / 100 + 0.5 * x_half * (1 - half))
        x *= decay[2]
        events = random.poisson(2.4 * DT, shape)
        if ON <= step < OFF:
            for k in range(2):
                events[:, PARTS[k]] += random.poisson(extra[k] / 1000 * DT,
                                                      (trials, GROUP))
        ampa += OUTSIDE * events + spread(arrived[:, :3] @ WEIGHTS.T * g_ampa)
        gaba += spread(arrived[:, 3:] * g_gaba)
        fired = (left == 0) & (v >= -50.0)
        left = numpy.where(fired, T_REF, numpy.maximum(left - 1, 0))
        v[fired] = -55.0
        x += fired[:, :N_E]
        now = numpy.stack([fired[:, part].sum(axis=1) for part in PARTS], axis=1)
        waiting[step % DELAY] = now
        gates[step % DELAY] = numpy.stack([s[:, part].sum(axis=1) for part in PARTS[:3]],
                                          axis=1)
        counts[step // 100] += now
    return counts


def figures(counts):
    """Of each trial: correct, and rates of the others and of I before the input, of the
    winner at its end and a second later."""
    sizes = numpy.array([GROUP, GROUP, N_E - 2 * GROUP, N_I])

    def rate(begin, end):
        return counts[begin // 10:end // 10].sum(axis=0) / sizes / (end - begin) * 1000

    late, after, before = rate(1000, 1500), rate(2000, 2500), rate(250, 500)
    winner = late[:, :2].argmax(axis=1)
    trial = numpy.arange(len(winner))
    return numpy.stack([late[:, 0] > late[:, 1], before[:, 2], before[:, 3],
                        late[trial, winner], after[trial, winner]], axis=1)


def late():
    """Mean of open gates for spikes at random, at least 2 ms apart, over that of gates
    which open at once: 400 trains of 4 s, steps of 0.02 ms."""
    step, n = 0.02, 400
    for rate in 3, 10, 20, 40:
        random = numpy.random.default_rng(rate)
        s, x, at_once, since = (numpy.zeros(n) for _ in range(4))
        sums = numpy.zeros(2)
        for _ in range(int(4000 / step)):
            spike = (since >= 2) & (random.random(n) < rate / 1000 * step)
            since = numpy.where(spike, 0, since + step)
            x += spike
            at_once += spike * (1 - numpy.exp(-1)) * (1 - at_once)
            s += 0.5 * x * (1 - s) * step - s * step / 100
            at_once -= at_once * step / 100
            x *= 1 - step / 2
            sums += s.mean(), at_once.mean()
        print(f"{rate}/s: {sums[0] / sums[1]:.4f}")


def main():
    if sys.argv[1:] == ["late"]:
        late()
        return
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    print("coherence,trial,rate_others,rate_i,rate_winner,rate_after,correct")
    for coherence in 6.4, 25.6:
        random = numpy.random.default_rng(int(10 * coherence))
        for first in range(0, trials, 20):
            n = min(20, trials - first)
            for k, row in enumerate(figures(simulate(coherence, n, random))):
                print(f"{coherence},{first + k},"
                      + ",".join(f"{x:.3f}" for x in row[1:])
                      + f",{int(row[0])}", flush=True)


if __name__ == "__main__":
    main()
