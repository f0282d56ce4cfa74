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
    return np.asarray(np.trunc(np.asarray(a, np.float64) / b), np.asarray(a).dtype)


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
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
    "arith.maxnumf": lambda a, b: number_or(a, b, np.maximum),
    "arith.minnumf": lambda a, b: number_or(a, b, np.minimum),
    "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
    "arith.andi": lambda a, b: a & b, "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b, "math.powf": np.power,
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
    return x.astype(dtype)
