# SPDX-License-Identifier: Apache-2.0
"""The C API (volley/volley.h) by ctypes: structures, functions, handles."""
from __future__ import annotations

import ctypes
import operator
import os
import threading
from typing import (Any, ClassVar, Dict, List, Optional, Tuple, Type,
                    TypeVar)

from . import _where
from ._errors import ClosedError, Error, plain


_Kind = TypeVar("_Kind")


class ErrorStruct(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32),
                ("status", ctypes.c_int32),
                ("bytes_requested", ctypes.c_uint64),
                ("bytes_available", ctypes.c_uint64),
                ("message", ctypes.c_char * 1000)]


class Override(ctypes.Structure):
    _fields_ = [("path", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class TableColumn(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p),
                ("type", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Table(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p),
                ("columns", ctypes.POINTER(TableColumn)),
                ("n_rows", ctypes.c_uint64), ("n_columns", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32)]


class GenomeSource(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32),
                ("n_overrides", ctypes.c_uint32),
                ("name", ctypes.c_char_p), ("text", ctypes.c_char_p),
                ("n_bytes", ctypes.c_uint64),
                ("overrides", ctypes.POINTER(Override)),
                ("tables", ctypes.POINTER(Table)),
                ("n_tables", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class ProjectionInfo(ctypes.Structure):
    _fields_: ClassVar[Any] = ([("struct_size", ctypes.c_uint32)] +
                [(name, ctypes.c_uint32)
                 for name in ("source_area", "target_area", "port")] +
                [("n_synapses", ctypes.c_uint64), ("map", ctypes.c_char_p),
                 ("unit_name", ctypes.c_char_p)] +
                [(name, ctypes.c_double) for name in
                 ("unit", "weight_min", "weight_max", "worst_rounding",
                  "share_coarse", "worst_coarse", "mean_coarse")] +
                [("delay_min", ctypes.c_uint32),
                 ("delay_max", ctypes.c_uint32)])


class PluginInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("status", ctypes.c_int32),
                ("id", ctypes.c_char_p), ("path", ctypes.c_char_p),
                ("version", ctypes.c_char_p), ("build", ctypes.c_char_p),
                ("reason", ctypes.c_char_p), ("interfaces", ctypes.c_char_p),
                ("hash", ctypes.c_uint64 * 2)]


class Stats(ctypes.Structure):
    _fields_: ClassVar[Any] = ([("struct_size", ctypes.c_uint32),
                 ("n_areas", ctypes.c_uint32)] +
                [(name, ctypes.c_uint64) for name in
                 ("bursts", "neurons", "synapses", "spikes", "events",
                  "candidates", "run_ns", "delivery_ns", "dynamics_ns",
                  "exchange_ns", "drain_ns", "host_bytes", "device_bytes",
                  "connectome_bytes")] +
                [("dt_ms", ctypes.c_double), ("backend", ctypes.c_char * 64),
                 ("device", ctypes.c_char * 128),
                 ("plan", ctypes.c_char * 256),
                 ("spikes_squared", ctypes.c_uint64)])


class AreaStats(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("first", ctypes.c_uint32),
                ("n_neurons", ctypes.c_uint32), ("n_ports", ctypes.c_uint32),
                ("name", ctypes.c_char_p), ("model", ctypes.c_char_p),
                ("q", ctypes.c_int32 * 2), ("spikes", ctypes.c_uint64)]


class MemoryStats(ctypes.Structure):
    _fields_: ClassVar[Any] = ([(name, ctypes.c_uint32) for name in
                 ("struct_size", "n_neurons", "n_known", "n_longterm")] +
                [(name, ctypes.c_uint64) for name in
                 ("n_made", "n_seen", "n_forgotten", "n_dropped")] +
                [("area", ctypes.c_char_p)])


class BoundStats(ctypes.Structure):
    _fields_: ClassVar[Any] = ([(name, ctypes.c_uint32) for name in
                 ("struct_size", "n_neurons", "n_lower", "n_upper",
                  "declared", "reserved")] +
                [(name, ctypes.c_double) for name in ("lower", "upper")] +
                [(name, ctypes.c_char_p) for name in
                 ("area", "field", "unit")])


class AssociationStats(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32),
                ("n_synapses", ctypes.c_uint64), ("name", ctypes.c_char_p),
                ("from_area", ctypes.c_char_p), ("to_area", ctypes.c_char_p)]


class StateInfo(ctypes.Structure):
    _fields_: ClassVar[Any] = ([("struct_size", ctypes.c_uint32),
                 ("n_neurons", ctypes.c_uint32)] +
                [(name, ctypes.c_uint64) for name in
                 ("bursts", "spikes", "events", "digest", "state_digest")] +
                [("genome_hash", ctypes.c_uint64 * 2),
                 ("connectome_hash", ctypes.c_uint64 * 2),
                 ("n_bytes", ctypes.c_uint64),
                 ("connectome_digest", ctypes.c_uint64 * 2)])


# vly_spikes_fn; the ids as an address: nothing is made of them for each call
SPIKES_FN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint64,
                             ctypes.c_void_p, ctypes.c_uint32,
                             ctypes.c_uint64)

_PTR = ctypes.c_void_p
_OUT = ctypes.POINTER(ctypes.c_void_p)
_STR = ctypes.c_char_p
_I32 = ctypes.c_int32
_U32 = ctypes.c_uint32
_U64 = ctypes.c_uint64
_F64 = ctypes.c_double
_ERR = ctypes.POINTER(ErrorStruct)

# name: (returns, arguments); those that end in _ERR can fail
FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "version": (_STR, []),
    "status_exit_code": (ctypes.c_int, [_I32]),
    "genome_read": (_I32, [ctypes.POINTER(GenomeSource), _OUT, _ERR]),
    "genome_note": (_STR, [_PTR, _U32]),
    "genome_note_count": (_U32, [_PTR]),
    "genome_destroy": (None, [_PTR]),
    "connectome_build": (_I32, [_PTR, _U32, _OUT, _ERR]),
    "connectome_save": (_I32, [_PTR, _STR, _ERR]),
    "connectome_load": (_I32, [_STR, ctypes.c_int, _OUT, _ERR]),
    "connectome_destroy": (None, [_PTR]),
    "connectome_projection_count": (_U32, [_PTR]),
    "connectome_projection_info":
        (_I32, [_PTR, _U32, ctypes.POINTER(ProjectionInfo), _ERR]),
    "connectome_synapses":
        (_I32, [_PTR, _U32, _U64, _U64, _PTR, _PTR, _PTR, _PTR, _ERR]),
    "registry_create": (_I32, [_OUT, _ERR]),
    "registry_add": (_I32, [_PTR, _STR, _ERR]),
    "registry_count": (_U32, [_PTR]),
    "registry_info": (_I32, [_PTR, _U32, ctypes.POINTER(PluginInfo)]),
    "net_create": (_I32, [_PTR, _PTR, _STR, _U32, _OUT, _ERR]),
    "net_resume": (_I32, [_PTR, _PTR, _STR, _U32, _PTR, _OUT, _ERR]),
    "net_destroy": (None, [_PTR]),
    "net_run": (_I32, [_PTR, _U64, _ERR]),
    "net_stop": (None, [_PTR]),
    "net_on_spikes": (None, [_PTR, SPIKES_FN, _PTR]),
    "net_inject_many":
        (_I32, [_PTR, _U64, _STR, _U32, _PTR, _PTR, _U32, _ERR]),
    "net_modulate": (_I32, [_PTR, _U64, _STR, _F64, _ERR]),
    "net_fired": (_I32, [_PTR, _OUT, ctypes.POINTER(_U32), _ERR]),
    "net_read": (_I32, [_PTR, _STR, _STR, _U32, _U32, _PTR, _ERR]),
    "net_write": (_I32, [_PTR, _STR, _STR, _U32, _U32, _PTR, _ERR]),
    "net_weights_read": (_I32, [_PTR, _STR, _U32, _U64, _U64, _PTR, _PTR, _PTR,
                                _ERR]),
    "net_weights_write": (_I32, [_PTR, _STR, _U32, _U64, _U64, _PTR, _ERR]),
    "net_set": (_I32, [_PTR, _STR, _F64, _ERR]),
    "net_rounding": (_I32, [_PTR, _STR, ctypes.POINTER(_F64), _ERR]),
    "net_set_each": (_I32, [_PTR, _STR, _STR, _PTR, _U32, _ERR]),
    "net_stats": (_I32, [_PTR, ctypes.POINTER(Stats), _ERR]),
    "net_bound_stats": (_I32, [_PTR, _U32, ctypes.POINTER(BoundStats), _ERR]),
    "net_memory_stats": (_I32, [_PTR, _U32, ctypes.POINTER(MemoryStats)]),
    "net_association_stats": (_I32, [_PTR, _U32,
                                     ctypes.POINTER(AssociationStats)]),
    "net_association_read": (_I32, [_PTR, _U32, _U64, _U64, _PTR, _PTR, _PTR,
                                    _ERR]),
    "net_area_stats": (_I32, [_PTR, _U32, ctypes.POINTER(AreaStats)]),
    "net_burst": (_U64, [_PTR]),
    "net_digest": (_U64, [_PTR]),
    "net_state_digest": (_I32, [_PTR, ctypes.POINTER(_U64), _ERR]),
    "net_snapshot": (_I32, [_PTR, _OUT, _ERR]),
    "net_restore": (_I32, [_PTR, _PTR, _ERR]),
    "net_swap": (_I32, [_PTR, _STR, _U32, _ERR]),
    "state_save": (_I32, [_PTR, _STR, _ERR]),
    "state_load": (_I32, [_STR, _OUT, _ERR]),
    "state_get_info": (_I32, [_PTR, ctypes.POINTER(StateInfo), _ERR]),
    "state_destroy": (None, [_PTR]),
}

_library: Optional[ctypes.CDLL] = None
_registry: Optional[ctypes.c_void_p] = None
_registry_lock = threading.Lock()


def lib() -> ctypes.CDLL:
    """libvolley, loaded by the first call. Errors  ImportError"""
    global _library
    if _library is not None:
        return _library
    path = _where.library()
    try:
        library = ctypes.CDLL(path)
        for name, (returns, arguments) in FUNCTIONS.items():
            function = getattr(library, "vly_" + name)
            function.restype = returns
            function.argtypes = arguments
    except (OSError, AttributeError) as why:
        raise ImportError("libvolley was not found (VOLLEY_LIBRARY=FILE names "
                          "it): " + plain(str(why))) from None
    _library = library
    return library


# largest value of the types of whole numbers
_MOST = {_U32: 2**32 - 1, _U64: 2**64 - 1}


def check_whole(value: Any, most: int, what: str = "") -> None:
    """Raises TypeError or ValueError for what is not a whole number from 0 to
    most: ctypes would truncate it."""
    shown = plain(repr(value))
    try:
        whole = operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError((f"{what} is {shown} ({kind})" if what else
                         f"{shown} is {kind}") +
                        f", wanted a whole number from 0 to {most}") from None
    if not 0 <= whole <= most:
        raise ValueError((f"{what} is {shown}" if what else shown) +
                         f", wanted a whole number from 0 to {most}")


def made_error(status: int, message: bytes) -> Error:
    """The exception of a status, with the text of the engine."""
    return Error(status, plain(message.decode("utf-8", "backslashreplace")),
                 lib().vly_status_exit_code(status))


# what a function makes that is not named after it
_MADE = {"net_snapshot": "state"}


def call(name: str, *arguments: Any) -> None:
    """Calls a function that can fail; its message is raised."""
    error = ErrorStruct(struct_size=ctypes.sizeof(ErrorStruct))
    for kind, value in zip(FUNCTIONS[name][1], arguments):
        if kind in _MOST:
            check_whole(value, _MOST[kind])
    status = getattr(lib(), "vly_" + name)(*arguments, ctypes.byref(error))
    if status:
        raise made_error(status, error.message)


def make(name: str, *arguments: Any) -> ctypes.c_void_p:
    """Calls a function that returns a handle in its last argument but one.

    Python lets Ctrl-C out when the function of C has returned. What it has made has
    no name then and is freed here."""
    handle = ctypes.c_void_p()
    try:
        call(name, *arguments, ctypes.byref(handle))
    except BaseException:
        made = _MADE.get(name, name.split("_", maxsplit=1)[0]) + "_destroy"
        if handle.value is not None and made in FUNCTIONS:
            getattr(lib(), "vly_" + made)(handle)
        raise
    return handle


def text(value: Any, what: str = "a path") -> bytes:
    """A path or a name as bytes."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{what} is {type(value).__name__}, wanted text")
    try:
        made = os.fsencode(value)
    except UnicodeEncodeError:
        made = b"\0"
    if b"\0" in made:  # C would read it up to there
        raise ValueError(f"{what} is {plain(repr(value))}, which is no text")
    return made


def word(value: Any, what: str) -> bytes:
    """A name in a genome as bytes: text without a zero byte."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is {type(value).__name__}, wanted a name")
    if "\0" in value:
        raise ValueError(f"{what} is {plain(repr(value))}, wanted a name")
    return value.encode("utf-8", "surrogateescape")


def registry() -> ctypes.c_void_p:
    """The plugins: one list a process; never destroyed, as nets may use it."""
    global _registry
    with _registry_lock:
        if _registry is None:
            _registry = make("registry_create")
        return _registry


def version() -> str:
    """Of libvolley: "0.2.0"."""
    return str(lib().vly_version().decode())


def plugins() -> List[Dict[str, Any]]:
    """The plugins found, a dict each: id, path, version, usable, reason."""
    found = []
    for index in range(lib().vly_registry_count(registry())):
        info = PluginInfo(struct_size=ctypes.sizeof(PluginInfo))
        status = lib().vly_registry_info(registry(), index,
                                         ctypes.byref(info))
        if status:
            raise made_error(status, b"plugin %d cannot be asked" % index)
        found.append({"id": info.id.decode(), "path": os.fsdecode(info.path),
                      "version": info.version.decode(),
                      "usable": info.status == 0,
                      "reason": info.reason.decode("utf-8", "replace")})
    return found


def check_handle(handle: Any, kind: str) -> ctypes.c_void_p:
    """A handle that this module made: the library follows any other number into
    memory that is not its own."""
    if not isinstance(handle, ctypes.c_void_p):
        raise TypeError(f"{kind}({plain(repr(handle))[:60]}), wanted "
                        f"{kind}.load(FILE)" +
                        (" or Connectome.build(GENOME)"
                         if kind == "Connectome" else " or net.snapshot()"))
    return handle


def check_kind(value: Any, kind: Type[_Kind], what: str) -> _Kind:
    """The value, if it is of that class."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} is {type(value).__name__}, wanted "
                        f"{kind.__name__}")
    return value


def check_number(value: Any, what: str) -> float:
    """One number."""
    if (isinstance(value, (str, bytes)) or not hasattr(value, "__float__") or
            getattr(value, "ndim", 0) != 0):
        raise TypeError(f"{what} is {type(value).__name__}, wanted a number")
    return float(value)


class Handle:
    """Owns a handle of the library until close, `with`, or the last name."""
    _destroy = ""
    _h: Optional[ctypes.c_void_p] = None

    def __reduce_ex__(self, _: Any) -> Any:
        # two copies would free the same memory
        raise TypeError(f"a {type(self).__name__} cannot be copied, pickled or "
                        "sent to a process: make one there, or save and load a "
                        "State")

    def close(self) -> None:
        """Frees the handle of the library; a second call does nothing."""
        handle, self._h = self._h, None
        if handle is not None:
            getattr(lib(), self._destroy)(handle)

    def __enter__(self) -> Any:
        self._handle  # pylint: disable=pointless-statement
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # the interpreter is ending
            pass

    @property
    def _handle(self) -> ctypes.c_void_p:
        if self._h is None:
            raise ClosedError(f"this {type(self).__name__} is closed")
        return self._h
