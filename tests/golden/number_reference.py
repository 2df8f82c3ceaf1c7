#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes number_reference.csv (the default) and, with --coefficients, the
tables of core/base/number_special.c. Needs mpmath; the build does not.

A line of the CSV is function,x,y,high,low: the value in 60 digits is the sum of
two doubles, so that errors below half an ulp can be measured.
"""
import os
import random
import sys

from mpmath import chebyt, cos, erf, erfc, exp, expm1, log, log1p, \
    loggamma, mp, mpf, pi, sin, sqrt

mp.dps = 60
POINTS = 200


def normal_inverse(p):
    """Newton steps from the double result: erfinv loses digits in the tail."""
    if p > mpf(1) / 2:
        return -normal_inverse(1 - p)
    if p == mpf(1) / 2:
        return mpf(0)
    x = -sqrt(-2 * log(p)) if p < mpf(1) / 10 else \
        (p - mpf(1) / 2) * sqrt(2 * pi)
    for _ in range(100):
        step = (erfc(-x / sqrt(mpf(2))) / 2 - p) * sqrt(2 * pi) * exp(x * x / 2)
        step /= 1 + x * step / 2
        x -= step
        if abs(step) < mpf(10) ** -45 * abs(x):
            break
    return x


def uniform(rng, low, high):
    return lambda: rng.uniform(low, high)


def powers(rng, low, high, sign=False):
    def draw():
        x = 2.0 ** rng.uniform(low, high)
        return -x if sign and rng.random() < 0.5 else x
    return draw


def mixed(*draws):
    state = [0]

    def draw():
        state[0] += 1
        return draws[state[0] % len(draws)]()
    return draw


def functions(rng):
    u = lambda low, high: uniform(rng, low, high)
    p = lambda low, high, sign=False: powers(rng, low, high, sign)
    tail = lambda: 1.0 - 2.0 ** rng.uniform(-52, -1)
    return {
        "exp": (exp, mixed(u(-745, 709.7), u(-1, 1), p(-60, 0, True))),
        "expm1": (expm1, mixed(u(-40, 709), u(-1, 1), p(-60, 0, True))),
        "log": (log, mixed(p(-1074, 1023), u(0.5, 2), u(0.99, 1.01))),
        "log1p": (log1p, mixed(p(-60, 1000), u(-0.999, 1), p(-60, -1, True))),
        "sqrt": (sqrt, mixed(p(-1074, 1023), u(0, 4))),
        "erf": (erf, mixed(u(-6, 6), u(-1, 1), p(-60, 0, True))),
        "erfc": (erfc, mixed(u(-6, 26.5), u(-1, 5), p(-60, 4))),
        "normal_cdf": (lambda x: erfc(-x / sqrt(mpf(2))) / 2,
                       mixed(u(-37.5, 8), u(-5, 5), p(-60, 0, True))),
        "normal_inverse": (normal_inverse,
                           mixed(p(-1000, -1), u(0, 1), tail,
                                 lambda: 0.5 + 2.0 ** rng.uniform(-50, -2))),
        "log_gamma": (loggamma, mixed(u(0.01, 3), u(1, 200), p(-30, 1000))),
    }


def row(name, x, y, value):
    high = float(value)
    low = float(value - mpf(high)) if high else 0.0
    return "%s,%s,%s,%s,%s\n" % (name, x.hex(), y.hex(), high.hex(), low.hex())


def reference():
    rng = random.Random(20240607)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "number_reference.csv")
    with open(path, "w") as out:
        for name, (function, draw) in functions(rng).items():
            for _ in range(POINTS):
                x = draw()
                out.write(row(name, x, 0.0, function(mpf(x))))
        made = 0
        while made < POINTS:
            x = 2.0 ** rng.uniform(-20, 20)
            y = rng.choice([rng.uniform(-2, 2), rng.uniform(-40, 40),
                            float(rng.randint(-30, 30))])
            if abs(y * log(mpf(x), 2)) < 1000:
                out.write(row("pow", x, y, mpf(x) ** mpf(y)))
                made += 1
        draw = mixed(uniform(rng, -1, 1), uniform(rng, -1e6, 1e6),
                     powers(rng, -60, 0, True),
                     lambda: rng.randint(-8, 8) / 4 + rng.uniform(-1e-6, 1e-6))
        for _ in range(POINTS):
            x = draw()
            out.write(row("sin_turns", x, 0.0, sin(2 * pi * mpf(x))))


def fit(function, low, high):
    """Monomials about the middle of [low, high], scaled to [-1, 1], of the
    Chebyshev interpolant that is good to 2^-57 relative."""
    low, high = mpf(low), mpf(high)
    middle, half = (low + high) / 2, (high - low) / 2
    for n in range(6, 40):
        nodes = [cos(pi * (mpf(k) + mpf(1) / 2) / n) for k in range(n)]
        values = [function(middle + half * t) for t in nodes]
        cheb = [2 * sum(v * chebyt(j, t) for v, t in zip(values, nodes)) / n
                for j in range(n)]
        cheb[0] /= 2
        smallest = min(abs(v) for v in values)
        if abs(cheb[-1]) + abs(cheb[-2]) < smallest * mpf(2) ** -57:
            break
    power = [[mpf(1)], [mpf(0), mpf(1)]]
    while len(power) < n:
        a, b = power[-1], power[-2]
        power.append([(2 * a[i - 1] if i else 0) - (b[i] if i < len(b) else 0)
                      for i in range(len(a) + 1)])
    return [sum(cheb[j] * power[j][i] for j in range(i, n)) for i in range(n)]


def coefficients():
    erfcx = lambda x: exp(x * x) * erfc(x)
    # erfcx(x) x as a function of 1 / x^2: no pole, limit 1/sqrt(pi)
    far = lambda v: erfcx(1 / sqrt(v)) / sqrt(v) if v > mpf(10) ** -30 else \
        1 / sqrt(pi)
    near = lambda z: erf(sqrt(z)) / sqrt(z) if z > 0 else 2 / sqrt(pi)
    tables = [("ERF_NEAR", near, 0, 0.25), ("ERFCX_0", erfcx, 0.5, 1),
              ("ERFCX_1", erfcx, 1, 2), ("ERFCX_2", erfcx, 2, 4),
              ("ERFCX_FAR", far, 0, 0.0625)]
    for name, function, low, high in tables:
        c = fit(function, low, high)
        print("static const double %s[%d] = {" % (name, len(c)))
        for value in c:
            print("    %s," % float(value).hex())
        print("};")
    for name, value in [("ln2", log(2)), ("sqrt(1/2)", sqrt(mpf(1) / 2)),
                        ("2/sqrt(pi)", 2 / sqrt(pi)), ("log2(e)", 1 / log(2)),
                        ("sqrt(2pi)", sqrt(2 * pi)),
                        ("log(2pi)/2", log(2 * pi) / 2)]:
        high = float(value)
        print(name, high.hex(), float(value - mpf(high)).hex())


if __name__ == "__main__":
    coefficients() if "--coefficients" in sys.argv else reference()
