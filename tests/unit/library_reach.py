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


def names(nm, paths, *options):
    """file -> names of its symbols; one process for all files"""
    text = subprocess.run([nm, "-A", *options, *paths], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    found = {path: set() for path in paths}
    for line in text.splitlines():
        path, _, symbol = line.partition(":")
        found[path].add(symbol.split()[-1].split("@")[0])
    return found


def main():
    nm, library, *lists = sys.argv[1:]
    objects = ";".join(lists).split(";")  # CMake may pass its list as one
    public = names(nm, [library], "-D", "--defined-only")[library]
    wanted = names(nm, objects, "--undefined-only")
    owner = {}
    for path, symbols in names(nm, objects, "--defined-only",
                               "--extern-only").items():
        for name in symbols:
            owner.setdefault(name, path)
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
