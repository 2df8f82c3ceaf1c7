# SPDX-License-Identifier: Apache-2.0
"""Attention of a plugin of volley.attention/1 from Python, for
attention_pytorch.py: as much of volley/attention.h as that needs.

    attention = Attention("lib/volley/plugins/attention_cuda.so")
    plan = attention.plan("bf16", (b, hq, sq, d), (b, hkv, skv, d), "cache=off",
                          flags=CAUSAL | LSE)
    plan.run(stream, q=..., k=..., v=..., o=..., lse=...)    # pointers

Tensors are [batch][heads][seq][dim], compact.
"""
import ctypes as c

import plugin_abi as abi
from plugin_abi import BF16, E4M3, F16, F32, P, Refused, sized

__all__ = ["Attention", "Refused"]
BACKWARD, CAUSAL, LSE, SAME_SCALES = 1, 2, 8, 256
TYPES = {"fp32": F32, "fp16": F16, "bf16": BF16, "fp8": E4M3}
WORKSPACE = 8 << 30


class Layout(c.Structure):
    _fields_ = [(name, c.c_uint64) for name in ("batch", "seq", "head")]


class Desc(c.Structure):
    _fields_ = [(name, c.c_uint32) for name in (
        "struct_size", "flags", "type", "type_o", "batch", "heads_q",
        "heads_kv", "seq_q", "seq_kv", "dim", "dim_v")] + [
            ("window_left", c.c_int32), ("window_right", c.c_int32),
            ("page_size", c.c_uint32), ("pages_most", c.c_uint32),
            ("scale", c.c_float), ("align", c.c_uint32),
            ("pages", c.c_uint32)] + [
                (name, Layout) for name in "qkvo"] + [
                    ("workspace_most", c.c_uint64)]


POINTERS = ("q", "k", "v", "o", "lse", "grad_o", "grad_q", "grad_k", "grad_v",
            "length_q", "length_kv", "start_q", "start_kv", "page_table",
            "scale_q", "scale_k", "scale_v", "scale_o", "workspace")


class Run(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32)] + [
        (name, P) for name in POINTERS] + [("workspace_bytes", c.c_uint64),
                                           ("stream", P)]


class Plan(abi.Plan):
    def run(self, stream, **pointers):
        one = sized(Run)
        for name, pointer in pointers.items():
            setattr(one, name, pointer)
        one.workspace_bytes = self.info.workspace_bytes
        one.stream = stream
        self.put(one)


def compact(shape):
    _, heads, seq, dim = shape
    return Layout(heads * seq * dim, dim, seq * dim)


class Attention(abi.Library):
    def __init__(self, file, log=lambda text: None):
        super().__init__(file, b"volley.attention/1", log)

    def plan(self, kind, q_shape, kv_shape, options, flags=0, out=None):
        """out: the type of O, that of Q unless it is said."""
        one = sized(Desc)
        one.flags, one.type = flags, TYPES[kind]
        one.type_o = TYPES[out or kind]
        one.batch, one.heads_q, one.seq_q, one.dim = q_shape
        _, one.heads_kv, one.seq_kv, one.dim_v = kv_shape
        one.window_left = one.window_right = -1
        one.q = one.o = compact(q_shape)
        one.k = one.v = compact(kv_shape)
        one.workspace_most = WORKSPACE
        return Plan(self, super().plan(one, options))
