#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes kumar_reference.csv: spikes, conductances and potentials of the network of
genomes/kumar.toml, simulated by NEST's iaf_cond_alpha with networks, initial states and
input of its own. Needs NEST 3 (`pip install nest-simulator`); the build does not.

    kumar_reference.py [SEEDS] > kumar_reference.csv

Rows "spikes": rates of E and I (1/s), CV of intervals of E (neurons with LEAST spikes and
more), mean correlation of pairs of E (counts in 2 ms). Rows "membrane", of 100 neurons every
ms: conductance over that at rest, mean and deviation; potential (mV), mean and deviation.
"""
import os
import sys

os.environ["PYNEST_QUIET"] = "1"  # no banner in the table
import nest
import numpy

N_E, N_I, K_E, K_I, FROM, UNTIL, LEAST, SAMPLED = 4000, 1000, 400, 100, 200, 1200, 5, 100
J_EX, J_IN, RATE, DELAY, BIN, G_L = 1.5, 20.0, 4500.0, 1.5, 2.0, 16.7
CELL = {"C_m": 250.0, "g_L": G_L, "E_L": -70.0, "E_ex": 0.0, "E_in": -80.0, "V_th": -50.0,
        "V_reset": -70.0, "t_ref": 2.0, "tau_syn_ex": 0.326, "tau_syn_in": 0.326}


def simulate(seed):
    nest.ResetKernel()
    nest.set(resolution=0.1, rng_seed=seed)
    cells = nest.Create("iaf_cond_alpha", N_E + N_I, CELL)
    cells.V_m = nest.random.uniform(-70.0, -50.0)
    for some, degree, weight in (cells[:N_E], K_E, J_EX), (cells[N_E:], K_I, -J_IN):
        nest.Connect(some, cells, {"rule": "fixed_indegree", "indegree": degree},
                     {"weight": weight, "delay": DELAY})
    source = nest.Create("poisson_generator", params={"rate": RATE})
    nest.Connect(source, cells, syn_spec={"weight": J_EX, "delay": DELAY})
    spikes = nest.Create("spike_recorder", params={"start": FROM})
    nest.Connect(cells, spikes)
    meter = nest.Create("multimeter", params={"record_from": ["V_m", "g_ex", "g_in"],
                                              "interval": 1.0, "start": FROM})
    nest.Connect(meter, cells[:SAMPLED])
    nest.Simulate(UNTIL)
    events = spikes.events
    return events["senders"] - 1, events["times"], meter.events


def spike_figures(senders, times):
    seconds = (UNTIL - FROM) / 1000
    order = numpy.lexsort((times, senders))
    senders, times = senders[order], times[order]
    begin = numpy.searchsorted(senders, numpy.arange(N_E + 1))
    cvs = []
    for k in range(N_E):
        gaps = numpy.diff(times[begin[k]:begin[k + 1]])
        if len(gaps) >= LEAST - 1:
            cvs.append(gaps.std(ddof=1) / gaps.mean())
    excited = senders < N_E
    bins = int((UNTIL - FROM) / BIN)
    at = numpy.ceil((times[excited] - FROM) / BIN - 1e-6).astype(int) - 1
    counts = numpy.zeros((N_E, bins))
    numpy.add.at(counts, (senders[excited], at), 1)
    own = counts.var(axis=1).sum()
    pairs = (counts.sum(axis=0).var() - own) / (own * (N_E - 1))
    return [excited.sum() / N_E / seconds, (~excited).sum() / N_I / seconds,
            numpy.mean(cvs), pairs]


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    nest.set_verbosity("M_ERROR")
    print("network,seed,rate_e_or_g,rate_i_or_g_sd,cv_or_v,pairs_or_v_sd")
    for seed in range(1, seeds + 1):
        senders, times, meter = simulate(seed)
        g = (G_L + meter["g_ex"] + meter["g_in"]) / G_L
        v = meter["V_m"]
        for name, figures in (("spikes", spike_figures(senders, times)),
                              ("membrane", [g.mean(), g.std(), v.mean(), v.std()])):
            print(f"{name},{seed}," + ",".join(f"{x:.5g}" for x in figures), flush=True)


if __name__ == "__main__":
    main()
