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
# judged alike and more of what is not is distinguished.
# That of work begins where the mean excess no longer falls (0.21 at 0.99, 0.17
# at 0.995 and 0.998): what a neighbour does to a core has an end.
QUANTILES = [0.99, 0.999, 0.98, 0.998, 0.99]
KEYS = ["volley.rarity", "volley.rarity_device"]  # on processors, on a device


def channels_of(data, nats, model):
    """[values of the channels] of all warm records of sound runs, of nets on
    processors and of those on a device."""
    got = [], []
    for job in runs.jobs(data, "valid"):
        line, names, records = runs.load(job)
        if line["fault"] != "none" or not records:
            continue
        kept, text, levels, _ = runs.tokenise(names, records)
        rows = surprise.of_run(nats, model, line, text)
        got[records[0]["on_device"]].extend(
            score.channels(rows, text, kept, levels)[tokens.WARM:])
    return got


def beside(tails, processors):
    """Tails of devices that an hour can be judged by: some minutes of a machine
    on which nothing else runs do not tell what happens once an hour, so each
    begins where that of processors does, with the mean excess of the two."""
    numbers = [float(x) for x in processors.split()]
    return [(numbers[3 * c], numbers[3 * c + 1],
             (numbers[3 * c + 2] + excess) / 2)
            for c, (_, _, excess) in enumerate(tails)]


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path, nargs="+")
    parser.add_argument("--nats", type=pathlib.Path, nargs="+",
                        help="what surprise.py wrote of each DATA, so that the "
                        "model does not run")
    options = parser.parse_args()
    if options.nats and len(options.nats) != len(options.data):
        parser.error(f"{len(options.nats)} files of nats, wanted one for each "
                     f"of {len(options.data)} DATA")
    model, metadata = rwkv7.load(options.model)
    got = [], []
    for i, data in enumerate(options.data):
        nats = surprise.read(options.nats[i]) if options.nats else None
        rows = channels_of(data, nats, model)
        print(f"{data}: {len(rows[0])} records on processors, {len(rows[1])} "
              "on devices")
        for all_rows, some in zip(got, rows):
            all_rows += some
    if not any(got):
        raise SystemExit("no sound runs of split valid")
    for key, rows in zip(KEYS, got):
        if not rows:
            print(f"{key} stays as it is")
            continue
        tails = [score.tail(column, quantile)
                 for column, quantile in zip(zip(*rows), QUANTILES)]
        if key == KEYS[1]:
            tails = beside(tails, metadata[KEYS[0]])
        metadata[key] = " ".join(f"{x:.6g}" for t in tails for x in t)
        print(f"{key}: {len(rows)} records, tails {metadata[key]}")
    rwkv7.save(model, options.model, metadata)


if __name__ == "__main__":
    main()
