#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes clusters_reference.csv: rates and variability of the network of
genomes/clusters.toml, with and without clusters, simulated here from its equations in
double with connections and initial states of its own. Needs numpy; the build does not.

    clusters_reference.py [SEEDS] > clusters_reference.csv

Litwin-Kumar and Doiron 2012, doi:10.1038/nn.3220. The equations between spikes are linear
and integrated exactly; spikes lie on a grid of 0.1 ms, and one that leaves in a step
arrives at the end of the next.
"""
import sys

import numpy

DT, N_E, N_I, CLUSTER, STEPS, FROM, T_REF = 0.1, 4000, 1000, 80, 30000, 5000, 50
N = N_E + N_I
WINDOW, LEAST = 1000, 5  # steps of a count; spikes of a neuron that counts
TAU_M = numpy.where(numpy.arange(N) < N_E, 15.0, 10.0)
RISE, TAUS = 1.0, (3.0, 2.0)


def network(ratio, strength, random):
    """Targets of each neuron, and for excitatory ones how many of them are E of its
    own cluster, E of others."""
    p_out = 800 / (CLUSTER * (ratio - 1) + N_E)
    cluster = numpy.arange(N_E) // CLUSTER
    rows = []
    for k in range(N):
        p = numpy.full(N, 0.5)
        if k < N_E:
            p[:N_E] = numpy.where(cluster == cluster[k], ratio * p_out, p_out)
        drawn = random.random(N) < p
        drawn[k] = False
        targets = numpy.flatnonzero(drawn)
        root = numpy.sqrt(800)
        if k < N_E:
            weights = numpy.full(len(targets), 4 / (10 * root))
            to_e = targets < N_E
            same = cluster[targets[to_e]] == cluster[k]
            weights[to_e] = numpy.where(same, strength, 1.0) * 10 / (15 * root)
        else:
            weights = numpy.where(targets < N_E, -19.2 / (15 * root), -16 / (10 * root))
        rows.append((targets, weights))
    return rows


def moved(tau):
    """What a current i that decays with tau adds to v in one step."""
    return (numpy.exp(-DT / TAU_M) - numpy.exp(-DT / tau)) / (1 / tau - 1 / TAU_M)


def simulate(ratio, strength, random):
    rows = network(ratio, strength, random)
    mu = numpy.where(numpy.arange(N) < N_E, random.uniform(1.1, 1.2, N),
                     random.uniform(1.0, 1.05, N))
    v, left = random.random(N), numpy.zeros(N, int)
    # a current is slow - fast with both the same jump: (e^-t/tau - e^-t/rise)/(tau - rise)
    fast, slow = numpy.zeros((2, N)), numpy.zeros((2, N))
    decay, rise = numpy.exp(-DT / TAU_M), numpy.exp(-DT / RISE)
    decays = numpy.exp(-DT / numpy.array(TAUS))[:, None]
    adds = numpy.array([moved(tau) for tau in TAUS])
    add_fast = moved(RISE)
    fired, spikes = numpy.zeros(0, int), []
    for step in range(STEPS):
        move = mu + (v - mu) * decay + (adds * slow).sum(axis=0) - \
            add_fast * fast.sum(axis=0)
        v = numpy.where(left > 0, v, move)
        fast *= rise
        slow *= decays
        for k in fired:
            port = int(k >= N_E)
            targets, weights = rows[k]
            jump = weights / (TAUS[port] - RISE)
            fast[port, targets] += jump
            slow[port, targets] += jump
        now = numpy.flatnonzero((left == 0) & (v >= 1))
        left = numpy.maximum(left - 1, 0)
        left[now] = T_REF
        v[now] = 0
        fired = now
        if step >= FROM:
            spikes.append(now)
    return spikes


def figures(spikes):
    windows = (STEPS - FROM) // WINDOW
    counts = numpy.zeros((windows, N))
    for step, now in enumerate(spikes):
        counts[step // WINDOW, now] += 1
    total = counts.sum(axis=0)
    seconds = (STEPS - FROM) * DT / 1000
    e = counts[:, :N_E]
    often = total[:N_E] >= LEAST
    fano = e.var(axis=0, ddof=1)[often] / e.mean(axis=0)[often]
    clusters = e.reshape(windows, N_E // CLUSTER, CLUSTER).mean(axis=2) * 10  # 1/s
    return [total[:N_E].mean() / seconds, total[N_E:].mean() / seconds, fano.mean(),
            clusters.std(axis=0, ddof=1).mean()]


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print("network,seed,rate_e,rate_i,fano,cluster_sd")
    for name, ratio, strength in ("clustered", 2.5, 1.9), ("uniform", 1.0, 1.0):
        for seed in range(seeds):
            random = numpy.random.default_rng([int(10 * ratio), seed])
            found = figures(simulate(ratio, strength, random))
            print(f"{name},{seed}," + ",".join(f"{x:.4f}" for x in found), flush=True)


if __name__ == "__main__":
    main()
