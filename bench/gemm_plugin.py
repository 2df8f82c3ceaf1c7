# SPDX-License-Identifier: Apache-2.0
"""Products of a plugin of volley.gemm/1 from Python, for gemm_pytorch.py: as
much of the ABI of volley/plugin.h and volley/gemm.h as that needs.

    gemm = Gemm("lib/volley/plugins/gemm_cuda.so")
    plan = gemm.plan("bf16", m, n, k, "cache=off")
    plan.run(stream, a, b, d)          # numbers: pointers of the device

B is [n][k], rows are compact.
"""
import ctypes as c

F32, F16, BF16, E4M3, I8, I4, I32 = range(7)
SCALAR, ROW, BLOCK, GROUP = 1, 2, 3, 4
TRANS_B, TF32, FAST = 2, 8, 16
ABI_VERSION = 1 << 16 | 3
WORKSPACE = 64 << 20

# A, B, D, scale of A, scale of B, flags: as bench_gemm_shapes.c has them
KINDS = {
    "fp32": (F32, F32, F32, 0, 0, 0),
    "tf32": (F32, F32, F32, 0, 0, TF32),
    "fp16": (F16, F16, F16, 0, 0, 0),
    "bf16": (BF16, BF16, BF16, 0, 0, 0),
    "fp8": (E4M3, E4M3, BF16, SCALAR, SCALAR, 0),
    "fp8fast": (E4M3, E4M3, BF16, SCALAR, SCALAR, FAST),
    "fp8row": (E4M3, E4M3, BF16, ROW, ROW, 0),
    "fp8block": (E4M3, E4M3, BF16, BLOCK, BLOCK, 0),
    "int8": (I8, I8, I32, 0, 0, 0),
    "w8a16": (BF16, I8, BF16, 0, ROW, 0),
    "w4a16": (BF16, I4, BF16, 0, GROUP, 0),
}


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


class Desc(c.Structure):
    _fields_ = [(name, c.c_uint32) for name in (
        "struct_size", "flags", "type_a", "type_b", "type_d", "scale_a",
        "scale_b", "activation")] + [(name, c.c_uint64) for name in (
            "m", "n", "k", "lda", "ldb", "ldc", "ldd", "batch", "stride_a",
            "stride_b", "stride_c", "stride_d", "stride_bias",
            "stride_scale_a", "stride_scale_b", "workspace_most")] + [
                ("align", c.c_uint32), ("reserved", c.c_uint32)]


class Run(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("alpha", c.c_float),
                ("beta", c.c_float), ("reserved", c.c_uint32)] + [
                    (name, c.c_void_p) for name in (
                        "a", "b", "c", "d", "bias", "scale_a", "scale_b",
                        "workspace")] + [("workspace_bytes", c.c_uint64),
                                         ("stream", c.c_void_p)]


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
    one = kind()
    one.struct_size = c.sizeof(kind)
    return one


class Plan:
    def __init__(self, gemm, pointer):
        self.gemm, self.pointer, self.info = gemm, pointer, sized(Info)
        gemm.check(gemm.table.plan_info, pointer, c.byref(self.info))

    @property
    def choice(self):
        return self.info.choice.decode()

    def run(self, stream, a, b, d, scale_a=None, scale_b=None, workspace=None):
        one = sized(Run)
        one.alpha = 1.0
        one.a, one.b, one.d = a, b, d
        one.scale_a, one.scale_b = scale_a, scale_b
        one.workspace = workspace
        one.workspace_bytes = self.info.workspace_bytes
        one.stream = stream
        self.gemm.check(self.gemm.table.run, self.pointer, c.byref(one))

    def close(self):
        self.gemm.table.plan_destroy(self.pointer)


class Gemm:
    def __init__(self, file, log=lambda text: None):
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
        table = entry.get_interface(b"volley.gemm/1")
        if not table:
            raise Refused(f"{file} has no volley.gemm/1")
        self.table = c.cast(table, c.POINTER(Interface)).contents

    @staticmethod
    def check(function, *arguments):
        error = sized(Error)
        if function(*arguments, c.byref(error)) != 0:
            raise Refused(error.message.decode(errors="replace"))

    def plan(self, kind, m, n, k, options):
        one = sized(Desc)
        (one.type_a, one.type_b, one.type_d, one.scale_a, one.scale_b,
         flags) = KINDS[kind]
        one.flags = flags | TRANS_B
        one.m, one.n, one.k = m, n, k
        one.lda = one.ldb = k
        one.ldc = one.ldd = n
        one.batch, one.workspace_most = 1, WORKSPACE
        device = sized(Device)
        device.n_threads = 1
        device.options = options.encode()
        pointer = P()
        self.check(self.table.plan_create, c.byref(device), c.byref(one),
                   c.byref(pointer))
        return Plan(self, pointer)
