# SPDX-License-Identifier: Apache-2.0
"""Weights of maps that learn, written by the host."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, NamedTuple, Tuple

import numpy as np
import numpy.typing as npt

from ._connectome import End, Projection, ends_of, span_of
from ._library import call

if TYPE_CHECKING:
    from ._net import Net


class _Part(NamedTuple):
    """Synapses of a projection: n from first on, those of keep are wanted."""
    number: int
    first: int
    n: int
    keep: npt.NDArray[np.bool_]
    place: npt.NDArray[np.int64]  # of each wanted one, in the order of weights()


def _parts(net: "Net", parts: List[Projection], ends: Tuple[End, End],
           begin: int) -> List[_Part]:
    """Of one pair of areas, whose synapses have the places from begin on."""
    found: List[Any] = []
    for one in parts:
        first, n = span_of(net._connectome, one, ends[0])
        columns = ends_of(net._connectome, one, False, first, n)
        keep = ends[0].mask(columns[0]) & ends[1].mask(columns[1])
        found.append((one.number, first, n, keep,
                      [column[keep] for column in columns]))
    sources, targets = (np.concatenate([one[4][k] for one in found])
                        for k in (0, 1))
    order = (np.lexsort((targets, sources)) if len(parts) > 1
             else np.arange(len(sources)))
    places = np.empty(len(order), np.int64)
    places[order] = begin + np.arange(len(order))
    stops = np.cumsum([len(one[4][0]) for one in found])
    return [_Part(one[0], one[1], one[2], one[3], place) for one, place in
            zip(found, np.split(places, stops[:-1]))]


def _put(net: "Net", part: _Part, values: npt.NDArray[np.float64]) -> None:
    call("net_weights_write", net._handle, None, part.number, part.first,
         part.n, values.ctypes.data)


def write(net: "Net", groups: List[List[Projection]], ends: Tuple[End, End],
          given: npt.NDArray[np.float64]) -> None:
    """Writes given, [] or [n], to the synapses of the groups."""
    parts: List[_Part] = []
    n = 0
    for group in groups:
        parts += _parts(net, group, ends, n)
        n = sum(len(part.place) for part in parts)
    if given.ndim and given.shape != (n,):
        raise ValueError(f"weights have shape {given.shape}, wanted a number or "
                         f"({n},): one a synapse, in the order of weights()")
    given = np.broadcast_to(given, (n,))
    done: List[Any] = []
    try:
        for part in parts:
            old = np.empty(part.n)
            call("net_weights_read", net._handle, None, part.number, part.first,
                 part.n, old.ctypes.data, None, None)
            new = old.copy()
            new[part.keep] = given[part.place]
            _put(net, part, new)
            done.append((part, old))
    except BaseException:
        for part, old in done:  # all or nothing
            _put(net, part, old)
        raise
