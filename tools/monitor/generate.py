#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs of the volley command with telemetry, sound ones and broken ones, with
what is true about each: the data that the monitor is trained and judged on.

    generate.py FOLDER --volley build/bin/volley --seed 1 --runs 40 --split train
    generate.py FOLDER --volley build/bin/volley --seed 2 --runs 9 --split test \\
        --faults none,runaway,slow

FOLDER/runs.jsonl gets a line a run: file, family, seed, split, fault, and where
the fault begins and ends, in bursts. A network (networks.py) and the fault's
place follow from the seed; times of a telemetry are those of the machine.

Faults of the network are stimuli; `pause` and `throttle` stop the process by
SIGSTOP (once, or half of the time), which to the engine is a burst that hangs
and a device that is slow; others are injected by `--inject` of the command. `--jobs` runs at a
time: at most half of the cores, or times are those of a busy machine.
"""
import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import networks

# name: the text of --inject with begin and end in bursts
INJECTED = {
    "slow": "slow:at={begin},factor=3,for={length}",
    "stuck": "stuck:at={begin},ms=300",
    "dropped": "drop:at={begin},share=0.2,for={length}",
    "clock": "clock:at={begin},ms=5000",
    "leak": "leak:at={begin},bytes=4096,for={length}",
    "wrong": "wrong:to=cpu:4",
}
SIGNALLED = ["pause", "throttle"]


class RunFailed(Exception):
    """A run of the command ended with another exit code than 0."""


def bursts_per_second(options, genome):
    """How fast the network runs here and now, from a run of 0.3 s."""
    n = 200 if options.backend.startswith("cpu") else 20000
    while True:
        began = time.monotonic()
        done = subprocess.run(
            [options.volley, "run", genome, "--bursts", str(n), "--backend",
             options.backend, "--json", "-", "--quiet"], capture_output=True,
            check=False)
        if done.returncode != 0:
            raise RunFailed(f"{genome}: {done.stderr.decode().strip()}")
        wall = json.loads(done.stdout)["wall_s"]
        if wall > 0.2 or time.monotonic() - began > 5:
            return n / max(wall, 1e-6)
        n *= 4


def signalled(process, fault, telemetry, begin, end):
    """Stops and continues the run while its telemetry is between two bursts."""
    def burst():
        try:
            with open(telemetry, "rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - 8192))
                lines = file.read().split(b"\n")
            return json.loads(lines[-2]).get("burst", 0)
        except (OSError, ValueError, IndexError):
            return 0
    while process.poll() is None and burst() < begin:
        time.sleep(0.01)
    began = burst()
    if fault == "pause":
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        process.send_signal(signal.SIGCONT)
        return began, began
    while process.poll() is None and burst() < end:
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.004)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.002)
    return began, end


def one_run(options, number, fault):
    """Returns the line of runs.jsonl; the telemetry is in its file."""
    seed = options.seed * 100000 + number
    rng = random.Random(seed)
    families = networks.HELD_OUT if options.split == "test" and \
        rng.random() < options.held_out else networks.TRAINING
    network = rng.choice(families)(rng)
    name = f"{options.split}_{fault}_{seed}"
    telemetry = options.folder / f"{name}.jsonl"
    every = rng.choice(options.every)
    with tempfile.TemporaryDirectory() as folder:
        genome = pathlib.Path(folder) / "genome.toml"
        genome.write_text(network.text, encoding="utf-8")
        n = int(bursts_per_second(options, genome) *
                options.seconds)
        n = max(n, 2000)
        begin = int(n * rng.uniform(0.5, 0.7))
        end = int(begin + n * 0.2)
        text = network.text
        if fault in networks.FAULTS:
            text += networks.FAULTS[fault](network, rng, begin, end)
        genome.write_text(text, encoding="utf-8")
        command = [options.volley, "run", str(genome), "--bursts", str(n),
                   "--backend", options.backend, "--quiet", "--telemetry",
                   str(telemetry), "--telemetry-every", str(every)]
        if fault in INJECTED:
            command += ["--inject", INJECTED[fault].format(
                begin=begin, length=end - begin)]
            if fault in ("stuck", "clock"):
                end = begin
            if fault == "wrong":
                command += ["--swap", f"{begin}=cpu:2"]
        with subprocess.Popen(command) as process:
            if fault in SIGNALLED:
                begin, end = signalled(process, fault, telemetry, begin, end)
        if process.returncode != 0:
            raise RunFailed(
                f"{' '.join(command)}: exit code {process.returncode}")
    line = {"file": telemetry.name, "family": network.family, "seed": seed,
            "split": options.split, "bursts": n, "every_ms": every,
            "fault": fault, "backend": options.backend}
    if fault != "none":
        line.update(begin=begin, end=end)
    return line


def some_runs(options, faults, index):
    """All runs, options.jobs at a time. Returns how many failed."""
    failed, lock, began = [], threading.Lock(), time.monotonic()

    def run(number, fault):
        if options.stop and time.monotonic() - began > options.stop:
            return
        try:
            text = json.dumps(one_run(options, number, fault))
        except RunFailed as error:
            with lock:
                failed.append(fault)
            print(error, file=sys.stderr, flush=True)
            return
        with lock:
            index.write(text + "\n")
            index.flush()
    with ThreadPoolExecutor(options.jobs) as pool:
        done = [pool.submit(run, number * 100 + k, fault)
                for number in range(options.runs)
                for k, fault in enumerate(faults)]
    for one in done:
        one.result()
    return len(failed)


def main():
    """The command."""
    known = ["none", *networks.FAULTS, *SIGNALLED, *INJECTED]
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--volley", default="volley")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=10,
                        help="of each fault (none is one)")
    parser.add_argument("--split", choices=["train", "valid", "tune", "test"],
                        default="train")
    parser.add_argument("--held-out", type=float, default=0.5,
                        help="share of test runs of unseen families")
    parser.add_argument("--faults", default="none",
                        help="names joined by commas: " + ", ".join(known))
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--every", default="2",
                        help="ms between samples; one of these, with commas")
    parser.add_argument("--backend", default="cpu:1")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--stop", type=float,
                        help="seconds after which no run begins")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    options.every = [float(x) for x in options.every.split(",")]
    faults = options.faults.split(",")
    for fault in faults:
        if fault not in known:
            parser.error(f"fault {fault}, wanted one of {', '.join(known)}")
    with open(options.folder / "runs.jsonl", "a", encoding="utf-8") as index:
        failed = some_runs(options, faults, index)
    if failed:
        sys.exit(f"{failed} runs failed")


if __name__ == "__main__":
    main()
