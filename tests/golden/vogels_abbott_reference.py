#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes vogels_abbott_reference.csv: rates and irregularity of the networks of
genomes/vogels_abbott.toml, simulated here from their equations in double, with
networks, initial states and input of their own. Needs numpy; the build does not.

    vogels_abbott_reference.py [SEEDS] > vogels_abbott_reference.csv

Brette et al. 2007, doi:10.1007/s10827-007-0038-6, benchmarks 1 and 2. Between
spikes the currents of cuba are integrated exactly, the conductances of coba by
Heun's method; spikes lie on a grid of 0.1 ms as in Volley, NEST and Brian.
"""
import sys

import numpy

DT, N, N_E, P, V_TH, V_RESET = 0.1, 4000, 3200, 0.02, -50.0, -60.0
T_REF, STEPS, FROM, START = 50, 20000, 2000, 500  # bursts
TAU_M, TAU_EX, TAU_IN, C = 20.0, 5.0, 10.0, 200.0


def network(random):
    """Targets of each neuron: every pair but a neuron with itself."""
    targets = []
    for k in range(N):
        row = random.random(N) < P
        row[k] = False
        targets.append(numpy.flatnonzero(row))
    return targets


def propagator(tau):
    """What a current of 1 pA that decays with tau adds to V in one burst."""
    factor = tau * TAU_M / (TAU_M - tau) / C
    return factor * (numpy.exp(-DT / TAU_M) - numpy.exp(-DT / tau))


def move_cuba(v, ex, inh):
    decay = numpy.exp(-DT / TAU_M)
    return -49.0 + (v + 49.0) * decay + propagator(TAU_EX) * ex + \
        propagator(TAU_IN) * inh


def slope_coba(v, ex, inh):
    return ((-60.0 - v) * 10.0 - v * ex + (-80.0 - v) * inh) / C


def move_coba(v, ex, inh):
    one = slope_coba(v, ex, inh)
    two = slope_coba(v + DT * one, ex * numpy.exp(-DT / TAU_EX),
                     inh * numpy.exp(-DT / TAU_IN))
    return v + 0.5 * DT * (one + two)


def simulate(move, w_ex, w_in, random):
    targets = network(random)
    v = random.uniform(V_RESET, V_TH, N)
    ex, inh, left = numpy.zeros(N), numpy.zeros(N), numpy.zeros(N, int)
    fired = numpy.zeros(0, int)
    times = [[] for _ in range(N)]
    for step in range(STEPS):
        moved = move(v, ex, inh)
        v = numpy.where(left > 0, v, moved)
        left = numpy.maximum(left - 1, 0)
        ex *= numpy.exp(-DT / TAU_EX)
        inh *= numpy.exp(-DT / TAU_IN)
        for k in fired:  # of the burst before: a delay of one burst
            if k < N_E:
                ex[targets[k]] += w_ex
            else:
                inh[targets[k]] += w_in
        if step < START:
            ex += w_ex * random.poisson(300 * DT / 1000, N)
        fired = numpy.flatnonzero(v >= V_TH)
        v[fired] = V_RESET
        left[fired] = T_REF
        if step >= FROM:
            for k in fired:
                times[k].append(step)
    return times


def figures(times, first, n):
    """Spikes a second, and the mean CV of neurons with 10 spikes or more."""
    spikes = sum(len(t) for t in times[first:first + n])
    seconds = (STEPS - FROM) * DT / 1000
    cvs = []
    for t in times[first:first + n]:
        if len(t) >= 10:
            gaps = numpy.diff(t)
            cvs.append(gaps.std(ddof=1) / gaps.mean())
    return spikes / n / seconds, numpy.mean(cvs) if cvs else 0.0


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print("network,seed,rate_e,rate_i,cv_e,cv_i")
    for name, move, w_ex, w_in in (("coba", move_coba, 6.0, 67.0),
                                   ("cuba", move_cuba, 16.2, -90.0)):
        for seed in range(1, seeds + 1):
            random = numpy.random.default_rng(seed)
            times = simulate(move, w_ex, w_in, random)
            rate_e, cv_e = figures(times, 0, N_E)
            rate_i, cv_i = figures(times, N_E, N - N_E)
            print("%s,%d,%.4f,%.4f,%.4f,%.4f" %
                  (name, seed, rate_e, rate_i, cv_e, cv_i), flush=True)


if __name__ == "__main__":
    main()
