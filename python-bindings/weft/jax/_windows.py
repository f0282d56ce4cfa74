# SPDX-License-Identifier: Apache-2.0

"""Window reductions without windows: linalg's form of them indexes with sums of dims.

JAX writes cumsum as a window reduction over the whole dimension. result[.., i, ..]
= reduce over j of (j <= i ? x[.., j, ..] : identity) is the same and every index is
a plain one. Small windows, as pooling has, are combined slice by slice.
"""

import itertools
import math

import numpy as np
from jaxlib.mlir import ir

from weft.jax._builder import element_of, shape_of


def _window(op, rank):
    """(dim, reverse) if the window is cumulative along one dimension, else None."""
    plain = lambda name: name not in op.attributes or set(op.attributes[name]) == {1}
    if not all(plain(n) for n in ("window_strides", "base_dilations", "window_dilations")):
        return None
    sizes = list(op.attributes["window_dimensions"])
    dims = [d for d in range(rank) if sizes[d] != 1]
    if len(dims) != 1 or "padding" not in op.attributes:
        return None
    dim, = dims
    pads = [int(p) for p in ir.DenseIntElementsAttr(op.attributes["padding"])]
    around = {d: (pads[2 * d], pads[2 * d + 1]) for d in range(rank)}
    whole = op.operands[0].type.shape[dim]
    before_after = around.pop(dim)
    if sizes[dim] != whole or any(p != (0, 0) for p in around.values()):
        return None
    return {(whole - 1, 0): (dim, False), (0, whole - 1): (dim, True)}.get(before_after)


def cumulative(build, op, operands):
    """The reduction, or None if the window is not a cumulative one."""
    if len(op.results) != 1:
        return None
    source, identity = operands
    shape = shape_of(source)
    found = _window(op, len(shape))
    if found is None:
        return None
    dim, reverse = found
    n, rank = shape[dim], len(shape)
    wide = shape[:dim] + [n] + shape[dim:]          # ..., i, j, ...
    index = build.iota(n, ir.IntegerType.get_signless(32))
    i, j = (build.broadcast(index, [n, n], [d]) for d in (0, 1))
    inside = build.broadcast(build.compare("GE" if reverse else "LE", j, i), wide, [dim, dim + 1])
    spread = build.broadcast(source, wide, [d if d < dim else d + 1 for d in range(rank)])
    masked = build.select(inside, spread, build.broadcast(identity, wide, []))
    reduce = build.create("stablehlo.reduce", [op.results[0].type], [masked, identity],
                          {"dimensions": ir.DenseI64ArrayAttr.get([dim + 1])}, regions=1)
    copy = op.clone(build.ip).operation
    copy.regions[0].blocks[0].append_to(reduce.regions[0])
    copy.erase()
    return reduce.results[0]


# -- small windows

WINDOW_LIMIT = 64


def small(build, op, operands):
    """The combination of one slice for each place in the window, or None if these are many."""
    if len(op.results) != 1:
        return None
    source, start = operands
    rank, result = len(shape_of(source)), op.results[0].type
    sizes = list(op.attributes["window_dimensions"])
    names = [o.operation.name for o in op.regions[0].blocks[0].operations]
    if math.prod(sizes) > WINDOW_LIMIT or len(names) != 2:
        return None
    strides, base, dilations = (_ones_or(op, name, rank) for name in
                                ("window_strides", "base_dilations", "window_dilations"))
    padded = _padded(build, op, source, start, base)
    made = build.broadcast(start, result.shape, [])
    for place in itertools.product(*map(range, sizes)):
        starts = [p * d for p, d in zip(place, dilations)]
        limits = [s + (n - 1) * t + 1 for s, n, t in zip(starts, result.shape, strides)]
        made = build.binary(names[0].split(".", 1)[1], made, build.slice(padded, starts, limits, strides))
    return made


def _ones_or(op, name, rank):
    return list(op.attributes[name]) if name in op.attributes else [1] * rank


def _padded(build, op, source, start, base):
    rank = len(shape_of(source))
    pads = [0] * (2 * rank)
    if "padding" in op.attributes:
        pads = [int(p) for p in np.array(ir.DenseIntElementsAttr(op.attributes["padding"])).flat]
    low, high, between = pads[::2], pads[1::2], [b - 1 for b in base]
    if not any(low + high + between):
        return source
    shape = [l + h + n + (n - 1) * b for l, h, n, b in zip(low, high, shape_of(source), between)]
    array = lambda values: ir.DenseI64ArrayAttr.get(values)
    return build.value("stablehlo.pad", build.tensor(shape, element_of(source)), [source, start],
                       {"edge_padding_low": array(low), "edge_padding_high": array(high),
                        "interior_padding": array(between)})
