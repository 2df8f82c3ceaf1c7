# SPDX-License-Identifier: Apache-2.0
"""Plots of spikes, rates and traces as figures of matplotlib.

    figure = volley.plot.raster(net, spikes)
    figure.savefig("raster.png")

matplotlib is loaded by the first plot. No window opens: a notebook shows the
figure that a cell returns.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence

import numpy as np

from ._library import check_kind, check_number, check_whole
from ._recording import FieldRecording
from ._spikes import Spikes

if TYPE_CHECKING:
    from ._net import Net

# spikes that a raster shows at most: the first neurons of each area
_SPIKES_MOST = 200_000


def _figure(rows: int, size: Sequence[float]) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib: pip install "
                          "matplotlib") from None
    figure = Figure(figsize=(size[0], size[1]), layout="constrained")
    return figure, figure.subplots(rows, 1, squeeze=False)[:, 0]


def _spikes(net: "Net", spikes: Optional[Spikes]) -> Spikes:
    from ._net import Net  # which needs no plots
    check_kind(net, Net, "net")
    given = net.spikes if spikes is None else spikes
    if given is None:
        raise ValueError("no spikes: give them, or run with record=True")
    return check_kind(given, Spikes, "spikes")


def _range(spikes: Spikes) -> "tuple[float, float]":
    return spikes.first * spikes.dt_ms, spikes.last * spikes.dt_ms


def raster(net: "Net", spikes: Optional[Spikes] = None,
           neurons: Optional[int] = None,
           size: Sequence[float] = (8, 5)) -> Any:
    """A matplotlib Figure: a dot for each spike, areas above each other.

    spikes   those of the last run(record=True)
    neurons  shows the first so many of each area; None: all, or as many as
             keep the figure below 200,000 spikes
    size     inches
    """
    given = _spikes(net, spikes)
    if neurons is not None:
        check_whole(neurons, 2**32 - 1, "neurons")
    figure, (axes,) = _figure(1, size)
    share = min(_SPIKES_MOST / max(len(given.neurons), 1), 1.0)
    base, ticks = 0, []
    for area in net.areas.values():
        most = (max(int(area.neurons * share), 1) if neurons is None
                else neurons)
        n = min(area.neurons, most)
        part = area.of(given)
        shown = part.neurons < n
        axes.plot(part.times_ms[shown], base + part.neurons[shown], ",",
                  rasterized=True)
        ticks.append((base + n / 2, area.name if n == area.neurons else
                      f"{area.name} ({n} of {area.neurons})"))
        base += n
        axes.axhline(base, color="0.8", linewidth=0.5)
    axes.set_yticks([place for place, _ in ticks],
                    [name for _, name in ticks])
    axes.set_ylim(base, 0)
    axes.set_xlim(*_range(given))
    axes.set_xlabel("time (ms)")
    return figure


def rates(net: "Net", spikes: Optional[Spikes] = None, bin_ms: float = 5.0,
          size: Sequence[float] = (8, 4)) -> Any:
    """A matplotlib Figure: the rate of each area over time, in Hz.

    bin_ms  width of the bins, at least a burst
    """
    given = _spikes(net, spikes)
    if not check_number(bin_ms, "bin_ms") >= given.dt_ms:
        raise ValueError(f"bin_ms is {bin_ms}, wanted at least "
                         f"{given.dt_ms:g}, a burst")
    figure, (axes,) = _figure(1, size)
    start, stop = _range(given)
    n = max(int(np.ceil((stop - start) / bin_ms - 1e-9)), 1)
    edges = np.append(start + bin_ms * np.arange(n), stop)
    for area in net.areas.values():
        # bursts begin dt before the end that times_ms has
        counts, _ = np.histogram(area.of(given).times_ms - given.dt_ms / 2,
                                 edges)
        seconds = np.maximum(np.diff(edges), given.dt_ms) / 1000
        axes.stairs(counts / (max(area.neurons, 1) * seconds), edges,
                    label=area.name)
    axes.set_xlim(start, stop)
    axes.set_xlabel("time (ms)")
    axes.set_ylabel("rate (Hz)")
    axes.legend()
    return figure


def traces(*recordings: FieldRecording, neurons: int = 5,
           size: Optional[Sequence[float]] = None) -> Any:
    """A matplotlib Figure: the first so many neurons of each FieldRecording
    over time, in the field's unit."""
    if not recordings:
        raise ValueError("no recording, wanted those of net.record(area, "
                         "field)")
    for one in recordings:
        if not isinstance(one, FieldRecording):
            raise TypeError(f"a recording is {type(one).__name__}, wanted "
                            "that of a field: net.record(area, field)")
    check_whole(neurons, 2**32 - 1, "neurons")
    figure, rows = _figure(len(recordings),
                           size or (8, 2.5 * len(recordings)))
    for axes, one in zip(rows, recordings):
        times, values = one.times_ms, one.values
        for column, neuron in enumerate(one.neurons[:neurons]):
            axes.plot(times, values[:, column], linewidth=0.8,
                      label=f"{one.area} {neuron}")
        axes.set_ylabel(one.field)
        axes.set_xlabel("time (ms)")
        if len(one.neurons) and neurons:
            axes.legend(loc="upper right")
    return figure
