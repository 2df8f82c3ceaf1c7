# SPDX-License-Identifier: Apache-2.0
"""Every object of libvolley is reached from its public functions.

    library_reach.py NM LIBVOLLEY OBJECT...

An object that none of them uses, directly or through others, is of no use to a C
program: it belongs to a library beside libvolley (core/monitor, core/probe,
core/conformance), or a public function is missing.
"""
import os
import subprocess
import sys


def names(nm, path, *options):
    text = subprocess.run([nm, *options, path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines()
            if line.strip()}


def main():
    nm, library, *lists = sys.argv[1:]
    objects = ";".join(lists).split(";")  # CMake may pass its list as one
    public = names(nm, library, "-D", "--defined-only")
    owner = {}
    wanted = {}
    for path in objects:
        for name in names(nm, path, "--defined-only", "--extern-only"):
            owner.setdefault(name, path)
        wanted[path] = names(nm, path, "--undefined-only")
    todo = sorted({owner[name] for name in public if name in owner})
    reached = set(todo)
    while todo:
        for name in wanted[todo.pop()]:
            other = owner.get(name)
            if other and other not in reached:
                reached.add(other)
                todo.append(other)
    left = [path for path in objects if path not in reached]
    print(f"{len(public)} public functions reach {len(reached)} of "
          f"{len(objects)} objects")
    for path in left:
        print(f"{os.path.relpath(path)}: no public function reaches it",
              file=sys.stderr)
    return 1 if left or len(objects) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
