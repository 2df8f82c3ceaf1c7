# SPDX-License-Identifier: Apache-2.0
"""A random RWKV-7 of width 64 as .safetensors, for tests of what surrounds a
model: FILE VOCABULARY LAYERS [KEY=VALUE of its metadata]..."""
import json
import random
import struct
import sys

path, N, layers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
metadata = dict(text.split("=", 1) for text in sys.argv[4:])
HEAD = float(metadata.get("head", 0.02))
D, F, R = 64, 128, 8
rng = random.Random(5)
tensors = {}


def put(name, shape, values):
    tensors[name] = (shape, values)


def vector(name, value):
    put(name, [D], [value] * D)


def noise(name, shape, scale):
    n = 1
    for extent in shape:
        n *= extent
    put(name, shape, [rng.gauss(0, scale) for _ in range(n)])


noise("emb.weight", [N, D], 0.5)
noise("head.weight", [N, D], HEAD)
vector("ln_out.weight", 1)
vector("ln_out.bias", 0)
for layer in range(layers):
    block = f"blocks.{layer}."
    if layer == 0:
        vector(block + "ln0.weight", 1)
        vector(block + "ln0.bias", 0)
    for name in ("ln1", "ln2", "att.ln_x"):
        vector(f"{block}{name}.weight", 1)
        vector(f"{block}{name}.bias", 0)
    for name in ("att.x_r", "att.x_w", "att.x_k", "att.x_v", "att.x_a",
                 "att.x_g", "ffn.x_k", "att.k_k", "att.k_a"):
        put(block + name, [1, 1, D], [0.5] * D)
    for name in "wav" if layer else "wa":
        noise(f"{block}att.{name}0", [1, 1, D], 0.5)
        noise(f"{block}att.{name}1", [D, R], 0.1)
        noise(f"{block}att.{name}2", [R, D], 0.1)
    noise(block + "att.g1", [D, R], 0.1)
    noise(block + "att.g2", [R, D], 0.1)
    noise(block + "att.r_k", [1, D], 0.1)
    for name in ("receptance", "key", "value", "output"):
        noise(f"{block}att.{name}.weight", [D, D], 0.1)
    noise(block + "ffn.key.weight", [F, D], 0.1)
    noise(block + "ffn.value.weight", [D, F], 0.05)

header, blob, at = {}, [], 0
if metadata:
    header["__metadata__"] = metadata
for name, (shape, values) in tensors.items():
    data = struct.pack(f"<{len(values)}f", *values)
    header[name] = {"dtype": "F32", "shape": shape,
                    "data_offsets": [at, at + len(data)]}
    blob.append(data)
    at += len(data)
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + b"".join(blob))
