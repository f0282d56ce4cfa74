# SPDX-License-Identifier: Apache-2.0

"""What the interpreter's operations on elements compute, by name: each by its definition."""

import math

import ml_dtypes
import numpy as np

_TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
          "i1": bool, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64}


def dtype_of(type):
    return np.dtype(_TYPES[str(getattr(type, "element_type", type))])


def unsigned(a):
    return a.astype(np.dtype(f"u{a.dtype}")) if a.dtype != bool else a.astype(np.uint8)


_COMPARE_INT = ["==", "!=", "<", "<=", ">", ">=", "u<", "u<=", "u>", "u>="]
_COMPARE_FLOAT = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 6: "!=", 13: "!="}
_RELATIONS = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal,
              ">": np.greater, ">=": np.greater_equal}


def compare_int(op, a, b):
    relation = _COMPARE_INT[int(op.attributes["predicate"])]
    if relation.startswith("u"):
        return _RELATIONS[relation[1:]](unsigned(a), unsigned(b))
    return _RELATIONS[relation](a, b)


def compare_float(op, a, b):
    if int(op.attributes["predicate"]) == 14:
        return np.isnan(a) | np.isnan(b)
    return _RELATIONS[_COMPARE_FLOAT[int(op.attributes["predicate"])]](a, b)


def cast(op, a):
    return a.astype(dtype_of(op.results[0].type))


def shift(function, as_unsigned=False, keeps_sign=False):
    """By the width or more all bits are shifted out."""
    def run(op, a, b):
        width = a.dtype.itemsize * 8
        wide, inside = unsigned(a) if as_unsigned else a, (b >= 0) & (b < width)
        made = function(wide, np.where(inside, b, 0).astype(wide.dtype)).astype(a.dtype)
        return np.where(inside, made, np.where(a < 0, -1, 0) if keeps_sign else 0).astype(a.dtype)
    return run


def divide(a, b):
    """Rounds to zero; by zero all bits are set, and what overflows wraps around."""
    safe = np.where((b == 0) | (b == -1), 1, b).astype(a.dtype) if a.dtype.kind == "i" else np.where(b == 0, 1, b).astype(a.dtype)
    down = a // safe
    quotient = down + ((down * safe != a) & ((a < 0) != (safe < 0)))
    if a.dtype.kind == "i":
        quotient = np.where(b == -1, -a, quotient)
    return np.where(b == 0, ~np.zeros_like(a), quotient).astype(a.dtype)


def remainder(a, b):
    return np.where(b == 0, a, a - divide(a, b) * b).astype(a.dtype)


def to_integer(a, dtype):
    """Rounds to zero and saturates; NaN becomes 0."""
    info, x = np.iinfo(dtype), np.nan_to_num(np.trunc(a.astype(np.float64)), nan=0.0, posinf=np.inf, neginf=-np.inf)
    inside = (x > info.min) & (x < info.max)
    return np.where(inside, np.where(inside, x, 0).astype(dtype), np.where(x > 0, dtype.type(info.max), dtype.type(info.min)))


def plain(function):
    return lambda op, *operands: function(*operands)


def wide(function):
    """Transcendentals are computed in f64 and rounded."""
    return lambda op, *operands: function(*(o.astype(np.float64) for o in operands)).astype(operands[0].dtype)


def erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x)


SCALAR = {
    "arith.addf": plain(np.add), "arith.subf": plain(np.subtract), "arith.mulf": plain(np.multiply),
    "arith.divf": plain(np.divide), "arith.negf": plain(np.negative), "arith.remf": plain(np.fmod),
    "arith.maximumf": plain(np.maximum), "arith.minimumf": plain(np.minimum),
    "arith.addi": plain(np.add), "arith.subi": plain(np.subtract), "arith.muli": plain(np.multiply),
    "arith.andi": plain(np.bitwise_and), "arith.ori": plain(np.bitwise_or), "arith.xori": plain(np.bitwise_xor),
    "arith.maxsi": plain(np.maximum), "arith.minsi": plain(np.minimum),
    "arith.maxui": lambda op, a, b: np.maximum(unsigned(a), unsigned(b)).astype(a.dtype),
    "arith.minui": lambda op, a, b: np.minimum(unsigned(a), unsigned(b)).astype(a.dtype),
    "arith.divsi": plain(divide), "arith.remsi": plain(remainder),
    "arith.divui": lambda op, a, b: divide(unsigned(a), unsigned(b)).astype(a.dtype),
    "arith.remui": lambda op, a, b: remainder(unsigned(a), unsigned(b)).astype(a.dtype),
    "arith.shli": shift(np.left_shift), "arith.shrsi": shift(np.right_shift, keeps_sign=True),
    "arith.shrui": shift(np.right_shift, as_unsigned=True),
    "arith.cmpi": compare_int, "arith.cmpf": compare_float, "arith.select": plain(np.where),
    "arith.extf": cast, "arith.truncf": cast, "arith.sitofp": cast,
    "arith.fptosi": lambda op, a: to_integer(a, dtype_of(op.results[0].type)),
    "arith.extsi": cast, "arith.trunci": cast, "arith.index_cast": cast,
    "arith.extui": lambda op, a: cast(op, unsigned(a)), "arith.uitofp": lambda op, a: cast(op, unsigned(a)),
    "arith.index_castui": lambda op, a: cast(op, unsigned(a)),
    "arith.fptoui": lambda op, a: to_integer(a, unsigned(np.zeros((), dtype_of(op.results[0].type))).dtype).astype(
        dtype_of(op.results[0].type)),
    "arith.bitcast": lambda op, a: a.view(dtype_of(op.results[0].type)),
    "math.exp": wide(np.exp), "math.log": wide(np.log), "math.log1p": wide(np.log1p), "math.expm1": wide(np.expm1),
    "math.sqrt": wide(np.sqrt), "math.rsqrt": wide(lambda x: 1 / np.sqrt(x)), "math.tanh": wide(np.tanh),
    "math.sin": wide(np.sin), "math.cos": wide(np.cos), "math.erf": wide(erf), "math.absf": plain(np.abs),
    "math.absi": plain(np.abs), "math.floor": plain(np.floor), "math.ceil": plain(np.ceil),
    "math.powf": wide(np.power), "math.roundeven": plain(np.rint), "math.tan": wide(np.tan),
    "math.copysign": plain(np.copysign), "math.cbrt": wide(np.cbrt), "math.atan2": wide(np.arctan2),
    "math.fma": lambda op, a, b, c: a * b + c, "math.ipowi": plain(np.power),
    "math.ctpop": lambda op, a: np.bitwise_count(unsigned(a)).astype(a.dtype),
}


# Reductions by one operation, which numpy has as well.
FOLDS = {"arith.addf": np.add, "arith.addi": np.add, "arith.mulf": np.multiply, "arith.maximumf": np.maximum,
         "arith.minimumf": np.minimum, "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or}
