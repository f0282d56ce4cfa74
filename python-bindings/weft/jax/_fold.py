# SPDX-License-Identifier: Apache-2.0

"""Evaluates integer and boolean StableHLO operations on known values.

Only what index arithmetic is made of: an operation without an entry here is
simply not known.
"""

from collections.abc import Callable

import numpy as np
from jaxlib.mlir import ir

from weft.jax import _regions
from weft.jax._builder import KNOWN_LIMIT, numpy_type


def _truncated_divide(a, b):
    if np.any(b == 0):
        return None
    down = a // b
    return (down + ((down * b != a) & ((a < 0) != (b < 0)))).astype(a.dtype)


def _truncated_remainder(a, b):
    return None if np.any(b == 0) else np.fmod(a, b)


_ELEMENTWISE = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply,
    "maximum": np.maximum, "minimum": np.minimum, "negate": np.negative,
    "abs": np.abs, "sign": np.sign, "not": np.invert,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "divide": _truncated_divide, "remainder": _truncated_remainder,
    "select": lambda c, a, b: np.where(c, a, b),
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
}

_COMPARE = {"EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal,
            "GT": np.greater, "GE": np.greater_equal}


def _constant(op, shape):
    return np.array(ir.DenseIntElementsAttr(op.attributes["value"]))


def _iota(op, shape):
    dim = op.attributes["iota_dimension"].value
    along = [1] * len(shape)
    along[dim] = shape[dim]
    return np.broadcast_to(np.arange(shape[dim]).reshape(along), shape)


def _compare(op, shape, a, b):
    direction = str(op.attributes["comparison_direction"]).split()[-1].rstrip(">")
    return _COMPARE[direction](a, b)


def _broadcast(op, shape, a):
    along = [1] * len(shape)
    for size, dim in zip(a.shape, op.attributes["broadcast_dimensions"]):
        along[dim] = size
    return np.broadcast_to(a.reshape(along), shape)


def _slice(op, shape, a):
    bounds = zip(op.attributes["start_indices"], op.attributes["limit_indices"],
                 op.attributes["strides"])
    return a[tuple(slice(*bound) for bound in bounds)]


def _concatenate(op, shape, *parts):
    return np.concatenate(parts, op.attributes["dimension"].value)


_REDUCE: dict[str, Callable] = {"add": np.sum, "and": np.all, "or": np.any, "maximum": np.max, "minimum": np.min}


def _reduce(op, shape, a, start):
    combine = _regions.single(op.regions[0].blocks[0])
    if combine not in _REDUCE or a.size == 0:
        return None
    if combine in ("and", "or") and a.dtype != bool:
        return None
    part = _REDUCE[combine](a, axis=tuple(op.attributes["dimensions"]))
    return _ELEMENTWISE[combine](part, start)


_STRUCTURAL: dict[str, Callable] = {
    "constant": _constant, "iota": _iota, "compare": _compare,
    "broadcast_in_dim": _broadcast, "slice": _slice, "concatenate": _concatenate,
    "reduce": _reduce,
    "convert": lambda op, shape, a: a != 0 if _is_boolean(op) else a,
    "reshape": lambda op, shape, a: a.reshape(shape),
    "transpose": lambda op, shape, a: a.transpose(list(op.attributes["permutation"])),
}


def _is_boolean(op):
    return op.results[0].type.element_type.width == 1


def evaluate(op, operands):
    """The value of the operation's only result as an array, or None if unknown."""
    if len(op.results) != 1 or any(v is None for v in operands):
        return None
    type = op.results[0].type
    if not isinstance(type, ir.RankedTensorType) or not isinstance(type.element_type, ir.IntegerType):
        return None
    if np.prod(type.shape, dtype=np.int64) > KNOWN_LIMIT:
        return None
    name = op.name.split(".", 1)[1]
    with np.errstate(over="ignore"):
        if name in _STRUCTURAL:
            result = _STRUCTURAL[name](op, type.shape, *operands)
        elif name in _ELEMENTWISE:
            result = _ELEMENTWISE[name](*operands)
        else:
            return None
    return None if result is None else np.asarray(result).astype(numpy_type(type.element_type)).reshape(type.shape)
