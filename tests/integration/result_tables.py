#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""result_tables.py SOURCE: bench/tables.py on the results of this tree, which must
be whole, and on files with one error each, which it must refuse by line and column;
its tables, comparisons and exit codes. The rows that `volley bench scale` has in
itself must be those of the results."""
import contextlib
import csv
import io
import pathlib
import re
import sys
import tempfile

import tables

HEAD = "state,machine,case,variant,unit,median,p10,p90,repeats,note"
GOOD = ["a1,box,sum,,us,2.5,2.4,2.6,31,", "a1,box,sum,wide,us,4,,,,one run",
        "b2,box,sum,,us,5.0,,,31,"]
# a row, and its message
BAD = [
    ("a1,box,sum,,us,1,,,31", ":2:1: 9 columns, wanted 10"),
    ("a1,box,sum,,us,1,,,31,,", ":2:1: 11 columns, wanted 10"),
    ("a1,box,sum,,us,fast,,,,", ':2:6: median is "fast", wanted a number'),
    ("a1,box,sum,,us,nan,,,,", ':2:6: median is "nan", wanted a number'),
    ('a1,box,sum,,us,"1,000",,,,', ':2:6: median is "1,000", wanted a number'),
    ("a1,box,sum,,us,,,,,", ":2:6: median is nothing, wanted a value"),
    ("a1,box,sum,,,1,,,,", ":2:5: unit is nothing, wanted a value"),
    (",box,sum,,us,1,,,,", ":2:1: state is nothing, wanted a value"),
    ("a1,box,sum,,us,1,0.9,,,", ":2:7: p10 is one percentile, wanted p10 and p90"),
    ("a1,box,sum,,us,1,1.1,1.2,,", ":2:6: median is 1 outside 1.1 to 1.2"),
    ("a1,box,sum,,us,1,,,0,", ':2:9: repeats is "0", wanted a count from 1'),
    ("a1,box,sum,,us,1,,,,\na1,box,sum,,us,2,,,,",
     ":3:1: state, machine, case, variant and unit are those of line 2"),
    ("", ":1:1: no row, wanted at least one"),
]
failures = []
checks = 0


def holds(what, text):
    global checks
    checks += 1
    if not what:
        failures.append(text)


def run(*words):
    """Exit code, stdout and stderr of tables.py with these arguments."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            tables.main([str(word) for word in words])
        except SystemExit as left:
            code = left.code
    return code, out.getvalue(), err.getvalue()


FACT = re.compile(r"^SCALE_FACT\((\w+), (.*), ([0-9.]+)\)$", re.M)


def scale_facts(source):
    """Each row of scale_facts.def is one of the results, with its median."""
    text = (source / "tools/bench/scale_facts.def").read_text(encoding="utf-8")
    facts = FACT.findall(text)
    holds(len(facts) > 40 and len(facts) == text.count("SCALE_FACT("),
          f"scale_facts.def: {len(facts)} rows were read")
    files = {}
    for name, strings, value in facts:
        file, *key = re.findall(r'"([^"]*)"', strings)
        if file not in files:
            with open(source / "bench/results" / file, newline="",
                      encoding="utf-8") as stream:
                files[file] = {tuple(row[:5]): row[5]
                               for row in csv.reader(stream)}
        found = files[file].get(tuple(key))
        holds(found is not None and float(found) == float(value),
              f"{name} is {value}, its row in {file} has {found}")


def main():
    source = pathlib.Path(sys.argv[1])
    scale_facts(source)
    code, out, err = run("--check")
    holds(code == 0 and not err, f"the results of the tree: {err}")
    holds(len(list((source / "bench" / "results").glob("*.csv"))) >= 2,
          "bench/results has no files")
    # each must print a table
    for file in sorted((source / "bench" / "results").glob("*.csv")):
        code, out, err = run(file)
        holds(code == 0 and f"## {file.stem}: " in out, f"{file}: {err}")

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "some.csv")
        for row, wanted in BAD:
            file.write_text("\n".join([HEAD] + ([row] if row else [])) + "\n",
                            encoding="utf-8")
            code, out, err = run("--check", file)
            holds(code == 1 and f"{file}{wanted}" in err,
                  f"{row!r}: exit code {code}, {err!r}, wanted {wanted!r}")
        file.write_text("", encoding="utf-8")
        code, out, err = run(file)
        holds(code == 1 and ":1:1: the columns are ," in err, f"empty: {err!r}")
        file.write_text(HEAD.replace("unit", "units") + "\n" + GOOD[0] + "\n",
                        encoding="utf-8")
        code, out, err = run("--check", file)
        holds(code == 1 and "wanted state,machine," in err, f"head: {err!r}")

        file.write_text("\n".join([HEAD] + GOOD) + "\n", encoding="utf-8")
        code, out, err = run(file)
        holds(code == 0 and "## some: a1, box" in out and
              "| sum |  | 2.5 | us | 2.4 to 2.6 | 31 |  |" in out, f"table: {out!r}")
        code, out, err = run(file, "--compare", "a1", "b2")
        holds(code == 0 and "| sum |  | us | 2.5 | 2.4 to 2.6 | 5.0 |  | 2.000 |"
              in out and "wide" not in out, f"compare: {out!r} {err!r}")
        code, out, err = run(file, "--compare", "a1", "c3")
        holds(code == 2 and 'no row of "c3", wanted one of: a1; b2' in err,
              f"compare, no such state: {err!r}")
        code, out, err = run(file, "--state", "c3")
        holds(code == 2 and not out, f"no such state: {err!r}")
        file.write_text("\n".join([HEAD] + GOOD + [GOOD[0].replace("box", "ship")])
                        + "\n", encoding="utf-8")
        code, out, err = run(file, "--compare", "a1", "b2")
        holds(code == 2 and "a1@box; a1@ship" in err, f"two machines: {err!r}")
        code, out, err = run(file, "--compare", "a1@ship", "b2")
        holds(code == 0 and "2.000" in out, f"one machine: {err!r}")

        image = pathlib.Path(folder, "some.png")
        sys.modules["matplotlib"] = None  # its import fails
        code, out, err = run(file, "--plot", image)
        holds(code == 3 and "--plot needs matplotlib" in err and
              not image.exists(), f"no matplotlib: {code} {err!r}")
        code, out, err = run(pathlib.Path(folder, "none.csv"))
        holds(code == 2 and "none.csv" in err, f"no file: {err!r}")

    for text in failures:
        print(text, file=sys.stderr)
    print(f"{checks} checks, {len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
