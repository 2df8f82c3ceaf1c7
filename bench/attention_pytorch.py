#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's scaled_dot_product_attention on the shapes of `volley bench
attention`, with the cuDNN and the flash backends, on a CUDA device:

    python3 bench/attention_pytorch.py --seq 2048,8192,16384 --dims 64,128,256

16 k tokens a batch, 2048 / dim heads, causal and full, forward and backward;
decoding with 64 query and 8 key heads over 32 k positions. Random data, sets of
buffers larger than the L2 cache used in turn, the median of 31 samples by CUDA
events. Prints one JSON object; what a backend refuses has a reason instead of
a time. Operations are counted as in bench_attention.c.
"""
import argparse
import json
import statistics
import sys

import torch
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

SAMPLES = 31
CACHE_BYTES = 256 << 20
TOKENS, WIDTH, CACHE = 16384, 2048, 32768
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION,
            "flash": SDPBackend.FLASH_ATTENTION}


def sample(run, sets):
    """Seconds of one run; every set once before, then 2 ms a sample."""
    begin = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)

    def timed(runs, first):
        begin.record()
        for i in range(runs):
            run((first + i) % sets)
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / runs

    timed(sets, 0)
    runs = max(1, min(256, int(2e-3 / timed(4, 0))))
    return [timed(runs, i * runs) for i in range(SAMPLES)]


def tensors(shape, n, dtype, grad=False):
    return [torch.randn(shape, device="cuda", dtype=dtype, requires_grad=grad)
            for _ in range(n)]


def reference(q, k, v, causal):
    """Float64 on sampled queries of the first sequence and head."""
    rows = sorted({0, q.shape[2] // 3, q.shape[2] - 1})
    group = q.shape[1] // k.shape[1]
    head = q.shape[1] - 1
    keys = k[0, head // group].double()
    scores = q[0, head, rows].double() @ keys.T / q.shape[3] ** 0.5
    if causal:
        position = torch.arange(k.shape[2], device="cuda")
        for i, row in enumerate(rows):
            scores[i, position > row] = float("-inf")
    wanted = torch.softmax(scores, -1) @ v[0, head // group].double()
    return head, rows, wanted


def measure(name, backend, q_shape, kv_shape, dtype, causal, backward):
    size = torch.finfo(dtype).bits // 8
    per_set = size * (2 * torch.Size(q_shape).numel() +
                      2 * torch.Size(kv_shape).numel())
    sets = max(2, min(64, -(-CACHE_BYTES // per_set)))
    q = tensors(q_shape, sets, dtype, backward)
    k = tensors(kv_shape, sets, dtype, backward)
    v = tensors(kv_shape, sets, dtype, backward)
    gqa = q_shape[1] != kv_shape[1]
    flops = 4.0 * q_shape[0] * q_shape[1] * q_shape[2] * kv_shape[2] * \
        q_shape[3] * (0.5 if causal else 1.0)
    row = {"id": name, "backend": backend, "flops": flops,
           "bytes": per_set}

    def forward(i):
        return functional.scaled_dot_product_attention(
            q[i], k[i], v[i], is_causal=causal, enable_gqa=gqa)

    try:
        with sdpa_kernel(BACKENDS[backend]):
            o = forward(0)
            head, rows, wanted = reference(q[0], k[0], v[0], causal)
            found = o[0, head, rows].double()
            row["error"] = float((found - wanted).norm() / wanted.norm())
            if backward:
                row["flops"] = 2.5 * flops
                outputs = [forward(i) for i in range(sets)]
                grad = torch.randn_like(o)

                def run(i):
                    torch.autograd.grad(outputs[i], (q[i], k[i], v[i]), grad,
                                        retain_graph=True)
            else:
                def run(i):
                    with torch.no_grad():
                        forward(i)
            seconds = sample(run, sets)
    except RuntimeError as refused:
        row["reason"] = str(refused).splitlines()[0]
        return row
    row["median_s"] = statistics.median(seconds)
    row["min_s"], row["max_s"] = min(seconds), max(seconds)
    row["tflops"] = row["flops"] / row["median_s"] * 1e-12
    row["gb_per_s"] = row["bytes"] / row["median_s"] * 1e-9
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seq", default="2048,8192,16384")
    parser.add_argument("--types", default="fp16,bf16")
    parser.add_argument("--dims", default="64,128,256")
    parser.add_argument("--quick", action="store_true", help="bf16, d 128")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no CUDA device")
    types = ["bf16"] if arguments.quick else arguments.types.split(",")
    dims = [128] if arguments.quick else map(int, arguments.dims.split(","))
    dtypes = {"fp16": torch.float16, "bf16": torch.bfloat16}
    rows = []

    def add(*what):
        rows.append(measure(*what))
        print(rows[-1]["id"], rows[-1]["backend"],
              rows[-1].get("tflops", rows[-1].get("reason")), file=sys.stderr)
        torch.cuda.empty_cache()

    for dim in dims:
        for kind in types:
            for backend in BACKENDS:
                for seq in map(int, arguments.seq.split(",")):
                    batch, heads = max(1, TOKENS // seq), max(1, WIDTH // dim)
                    shape = (batch, heads, seq, dim)
                    for backward in (False, True):
                        for causal in (False, True):
                            add(f"{'backward' if backward else 'forward'} "
                                f"{kind} d{dim} {seq} b{batch} h{heads} "
                                f"{'causal' if causal else 'full'}", backend,
                                shape, shape, dtypes[kind], causal, backward)
                for batch in (1, 16):
                    add(f"decode {kind} d{dim} {CACHE} b{batch} h64/8", backend,
                        (batch, 64, 1, dim), (batch, 8, CACHE, dim),
                        dtypes[kind], False, False)
    json.dump({"torch": torch.__version__, "cuda": torch.version.cuda,
               "cudnn": torch.backends.cudnn.version(),
               "device": torch.cuda.get_device_name(), "rows": rows},
              sys.stdout, indent=1)
    print()


main()
