#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of bench/results/*.csv, comparisons of two states, plots and a check.

    python3 bench/tables.py [FILE.csv ...] [--state S] [--machine M] [--case C]
    python3 bench/tables.py cuda.csv --compare 218eba6 58562f7
    python3 bench/tables.py vulkan.csv --case '1M x1000 d1 1%' --plot out.png
    python3 bench/tables.py --check

Without FILE all files of bench/results are read; a bare name is looked up there
too. --state, --machine and --case keep rows that contain the text. --compare A B
takes states, or STATE@MACHINE where a state was measured on several machines, and
prints the rows whose case, variant and unit are in both. --plot needs matplotlib.

Exit codes: 0, 1 --check found errors, 2 wrong call or unreadable file, 3 no
matplotlib.
"""
import argparse
import csv
import pathlib
import re
import sys

COLUMNS = ["state", "machine", "case", "variant", "unit", "median", "p10", "p90",
           "repeats", "note"]
KEY = COLUMNS[:5]
REQUIRED = ["state", "machine", "case", "unit", "median"]
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?")
COUNT = re.compile(r"[1-9]\d*")
RESULTS = pathlib.Path(__file__).resolve().parent / "results"


def stop(code, sentence):
    print(f"tables: {sentence}", file=sys.stderr)
    sys.exit(code)


def errors_of_row(row):
    """(column, what was found, what is wanted) for each error of one row."""
    for name in REQUIRED:
        if not row[name].strip():
            yield name, "nothing", "a value"
    for name in ("median", "p10", "p90"):
        if row[name] and not NUMBER.fullmatch(row[name]):
            yield name, f'"{row[name]}"', "a number"
            return
    if row["repeats"] and not COUNT.fullmatch(row["repeats"]):
        yield "repeats", f'"{row["repeats"]}"', "a count from 1"
    if bool(row["p10"]) != bool(row["p90"]):
        yield "p10", "one percentile", "p10 and p90, or neither"
    elif row["p10"] and row["median"] and not (
            float(row["p10"]) <= float(row["median"]) <= float(row["p90"])):
        yield ("median", f'{row["median"]} outside {row["p10"]} to '
               f'{row["p90"]}', "p10 <= median <= p90")


def read(path):
    """The rows of a file, and its errors as sentences FILE:LINE:COLUMN: ..."""
    rows, errors, seen = [], [], {}
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.reader(file, strict=True)
        head = next(reader, [])
        if head != COLUMNS:
            errors.append(f"{path}:1:1: the columns are {','.join(head)}, "
                          f"wanted {','.join(COLUMNS)}")
            return rows, errors
        for fields in reader:
            place = f"{path}:{reader.line_num}"
            if len(fields) != len(COLUMNS):
                errors.append(f"{place}:1: {len(fields)} columns, wanted "
                              f"{len(COLUMNS)}")
                continue
            row = dict(zip(COLUMNS, fields))
            for name, found, wanted in errors_of_row(row):
                errors.append(f"{place}:{COLUMNS.index(name) + 1}: {name} is "
                              f"{found}, wanted {wanted}")
            key = tuple(row[name] for name in KEY)
            if key in seen:
                errors.append(f"{place}:1: state, machine, case, variant and "
                              f"unit are those of line {seen[key]}")
            seen.setdefault(key, reader.line_num)
            rows.append(row)
    if not rows:
        errors.append(f"{path}:1:1: no row, wanted at least one")
    return rows, errors


def spread(row):
    return f'{row["p10"]} to {row["p90"]}' if row["p10"] else ""


def print_table(head, lines):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print()


def print_rows(name, rows):
    groups = {}
    for row in rows:
        groups.setdefault((row["state"], row["machine"]), []).append(row)
    for (state, machine), group in groups.items():
        print(f"## {name}: {state}, {machine}\n")
        print_table(
            ["case", "variant", "median", "unit", "p10 to p90", "repeats", "note"],
            [[row["case"], row["variant"], row["median"], row["unit"],
              spread(row), row["repeats"], row["note"]] for row in group])


def side(rows, name):
    """Rows of STATE or STATE@MACHINE by case, variant and unit."""
    state, _, machine = name.partition("@")
    found, machines = {}, set()
    for row in rows:
        if row["state"] != state or (machine and row["machine"] != machine):
            continue
        key = (row["case"], row["variant"], row["unit"])
        if key in found and found[key]["machine"] != row["machine"]:
            machines |= {found[key]["machine"], row["machine"]}
        found[key] = row
    if machines:
        stop(2, f'"{name}" has several machines, wanted one of: ' +
             "; ".join(f"{state}@{m}" for m in sorted(machines)))
    if not found:
        states = sorted({row["state"] for row in rows})
        stop(2, f'no row of "{name}", wanted one of: ' + "; ".join(states))
    return found


def compare(rows, first, second):
    old, new = side(rows, first), side(rows, second)
    lines = []
    for key, row in old.items():
        if key not in new:
            continue
        other = new[key]
        before, after = float(row["median"]), float(other["median"])
        ratio = f"{after / before:.3f}" if before else ""
        lines.append([key[0], key[1], key[2], row["median"], spread(row),
                      other["median"], spread(other), ratio])
    if not lines:
        stop(2, f'no case is in both "{first}" and "{second}"')
    print_table(["case", "variant", "unit", first, "p10 to p90", second,
                 "p10 to p90", f"{second} / {first}"], lines)


def plot(rows, path):
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        stop(3, "--plot needs matplotlib, which is not installed "
             "(Debian: python3-matplotlib)")
    units = list(dict.fromkeys(row["unit"] for row in rows))
    height = sum(1 + 0.25 * sum(row["unit"] == unit for row in rows)
                 for unit in units)
    if height > 300:
        stop(2, f"{len(rows)} rows are too many for one plot; use --state, "
             "--machine or --case")
    figure, axes = pyplot.subplots(len(units), 1, squeeze=False,
                                   figsize=(10, max(height, 2)))
    for axis, unit in zip(axes[:, 0], units):
        part = [row for row in rows if row["unit"] == unit]
        middle = [float(row["median"]) for row in part]
        low = [float(row["median"]) - float(row["p10"] or row["median"])
               for row in part]
        high = [float(row["p90"] or row["median"]) - float(row["median"])
                for row in part]
        names = [", ".join(filter(None, (row["case"], row["variant"],
                                         row["state"]))) for row in part]
        axis.barh(range(len(part)), middle, xerr=[low, high])
        axis.set_yticks(range(len(part)), names, fontsize=6)
        axis.invert_yaxis()
        axis.set_xlabel(unit)
    figure.tight_layout()
    figure.savefig(path)


def arguments(words):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE")
    for name in ("state", "machine", "case"):
        parser.add_argument("--" + name, default="", metavar="TEXT")
    parser.add_argument("--compare", nargs=2, metavar=("A", "B"))
    parser.add_argument("--plot", metavar="IMAGE")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args(words)


def main(words=None):
    asked = arguments(words)
    paths = [pathlib.Path(name) for name in asked.files]
    paths = [path if path.exists() else RESULTS / path.name for path in paths]
    paths = paths or sorted(RESULTS.glob("*.csv"))
    tables, errors = [], []
    for path in paths:
        try:
            rows, found = read(path)
        except (OSError, UnicodeDecodeError, csv.Error) as wrong:
            stop(2, f"{path}: {wrong}")
        tables.append((path.stem, rows))
        errors += found
    if not tables:
        stop(2, f"{RESULTS} has no results")
    for sentence in errors:
        print(sentence, file=sys.stderr)
    if errors or asked.check:
        sys.exit(1 if errors else 0)
    tables = [(name, [row for row in rows if all(
        getattr(asked, key) in row[key] for key in ("state", "machine", "case"))])
              for name, rows in tables]
    every = [row for _, rows in tables for row in rows]
    if not every:
        stop(2, "no row has that state, machine and case")
    if asked.compare:
        compare(every, *asked.compare)
    elif asked.plot:
        plot(every, asked.plot)
    else:
        for name, rows in tables:
            print_rows(name, rows)


if __name__ == "__main__":
    main()
