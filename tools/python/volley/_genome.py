# SPDX-License-Identifier: Apache-2.0
"""Genomes as the library takes them: from a file, text or a dict, with tables
of arrays in place of files."""
from __future__ import annotations

import ctypes
import difflib
import os
import re
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

import numpy as np

from . import _where
from ._errors import Error, plain
from ._library import (GenomeSource, Override, Table, TableColumn, make, text)

Tables = Mapping[str, Mapping[str, Any]]
Genome = Union[str, "os.PathLike[str]", Mapping[str, Any]]

# VLY_COLUMN_* of volley.h
_TYPES = {"float64": 1, "float32": 2, "int64": 3, "int32": 4, "uint64": 5,
          "uint32": 6}
# small types become the next that the library reads: nothing is lost
_WIDER = {"float16": "float32", "int8": "int32", "int16": "int32",
          "uint8": "uint32", "uint16": "uint32", "bool": "uint32"}
_PIECE = 1 << 14
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_ENDS = ("source", "target")


# ---- arrays ---------------------------------------------------------------

def numbers(values: Any, what: str) -> "np.ndarray[Any, Any]":
    """An array of numbers. Errors  TypeError: what has other things in it;
    ValueError: rows of several lengths, masked values"""
    if np.ma.is_masked(values):  # asarray would take what is below the mask
        raise ValueError(f"{what} has masked values, wanted numbers: fill or "
                         "remove them")
    try:
        array = np.asarray(values)
    except ValueError:  # rows of several lengths
        raise ValueError(f"{what} has rows of several lengths") from None
    if array.size == 0 and array.dtype == np.float64:
        return array
    if array.dtype.kind not in "iufb":
        raise TypeError(f"{what} has dtype {array.dtype}, wanted numbers")
    return array


def floats(values: Any, what: str) -> "np.ndarray[Any, Any]":
    """The same as float64."""
    return numbers(values, what).astype(np.float64, copy=False)


def _decimals(array: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Times of float32 as the decimal numbers that they stand for, 0.3 and not
    0.30000001192: so they are whole bursts where they were meant to be. A number
    with more than six decimals stays what it is."""
    made = array.astype(np.float64)
    with np.errstate(all="ignore"):  # infinity and what is no number stay
        for at in range(0, array.size, _PIECE):  # what fits into a cache
            wide = made[at:at + _PIECE]
            near = np.rint(wide * 1e6) / 1e6
            fits = near.astype(np.float32) == array[at:at + _PIECE]
            np.copyto(wide, near, where=fits)
    return made


def _column(name: str, values: Any, table: str) -> "np.ndarray[Any, Any]":
    what = f"column {plain(str(name))} of {plain(table)}"
    array = numbers(values, what)
    if array.ndim != 1:
        raise ValueError(f"{what} has shape {array.shape}, wanted one "
                         "dimension: a value a row")
    if name in _ENDS and array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{what} has dtype {array.dtype}, wanted whole "
                        "numbers: indices of neurons from 0")
    if name.endswith("_ms") and array.dtype == np.float32:
        array = _decimals(array)
    kind = _WIDER.get(array.dtype.name, array.dtype.name)
    if kind not in _TYPES:
        raise TypeError(f"{what} has dtype {array.dtype}, wanted one of " +
                        ", ".join(_TYPES))
    return np.require(array, dtype=kind, requirements=["C", "ALIGNED"])


def _given(tables: Tables) -> Tuple[Any, List[Any]]:
    """The C array of the tables, and what must live as long as it."""
    kept: List[Any] = []
    made = (Table * max(len(tables), 1))()
    for t, (name, columns) in enumerate(tables.items()):
        if not isinstance(columns, Mapping) or not columns:
            raise TypeError(f"table {plain(str(name))} is "
                            f"{type(columns).__name__}, wanted a dict of "
                            "arrays by column")
        entries = (TableColumn * len(columns))()
        n_rows = None
        for c, (column, values) in enumerate(columns.items()):
            array = _column(column, values, str(name))
            if n_rows is not None and len(array) != n_rows:
                raise ValueError(
                    f"column {plain(str(column))} of {plain(str(name))} has "
                    f"{len(array)} values, wanted {n_rows} as the first "
                    "column has")
            n_rows = len(array)
            kept.append(array)
            entries[c] = TableColumn(
                text(column, "a column"), array.ctypes.data or None,
                _TYPES[array.dtype.name], 0)
        kept.append(entries)
        made[t] = Table(text(name, "a table"), entries, n_rows or 0,
                        len(columns), 0)
    return made, kept


# ---- TOML -----------------------------------------------------------------

def toml(value: Any) -> str:
    """A Python value in the form of --set; text is unchanged."""
    return value if isinstance(value, str) else _toml(value, "a setting")


def _quoted(value: str) -> str:
    made = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(
        c if c.isprintable() else
        (f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}")
        for c in made) + '"'


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key is {plain(repr(key))}, wanted text")
    return key if _BARE.match(key) else _quoted(key)


def _toml(value: Any, what: str) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, np.floating):  # 0.3 of float32 is 0.3
        return repr(float(str(value)))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return _toml(value[()], what)
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(_toml(item, what) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_toml(v, f'{what}.{k}')}"
                                for k, v in value.items()) + " }"
    raise TypeError(f"{plain(what)} is {type(value).__name__}, wanted a "
                    "number, text, bool, or a list or dict of them")


def _is_row(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


def _area(path: str, area: Mapping[str, Any], tables: Dict[str, Any]
          ) -> Dict[str, Any]:
    """An area: an array of a parameter becomes a table."""
    made: Dict[str, Any] = {}
    for key, value in area.items():
        # what the area counts or places by a list stays one
        if _is_row(value) and key not in _LISTS:
            if value.ndim > 1:
                raise ValueError(f"{plain(f'{path}.{key}')} has shape "
                                 f"{value.shape}, wanted one dimension: a "
                                 "value a neuron")
            name = f"{path}.{key}"
            tables[name] = {key: value}
            value = {"file": name, "column": key}
        elif key == "positions" and isinstance(value, Mapping):
            value = _area(f"{path}.positions", value, tables)
        made[key] = value
    return made


_LISTS = ("voxels", "at", "times_ms", "bursts")


def _map(path: str, entry: Mapping[str, Any], tables: Dict[str, Any]
         ) -> Dict[str, Any]:
    """A map with source and target: its arrays become a table."""
    if not any(end in entry for end in _ENDS):
        return dict(entry)
    for end in _ENDS:
        if end not in entry:
            raise ValueError(f"{path} has {_ENDS[end == 'source']} and no "
                             f"{end}, wanted both")
    if entry.get("rule", "file") != "file" or "file" in entry:
        raise ValueError(f"{path} has source and target, wanted no file and "
                         "no rule but \"file\" beside them")
    name = f"{path}.edges"
    made: Dict[str, Any] = {}
    columns = {}
    for key, value in entry.items():
        listed = isinstance(value, (list, tuple)) or _is_row(value)
        stem = str(key).split("_")[0]
        if key in _ENDS or (stem in ("weight", "delay") and listed):
            columns[key] = value
        else:
            made[key] = value
    tables[name] = columns
    made["rule"] = "file"
    made["file"] = name
    return made


def from_dict(genome: Mapping[str, Any]) -> Tuple[str, Dict[str, Any]]:
    """The text of a genome and its tables, from a dict with the keys of a
    genome's file. format = 1 may be left out.

    >>> text, tables = from_dict({"run": {"dt_ms": 0.5}, "map": [
    ...     {"from": "A", "to": "B", "source": [0], "target": [1],
    ...      "weight_mv": [2.5]}]})
    >>> print(text)
    format = 1
    [run]
    dt_ms = 0.5
    [[map]]
    from = "A"
    to = "B"
    rule = "file"
    file = "map.0.edges"
    <BLANKLINE>
    >>> tables
    {'map.0.edges': {'source': [0], 'target': [1], 'weight_mv': [2.5]}}
    """
    tables: Dict[str, Any] = {}
    top: List[str] = []
    below: List[str] = []
    if "format" not in genome:
        top.append("format = 1")
    for key, value in genome.items():
        several = isinstance(value, (list, tuple)) and value and all(
            isinstance(one, Mapping) for one in value)
        if several:
            for index, one in enumerate(value):
                if key == "map":
                    one = _map(f"map.{one.get('id', index)}", one, tables)
                below.append(f"[[{_key(key)}]]")
                below += [f"{_key(k)} = {_toml(v, f'{key}.{index}.{k}')}"
                          for k, v in one.items()]
        elif isinstance(value, Mapping) and key in ("area", "model", "use",
                                                    "morphology"):
            for name, one in value.items():
                if not isinstance(one, Mapping):
                    raise TypeError(f"{key}.{plain(str(name))} is "
                                    f"{type(one).__name__}, wanted a dict")
                if key == "area":
                    one = _area(f"area.{name}", one, tables)
                below.append(f"[{_key(key)}.{_key(name)}]")
                below += [f"{_key(k)} = {_toml(v, f'{key}.{name}.{k}')}"
                          for k, v in one.items()]
        elif isinstance(value, Mapping):
            below.append(f"[{_key(key)}]")
            below += [f"{_key(k)} = {_toml(v, f'{key}.{k}')}"
                      for k, v in value.items()]
        else:
            top.append(f"{_key(key)} = {_toml(value, str(key))}")
    return "\n".join(top + below) + "\n", tables


# ---- reading --------------------------------------------------------------

def _find(genome: Any) -> bytes:
    """The path of a file, or of a genome that ships."""
    path = os.fspath(genome)
    if isinstance(path, str) and not os.path.exists(path):
        shipped = _where.genome(path)
        if shipped:
            path = shipped
    return text(path, "a genome")


def _shipped(name: Any) -> str:
    """What a name that no file has may have meant."""
    if isinstance(name, os.PathLike):
        name = os.fspath(name)
    if not isinstance(name, str) or os.path.exists(name) or os.sep in name:
        return ""
    near = difflib.get_close_matches(name, _where.genomes(), 1)
    return (f"; did you mean {near[0]}, which ships?" if near else
            "; `volley new` lists the genomes that ship")


def read(genome: Genome, settings: Optional[Mapping[str, Any]],
         tables: Optional[Tables]) -> ctypes.c_void_p:
    """The handle of a genome; the caller destroys it."""
    for what, wanted in (("set", settings), ("tables", tables)):
        if wanted is not None and not isinstance(wanted, Mapping):
            raise TypeError(f"{what} is {type(wanted).__name__}, wanted a dict")
    if isinstance(genome, str) and not genome:
        raise ValueError("a genome is '', wanted the name of a file, text or a "
                         "dict")
    given: Dict[str, Any] = dict(tables or {})
    pairs = [(text(str(path)), text(toml(value)))
             for path, value in (settings or {}).items()]
    overrides = (Override * max(len(pairs), 1))(
        *(Override(path, value) for path, value in pairs))
    source = GenomeSource(struct_size=ctypes.sizeof(GenomeSource),
                          n_overrides=len(pairs), overrides=overrides)
    written: Optional[str] = None
    if isinstance(genome, Mapping):
        written, own = from_dict(genome)
        for name in own:
            if name in given:
                raise ValueError(f"table {plain(name)} is given twice, by the "
                                 "dict and by tables")
        given.update(own)
    elif isinstance(genome, str) and "\n" in genome:
        written = genome
    elif not isinstance(genome, (str, os.PathLike)):
        raise TypeError(f"a genome is {type(genome).__name__}, wanted the name "
                        "of a file, text or a dict")
    if written is None:
        source.name = _find(genome)
    else:
        encoded = text(written, "a genome")
        source.name, source.text = b"genome", encoded
        source.n_bytes = len(encoded)
    made, kept = _given(given)
    source.tables, source.n_tables = made, len(given)
    try:
        handle = make("genome_read", ctypes.byref(source))
    except Error as why:
        if written is None and why.status == "E_IO":
            why.args = (str(why) + _shipped(genome),)
        raise
    del kept
    return handle
