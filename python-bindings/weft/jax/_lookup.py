# SPDX-License-Identifier: Apache-2.0

"""Turns gather and scatter into weft.take, weft.scatter_add and static slices.

Both StableHLO operations move windows between a table and a batch of places
that index vectors name. Each is first brought to one form: a window of size one
along each indexed dimension, all else whole. Index vectors of several
components become one component over the merged dimensions; a component that
counts along a batch dimension (x[arange(n), i]) is that batch dimension.
"""

from dataclasses import dataclass, field

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from weft.jax import _scatter
from weft.jax._builder import element_of, is_unsigned, shape_of
from weft.jax._contract import map_attribute
from weft.jax._slices import insert_at


@dataclass
class Places:
    """Where the windows of a gather or scatter lie.

    columns: per indexed dimension of the table its index tensor, of the batch's
    shape; batching: table dim -> batch dim; windows: table dim -> dimension of
    the batched side (result or updates), None where the window dim is dropped;
    batch_dims: dimensions of the batched side that are batch, in order.
    """
    table_shape: list
    window_sizes: list
    columns: dict
    batching: dict
    windows: dict
    batch_dims: list
    batch_shape: list = field(default_factory=list)


def index_columns(build, indices, vector_dim, table_dims):
    """Splits the index tensor in one tensor per indexed dimension of the table."""
    shape = shape_of(indices)
    if vector_dim == len(shape):
        return {table_dims[0]: indices}, shape
    batch = shape[:vector_dim] + shape[vector_dim + 1:]
    columns = {}
    for k, dim in enumerate(table_dims):
        starts, limits = [0] * len(shape), list(shape)
        starts[vector_dim], limits[vector_dim] = k, k + 1
        columns[dim] = build.reshape(build.slice(indices, starts, limits), batch)
    return columns, batch


def _batching(table_dims, index_dims, vector_dim):
    """Table dim -> batch dim, where the index tensor's vector dim does not count."""
    return {t: i - (i > vector_dim) for t, i in zip(table_dims, index_dims)}


def gather_places(build, op, table, indices):
    n = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    columns, batch = index_columns(build, indices, n.index_vector_dim, list(n.start_index_map))
    dropped = {*n.collapsed_slice_dims, *n.operand_batching_dims}
    offsets = iter(n.offset_dims)
    windows = {t: None if t in dropped else next(offsets) for t in range(len(shape_of(table)))}
    rank = len(op.results[0].type.shape)
    return Places(shape_of(table), list(op.attributes["slice_sizes"]), columns,
                  _batching(n.operand_batching_dims, n.start_indices_batching_dims, n.index_vector_dim),
                  windows, [d for d in range(rank) if d not in set(n.offset_dims)], batch)


def scatter_places(build, op, table, indices, updates):
    n = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    columns, batch = index_columns(build, indices, n.index_vector_dim,
                                   list(n.scattered_dims_to_operand_dims))
    dropped = {*n.inserted_window_dims, *n.input_batching_dims}
    window_dims = iter(n.update_window_dims)
    windows = {t: None if t in dropped else next(window_dims) for t in range(len(shape_of(table)))}
    update_shape = shape_of(updates)
    sizes = [1 if d is None else update_shape[d] for _, d in sorted(windows.items())]
    return Places(shape_of(table), sizes, columns,
                  _batching(n.input_batching_dims, n.scatter_indices_batching_dims, n.index_vector_dim),
                  windows, [d for d in range(len(update_shape)) if d not in set(n.update_window_dims)],
                  batch)


# -- normalization

def scalar_starts(build, places):
    """The start of the only window if its place is known, else None."""
    if any(size != 1 for size in places.batch_shape) or places.batching:
        return None
    starts = [0] * len(places.table_shape)
    for dim, column in places.columns.items():
        known = build.known.get(column)
        if known is None:
            return None
        starts[dim] = int(known.reshape(()))
    return starts


def counting_columns_to_batching(build, places):
    """A column that is 0, 1, 2, ... along a whole batch dimension is batching."""
    for dim, column in list(places.columns.items()):
        known = build.known.get(column)
        if known is None or places.window_sizes[dim] != 1:
            continue
        for b, size in enumerate(places.batch_shape):
            along = [1] * known.ndim
            along[b] = size
            counts = np.array_equal(
                known, np.broadcast_to(np.arange(size).reshape(along), known.shape))
            if counts and size > 1 and size == places.table_shape[dim] and b not in places.batching.values():
                if len(places.columns) > 1:
                    places.batching[dim] = b
                    del places.columns[dim]
                break


def arithmetic_range(build, column):
    """(start, step) if the column is known to be start, start + step, ..., else None."""
    known = build.known.get(column)
    if known is None or known.ndim != 1 or known.size < 2:
        return None
    steps = np.diff(known.astype(np.int64))
    if steps[0] <= 0 or np.any(steps != steps[0]):
        return None
    return int(known[0]), int(steps[0])


def signed_index(build, column, limit, clamp):
    """The index as i32 or i64. Clamped into [0, limit], or, where a value above
    `limit` must stay out of range, at least representable."""
    element = element_of(column)
    if element.width < 32:
        element = ir.IntegerType.get_signless(32)
        column = build.convert(column, element)
    known = build.known.get(column)
    if clamp and not _in_range(known, limit):
        column = _clamped(build, column, limit, known)
    if is_unsigned(element):
        if not clamp:
            shape = shape_of(column)
            column = build.binary("minimum", column, build.splat(limit + 1, shape, element))
        column = build.convert(column, ir.IntegerType.get_signless(element.width))
    return column


def _in_range(known, limit):
    return known is not None and known.size > 0 and known.min() >= 0 and known.max() <= limit


def _clamped(build, column, limit, known):
    element, shape = element_of(column), shape_of(column)
    made = build.binary("maximum", column, build.splat(0, shape, element))
    made = build.binary("minimum", made, build.splat(limit, shape, element))
    return build.know(made, None if known is None else np.clip(known, 0, limit))


def merged_index(build, places, clamp):
    """One index over all indexed dimensions, row-major in the table's dim order.

    Returns None if there is no indexed dimension. Without clamping, an index
    vector that is out of range in any component becomes -1.
    """
    dims = sorted(places.columns)
    columns = [signed_index(build, places.columns[d], places.table_shape[d] - 1, clamp) for d in dims]
    widest = max((element_of(c) for c in columns), key=lambda e: e.width)
    columns = [build.convert(c, widest) for c in columns]
    sizes = [places.table_shape[d] for d in dims]
    merged = columns[0]
    for column, size in zip(columns[1:], sizes[1:]):
        scale = build.splat(size, places.batch_shape, widest)
        merged = build.binary("add", build.binary("multiply", merged, scale), column)
    if clamp or len(dims) == 1:
        return merged
    inside = None
    for column, size in zip(columns, sizes):
        for direction, bound in (("GE", 0), ("LT", size)):
            test = build.compare(direction, column, build.splat(bound, places.batch_shape, widest))
            inside = test if inside is None else build.binary("and", inside, test)
    return build.select(inside, merged, build.splat(-1, places.batch_shape, widest))


def merged_table(build, table, places):
    """The table with the indexed dimensions next to each other and merged.

    Returns it with its dims in terms of the original ones: a list in which the
    merged dimension stands as None.
    """
    dims = sorted(places.columns)
    rest = [d for d in range(len(places.table_shape)) if d not in places.columns]
    before = [d for d in rest if d < dims[0]]
    order = before + dims + [d for d in rest if d > dims[0]]
    moved = build.transpose(table, order)
    shape = shape_of(moved)
    size = int(np.prod([places.table_shape[d] for d in dims]))
    at = len(before)
    merged = build.reshape(moved, shape[:at] + [size] + shape[at + len(dims):])
    return merged, before + [None] + order[at + len(dims):], order


def restored_table(build, merged, places, order):
    """Undoes merged_table."""
    moved = build.reshape(merged, [places.table_shape[d] for d in order])
    inverse = [order.index(d) for d in range(len(order))]
    return build.transpose(moved, inverse)


def lookup_maps(places, layout, batched_dims):
    """The axis, the table map and the index map of take and scatter_add.

    `batched_dims` are the dims of the batched side in the iteration space's
    order; what is not among them (a window dim of size one) is dropped.
    """
    position = {d: i for i, d in enumerate(batched_dims)}
    table_map = []
    for dim in layout:
        if dim in places.batching:
            table_map.append(position[places.batch_dims[places.batching[dim]]])
        elif dim is not None:
            table_map.append(position[places.windows[dim]])
    return layout.index(None), table_map, [position[d] for d in places.batch_dims]


def lookup_attributes(maps, rank):
    axis, table_map, index_map = maps
    return {"axis": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), axis),
            "table_map": map_attribute(rank, table_map),
            "index_map": map_attribute(rank, index_map)}


def iteration_dims(places, rank):
    """Dims of the batched side without the size-one windows of indexed dims."""
    unit = {places.windows[d] for d in places.columns}
    return [d for d in range(rank) if d not in unit]


# -- the operations

def gather(build, op, table, indices):
    """Returns the looked-up tensor; raises ValueError with the reason if it cannot."""
    result = op.results[0].type
    places = gather_places(build, op, table, indices)
    starts = scalar_starts(build, places)
    if starts is not None:
        starts = [min(max(s, 0), n - w) for s, n, w in
                  zip(starts, places.table_shape, places.window_sizes)]
        limits = [s + w for s, w in zip(starts, places.window_sizes)]
        return build.reshape(build.slice(table, starts, limits), result.shape)
    counting_columns_to_batching(build, places)
    fixed = {d: min(max(s, 0), places.table_shape[d] - places.window_sizes[d])
             for d, s in fixed_columns(build, places).items()}
    spread_windows(build, places, clamp=True)
    table, _ = whole_windows(build, table, places, fixed)
    ranged = _gather_range(build, table, places, result)
    if ranged is not None:
        return ranged
    index = merged_index(build, places, clamp=True)
    merged, layout, _ = merged_table(build, table, places)
    dims = iteration_dims(places, len(result.shape))
    shape = [result.shape[d] for d in dims]
    made = build.value("weft.take", build.tensor(shape, result.element_type), [merged, index],
                       lookup_attributes(lookup_maps(places, layout, dims), len(dims)))
    return build.reshape(made, result.shape)


def fixed_columns(build, places):
    """Removes the columns that are one known number; returns them by dimension.

    t[i, :3] indexes dimension 1 with zeros and takes windows of three.
    """
    fixed = {}
    for dim, column in list(places.columns.items()):
        known = build.known.get(column)
        same = known is not None and known.size > 0 and known.min() == known.max()
        if same and places.windows[dim] is not None and len(places.columns) > 1:
            fixed[dim] = int(known.flat[0])
            del places.columns[dim]
    return fixed


def spread_windows(build, places, clamp):
    """Makes batch dimensions of the windows along indexed dimensions: each place in
    a window is looked up by itself.

    A window that does not fit is moved inside, or, without clamping, is out of
    range as a whole.
    """
    wide = [d for d in sorted(places.columns) if places.window_sizes[d] != 1]
    old, sizes = list(places.batch_shape), [places.window_sizes[d] for d in wide]
    if not wide:
        return
    places.batch_shape = old + sizes
    for dim, column in sorted(places.columns.items()):
        size, limit = places.window_sizes[dim], places.table_shape[dim] - places.window_sizes[dim]
        column = signed_index(build, column, limit, clamp)
        element = element_of(column)
        start = build.broadcast(column, places.batch_shape, list(range(len(old))))
        if size == 1:
            places.columns[dim] = start
            continue
        along = len(old) + wide.index(dim)
        step = build.broadcast(build.iota(size, element), places.batch_shape, [along])
        places.columns[dim] = build.binary("add", start, step)
        if not clamp:
            fits = [build.compare(direction, start, build.splat(bound, places.batch_shape, element))
                    for direction, bound in (("GE", 0), ("LE", limit))]
            absent = build.splat(-1, places.batch_shape, element)
            places.columns[dim] = build.select(build.binary("and", *fits), places.columns[dim], absent)
        places.window_sizes[dim] = 1
        places.batch_dims.append(places.windows[dim])
        places.windows[dim] = None


def whole_windows(build, table, places, fixed):
    """Cuts the table so that windows of dims without index are whole."""
    starts, limits = [0] * len(places.table_shape), list(places.table_shape)
    for dim, size in enumerate(places.window_sizes):
        if dim not in places.columns and dim not in places.batching:
            starts[dim] = fixed.get(dim, 0)
            limits[dim] = starts[dim] + size
    places.table_shape = [l - s for s, l in zip(starts, limits)]
    return build.slice(table, starts, limits), starts


def _gather_range(build, table, places, result):
    """A lookup of start, start + step, ... is a slice."""
    if len(places.columns) != 1 or places.batching:
        return None
    (dim, column), = places.columns.items()
    found = arithmetic_range(build, column)
    count = places.batch_shape[0] if len(places.batch_shape) == 1 else 0
    if found is None or found[0] < 0 or found[0] + found[1] * (count - 1) >= places.table_shape[dim]:
        return None
    starts, limits = [0] * len(places.table_shape), list(places.table_shape)
    strides = [1] * len(starts)
    starts[dim], strides[dim] = found
    limits[dim] = found[0] + found[1] * (count - 1) + 1
    cut = build.slice(table, starts, limits, strides)
    # dims of `cut` in the order of the result: windows where they say, `dim` at the batch dim
    at = {places.windows[d]: d for d in range(len(starts)) if places.windows[d] is not None and d != dim}
    at[places.batch_dims[0]] = dim
    return build.reshape(build.transpose(cut, [at[k] for k in sorted(at)]), result.shape)


def scatter(build, op, table, indices, updates):
    """Returns the updated table; raises ValueError with the reason if it cannot."""
    combiner = _combiner(op)
    places = scatter_places(build, op, table, indices, updates)
    starts = scalar_starts(build, places)
    if starts is not None and combiner in ("add", "set"):
        return _update_window(build, table, updates, places, starts, combiner)
    if combiner not in ("add", *_scatter.COMBINERS):
        raise ValueError(f"combines with '{combiner}' at indices that are not constant")
    counting_columns_to_batching(build, places)
    fixed, full_shape = fixed_columns(build, places), places.table_shape
    if any(s < 0 or s + places.window_sizes[d] > full_shape[d] for d, s in fixed.items()):
        return table
    spread_windows(build, places, clamp=False)
    init, corner = whole_windows(build, table, places, fixed)
    index = merged_index(build, places, clamp=False)
    merged, layout, order = merged_table(build, init, places)
    update_shape = shape_of(updates)
    dims = iteration_dims(places, len(update_shape))
    updates = build.reshape(updates, [update_shape[d] for d in dims])
    maps = lookup_maps(places, layout, dims)
    if combiner == "add":
        made = build.value("weft.scatter_add", merged.type, [merged, index, updates],
                           lookup_attributes(maps, len(dims)))
    else:
        made = _scatter.scatter(build, merged, index, updates, maps, combiner)
    made = restored_table(build, made, places, order)
    return insert_at(build, table, made, corner)


def _combiner(op):
    """'add', 'set' or the name of what the update computation does."""
    block = op.regions[0].blocks[0]
    names = [o.operation.name for o in block.operations]
    if names == ["stablehlo.return"]:
        returned = block.operations[0].operands[0]
        return "set" if returned == block.arguments[1] else "keep"
    if len(names) == 2 and set(block.operations[0].operands) == set(block.arguments):
        return names[0].split(".", 1)[1]
    return "a computation of several operations"


def _update_window(build, table, updates, places, starts, combiner):
    """One window at a constant place; one that does not fit changes nothing."""
    sizes = places.window_sizes
    if any(s < 0 or s + w > n for s, w, n in zip(starts, sizes, places.table_shape)):
        return table
    order = [places.windows[d] for d in range(len(sizes)) if places.windows[d] is not None]
    update_dims = places.batch_dims + order
    window = build.reshape(build.transpose(updates, update_dims), sizes)
    if combiner == "add":
        old = build.slice(table, starts, [s + w for s, w in zip(starts, sizes)])
        window = build.binary("add", old, window)
    return insert_at(build, table, window, starts)
