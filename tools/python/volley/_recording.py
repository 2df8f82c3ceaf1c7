# SPDX-License-Identifier: Apache-2.0
"""Recordings: spikes and fields of neurons as arrays, while the net runs."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional, Tuple

import numpy as np
import numpy.typing as npt

from ._spikes import Spikes

if TYPE_CHECKING:
    from ._net import Net


class Recording:
    """What net.record(...) returns: grows with every run of the net.

    It may be read at any time, in functions of a run too, and in other threads.
    stop() ends it; what it has stays. After net.restore(state) it ends at the
    burst of the state, and goes on from there.

    >>> import volley
    >>> net = volley.load({"area": {"A": {"model": "lif_psc_delta",
    ...                                   "neurons": 3, "v_mv": -60}}}, "cpu:1")
    >>> spikes, trace = net.record(), net.record("A", "v_mv", neurons=[0, 2])
    >>> net.inject("A", 1, 100.0, burst=2)
    >>> net.run(4)
    >>> spikes.spikes.neurons, spikes.spikes.bursts
    (array([1], dtype=uint32), array([2], dtype=uint64))
    >>> trace.times_ms
    array([0., 1., 2., 3., 4.])
    >>> trace.values.shape
    (5, 2)
    >>> net.close()
    """

    def __init__(self, net: "Net", first: int, count: int,
                 neurons: Optional[npt.NDArray[np.uint32]]) -> None:
        self._net: Optional["Net"] = net
        self._first = first  # global id
        self._count = count
        self._chosen = neurons  # in the area, ascending; None: all
        self._dt_ms = net.dt_ms
        self._begun = self._done = net.burst
        self._whole = count == sum(a.neurons for a in net.areas.values())

    def _cut(self, burst: int) -> None:
        """Forgets what came after this burst was begun."""
        raise NotImplementedError

    @property
    def recording(self) -> bool:
        """Whether runs of the net still add to it."""
        return self._net is not None

    def stop(self) -> None:
        """Ends the recording; a second call does nothing."""
        if self._net is not None:
            self._net._recordings.remove(self)
            self._net = None


class SpikeRecording(Recording):
    """Spikes of an area, of some of its neurons, or of all areas."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._parts: List[Tuple[int, bytes]] = []

    def _add(self, burst: int, part: bytes) -> None:
        if self._net is None:  # stopped by a function of the run
            return
        if part and not (self._whole and self._chosen is None):
            ids = np.frombuffer(part, np.uint32)
            low, high = np.searchsorted(ids, (self._first,
                                              self._first + self._count))
            ids = ids[low:high]
            if self._chosen is not None:
                ids = ids[np.isin(ids - np.uint32(self._first), self._chosen)]
            part = ids.tobytes()
        if part:
            self._parts.append((burst, part))
        self._done = burst + 1

    def _cut(self, burst: int) -> None:
        if burst > self._done:  # the bursts between were not seen
            self._parts, self._begun = [], burst
        self._parts = [one for one in self._parts if one[0] < burst]
        self._begun, self._done = min(self._begun, burst), burst

    @property
    def spikes(self) -> Spikes:
        """The Spikes so far, with ids in the whole net."""
        done, parts = self._done, list(self._parts)
        counts = [len(part) // 4 for _, part in parts]
        bursts = np.array([burst for burst, _ in parts], np.uint64)
        return Spikes(np.repeat(bursts, counts),
                      np.frombuffer(b"".join(part for _, part in parts),
                                    np.uint32),
                      self._dt_ms, self._begun, done)

    def clear(self) -> None:
        """Forgets the spikes so far."""
        self._parts = []
        self._begun = self._done

    def __repr__(self) -> str:
        n = sum(len(part) for _, part in list(self._parts)) // 4
        return (f"<{n} spikes of bursts {self._begun} to {self._done}"
                f"{'' if self.recording else ', stopped'}>")


class FieldRecording(Recording):
    """A field of an area's neurons, sampled every so many bursts.

    A sample of burst n is the state when n bursts are done, n a multiple of
    interval, as in recordings of the command.

    neurons   uint32 [n_neurons]             index in the area
    times_ms  float64 [n_samples]
    values    float64 [n_samples, n_neurons] in the field's unit
    """

    def __init__(self, net: "Net", area: str, field: str, interval: int,
                 *arguments: Any) -> None:
        super().__init__(net, *arguments)
        self.area, self.field, self.interval = area, field, interval
        self._samples: "List[Tuple[int, npt.NDArray[np.float64]]]" = []
        self.neurons: npt.NDArray[np.uint32] = (
            np.arange(self._count, dtype=np.uint32)
            if self._chosen is None else self._chosen)
        low = int(self.neurons[0]) if len(self.neurons) else 0
        self._low = low
        self._span = int(self.neurons[-1]) - low + 1 if len(
            self.neurons) else 0
        self._take()  # an unknown field is refused here

    def _due(self, burst: int) -> int:
        """Bursts from this one to the next sample, at least 1."""
        return self.interval - burst % self.interval

    def _take(self) -> None:
        """Adds a sample if one is due now."""
        net = self._net
        if net is None:  # stopped by a function of the run
            return
        burst = net.burst
        values = net.read(self.area, self.field, self._low, self._span)
        if burst % self.interval or (self._samples and
                                  self._samples[-1][0] == burst):
            return
        if self._chosen is not None:
            values = values[self.neurons - np.uint32(self._low)]
        self._samples.append((burst, values))

    def _cut(self, burst: int) -> None:
        self._samples = [one for one in self._samples if one[0] <= burst]

    @property
    def times_ms(self) -> npt.NDArray[np.float64]:
        """float64 [n_samples]: when each was taken."""
        return np.array([burst for burst, _ in list(self._samples)],
                        np.float64) * self._dt_ms

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """float64 [n_samples, n_neurons], in the field's unit."""
        rows = [values for _, values in list(self._samples)]
        if not rows:
            return np.empty((0, len(self.neurons)))
        return np.stack(rows)

    def clear(self) -> None:
        """Forgets the samples so far."""
        self._samples = []

    def __repr__(self) -> str:
        return (f"<{len(self._samples)} samples of {self.field} of "
                f"{len(self.neurons)} neurons of {self.area}"
                f"{'' if self.recording else ', stopped'}>")
