#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes synfire_reference.csv: how often a packet of spikes goes through the chain of
genomes/synfire.toml, and as what packet it ends, simulated here from the equations in
double with states and input of its own. Needs numpy; the build does not.

    synfire_reference.py [TRIALS] > synfire_reference.csv

Diesmann, Gewaltig and Aertsen 1999, doi:10.1038/990101. The equations between spikes are
linear and integrated exactly; spikes lie on a grid of 0.1 ms, and one that leaves in a
step arrives at the end of the next.
"""
import sys
from statistics import NormalDist

import numpy

DT, GROUPS, SIZE, STEPS = 0.1, 10, 100, 750
TAU_M, TAU, WEIGHT, V_REST, V_TH, T_REF = 10.0, 0.325, 4.86, -70.0, -55.0, 10
RATES = 35.2 * DT, 30.0 * DT  # background spikes in a step
AT = 50.0
POINTS = [(40, 0), (45, 0), (50, 0), (60, 1), (60, 2), (80, 3), (100, 4), (100, 5)]
WINDOW = 50  # steps


def propagators():
    """x' = (y - x)/tau, y' = -y/tau, v' = (x - v)/tau_m over one step."""
    a, s = DT / TAU, 1 / TAU_M - 1 / TAU
    decay, decay_m = numpy.exp(-a), numpy.exp(-DT / TAU_M)
    # the integral of exp(-(DT - u)/tau_m) exp(-u/tau) [1, u] du / tau_m
    one = (numpy.exp(s * DT) - 1) / s * decay_m / TAU_M
    ramp = (DT * numpy.exp(s * DT) / s - (numpy.exp(s * DT) - 1) / s**2) * decay_m / TAU_M
    return decay, decay_m, one, ramp / TAU, a * decay


def packet(n, sigma):
    """Arrivals in each step: quantiles of the normal distribution."""
    count = numpy.zeros(STEPS)
    for i in range(n):
        spread = NormalDist().inv_cdf((i + 0.5) / n) * sigma
        count[int(round((AT + spread) / DT))] += 1
    return count


def simulate(arrivals, trials, random):
    decay, decay_m, v_x, v_y, x_y = propagators()
    shape = trials, GROUPS, SIZE
    v = random.uniform(0, V_TH - V_REST, shape)
    x, y, left = numpy.zeros(shape), numpy.zeros(shape), numpy.zeros(shape, int)
    arriving = numpy.zeros((trials, GROUPS, 1))
    last = numpy.zeros((trials, STEPS), int)
    for step in range(STEPS):
        moved = v * decay_m + x * v_x + y * v_y
        v = numpy.where(left > 0, v, moved)
        x = x * decay + y * x_y
        y = y * decay
        background = random.poisson(RATES[0], shape) - random.poisson(RATES[1], shape)
        y += WEIGHT * (arriving + background)
        y[:, 0, :] += WEIGHT * arrivals[step]
        fired = (left == 0) & (v >= V_TH - V_REST)
        left = numpy.where(fired, T_REF, numpy.maximum(left - 1, 0))
        v[fired] = 0
        count = fired.sum(axis=2)
        last[:, step] = count[:, -1]
        arriving[:, 1:, 0] = count[:, :-1]
    return last


def strongest(last):
    """Spikes and spread of the fullest window from a spike on."""
    best, spread = 0, 0.0
    for begin in numpy.flatnonzero(last[int(AT / DT):]) + int(AT / DT):
        steps = numpy.arange(begin, min(begin + WINDOW, STEPS))
        n = last[steps]
        if n.sum() > best:
            best = int(n.sum())
            mean = (n * steps).sum() / best
            spread = DT * numpy.sqrt((n * (steps - mean)**2).sum() / best)
    return best, spread


def main():
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print("spikes,sigma_ms,trials,survived,mean_spikes,sd_spikes,mean_spread_ms,sd_spread_ms")
    for n, sigma in POINTS:
        random = numpy.random.default_rng([n, sigma])
        ends = []
        for _ in range(0, trials, 50):
            last = simulate(packet(n, sigma), min(50, trials), random)
            ends += [strongest(row) for row in last]
        through = numpy.array([end for end in ends if end[0] >= SIZE // 2])
        means = [0, 0, 0, 0]
        if len(through) > 1:
            means = [through[:, 0].mean(), through[:, 0].std(ddof=1),
                     through[:, 1].mean(), through[:, 1].std(ddof=1)]
        print(f"{n},{sigma},{len(ends)},{len(through)},"
              + ",".join(f"{m:.4f}" for m in means), flush=True)


if __name__ == "__main__":
    main()
