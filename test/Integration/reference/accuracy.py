#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures compiled functions against a wider type.

    accuracy.py TYPE NAME=ULPS...     e.g. f32 math.exp=2

Each function is compiled over inputs that lie densely among all numbers of the
type, with the edges among them: denormals, infinities, NaN, neighbours of powers
of two, of multiples of pi / 2 and of where results overflow or vanish. Functions
of two operands take all pairs of special values as well. The largest error in
units in the last place must be at most ULPS. Results that are infinite, NaN or
zero must be so, with the right sign.

What is exact is computed in f64 for f32 and narrower types, in long double for
f64. Both have at least 11 bits more and are wrong by about one of their own last
places: 2^-11 of a unit of what is measured.
"""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import equivalence
import error_functions
import ml_dtypes
import numpy as np
from elements import DTYPES, UNARY

COUNT = 1 << 18
EXTRA = {
    "math.expm1": np.expm1, "math.log2": np.log2, "math.exp2": np.exp2, "math.cbrt": np.cbrt,
    "math.ceil": np.ceil, "math.floor": np.floor, "math.roundeven": np.rint, "math.tan": np.tan,
    "math.atan": np.arctan, "math.log10": np.log10, "math.sinh": np.sinh, "math.cosh": np.cosh,
    "math.asin": np.arcsin, "math.acos": np.arccos, "math.trunc": np.trunc,
    "math.tanh": np.tanh, "math.log1p": np.log1p, "math.asinh": np.arcsinh, "math.acosh": np.arccosh,
    "math.atanh": np.arctanh,
}  # fmt: skip
ERRORS = {"math.erf": error_functions.erf, "math.erfc": error_functions.erfc}
BINARY = {"math.powf": np.power, "math.atan2": np.arctan2}
POWERS = {"math.fpowi": np.power}  # the second operand is an integer


def special_values(info):
    values = [0.0, 0.5, 1.0, 2.0, 2.5, 3.0, 7.0, 2.0**info.nmant + 1, 2.0**(info.nmant + 1) - 1, info.max,
              info.tiny, info.smallest_subnormal, 1 + info.eps, 1 - info.epsneg, np.inf, np.nan]  # fmt: skip
    return np.array(values + [-v for v in values])


def with_neighbours(values, dtype):
    """Each value rounded to the type, and two numbers on either side."""
    bits = np.asarray(values, dtype).view(f"i{dtype.itemsize}")
    return np.concatenate([bits + d for d in range(-2, 3)]).view(dtype)


def edges(dtype):
    """Where formulas change what they do, or arguments are hard."""
    info = ml_dtypes.finfo(dtype)
    powers = 2.0 ** np.arange(info.minexp - info.nmant, info.maxexp)
    quarters = np.concatenate([np.arange(1, 2000), 3.0 ** np.arange(7, 70), 2.0 ** np.arange(11, 120)])
    logs = np.log([float(info.max), float(info.tiny), float(info.smallest_subnormal), 2.0 ** 0.5, 0.5 ** 0.5])
    limits = np.concatenate([logs, logs / np.log(2), logs / np.log(10), [9.02, 10, 18, 20, 3.925, 4, 89, 104, 0.3466],
                             [26.5, 27.2, 28, 710.47, 2.0**0.5 - 1]])  # fmt: skip
    # No numbers of f32 and f64 are nearer to a whole number of quarter turns.
    nearest = np.array([16367173 * 2.0**72, 6381956970095103 * 2.0**797])
    values = np.concatenate([powers, quarters * (np.pi / 2), limits, nearest])
    values = with_neighbours(values[np.abs(values) < float(info.max)], dtype)
    return np.concatenate([values, -values])


def dense_inputs(dtype):
    """Edges, numbers of all magnitudes, then many near the origin."""
    info = ml_dtypes.finfo(dtype)
    first = np.concatenate([special_values(info).astype(dtype), edges(dtype)])
    # Multiples of the golden ratio, whose fractions lie evenly.
    patterns = np.arange(COUNT // 2, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    patterns >>= np.uint64(64 - 8 * dtype.itemsize)
    everywhere = patterns.astype(f"u{dtype.itemsize}").view(dtype)
    near = np.linspace(-100, 100, COUNT - COUNT // 2 - len(first))
    return np.concatenate([first, everywhere, near.astype(dtype)])


def paired_inputs(dtype):
    """All pairs of special values, then bases and exponents whose powers are
    finite for the most part, the last with powers of all magnitudes."""
    special = special_values(ml_dtypes.finfo(dtype)).astype(dtype)
    rng = np.random.default_rng(0)
    rest = COUNT - len(special) ** 2
    x = np.exp(rng.normal(size=rest) * 8) * rng.choice([-1, 1], rest)
    y = np.where(rng.random(rest) < 0.5, rng.normal(size=rest) * 4, rng.integers(-12, 13, rest))
    half = rest // 2
    x[half:] = np.abs(x[half:]) ** np.exp(-3 * rng.random(rest - half) ** 2 * 5)
    most = np.log(float(ml_dtypes.finfo(dtype).max)) * 1.1
    y[half:] = rng.uniform(-most, most, rest - half) / np.log(x[half:].astype(dtype).astype(np.float64))
    return (np.concatenate([np.tile(special, len(special)), x.astype(dtype)]),
            np.concatenate([np.repeat(special, len(special)), y.astype(dtype)]))  # fmt: skip


def integer_powers():
    rng = np.random.default_rng(1)
    special = [0, 1, -1, 2, -2, 3, 2**31 - 1, -(2**31), 2**24 + 1]
    return np.where(rng.random(COUNT) < 0.5, rng.integers(-12, 13, COUNT),
                    rng.choice(special, COUNT)).astype(np.int32)  # fmt: skip


def program(names, element):
    type, powers = f"tensor<{COUNT}x{element}>", f"tensor<{COUNT}xi32>"
    results = ", ".join(f'{type} {{weft.name = "{n}"}}' for n in names)
    body = ""
    for i, name in enumerate(names):
        operands = ("%a, %b" if name in BINARY else "%a, %n" if name in POWERS else "%x")
        types = f"{type}, {powers}" if name in POWERS else type
        body += f"  %{i} = {name} {operands} : {types}\n"
    arguments = ", ".join(f'%{n}: {t} {{weft.name = "{n}"}}' for n, t in
                          (("x", type), ("a", type), ("b", type), ("n", powers)))  # fmt: skip
    values = ", ".join(f"%{i}" for i in range(len(names)))
    types = ", ".join([type] * len(names))
    return f"func.func @f({arguments}) -> ({results}) {{\n{body}  return {values} : {types}\n}}\n"


def make_inputs(element):
    dtype = np.dtype(DTYPES[element])
    a, b = paired_inputs(dtype)
    return {"x": (dense_inputs(dtype), element), "a": (a, element), "b": (b, element),
            "n": (integer_powers(), "i32")}  # fmt: skip


def run(text, inputs, *flags):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "step.mlir").write_text(text)
        equivalence.write_safetensors(folder / "in.safetensors", inputs)
        equivalence.run_command("weft-compile", folder / "step.mlir", "-o", folder / "step.so", *flags)
        equivalence.run_command("weft-run", folder / "step.so", "--inputs", folder / "in.safetensors",
                                "--outputs", folder / "out.safetensors")  # fmt: skip
        return equivalence.read_safetensors(folder / "out.safetensors")


def exact_results(name, inputs, dtype):
    """The results in a wider type, and the operands."""
    wide = np.longdouble if dtype.itemsize == 8 else np.float64
    x, a, b, n = (inputs[k][0] for k in ("x", "a", "b", "n"))
    if name in BINARY:
        return BINARY[name](a.astype(wide), b.astype(wide)), list(zip(a, b))
    if name in POWERS:
        return POWERS[name](a.astype(wide), n.astype(wide)), list(zip(a, n))
    if name == "math.rsqrt":
        return 1 / np.sqrt(x.astype(wide)), x
    if name in ERRORS:
        return ERRORS[name](x.astype(np.longdouble)), x
    return {**UNARY, **EXTRA}[name](x.astype(wide)), x


def spacing(exact, dtype):
    """The distance of the numbers of the type around each exact value."""
    info = ml_dtypes.finfo(dtype)
    exponent = np.floor(np.log2(np.maximum(np.abs(exact), float(info.tiny))))
    return np.exp2(exponent - info.nmant)


def worst(exact, actual, inputs):
    """Returns the largest error in ulps and the input that has it."""
    rounded, wide = exact.astype(actual.dtype).astype(exact.dtype), actual.astype(exact.dtype)
    error = np.abs(wide - exact) / spacing(exact, actual.dtype)
    finite = np.isfinite(rounded) & np.isfinite(wide)
    # Past the largest number, or there where the exact value is.
    edge = np.isinf(rounded) != np.isinf(wide)
    almost = np.abs(exact) >= float(ml_dtypes.finfo(actual.dtype).max) * (1 - 1e-6)
    error = np.where(finite, error, np.where(edge & ~almost, np.inf, 0))
    error = np.where(np.isnan(exact) != np.isnan(wide), np.inf, error)
    zero = (exact == 0) & ((wide != 0) | (np.signbit(exact) != np.signbit(wide)))
    infinite = np.isinf(exact) & (exact != wide)
    error = np.where(zero | infinite, np.inf, error)
    at = int(np.argmax(error))
    return float(error[at]), inputs[at], actual[at]


def main():
    element, limits = sys.argv[1], dict(a.split("=") for a in sys.argv[2:])
    inputs = make_inputs(element)
    results = run(program(list(limits), element), inputs)
    failed = False
    with np.errstate(all="ignore"):
        for name, limit in limits.items():
            exact, operands = exact_results(name, inputs, np.dtype(DTYPES[element]))
            ulps, at, got = worst(exact, results[name], operands)
            failed |= not ulps <= float(limit)
            print(f"{name}: {ulps:.4g} ulp at {at!r} (gives {got!r}), at most {limit}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
