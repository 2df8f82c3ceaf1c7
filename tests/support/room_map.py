#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which folder includes which: a picture, and a check that there is no circle.

    room_map.py                 print the folders and what they include
    room_map.py --svg FILE      write the picture (docs/rooms.svg)
    room_map.py --check FILE    exit 1 if there is a circle or FILE is not up to date
    --root FOLDER               another source tree

A folder stands above all that it includes. An arrow that others imply is left out.
"""
import argparse
import collections
import os
import re
import sys

TOPS = ["core", "kernels", "backends", "plugins", "tools"]
SOURCE = re.compile(r"\.(c|h|cpp|cu|cuh|glsl|comp|def)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)
COLOURS = {"core": "#cfe2f3", "kernels": "#d9ead3", "backends": "#fff2cc",
           "plugins": "#f4cccc", "tools": "#e6d8f0"}
WIDTH, HEIGHT, GAP_X, GAP_Y = 132, 26, 14, 44


def sources(root):
    for top in TOPS:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(names):
                if SOURCE.search(name):
                    yield os.path.relpath(os.path.join(folder, name), root)


def room(path):
    return "/".join(path.split("/")[:2])


def read(root):
    """folder -> folders that it includes"""
    files = list(sources(root))
    by_name = collections.defaultdict(list)
    for path in files:
        by_name[os.path.basename(path)].append(path)
    edges = {room(path): set() for path in files}
    for path in files:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            names = INCLUDE.findall(file.read())
        for name in names:
            ending = "/" + name.replace("../", "")
            found = [f for f in by_name[os.path.basename(name)]
                     if ("/" + f).endswith(ending)]
            beside = [f for f in found if room(f) == room(path)]
            if found and not beside:
                edges[room(path)].add(room(found[0]))
    return edges


def reach(edges, start):
    seen = set()
    todo = [start]
    while todo:
        for other in edges[todo.pop()]:
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def circles(edges):
    reached = {name: reach(edges, name) for name in edges}
    return sorted({tuple(sorted(o for o in reached[name] if name in reached[o]))
                   for name in edges if name in reached[name]})


def layers(edges):
    """folder -> how many stand below it in the longest chain"""
    depth = {}

    def of(name):
        if name not in depth:
            depth[name] = 1 + max((of(o) for o in edges[name]), default=-1)
        return depth[name]

    for name in edges:
        of(name)
    return depth


def draw(edges):
    depth = layers(edges)
    rows = [[n for n in sorted(edges, key=lambda n: (TOPS.index(n.split("/")[0]), n))
             if depth[n] == d] for d in range(max(depth.values()) + 1)]
    width = max(len(row) for row in rows) * (WIDTH + GAP_X) + GAP_X
    height = len(rows) * (HEIGHT + GAP_Y) - GAP_Y + 2 * GAP_X
    at = {}
    for d, row in enumerate(rows):
        left = (width - len(row) * (WIDTH + GAP_X) + GAP_X) / 2
        for k, name in enumerate(row):
            at[name] = (left + k * (WIDTH + GAP_X),
                        height - (d + 1) * (HEIGHT + GAP_Y) + GAP_Y - GAP_X)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           '<defs><marker id="tip" markerWidth="7" markerHeight="7" refX="6" '
           'refY="3.5" orient="auto"><path d="M0,0 L7,3.5 L0,7 z" fill="#777"/>'
           '</marker></defs>']
    for name in sorted(edges):
        implied = set().union(*(reach(edges, o) for o in edges[name]), set())
        for other in sorted(edges[name] - implied):
            (x, y), (to_x, to_y) = at[name], at[other]
            out.append(f'<line x1="{x + WIDTH / 2:.0f}" y1="{y + HEIGHT:.0f}" '
                       f'x2="{to_x + WIDTH / 2:.0f}" y2="{to_y - 1:.0f}" '
                       'stroke="#777" marker-end="url(#tip)"/>')
    for name in sorted(edges):
        x, y = at[name]
        out.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" '
                   f'height="{HEIGHT}" rx="4" stroke="#555" '
                   f'fill="{COLOURS[name.split("/")[0]]}"/>')
        out.append(f'<text x="{x + WIDTH / 2:.0f}" y="{y + 17:.0f}" '
                   f'text-anchor="middle">{name}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=os.path.join(os.path.dirname(
        os.path.realpath(__file__)), "..", ".."))
    parser.add_argument("--svg")
    parser.add_argument("--check")
    arguments = parser.parse_args()
    edges = read(arguments.root)
    found = circles(edges)
    for circle in found:
        print("circle: " + " -> ".join(circle), file=sys.stderr)
    if found:
        return 1
    if arguments.svg:
        with open(arguments.svg, "w", encoding="utf-8") as file:
            file.write(draw(edges))
    elif arguments.check:
        with open(arguments.check, encoding="utf-8") as file:
            if file.read() != draw(edges):
                print(f"{arguments.check} is not up to date: "
                      f"tests/support/room_map.py --svg {arguments.check}",
                      file=sys.stderr)
                return 1
    else:
        for name in sorted(edges):
            print(f"{name}: {', '.join(sorted(edges[name])) or '-'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
