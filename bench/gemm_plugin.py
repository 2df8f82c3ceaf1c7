# SPDX-License-Identifier: Apache-2.0
"""Products of a plugin of volley.gemm/1 from Python, for gemm_pytorch.py: as
much of volley/gemm.h as that needs; plugin_abi.py has the rest.

    gemm = Gemm("lib/volley/plugins/gemm_cuda.so")
    plan = gemm.plan("bf16", m, n, k, "cache=off")
    plan.run(stream, a, b, d)          # numbers: pointers of the device

B is [n][k], rows are compact.
"""
import ctypes as c

import plugin_abi as abi
from plugin_abi import BF16, E4M3, F16, F32, I4, I8, I32, P, Refused, sized

__all__ = ["Gemm", "KINDS", "Refused"]
SCALAR, ROW, BLOCK, GROUP = 1, 2, 3, 4
TRANS_B, TF32, FAST = 2, 8, 16
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
                    (name, P) for name in (
                        "a", "b", "c", "d", "bias", "scale_a", "scale_b",
                        "workspace")] + [("workspace_bytes", c.c_uint64),
                                         ("stream", P)]


class Plan(abi.Plan):
    def run(self, stream, a, b, d, scale_a=None, scale_b=None, workspace=None):
        one = sized(Run)
        one.alpha = 1.0
        one.a, one.b, one.d = a, b, d
        one.scale_a, one.scale_b = scale_a, scale_b
        one.workspace = workspace
        one.workspace_bytes = self.info.workspace_bytes
        one.stream = stream
        self.put(one)


class Gemm(abi.Library):
    def __init__(self, file, log=lambda text: None):
        super().__init__(file, b"volley.gemm/1", log)

    def plan(self, kind, m, n, k, options):
        one = sized(Desc)
        (one.type_a, one.type_b, one.type_d, one.scale_a, one.scale_b,
         flags) = KINDS[kind]
        one.flags = flags | TRANS_B
        one.m, one.n, one.k = m, n, k
        one.lda = one.ldb = k
        one.ldc = one.ldd = n
        one.batch, one.workspace_most = 1, WORKSPACE
        return Plan(self, super().plan(one, options))
