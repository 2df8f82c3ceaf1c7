#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_plugin.py PLUGIN: bench/gemm_plugin.py, which has the structs of the ABI
by hand, against gemm_cpu: products, refusals in the plugin's words."""
import ctypes
import random
import sys

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
    except gemm_plugin.Refused as refused:
        return str(refused)
    return ""


def main():
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
