# SPDX-License-Identifier: Apache-2.0
"""Compiled genomes and snapshots of nets."""
from __future__ import annotations

import ctypes
import threading
import warnings
from typing import Any, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from ._errors import GenomeWarning, RoundingWarning, plain, unknown
from ._genome import Genome, Tables, numbers, read
from ._library import (Handle, ProjectionInfo, StateInfo, call, check_handle,
                       check_whole, lib, make, text)


class Projection(NamedTuple):
    """Synapses of one map from one area to one area.

    A map whose weights need several units has up to three of them for each pair
    of areas. Weights are multiples of unit, in unit_name ("mV"); delays are in
    bursts. port: of the target; 2: weights from 0 on go to port 0, negative
    ones to port 1. rounding: |stored - asked| / |asked| of a constant weight,
    of the mean of a distribution, or of the worst weight of an array or file.
    share_coarse: share of the weights that may be off by more than 1%, by
    worst_coarse at most; mean_coarse: error of their mean if it is at least
    0.1% (all three are 0 if the connectome was loaded from a file).
    """
    number: int
    map: str
    source: str
    target: str
    port: int
    synapses: int
    unit: float
    unit_name: str
    weight_min: float
    weight_max: float
    delay_min: int
    delay_max: int
    rounding: float
    share_coarse: float
    worst_coarse: float
    mean_coarse: float


class Synapses(NamedTuple):
    """Synapses as arrays, one element each; sorted by pair, source, target.

    source, target  uint32 [n]   index in their areas, from 0
    weight          float64 [n]  as stored, in mV, pA or nS of the target's port
    delay_ms        float64 [n]
    pair            uint32 [n]   index in pairs
    pairs           of (map, source area, target area)
    """
    source: npt.NDArray[np.uint32]
    target: npt.NDArray[np.uint32]
    weight: npt.NDArray[np.float64]
    delay_ms: npt.NDArray[np.float64]
    pair: npt.NDArray[np.uint32]
    pairs: Tuple[Tuple[str, str, str], ...]


def group(projections: List[Projection]) -> List[List[Projection]]:
    """The projections of each map and pair of areas, in order."""
    groups: List[List[Projection]] = []
    for one in projections:
        if groups and groups[-1][0][1:4] == one[1:4]:
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _worse(off: float) -> str:
    return f"{100 * off:.3g}%" if off < 1 else f"a factor of {1 + off:.3g}"


class Connectome(Handle):
    """A compiled genome: Connectome.build(...) or Connectome.load(FILE).

    notes: values of the genome that were read differently than written.
    """
    _destroy = "vly_connectome_destroy"
    notes: Tuple[str, ...] = ()

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._guard = threading.RLock()  # of _nets and the handle
        self._h = check_handle(handle, "Connectome")
        self._nets = 0  # alive, which read it
        self._dropped = False  # only nets have it

    def _hold(self) -> ctypes.c_void_p:
        """The handle, for a net: close() is refused until _leave()."""
        with self._guard:
            handle = self._handle
            self._nets += 1
            return handle

    def _leave(self) -> None:
        with self._guard:
            self._nets -= 1
            if self._dropped and not self._nets:
                super().close()

    def __del__(self) -> None:
        # the collector may take a connectome before its net
        try:
            with self._guard:
                self._dropped = True
                if not self._nets:
                    super().close()
        except Exception:  # the interpreter is ending
            pass

    def close(self) -> None:
        """Frees the connectome.

        Raises ValueError while one of its nets is open.
        """
        with self._guard:
            if self._h is not None and self._nets:
                raise ValueError(f"{self._nets} net(s) of this Connectome are "
                                 "open: close them first")
            super().close()

    @classmethod
    def build(cls, genome: Genome, set: Optional[Mapping[str, Any]] = None,
              threads: int = 0, tables: Optional[Tables] = None,
              stacklevel: int = 2) -> "Connectome":
        """Compiles a genome: a file name, the name of one that ships, text
        (with a newline), or a dict.

        set      {"area.E.neurons": 100}, as --set
        threads  0: all cores
        tables   {"NAME": {"COLUMN": array [n]}}: in place of files of the
                 genome, file = "NAME"
        Raises   Error, TypeError, ValueError
        Warns    GenomeWarning, RoundingWarning
        """
        check_whole(threads, 2**32 - 1, "threads")
        handle = read(genome, set, tables)
        try:
            made = cls(make("connectome_build", handle, threads))
            n = lib().vly_genome_note_count(handle)
            notes = [lib().vly_genome_note(handle, i) for i in range(n)]
        finally:
            lib().vly_genome_destroy(handle)
        made.notes = tuple(plain(note.decode("utf-8", "backslashreplace"))
                           for note in notes if note is not None)
        if n > len(made.notes):
            made.notes += (f"and {n - len(made.notes)} more notes: `volley "
                           "check` has them",)
        for note in made.notes:
            warnings.warn(note, GenomeWarning, stacklevel=stacklevel)
        made._warn(stacklevel + 1)
        return made

    def _warn(self, stacklevel: int) -> None:
        """Warns of weights that no unit holds well, as `volley check` does."""
        for parts in group(self._projections([])):
            at = parts[0]
            if not at.share_coarse and not at.mean_coarse:
                continue
            why = []
            if at.share_coarse:
                why.append(f"{100 * at.share_coarse:.3g}% of its weights may "
                           "be off by more than 1%, by "
                           f"{_worse(at.worst_coarse)} at most")
            if at.mean_coarse:
                why.append(f"their mean is off by {_worse(at.mean_coarse)}")
            warnings.warn(f"map {at.map} (projection {at.number}): " +
                          "; ".join(why) + f": the unit is {at.unit:.6g} "
                          f"{at.unit_name}".rstrip(), RoundingWarning,
                          stacklevel=stacklevel)

    @classmethod
    def load(cls, path: Any, verify: bool = True) -> "Connectome":
        """Reads a file of save or of `volley run --save-connectome`.

        Raises  Error: not a connectome, damaged, cannot be read
        """
        return cls(make("connectome_load", text(path), int(verify)))

    def save(self, path: Any) -> None:
        """To a temporary file, synced and renamed. Raises  Error"""
        call("connectome_save", self._handle, text(path))

    def _projections(self, areas: List[str]) -> List[Projection]:
        found = []
        for i in range(lib().vly_connectome_projection_count(self._handle)):
            info = ProjectionInfo(struct_size=ctypes.sizeof(ProjectionInfo))
            call("connectome_projection_info", self._handle, i,
                 ctypes.byref(info))
            ends = [areas[k] if areas else str(k)
                    for k in (info.source_area, info.target_area)]
            found.append(Projection(
                i, info.map.decode("utf-8", "replace"), ends[0], ends[1],
                info.port, info.n_synapses, info.unit,
                info.unit_name.decode(), info.weight_min, info.weight_max,
                info.delay_min, info.delay_max, info.worst_rounding,
                info.share_coarse, info.worst_coarse, info.mean_coarse))
        return found


def choose(projections: List[Projection], map: Optional[str],
           source: Optional[str], target: Optional[str]
           ) -> List[List[Projection]]:
    """Those of a map, a source and a target area (None: any), in groups."""
    left = projections
    for what, place, name in (("map", 1, map), ("source area", 2, source),
                              ("target area", 3, target)):
        if name is None:
            continue
        fits = [one for one in left if one[place] == name]
        if not fits:
            raise unknown(what + (" with synapses" if place > 1 else ""), name,
                          dict.fromkeys(str(one[place]) for one in left))
        left = fits
    return group(left)


def ends_of(connectome: Connectome, one: Projection, delays: bool,
            first: int, n: int) -> "List[npt.NDArray[np.uint32]]":
    """source, target and, if asked, delays in bursts of n synapses of a
    projection."""
    arrays = [np.empty(n, np.uint32) for _ in range(2 + delays)]
    places = [array.ctypes.data for array in arrays]
    call("connectome_synapses", connectome._handle, one.number, first,
         n, places[0], places[1], None, places[2] if delays else None)
    return arrays


class End(NamedTuple):
    """One end of synapses: an area (None: any) and neurons of it (None: all),
    ascending."""
    area: Optional[str]
    neurons: Optional[npt.NDArray[np.int64]]

    def mask(self, column: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
        """Where a column of ids is one of the neurons."""
        if self.neurons is None:
            return np.ones(len(column), np.bool_)
        return np.isin(column, self.neurons)


# "E", ("E", 3), ("E", [3, 4]), ("E", slice(3, 9)) or None
Ends = Union[None, str, Tuple[str, Any]]


def end_of(what: str, given: Any, sizes: Mapping[str, int]) -> End:
    """Reads Ends; sizes are the numbers of neurons of the areas."""
    if given is None or isinstance(given, str):
        return End(given, None)
    if not isinstance(given, tuple) or len(given) != 2 or not isinstance(
            given[0], str):
        raise TypeError(f"{what} is {plain(repr(given))}, wanted an area or "
                        "(area, neurons)")
    area, neurons = given
    if area not in sizes:
        raise unknown(f"{what} area", area, sizes)
    n = sizes[area]
    if isinstance(neurons, slice):
        return End(area, np.unique(np.arange(n, dtype=np.int64)[neurons]))
    chosen = np.unique(np.atleast_1d(numbers(neurons, f"neurons of the {what}")))
    if chosen.size and chosen.dtype.kind not in "iu":
        raise TypeError(f"neurons of the {what} have dtype {chosen.dtype}, "
                        "wanted whole numbers: indices from 0 on")
    if chosen.size and not 0 <= chosen[0] <= chosen[-1] < n:
        raise ValueError(f"neurons {chosen[0]} to {chosen[-1]} of area {area}, "
                         f"wanted 0 to {n - 1}")
    return End(area, chosen.astype(np.int64))


def _place_of(connectome: Connectome, one: Projection, source: int) -> int:
    """The first synapse of a projection whose source is this one or later."""
    low, high = 0, one.synapses
    while low < high:
        middle = (low + high) // 2
        if ends_of(connectome, one, False, middle, 1)[0][0] < source:
            low = middle + 1
        else:
            high = middle
    return low


def span_of(connectome: Connectome, one: Projection, source: End
            ) -> Tuple[int, int]:
    """The synapses of a projection that hold all of these sources: the first
    of them, and how many."""
    if source.neurons is None:
        return 0, one.synapses
    if not len(source.neurons):
        return 0, 0
    first = _place_of(connectome, one, int(source.neurons[0]))
    return first, _place_of(connectome, one,
                            int(source.neurons[-1]) + 1) - first


class State(Handle):
    """A snapshot of a net, as checkpoints hold it."""
    _destroy = "vly_state_destroy"

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._h = check_handle(handle, "State")

    @classmethod
    def load(cls, path: Any) -> "State":
        """Reads a checkpoint. Raises  Error"""
        return cls(make("state_load", text(path)))

    def save(self, path: Any) -> None:
        """To a temporary file, synced and renamed. Raises  Error"""
        call("state_save", self._handle, text(path))

    def _info(self) -> StateInfo:
        info = StateInfo(struct_size=ctypes.sizeof(StateInfo))
        call("state_get_info", self._handle, ctypes.byref(info))
        return info

    @property
    def burst(self) -> int:
        """Bursts done."""
        return int(self._info().bursts)

    @property
    def digest(self) -> int:
        """Digest of all spikes so far."""
        return int(self._info().digest)

    @property
    def connectome_hash(self) -> str:
        """32 hex digits, as in manifest.json."""
        return "%016x%016x" % tuple(self._info().connectome_hash)

    @property
    def connectome_digest(self) -> Optional[str]:
        """The same as a sum over all synapses; None if the state was loaded
        from a checkpoint of version 1, which has none."""
        digest = tuple(self._info().connectome_digest)
        return "%016x%016x" % digest if any(digest) else None
