#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The products of a `volley bench gemm|gemv --json FILE` again, by PyTorch.

    gemm_pytorch.py FILE [--json OUT] [--samples 30] [--full-sums]
    gemm_pytorch.py FILE --turns gemm_cuda.so [--cache FOLDER] [...]

One table: what Volley took, what PyTorch takes on the same device now, and how
many times as fast Volley is. Both use random factors that are taken in turns
from more than three times the L2 cache, both run from a CUDA graph; the median
of so many samples counts. What PyTorch cannot compute is left out with its
reason. PyTorch may add parts of k in 16 bits, which Volley does not; --full-sums
tells it not to.

Two measured one after the other meet two devices: the second is hotter. With
--turns the plugin runs in this process, on the same factors, and its choice, the
first heuristic of its library and PyTorch take turns of some 2 ms each, a b c c
b a; a ratio is the median of those of the turns, its 95% interval comes from
2,000 resamples of them. FILE then only says which products (median_s may be 0).

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

import gemm_plugin

SETS_MOST = 64


def stop(code, text):
    print(f"gemm_pytorch: {text}", file=sys.stderr)
    sys.exit(code)


try:
    import torch
except ImportError as missing:
    stop(3, f"no PyTorch: {missing}")

from torch_turns import Way, clock, interval, take_turns, warm


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


def scales(kind, m, n, k):
    """Scales of A and B, as the plugin has them."""
    blocks = -(-k // 128)
    shapes = {"fp8": ((1,), (1,)), "fp8fast": ((1,), (1,)),
              "fp8row": ((m, 1), (1, n)), "fp8block": ((m, blocks),
                                                       (-(-n // 128), blocks))}
    return [torch.rand(shape, device="cuda") / 64 + 1 / 64
            for shape in shapes.get(kind, ())]


def factors(kind, m, n, k):
    """One set of factors, their scales, and what multiplies them."""
    plain = {"fp32": torch.float32, "tf32": torch.float32,
             "fp16": torch.float16, "bf16": torch.bfloat16,
             "w8a16": torch.bfloat16, "w4a16": torch.bfloat16}
    if kind in plain:
        a, b = uniform((m, k), plain[kind]), uniform((n, k), plain[kind])
        return lambda: torch.nn.functional.linear(a, b), a, b, []
    if kind == "int8":
        a = torch.randint(-128, 128, (m, k), device="cuda", dtype=torch.int8)
        b = torch.randint(-128, 128, (n, k), device="cuda", dtype=torch.int8)
        return lambda: torch._int_mm(a, b.t()), a, b, []
    if not kind.startswith("fp8"):
        raise ValueError(f"type {kind} is not known here")
    a = uniform((m, k), torch.float8_e4m3fn)
    b = uniform((n, k), torch.float8_e4m3fn)
    both = scales(kind, m, n, k)
    of_a, of_b = both
    if kind == "fp8block":  # [blocks][m], [blocks rounded up to 4][n / 128]
        wide = torch.zeros((of_b.shape[0], -(-of_b.shape[1] // 4) * 4),
                           device="cuda")
        wide[:, :of_b.shape[1]] = of_b
        of_a = of_a.t().contiguous().t()
        of_b = wide[:, :of_b.shape[1]].t()
    elif kind != "fp8row":
        of_a, of_b = of_a[0], of_b[0]
    return lambda: torch._scaled_mm(
        a, b.t(), scale_a=of_a, scale_b=of_b, out_dtype=torch.bfloat16,
        use_fast_accum=kind == "fp8fast"), a, b, both


def set_bytes(kind, m, n, k):
    size = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "w8a16": 2,
            "w4a16": 2}.get(kind, 1)
    return size * (m * k + n * k) + 2 * m * n


def make_sets(kind, m, n, k):
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    n_sets = min(SETS_MOST, 3 * l2 // set_bytes(kind, m, n, k) + 2)
    return [factors(kind, m, n, k) for _ in range(n_sets)]


def measure(kind, m, n, k, n_samples):
    """Median seconds of one product."""
    sets = make_sets(kind, m, n, k)
    way = Way(lambda: [one[0]() for one in sets], len(sets))
    warm([way])
    return statistics.median(way.seconds(clock(way.turn))
                             for _ in range(n_samples))


# ---- in turns

def plugin_way(plan, kind, sets, m, n):
    """Runs of a plan on the same factors; weights of fewer bits are their own."""
    made = {"fp32": torch.float32, "tf32": torch.float32,
            "fp16": torch.float16, "int8": torch.int32}
    workspace = torch.empty(plan.info.workspace_bytes + 1, device="cuda",
                            dtype=torch.uint8)
    bits = {"w8a16": 8, "w4a16": 4}.get(kind)
    runs = []
    for _, a, b, both in sets:
        of_a, of_b = both or (None, None)
        if bits is not None:
            k = b.shape[1]
            b = torch.randint(0, 256, (n, k * bits // 8), device="cuda",
                              dtype=torch.uint8)
            of_b = (torch.rand((n, k // 128 if bits == 4 else 1),
                               device="cuda") / 64 + 1 / 64).bfloat16()
        d = torch.empty((m, n), device="cuda",
                        dtype=made.get(kind, torch.bfloat16))
        runs.append((a, b, d, of_a, of_b))

    def once():
        stream = torch.cuda.current_stream().cuda_stream
        for run in runs:
            plan.run(stream, *(None if x is None else x.data_ptr()
                               for x in run), workspace.data_ptr())
        return workspace

    way = Way(once, len(sets))
    way.runs = runs
    return way


def compare(gemm, kind, shape, n_samples, options):
    """Adds to a row: seconds, and ratios of the others over the plugin's."""
    m, n, k = shape
    sets = make_sets(kind, m, n, k)
    chosen = gemm.plan(kind, m, n, k, options)
    plans = {"volley": chosen}
    try:
        plans["default"] = gemm.plan(kind, m, n, k,
                                     "choose=default,cache=off")
    except gemm_plugin.Refused:
        pass  # weights of fewer bits: the library has nothing for some
    ways = {name: plugin_way(plan, kind, sets, m, n)
            for name, plan in plans.items()}
    one = {"choice": chosen.choice,
           "same": "default" in plans and
           plans["default"].choice == chosen.choice}
    try:
        ways["torch"] = Way(lambda: [one[0]() for one in sets], len(sets))
        if kind not in ("w8a16", "w4a16", "fp8fast"):
            x = ways["volley"].runs[0][2].double()
            y = ways["torch"].kept[0].double()
            one["differ"] = float((x - y).norm() / y.norm())
    except (RuntimeError, ValueError, NotImplementedError,
            AttributeError) as wrong:
        one["reason"] = str(wrong).splitlines()[0][:200]
    taken = dict(zip(ways, take_turns(list(ways.values()), n_samples)))
    for name, seconds in taken.items():
        one[f"{name}_s"] = statistics.median(seconds)
        if name != "volley":
            one[f"{name}_times"] = interval(
                [x / y for x, y in zip(seconds, taken["volley"])])
    for plan in plans.values():
        plan.close()
    return one


def turns(rows, options):
    """The table of --turns; the rows for --json."""
    gemm = gemm_plugin.Gemm(options.turns,
                            lambda text: print(text, file=sys.stderr))
    made = []
    print(f"{'product':32} {'volley us':>9} {'default':>9} {'torch us':>9}  "
          "default / volley      torch / volley        choice")
    for row, kind, shape in rows:
        one = compare(gemm, kind, shape, options.samples,
                      f"cache={options.cache}" if options.cache
                      else "cache=off")
        one["id"] = row["id"]
        text = f"{row['id']:32}"
        for name in ("volley", "default", "torch"):
            text += f" {one[f'{name}_s'] * 1e6:9.2f}" \
                if f"{name}_s" in one else f" {'-':>9}"
        for name in ("default", "torch"):
            text += " {:6.3f} ({:.3f}, {:.3f})".format(
                *one[f"{name}_times"]) if f"{name}_times" in one \
                else f" {'-':^21}"
        print(f"{text}  {'= default' if one['same'] else one['choice'][:48]}",
              f" {one['differ']:.1e}" if "differ" in one else "", flush=True)
        made.append(one)
        torch.cuda.empty_cache()
    for name in ("default", "torch"):
        both = [x[f"{name}_times"] for x in made if f"{name}_times" in x]
        if both:
            print(f"{name}: {len(both)} products, "
                  f"{statistics.geometric_mean(x[0] for x in both):.4f} times "
                  f"(geometric mean), {sum(x[2] < 1 for x in both)} certainly "
                  "slower")
    return made


def one_by_one(rows, options):
    """The table of products that were measured before; rows for --json."""
    made = []
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
    return made


def main():
    call = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    call.add_argument("file")
    call.add_argument("--json")
    call.add_argument("--samples", type=int, default=30)
    call.add_argument("--full-sums", action="store_true")
    call.add_argument("--turns", metavar="PLUGIN")
    call.add_argument("--cache", metavar="FOLDER")
    options = call.parse_args()
    matmul = torch.backends.cuda.matmul
    matmul.allow_bf16_reduced_precision_reduction = not options.full_sums
    matmul.allow_fp16_reduced_precision_reduction = not options.full_sums
    rows = read_rows(options.file)
    if not torch.cuda.is_available():
        stop(3, "PyTorch finds no CUDA device")
    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}\n")
    made = turns(rows, options) if options.turns else one_by_one(rows, options)
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
