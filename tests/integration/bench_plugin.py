#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_plugin.py GEMM ATTENTION: bench/gemm_plugin.py and attention_plugin.py,
which have the structs of the ABI by hand, against gemm_cpu and attention_cpu:
products, attention and its gradients, refusals in the plugins' words."""
import ctypes
import math
import random
import sys

import attention_plugin
import gemm_plugin

M, N, K = 3, 5, 8
LIVE = []


def floats(values):
    """Aligned to 256 bytes, as plans without `align` want it."""
    raw = ctypes.create_string_buffer(4 * len(values) + 256)
    LIVE.append(raw)
    array = (ctypes.c_float * len(values)).from_buffer(
        raw, -ctypes.addressof(raw) % 256)
    array[:] = values
    return array


def refusal(call):
    try:
        call()
    except RuntimeError as refused:
        return str(refused)
    return ""


def attention(file):
    """One batch, two heads, causal; gradients of V are the weights' sums."""
    dice = random.Random(2)
    heads, seq, dim = 2, 3, 8
    shape = (1, heads, seq, dim)
    plugin = attention_plugin.Attention(file)
    q, k, v, g = (floats([dice.uniform(-1, 1) for _ in range(heads * seq * dim)])
                  for _ in range(4))
    o, grad_q, grad_k, grad_v = (floats([float("nan")] * len(q))
                                 for _ in range(4))
    lse = floats([float("nan")] * (heads * seq))
    flags = attention_plugin.CAUSAL
    both = {"o": o, "lse": lse, "q": q, "k": k, "v": v}
    more = {"grad_o": g, "grad_q": grad_q, "grad_k": grad_k, "grad_v": grad_v}
    for flag, arrays in ((attention_plugin.LSE, both),
                         (attention_plugin.BACKWARD, {**both, **more})):
        plan = plugin.plan("fp32", shape, shape, "", flags | flag)
        workspace = floats([0.0] * (plan.info.workspace_bytes // 4 + 1))
        plan.run(None, workspace=ctypes.addressof(workspace),
                 **{x: ctypes.addressof(y) for x, y in arrays.items()})
        plan.close()
    for h in range(heads):
        rows = [range((h * seq + i) * dim, (h * seq + i + 1) * dim)
                for i in range(seq)]
        wanted = [0.0] * (seq * dim)
        for i in range(seq):
            p = [math.exp(sum(q[x] * k[y] for x, y in zip(rows[i], rows[j])) /
                          math.sqrt(dim)) for j in range(i + 1)]
            assert abs(lse[h * seq + i] - math.log(sum(p))) <= 1e-5, (h, i)
            for c in range(dim):
                x = sum(p[j] * v[rows[j][c]] for j in range(i + 1)) / sum(p)
                assert abs(o[rows[i][c]] - x) <= 1e-5, (h, i, c)
                for j in range(i + 1):
                    wanted[j * dim + c] += p[j] / sum(p) * g[rows[i][c]]
        for j in range(seq * dim):
            assert abs(grad_v[rows[0][0] + j] - wanted[j]) <= 1e-5, (h, j)
    why = refusal(lambda: plugin.plan("fp32", shape, (1, 3, seq, dim), ""))
    assert "2 query heads for 3 key heads" in why, why


def main():
    attention(sys.argv[2])
    dice = random.Random(1)
    gemm = gemm_plugin.Gemm(sys.argv[1])
    a = floats([dice.uniform(-1, 1) for _ in range(M * K)])
    b = floats([dice.uniform(-1, 1) for _ in range(N * K)])
    d = floats([float("nan")] * (M * N))
    plan = gemm.plan("fp32", M, N, K, "choose=plain")
    assert plan.choice.startswith("plain"), plan.choice
    workspace = floats([0.0] * (plan.info.workspace_bytes // 4 + 1))
    at = ctypes.addressof
    plan.run(None, at(a), at(b), at(d), workspace=at(workspace))
    for i in range(M):
        for j in range(N):
            wanted = sum(a[i * K + x] * b[j * K + x] for x in range(K))
            assert abs(d[i * N + j] - wanted) <= 1e-5, (i, j, d[i * N + j])
    why = refusal(lambda: plan.run(None, at(a), None, at(d),
                                   workspace=at(workspace)))
    assert "b is NULL" in why, why
    plan.close()
    why = refusal(lambda: gemm.plan("bf16", M, N, K, "choose=none"))
    assert "choose=none" in why, why
    # every kind is one that the plugin knows
    for kind in gemm_plugin.KINDS:
        gemm.plan(kind, 16, 128, 256, "tune=0").close()
    print(f"{M * N} elements, {len(gemm_plugin.KINDS)} kinds")


if __name__ == "__main__":
    main()
