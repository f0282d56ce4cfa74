# SPDX-License-Identifier: Apache-2.0

"""dynamic_slice and dynamic_update_slice.

At known places (after unrolling, all loop counters are known) they are static.
Elsewhere a slice is a lookup of start, start + 1, ... and an update is a lookup
of the update's rows, chosen where the update covers the table.
"""

from jaxlib.mlir import ir

from weft.jax._builder import element_of, shape_of
from weft.jax._contract import map_attribute


def known_starts(build, indices, shape, sizes):
    """Per dimension the start, clamped as StableHLO does, or None where unknown."""
    starts = []
    for index, n, size in zip(indices, shape, sizes):
        known = build.known.get(index)
        if n == size:
            starts.append(0)
        else:
            starts.append(None if known is None else min(max(int(known), 0), n - size))
    return starts


def dynamic_slice(build, table, indices, sizes):
    shape = shape_of(table)
    starts = known_starts(build, indices, shape, sizes)
    static = [0 if s is None else s for s in starts]
    limits = [shape[d] if s is None else s + sizes[d] for d, s in enumerate(starts)]
    made = build.slice(table, static, limits)
    for dim, start in enumerate(starts):
        if start is None:
            made = _take_range(build, made, dim, indices[dim], sizes[dim])
    return made


def _clamped_start(build, index, limit):
    """The start as i32 or i64. Narrow ones, which may not have the limit, are widened first."""
    if element_of(index).width < 32:
        index = build.convert(index, ir.IntegerType.get_signless(32))
    element = element_of(index)
    zero, top = (build.splat(k, [], element) for k in (0, limit))
    index = build.binary("minimum", build.binary("maximum", index, zero), top)
    return build.convert(index, ir.IntegerType.get_signless(element.width))


def _take_range(build, table, dim, index, size):
    shape = shape_of(table)
    start = _clamped_start(build, index, shape[dim] - size)
    rows = build.binary("add", build.broadcast(start, [size], []),
                        build.iota(size, element_of(start)))
    return take_along(build, table, rows, dim)


def take_along(build, table, rows, dim):
    """table[..., rows, ...] with a vector of rows along one dimension."""
    shape = shape_of(table)
    rank = len(shape)
    shape[dim] = shape_of(rows)[0]
    return build.value(
        "weft.take", build.tensor(shape, element_of(table)), [table, rows],
        {"axis": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim),
         "table_map": map_attribute(rank, [d for d in range(rank) if d != dim]),
         "index_map": map_attribute(rank, [dim])})


def dynamic_update_slice(build, table, update, indices):
    shape, sizes = shape_of(table), shape_of(update)
    starts = known_starts(build, indices, shape, sizes)
    if None not in starts or 0 in sizes:
        return insert_at(build, table, update, starts)
    covered, window = None, update
    for dim in range(len(starts)):
        if shape[dim] == sizes[dim]:
            continue
        window, inside = _stretch(build, window, dim, indices[dim], shape[dim], sizes[dim])
        inside = build.broadcast(inside, shape, [dim])
        covered = inside if covered is None else build.binary("and", covered, inside)
    return build.select(covered, window, table)


def _stretch(build, update, dim, index, n, size):
    """The update as if it were n long, zero outside, and where it is inside."""
    start = _clamped_start(build, index, n - size)
    element = element_of(start)
    rows = build.binary("subtract", build.iota(n, element), build.broadcast(start, [n], []))
    inside = build.binary(
        "and", build.compare("GE", rows, build.splat(0, [n], element)),
        build.compare("LT", rows, build.splat(size, [n], element)))
    return take_along(build, update, rows, dim), inside


def insert_at(build, table, update, starts):
    """The table with a window replaced, as a concatenation where one dimension is cut.

    Windows that fill the table one after another, as the unrolled iterations of
    a scan do, end as one concatenation of them all.
    """
    shape, sizes = shape_of(table), shape_of(update)
    if 0 in sizes:
        return table
    cut = [d for d in range(len(shape)) if shape[d] != sizes[d]]
    if not cut:
        return update
    if len(cut) > 1:
        inner = _window(build, table, starts, sizes, cut[0])
        update = insert_at(build, inner, update, [0 if d == cut[0] else s for d, s in enumerate(starts)])
        sizes = shape_of(update)
    dim, start = cut[0], starts[cut[0]]
    return _replace_part(build, table, update, dim, start)


def _window(build, table, starts, sizes, dim):
    """The table cut along `dim` only."""
    shape = shape_of(table)
    low, high = [0] * len(shape), list(shape)
    low[dim], high[dim] = starts[dim], starts[dim] + sizes[dim]
    return build.slice(table, low, high)


def _replace_part(build, table, update, dim, start):
    old = build.parts.get(table)
    pieces = dict(old.pieces) if old is not None and old.dim == dim else {0: table}
    kept = {}
    for offset, piece in pieces.items():
        size = shape_of(piece)[dim]
        _keep(build, kept, piece, dim, offset, offset, min(offset + size, start))
        after = start + shape_of(update)[dim]
        _keep(build, kept, piece, dim, offset, max(offset, after), offset + size)
    kept[start] = update
    return build.concatenate([kept[o] for o in sorted(kept)], dim)


def _keep(build, kept, piece, dim, offset, low, high):
    """Keeps what lies in [low, high) of a piece that starts at `offset`."""
    if low >= high:
        return
    shape = shape_of(piece)
    starts, limits = [0] * len(shape), list(shape)
    starts[dim], limits[dim] = low - offset, high - offset
    kept[low] = build.slice(piece, starts, limits)
