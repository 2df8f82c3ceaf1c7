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

    attention_pytorch.py --turns attention_cuda.so [--options cache=FOLDER] [...]

Here the plugin runs in this process, on the same tensors, and takes turns of some 2
ms with each backend, a b c c b a: those that are measured one after the other meet
two devices. One line a cell: the plugin's rate (TFLOP/s; decoding GB/s), seconds of
PyTorch's faster backend over the plugin's (median of the turns, 95% interval of
2,000 resamples), the other backend's, how far both results are apart, forward also
the error over PyTorch's. --types fp8: no PyTorch has it; the plugin's choice beside
choose=cudnn, results in fp8. --seconds N begins no cell after so many.
"""
import argparse
import json
import statistics
import sys
import time

import attention_plugin
import torch
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch_turns import Calls, Way, interval, take_turns

SAMPLES = 31
CACHE_BYTES = 256 << 20
TOKENS, WIDTH, CACHE = 16384, 2048, 32768
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16,
          "fp8": torch.float8_e4m3fn}
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


# ---- in turns

class Cell:
    """One shape: its tensors, and the ways to compute it."""

    def __init__(self, kind, q_shape, kv_shape, causal, backward):
        self.kind, self.causal, self.backward = kind, causal, backward
        self.q_shape, self.kv_shape = q_shape, kv_shape
        dtype = DTYPES[kind]
        self.q_size = torch.Size(q_shape).numel()
        self.bytes = torch.finfo(dtype).bits // 8 * 2 * (
            self.q_size + torch.Size(kv_shape).numel())
        self.flops = 4.0 * self.q_size * kv_shape[2] * (
            0.5 if causal else 1.0) * (2.5 if backward else 1.0)
        self.n_sets = max(2, min(64, -(-CACHE_BYTES // self.bytes)))
        self.sets = [[torch.randn(shape, device="cuda").to(dtype)
                      .requires_grad_(backward)
                      for shape in (q_shape, kv_shape, kv_shape)]
                     for _ in range(self.n_sets)]
        if backward:
            self.grad_o = torch.randn(q_shape, device="cuda").to(dtype)

    def sdpa(self, i):
        q, k, v = self.sets[i]
        return functional.scaled_dot_product_attention(
            q, k, v, is_causal=self.causal,
            enable_gqa=self.q_shape[1] != self.kv_shape[1])

    def torch_way(self, backend):
        with sdpa_kernel(BACKENDS[backend]):
            if self.backward:
                made = [self.sdpa(i) for i in range(self.n_sets)]
                return Calls(lambda: [torch.autograd.grad(
                    o, one, self.grad_o, retain_graph=True)
                    for o, one in zip(made, self.sets)], self.n_sets)

            def once():
                with torch.no_grad():
                    return [self.sdpa(i) for i in range(self.n_sets)]
            return Way(once, self.n_sets)

    def plan(self, attention, options, flags):
        flags |= attention_plugin.CAUSAL if self.causal else 0
        if self.kind == "fp8":
            flags |= attention_plugin.SAME_SCALES
        plan = attention.plan(self.kind, self.q_shape, self.kv_shape, options,
                              flags)
        plan.workspace = torch.empty(plan.info.workspace_bytes + 1,
                                     device="cuda", dtype=torch.uint8)
        return plan

    def runs_of(self, plan, tensors):
        """[set]{name: tensor} put into the current stream."""
        shared = {"workspace": plan.workspace}
        if self.kind == "fp8":
            one = torch.ones(self.kv_shape[0] * self.kv_shape[1],
                             device="cuda")
            shared.update(scale_q=one, scale_k=one, scale_v=one, scale_o=one)
        pointers = [{name: x.data_ptr() for name, x in {**one, **shared}.items()}
                    for one in tensors]

        def once():
            stream = torch.cuda.current_stream().cuda_stream
            for one in pointers:
                plan.run(stream, **one)
            return tensors, shared
        return once

    def plugin_way(self, attention, options):
        """The way and its plan; kept[0] has the tensors."""
        tensors = [dict(zip("qkv", (x.detach() for x in one)),
                        o=torch.empty_like(one[0])) for one in self.sets]
        if not self.backward:
            plan = self.plan(attention, options, 0)
            return Way(self.runs_of(plan, tensors), self.n_sets), plan
        for one in tensors:
            one["lse"] = torch.empty(self.q_shape[:3], device="cuda")
        forward = self.plan(attention, "cache=off,tune=0", attention_plugin.LSE)
        self.runs_of(forward, tensors)()
        torch.cuda.synchronize()
        forward.close()
        for one in tensors:
            one["grad_o"] = self.grad_o
            one.update({f"grad_{x}": torch.empty_like(one[x]) for x in "qkv"})
        plan = self.plan(attention, options, attention_plugin.BACKWARD)
        return Calls(self.runs_of(plan, tensors), self.n_sets), plan

    def found(self, way):
        """Results of the first set."""
        first = way.kept[0]
        if isinstance(first, list):  # of the plugin
            first = tuple(first[0][x] for x in (
                ("grad_q", "grad_k", "grad_v") if self.backward else ("o",)))
        return first if isinstance(first, tuple) else (first,)


def apart(found, wanted):
    """Of all results together, relative."""
    off = sum(float((x.float() - y.float()).square().sum())
              for x, y in zip(found, wanted))
    return (off / sum(float(y.float().square().sum()) for y in wanted)) ** 0.5


def in_turns(attention, cell, options, samples):
    """A row: seconds of each way, ratios of the others over the plugin's."""
    ways, refused, plans = {}, {}, []
    ways["volley"], plan = cell.plugin_way(attention, options)
    plans.append(plan)
    for name in ["own cudnn"] if cell.kind == "fp8" else list(BACKENDS):
        try:
            if cell.kind == "fp8":
                ways[name], other = cell.plugin_way(
                    attention, "choose=cudnn,tune=0,cache=off")
                plans.append(other)
            else:
                ways[name] = cell.torch_way(name)
        except (RuntimeError, attention_plugin.Refused) as why:
            refused[name] = str(why).splitlines()[0][:120]
    taken = dict(zip(ways, take_turns(list(ways.values()), samples)))
    row = {"choice": plan.choice, "refused": refused, "times": {},
           "seconds": {x: statistics.median(y) for x, y in taken.items()}}
    for name in ways:
        if name != "volley":
            row["times"][name] = interval(
                [x / y for x, y in zip(taken[name], taken["volley"])])
    mine = cell.found(ways["volley"])
    for name in sorted(row["times"], key=lambda x: row["times"][x][0])[:1]:
        other = cell.found(ways[name])
        row["apart"] = apart(mine, other)
        if not cell.backward and cell.kind != "fp8":
            q, k, v = cell.sets[0]
            row["errors"] = relative_error(q, k, v, mine[0], cell.causal) / \
                relative_error(q, k, v, other[0], cell.causal)
    for one in plans:
        one.close()
    return row


def print_row(row, cell):
    decode = cell.q_shape[2] == 1
    rate = cell.bytes * 1e-9 if decode else cell.flops * 1e-12
    text = f"{row['id']:38} {rate / row['seconds']['volley']:6.0f}"
    for name in sorted(row["times"], key=lambda x: row["times"][x][0]):
        text += " {:10} {:.3f} ({:.3f}, {:.3f})".format(
            name, *row["times"][name])
    for name in ("apart", "errors"):
        if name in row:
            text += f" {name} {row[name]:.2g}"
    text += "".join(f" {name}: {why}" for name, why in row["refused"].items())
    print(f"{text}  {row['choice'][:48]}", flush=True)


def turns(cells, arguments):
    """The table of --turns; its rows."""
    attention = attention_plugin.Attention(
        arguments.turns, lambda text: print(text, file=sys.stderr))
    rows, until = [], time.monotonic() + arguments.seconds
    for name, *shape in cells:
        if time.monotonic() >= until:
            print(f"{name}: no time left")
            continue
        cell = Cell(*shape)
        try:
            row = in_turns(attention, cell, arguments.options,
                           arguments.samples)
        except attention_plugin.Refused as why:
            print(f"{name}: {why}")
            continue
        row["id"] = name
        rows.append(row)
        print_row(row, cell)
        del cell
        torch.cuda.empty_cache()
    best = [min(x[0] for x in row["times"].values()) for row in rows
            if row["times"]]
    if best:
        print(f"{len(best)} cells, {min(best):.3f} to {max(best):.3f} times, "
              f"{statistics.geometric_mean(best):.3f} (geometric mean), "
              f"{sum(x < 1 for x in best)} below 1")
    return rows


def cells_of(arguments, types, dims):
    """Name, kind, shapes of Q and of K, causal, backward."""
    cells = []
    for dim in dims:
        for kind in types:
            for seq in map(int, arguments.seq.split(",")):
                batch, heads = max(1, TOKENS // seq), max(1, WIDTH // dim)
                shape = (batch, heads, seq, dim)
                for backward in (False, True):
                    if backward and kind == "fp8":
                        continue
                    for causal in (False, True):
                        cells.append((
                            f"{'backward' if backward else 'forward'} {kind} "
                            f"d{dim} {seq} b{batch} h{heads} "
                            f"{'causal' if causal else 'full'}", kind, shape,
                            shape, causal, backward))
            for batch in (1, 16) if kind != "fp8" else ():
                cells.append((f"decode {kind} d{dim} {CACHE} b{batch} h64/8",
                              kind, (batch, 64, 1, dim),
                              (batch, 8, CACHE, dim), False, False))
    return [cell for cell in cells if arguments.case in cell[0]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seq", default="2048,8192,16384")
    parser.add_argument("--types", default="fp16,bf16")
    parser.add_argument("--dims", default="64,128,256")
    parser.add_argument("--quick", action="store_true", help="bf16, d 128")
    parser.add_argument("--case", default="", help="rows that hold this")
    parser.add_argument("--turns", metavar="PLUGIN")
    parser.add_argument("--options", default="cache=off",
                        help="of the plugin: cache=FOLDER, choose=NAME")
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no CUDA device")
    types = ["bf16"] if arguments.quick else arguments.types.split(",")
    dims = [128] if arguments.quick else \
        list(map(int, arguments.dims.split(",")))
    cells = cells_of(arguments, types, dims)
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__, "cuDNN",
          torch.backends.cudnn.version(), file=sys.stderr)
    if arguments.turns:
        turns(cells, arguments)
        return
    rows = []
    for backend in BACKENDS:
        for name, kind, q_shape, kv_shape, causal, backward in cells:
            if kind == "fp8":
                continue
            rows.append(measure(name, backend, q_shape, kv_shape, DTYPES[kind],
                                causal, backward))
            print(rows[-1]["id"], rows[-1]["backend"],
                  rows[-1].get("tflops", rows[-1].get("reason")),
                  file=sys.stderr)
            torch.cuda.empty_cache()
    json.dump({"torch": torch.__version__, "cuda": torch.version.cuda,
               "cudnn": torch.backends.cudnn.version(),
               "device": torch.cuda.get_device_name(), "rows": rows},
              sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
