# SPDX-License-Identifier: Apache-2.0

"""Cumulative sums (and other cumulative reductions) as masked reductions.

JAX writes cumsum as a window reduction over the whole dimension, whose linalg
form indexes with sums of dims. result[.., i, ..] = reduce over j of (j <= i ?
x[.., j, ..] : identity) is the same and every index is a plain one.
"""

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
