# SPDX-License-Identifier: Apache-2.0
"""Neurons of a net: input, fields, parameters, and what rounding does to them."""
from __future__ import annotations

import ctypes
import math
import warnings
from typing import Any, Dict, Optional

import numpy as np
import numpy.typing as npt

from ._errors import RoundingWarning, plain, unknown
from ._genome import floats, numbers
from ._library import call, check_number, check_whole, lib, word
from ._run import Runner, alone
from ._spikes import Area

# relative rounding error from which a warning is given
_OFF_MOST = 0.01

# units that the input of a neuron in a burst is clamped to
_INPUT_MOST = 2**30 - 1


class Neurons(Runner):
    """The part of Net that is about its neurons."""
    areas: Dict[str, Area]
    # by area and port: the largest value injected so far; None: units are
    # fine enough, no further check is needed
    _largest: Dict[Any, Optional[float]]
    _warned: "set[str]"  # paths of set

    def area(self, name: str) -> Area:
        """The Area of that name. Raises  UnknownName (a KeyError)"""
        if not isinstance(name, str) or name not in self.areas:
            raise unknown("area", name, self.areas)
        return self.areas[name]

    @property
    def burst(self) -> int:
        """Bursts done."""
        return int(lib().vly_net_burst(self._handle))

    # ---- input and state

    @alone
    def inject(self, area: str, neurons: npt.ArrayLike, values: npt.ArrayLike,
               port: int = 0, burst: Optional[int] = None) -> None:
        """Adds input, in the unit of the port, to a future burst (the next one).

        neurons  index or array [n], counted from 0 in the area
        values   one for all or [n]

        A value becomes the nearest whole number of units of the port,
        net.area(area).units[port]. A RoundingWarning is given if the error of a
        value exceeds 1% of the largest value that this net has injected there
        so far. The measure is the amplitude, because a signal that passes
        through 0 always has a large relative error there. What a neuron gets
        in a burst is clamped to 2^30 units, with a RoundingWarning too.

        Raises  UnknownName, TypeError, ValueError; Error: no such neuron, port
                or burst
        """
        self.area(area)
        ids = np.atleast_1d(numbers(neurons, "neurons"))
        if ids.size and ids.dtype.kind not in "iu":
            raise TypeError(f"neurons have dtype {ids.dtype}, wanted whole "
                            "numbers: indices from 0 on")
        if ids.size and (ids.min() < 0 or ids.max() >= 2**32):
            raise ValueError("neurons are indices from 0 to 2^32 - 1")
        ids = np.ascontiguousarray(ids, np.uint32)
        given = floats(values, "values")
        if ids.ndim != 1:
            raise ValueError(f"neurons of shape {ids.shape}, wanted one "
                             "dimension")
        if given.ndim > 0 and given.shape != ids.shape:
            raise ValueError(f"values of shape {given.shape} for neurons of "
                             f"shape {ids.shape}, wanted one or as many")
        given = np.ascontiguousarray(np.broadcast_to(given, ids.shape))
        check_whole(port, 2**32 - 1, "port")
        if burst is not None:
            check_whole(burst, 2**64 - 1, "burst")
        call("net_inject_many", self._handle,
             self.burst if burst is None else burst, word(area, "an area"),
             port, ids.ctypes.data, given.ctypes.data, ids.size)
        if given.size and max(given.max(), -given.min()) > (
                _INPUT_MOST * self.areas[area].units[port]):
            self._tell_clamped(area, port)
        elif given.size and self._largest.get((area, port), 0.0) is not None:
            self._look_at(area, port, given)

    @alone
    def modulate(self, plasticity: str, value: float,
                 burst: Optional[int] = None) -> None:
        """Reward: adds value (1/s) to the modulator of [plasticity.NAME] in a
        future burst (the next one). It counts from the burst after that one.

        Raises  Error: no map learns by that table, its rule has no modulator,
                value is not between -16383 and 16383, the burst is done;
                TypeError: value is no number
        """
        given = check_number(value, "value")
        if burst is not None:
            check_whole(burst, 2**64 - 1, "burst")
        call("net_modulate", self._handle,
             self.burst if burst is None else burst,
             word(plasticity, "a plasticity"), given)

    def _tell_clamped(self, area: str, port: int) -> None:
        key = f"inject.{area}.{port}"
        if key not in self._warned:
            self._warned.add(key)
            most = _INPUT_MOST * self.areas[area].units[port]
            warnings.warn(f"more than {most:.6g} injected into port {port} of "
                          f"area {area}, which is what a neuron gets at most "
                          "in a burst", RoundingWarning, stacklevel=4)

    def _look_at(self, area: str, port: int, values: Any) -> None:
        """Warns once if units are coarse for the injected values."""
        unit = self.areas[area].units[port]
        largest = max(self._largest.get((area, port), 0.0) or 0.0,
                      float(np.abs(values).max()))
        off = np.abs(np.floor(values / unit + 0.5) * unit - values)
        worst = int(off.argmax())
        if off[worst] > _OFF_MOST * largest:
            warnings.warn(
                f"{values[worst]:.6g} injected into port {port} of area {area} "
                f"becomes {math.floor(values[worst] / unit + 0.5) * unit:.6g}: "
                f"its unit is {unit:.6g}", RoundingWarning, stacklevel=4)
            largest = math.inf
        # from this value on, half a unit is below the share
        done = largest * _OFF_MOST >= unit / 2
        self._largest[area, port] = None if done else largest

    @alone
    def fired(self) -> npt.NDArray[np.uint32]:
        """uint32 [n]: ids (in the whole net, ascending) that fired in the last
        burst."""
        ids = ctypes.c_void_p()
        n = ctypes.c_uint32()
        call("net_fired", self._handle, ctypes.byref(ids), ctypes.byref(n))
        data = ctypes.string_at(ids, 4 * n.value) if n.value else b""
        return np.frombuffer(data, np.uint32)

    @alone
    def read(self, area: str, field: str, first: int = 0,
             count: Optional[int] = None) -> npt.NDArray[np.float64]:
        """float64 [count]: a field ("v_mv") of an area's neurons, in its unit,
        from neuron first on (all).

        Raises  UnknownName: no such area; Error: no such field or neuron
        """
        check_whole(first, 2**32 - 1, "first")
        if count is None:
            count = max(self.area(area).neurons - first, 0)
        check_whole(count, 2**32 - 1, "count")
        self.area(area)
        if first + count > self.areas[area].neurons:
            count = min(count, 2**20)  # refused below, without the memory
        values = np.empty(count)
        call("net_read", self._handle, word(area, "an area"),
             word(field, "a field"), first, count, values.ctypes.data)
        return values

    @alone
    def write(self, area: str, field: str, values: npt.ArrayLike,
              first: int = 0) -> None:
        """The counterpart of read; one number is written to all neurons from
        first on, an array [count] to as many."""
        check_whole(first, 2**32 - 1, "first")
        given = floats(values, "values")
        if given.ndim > 1:
            raise ValueError(f"values have shape {given.shape}, wanted a "
                             "number or one dimension: a value a neuron")
        if given.ndim == 0:
            given = np.full(max(self.area(area).neurons - first, 0), given)
        self.area(area)
        given = np.ascontiguousarray(given)
        call("net_write", self._handle, word(area, "an area"),
             word(field, "a field"), first, given.size, given.ctypes.data)

    @alone
    def set(self, path: str, value: npt.ArrayLike) -> None:
        """Changes a parameter from the next burst on: "area.E.tau_m_ms",
        "stimulus.ext.rate_hz". An array gives one value per neuron of an area.

        Weights, mean and sd of stimuli become whole units of the port
        (net.area(name).units), rates chances of 2^-32 a burst, durations that
        the model counts in bursts whole bursts. A RoundingWarning is given
        once per path if the error exceeds 1%; net.rounding(path) returns the
        error.

        Raises  UnknownName: no such area; ValueError: not as many values as
                neurons; Error: no such parameter or stimulus, out of range
        """
        at = word(path, "a path")
        values = floats(value, "value")
        kind, _, rest = path.partition(".")
        area, _, param = rest.rpartition(".")
        if kind == "area" and area:
            self.area(area)
        if values.ndim == 0:
            call("net_set", self._handle, at, float(values))
            self._look_at_path(path)
            return
        if kind != "area" or not area:
            raise ValueError(f"{plain(path)} with an array, wanted "
                             "area.NAME.PARAM")
        if values.shape != (self.areas[area].neurons,):
            raise ValueError(f"{plain(path)} gets values of shape "
                             f"{values.shape}, wanted "
                             f"({self.areas[area].neurons},): one a neuron")
        values = np.ascontiguousarray(values)
        call("net_set_each", self._handle, word(area, "an area"),
             word(param, "a parameter"), values.ctypes.data, values.size)
        self._look_at_path(path)

    def _rounding(self, path: str) -> float:
        off = ctypes.c_double()
        call("net_rounding", self._handle, word(path, "a path"),
             ctypes.byref(off))
        return off.value

    @alone
    def rounding(self, path: str) -> float:
        """Relative rounding error of the value set at the path: 0.01 is 1%."""
        return self._rounding(path)

    def _look_at_path(self, path: str) -> None:
        if path in self._warned or self._rounding(path) <= _OFF_MOST:
            return
        self._warned.add(path)
        warnings.warn(f"{path} is off by {self._rounding(path):.3g} of its "
                      "value by rounding to the unit of the port, to 2^-32 a "
                      "burst, or to bursts", RoundingWarning, stacklevel=4)
