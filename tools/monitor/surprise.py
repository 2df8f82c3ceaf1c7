#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How surprised a model is by each metric of each record of all runs.

    surprise.py DATA MODEL.safetensors OUT.xz [--device cuda] [--split valid,test]

DATA is a folder of generate.py or a packed file (runs.py). OUT.xz has a line of
JSON for each run: its file's name and [[15 thousandths of nats] of each record],
which calibrate.py reads in place of a model.
"""
import argparse
import json
import lzma
import pathlib
from concurrent.futures import ProcessPoolExecutor

import runs
import rwkv7
import train


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--split", default="valid,tune,test")
    parser.add_argument("--readers", type=int, default=2)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.readers) as pool:
        got = list(pool.map(runs.text_of, [
            job for split in options.split.split(",")
            for job in runs.jobs(options.data, split)]))
    model, _ = rwkv7.load(options.model)
    rows = train.nats_of(model.to(options.device), [text for _, text in got],
                         side=16 if options.device == "cpu" else 64)
    with lzma.open(options.out, "wt", encoding="utf-8") as file:
        for (line, _), row in zip(got, rows):
            json.dump({"file": line["file"],
                       "nats": (row * 1000).round().int().tolist()}, file,
                      separators=(",", ":"))
            file.write("\n")
    print(f"{len(got)} runs, {sum(map(len, rows))} records in {options.out}")


def of_run(nats, model, line, text):
    """[[15 nats]] of a run: from nats ({file: rows}, of read), or else by the
    model."""
    if nats is not None:
        return nats[line["file"]]
    return train.nats_of(model, [text])[0].tolist()


def read(path):
    """{file: [[nats of 15 metrics] of each record]}"""
    got = {}
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for text in file:
            run = json.loads(text)
            got[run["file"]] = [[x * 1e-3 for x in row]
                                for row in run["nats"]]
    return got


if __name__ == "__main__":
    main()
