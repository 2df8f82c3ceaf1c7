#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs of generate.py as records: from their folder, or packed into one file
of about 25 bytes a record, in which the numbers are those of the telemetry.

    runs.py FOLDER OUT.xz [SPLIT]      packs

A packed file has a line for each run: its line of runs.jsonl, a tab, and in
JSON the names of its areas and a column for each number of tokens.records.
"""
import json
import lzma
import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timezone

import tokens

STEPS = ["burst", "unix_ms"]  # stored as differences
SPREADS = 3  # what a record may take longer before that is a stall


def _pack(job):
    folder, line = job
    names, records = tokens.records(folder / line["file"], line.get("asked"))
    columns = {k: [r[k] for r in records] for k in records[0] if k != "areas"}
    for k in STEPS:
        row = columns[k]
        columns[k] = row[:1] + [b - a for a, b in zip(row, row[1:])]
    areas = [[r["areas"][a] for r in records] for a in range(len(names))]
    return json.dumps(line) + "\t" + json.dumps(
        {"names": names, "columns": columns, "areas": areas},
        separators=(",", ":"))


def _unpack(text):
    line, rest = text.split("\t", 1)
    run = json.loads(rest)
    columns = run["columns"]
    line = json.loads(line)
    on_device = not line.get("backend", "cpu").startswith("cpu")
    for k in STEPS:
        row = columns[k]
        for i in range(1, len(row)):
            row[i] += row[i - 1]
    n = len(columns["burst"])
    records = [{k: row[i] for k, row in columns.items()} for i in range(n)]
    for i, record in enumerate(records):
        record.setdefault("waited_ns", 0)  # packed before they were told
        record.setdefault("engine_waited_ns", record["waited_ns"])
        record.setdefault("paused_ns", 0)
        record.setdefault("squares", 0)
        record.setdefault("exchange_ns", 0)
        record.setdefault("threads_waited_ns", 0)
        record.setdefault("on_device", on_device)
        record.setdefault("failures", 0)
        record.setdefault("moves", 0)
        record["areas"] = [row[i] for row in run["areas"]]
    return line, run["names"], records


def lines(folder, split=None):
    """Lines of runs.jsonl of this split."""
    with open(folder / "runs.jsonl", encoding="utf-8") as file:
        got = [json.loads(text) for text in file if text.endswith("\n")]
    return [line for line in got if split in (None, line["split"])]


def jobs(data, split=None):
    """What load makes a run of, for each run of this split; data is a folder
    of generate.py or a packed file."""
    if data.is_dir():
        return [(data, line) for line in lines(data, split)]
    with lzma.open(data, "rt", encoding="utf-8") as file:
        return [(None, text) for text in file if split in
                (None, json.loads(text[:text.index("\t")])["split"])]


def load(job):
    """(line of runs.jsonl, names of areas, records) of a run."""
    folder, line = job
    if folder is None:
        return _unpack(line)
    return (line, *tokens.records(folder / line["file"], line.get("asked")))


def metadata(model):
    """What a .safetensors file tells of itself."""
    with open(model, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        return json.loads(file.read(size)).get("__metadata__", {})


def write(run, path):
    """A run as a file of --telemetry with what the monitor reads of it."""
    _, names, records = run
    host, lost = 1 << 40, 0
    device = 1 << 40 if records and records[0]["on_device"] else 0
    with open(path, "w", encoding="utf-8") as file:
        head = {"telemetry": 1, "dt_ms": 1, "neurons": dict.fromkeys(names, 1)}
        file.write(json.dumps(head) + "\n")
        for r in records:
            host, device = host + r["host_growth"], device + r["device_growth"]
            lost += r["lost"]
            at = datetime.fromtimestamp(r["unix_ms"] // 1000, timezone.utc)

            def each(key, r=r):
                return r[key] / r["bursts"] / 1000 if r["bursts"] else None
            file.write(json.dumps({
                "time": f"{at:%Y-%m-%dT%H:%M:%S}.{r['unix_ms'] % 1000:03}Z",
                "burst": r["burst"], "bursts": r["bursts"],
                "seconds": (r["wall_ns"] + r["paused_ns"]) / 1e9,
                "paused_s": r["paused_ns"] / 1e9,
                "waited_s": r["waited_ns"] / 1e9,
                "engine_waited_s": r["engine_waited_ns"] / 1e9,
                "threads_waited_s": r["threads_waited_ns"] / 1e9,
                "backend": "",
                "burst_us": each("run_ns"), "delivery_us": each("delivery_ns"),
                "dynamics_us": each("dynamics_ns"),
                "exchange_us": each("exchange_ns"), "spikes": r["spikes"],
                "spikes_squared": r["squares"], "moves": r["moves"],
                "failures": r["failures"], "wrong_bursts": r["wrong_place"],
                "events": r["events"], "host_bytes": host,
                "device_bytes": device, "lost": lost,
                "area_spikes": dict(zip(names, r["areas"]))}) + "\n")


def text_of(job):
    """(line of runs.jsonl, 16 tokens of each record) of a run."""
    line, names, records = load(job)
    return line, tokenise(names, records)[1]


def steps(state, records):
    """(record, 16 tokens, levels, deviations) one after the other, by state, a
    Tokens; short records are joined with the next ones. A record gets
    `stall_ms`, how much longer it took than its bursts do of late, three
    spreads more, without waiting for a processor, and `moved`, whether the net
    was just before it; one in which it was is left out."""
    short = None
    moved = False
    for record in records:
        if short:
            record = tokens.merge(short, record)
            short = None
        if record["moves"]:
            state.forget()
            moved = True
            continue
        got = state.make(record)
        short = None if got else record
        if got:
            usual = max(1, record["bursts"]) * 2 ** (
                (state.centres[0] + SPREADS * state.spreads[0]) / 64)
            record["told"] = state.told
            record["absent"] = state.absent
            record["stall_ms"] = 0.0 if not state.told[0] else max(0.0, record["wall_ns"] -
                                     record["waited_ns"] -
                                     record["threads_waited_ns"] -
                                     usual) * 1e-6
            record["moved"], moved = moved, False
            yield record, got, state.levels, state.z16


def tokenise(names, records):
    """(records, 16 tokens each, levels each, deviations each) of a run that
    nothing judges."""
    got = list(steps(tokens.Tokens(len(names)), records))
    return tuple([row[k] for row in got] for k in range(4))


def main():
    """The command."""
    folder, out = pathlib.Path(sys.argv[1]), sys.argv[2]
    split = sys.argv[3] if len(sys.argv) > 3 else None
    todo = jobs(folder, split)
    with ProcessPoolExecutor() as pool, \
            lzma.open(out, "wt", encoding="utf-8") as file:
        for text in pool.map(_pack, todo):
            file.write(text + "\n")
    print(f"{len(todo)} runs in {out}")


if __name__ == "__main__":
    main()
