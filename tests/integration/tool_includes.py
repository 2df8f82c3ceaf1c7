# SPDX-License-Identifier: Apache-2.0
"""Who includes whom in tools/: tool_includes.py ROOT

Headers have no circle. The context of a run (run_job.h, run_part.h) includes no
header of a part, so that a part can be added without touching it; nor does the
loop (run_job.c) or the list (run_parts.c). --print lists units (a .c file and
its header) that include each other.
"""
import pathlib
import re
import sys

CONTEXT = ["run_job.h", "run_part.h", "run_job.c", "run_parts.c"]
ALLOWED = {"run_job.h", "run_part.h"}


def includes(path):
    text = path.read_text(encoding="utf-8")
    return re.findall(r'^#include "tools/([^"]+)"', text, re.MULTILINE)


def circles(graph):
    """Groups of nodes that reach each other (Tarjan 1972)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def main():
    tools = pathlib.Path(sys.argv[1]) / "tools"
    files = {str(path.relative_to(tools)): includes(path)
             for path in tools.glob("*/*.[ch]")}
    failed = 0
    if len(files) < 100:
        print(f"{tools}: {len(files)} files, wanted those of the command")
        failed = 1
    headers = {name: {other for other in found if other in files}
               for name, found in files.items() if name.endswith(".h")}
    for group in circles(headers):
        print("headers include each other:", " ".join(group))
        failed = 1
    for name in CONTEXT:
        for other in files["run/" + name]:
            if not other.startswith("cli/") and \
                    pathlib.Path(other).name not in ALLOWED:
                print(f"tools/run/{name} includes {other}, wanted no part")
                failed = 1
    if "--print" in sys.argv:
        units = {}
        for name, found in files.items():
            unit = name.rsplit(".", 1)[0]
            units.setdefault(unit, set()).update(
                other[:-2] for other in found if other[:-2] != unit)
        for unit in list(units):
            for other in units[unit]:
                units.setdefault(other, set())
        for group in circles(units):
            print("units include each other:", " ".join(group))
    return failed


if __name__ == "__main__":
    sys.exit(main())
