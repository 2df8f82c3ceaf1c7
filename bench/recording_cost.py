#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording, telemetry and probes cost: volley run with and without, in turn.

    bench/recording_cost.py build/release/bin/volley [REPEATS [WAY,...]]

Prints a Markdown table. A repeat is one run without and one with each option,
in an order that rotates, so that other load hits all of them alike; a cost is
the median over the repeats of (with - without) / without, and its spread the
10th and the 90th percentile. The least processor times of all repeats are set
side by side as well: other load can only add to them. Wall time, and processor time of the thread that
runs the bursts (one: cpu:1), both of the burst loop alone; beside it what the
whole process took of processors, with the thread that writes, and the time to
make a SONATA file of the stream at the end.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile

GENOMES = {
    "brunel": ["--ms", "1000"],
    "microcircuit_10": ["--ms", "4000"],
}


def options_of(folder):
    """Name of each way to run, and its options."""
    file = os.path.join(folder, "out")
    return {
        "without": [],
        "CSV": ["--record", file + ".csv"],
        "stream": ["--record", file + ".vls"],
        "SONATA": ["--record", file + ".h5"],
        "telemetry": ["--telemetry", file + ".jsonl"],
        "times by probes": ["--probe", "call.*,burst"],
        "all probes": ["--probe", "*"],
    }


def run_once(volley, genome, length, options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(
        [volley, "run", genome, "--backend", "cpu:1", "--threads", "1",
         "--json", "-", "--quiet", "--control", "off", *length, *options],
        check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    summary = json.loads(result.stdout)
    summary["process_s"] = (after.ru_utime + after.ru_stime
                            - before.ru_utime - before.ru_stime)
    return summary


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * (len(values) - 1) + 0.5))]


def cost(runs, name, key):
    shares = [100 * (w[key] - o[key]) / o[key]
              for w, o in zip(runs[name], runs["without"])]
    return (f"{percentile(shares, 0.5):+.1f}% ({percentile(shares, 0.1):+.1f} "
            f"to {percentile(shares, 0.9):+.1f})")


def least(runs, name):
    with_it = min(run["thread_s"] for run in runs[name])
    without = min(run["thread_s"] for run in runs["without"])
    return f"{100 * (with_it - without) / without:+.1f}%"


def main():
    volley = sys.argv[1]
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 11
    wanted = sys.argv[3].split(",") if len(sys.argv) > 3 else \
        ["CSV", "stream", "SONATA", "telemetry", "times by probes",
         "all probes"]
    here = os.path.dirname(os.path.abspath(__file__))
    loads = [os.getloadavg()[0]]
    print("| network | | wall of the loop | thread of the loop | the least of "
          "it | process | SONATA made in |")
    print("|---|---|---|---|---|---|---|")
    for genome, length in GENOMES.items():
        path = os.path.join(here, "..", "genomes", genome + ".toml")
        with tempfile.TemporaryDirectory() as folder:
            ways = options_of(folder)
            names = ["without"] + [name for name in ways if name in wanted]
            runs = {name: [] for name in names}
            for repeat in range(repeats):
                for k in range(len(names)):
                    name = names[(k + repeat) % len(names)]
                    runs[name].append(
                        run_once(volley, path, length, ways[name]))
                loads.append(os.getloadavg()[0])
        digests = {run["digest"] for name in names for run in runs[name]}
        assert len(digests) == 1, digests
        base = runs["without"][0]
        wall = percentile([r["wall_s"] for r in runs["without"]], 0.5)
        thread = percentile([r["thread_s"] for r in runs["without"]], 0.5)
        fastest = min(r["thread_s"] for r in runs["without"])
        whole = percentile([r["process_s"] for r in runs["without"]], 0.5)
        print(f"| {genome}, {base['bursts']:,} bursts, {base['spikes']:,} "
              f"spikes | without | {wall:.3f} s | {thread:.3f} s | "
              f"{fastest:.3f} s | {whole:.3f} s | |")
        for name in names[1:]:
            made = [r["recording"]["export_s"] for r in runs[name]
                    if r["recording"]]
            export = f"{percentile(made, 0.5) * 1000:.0f} ms" \
                if name == "SONATA" else ""
            print(f"| | {name} | {cost(runs, name, 'wall_s')} | "
                  f"{cost(runs, name, 'thread_s')} | {least(runs, name)} | "
                  f"{cost(runs, name, 'process_s')} | {export} |")
    print(f"\n{repeats} repeats; load {min(loads):.1f} to {max(loads):.1f} on "
          f"{os.cpu_count()} cores; {base['device']}; without in absolute "
          "figures: medians.")


if __name__ == "__main__":
    main()
