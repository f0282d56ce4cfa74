# SPDX-License-Identifier: Apache-2.0
"""Element types and the ops on elements, in numpy.

Each function takes scalars or arrays. What would be undefined in native code
is a Fault.
"""

import ml_dtypes
import numpy as np

from mlir_text import Tensor

BF16 = ml_dtypes.bfloat16
DTYPES = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": BF16,
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32,
    "i64": np.int64, "index": np.int64,
}  # fmt: skip


class Fault(Exception):
    """What would end a native program, or give it undefined values."""


def dtype_of(type):
    return np.dtype(DTYPES[type.element if isinstance(type, Tensor) else type])


def divide(a, b):
    if np.any(np.asarray(b) == 0):
        raise Fault("division by zero")
    down = np.asarray(a) // b
    return np.asarray(down + ((down * b != a) & ((a < 0) != (b < 0))), np.asarray(a).dtype)


def remainder(a, b):
    return np.asarray(a - divide(a, b) * b, np.asarray(a).dtype)


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
    "arith.shli": np.left_shift, "arith.shrsi": np.right_shift,
    "arith.shrui": signless(np.right_shift), "arith.divui": signless(np.floor_divide),
    "arith.remui": signless(np.remainder), "math.copysign": np.copysign,
}  # fmt: skip
UNARY = {
    "arith.negf": np.negative, "math.exp": np.exp, "math.log": np.log,
    "math.tanh": np.tanh, "math.sqrt": np.sqrt, "math.absf": np.abs,
    "math.rsqrt": lambda x: 1 / np.sqrt(x), "math.sin": np.sin,
    "math.cos": np.cos, "math.log1p": np.log1p, "math.erf": erf,
}  # fmt: skip
CONVERSIONS = {
    "arith.extf", "arith.truncf", "arith.sitofp", "arith.fptosi", "arith.extsi", "arith.trunci",
    "arith.index_cast", "arith.extui", "arith.uitofp", "arith.index_castui",
}  # fmt: skip


def convert(name, x, dtype):
    x = np.asarray(x)
    if x.dtype == np.bool_ and "si" in name and dtype.kind in "if":
        return -(x.astype(dtype))
    if name in ("arith.extui", "arith.uitofp", "arith.index_castui") and x.dtype.kind == "i":
        x = x.view(x.dtype.str.replace("i", "u"))
    return x.astype(dtype)
