# SPDX-License-Identifier: Apache-2.0
"""Plugins from Python, for gemm_plugin.py and attention_plugin.py: as much of
the ABI of volley/plugin.h and volley/accelerator.h as those need.

    library = Library("lib/volley/plugins/gemm_cuda.so", b"volley.gemm/1")
    plan = Plan(library, library.plan(desc, "cache=off"))
    plan.put(run)
"""
import ctypes as c

F32, F16, BF16, E4M3, I8, I4, I32 = range(7)
ABI_VERSION = 1 << 16 | 3


class Refused(RuntimeError):
    """What the plugin said."""


class Error(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("status", c.c_int32),
                ("requested", c.c_uint64), ("available", c.c_uint64),
                ("message", c.c_char * 1000)]


ALLOC = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_uint64, c.c_uint64)
FREE = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p)
LOG = c.CFUNCTYPE(None, c.c_void_p, c.c_int32, c.c_char_p)
BODY = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32)
PARALLEL = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_uint32, BODY, c.c_void_p)
CLOCK = c.CFUNCTYPE(c.c_uint64, c.c_void_p)
TELEMETRY = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_double)


class Host(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("abi_version", c.c_uint32),
                ("context", c.c_void_p), ("alloc", ALLOC), ("free", FREE),
                ("log", LOG), ("parallel_for", PARALLEL),
                ("clock_ns", CLOCK), ("telemetry", TELEMETRY),
                ("device_memory", c.c_void_p), ("reserved", c.c_void_p * 3)]


class Plugin(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("abi_version", c.c_uint32),
                ("id", c.c_char_p), ("version", c.c_char_p),
                ("build", c.c_char_p),
                ("init", c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_void_p)),
                ("deinit", c.c_void_p),
                ("get_interface", c.CFUNCTYPE(c.c_void_p, c.c_char_p)),
                ("reserved", c.c_void_p * 2)]


class Device(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("index", c.c_uint32),
                ("n_threads", c.c_uint32), ("reserved", c.c_uint32),
                ("options", c.c_char_p)]


class Info(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("n_candidates", c.c_uint32),
                ("workspace_bytes", c.c_uint64), ("measured_s", c.c_double),
                ("cached", c.c_uint32), ("reserved", c.c_uint32),
                ("choice", c.c_char * 256)]


P = c.c_void_p


class Interface(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("flags", c.c_uint32),
                ("supports", c.CFUNCTYPE(c.c_int32, P, P)),
                ("plan_create", c.CFUNCTYPE(c.c_int32, P, P, P, P)),
                ("plan_destroy", c.CFUNCTYPE(None, P)),
                ("plan_info", c.CFUNCTYPE(c.c_int32, P, P, P)),
                ("run", c.CFUNCTYPE(c.c_int32, P, P, P)),
                ("reserved", c.c_void_p * 8)]


def sized(kind):
    """A structure with its size."""
    one = kind()
    one.struct_size = c.sizeof(kind)
    return one


class Plan:
    def __init__(self, library, pointer):
        self.library, self.pointer, self.info = library, pointer, sized(Info)
        library.check(library.table.plan_info, pointer, c.byref(self.info))

    @property
    def choice(self):
        return self.info.choice.decode()

    def put(self, run):
        """A structure of the interface's runs."""
        self.library.check(self.library.table.run, self.pointer, c.byref(run))

    def close(self):
        self.library.table.plan_destroy(self.pointer)


class Library:
    """A plugin and one of its interfaces."""

    def __init__(self, file, interface, log=lambda text: None):
        libc = c.CDLL(None)
        libc.aligned_alloc.restype = P
        libc.aligned_alloc.argtypes = [c.c_size_t, c.c_size_t]
        libc.free.argtypes = [P]

        def parallel(_, n, body, arg):
            if n != 1:  # tasks may wait for each other
                return -4
            body(arg, 0)
            return 0

        def clock(_):
            import time
            return time.monotonic_ns()

        host = sized(Host)
        host.abi_version = ABI_VERSION
        host.alloc = ALLOC(lambda _, bytes, align: libc.aligned_alloc(
            max(align, 16), -(-max(bytes, 1) // max(align, 16)) *
            max(align, 16)))
        host.free = FREE(lambda _, memory: libc.free(memory))
        host.log = LOG(lambda _, level, text: log(
            text.decode(errors="replace")) if level >= 2 else None)
        host.parallel_for = PARALLEL(parallel)
        host.clock_ns = CLOCK(clock)
        host.telemetry = TELEMETRY(lambda *_: None)
        self.host = host  # lives as long as the plugin
        self.library = c.CDLL(file)
        entry = Plugin.in_dll(self.library, "vly_plugin_entry")
        self.check(entry.init, c.byref(host))
        table = entry.get_interface(interface)
        if not table:
            raise Refused(f"{file} has no {interface.decode()}")
        self.table = c.cast(table, c.POINTER(Interface)).contents

    @staticmethod
    def check(function, *arguments):
        error = sized(Error)
        if function(*arguments, c.byref(error)) != 0:
            raise Refused(error.message.decode(errors="replace"))

    def plan(self, desc, options):
        """The pointer of a plan for a structure of descriptions."""
        device = sized(Device)
        device.n_threads = 1
        device.options = options.encode()
        pointer = P()
        self.check(self.table.plan_create, c.byref(device), c.byref(desc),
                   c.byref(pointer))
        return pointer
