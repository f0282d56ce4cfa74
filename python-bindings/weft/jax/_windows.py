# SPDX-License-Identifier: Apache-2.0

"""Window reductions without windows: linalg's form of them indexes with sums of dims.
Small windows, as pooling has, are combined slice by slice.
"""

import itertools
import math

import numpy as np
from jaxlib.mlir import ir

from weft.jax import _regions
from weft.jax._builder import element_of, shape_of

# -- small windows

WINDOW_LIMIT = 64


def small(build, op, operands):
    """The combination of one slice for each place in the window, or None if these are many."""
    count = len(op.results)
    sources, starts, result = operands[:count], operands[count:], op.results[0].type
    sizes = list(op.attributes["window_dimensions"])
    if math.prod(sizes) > WINDOW_LIMIT:
        return None
    strides, base, dilations = (ones_or(op, name, len(sizes)) for name in
                                ("window_strides", "base_dilations", "window_dilations"))
    padded = [_padded(build, op, a, start, base) for a, start in zip(sources, starts)]
    made = [build.broadcast(start, result.shape, []) for start in starts]
    for place in itertools.product(*map(range, sizes)):
        bounds = _bounds([p * d for p, d in zip(place, dilations)], result.shape, strides)
        parts = [build.slice(a, *bounds) for a in padded]
        made = _regions.apply(build, op.regions[0].blocks[0], [*made, *parts], result.shape)
    return made


def _bounds(starts, shape, strides):
    return starts, [s + (n - 1) * t + 1 for s, n, t in zip(starts, shape, strides)], strides


def ones_or(op, name, rank):
    return list(op.attributes[name]) if name in op.attributes else [1] * rank


def _padded(build, op, source, start, base):
    low, high = padding(op, len(base))
    return pad(build, source, start, low, high, [b - 1 for b in base])


def padding(op, rank):
    pads = [0] * (2 * rank)
    if "padding" in op.attributes:
        pads = [int(p) for p in np.array(ir.DenseIntElementsAttr(op.attributes["padding"])).flat]
    return pads[::2], pads[1::2]


def pad(build, source, value, low, high, between):
    if not any(low + high + between):
        return source
    shape = [l + h + n + (n - 1) * b for l, h, n, b in zip(low, high, shape_of(source), between)]
    array = lambda values: ir.DenseI64ArrayAttr.get(values)
    return build.value("stablehlo.pad", build.tensor(shape, element_of(source)), [source, value],
                       {"edge_padding_low": array(low), "edge_padding_high": array(high),
                        "interior_padding": array(between)})


# -- gradients of windows

def select_and_scatter(build, op, source, updates, start):
    """Each update goes to the element of its window that the comparison keeps from first to last."""
    sizes, shape = list(op.attributes["window_dimensions"]), shape_of(updates)
    if math.prod(sizes) > WINDOW_LIMIT:
        raise ValueError(f"has a window of {math.prod(sizes)} places, at most {WINDOW_LIMIT} are compared")
    strides = ones_or(op, "window_strides", len(sizes))
    low, high = padding(op, len(sizes))
    padded = pad(build, source, start, low, high, [0] * len(sizes))
    inside = np.zeros(shape_of(padded), bool)
    inside[tuple(slice(max(l, 0), n - max(h, 0)) for l, h, n in zip(low, high, inside.shape))] = True
    places = list(itertools.product(*map(range, sizes)))
    chosen = _chosen(build, op, padded, inside, [_bounds(list(p), shape, strides) for p in places])
    result, i32 = build.broadcast(start, shape_of(source), []), ir.IntegerType.get_signless(32)
    zero = build.splat(0, [], element_of(updates))
    for k, place in enumerate(places):
        hit = build.compare("EQ", chosen, build.splat(k, shape, i32))
        kept = build.select(hit, updates, build.broadcast(zero, shape, []))
        before = [p - l for p, l in zip(place, low)]
        after = [n - (b + (m - 1) * t + 1) for n, b, m, t in zip(shape_of(source), before, shape, strides)]
        spread = pad(build, kept, zero, before, after, [t - 1 for t in strides])
        here = pad(build, hit, build.splat(0, [], element_of(hit)), before, after, [t - 1 for t in strides])
        added, = _regions.apply(build, op.regions[1].blocks[0], [result, spread], shape_of(source))
        result = build.select(here, added, result)
    return result


def _chosen(build, op, padded, inside, bounds):
    """Which place of each window is selected; places outside of the operand are not there."""
    i1, i32 = (ir.IntegerType.get_signless(width) for width in (1, 32))
    shape = [-(-(l - s) // t) for s, l, t in zip(*bounds[0])]
    chosen, value, any_yet = build.splat(-1, shape, i32), None, np.zeros(shape, bool)
    for k, bound in enumerate(bounds):
        part = build.slice(padded, *bound)
        is_there = inside[tuple(slice(*b) for b in zip(*bound))]
        if value is None:
            replaces = build.constant(is_there, i1)
        else:
            kept, = _regions.apply(build, op.regions[0].blocks[0], [value, part], shape)
            replaces = build.unary("not", kept)
            if not any_yet.all():
                replaces = build.binary("or", replaces, build.constant(~any_yet, i1))
            if not is_there.all():
                replaces = build.binary("and", replaces, build.constant(is_there, i1))
        value = part if value is None else build.select(replaces, part, value)
        chosen = build.select(replaces, build.splat(k, shape, i32), chosen)
        any_yet = any_yet | is_there
    return chosen
