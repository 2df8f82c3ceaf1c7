#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Python module adds: edges from arrays, and a run of one burst.

    PYTHONPATH=tools/python VOLLEY_LIBRARY=build/release/lib/libvolley.so \\
        python3 bench/python_module.py STATE MACHINE [REPEATS [MILLIONS]]

Prints rows of bench/results/python.csv. Edges: random pairs of 100,000 neurons,
NumPy's own types (int64, float64), weights and delays of each edge; in random
order, and sorted. Their parts: the genome made of them (checked, sorted, hashed),
the connectome compiled, the net created. What is read back is compared with what
was given before anything is timed. Processor time is that of the thread that
calls: other load on the machine adds to it less than to wall time.

A burst: a network of three neurons on cpu:1; what a call of net.run(1), and of its
other forms, takes above what the engine counts inside vly_net_run (run_ns), each call
for itself.
"""
import csv
import os
import statistics
import sys
import time

import numpy as np

import volley
from volley import _genome, _library

N_NEURONS = 100_000
N_BURSTS = 5000


def edges(n, in_order):
    rng = np.random.default_rng(1)
    source, target = rng.integers(0, N_NEURONS, (2, n))
    if in_order:
        order = np.lexsort((target, source))
        source, target = source[order], target[order]
    return {"source": source, "target": target,
            "weight_mv": rng.uniform(0.1, 1, n),
            "delay_ms": rng.integers(1, 30, n) * 0.1}


def network(columns):
    return {"run": {"dt_ms": 0.1},
            "area": {"A": {"model": "lif_psc_delta", "neurons": N_NEURONS}},
            "map": [{"from": "A", "to": "A", "self": True, "multiple": True,
                     **columns}]}


def check(columns):
    """What is read back is what was given, to half a unit."""
    with volley.load(network(columns), "cpu:1") as net:
        got = net.synapses()
        unit = net.projections[0].unit
    order = np.lexsort((columns["target"], columns["source"]))
    assert (got.source == columns["source"][order]).all()
    assert (got.target == columns["target"][order]).all()
    assert abs(got.weight - columns["weight_mv"][order]).max() <= unit / 2
    assert abs(got.delay_ms - columns["delay_ms"][order]).max() < 1e-9


def hand_over(genome):
    """Seconds of the three parts and of all; of the calling thread's processor in
    the first, of all threads' in all."""
    threads = time.process_time()
    thread, start = time.thread_time(), time.perf_counter()
    made = _genome.read(genome, None, None)
    read, used = time.perf_counter(), time.thread_time() - thread
    compiled = _library.make("connectome_build", made, 0)
    built = time.perf_counter()
    _library.lib().vly_genome_destroy(made)
    net = volley.Net(volley.Connectome(compiled), "cpu")
    end, threads = time.perf_counter(), time.process_time() - threads
    net.close()
    return {"genome": read - start, "genome, processor time": used,
            "compiled": built - read, "net": end - built,
            "all": end - start, "all, processor time of all threads": threads}


FORMS = {"net.run(1)": lambda net: net.run(1),
         "net.run(np.int64(1))": lambda net: net.run(np.int64(1)),
         "net.run(bursts=1)": lambda net: net.run(bursts=1),
         "net.run(ms=0.1)": lambda net: net.run(ms=0.1)}


def bursts(run):
    """Microseconds of a form of net.run(1) above vly_net_run."""
    over = []
    with volley.load("three", "cpu:1") as net:
        net.run(100)
        for _ in range(N_BURSTS):
            inside = net.stats()["run_ns"]
            start = time.perf_counter_ns()
            run(net)
            wall = time.perf_counter_ns() - start
            over.append((wall - (net.stats()["run_ns"] - inside)) / 1e3)
        assert net.burst == 100 + N_BURSTS
    return over


def row(state, machine, case, variant, unit, values, note):
    tenths = statistics.quantiles(values, n=10) if len(values) > 1 else []
    return [state, machine, case, variant, unit,
            f"{statistics.median(values):.3g}",
            *((f"{tenths[0]:.3g}", f"{tenths[-1]:.3g}") if tenths else
              ("", "")), len(values), f"lowest {min(values):.3g}; {note}"]


def main():
    state, machine = sys.argv[1:3]
    repeats = int(sys.argv[3]) if len(sys.argv) > 3 else 11
    millions = float(sys.argv[4]) if len(sys.argv) > 4 else 10
    n = int(millions * 1e6)
    out = csv.writer(sys.stdout, lineterminator="\n")
    for in_order in (False, True):
        columns = edges(n, in_order)
        check(columns)
        genome = network(columns)
        times = [hand_over(genome) for _ in range(repeats)]
        case = (f"{millions:g}M edges from arrays" +
                (", sorted" if in_order else ""))
        for part in times[0]:
            out.writerow(row(state, machine, case, part, "s",
                             [one[part] for one in times],
                             f"load {os.getloadavg()[0]:.0f}; "
                             "bench/python_module.py"))
    for form, run in FORMS.items():
        out.writerow(row(state, machine, "one burst from Python",
                         f"{form} above vly_net_run", "us", bursts(run),
                         f"load {os.getloadavg()[0]:.0f}; three neurons, "
                         "cpu:1; bench/python_module.py"))


if __name__ == "__main__":
    main()
