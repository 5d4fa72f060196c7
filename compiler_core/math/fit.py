#!/usr/bin/env python3
"""Writes coefficients.h: the polynomials of Kiln's math library.

usage: fit.py > coefficients.h        (needs mpmath; a development tool, the build does not run it)
Each polynomial interpolates its function at Chebyshev nodes, computed with 60 digits and rounded once at the end.
The relative error printed beside each is that of the unrounded polynomial against the whole function it serves.
"""
from mpmath import mp, mpf, cos, pi, exp, log, tanh, atanh, erf, erfc, sqrt, sin, diff, floor, nstr

mp.dps = 60


def chebyshev(f, a, b, n):
    """The interpolant of f at n nodes on [a, b] as monomials of x (centre 0) or of t = (2x - a - b)/(b - a)."""
    nodes = [cos(pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    values = [f((a + b) / 2 + (b - a) / 2 * x) for x in nodes]
    c = [mpf(2) / n * sum(y * cos(j * pi * (2 * i + 1) / (2 * n)) for i, y in enumerate(values)) for j in range(n)]
    c[0] /= 2
    previous, current = [mpf(1)], [mpf(0), mpf(1)]
    poly = [mpf(0)] * n
    for k in range(n):
        basis = previous
        for i, v in enumerate(basis):
            poly[i] += c[k] * v
        following = [mpf(0)] + [2 * v for v in current]
        for i, v in enumerate(previous):
            following[i] -= v
        previous, current = current, following
    return poly


def to_x(poly, a, b):
    """Monomials of t = (2x - a - b)/(b - a) rewritten as monomials of x."""
    k, m = 2 / (b - a), -(a + b) / (b - a)
    result = [mpf(0)]
    for coefficient in reversed(poly):
        shifted = [mpf(0)] + [v * k for v in result]
        for i, v in enumerate(result):
            shifted[i] += v * m
        shifted[0] += coefficient
        result = shifted
    return result[: len(poly)]


def evaluate(poly, x):
    r = mpf(0)
    for v in reversed(poly):
        r = r * x + v
    return r


def show(name, f, a, b, n, whole, kind, centred=False, note=""):
    """whole(x, p): the function served, given the argument and the polynomial's value there, beside the exact one."""
    a, b = mpf(a), mpf(b)
    t = chebyshev(f, a, b, n)
    poly = t if centred else to_x(t, a, b)
    worst = mpf(0)
    for i in range(401):
        x = a + (b - a) * (i + mpf(1) / 7) / 402
        p = evaluate(poly, (2 * x - a - b) / (b - a) if centred else x)
        approximate, exact = whole(x, p)
        worst = max(worst, abs(approximate / exact - 1))
    variable = f"t = (x - {nstr((a + b) / 2, 6)}) / {nstr((b - a) / 2, 6)}" if centred else "x"
    print(f"// {note} on [{nstr(a, 6)}, {nstr(b, 6)}], in {variable}; relative error {nstr(worst, 2)}.")
    suffix = "f" if kind == "float" else ""
    digits = 9 if kind == "float" else 17
    print(f"inline constexpr {kind} {name}[] = {{")
    for v in poly:
        print(f"    {nstr(v, digits, min_fixed=0, max_fixed=0)}{suffix},")
    print("};\n")


def series(f, x, limit, at_zero):
    return at_zero(x) if abs(x) < limit else f(x)


ln2 = log(mpf(2))
expTail = lambda r: series(lambda v: (exp(v) - 1 - v) / v**2, r, mpf("1e-15"), lambda v: mpf(1) / 2 + v / 6)
expWhole = lambda r, p: (1 + r + r * r * p, exp(r))
# log((1+s)/(1-s)) = 2s + s z L(z), z = s^2
logTail = lambda z: series(lambda v: (2 * atanh(sqrt(v)) / sqrt(v) - 2) / v, z, mpf("1e-20"), lambda v: mpf(2) / 3 + v * 2 / 5)
logWhole = lambda z, p: (2 + z * p, 2 * atanh(sqrt(z)) / sqrt(z))
logTop = ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)) ** 2
logSecond = lambda z: series(lambda v: (logTail(v) - mpf(2) / 3) / v, z, mpf("1e-15"), lambda v: mpf(2) / 5 + v * 2 / 7)
tanhTail = lambda u: series(lambda v: (tanh(sqrt(v)) / sqrt(v) - 1) / v, u, mpf("1e-20"), lambda v: -mpf(1) / 3 + v * 2 / 15)
tanhWhole = lambda u, p: (1 + u * p, tanh(sqrt(u)) / sqrt(u))
erfTail = lambda u: series(lambda v: erf(sqrt(v)) / sqrt(v) - 1, u, mpf("1e-25"), lambda v: 2 / sqrt(pi) - 1)
erfWhole = lambda u, p: (1 + p, erf(sqrt(u)) / sqrt(u))
# erfc(a) exp(a^2) in w = 1/(a + 2): the mapping that needs fewest terms on both ranges.
erfcScaled = lambda w: erfc(1 / w - 2) * exp((1 / w - 2) ** 2)
erfcWhole = lambda w, p: (1 - exp(-((1 / w - 2) ** 2)) * p, erf(1 / w - 2))
sinTail = lambda z: series(lambda v: (sin(sqrt(v)) / sqrt(v) - 1) / v, z, mpf("1e-20"), lambda v: -mpf(1) / 6 + v / 120)
sinWhole = lambda z, p: (1 + z * p, sin(sqrt(z)) / sqrt(z))
cosTail = lambda z: series(lambda v: (cos(sqrt(v)) - 1 + v / 2) / v**2, z, mpf("1e-12"), lambda v: mpf(1) / 24 - v / 720)
cosWhole = lambda z, p: (1 - z / 2 + z * z * p, cos(sqrt(z)))
quarter = (pi / 4 * mpf("1.001")) ** 2


def main():
    print("// Written by fit.py; do not edit.\n#pragma once\n\nnamespace kiln::math {\n")
    half = ln2 / 2 * mpf("1.001")
    show("kExpF32", expTail, -half, half, 6, expWhole, "float", note="(exp(x) - 1 - x) / x^2")
    show("kExpNarrow", expTail, -half, half, 7, expWhole, "double", note="the same, for f32 results computed in f64")
    show("kExpF64", expTail, -half, half, 12, expWhole, "double", note="the same, for f64")
    show("kLogNarrow", logTail, 0, logTop, 5, logWhole, "double", note="(2 atanh(s)/s - 2) / x, x = s^2, for f32 results")
    show("kLogF64", logTail, 0, logTop, 9, logWhole, "double", note="the same, for f64")
    show("kLogSecond", logSecond, 0, logTop, 9, lambda z, p: logWhole(z, mpf(2) / 3 + z * p), "double",
         note="((2 atanh(s)/s - 2) / x - 2/3) / x, x = s^2, for pow in f64")
    show("kTanhF32", tanhTail, 0, "0.5", 7, tanhWhole, "float", note="(tanh(a)/a - 1) / x, x = a^2")
    show("kTanhF64", tanhTail, 0, "0.5", 14, tanhWhole, "double", note="the same, for f64")
    show("kErfF32", erfTail, 0, 1, 8, erfWhole, "float", note="erf(a)/a - 1, x = a^2")
    show("kErfF64", erfTail, 0, 1, 15, erfWhole, "double", note="the same, for f64")
    show("kErfcF32", erfcScaled, mpf(1) / 6, mpf(1) / 3, 8, erfcWhole, "float", centred=True,
         note="erfc(a) exp(a^2), x = 1/(a + 2)")
    show("kErfcF64", erfcScaled, mpf(1) / 8, mpf(1) / 3, 18, erfcWhole, "double", centred=True,
         note="the same, for f64")
    show("kSinNarrow", sinTail, 0, quarter, 4, sinWhole, "double", note="(sin(r)/r - 1) / x, x = r^2, for f32 results")
    show("kCosNarrow", cosTail, 0, quarter, 4, cosWhole, "double", note="(cos(r) - 1 + x/2) / x^2, x = r^2, for f32 results")
    show("kSinF64", sinTail, 0, quarter, 8, sinWhole, "double", note="as kSinNarrow, for f64")
    show("kCosF64", cosTail, 0, quarter, 8, cosWhole, "double", note="as kCosNarrow, for f64")
    bits = int(floor(2 / pi_at(1400) * mpf(2) ** 1280))
    print("// 2/pi after the binary point, 1280 bits, behind one word of zeros: trig_reduce.h takes windows of it.")
    print("inline constexpr unsigned long long kTwoOverPi[] = {\n    0,")
    for i in range(19, -1, -1):
        print(f"    0x{(bits >> (64 * i)) & (2**64 - 1):016x}u,")
    print("};\n\n}  // namespace kiln::math")


def pi_at(precision):
    mp.prec = precision
    return +mp.pi


main()
