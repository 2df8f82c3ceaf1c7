# SPDX-License-Identifier: Apache-2.0
"""Tokens that core/monitor/sampler must draw, by an implementation that shares
nothing with it: Philox4x32-10 after Salmon et al. 2011, exp of 60 digits
(mpmath), sorting instead of a heap.

    python3 sampler_reference.py > sampler_reference.csv
"""
from fractions import Fraction

import mpmath

mpmath.mp.dps = 60
M32 = 2**32 - 1


def philox(key, counter):
    k0, k1 = key & M32, key >> 32
    c = list(counter)
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & M32, (p0 >> 32) ^ c[3] ^ k1, p0 & M32]
        k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
    return c


def logit(step, token):
    """A multiple of 2^-20 in [-8, 8): exact in fp32."""
    return Fraction((philox(77, (token, 0, step, 0))[0] >> 8) - 2**23, 2**20)


# The low word of core/base's hash of "monitor.sampler"; a name for a number.
STREAM = 0x82B7BF25


def uniform(seed, draw):
    w = philox(seed, (draw & M32, draw >> 32, 0, STREAM))
    return Fraction((w[0] << 21) | (w[1] >> 11), 2**53)


def sample(logits, counts, seed, draw, temperature, top_k, top_p, repetition,
           presence, frequency):
    values = []
    for token, x in enumerate(logits):
        n = counts.get(token, 0)
        if n:
            x = x / repetition if x > 0 else x * repetition
            x -= presence + n * frequency
        values.append(x)
    order = sorted(range(len(values)), key=lambda t: (-values[t], t))
    if temperature == 0:
        return order[0]
    some = (top_k or len(values)) < len(values) or top_p < 1
    most = values[order[0]]
    weight = {t: mpmath.exp(mpmath.mpf((values[t] - most).numerator)
                            / (values[t] - most).denominator
                            / mpmath.mpf(temperature.numerator)
                            * temperature.denominator)
              for t in order}
    if some:
        order = order[:top_k or len(order)]
        total = sum(weight[t] for t in order)
        kept, so_far = [], mpmath.mpf(0)
        for t in order:
            if kept and top_p < 1 and so_far >= total * top_p.numerator \
                    / top_p.denominator:
                break
            kept.append(t)
            so_far += weight[t]
        order = kept
    else:
        order = range(len(values))
    total = sum(weight[t] for t in order)
    u = uniform(seed, draw)
    target = total * u.numerator / u.denominator
    so_far = mpmath.mpf(0)
    for t in order:
        so_far += weight[t]
        if so_far > target:
            return t
    raise ValueError


N_TOKENS = 500
N_STEPS = 40
F = Fraction
CASES = [  # temperature, top_k, top_p, repetition, presence, frequency, seed
    (F(1), 0, F(1), F(1), F(0), F(0), 1),
    (F(1, 2), 0, F(1), F(1), F(0), F(0), 2**40 + 7),
    (F(1), 12, F(1), F(1), F(0), F(0), 3),
    (F(1), 0, F(3, 4), F(1), F(0), F(0), 4),
    (F(5, 4), 40, F(1, 2), F(1), F(0), F(0), 5),
    (F(0), 0, F(1), F(5, 4), F(1), F(1, 2), 6),
    (F(1), 30, F(7, 8), F(3, 2), F(1, 2), F(1, 4), 7),
    (F(2), 0, F(1), F(1), F(3), F(-1, 8), 8),
]


def main():
    print("# sampler_reference.py: options, then the tokens of 40 draws from "
          "500 logits")
    print("# temperature,top_k,top_p,repetition,presence,frequency,seed")
    logits = [[logit(step, token) for token in range(N_TOKENS)]
              for step in range(4)]
    for case in CASES:
        temperature, top_k, top_p, repetition, presence, frequency, seed = case
        counts = {3: 2, 5: 1}  # a prompt
        tokens = []
        for step in range(N_STEPS):
            token = sample(logits[step % 4], counts, seed, step, temperature,
                           top_k, top_p, repetition, presence, frequency)
            counts[token] = counts.get(token, 0) + 1
            tokens.append(token)
        print(",".join(str(float(x)) if isinstance(x, Fraction) else str(x)
                       for x in case))
        print(",".join(map(str, tokens)))


if __name__ == "__main__":
    main()
