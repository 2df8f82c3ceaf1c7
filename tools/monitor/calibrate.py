#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes into a model's metadata what the engine takes its threshold from: the
tails of what records are judged by on sound runs of split "valid", which the
model did not learn from.

    calibrate.py DATA MODEL.safetensors [--nats FILE]
"""
import argparse
import pathlib

import runs
import rwkv7
import score
import surprise
import tokens


def channels_of(data, nats, model, backend):
    """[values of the channels] of all warm records of sound runs."""
    got = []
    for job in runs.jobs(data, "valid"):
        line, names, records = runs.load(job)
        if line["fault"] != "none" or \
                not line.get("backend", "cpu:1").startswith(backend):
            continue
        _, text, levels, _ = runs.tokenise(names, records)
        rows = surprise.of_run(nats, model, line, text)
        got += score.channels(rows, levels)[tokens.WARM:]
    return got


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--nats", type=pathlib.Path,
                        help="what surprise.py wrote, so that the model does "
                        "not run")
    parser.add_argument("--backend", default="", help="its name begins so")
    options = parser.parse_args()
    model, metadata = rwkv7.load(options.model)
    nats = surprise.read(options.nats) if options.nats else None
    got = channels_of(options.data, nats, model, options.backend)
    tails = [score.tail(column) for column in zip(*got)]
    metadata.pop("volley.tail", None)
    metadata["volley.tails"] = " ".join(f"{x:.6g}" for t in tails for x in t)
    rwkv7.save(model, options.model, metadata)
    print(f"{len(got)} records, tails {metadata['volley.tails']}")


if __name__ == "__main__":
    main()
