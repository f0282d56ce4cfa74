# SPDX-License-Identifier: Apache-2.0

"""Scatters that do not add, by comparing each row of the table with each index.

weft.scatter_add is the one scatter that weft has. Rows that are replaced, or
take a maximum, minimum or product, are found by comparison instead: a dimension
for the row is put before those of the updates, and the updates that do not
belong to the row are masked. Where several updates replace a row, the last one
counts, as on XLA's CPU.
"""

import numpy as np
from jaxlib.mlir import ir

from weft.jax._builder import element_of, is_float, is_unsigned, shape_of

# Elements of the space of rows and updates.
COMPARE_LIMIT = 1 << 26

# The least and the largest number of types that have no infinities.
_EXTREMES = {"f8E4M3FN": (-448.0, 448.0), "f8E8M0FNU": (2.0**-127, 2.0**127)}

COMBINERS = ("set", "maximum", "minimum", "multiply")


def scatter(build, table, index, updates, maps, combiner):
    """The updated table. `maps` are the axis, table map and index map of weft.scatter_add."""
    axis, table_map, index_map = maps
    rows = shape_of(table)[axis]
    wide = [rows] + shape_of(updates)
    if np.prod(wide, dtype=np.int64) > COMPARE_LIMIT:
        raise ValueError(f"combines with '{combiner}' at indices that are not constant, which compares "
                         f"{rows} rows with {wide[1:]} updates, at most {COMPARE_LIMIT} elements")
    element = element_of(index)
    row = build.broadcast(build.iota(rows, element), wide, [0])
    hit = build.compare("EQ", row, build.broadcast(index, wide, [d + 1 for d in index_map]))
    spread = build.broadcast(updates, wide, list(range(1, len(wide))))
    # In the order in which updates are made: that of the indices.
    alone = [d + 1 for d in index_map if d not in table_map]
    order = _to_table(axis, table_map)
    if combiner == "set":
        return _replaced(build, table, hit, spread, alone, order)
    neutral = _neutral(combiner, element_of(table))
    masked = build.select(hit, spread, build.splat(neutral, wide, element_of(table)))
    combined = _reduced(build, combiner, masked, alone, neutral)
    return build.binary(combiner, table, build.transpose(combined, order))


def _replaced(build, table, hit, spread, alone, order):
    """The table with each row that an update hits replaced by the last such update."""
    if alone:
        wide, i32 = shape_of(hit), ir.IntegerType.get_signless(32)
        place = _places(build, wide, alone, i32)
        absent = build.splat(-1, wide, i32)
        last = _reduced(build, "maximum", build.select(hit, place, absent), alone, -1)
        kept = [d for d in range(len(wide)) if d not in alone]
        chosen = build.compare("EQ", place, build.broadcast(last, wide, kept))
        spread = build.pick(build.binary("and", hit, chosen), spread, alone)
        hit = build.compare("GE", last, build.splat(0, shape_of(last), i32))
    return build.select(build.transpose(hit, order), build.transpose(spread, order), table)


def _places(build, shape, dims, element):
    """Counts along some dimensions, the last one fastest."""
    place, scale = None, 1
    for d in reversed(dims):
        part = build.broadcast(build.iota(shape[d], element), shape, [d])
        part = build.binary("multiply", part, build.splat(scale, shape, element)) if scale != 1 else part
        place, scale = part if place is None else build.binary("add", place, part), scale * shape[d]
    return place


def _reduced(build, combiner, value, dims, neutral):
    for d in sorted(dims, reverse=True):
        value = build.reduce(combiner, value, d, neutral)
    return value


def _to_table(axis, table_map):
    """From the row and the updates' dimensions that the table has, to the table's order."""
    here = sorted(table_map)
    order = [here.index(d) + 1 for d in table_map]
    return order[:axis] + [0] + order[axis:]


def _neutral(combiner, element):
    if combiner == "multiply":
        return 1
    if is_float(element):
        least, largest = _EXTREMES.get(str(element), (-np.inf, np.inf))
        return least if combiner == "maximum" else largest
    bits = element.width if is_unsigned(element) or element.width == 1 else element.width - 1
    lowest = 0 if bits == element.width else -(1 << bits)
    return lowest if combiner == "maximum" else (1 << bits) - 1
