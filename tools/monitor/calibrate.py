#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes into a model's metadata what the engine takes its scores from: the
tails of what records are judged by on sound runs of split "valid", which the
model did not learn from.

    calibrate.py MODEL.safetensors DATA ... [--nats FILE ...]

DATA are folders of generate.py or packed files: of an idle machine and of a
busy one, because what is calibrated on the first alone finds every stall of the
second strange.
"""
import argparse
import pathlib

import runs
import rwkv7
import score
import surprise
import tokens

# A tail begins where so many of the sound records lie below: that of stalls
# higher, because the short ones of an idle machine are no measure of the long
# ones; that of extremes lower, as far down as the mean excess stays what it is
# further up (0.81 at 0.98, 0.82 at 0.99, 0.72 at 0.97), so what is far out is
# judged alike and more of what is not is told apart.
QUANTILES = [0.99, 0.999, 0.98, 0.99, 0.99]


def channels_of(data, nats, model, backend):
    """[values of the channels] of all warm records of sound runs."""
    got = []
    for job in runs.jobs(data, "valid"):
        line, names, records = runs.load(job)
        if line["fault"] != "none" or \
                not line.get("backend", "cpu:1").startswith(backend):
            continue
        kept, text, levels, _ = runs.tokenise(names, records)
        rows = surprise.of_run(nats, model, line, text)
        got += score.channels(rows, text, kept, levels)[tokens.WARM:]
    return got


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path, nargs="+")
    parser.add_argument("--nats", type=pathlib.Path, nargs="+",
                        help="what surprise.py wrote of each DATA, so that the "
                        "model does not run")
    parser.add_argument("--backend", default="", help="its name begins so")
    options = parser.parse_args()
    if options.nats and len(options.nats) != len(options.data):
        parser.error(f"{len(options.nats)} files of nats, wanted one for each "
                     f"of {len(options.data)} DATA")
    model, metadata = rwkv7.load(options.model)
    got = []
    for i, data in enumerate(options.data):
        nats = surprise.read(options.nats[i]) if options.nats else None
        rows = channels_of(data, nats, model, options.backend)
        print(f"{data}: {len(rows)} records")
        got += rows
    if not got:
        raise SystemExit("no sound runs of split valid")
    tails = [score.tail(column, quantile)
             for column, quantile in zip(zip(*got), QUANTILES)]
    metadata.pop("volley.tails", None)
    metadata["volley.rarity"] = " ".join(f"{x:.6g}" for t in tails for x in t)
    rwkv7.save(model, options.model, metadata)
    print(f"{len(got)} records, tails {metadata['volley.rarity']}")


if __name__ == "__main__":
    main()
