# SPDX-License-Identifier: Apache-2.0
"""Element types and the ops on elements, in numpy.

Each function takes scalars or arrays, and has a result for all operands: what
MLIR leaves open is as docs/math.md declares.
"""

import ml_dtypes
import numpy as np

from mlir_text import Tensor

BF16 = ml_dtypes.bfloat16
DTYPES = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": BF16,
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32,
    "i64": np.int64, "index": np.int64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
}  # fmt: skip


class Fault(Exception):
    """An element outside of a tensor, which no program reads."""


def dtype_of(type):
    return np.dtype(DTYPES[type.element if isinstance(type, Tensor) else type])


def divide(a, b):
    """Rounds to zero. By zero: -1. The least number by -1 wraps around."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype == np.bool_:
        return a | ~b
    safe = np.where((b == 0) | (b == -1), 1, b).astype(a.dtype)
    down = a // safe
    quotient = down + ((down * safe != a) & ((a < 0) != (safe < 0)))
    return np.where(b == 0, -1, np.where(b == -1, -a, quotient)).astype(a.dtype)


def remainder(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype == np.bool_:
        return a & ~b
    return np.where(b == 0, a, a - divide(a, b) * b).astype(a.dtype)


def divide_unsigned(a, b):
    if a.dtype == np.bool_:
        return a | ~b
    return np.where(b == 0, np.iinfo(a.dtype).max, a // np.where(b == 0, 1, b).astype(a.dtype))


def remainder_unsigned(a, b):
    if a.dtype == np.bool_:
        return a & ~b
    return np.where(b == 0, a, a % np.where(b == 0, 1, b).astype(a.dtype))


def rounded(quotient, away, step):
    """Moves quotients by `step` where they were rounded the wrong way; those of
    truth values never are."""
    return quotient if quotient.dtype == np.bool_ else quotient + np.where(away, step, 0).astype(quotient.dtype)


def divide_down(a, b):
    away = (b != 0) & (remainder(a, b) != 0) & ((a < 0) != (b < 0))
    return rounded(divide(a, b), away, -1)


def divide_up(a, b):
    away = (b != 0) & (remainder(a, b) != 0) & ((a < 0) == (b < 0))
    return rounded(divide(a, b), away, 1)


def divide_up_unsigned(a, b):
    return rounded(divide_unsigned(a, b), (b != 0) & (remainder_unsigned(a, b) != 0), 1)


def power(a, b):
    """Of integers: wraps around. A negative exponent gives the inverse, rounded to zero; that of 0 is 0."""
    dtype, a, b = np.asarray(a).dtype, np.asarray(a).astype(object), np.asarray(b).astype(object)
    bits = 8 * dtype.itemsize

    def one(base, exponent):
        if exponent < 0:
            return base ** (exponent & 1) if abs(base) == 1 else 0
        return (pow(base, exponent, 1 << bits) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))

    return np.vectorize(one, otypes=[dtype])(a, b)


def is_normal(x):
    return np.isfinite(x) & (np.abs(x) >= ml_dtypes.finfo(np.asarray(x).dtype).smallest_normal)


def shift(function, fill):
    """By the width or more all bits are shifted out; `fill` are those shifted in."""

    def apply(a, b):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype == np.bool_:
            return np.where(b, fill(a), a)
        width = 8 * a.dtype.itemsize
        inside = (b >= 0) & (b < width)
        shifted = np.asarray(function(a, np.where(inside, b, 0).astype(a.dtype))).astype(a.dtype)
        return np.where(inside, shifted, fill(a)).astype(a.dtype)

    return apply


def no_bits(a):
    return np.zeros_like(a)


def sign_bits(a):
    return a if a.dtype == np.bool_ else np.where(a < 0, -1, 0)


def to_integer(x, low, high, dtype):
    """Rounds to zero and saturates; NaN becomes 0."""
    x = np.trunc(np.nan_to_num(np.asarray(x).astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
    inside = (x > low) & (x < high)
    result = np.where(inside, x, 0).astype(dtype)
    return np.where(inside, result, np.where(x >= high, dtype.type(high), dtype.type(low)))


def float_to_signed(x, dtype):
    if dtype == np.bool_:
        return np.asarray(x).astype(np.float64) <= -1
    info = np.iinfo(dtype)
    return to_integer(x, info.min, info.max, dtype)


def float_to_unsigned(x, dtype):
    if dtype == np.bool_:
        return np.asarray(x).astype(np.float64) >= 1
    unsigned = np.dtype(dtype.str.replace("i", "u"))
    return to_integer(x, 0, np.iinfo(unsigned).max, unsigned).view(dtype)


def signless(function):
    """Applies `function` to the operands as unsigned numbers."""

    def apply(a, b):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype == np.bool_:
            return function(a, b)
        unsigned = a.dtype.str.replace("i", "u")
        return function(a.view(unsigned), b.view(unsigned))

    return apply


def number_or(a, b, function):
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, function(a, b)))


def maximum(a, b):
    """NaN wins, and -0 is less than +0."""
    return np.where(np.equal(a, b), np.where(np.signbit(a), b, a), np.maximum(a, b))


def minimum(a, b):
    return np.where(np.equal(a, b), np.where(np.signbit(a), a, b), np.minimum(a, b))


CMPI = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal] + [
    signless(f) for f in (np.less, np.less_equal, np.greater, np.greater_equal)
]
ORDERED = [np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal]


def compare_floats(predicate, a, b):
    unordered = np.isnan(a) | np.isnan(b)
    if predicate in (0, 15):
        return np.full_like(unordered, predicate == 15)
    if predicate in (7, 14):
        return unordered if predicate == 14 else ~unordered
    if predicate < 7:
        return ORDERED[predicate - 1](a, b) & ~unordered
    return ORDERED[predicate - 8](a, b) | unordered


def erf(x):
    from math import erf as scalar_erf

    return np.vectorize(scalar_erf, otypes=[np.float64])(x)


BINARY = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply,
    "arith.divf": np.divide, "arith.addi": np.add, "arith.subi": np.subtract,
    "arith.muli": np.multiply, "arith.divsi": divide, "arith.remsi": remainder,
    "arith.maximumf": maximum, "arith.minimumf": minimum, "arith.remf": np.fmod,
    "arith.maxnumf": lambda a, b: number_or(a, b, maximum),
    "arith.minnumf": lambda a, b: number_or(a, b, minimum),
    "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
    "arith.andi": lambda a, b: a & b, "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b, "math.powf": np.power,
    "arith.shli": shift(np.left_shift, no_bits), "arith.shrsi": shift(np.right_shift, sign_bits),
    "arith.shrui": shift(signless(np.right_shift), no_bits), "arith.divui": signless(divide_unsigned),
    "arith.remui": signless(remainder_unsigned), "arith.floordivsi": divide_down,
    "arith.ceildivsi": divide_up, "arith.ceildivui": signless(divide_up_unsigned),
    "arith.maxui": signless(np.maximum), "arith.minui": signless(np.minimum),
    "math.copysign": np.copysign, "math.ipowi": power,
}  # fmt: skip
UNARY = {
    "arith.negf": np.negative, "math.exp": np.exp, "math.log": np.log,
    "math.tanh": np.tanh, "math.sqrt": np.sqrt, "math.absf": np.abs,
    "math.rsqrt": lambda x: 1 / np.sqrt(x), "math.sin": np.sin,
    "math.cos": np.cos, "math.log1p": np.log1p, "math.erf": erf,
    "math.isinf": np.isinf, "math.isnormal": is_normal,
}  # fmt: skip
CONVERSIONS = {
    "arith.extf", "arith.truncf", "arith.sitofp", "arith.fptosi", "arith.extsi", "arith.trunci",
    "arith.index_cast", "arith.extui", "arith.uitofp", "arith.index_castui", "arith.fptoui",
}  # fmt: skip


def convert(name, x, dtype):
    x = np.asarray(x)
    if name == "arith.fptosi":
        return float_to_signed(x, dtype)
    if name == "arith.fptoui":
        return float_to_unsigned(x, dtype)
    if x.dtype == np.bool_ and "si" in name and dtype.kind in "if":
        return -(x.astype(dtype))
    if name in ("arith.extui", "arith.uitofp", "arith.index_castui") and x.dtype.kind == "i":
        x = x.view(x.dtype.str.replace("i", "u"))
    return x.astype(dtype)
