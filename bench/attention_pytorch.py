#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's scaled_dot_product_attention on the shapes of `volley bench
attention`, with the cuDNN and the flash backends, on a CUDA device:

    python3 bench/attention_pytorch.py --seq 2048,8192,16384 --dims 64,128,256

16 k tokens a batch, 2048 / dim heads, causal and full, forward and backward;
decoding with 64 query and 8 key heads over 32 k positions. Random data, sets of
buffers larger than the L2 cache used in turn, the median of 31 samples by CUDA
events. Prints one JSON object; what a backend refuses has a reason instead of
a time. Operations are counted as in bench_attention.c; error is relative, against
float64 on the rows that the suite looks at.
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


def mix64(x):
    mask = (1 << 64) - 1
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & mask
    return x ^ x >> 31


def pick(n, sample, samples):
    """As in bench_attention_check.c: last, some between at random, first."""
    return {0: n - 1, samples - 1: 0}.get(sample, mix64(n + sample) % n)


class Head:
    """One head in float64, a block of queries at a time: never all scores."""
    BLOCK = 1024

    def __init__(self, q, k, v, causal, b, h):
        group = q.shape[1] // k.shape[1]
        self.q, self.k, self.v = (t.detach()[b, i].double() for t, i in
                                  ((q, h), (k, h // group), (v, h // group)))
        self.causal, self.scale = causal, q.shape[3] ** -0.5

    def scores(self, rows):
        s = self.q[rows] @ self.k.T * self.scale
        if self.causal:
            seen = torch.arange(self.k.shape[0], device=s.device)[None, :] <= \
                rows[:, None]
            s = s.masked_fill(~seen, float("-inf"))
        return s

    def blocks(self):
        everything = torch.arange(self.q.shape[0], device=self.q.device)
        return everything.split(self.BLOCK)

    def query(self, i, grad_o=None):
        """O, or the gradient of Q, of query i."""
        rows = torch.tensor([i], device=self.q.device)
        p = torch.softmax(self.scores(rows), -1)
        o = p @ self.v
        if grad_o is None:
            return o[0]
        g = grad_o[rows]
        ds = p * (g @ self.v.T - (g * o).sum(-1, keepdim=True)) * self.scale
        return (ds @ self.k)[0]

    def key(self, j, o, grad_o):
        """Gradients of K and V of key j, from O as the forward run had it."""
        grad_k = torch.zeros_like(self.k[j])
        grad_v = torch.zeros_like(self.v[j])
        for rows in self.blocks():
            p = torch.softmax(self.scores(rows), -1)[:, j]
            g = grad_o[rows]
            ds = p * (g @ self.v[j] - (g * o[rows]).sum(-1)) * self.scale
            grad_k += ds @ self.q[rows]
            grad_v += p @ g
        return grad_k, grad_v


def relative_error(q, k, v, o, causal, grad_o=None, grads=None):
    """sqrt of the sum of squared differences over that of the values, of the
    rows that bench_attention_check.c looks at; forward of each row, and the
    mean over rows."""
    difference = size = 0.0
    samples = 16 if grads is None else 4
    for sample in range(samples):
        b, h = (pick(q.shape[at], sample, samples) for at in (0, 1))
        head = Head(q, k, v, causal, b, h)
        i, j = (pick(x.shape[2], sample, samples) for x in (q, k))
        if grads is None:
            wanted = head.query(i)
            found = o.detach()[b, h, i].double()
            difference += float((found - wanted).square().sum() /
                                wanted.square().sum())
            size += 1.0
            continue
        g, out = grad_o[b, h].double(), o.detach()[b, h].double()
        grad_k, grad_v = head.key(j, out, g)
        pairs = [(grads[0][b, h, i], head.query(i, g)),
                 (grads[1][b, h, j], grad_k), (grads[2][b, h, j], grad_v)]
        for found, wanted in pairs:
            difference += float((found.double() - wanted).square().sum())
            size += float(wanted.square().sum())
    return (difference / size) ** 0.5


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
            if backward:
                row["flops"] = 2.5 * flops
                outputs = [forward(i) for i in range(sets)]
                grad = torch.randn_like(o)
                grads = torch.autograd.grad(o, (q[0], k[0], v[0]), grad)
                row["error"] = relative_error(q[0], k[0], v[0], o, causal,
                                              grad, grads)

                def run(i):
                    torch.autograd.grad(outputs[i], (q[i], k[i], v[i]), grad,
                                        retain_graph=True)
            else:
                row["error"] = relative_error(q[0], k[0], v[0], o, causal)

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
    parser.add_argument("--case", default="", help="rows that hold this")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no CUDA device")
    types = ["bf16"] if arguments.quick else arguments.types.split(",")
    dims = [128] if arguments.quick else map(int, arguments.dims.split(","))
    dtypes = {"fp16": torch.float16, "bf16": torch.bfloat16}
    rows = []

    def add(*what):
        if arguments.case not in what[0]:
            return
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
