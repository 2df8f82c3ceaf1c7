# SPDX-License-Identifier: Apache-2.0
"""Where libvolley and the genomes that ship with it are.

library(): VOLLEY_LIBRARY (a file), then in this folder, then in the folders
above it, then as the dynamic linker finds it. genome(name): the file of a
genome that ships, by its name.
"""
from __future__ import annotations

import glob
import os
from typing import Optional

SONAME = "libvolley.so.0.2"  # of this version: test_package fails otherwise

_HERE = os.path.dirname(os.path.abspath(__file__))


def library() -> str:
    """The file of libvolley, or its name for the dynamic linker."""
    if "VOLLEY_LIBRARY" in os.environ:
        return os.environ["VOLLEY_LIBRARY"]
    folders = [_HERE]
    # PREFIX/lib/python3/dist-packages/volley: the folders above it
    for _ in range(4):
        folders.append(os.path.dirname(folders[-1]))
    for folder in folders:
        for pattern in (SONAME, os.path.join("*", SONAME)):
            found = sorted(glob.glob(os.path.join(glob.escape(folder),
                                                  pattern)))
            if found:
                return found[0]
    return SONAME


def genome(name: str) -> Optional[str]:
    """The file of the genome that ships under this name; None: there is none."""
    if not name or os.path.basename(name) != name:
        return None
    folder = _HERE
    for _ in range(5):
        for below in ("genomes", os.path.join("share", "volley", "genomes")):
            path = os.path.join(folder, below, name + ".toml")
            if os.path.isfile(path):
                return path
        folder = os.path.dirname(folder)
    return None
