#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rows of a `volley bench rwkv --json FILE` again, by PyTorch.

    rwkv_pytorch.py FILE [--json OUT] [--samples 30]
    rwkv_pytorch.py --try          # a small model on the processor, checked

One table: what Volley took, what PyTorch takes on the same device now, and how
many times as fast Volley is. Weights are random. decode is one token of one
sequence, a whole step in a CUDA graph, its token copied in and its logits
copied out; prefill is the products, norms and mixings of all tokens at once and
the recurrence left out, as PyTorch has none: what it could reach at best.
Weights of 8 and 4 bits are compared with 16 bits, which they replace.

Exit codes: 0 done, 1 --try found a wrong result, 2 the call or FILE is wrong,
3 no PyTorch or no device.
"""
import argparse
import json
import statistics
import sys
import time

SIZES = {  # layers, width, ranks of w, a, v, g
    "0.1B": (12, 768, 64, 64, 32, 128),
    "0.4B": (24, 1024, 64, 64, 32, 128),
    "1.5B": (24, 2048, 96, 96, 64, 256),
    "2.9B": (32, 2560, 96, 96, 64, 320),
}
VOCABULARY = 65536
DECAY = 0.6065306597126334  # exp(-1/2)


def stop(code, text):
    print(f"rwkv_pytorch: {text}", file=sys.stderr)
    sys.exit(code)


try:
    import torch
    from torch.nn import functional
except ImportError as missing:
    stop(3, f"no PyTorch: {missing}")


class Model:
    """RWKV-7 with random weights; rows [tokens][width] of one sequence."""

    def __init__(self, size, kind, device, vocabulary=VOCABULARY):
        layers, width, *ranks = size
        self.kind, self.width, self.heads = kind, width, width // 64
        self.device = device

        def matrix(rows, columns):
            return ((torch.rand(rows, columns, device=device) * 2 - 1)
                    * 1.7 / columns ** 0.5).to(kind)

        def vector(middle=0.0, half=0.5):
            return middle + half * (torch.rand(width, device=device) * 2 - 1)

        self.table, self.head = (matrix(vocabulary, width) for _ in range(2))
        self.norm0, self.norm_out = ((vector(1.0), vector()) for _ in range(2))
        self.layers = []
        for _ in range(layers):
            one = {name: matrix(width, width) for name in "rkvo"}
            for name, rank in zip("wavg", ranks):
                one[name + "1"] = matrix(rank, width)
                one[name + "2"] = matrix(width, rank)
            one.update(up=matrix(4 * width, width),
                       down=matrix(width, 4 * width),
                       mix=torch.rand(6, width, device=device),
                       mix_k=torch.rand(width, device=device))
            for name in ("norm1", "norm2", "norm_x"):
                one[name] = (vector(1.0), vector())
            for name in ("w0", "a0", "v0", "r_k"):
                one[name] = vector()
            for name in ("k_k", "k_a"):
                one[name] = vector(1.0)
            self.layers.append(one)
        self.reset()

    def reset(self):
        shape = len(self.layers), self.width
        self.last1, self.last2 = (torch.zeros(shape, device=self.device)
                                  for _ in range(2))
        self.state = torch.zeros(len(self.layers), self.heads, 64, 64,
                                 device=self.device)

    def norm(self, x, pair):
        return functional.layer_norm(x, (self.width,), *pair)

    def shift(self, x, last):
        """Of each row the one before; keeps the last."""
        before = torch.cat((last[None], x[:-1]))
        last.copy_(x[-1])
        return before - x

    def recur(self, state, r, decay, k, v, a, b):
        """All tokens; rows [tokens][heads][64]. Returns y."""
        rows = []
        for t in range(r.shape[0]):
            along = state @ a[t, :, :, None]
            state.mul_(decay[t, :, None, :])
            state.add_(along @ b[t, :, None, :])
            state.add_(v[t, :, :, None] @ k[t, :, None, :])
            rows.append(state @ r[t, :, :, None])
        return torch.stack(rows)[..., 0]

    def time_mix(self, i, one, x, first, with_state):
        n = x.shape[0]
        x = self.norm(x, one["norm1"])
        mixed = x + self.shift(x, self.last1[i]) * one["mix"][:, None]
        xr, xw, xk, xv, xa, xg = mixed.to(self.kind)
        r, k, v = xr @ one["r"].t(), xk @ one["k"].t(), xv @ one["v"].t()
        w = torch.tanh(xw @ one["w1"].t()) @ one["w2"].t()
        rate = torch.sigmoid(one["a0"] + xa @ one["a1"].t() @ one["a2"].t())
        g = torch.sigmoid(xg @ one["g1"].t()) @ one["g2"].t()
        decay = torch.exp(-DECAY * torch.sigmoid(one["w0"] + w.float()))
        if first is None:
            first = v
        else:
            v = v + (first - v) * torch.sigmoid(
                one["v0"] + xv @ one["v1"].t() @ one["v2"].t())
        r, k, v, decay, rate = (z.float().view(n, self.heads, 64)
                                for z in (r, k, v, decay, rate))
        of_heads = {name: one[name].view(self.heads, 64)
                    for name in ("k_k", "k_a", "r_k")}
        kk = functional.normalize(k * of_heads["k_k"], dim=-1, eps=1e-12)
        k = k * (1 + (rate - 1) * of_heads["k_a"])
        y = v
        if with_state:
            y = self.recur(self.state[i], r, decay, k, v, -kk, kk * rate)
        bonus = (r * k * of_heads["r_k"]).sum(-1, keepdim=True) * v
        y = functional.group_norm(y.reshape(n, -1), self.heads,
                                  *one["norm_x"], eps=64e-5)
        y = (y + bonus.reshape(n, -1)) * g
        return (y.to(self.kind) @ one["o"].t()).float(), first

    def forward(self, tokens, with_state=True):
        """Logits after the last token."""
        x = self.norm(self.table[tokens].float(), self.norm0)
        first = None
        for i, one in enumerate(self.layers):
            y, first = self.time_mix(i, one, x, first, with_state)
            x = x + y
            z = self.norm(x, one["norm2"])
            z = z + self.shift(z, self.last2[i]) * one["mix_k"]
            z = torch.relu(z.to(self.kind) @ one["up"].t()) ** 2
            x = x + (z @ one["down"].t()).float()
        x = self.norm(x[-1], self.norm_out)
        return (x.to(self.kind) @ self.head.t()).float()


def attempt():
    """Tokens at once and one by one are the same; a model runs at all."""
    model = Model((2, 128, 16, 16, 8, 24), torch.float32, "cpu", 100)
    tokens = torch.tensor([3, 1, 4, 1, 5, 9])
    whole = model.forward(tokens)
    model.reset()
    for t in range(len(tokens)):
        logits = model.forward(tokens[t:t + 1])
    worst = float((whole - logits).abs().max())
    print(f"six tokens at once and one by one: {worst:.3g} apart")
    if not (worst < 1e-4 and float(whole.abs().max()) > 0.1):
        stop(1, "the two are not the same")


def read_rows(path):
    """Rows with an id like 'decode 1.5B fp16' or 'prefill 1.5B fp16 512'."""
    try:
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)["rows"]
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        stop(2, f"{path}: wanted the JSON of volley bench: {wrong}")
    found = []
    for row in rows:
        words = str(row.get("id", "")).replace(",", " ").split()
        sizes = [x for x in words if x in SIZES]
        counts = [int(x) for x in words if x.isdigit()]
        types = [x for x in words if x in ("fp32", "fp16", "bf16", "w8", "w4")]
        if "median_s" not in row or not sizes or not types:
            continue
        if "decode" in words:
            found.append((row, sizes[0], types[0], 1))
        elif "prefill" in words and counts:
            found.append((row, sizes[0], types[0], counts[-1]))
    if not found:
        stop(2, f"{path}: it has no measured row of the suite rwkv")
    return found


def measure(model, n, n_samples):
    """Median seconds of one pass over n tokens."""
    tokens = torch.randint(0, VOCABULARY, (n,), device="cuda")
    host = tokens.cpu().pin_memory()
    logits = torch.empty(VOCABULARY, pin_memory=True)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            model.forward(tokens, n == 1)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model.forward(tokens, n == 1)

    def once():
        begin = time.perf_counter()
        tokens.copy_(host, non_blocking=True)
        graph.replay()
        logits.copy_(out, non_blocking=True)
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    once()
    return statistics.median(once() for _ in range(n_samples))


@torch.no_grad()
def main():
    call = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    call.add_argument("file", nargs="?")
    call.add_argument("--json")
    call.add_argument("--samples", type=int, default=30)
    call.add_argument("--try", dest="attempt", action="store_true")
    options = call.parse_args()
    if options.attempt:
        attempt()
        return
    if options.file is None:
        stop(2, "wanted the JSON of volley bench rwkv, or --try")
    rows = read_rows(options.file)
    if not torch.cuda.is_available():
        stop(3, "PyTorch finds no CUDA device")
    kinds = {"fp32": torch.float32, "bf16": torch.bfloat16}
    made, model, of = [], None, None
    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}\n")
    print(f"{'row':30} {'volley us':>11} {'torch us':>11} {'times':>7}")
    for row, size, name, n in rows:
        one = {"id": row["id"], "volley_s": row["median_s"]}
        kind = kinds.get(name, torch.float16)
        try:
            if of != (size, kind):
                model = None
                torch.cuda.empty_cache()
                model, of = Model(SIZES[size], kind, "cuda"), (size, kind)
            one["torch_s"] = measure(model, n, options.samples)
            one["times"] = one["torch_s"] / one["volley_s"]
            print(f"{row['id']:30} {one['volley_s'] * 1e6:11.1f} "
                  f"{one['torch_s'] * 1e6:11.1f} {one['times']:7.3f}")
        except RuntimeError as wrong:
            one["reason"] = str(wrong).splitlines()[0][:200]
            print(f"{row['id']:30} {one['volley_s'] * 1e6:11.1f} "
                  f"{'-':>11} {'-':>7}  PyTorch: {one['reason'][:60]}")
        made.append(one)
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
