#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# circles.py FOLDER
# Whether the C files of a folder depend on each other in a circle. A source
# depends on the file that defines a function or a table that it names; a header
# depends on the headers of the folder that it includes. Prints each file and
# what it depends on, the ones without dependence first. Exit code 1: a circle,
# which is printed.
import os
import re
import sys

IGNORED = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
# at the beginning of a line: a function with its body, or a constant table
FUNCTION = re.compile(r"^(?!static)[a-z][\w *]*?\b(\w+)\([^;{}]*\)\s*\{",
                      re.MULTILINE)
TABLE = re.compile(r"^const [\w *]*?\b(\w+)(?:\[\])? = ", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def calls(folder, names):
    texts = {n: IGNORED.sub(" ", read(folder, n)) for n in names}
    owner = {}
    for name, text in texts.items():
        for pattern in (FUNCTION, TABLE):
            for found in pattern.finditer(text):
                owner[found.group(1)] = name
    return {name: {owner[word] for word in re.findall(r"\w+", text)
                   if owner.get(word, name) != name}
            for name, text in texts.items()}


def includes(folder, names):
    return {name: {os.path.basename(found)
                   for found in INCLUDE.findall(read(folder, name))} &
                  set(names) - {name}
            for name in names}


# Removes files whose dependences are all gone; what stays has a circle.
def check(graph):
    left = dict(graph)
    while left:
        ready = sorted(n for n in left if not graph[n] & set(left))
        if not ready:
            break
        for name in ready:
            print(name + ":", " ".join(sorted(graph[name])))
            del left[name]
    if not left:
        return True
    path = [min(left)]
    while path.count(path[-1]) == 1:
        path.append(min(graph[path[-1]] & set(left)))
    print("circle:", " -> ".join(path[path.index(path[-1]):]))
    return False


def main():
    if len(sys.argv) != 2:
        sys.exit("circles.py: wanted a folder")
    files = sorted(os.listdir(sys.argv[1]))
    sources = calls(sys.argv[1], [f for f in files if f.endswith(".c")])
    headers = includes(sys.argv[1], [f for f in files if f.endswith(".h")])
    if not sources or not any(sources.values()):
        sys.exit("circles.py: no calls between sources in " + sys.argv[1])
    sys.exit(0 if check(sources) & check(headers) else 1)


main()
