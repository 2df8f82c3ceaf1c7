# SPDX-License-Identifier: Apache-2.0
"""Volley from Python: load a genome, run it, inject, read, swap.

    import volley

    with volley.load("brunel.toml", backend="cpu:4", set={"var.g": 5}) as net:
        spikes = net.run(ms=100, record=True)
        print(net.area("E").rate_hz(spikes), f"{net.digest:016x}")
        net.swap("cuda")                  # the same spikes from here on
        net.run(1000)

A package over the C API (volley/volley.h, which has the details) by ctypes, and
NumPy. A refusal of the engine is raised as volley.Error with its message. One
thread at a time may use a net; any thread may call stop().

libvolley is found by VOLLEY_LIBRARY (a file), then in this package, then in its
prefix, then as the dynamic linker finds it.
"""
import ctypes
import math
import operator
import os
import time
import warnings
from typing import NamedTuple

import numpy as np

from . import _where

__all__ = ["Area", "Connectome", "Error", "Net", "RoundingWarning", "Spikes",
           "State", "load", "plugins", "version"]

_STATUS = {-1: "E_INVALID", -2: "E_PARSE", -3: "E_IO", -4: "E_NOMEM",
           -5: "E_UNSUPPORTED", -6: "E_DEVICE", -7: "E_ABI", -8: "E_STOPPED"}
# relative rounding error from which a warning is given
_OFF_MOST = 0.01
# longest time between two checks for Ctrl-C
_PIECE_SECONDS = 0.2


def _plain(text):
    """Text of a message, which may contain text of files: control characters
    and bytes that are not UTF-8 are shown as \\xNN or \\uNNNN."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode()
                   for c in text.decode("utf-8", "backslashreplace"))


class RoundingWarning(UserWarning):
    """A value of inject or set is off by more than 1%, because it becomes a
    whole number of units. Given once for each port and each path of a net."""


class Error(Exception):
    """A refusal of the engine.

    status: "E_PARSE" and so on; exit_code: that of the command for it.
    """

    def __init__(self, code, message):
        super().__init__(message)
        self.status = _STATUS.get(code, str(code))
        self.exit_code = _lib().vly_status_exit_code(code)


class Spikes(NamedTuple):
    """Spikes of a run, in order of bursts, then of neurons.

    bursts   uint64 [n]  the burst of each, the first of a net being 0
    neurons  uint32 [n]  ids in the whole net
    dt_ms    float       a burst's length
    first, last          the bursts that were run: [first, last)
    """
    bursts: np.ndarray
    neurons: np.ndarray
    dt_ms: float
    first: int
    last: int

    @property
    def times_ms(self):
        """Time of each spike: the end of its burst, as in recordings."""
        return (self.bursts + 1) * self.dt_ms


class Area(NamedTuple):
    """The ids of an area's neurons: first to first + neurons - 1.

    units: of each port, in its mV, pA or nS: input is a whole number of them.
    """
    name: str
    model: str
    first: int
    neurons: int
    units: tuple = ()

    def of(self, spikes):
        """The spikes of this area, with neurons counted from 0."""
        inside = ((spikes.neurons >= self.first) &
                  (spikes.neurons < self.first + self.neurons))
        return spikes._replace(bursts=spikes.bursts[inside],
                               neurons=spikes.neurons[inside] -
                               np.uint32(self.first))

    def rate_hz(self, spikes):
        """The mean rate of a neuron of this area over the run."""
        seconds = (spikes.last - spikes.first) * spikes.dt_ms / 1000
        if not seconds or not self.neurons:
            return 0.0
        return len(self.of(spikes).neurons) / (self.neurons * seconds)


# ---- the library ----------------------------------------------------------

class _Error(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32),
                ("status", ctypes.c_int32),
                ("bytes_requested", ctypes.c_uint64),
                ("bytes_available", ctypes.c_uint64),
                ("message", ctypes.c_char * 1000)]


class _Override(ctypes.Structure):
    _fields_ = [("path", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class _PluginInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("status", ctypes.c_int32),
                ("id", ctypes.c_char_p), ("path", ctypes.c_char_p),
                ("version", ctypes.c_char_p), ("build", ctypes.c_char_p),
                ("reason", ctypes.c_char_p), ("interfaces", ctypes.c_char_p),
                ("hash", ctypes.c_uint64 * 2)]


class _Stats(ctypes.Structure):
    _fields_ = ([("struct_size", ctypes.c_uint32),
                 ("n_areas", ctypes.c_uint32)] +
                [(name, ctypes.c_uint64) for name in
                 ("bursts", "neurons", "synapses", "spikes", "events",
                  "candidates", "run_ns", "delivery_ns", "dynamics_ns",
                  "exchange_ns", "drain_ns", "host_bytes", "device_bytes",
                  "connectome_bytes")] +
                [("dt_ms", ctypes.c_double), ("backend", ctypes.c_char * 64),
                 ("device", ctypes.c_char * 128),
                 ("plan", ctypes.c_char * 256)])


class _AreaStats(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("first", ctypes.c_uint32),
                ("n_neurons", ctypes.c_uint32), ("n_ports", ctypes.c_uint32),
                ("name", ctypes.c_char_p), ("model", ctypes.c_char_p),
                ("q", ctypes.c_int32 * 2), ("spikes", ctypes.c_uint64)]


class _StateInfo(ctypes.Structure):
    _fields_ = ([("struct_size", ctypes.c_uint32),
                 ("n_neurons", ctypes.c_uint32)] +
                [(name, ctypes.c_uint64) for name in
                 ("bursts", "spikes", "events", "digest", "state_digest")] +
                [("genome_hash", ctypes.c_uint64 * 2),
                 ("connectome_hash", ctypes.c_uint64 * 2),
                 ("n_bytes", ctypes.c_uint64),
                 ("connectome_digest", ctypes.c_uint64 * 2)])


# vly_spikes_fn; the ids as an address: nothing is made of them for each call
_SPIKES_FN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint64,
                              ctypes.c_void_p, ctypes.c_uint32,
                              ctypes.c_uint64)

_PTR = ctypes.c_void_p
_OUT = ctypes.POINTER(ctypes.c_void_p)
_STR = ctypes.c_char_p
_U32 = ctypes.c_uint32
_U64 = ctypes.c_uint64
_F64 = ctypes.c_double
_ERR = ctypes.POINTER(_Error)

# name: (returns, arguments); those that end in _ERR can fail
_FUNCTIONS = {
    "version": (_STR, []),
    "status_exit_code": (ctypes.c_int, [ctypes.c_int32]),
    "genome_load": (ctypes.c_int32, [_STR, _PTR, _U32, _OUT, _ERR]),
    "genome_parse": (ctypes.c_int32,
                     [_STR, ctypes.c_size_t, _STR, _PTR, _U32, _OUT, _ERR]),
    "genome_destroy": (None, [_PTR]),
    "connectome_build": (ctypes.c_int32, [_PTR, _U32, _OUT, _ERR]),
    "connectome_save": (ctypes.c_int32, [_PTR, _STR, _ERR]),
    "connectome_load": (ctypes.c_int32, [_STR, ctypes.c_int, _OUT, _ERR]),
    "connectome_destroy": (None, [_PTR]),
    "registry_create": (ctypes.c_int32, [_OUT, _ERR]),
    "registry_add": (ctypes.c_int32, [_PTR, _STR, _ERR]),
    "registry_count": (_U32, [_PTR]),
    "registry_info": (ctypes.c_int32,
                      [_PTR, _U32, ctypes.POINTER(_PluginInfo)]),
    "net_create": (ctypes.c_int32, [_PTR, _PTR, _STR, _U32, _OUT, _ERR]),
    "net_resume": (ctypes.c_int32, [_PTR, _PTR, _STR, _U32, _PTR, _OUT, _ERR]),
    "net_destroy": (None, [_PTR]),
    "net_run": (ctypes.c_int32, [_PTR, _U64, _ERR]),
    "net_stop": (None, [_PTR]),
    "net_on_spikes": (None, [_PTR, _SPIKES_FN, _PTR]),
    "net_inject_many": (ctypes.c_int32,
                        [_PTR, _U64, _STR, _U32, _PTR, _PTR, _U32, _ERR]),
    "net_fired": (ctypes.c_int32, [_PTR, _OUT, ctypes.POINTER(_U32), _ERR]),
    "net_read": (ctypes.c_int32, [_PTR, _STR, _STR, _U32, _U32, _PTR, _ERR]),
    "net_write": (ctypes.c_int32, [_PTR, _STR, _STR, _U32, _U32, _PTR, _ERR]),
    "net_set": (ctypes.c_int32, [_PTR, _STR, _F64, _ERR]),
    "net_rounding": (ctypes.c_int32,
                     [_PTR, _STR, ctypes.POINTER(_F64), _ERR]),
    "net_set_each": (ctypes.c_int32, [_PTR, _STR, _STR, _PTR, _U32, _ERR]),
    "net_stats": (ctypes.c_int32, [_PTR, ctypes.POINTER(_Stats), _ERR]),
    "net_area_stats": (ctypes.c_int32,
                       [_PTR, _U32, ctypes.POINTER(_AreaStats)]),
    "net_burst": (_U64, [_PTR]),
    "net_digest": (_U64, [_PTR]),
    "net_state_digest": (ctypes.c_int32, [_PTR, ctypes.POINTER(_U64), _ERR]),
    "net_snapshot": (ctypes.c_int32, [_PTR, _OUT, _ERR]),
    "net_restore": (ctypes.c_int32, [_PTR, _PTR, _ERR]),
    "net_swap": (ctypes.c_int32, [_PTR, _STR, _U32, _ERR]),
    "state_save": (ctypes.c_int32, [_PTR, _STR, _ERR]),
    "state_load": (ctypes.c_int32, [_STR, _OUT, _ERR]),
    "state_get_info": (ctypes.c_int32,
                       [_PTR, ctypes.POINTER(_StateInfo), _ERR]),
    "state_destroy": (None, [_PTR]),
}

_library = None
_registry = None


def _lib():
    global _library
    if _library is not None:
        return _library
    reasons = []
    for path in [_where.library()]:
        try:
            library = ctypes.CDLL(path)
            for name, (returns, arguments) in _FUNCTIONS.items():
                function = getattr(library, "vly_" + name)
                function.restype = returns
                function.argtypes = arguments
        except (OSError, AttributeError) as why:
            reasons.append(_plain(os.fsencode(str(why))))
            continue
        _library = library
        return library
    raise ImportError("libvolley was not found (VOLLEY_LIBRARY=FILE names "
                      "it): " + "; ".join(reasons))


# largest value of the types of whole numbers
_MOST = {_U32: 2**32 - 1, _U64: 2**64 - 1}


def _check_whole(types, arguments):
    """Raises ValueError for an integer that does not fit its C type: ctypes
    would truncate it."""
    for kind, value in zip(types, arguments):
        most = _MOST.get(kind)
        if most is None:
            continue
        try:
            whole = operator.index(value)
        except TypeError:
            whole = -1
        if not 0 <= whole <= most:
            raise ValueError(f"{value!r}, wanted a whole number from 0 to "
                             f"{most}")


def _call(name, *arguments):
    """Calls a function that can fail; its message is raised."""
    error = _Error(struct_size=ctypes.sizeof(_Error))
    _check_whole(_FUNCTIONS[name][1], arguments)
    status = getattr(_lib(), "vly_" + name)(*arguments, ctypes.byref(error))
    if status:
        raise Error(status, _plain(error.message))


def _make(name, *arguments):
    """Calls a function that returns a handle in its last argument but one."""
    handle = ctypes.c_void_p()
    _call(name, *arguments, ctypes.byref(handle))
    return handle


def _text(value):
    return os.fsencode(value)


def _toml(value):
    """A Python value in the form of --set; text is unchanged."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    raise TypeError(f"a setting is {type(value).__name__}, wanted a number, "
                    "text, bool, or a list of them")


def _plugins():
    """The registry: one per process; never destroyed, as nets may use it."""
    global _registry
    if _registry is None:
        _registry = _make("registry_create")
    return _registry


def version():
    """Of libvolley: "0.1.0"."""
    return _lib().vly_version().decode()


def plugins():
    """The plugins found, a dict each: id, path, version, usable, reason."""
    found = []
    for index in range(_lib().vly_registry_count(_plugins())):
        info = _PluginInfo(struct_size=ctypes.sizeof(_PluginInfo))
        status = _lib().vly_registry_info(_plugins(), index,
                                          ctypes.byref(info))
        if status:
            raise Error(status, f"plugin {index} cannot be asked")
        found.append({"id": info.id.decode(), "path": os.fsdecode(info.path),
                      "version": info.version.decode(),
                      "usable": info.status == 0,
                      "reason": info.reason.decode("utf-8", "replace")})
    return found


class _Handle:
    """Owns a handle of the library until close, `with`, or the last name."""
    _destroy = None
    _h = None

    def close(self):
        """Frees the handle of the library; a second call does nothing."""
        handle, self._h = self._h, None
        if handle is not None:
            getattr(_lib(), self._destroy)(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        try:
            self.close()
        except (TypeError, AttributeError):  # the interpreter is ending
            pass

    @property
    def _handle(self):
        if self._h is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._h


# ---- public classes -------------------------------------------------------

class Connectome(_Handle):
    """A compiled genome: Connectome.build(...) or Connectome.load(FILE)."""
    _destroy = "vly_connectome_destroy"

    def __init__(self, handle):
        self._h = handle
        self._nets = 0  # alive, which read it

    def close(self):
        """Frees the connectome; refused while one of its nets is open."""
        if self._h is not None and self._nets:
            raise ValueError(f"{self._nets} net(s) of this Connectome are "
                             "open: close them first")
        super().close()

    @classmethod
    def build(cls, genome, set=None, threads=0):
        """Compiles a genome: a file name, or the text (with a newline).

        set: {"area.E.neurons": 100}, as --set. threads 0: all cores.
        """
        pairs = [(str(path).encode(), _toml(value).encode())
                 for path, value in (set or {}).items()]
        overrides = (_Override * max(len(pairs), 1))(*pairs)
        if isinstance(genome, str) and "\n" in genome:
            text = genome.encode()
            handle = _make("genome_parse", text, len(text), b"genome",
                           overrides, len(pairs))
        else:
            handle = _make("genome_load", _text(genome), overrides, len(pairs))
        try:
            return cls(_make("connectome_build", handle, threads))
        finally:
            _lib().vly_genome_destroy(handle)

    @classmethod
    def load(cls, path, verify=True):
        """Reads a file of save or of `volley run --save-connectome`."""
        return cls(_make("connectome_load", _text(path), int(verify)))

    def save(self, path):
        _call("connectome_save", self._handle, _text(path))


class State(_Handle):
    """A snapshot of a net, as checkpoints hold it."""
    _destroy = "vly_state_destroy"

    def __init__(self, handle):
        self._h = handle

    @classmethod
    def load(cls, path):
        return cls(_make("state_load", _text(path)))

    def save(self, path):
        """To a temporary file, synced and renamed."""
        _call("state_save", self._handle, _text(path))

    def _info(self):
        info = _StateInfo(struct_size=ctypes.sizeof(_StateInfo))
        _call("state_get_info", self._handle, ctypes.byref(info))
        return info

    @property
    def burst(self):
        return self._info().bursts

    @property
    def digest(self):
        return self._info().digest

    @property
    def connectome_hash(self):
        """32 hex digits, as in manifest.json."""
        return "%016x%016x" % tuple(self._info().connectome_hash)

    @property
    def connectome_digest(self):
        """The same as a sum over all synapses; None if the state was loaded
        from a checkpoint of version 1, which has none."""
        digest = tuple(self._info().connectome_digest)
        return "%016x%016x" % digest if any(digest) else None


class Net(_Handle):
    """A network on a backend; volley.load makes one from a genome.

    connectome: several nets may share one Connectome. state: start there
    instead of at burst 0. threads 0: all cores; "cpu:4" overrides it.
    """
    _destroy = "vly_net_destroy"

    def __init__(self, connectome, backend="auto", threads=0, state=None):
        self._connectome = connectome
        name = backend.encode()
        if state is None:
            self._h = _make("net_create", connectome._handle, _plugins(), name,
                            threads)
        else:
            self._h = _make("net_resume", connectome._handle, _plugins(), name,
                            threads, state._handle)
        connectome._nets += 1
        stats = self._stats()
        self.dt_ms = stats.dt_ms
        self.areas = {}
        for index in range(stats.n_areas):
            info = _AreaStats(struct_size=ctypes.sizeof(_AreaStats))
            status = _lib().vly_net_area_stats(self._h, index,
                                               ctypes.byref(info))
            if status:
                raise Error(status, f"area {index} cannot be asked")
            name = info.name.decode()
            self.areas[name] = Area(name, info.model.decode(), info.first,
                                    info.n_neurons,
                                    tuple(2.0**-q for q in
                                          info.q[:info.n_ports]))
        # by area and port: the largest value injected so far; None: units are
        # fine enough, no further check is needed
        self._largest = {}
        self._warned = set()  # paths of set

    def close(self):
        if self._h is not None:
            self._connectome._nets -= 1
        super().close()

    def area(self, name):
        """The Area of that name."""
        if name not in self.areas:
            raise KeyError(f"no area {name}; there are " +
                           ", ".join(self.areas))
        return self.areas[name]

    # ---- running

    def run(self, bursts=None, ms=None, record=False, on_spikes=None):
        """Runs so many bursts, or milliseconds of model time.

        record     returns the Spikes of these bursts (otherwise None)
        on_spikes  function(burst, ids): called for every burst, in order, ids a
                   uint32 array; the backend is ahead of it by up to 4096
                   bursts. An exception in it ends the run.
        Ctrl-C ends the run between two bursts, with KeyboardInterrupt.
        """
        n = self._bursts(bursts, ms)
        first = self.burst
        counts, parts, raised = [], [], []

        def told(_arg, burst, ids, n_ids, _digest):
            try:
                part = ctypes.string_at(ids, 4 * n_ids) if n_ids else b""
                if record:
                    counts.append(n_ids)
                    parts.append(part)
                if on_spikes:
                    on_spikes(burst, np.frombuffer(part, np.uint32))
            except BaseException as why:  # an exception cannot cross C
                raised.append(why)
                return -1
            return 0

        function = _SPIKES_FN(told) if record or on_spikes else _SPIKES_FN()
        _lib().vly_net_on_spikes(self._handle, function, None)
        try:
            self._run_pieces(n)
        except Error:
            if raised:
                raise raised[0] from None
            raise
        finally:
            if self._h is not None:
                _lib().vly_net_on_spikes(self._h, _SPIKES_FN(), None)
        if not record:
            return None
        return Spikes(np.repeat(np.arange(first, first + len(counts),
                                          dtype=np.uint64), counts),
                      np.frombuffer(b"".join(parts), np.uint32), self.dt_ms,
                      first, first + len(counts))

    def _bursts(self, bursts, ms):
        if (bursts is None) == (ms is None):
            raise TypeError("run wants bursts or ms, one of them")
        given = ms if bursts is None else bursts
        if isinstance(given, str) or not hasattr(given, "__float__"):
            raise TypeError(f"{given!r}, wanted a number of "
                            f"{'ms' if bursts is None else 'bursts'}")
        if not -math.inf < given < math.inf:  # not a number too
            raise ValueError(f"{given}, wanted a finite number of "
                             f"{'ms' if bursts is None else 'bursts'}")
        if bursts is None:
            bursts = round(ms / self.dt_ms)
            exact = ms / self.dt_ms  # as the command judges --ms
            if (not abs(bursts - exact) < 1e-9 * (abs(exact) + 1) or
                    (bursts == 0) != (ms == 0)):
                raise ValueError(f"{ms} ms are no whole number of bursts of "
                                 f"{self.dt_ms} ms")
        if not 0 <= bursts < 2**63 or bursts != int(bursts):
            raise ValueError(f"{bursts} bursts, wanted a whole number from 0 "
                             "on")
        return int(bursts)

    def _run_pieces(self, n):
        """Runs pieces of about _PIECE_SECONDS, with Python signals in between."""
        piece = 64
        while n > 0:
            piece = min(piece, n)
            start = time.perf_counter()
            _call("net_run", self._handle, piece)
            n -= piece
            if time.perf_counter() - start < _PIECE_SECONDS / 2:
                piece *= 2

    def stop(self):
        """Ends a run in another thread (which raises E_STOPPED there)."""
        _lib().vly_net_stop(self._handle)

    # ---- input and state

    def inject(self, area, neurons, values, port=0, burst=None):
        """Adds input, in units of the port, to a future burst (the next one).

        neurons: index or array, counted from 0 in the area; values: one for
        all or one each. A value becomes the nearest whole number of units of
        the port, net.area(area).units[port]. A RoundingWarning is given if the
        error of a value exceeds 1% of the largest value that this net has
        injected there so far. The measure is the amplitude, because a signal
        that passes through 0 always has a large relative error there.
        """
        neurons = np.atleast_1d(np.asarray(neurons))
        if neurons.size and (neurons.dtype.kind not in "iu" or
                             neurons.min() < 0 or neurons.max() >= 2**32):
            raise ValueError("neurons are indices from 0 on")
        neurons = np.ascontiguousarray(neurons, np.uint32)
        values = np.asarray(values, np.float64)
        if values.ndim > 0 and values.shape != neurons.shape:
            raise ValueError(f"{values.size} values for {neurons.size} "
                             "neurons, wanted one or as many")
        values = np.ascontiguousarray(np.broadcast_to(values, neurons.shape))
        _call("net_inject_many", self._handle,
              self.burst if burst is None else burst, area.encode(), port,
              neurons.ctypes.data, values.ctypes.data, neurons.size)
        if values.size and self._largest.get((area, port), 0.0) is not None:
            self._look_at(area, port, values)

    def _look_at(self, area, port, values):
        """Warns once if units are coarse for the injected values."""
        unit = self.areas[area].units[port]
        largest = max(self._largest.get((area, port), 0.0),
                      float(np.abs(values).max()))
        off = np.abs(np.floor(values / unit + 0.5) * unit - values)
        worst = int(off.argmax())
        if off[worst] > _OFF_MOST * largest:
            warnings.warn(
                f"{values[worst]:.6g} injected into port {port} of area {area} "
                f"becomes {math.floor(values[worst] / unit + 0.5) * unit:.6g}: "
                f"its unit is {unit:.6g}", RoundingWarning, stacklevel=3)
            largest = math.inf
        # from this value on, half a unit is below the share
        done = largest * _OFF_MOST >= unit / 2
        self._largest[area, port] = None if done else largest

    def fired(self):
        """Ids (in the whole net, ascending) that fired in the last burst."""
        ids = ctypes.c_void_p()
        n = ctypes.c_uint32()
        _call("net_fired", self._handle, ctypes.byref(ids), ctypes.byref(n))
        data = ctypes.string_at(ids, 4 * n.value) if n.value else b""
        return np.frombuffer(data, np.uint32)

    def read(self, area, field, first=0, count=None):
        """A field of an area's neurons, in its unit: float64 [count]."""
        if count is None:
            count = max(self.area(area).neurons - first, 0)
        values = np.empty(count)
        _call("net_read", self._handle, area.encode(), field.encode(), first,
              count, values.ctypes.data)
        return values

    def write(self, area, field, values, first=0):
        """The counterpart of read; one number is written to all neurons."""
        values = np.asarray(values, np.float64)
        if values.ndim == 0:
            values = np.full(self.area(area).neurons - first, values)
        values = np.ascontiguousarray(values)
        _call("net_write", self._handle, area.encode(), field.encode(), first,
              values.size, values.ctypes.data)

    def set(self, path, value):
        """Changes a parameter from the next burst on: "area.E.tau_m_ms",
        "stimulus.ext.rate_hz". An array gives one value per neuron.

        Weights, mean and sd of stimuli become whole units of the port
        (net.area(name).units), rates chances of 2^-32 a burst, durations that
        the model counts in bursts whole bursts. A RoundingWarning is given
        once per path if the error exceeds 1%; net.rounding(path) returns the
        error.
        """
        values = np.asarray(value, np.float64)
        if values.ndim == 0:
            _call("net_set", self._handle, path.encode(), float(values))
            self._look_at_path(path)
            return
        kind, _, rest = path.partition(".")
        area, _, param = rest.rpartition(".")
        if kind != "area" or not area:
            raise ValueError(f"{path!r} with an array, wanted area.NAME.PARAM")
        values = np.ascontiguousarray(values)
        _call("net_set_each", self._handle, area.encode(), param.encode(),
              values.ctypes.data, values.size)
        self._look_at_path(path)

    def rounding(self, path):
        """Relative rounding error of the value set at the path: 0.01 is 1%."""
        off = ctypes.c_double()
        _call("net_rounding", self._handle, path.encode(), ctypes.byref(off))
        return off.value

    def _look_at_path(self, path):
        if path in self._warned or self.rounding(path) <= _OFF_MOST:
            return
        self._warned.add(path)
        warnings.warn(f"{path} is off by {self.rounding(path):.3g} of its value "
                      "by rounding to the unit of the port, to 2^-32 a burst, "
                      "or to bursts", RoundingWarning, stacklevel=3)

    # ---- where it is

    @property
    def burst(self):
        """Bursts done."""
        return _lib().vly_net_burst(self._handle)

    @property
    def digest(self):
        """Digest of all spikes so far: equal on every backend."""
        return _lib().vly_net_digest(self._handle)

    def state_digest(self):
        """Digest of the state: fields, spikes in transit, pending input."""
        digest = ctypes.c_uint64()
        _call("net_state_digest", self._handle, ctypes.byref(digest))
        return digest.value

    def _stats(self):
        stats = _Stats(struct_size=ctypes.sizeof(_Stats))
        _call("net_stats", self._handle, ctypes.byref(stats))
        return stats

    def stats(self):
        """A dict: bursts, neurons, synapses, spikes, events, run_ns, ...,
        backend, device, plan."""
        stats = self._stats()
        return {name: value.decode() if isinstance(value, bytes) else value
                for name, value in ((field, getattr(stats, field))
                                    for field, _ in _Stats._fields_[2:])}

    @property
    def backend(self):
        """The backend of the net: "cpu:4"."""
        return self._stats().backend.decode()

    # ---- moving

    def swap(self, backend, threads=0):
        """Moves to another backend; results do not change. On failure the net
        stays on its backend."""
        _call("net_swap", self._handle, backend.encode(), threads)

    def snapshot(self):
        """The State now."""
        return State(_make("net_snapshot", self._handle))

    def restore(self, state):
        """Sets the net to a State of the same connectome."""
        _call("net_restore", self._handle, state._handle)


def load(genome, backend="auto", set=None, threads=0, resume=None):
    """Makes a net from a genome: a file name, or the text (with a newline).

    set: as --set, {"var.g": 5}; resume: a checkpoint's name or a State.
    """
    connectome = Connectome.build(genome, set, threads)
    if isinstance(resume, (str, os.PathLike)):
        with State.load(resume) as state:
            return Net(connectome, backend, threads, state)
    return Net(connectome, backend, threads, resume)
