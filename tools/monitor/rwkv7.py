# SPDX-License-Identifier: Apache-2.0
"""RWKV-7 in PyTorch for training, with a chunked scan, and as safetensors.

Peng et al. 2025, arXiv:2503.14456. Within a chunk of C tokens the recurrence
S_t = S_{t-1} (diag(w_t) + a_t b_t^T) + v_t k_t^T is a triangular system of
C x C, so the loop runs over T / C states instead of T tokens. The least decay
is exp(-exp(-0.5)) a token, so 1/W stays below 2e4 for C = 16: no
rescaling is needed in float32.
"""
import json
import math
import struct

import torch
from torch import nn
from torch.nn import functional

CHUNK = 16
HEAD = 64


def scan(r, w, k, v, a, b, state):
    """Plain recurrence, the definition. r, w, k, v, a, b [B,T,H,N]; state
    [B,H,N,N] (value row, key column). Returns (y, state)."""
    rows = []
    for t in range(r.shape[1]):
        sa = torch.einsum("bhij,bhj->bhi", state, a[:, t])
        state = state * w[:, t].unsqueeze(-2) + \
            sa.unsqueeze(-1) * b[:, t].unsqueeze(-2) + \
            v[:, t].unsqueeze(-1) * k[:, t].unsqueeze(-2)
        rows.append(torch.einsum("bhij,bhj->bhi", state, r[:, t]))
    return torch.stack(rows, 1), state


def scan_chunked(r, w, k, v, a, b, state):
    """The same by chunks of 16 tokens; T a multiple of it. What a chunk does
    to the state is S M + N; M and N of all chunks are made at once, so that
    only that product is left for the loop (few and large kernels)."""
    batch, length, heads, n = r.shape
    m = length // CHUNK

    def cut(x):
        return x.view(batch, m, CHUNK, heads, n).permute(1, 0, 3, 2, 4)
    r, w, k, v, a, b = (cut(x) for x in (r, w, k, v, a, b))
    logs = torch.cumsum(torch.log(w), 3)
    upto = torch.exp(logs)
    before = torch.exp(logs - torch.log(w))
    r, a = r * upto, a * before
    k, b = k / upto, b / upto
    strict = torch.ones(CHUNK, CHUNK, device=r.device).tril(-1)
    within = torch.ones(CHUNK, CHUNK, device=r.device).tril(0)
    inverse = _inverse((a @ b.transpose(-1, -2)) * strict)
    left = inverse @ a
    right = inverse @ (((a @ k.transpose(-1, -2)) * strict) @ v)
    last = upto[:, :, :, -1:, :]
    turned = (torch.eye(n, device=r.device) +
              left.transpose(-1, -2) @ b) * last
    added = (right.transpose(-1, -2) @ b + v.transpose(-1, -2) @ k) * last
    held = []
    for i in range(m):
        held.append(state)
        state = state @ turned[i] + added[i]
    held = torch.stack(held).transpose(-1, -2)  # [m,B,H,key,value]
    y = r @ held + ((r @ k.transpose(-1, -2)) * within) @ v + \
        ((r @ b.transpose(-1, -2)) * within) @ (left @ held + right)
    return y.permute(1, 0, 3, 2, 4).reshape(batch, length, heads, n), state


def _inverse(lower):
    """(1 - L)^-1 of strictly lower L, 16 x 16: L^16 = 0, so it is
    (1 + L)(1 + L^2)(1 + L^4)(1 + L^8), products only."""
    eye = torch.eye(CHUNK, device=lower.device)
    got, power = eye + lower, lower
    for _ in range(3):
        power = power @ power
        got = got + got @ power
    return got


def _ortho(rows, columns, gain):
    x = torch.empty(rows, columns)
    nn.init.orthogonal_(x, gain)
    return x


def _uniform(rows, columns, bound):
    return torch.empty(rows, columns).uniform_(-bound, bound)


def initial(width, depth, vocabulary, rank, gate_rank):
    """Parameters by their native names, with the paper's initial values."""
    d = torch.arange(width) / width
    line = torch.arange(width) / (width - 1) - 0.5
    zigzag = ((torch.arange(width) % HEAD) - (HEAD - 1) / 2) / ((HEAD - 1) / 2)
    zigzag = zigzag * zigzag.abs()
    p = {"emb.weight": _uniform(vocabulary, width, 1e-4),
         "ln_out.weight": torch.ones(width), "ln_out.bias": torch.zeros(width),
         "head.weight": _ortho(vocabulary, width, 0.5)}
    for i in range(depth):
        up = i / max(1, depth - 1)
        down = 1 - i / depth
        names = ["ln1", "ln2"] + (["ln0"] if i == 0 else [])
        for name in names:
            p[f"blocks.{i}.{name}.weight"] = torch.ones(width)
            p[f"blocks.{i}.{name}.bias"] = torch.zeros(width)
        att = f"blocks.{i}.att."
        for name, power in zip("rwkvag", [0.2, 0.9, 0.7, 0.7, 0.9, 0.2]):
            p[att + "x_" + name] = 1 - d ** (power * down)
        decay = -6 + 6 * (torch.arange(width) / (width - 1)) ** (
            1 + up ** 0.3)
        p[att + "w0"] = decay + 0.5 + zigzag * 2.5
        p[att + "a0"] = -0.19 + zigzag * 0.3 + line * 0.4
        p[att + "v0"] = 0.73 - line * 0.4
        for name in "wav":
            p[att + name + "1"] = torch.zeros(width, rank)
            p[att + name + "2"] = _ortho(rank, width, 0.1)
        p[att + "g1"] = torch.zeros(width, gate_rank)
        p[att + "g2"] = _ortho(gate_rank, width, 0.1)
        p[att + "k_k"] = 0.71 - line * 0.1
        p[att + "k_a"] = torch.full((width,), 1.02)
        p[att + "r_k"] = torch.full((width // HEAD, HEAD), -0.04)
        bound = 0.5 / math.sqrt(width)
        p[att + "receptance.weight"] = _uniform(width, width, bound)
        p[att + "key.weight"] = _uniform(width, width, bound / 10)
        p[att + "value.weight"] = _uniform(width, width, bound)
        p[att + "output.weight"] = torch.zeros(width, width)
        p[att + "ln_x.weight"] = torch.full(
            (width,), ((1 + i) / depth) ** 0.7)
        p[att + "ln_x.bias"] = torch.zeros(width)
        ffn = f"blocks.{i}.ffn."
        p[ffn + "x_k"] = 1 - d ** (down ** 4)
        p[ffn + "key.weight"] = _uniform(4 * width, width, bound)
        p[ffn + "value.weight"] = torch.zeros(width, 4 * width)
    return p


class Rwkv7(nn.Module):
    """Pre-LayerNorm RWKV-7; parameters keep their native names in `p`."""

    def __init__(self, width=64, depth=4, vocabulary=256, rank=16,
                 gate_rank=32, plain=False):
        super().__init__()
        self.width, self.depth = width, depth
        self.heads = width // HEAD
        self.scan = scan if plain else scan_chunked
        self.p = nn.ParameterDict()
        for name, value in initial(width, depth, vocabulary, rank,
                                   gate_rank).items():
            self.p[name.replace(".", "/")] = nn.Parameter(value)

    def get(self, name):
        """A parameter by its native name."""
        return self.p[name.replace(".", "/")]

    def _norm(self, x, name):
        return functional.layer_norm(x, (self.width,),
                                     self.get(name + ".weight"),
                                     self.get(name + ".bias"), 1e-5)

    def zero_state(self, batch):
        """Per layer: last of time mixing, of channel mixing, S."""
        device = self.get("emb.weight").device
        return [(torch.zeros(batch, self.width, device=device),
                 torch.zeros(batch, self.width, device=device),
                 torch.zeros(batch, self.heads, HEAD, HEAD, device=device))
                for _ in range(self.depth)]

    def _time_mix(self, i, x, last, s, v_first):
        att = f"blocks.{i}.att."
        batch, length, width = x.shape
        delta = torch.cat([last.unsqueeze(1), x[:, :-1]], 1) - x

        def mixed(name):
            return x + delta * self.get(att + "x_" + name)

        def heads(y):
            return y.view(batch, length, self.heads, HEAD)
        r = mixed("r") @ self.get(att + "receptance.weight").t()
        k = mixed("k") @ self.get(att + "key.weight").t()
        xv = mixed("v")
        v = xv @ self.get(att + "value.weight").t()
        w = self.get(att + "w0") + torch.tanh(
            mixed("w") @ self.get(att + "w1")) @ self.get(att + "w2")
        w = torch.exp(-math.exp(-0.5) * torch.sigmoid(w))
        a = torch.sigmoid(self.get(att + "a0") + mixed("a") @
                          self.get(att + "a1") @ self.get(att + "a2"))
        g = torch.sigmoid(mixed("g") @ self.get(att + "g1")) @ \
            self.get(att + "g2")
        if i == 0:
            v_first = v
        else:
            v = v + (v_first - v) * torch.sigmoid(
                self.get(att + "v0") +
                xv @ self.get(att + "v1") @ self.get(att + "v2"))
        kk = functional.normalize(heads(k * self.get(att + "k_k")), dim=-1,
                                  eps=1e-12)
        k = k * (1 + (a - 1) * self.get(att + "k_a"))
        r, w, k, v, a = heads(r), heads(w), heads(k), heads(v), heads(a)
        y, s = self.scan(r, w, k, v, -kk, kk * a, s)
        y = functional.group_norm(
            y.reshape(batch * length, width), self.heads,
            self.get(att + "ln_x.weight"), self.get(att + "ln_x.bias"), 64e-5)
        y = y.view(batch, length, width)
        y = y + ((r * k * self.get(att + "r_k")).sum(-1, keepdim=True) *
                 v).view(batch, length, width)
        return (y * g) @ self.get(att + "output.weight").t(), s, v_first

    def forward(self, tokens, state):
        """tokens [B,T] -> logits [B,T,V], state after them."""
        x = self._norm(self.get("emb.weight")[tokens], "blocks.0.ln0")
        after, v_first = [], None
        for i, (last1, last2, s) in enumerate(state):
            h = self._norm(x, f"blocks.{i}.ln1")
            y, s, v_first = self._time_mix(i, h, last1, s, v_first)
            x = x + y
            h2 = self._norm(x, f"blocks.{i}.ln2")
            ffn = f"blocks.{i}.ffn."
            delta = torch.cat([last2.unsqueeze(1), h2[:, :-1]], 1) - h2
            k = (h2 + delta * self.get(ffn + "x_k")) @ \
                self.get(ffn + "key.weight").t()
            x = x + torch.relu(k) ** 2 @ self.get(ffn + "value.weight").t()
            after.append((h[:, -1], h2[:, -1], s))
        return self._norm(x, "ln_out") @ self.get("head.weight").t(), after

    def groups(self, decay):
        """For the optimizer: weight decay on the big matrices only."""
        big = [p for n, p in self.p.items() if n.endswith("weight") and
               p.dim() == 2 and n != "emb/weight"]
        ids = {id(p) for p in big}
        rest = [p for p in self.p.values() if id(p) not in ids]
        return [{"params": big, "weight_decay": decay},
                {"params": rest, "weight_decay": 0.0}]


VECTORS = {"x_r", "x_w", "x_k", "x_v", "x_a", "x_g", "w0", "a0", "v0", "k_k",
           "k_a"}


def save(model, path, metadata):
    """Native names and shapes, float32."""
    header, blob, at = {"__metadata__": metadata}, [], 0
    for name, value in sorted(model.p.items()):
        name = name.replace("/", ".")
        value = value.detach().float().cpu().contiguous()
        shape = list(value.shape)
        if name.rsplit(".", 1)[-1] in VECTORS:
            shape = [1, 1, shape[0]]
        raw = value.numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [at, at + len(raw)]}
        blob.append(raw)
        at += len(raw)
    text = json.dumps(header, sort_keys=True).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blob))


def load(path):
    """(model, metadata) of a float32 file that save wrote."""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        blob = file.read()
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        value = torch.frombuffer(bytearray(blob[begin:end]),
                                 dtype=torch.float32)
        tensors[name] = value.view(entry["shape"])
    vocabulary, width = tensors["emb.weight"].shape
    depth = 1 + max(int(n.split(".")[1]) for n in tensors
                    if n.startswith("blocks."))
    model = Rwkv7(width, depth, vocabulary,
                  tensors["blocks.0.att.w1"].shape[1],
                  tensors["blocks.0.att.g1"].shape[1])
    with torch.no_grad():
        for name, value in tensors.items():
            model.get(name).copy_(value.view(model.get(name).shape))
    return model, metadata


def check():
    """The chunked scan is the plain one; the largest difference."""
    torch.manual_seed(1)
    shape = (2, 64, 2, HEAD)
    r, k, v, z = (torch.randn(shape, dtype=torch.float64) for _ in range(4))
    w = torch.exp(-math.exp(-0.5) * torch.sigmoid(
        torch.randn(shape, dtype=torch.float64)))
    kk = functional.normalize(z, dim=-1)
    gate = torch.sigmoid(torch.randn(shape, dtype=torch.float64))
    state = torch.randn(2, 2, HEAD, HEAD, dtype=torch.float64)
    torch.set_default_dtype(torch.float64)
    one = scan(r, w, k, v, -kk, kk * gate, state)
    two = scan_chunked(r, w, k, v, -kk, kk * gate, state)
    torch.set_default_dtype(torch.float32)
    return max((x - y).abs().max().item() for x, y in zip(one, two))


if __name__ == "__main__":
    print(f"chunked against plain scan, float64: {check():.2e}")
