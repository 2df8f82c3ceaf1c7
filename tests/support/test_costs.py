#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each test costs: seconds of processors, which other work on the machine
does not change, and seconds on the clock.

    test_costs.py BUILD [-R REGEX] [-E REGEX] [-L LABEL] [-LE LABEL] [-j JOBS]

Runs the tests as ctest does, JOBS at a time (1), and prints a line for each: seconds of
processors, seconds on the clock, result, name. The sum, halved, is the least time
that they can take on two cores.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time


def properties(test):
    return {p["name"]: p["value"] for p in test.get("properties", [])}


def chosen(test, options):
    labels = properties(test).get("LABELS", [])
    return (re.search(options.R, test["name"])
            and not (options.E and re.search(options.E, test["name"]))
            and (not options.L or any(re.search(options.L, l) for l in labels))
            and not any(re.search(options.LE, l) for l in labels))


def run(test):
    """(seconds of processors, seconds on the clock, result)"""
    values = properties(test)
    environment = dict(os.environ)
    for pair in values.get("ENVIRONMENT", []):
        name, _, value = pair.partition("=")
        environment[name] = value
    began = time.monotonic()
    child = subprocess.Popen(test["command"], env=environment,
                             cwd=values.get("WORKING_DIRECTORY"),
                             stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return (used.ru_utime + used.ru_stime, time.monotonic() - began,
            child.returncode)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("-R", default="")
    parser.add_argument("-E")
    parser.add_argument("-L")
    parser.add_argument("-LE", default="^(slow|gpu)$")
    parser.add_argument("-j", type=int, default=1)
    options = parser.parse_args()
    listed = subprocess.run(
        ["ctest", "--test-dir", options.build, "--show-only=json-v1"],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    tests = [t for t in json.loads(listed)["tests"] if chosen(t, options)]
    total = 0.0
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        todo = {pool.submit(run, test): test["name"] for test in tests}
        for done in concurrent.futures.as_completed(todo):
            used, clock, result = done.result()
            total += used
            print(f"{used:9.2f} {clock:9.2f} {result:4} {todo[done]}", flush=True)
    print(f"{total:9.2f} of {len(tests)} tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
