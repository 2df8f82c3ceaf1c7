# SPDX-License-Identifier: Apache-2.0
"""A network on a backend: synapses, recordings, figures, moving."""
from __future__ import annotations

import contextlib
import ctypes
import itertools
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from ._connectome import (Connectome, End, Ends, Projection, State, Synapses,
                          choose, end_of, ends_of, span_of)
from ._errors import Error, plain, unknown
from ._explain import Explanation
from ._genome import floats, numbers
from ._library import (AreaStats, AssociationStats, BoundStats, MemoryStats,
                       Stats, call, check_kind, check_whole, lib, made_error,
                       make, plugins, registry, word)
from ._neurons import Neurons
from ._recording import FieldRecording, Recording, SpikeRecording
from ._run import Interrupt, alone
from ._spikes import Area, Spikes, statistics
from ._weights import write as write_weights


@contextlib.contextmanager
def _named(backend: str) -> Iterator[None]:
    """Says where the plugins of CUDA are, if the machine has none of them."""
    try:
        yield
    except Error as why:
        if (backend.partition(":")[0] == "cuda" and
                why.status == "E_UNSUPPORTED" and
                all(one["id"] != "cuda" for one in plugins())):
            why.args = (f"{why}; the package volley-engine-cuda13 has it",)
        raise


class Net(Neurons):
    """A network on a backend; volley.load makes one from a genome.

    connectome  several nets may share one Connectome
    backend     "auto", "cpu", "cpu:4" (threads), "cuda:1", "vulkan:0" (device)
    threads     0: all cores; "cpu:4" overrides it
    state       start there instead of at burst 0

    areas: a dict of Area by name; dt_ms: length of a burst. One thread at a time
    uses a net; stop() may come from any.
    """
    _destroy = "vly_net_destroy"

    def __init__(self, connectome: Connectome, backend: str = "auto",
                 threads: int = 0, state: Optional[State] = None) -> None:
        check_kind(connectome, Connectome, "a connectome")
        if state is not None:
            check_kind(state, State, "a state")
        check_whole(threads, 2**32 - 1, "threads")
        self._connectome = connectome
        name = word(backend, "a backend")
        self._start()
        compiled = connectome._hold()
        try:
            # the net reads the connectome until close
            with _named(backend), Interrupt():
                try:
                    self._h = (
                        make("net_create", compiled, registry(), name, threads)
                        if state is None else
                        make("net_resume", compiled, registry(), name, threads,
                             state._handle))
                finally:
                    if self._h is None:
                        connectome._leave()
        except BaseException:
            self.close()
            raise
        stats = self._stats()
        self.dt_ms = stats.dt_ms
        self._total = int(stats.neurons)
        self.areas = {}
        for index in range(stats.n_areas):
            info = self._area_stats(index)
            area = str(info.name.decode())
            self.areas[area] = Area(area, info.model.decode(), info.first,
                                    info.n_neurons,
                                    tuple(2.0**-q for q in
                                          info.q[:info.n_ports]))
        self._largest = {}
        self._warned = set()
        self._projections: Optional[List[Projection]] = None

    def close(self) -> None:
        """Frees the net; a second call does nothing.

        Raises  RuntimeError: the net runs, in this or another thread
        """
        was_open = self._h is not None
        try:
            super().close()
        finally:
            if was_open and self._h is None:
                self._connectome._leave()

    def __repr__(self) -> str:
        if self._h is None:
            return "<Net, closed>"
        return (f"<Net of {self._total} neurons in {len(self.areas)} areas, "
                f"dt {self.dt_ms:g} ms>")

    @property
    def _n_neurons(self) -> int:
        return self._total

    # ---- synapses

    @property
    def projections(self) -> List[Projection]:
        """What the maps made: a Projection for each map and pair of areas."""
        self._handle  # pylint: disable=pointless-statement
        if self._projections is None:
            self._projections = self._connectome._projections(
                list(self.areas))
        return self._projections

    def _part(self, one: Projection, ends: Tuple[End, End], weights: bool,
              columns: bool, delays: bool) -> Any:
        """source, target and delay, and weight of the wanted synapses."""
        first, n = span_of(self._connectome, one, ends[0])
        some = any(end.neurons is not None for end in ends)
        arrays = (ends_of(self._connectome, one, delays, first, n)
                  if columns or some else [])
        weight = np.empty(n if weights else 0)
        if weights:
            call("net_weights_read", self._handle, None, one.number, first, n,
                 weight.ctypes.data, None, None)
        if some:
            keep = ends[0].mask(arrays[0]) & ends[1].mask(arrays[1])
            arrays = [array[keep] for array in arrays]
            weight = weight[keep] if weights else weight
        return arrays, weight

    def _each(self, map: Optional[str], source: Ends, target: Ends,
              weights: bool, delays: bool) -> Any:
        """Of each pair of areas: source, target, weight, delay in order."""
        sizes = {name: area.neurons for name, area in self.areas.items()}
        ends = (end_of("source", source, sizes),
                end_of("target", target, sizes))
        for parts in choose(self.projections, map, ends[0].area, ends[1].area):
            found = [self._part(one, ends, weights,
                                not weights or delays or len(parts) > 1,
                                delays) for one in parts]
            columns = [np.concatenate(arrays)
                       for arrays in zip(*(arrays for arrays, _ in found))]
            weight = np.concatenate([part for _, part in found])
            if len(parts) > 1:
                order = np.lexsort((columns[1], columns[0]))
                columns = [column[order] for column in columns]
                weight = weight[order] if weights else weight
            yield parts[0], columns, weight

    @alone
    def synapses(self, map: Optional[str] = None, source: Ends = None,
                 target: Ends = None) -> Synapses:
        """The Synapses of a map, from an area, to an area (None: of all), with
        their weights now.

        source, target  "E"; or neurons of it: ("E", 3), ("E", [3, 4]),
                        ("E", slice(3, 9))

        They are sorted by pair of areas, source and target: those of arrays
        that were handed over too. Raises  UnknownName: no map or area with
        synapses has this name; ValueError, TypeError: neurons

        >>> import volley
        >>> area = {"model": "lif_psc_delta", "neurons": 2}
        >>> net = volley.load({"area": {"A": area, "B": area}, "map": [
        ...     {"id": "m", "from": "A", "to": "B", "rule": "all_to_all",
        ...      "weight_mv": 2, "delay_ms": 3}]}, "cpu:1")
        >>> got = net.synapses("m")
        >>> got.source, got.target
        (array([0, 0, 1, 1], dtype=uint32), array([0, 1, 0, 1], dtype=uint32))
        >>> got.weight, got.delay_ms
        (array([2., 2., 2., 2.]), array([3., 3., 3., 3.]))
        >>> got.pairs
        (('m', 'A', 'B'),)
        >>> net.synapses("m", source=("A", 1), target=("B", [0])).weight
        array([2.])
        >>> net.close()
        """
        pairs: List[Any] = []
        arrays: List[Any] = []
        index: List[Any] = []
        for one, (sources, targets, delays), weight in self._each(
                map, source, target, True, True):
            index.append(np.full(len(weight), len(pairs), np.uint32))
            pairs.append((one.map, one.source, one.target))
            arrays.append((sources, targets, weight, delays * self.dt_ms))
        if not pairs:
            none = np.empty(0, np.uint32)
            return Synapses(none, none, np.empty(0), np.empty(0), none, ())
        ends = [np.concatenate(part) for part in zip(*arrays)]
        return Synapses(ends[0], ends[1], ends[2], ends[3],
                        np.concatenate(index), tuple(pairs))

    @alone
    def weights(self, map: Optional[str] = None, source: Ends = None,
                target: Ends = None) -> npt.NDArray[np.float64]:
        """float64 [n]: weights now, in the order of synapses() and in mV, pA or
        nS of the target's port: as stored, a whole number of units."""
        parts = [weight for _, _, weight in
                 self._each(map, source, target, True, False)]
        return np.concatenate(parts) if parts else np.empty(0)

    @alone
    def write_weights(self, map: str, weights: npt.ArrayLike,
                      source: Ends = None, target: Ends = None) -> None:
        """Replaces weights of a map that learns: one number for all, or
        float64 [n] in the order and the unit of weights(map, source, target).

        They become whole multiples of 2^-16 of the stored unit, and are part of
        the state: of snapshots, swaps and checkpoints. After an exception
        nothing is changed.

        Raises  UnknownName, TypeError; ValueError: another shape; Error: the
                map does not learn, a weight is not between 0 and w_max
        """
        sizes = {name: area.neurons for name, area in self.areas.items()}
        ends = (end_of("source", source, sizes),
                end_of("target", target, sizes))
        write_weights(self, choose(self.projections, map, ends[0].area,
                                   ends[1].area), ends,
                      floats(weights, "weights"))

    @alone
    def delays_ms(self, map: Optional[str] = None,
                  source: Ends = None, target: Ends = None
                  ) -> npt.NDArray[np.float64]:
        """float64 [n]: delays in ms, in the order of synapses()."""
        parts = [columns[2] * self.dt_ms for _, columns, _ in
                 self._each(map, source, target, False, True)]
        return np.concatenate(parts) if parts else np.empty(0)

    # ---- recordings and figures

    @alone
    def record(self, area: Optional[str] = None, field: Optional[str] = None,
               neurons: Optional[npt.ArrayLike] = None,
               interval_ms: Optional[float] = None) -> Recording:
        """Records from the next burst on, in every run, until its stop().

        area      None: all areas (spikes only)
        field     None: spikes, a SpikeRecording; "v_mv": a FieldRecording
        neurons   index or array [n] in the area, recorded in ascending order
                  and each once: `neurons` of the recording; None: all
        interval_ms  of a field: time between two samples, whole bursts (a burst)

        Raises  UnknownName, TypeError, ValueError; Error: no such field
        """
        if self._running:
            raise RuntimeError("record is called by a function of a run of "
                               "the same net")
        chosen = None
        first, count = 0, self._total
        if area is not None:
            first, count = self.area(area)[2:4]
        if neurons is not None:
            if area is None:
                raise ValueError("neurons without an area, wanted both")
            chosen = np.unique(np.atleast_1d(numbers(neurons, "neurons")))
            if len(chosen) and chosen.dtype.kind not in "iu":
                raise TypeError(f"neurons have dtype {chosen.dtype}, wanted "
                                "whole numbers: indices from 0 on")
            if len(chosen) and not 0 <= chosen[0] <= chosen[-1] < count:
                raise ValueError(f"neurons {chosen[0]} to {chosen[-1]} of area "
                                 f"{area}, wanted 0 to {count - 1}")
            chosen = chosen.astype(np.uint32)
        made: Recording
        if field is None:
            if interval_ms is not None:
                raise ValueError("interval_ms without a field, wanted both")
            made = SpikeRecording(self, first, count, chosen)
        elif area is None:
            raise ValueError(f"field {plain(str(field))} without an area, "
                             "wanted both")
        else:
            interval = (1 if interval_ms is None else
                        self._bursts(None, interval_ms))
            if interval < 1:
                raise ValueError(f"interval_ms is {interval_ms}, wanted at "
                                 f"least {self.dt_ms:g}")
            made = FieldRecording(self, area, field, interval, first, count,
                                  chosen)
        self._recordings.append(made)
        return made

    def statistics(self, spikes: Optional[Spikes] = None,
                   from_ms: float = 0) -> Dict[str, Any]:
        """Rates, CV, Fano factor, silent share and correlation of each area, as
        the summary of `volley run --statistics` has them, as a dict; of the
        last run(record=True), or of these spikes.

        from_ms   time of the net from which spikes count, as --summary-from

        first_burst, bursts, bin_ms, cv_spikes_min; areas: for each name neurons,
        spikes, rate_hz, isi_cv, isi_cv_neurons, fano, silent_share,
        correlation. A figure that is not defined is NaN.
        """
        given = self.spikes if spikes is None else spikes
        if given is None:
            raise ValueError("no spikes: give them, or run with record=True")
        check_kind(given, Spikes, "spikes")
        if from_ms != 0:
            given = given.since(from_ms)
        return statistics(given, self.areas.values())

    def explain(self) -> Explanation:
        """Sizes, memory, rounding and plan: print() it, or take its parts."""
        return Explanation(self.stats(), list(self.areas.values()),
                           self.projections, self._connectome.notes)

    # ---- where it is

    @property
    def digest(self) -> int:
        """Digest of all spikes so far: equal on every backend."""
        return int(lib().vly_net_digest(self._handle))

    @alone
    def state_digest(self) -> int:
        """Digest of the state: fields, spikes in transit, pending input."""
        digest = ctypes.c_uint64()
        call("net_state_digest", self._handle, ctypes.byref(digest))
        return digest.value

    def _stats(self) -> Stats:
        stats = Stats(struct_size=ctypes.sizeof(Stats))
        call("net_stats", self._handle, ctypes.byref(stats))
        return stats

    def _area_stats(self, index: int) -> AreaStats:
        info = AreaStats(struct_size=ctypes.sizeof(AreaStats))
        status = lib().vly_net_area_stats(self._handle, index,
                                          ctypes.byref(info))
        if status:
            raise made_error(status, b"area %d cannot be asked" % index)
        return info

    @alone
    def stats(self) -> Dict[str, Union[int, float, str]]:
        """A dict: bursts, neurons, synapses, spikes, events, run_ns, ...,
        host_bytes, device_bytes, connectome_bytes, backend, device, plan."""
        stats = self._stats()
        return {name: value.decode() if isinstance(value, bytes) else value
                for name, value in ((field[0], getattr(stats, field[0]))
                                    for field in Stats._fields_[2:])}

    def _listed(self, function: str, kind: Any) -> List[Dict[str, Any]]:
        found: List[Dict[str, Any]] = []
        while True:
            info = kind(struct_size=ctypes.sizeof(kind))
            if getattr(lib(), function)(self._handle, len(found),
                                        ctypes.byref(info)):
                return found
            values = ((field[0], getattr(info, field[0]))
                      for field in kind._fields_[1:])
            found.append({name: value.decode() if isinstance(value, bytes)
                          else value for name, value in values
                          if name != "reserved"})

    @alone
    def at_bounds(self) -> List[Dict[str, Any]]:
        """A dict of each field that is at a bound of its range in some neurons
        now: area, field, unit, n_neurons, lower, n_lower, upper, n_upper,
        declared. Unless a [neuron] declares the range, the area diverges."""
        found: List[Dict[str, Any]] = []
        for index in itertools.count():
            info = BoundStats(struct_size=ctypes.sizeof(BoundStats))
            try:
                call("net_bound_stats", self._handle, index,
                     ctypes.byref(info))
            except Error as why:
                if why.status == "E_INVALID":  # after the last field
                    return found
                raise
            if info.n_lower + info.n_upper:
                found.append({
                    "area": info.area.decode(), "field": info.field.decode(),
                    "unit": info.unit.decode(), "n_neurons": info.n_neurons,
                    "lower": info.lower, "n_lower": info.n_lower,
                    "upper": info.upper, "n_upper": info.n_upper,
                    "declared": bool(info.declared)})
        return found

    @alone
    def memories(self) -> List[Dict[str, Any]]:
        """A dict of each [memory]: area, n_neurons (room for patterns),
        n_known, n_longterm, n_made, n_seen, n_forgotten, n_dropped."""
        return self._listed("vly_net_memory_stats", MemoryStats)

    @alone
    def associations(self) -> List[Dict[str, Any]]:
        """A dict of each [association]: name, from_area, to_area, n_synapses.
        """
        return self._listed("vly_net_association_stats", AssociationStats)

    @alone
    def association(self, name: str) -> Synapses:
        """The Synapses of an [association] that exist now, those from its area
        `from`; the others have the same weights. Raises  UnknownName
        """
        every = self._listed("vly_net_association_stats", AssociationStats)
        names = [one["name"] for one in every]
        if name not in names:
            raise unknown("association", name, names)
        one = every[names.index(name)]
        n = one["n_synapses"]
        source, target = np.empty(n, np.uint32), np.empty(n, np.uint32)
        weight = np.empty(n)
        call("net_association_read", self._handle, names.index(name), 0, n,
             source.ctypes.data, target.ctypes.data, weight.ctypes.data)
        return Synapses(source, target, weight, np.full(n, self.dt_ms),
                        np.zeros(n, np.uint32),
                        ((name, one["from_area"], one["to_area"]),))

    @property
    def backend(self) -> str:
        """The backend of the net: "cpu:4"."""
        return str(self.stats()["backend"])

    # ---- moving

    @alone
    def swap(self, backend: str, threads: int = 0) -> None:
        """Moves to another backend; results do not change. On failure (Error)
        the net stays on its backend."""
        check_whole(threads, 2**32 - 1, "threads")
        name = word(backend, "a backend")
        with _named(backend):
            call("net_swap", self._handle, name, threads)
        self._quick = 1

    @alone
    def snapshot(self) -> State:
        """The State now."""
        return State(make("net_snapshot", self._handle))

    @alone
    def restore(self, state: State) -> None:
        """Sets the net to a State of the same connectome; recordings end there
        and go on."""
        check_kind(state, State, "a state")
        call("net_restore", self._handle, state._handle)
        for one in self._recordings:
            one._cut(self.burst)
