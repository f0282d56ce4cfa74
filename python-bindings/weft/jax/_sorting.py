# SPDX-License-Identifier: Apache-2.0

"""Sorting without a sort: positions by counting, and rounds of maxima.

Where an element goes is the number of elements that stand before it, which
comparing all pairs of its row gives. The few largest elements are found one
after another. Both are reductions and elementwise operations, which can be
partitioned; a row's length counts squared, so that long ones are refused.
"""

from jaxlib.mlir import ir

from weft.jax import _regions
from weft.jax._builder import element_of, is_float, is_unsigned, shape_of

SORT_LIMIT = 2048
TOP_K_LIMIT = 64


# -- top_k

def top_k(build, values, k):
    """The k largest along the last dimension, largest first, and their indices."""
    if k > TOP_K_LIMIT:
        raise ValueError(f"takes the {k} largest, at most {TOP_K_LIMIT} are found without a sort")
    element = element_of(values)
    if not is_float(element):
        return _largest(build, values, k)
    integer = ir.IntegerType.get_signless(element.width)
    keys, places = _largest(build, _ordered(build, build.bitcast(values, integer)), k)
    return [build.bitcast(_ordered(build, keys), element), places]


def _ordered(build, bits):
    """Integers in the total order of the floats that have these bits: -NaN, -inf, .., -0, +0, .., inf, NaN; and back."""
    shape, element = shape_of(bits), element_of(bits)
    is_negative = build.compare("LT", bits, build.splat(0, shape, element))
    turned = build.binary("xor", bits, build.splat((1 << (element.width - 1)) - 1, shape, element))
    return build.select(is_negative, turned, bits)


def _largest(build, values, k):
    shape, dim = shape_of(values), len(shape_of(values)) - 1
    i32 = ir.IntegerType.get_signless(32)
    place = build.broadcast(build.iota(shape[dim], i32), shape, [dim])
    absent = build.splat(shape[dim], shape, i32)
    lowest = build.splat(_lowest(element_of(values)), shape, element_of(values))
    left, found, indices = None, [], []
    for _ in range(k):
        candidates = values if left is None else build.select(left, values, lowest)
        most = build.reduce("maximum", candidates, dim, _lowest(element_of(values)))
        hit = build.compare("EQ", values, _spread(build, most, shape, dim))
        hit = hit if left is None else build.binary("and", hit, left)
        first = build.reduce("minimum", build.select(hit, place, absent), dim, shape[dim])
        others = build.compare("NE", place, _spread(build, first, shape, dim))
        left = others if left is None else build.binary("and", left, others)
        found.append(build.reshape(most, shape[:dim] + [1]))
        indices.append(build.reshape(first, shape[:dim] + [1]))
    return [build.concatenate(found, dim), build.concatenate(indices, dim)]


def _lowest(element):
    if element.width == 1 or is_unsigned(element):
        return 0
    return -(1 << (element.width - 1))


def _spread(build, reduced, shape, dim):
    return build.broadcast(reduced, shape, [d for d in range(len(shape)) if d != dim])


# -- sort

def sort(build, op, operands):
    """The operands in the order of the comparator, which keeps equal ones in place."""
    dim = op.attributes["dimension"].value
    shape = shape_of(operands[0])
    n = shape[dim]
    if n > SORT_LIMIT:
        raise ValueError(f"sorts {n} elements, at most {SORT_LIMIT} are sorted by comparing all pairs")
    if any(str(element_of(v)) == "f8E8M0FNU" for v in operands):
        raise ValueError("sorts f8E8M0FNU, which has no sign; sort its bits as uint8")
    # Dimensions of a pair: those of the operands, with one for the other element before `dim`.
    wide = shape[:dim] + [n] + shape[dim:]
    here = [d if d < dim else d + 1 for d in range(len(shape))]
    other = [d if d <= dim else d + 1 for d in range(len(shape))]
    own = [build.broadcast(v, wide, here) for v in operands]
    others = [build.broadcast(v, wide, other) for v in operands]
    before, = _regions.apply(build, op.regions[0].blocks[0], [v for pair in zip(others, own) for v in pair], wide)
    after, = _regions.apply(build, op.regions[0].blocks[0], [v for pair in zip(own, others) for v in pair], wide)
    i32 = ir.IntegerType.get_signless(32)
    i, j = (build.broadcast(build.iota(n, i32), wide, [d]) for d in (dim + 1, dim))
    earlier = build.binary("and", build.compare("LT", j, i), build.unary("not", after))
    before = build.convert(build.binary("or", before, earlier), i32)
    rank = build.reduce("add", before, dim, 0)
    chosen = build.compare("EQ", build.broadcast(rank, wide, other), i)
    return [build.pick(chosen, build.broadcast(v, wide, other), [dim]) for v in operands]
