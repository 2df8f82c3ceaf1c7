#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes into a model's metadata what the engine takes its threshold from: the
tail of the score on sound runs of split "valid", which it did not learn from.

    calibrate.py DATA MODEL.safetensors [--nats FILE]
"""
import argparse
import pathlib

import runs
import rwkv7
import score
import surprise
import tokens
import train


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--nats", type=pathlib.Path,
                        help="what surprise.py wrote, so that the model does "
                        "not run")
    options = parser.parse_args()
    model, metadata = rwkv7.load(options.model)
    known = surprise.read(options.nats) if options.nats else {}
    scores = []
    for line, text in map(runs.text_of, runs.jobs(options.data, "valid")):
        rows = known.get(line["file"]) or train.nats_of(model, [text])[0]
        judge = score.Surprise()
        scores += [judge.judge([float(x) for x in row])
                   for row in rows][tokens.WARM:]
    metadata["volley.tail"] = " ".join(f"{x:.6g}" for x in score.tail(scores))
    rwkv7.save(model, options.model, metadata)
    print(f"{len(scores)} scores, tail {metadata['volley.tail']}")


if __name__ == "__main__":
    main()
