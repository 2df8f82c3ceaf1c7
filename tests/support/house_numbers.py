#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers of the source tree, before and after: lines by folder, circles, lines of
READMEs, files of invalid genomes, programs of tests.

    house_numbers.py [COMMIT] [--build FOLDER]

A Markdown table of COMMIT, if there is one, and of the work tree. FOLDER is a build
of the work tree, whose programs of tests are counted. The table in CONTRIBUTING.md
is made of it.
"""
import argparse
import io
import os
import subprocess
import tarfile
import tempfile

import room_map

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
CODE = (".c", ".h", ".cpp", ".cu", ".cuh", ".comp", ".glsl", ".def", ".inc")
FOLDERS = ["core", "backends", "plugins", "kernels", "tools", "tests"]


def files(root, top, endings):
    for folder, folders, names in os.walk(os.path.join(root, top)):
        folders[:] = [f for f in folders if not f.startswith((".", "build"))]
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(endings) and not os.path.islink(path):
                yield path


def lines(path):
    with open(path, "rb") as file:
        return file.read().count(b"\n")


def numbers(root):
    """what is counted -> number, in the order of the table"""
    found = {}
    for top in FOLDERS:
        found[f"lines of code, `{top}/`"] = sum(
            lines(path) for path in files(root, top, CODE))
    found["folders of product code in a circle"] = sum(
        len(circle) for circle in room_map.circles(room_map.read(root)))
    found["lines of `README.md`"] = lines(os.path.join(root, "README.md"))
    found["lines of the longest README of a folder"] = max(
        lines(path) for path in files(root, "", ("README.md",))
        if os.path.dirname(path) != root.rstrip("/"))
    invalid = os.path.join(root, "genomes", "invalid")
    found["files of invalid genomes"] = sum(
        name.endswith(".toml") for name in os.listdir(invalid))
    return found


def numbers_of(commit):
    archive = subprocess.run(["git", "-C", ROOT, "archive", commit], check=True,
                             stdout=subprocess.PIPE).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(folder)
        return numbers(folder)


def programs(build):
    folder = os.path.join(build, "tests")
    return sum(entry.is_file(follow_symlinks=False) and os.access(entry, os.X_OK)
               and entry.name.startswith(("test_", "tests_"))
               for entry in os.scandir(folder))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("commit", nargs="?")
    parser.add_argument("--build")
    arguments = parser.parse_args()
    after = numbers(ROOT)
    before = numbers_of(arguments.commit) if arguments.commit else {}
    if arguments.build:
        after["programs of tests"] = programs(arguments.build)
    print("| what | before | after |\n|---|---|---|")
    for what, number in after.items():
        print(f"| {what} | {before.get(what, '')} | {number} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
