#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Private headers of libvolley that the command still includes.

    private_headers.py                the list: files of tools/ that include each
    private_headers.py --check LIST   exit 1 if the list and LIST differ
    private_headers.py --shrink LIST  write LIST again; refused if anything grows
    --root FOLDER                     another source tree

The command is to use what C programs can use: core/include/volley. LIST
(tests/support/private_headers.txt) has what is not done yet. It may only shrink.
core/base is the support library of the engine and the command, and the folders of
BESIDE are libraries of their own: none of them counts.
"""
import argparse
import collections
import os
import re
import sys

SUPPORT = "base"
BESIDE = ["accelerator", "conformance", "monitor", "probe"]
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def count(root):
    """private header -> number of files of tools/ that include it"""
    found = collections.Counter()
    n_files = 0
    for folder, folders, names in os.walk(os.path.join(root, "tools")):
        folders.sort()
        for name in sorted(names):
            if not name.endswith((".c", ".h")):
                continue
            n_files += 1
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                headers = set(INCLUDE.findall(file.read()))
            for header in headers:
                header = re.sub(r"^core/", "", header)
                room = header.split("/")[0]
                if room not in [SUPPORT, "include"] + BESIDE and \
                        os.path.isfile(os.path.join(root, "core", header)):
                    found[header] += 1
    if n_files < 100:
        sys.exit(f"{root}/tools: {n_files} files, wanted those of the command")
    return found


def listed(path):
    found = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                n, header = line.split()
                found[header] = int(n)
    return found


def text(found):
    rooms = collections.Counter()
    for header, n in found.items():
        rooms[header.split("/")[0]] += n
    lines = ["# files of tools/ that include a private header of libvolley; only "
             "fewer",
             f"# {len(found)} headers, {sum(found.values())} includes: " +
             ", ".join(f"{room} {n}" for room, n in sorted(rooms.items()))]
    lines += [f"{found[header]:3} {header}" for header in sorted(found)]
    return "\n".join(lines) + "\n"


def grown(now, before):
    for header in sorted(now):
        if now[header] > before[header]:
            yield (f"{header}: {now[header]} files of tools/ include it, wanted "
                   f"at most {before[header]}: what the command needs is made "
                   "public (core/include/volley/README.md)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=os.path.join(os.path.dirname(
        os.path.realpath(__file__)), "..", ".."))
    parser.add_argument("--check")
    parser.add_argument("--shrink")
    arguments = parser.parse_args()
    now = count(arguments.root)
    print(text(now), end="")
    path = arguments.check or arguments.shrink
    if not path:
        return 0
    before = listed(path)
    failures = list(grown(now, before))
    for failure in failures:
        print(failure, file=sys.stderr)
    if failures:
        return 1
    if arguments.shrink:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text(now))
    elif now != before:
        print(f"fewer than in {path}: tests/support/private_headers.py --shrink "
              f"{path}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
