# SPDX-License-Identifier: Apache-2.0
"""Spikes of a run, the areas that they belong to, and their statistics."""
from __future__ import annotations

import math
from typing import Any, Dict, Iterable, NamedTuple, Tuple

import numpy as np
import numpy.typing as npt

from ._library import check_kind, check_number

# As `volley run --statistics` has them.
# Source  Potjans and Diesmann 2014, doi:10.1093/cercor/bhs358
BIN_MS = 3.0  # in which the spikes of an area are counted
CV_SPIKES = 3  # a neuron with fewer spikes has no CV
# neurons of an area of which every pair is correlated
CORRELATED = 1000


def whole_bursts(ms: float, dt_ms: float) -> int:
    """Bursts in a time of at most 2^53 of them, -1 if they are not a whole
    number: as the command judges --ms and --summary-from."""
    exact = ms / dt_ms
    bursts = math.floor(exact + 0.5) if 0 <= exact <= 2.0 ** 53 else -1
    fits = abs(exact - bursts) <= 1e-9 * bursts if bursts > 0 else ms == 0
    return bursts if fits else -1


class Spikes(NamedTuple):
    """Spikes of a run, in order of bursts, then of neurons.

    bursts   uint64 [n]  the burst of each, the first of a net being 0
    neurons  uint32 [n]  ids in the whole net
    dt_ms    float       a burst's length
    first, last          the bursts that were run: [first, last)

    >>> spikes = Spikes(np.array([0, 4], np.uint64),
    ...                 np.array([1, 0], np.uint32), 0.5, 0, 10)
    >>> spikes.times_ms
    array([0.5, 2.5])
    >>> spikes.ms
    5.0
    """
    bursts: npt.NDArray[np.uint64]
    neurons: npt.NDArray[np.uint32]
    dt_ms: float
    first: int
    last: int

    @property
    def times_ms(self) -> npt.NDArray[np.float64]:
        """float64 [n]: the end of each spike's burst, as in recordings."""
        return (self.bursts + 1).astype(np.float64) * self.dt_ms

    @property
    def ms(self) -> float:
        """Length of the run in ms of model time."""
        return (self.last - self.first) * self.dt_ms

    def since(self, ms: float) -> Spikes:
        """The spikes of the bursts from this time of the net on, a whole number
        of bursts: what `volley run --summary-from` does.

        Raises  ValueError: not a whole number of bursts, or no burst is left

        >>> spikes = Spikes(np.array([0, 4], np.uint64),
        ...                 np.array([1, 0], np.uint32), 0.5, 0, 10)
        >>> spikes.since(2).bursts, spikes.since(2).ms
        (array([4], dtype=uint64), 3.0)
        """
        burst = whole_bursts(check_number(ms, "a time"), self.dt_ms)
        if burst < 0:
            raise ValueError(f"spikes from {ms} ms on, wanted a whole number "
                             f"of bursts of {self.dt_ms:g} ms")
        if burst > self.last or burst == self.last > self.first:
            raise ValueError(f"spikes from {ms} ms on, and they end at "
                             f"{self.last * self.dt_ms:g} ms: no burst would "
                             "be left, wanted less")
        inside = self.bursts >= np.uint64(burst)
        return self._replace(bursts=self.bursts[inside],
                             neurons=self.neurons[inside],
                             first=max(self.first, burst))


class Area(NamedTuple):
    """The ids of an area's neurons: first to first + neurons - 1.

    units: of each port, in its mV, pA or nS: input is a whole number of them.

    >>> area = Area("E", "lif_psc_delta", 10, 2)
    >>> spikes = Spikes(np.array([0, 4], np.uint64),
    ...                 np.array([3, 11], np.uint32), 0.5, 0, 100)
    >>> area.of(spikes).neurons
    array([1], dtype=uint32)
    >>> area.rate_hz(spikes)
    10.0
    """
    name: str
    model: str
    first: int
    neurons: int
    units: Tuple[float, ...] = ()

    def of(self, spikes: Spikes) -> Spikes:
        """The spikes of this area, with neurons counted from 0."""
        inside = ((spikes.neurons >= self.first) &
                  (spikes.neurons < self.first + self.neurons))
        return spikes._replace(bursts=spikes.bursts[inside],
                               neurons=spikes.neurons[inside] -
                               np.uint32(self.first))

    def rate_hz(self, spikes: Spikes) -> float:
        """The mean rate of a neuron of this area over the run, in Hz."""
        seconds = spikes.ms / 1000
        if not seconds or not self.neurons:
            return 0.0
        return len(self.of(spikes).neurons) / (self.neurons * seconds)


def _cv(part: Spikes, neurons: int) -> Tuple[float, int]:
    """Mean CV of the intervals of neurons with CV_SPIKES spikes and more, and
    their number."""
    order = np.argsort(part.neurons, kind="stable")
    ids = part.neurons[order].astype(np.int64)
    bursts = part.bursts[order].astype(np.int64)
    counts = np.bincount(ids, minlength=neurons)
    same = ids[1:] == ids[:-1]
    steps = np.diff(bursts)[same].astype(np.float64)
    sums = np.bincount(ids[1:][same], weights=steps, minlength=neurons)
    squares = np.bincount(ids[1:][same], weights=steps * steps,
                          minlength=neurons)
    chosen = counts >= CV_SPIKES
    if not chosen.any():
        return math.nan, 0
    n = counts[chosen] - 1.0
    mean = sums[chosen] / n
    variance = np.maximum(squares[chosen] / n - mean * mean, 0)
    return float(np.mean(np.sqrt(variance) / mean)), int(chosen.sum())


def _fano(part: Spikes, bursts: int, n_bins: int) -> float:
    """Variance / mean of the area's counts in whole bins."""
    index = (part.bursts - np.uint64(part.first)) // np.uint64(bursts)
    counts = np.bincount(index.astype(np.int64), minlength=n_bins)[:n_bins]
    if n_bins < 2 or not counts.sum():
        return math.nan
    return float(counts.var() / counts.mean())


def _correlation(part: Spikes, bursts: int, n_bins: int) -> float:
    """Mean Pearson correlation of the counts of pairs of neurons, of the first
    CORRELATED neurons whose counts vary."""
    ids, rows = np.unique(part.neurons, return_inverse=True)
    if n_bins < 2 or len(ids) < 2:
        return math.nan
    keep = rows < CORRELATED
    index = ((part.bursts - np.uint64(part.first)) //
             np.uint64(bursts)).astype(np.int64)
    keep &= index < n_bins
    n = min(len(ids), CORRELATED)
    counts = np.bincount(rows[keep] * n_bins + index[keep],
                         minlength=n * n_bins).reshape(n, n_bins)
    spread = counts.std(axis=1)
    counts, spread = counts[spread > 0], spread[spread > 0]
    if len(counts) < 2:
        return math.nan
    total = ((counts - counts.mean(axis=1)[:, None]) /
             spread[:, None]).sum(axis=0)
    n = len(counts)
    return float((np.mean(total * total) - n) / (n * (n - 1)))


def statistics(spikes: Spikes, areas: Iterable[Area]) -> Dict[str, Any]:
    """The figures of `volley run --statistics`, with its names, as a dict.

    first_burst, bursts, bin_ms, cv_spikes_min; areas: for each name a dict of
    neurons, spikes, rate_hz, isi_cv (mean over neurons with 3 spikes and more),
    isi_cv_neurons (their number), fano (of counts in bins of bin_ms),
    silent_share; and correlation (mean over pairs of neurons of the counts in
    bins of bin_ms), which the command does not print. A figure that is not
    defined is NaN.

    >>> spikes = Spikes(np.array([0, 4, 8], np.uint64),
    ...                 np.array([1, 1, 1], np.uint32), 0.5, 0, 100)
    >>> figures = statistics(spikes, [Area("E", "lif_psc_delta", 0, 4)])
    >>> figures["bursts"], figures["bin_ms"]
    (100, 3.0)
    >>> one = figures["areas"]["E"]
    >>> one["rate_hz"], one["isi_cv"], one["silent_share"]
    (15.0, 0.0, 0.75)
    """
    check_kind(spikes, Spikes, "spikes")
    bursts = max(int(math.floor(BIN_MS / spikes.dt_ms + 0.5)), 1)
    n_bins = (spikes.last - spikes.first) // bursts
    figures = {}
    for area in areas:
        check_kind(area, Area, "an area")
        part = area.of(spikes)
        cv, n_cv = _cv(part, area.neurons)
        fired = len(np.unique(part.neurons))
        figures[area.name] = {
            "neurons": area.neurons, "spikes": len(part.neurons),
            "rate_hz": area.rate_hz(spikes), "isi_cv": cv,
            "isi_cv_neurons": n_cv, "fano": _fano(part, bursts, n_bins),
            "silent_share": (1 - fired / area.neurons if area.neurons
                             else math.nan),
            "correlation": _correlation(part, bursts, n_bins)}
    return {"first_burst": spikes.first,
            "bursts": spikes.last - spikes.first,
            "bin_ms": bursts * spikes.dt_ms, "cv_spikes_min": CV_SPIKES,
            "areas": figures}
