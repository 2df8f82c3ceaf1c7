# SPDX-License-Identifier: Apache-2.0
"""Where libvolley, the command and the genomes that ship are.

A wheel has them in the folder of this package, as a prefix of its own (bin, lib,
share). Debian's package has the package in PREFIX/lib/python3/dist-packages, and a
clone of the repository in tools/python.
"""
from __future__ import annotations

import glob
import os
from typing import Iterator, List, Optional

SONAME = "libvolley.so.0.2"  # of this version: test_package fails otherwise
_HERE = os.path.dirname(os.path.abspath(__file__))


def _above(folder: str, levels: int) -> Iterator[str]:
    """The folders above: the nearest first."""
    for _ in range(levels):
        folder = os.path.dirname(folder)
        yield folder


def _prefixes() -> Iterator[str]:
    """Folders above an installed package, up to its prefix. Those above a clone may
    be other users': nothing is looked for there."""
    if os.path.basename(os.path.dirname(_HERE)) in ("dist-packages", "site-packages"):
        yield from _above(_HERE, 4)


def library() -> str:
    """Path of libvolley: the file that VOLLEY_LIBRARY names, that of this package,
    that of the prefix which this package is in, or the name alone, for the dynamic
    linker to find."""
    named = os.environ.get("VOLLEY_LIBRARY")
    if named:
        return named
    own = os.path.join(_HERE, "lib", SONAME)
    if os.path.isfile(own):
        return own
    # PREFIX/lib/python3/dist-packages/volley: PREFIX/lib/x86_64-linux-gnu too
    for folder in list(_prefixes())[1:]:
        for pattern in (SONAME, os.path.join("*", SONAME)):
            found = glob.glob(os.path.join(glob.escape(folder), pattern))
            if found:
                return sorted(found)[0]
    return SONAME


def command() -> Optional[str]:
    """Path of the command `volley` that belongs to the library that VOLLEY_LIBRARY
    names, or to this package; None if there is none. A program of that name on PATH
    may be any other."""
    named = os.environ.get("VOLLEY_LIBRARY")  # BUILD/lib/libvolley.so
    beside = [os.path.dirname(os.path.dirname(os.path.abspath(named)))] if named else []
    for folder in (*beside, _HERE, *_prefixes()):
        path = os.path.join(folder, "bin", "volley")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def genomes_folder() -> Optional[str]:
    """The folder of the genomes that ship; None if there is none."""
    for folder in (_HERE, *_prefixes()):
        path = os.path.join(folder, "share", "volley", "genomes")
        if os.path.isdir(path):
            return path
    clone = os.path.join(list(_above(_HERE, 3))[-1], "genomes")
    return clone if os.path.isfile(os.path.join(clone, "KEYS.md")) else None


def genomes() -> List[str]:
    """The names of the genomes that ship, without folders."""
    found = glob.glob(os.path.join(glob.escape(genomes_folder() or os.devnull),
                                   "*.toml"))
    return sorted(os.path.basename(path)[:-len(".toml")] for path in found)


def genome(name: str) -> Optional[str]:
    """Path of a genome that ships, "brunel" or "gallery/column", with or without
    ".toml"; None if there is no such genome."""
    folder = genomes_folder()
    if folder is None:
        return None
    wanted = name if name.endswith(".toml") else name + ".toml"
    path = os.path.normpath(os.path.join(folder, wanted))
    inside = path.startswith(os.path.join(folder, ""))
    return path if inside and os.path.isfile(path) else None
