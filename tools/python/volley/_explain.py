# SPDX-License-Identifier: Apache-2.0
"""Sizes, memory, rounding and plan of a net, for people and as data."""
from __future__ import annotations

from typing import Any, Dict, List, Sequence

from ._connectome import Projection, group
from ._spikes import Area


_BOTH_PORTS = 2  # Projection.port


def _size(n: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if n < 1000 or unit == "GB":
            return f"{n:.3g} {unit}" if unit != "bytes" else f"{n:.0f} bytes"
        n /= 1000
    raise AssertionError


class Explanation:
    """What net.explain() returns: print() it, or take its parts.

    stats        the dict of net.stats()
    areas        list of Area
    projections  list of Projection
    notes        values of the genome that were read differently than written
    """

    def __init__(self, stats: Dict[str, Any], areas: List[Area],
                 projections: List[Projection], notes: Sequence[str]) -> None:
        self.stats = stats
        self.areas = areas
        self.projections = projections
        self.notes = list(notes)

    @property
    def bytes(self) -> Dict[str, int]:
        """Memory: of the connectome, of the net on the host and the device."""
        return {"connectome": self.stats["connectome_bytes"],
                "host": self.stats["host_bytes"],
                "device": self.stats["device_bytes"]}

    @property
    def rounding(self) -> Dict[str, float]:
        """By map: |stored - asked| / |asked|, the worst of its projections."""
        worst: Dict[str, float] = {}
        for one in self.projections:
            worst[one.map] = max(worst.get(one.map, 0.0), one.rounding)
        return worst

    def __str__(self) -> str:
        stats = self.stats
        lines = [f"backend    {stats['backend']} ({stats['device']})"]
        if stats["plan"]:
            lines.append(f"plan       {stats['plan']}")
        memory = self.bytes
        lines += [f"step       {stats['dt_ms']:g} ms, burst {stats['bursts']}",
                  f"neurons    {stats['neurons']:,}",
                  f"synapses   {stats['synapses']:,}",
                  "memory     connectome " + _size(memory["connectome"]) +
                  ", host " + _size(memory["host"]) + ", device " +
                  _size(memory["device"]), ""]
        for area in self.areas:
            units = ", ".join(f"{unit:.3g} {self._unit(area.name, port)}".rstrip()
                              for port, unit in enumerate(area.units))
            lines.append(f"area {area.name}: {area.neurons:,} {area.model}, "
                         f"input in units of {units or '-'}")
        for parts in group(self.projections):
            lines.append(_line(parts))
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _unit(self, area: str, port: int) -> str:
        """"mV", as the maps onto the port have it; "" if there are none."""
        for one in self.projections:
            if one.target == area and one.port in (port, _BOTH_PORTS):
                return one.unit_name
        return ""

    def __repr__(self) -> str:
        return str(self)


def _line(parts: List[Projection]) -> str:
    """A map from an area to an area."""
    at = parts[0]
    off = max(one.rounding for one in parts)
    units = " and ".join(f"{one.unit:.3g}" for one in parts)
    line = (f"map {at.map}: {at.source} -> {at.target}, "
            f"{sum(one.synapses for one in parts):,} synapses, weights "
            f"{min(one.weight_min for one in parts):.6g} to "
            f"{max(one.weight_max for one in parts):.6g} {at.unit_name}"
            f" in units of {units}, off by {100 * off:.2g}%, delays "
            f"{min(one.delay_min for one in parts)} to "
            f"{max(one.delay_max for one in parts)} bursts")
    if at.share_coarse:
        line += (f"; {100 * at.share_coarse:.3g}% of the weights off by more "
                 "than 1%")
    return line
