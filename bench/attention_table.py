#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One table of `volley bench attention --json A` and bench/attention_pytorch.py
> B of the same machine:

    python3 bench/attention_table.py A B [--least 1.0] [--most-error 1.2]

Each cell: TFLOP/s of the plugin and of the best backend of PyTorch, their ratio,
the ratio of their errors, and what the plugin chose; of decoding GB/s. Exit
codes: 0, 1 where a ratio is below --least (decoding is printed, and not counted)
or an error above --most-error times PyTorch's, 2 files that are no such results
or have no cell in common.
"""
import argparse
import json
import math
import sys


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        # PyTorch's warnings and the log of its script may stand in front
        begin = text.index("\n{") + 1 if not text.startswith("{") else 0
        rows = json.JSONDecoder().raw_decode(text[begin:])[0]["rows"]
        return rows
    except (OSError, ValueError, KeyError) as wrong:
        print(f"attention_table: {path}: {wrong}", file=sys.stderr)
        sys.exit(2)


def best_of(rows):
    best = {}
    for row in rows:
        if "median_s" in row and (row["id"] not in best or row["median_s"] <
                                  best[row["id"]]["median_s"]):
            best[row["id"]] = row
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("volley")
    parser.add_argument("pytorch")
    parser.add_argument("--least", type=float, default=1.0)
    parser.add_argument("--most-error", type=float, default=1.2)
    arguments = parser.parse_args()
    ours = read(arguments.volley)
    theirs = best_of(read(arguments.pytorch))
    below, ratios = [], {}
    print("| cell | Volley | PyTorch | ratio | errors | choice |")
    print("|---|---|---|---|---|---|")
    for row in ours:
        name = row["id"]
        if name not in theirs or "median_s" not in row:
            continue
        other = theirs[name]
        kind = name.split()[0]
        ratio = other["median_s"] / row["median_s"]
        key, scale = ("bytes", 1e-9) if kind == "decode" else ("flops", 1e-12)
        errors = row["relative_error"] / other["error"]
        print(f"| {name} | {row[key] / row['median_s'] * scale:.0f} | "
              f"{row[key] / other['median_s'] * scale:.0f} "
              f"({other['backend']}) | {ratio:.3f} | {errors:.2f} | "
              f"{row['choice']} |")
        ratios.setdefault(kind, []).append(ratio)
        if ratio < arguments.least and kind != "decode":
            below.append(f"ratio below {arguments.least}: {name}: {ratio:.3f}")
        if errors > arguments.most_error:
            below.append(f"errors above {arguments.most_error}: {name}: "
                         f"{errors:.2f}")
    if not ratios:
        print("attention_table: no cell is in both", file=sys.stderr)
        return 2
    print()
    for kind, all_of in ratios.items():
        mean = math.exp(sum(map(math.log, all_of)) / len(all_of))
        print(f"{kind}: {len(all_of)} cells, ratio {min(all_of):.3f} to "
              f"{max(all_of):.3f}, geometric mean {mean:.3f}")
    for line in below:
        print(line)
    return 1 if below else 0


sys.exit(main())
