#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes wkv_reference.csv: the recurrence of RWKV-7 in numpy's float64, written
as products of matrices, S <- S (diag(d) + a b^T) + v k^T and y = S r with
d = exp(-exp(w)) (Peng et al. 2025, arXiv:2503.14456). Two heads, five tokens.

The inputs are not in the file: both sides draw them from the same generator, x
<- 1664525 x + 1013904223 mod 2^32 from x = 2503, as (x >> 8) / 2^23 - 1, in the
order state[2][64][64], then for each token r, w, k, v, a, b, each [2][64]; w is
4 u - 3, a and b are u / 8. All are exact in float32. A line is
what,head,token or row,column,value: y of all tokens, three rows of the last
state.
"""
import os

import numpy as np

HEADS, DIM, TOKENS = 2, 64, 5
ROWS = (0, 17, 63)


def generator():
    x = 2503
    while True:
        x = (x * 1664525 + 1013904223) % 2**32
        yield (x >> 8) / 2.0**23 - 1.0


def main():
    numbers = generator()

    def draw(*shape):
        n = int(np.prod(shape))
        return np.array([next(numbers) for _ in range(n)]).reshape(shape)

    lines = []
    state = draw(HEADS, DIM, DIM)
    for token in range(TOKENS):
        r, w, k, v, a, b = (draw(HEADS, DIM) for _ in range(6))
        decay = np.exp(-np.exp(4.0 * w - 3.0))
        for head in range(HEADS):
            step = np.diag(decay[head]) + np.outer(a[head] / 8, b[head] / 8)
            state[head] = state[head] @ step + np.outer(v[head], k[head])
            for i, y in enumerate(state[head] @ r[head]):
                lines.append(f"y,{head},{token},{i},{y:.17g}")
    for head in range(HEADS):
        for row in ROWS:
            for column in range(DIM):
                value = state[head, row, column]
                lines.append(f"state,{head},{row},{column},{value:.17g}")
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "wkv_reference.csv")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


main()
