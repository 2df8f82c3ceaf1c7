#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The products of a `volley bench gemm|gemv --json FILE` again, by PyTorch.

    gemm_pytorch.py FILE [--json OUT] [--samples 30] [--full-sums]

One table: what Volley took, what PyTorch takes on the same device now, and how
many times as fast Volley is. Both use random factors that are taken in turns
from more than three times the L2 cache, both run from a CUDA graph; the median
of so many samples counts. What PyTorch cannot compute is left out with its
reason. PyTorch may add parts of k in 16 bits, which Volley does not; --full-sums
tells it not to.

    fp32 tf32 fp16 bf16   torch.matmul(A, B.t()); m = 1: F.linear
    fp8 fp8fast           torch._scaled_mm, scalar scales, bf16 out
    fp8row fp8block       the same with scales of rows, of 1x128 and 128x128
    int8                  torch._int_mm
    w8a16 w4a16           F.linear in bf16: what the weights replace

Exit codes: 0 done, 2 the call or FILE is wrong, 3 no PyTorch or no device.
"""
import argparse
import json
import statistics
import sys
import time

SETS_MOST = 64
SAMPLE_S = 2e-3
WARM_S = 0.06


def stop(code, text):
    print(f"gemm_pytorch: {text}", file=sys.stderr)
    sys.exit(code)


try:
    import torch
except ImportError as missing:
    stop(3, f"no PyTorch: {missing}")


def read_rows(path):
    """Rows with an id like 'gemm bf16 4096x4096x4096' that were measured."""
    try:
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)["rows"]
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        stop(2, f"{path}: wanted the JSON of volley bench: {wrong}")
    found = []
    for row in rows:
        parts = str(row.get("id", "")).split()
        if len(parts) == 3 and parts[0] in ("gemm", "gemv") and \
                "median_s" in row:
            try:
                shape = tuple(int(x) for x in parts[2].split("x"))
            except ValueError:
                continue
            if len(shape) == 3:
                found.append((row, parts[1], shape))
    if not found:
        stop(2, f"{path}: it has no measured row of the suites gemm and gemv")
    return found


def uniform(shape, kind):
    return (torch.rand(shape, device="cuda") * 2 - 1).to(kind)


def factors(kind, m, n, k):
    """One set of factors, and what multiplies them."""
    plain = {"fp32": torch.float32, "tf32": torch.float32,
             "fp16": torch.float16, "bf16": torch.bfloat16,
             "w8a16": torch.bfloat16, "w4a16": torch.bfloat16}
    if kind in plain:
        a, b = uniform((m, k), plain[kind]), uniform((n, k), plain[kind])
        return lambda: torch.nn.functional.linear(a, b)
    if kind == "int8":
        a = torch.randint(-128, 128, (m, k), device="cuda", dtype=torch.int8)
        b = torch.randint(-128, 128, (n, k), device="cuda", dtype=torch.int8)
        return lambda: torch._int_mm(a, b.t())
    if not kind.startswith("fp8"):
        raise ValueError(f"type {kind} is not known here")
    a = uniform((m, k), torch.float8_e4m3fn)
    b = uniform((n, k), torch.float8_e4m3fn)

    def scale(*shape):
        return torch.rand(shape, device="cuda") / 64 + 1 / 64

    if kind == "fp8row":
        scales = scale(m, 1), scale(1, n)
    elif kind == "fp8block":
        blocks, wide = -(-k // 128), -(-(-(-k // 128)) // 4) * 4
        scales = (scale(blocks, m).t(),
                  scale(-(-n // 128), wide)[:, :blocks].t())
    else:
        scales = scale(1)[0], scale(1)[0]
    return lambda: torch._scaled_mm(
        a, b.t(), scale_a=scales[0], scale_b=scales[1],
        out_dtype=torch.bfloat16, use_fast_accum=kind == "fp8fast")


def set_bytes(kind, m, n, k):
    size = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "w8a16": 2,
            "w4a16": 2}.get(kind, 1)
    return size * (m * k + n * k) + 2 * m * n


def measure(kind, m, n, k, n_samples):
    """Median seconds of one product."""
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    n_sets = min(SETS_MOST, 3 * l2 // set_bytes(kind, m, n, k) + 2)
    sets = [factors(kind, m, n, k) for _ in range(n_sets)]
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def clock(body):
        begin.record()
        body()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3

    def once():
        """Results that live until all are there: each is written where no
        other is, as Volley's are, not where the last left the cache warm."""
        return [run() for run in sets]

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            once()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = once()
    n_times = max(1, round(SAMPLE_S / max(clock(graph.replay), 1e-6)))

    def sample():
        for _ in range(n_times):
            graph.replay()

    # as long as Volley's own runs and the default's before: clocks are those of
    # a device at work
    warm = time.monotonic() + WARM_S
    clock(sample)
    while time.monotonic() < warm:
        clock(sample)
    taken = [clock(sample) / (n_times * n_sets) for _ in range(n_samples)]
    del kept
    return statistics.median(taken)


def main():
    call = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    call.add_argument("file")
    call.add_argument("--json")
    call.add_argument("--samples", type=int, default=30)
    call.add_argument("--full-sums", action="store_true")
    options = call.parse_args()
    matmul = torch.backends.cuda.matmul
    matmul.allow_bf16_reduced_precision_reduction = not options.full_sums
    matmul.allow_fp16_reduced_precision_reduction = not options.full_sums
    rows = read_rows(options.file)
    if not torch.cuda.is_available():
        stop(3, "PyTorch finds no CUDA device")
    made = []
    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}\n")
    print(f"{'product':36} {'volley us':>10} {'torch us':>10} {'times':>7}  "
          "choice")
    for row, kind, shape in rows:
        one = {"id": row["id"], "volley_s": row["median_s"],
               "choice": row.get("choice", "")}
        try:
            one["torch_s"] = measure(kind, *shape, options.samples)
            one["times"] = one["torch_s"] / one["volley_s"]
            print(f"{row['id']:36} {one['volley_s'] * 1e6:10.2f} "
                  f"{one['torch_s'] * 1e6:10.2f} {one['times']:7.3f}  "
                  f"{one['choice'][:60]}")
        except (RuntimeError, ValueError, NotImplementedError,
                AttributeError) as wrong:
            one["reason"] = str(wrong).splitlines()[0][:200]
            print(f"{row['id']:36} {one['volley_s'] * 1e6:10.2f} "
                  f"{'-':>10} {'-':>7}  PyTorch: {one['reason'][:60]}")
        made.append(one)
        torch.cuda.empty_cache()
    both = [x["times"] for x in made if "times" in x]
    if both:
        print(f"\n{len(both)} products: {statistics.geometric_mean(both):.4f} "
              "times as fast (geometric mean)")
    if options.json:
        try:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump({"torch": torch.__version__,
                           "device": torch.cuda.get_device_name(0),
                           "rows": made}, file, indent=1)
        except OSError as wrong:
            stop(2, f"{options.json}: cannot be written: {wrong}")


if __name__ == "__main__":
    main()
