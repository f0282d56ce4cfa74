# SPDX-License-Identifier: Apache-2.0

"""Cumulative reductions, which JAX writes as window reductions over a whole dimension.

Of few elements, result[.., i, ..] = reduce over j of (j <= i ? x[.., j, ..] : identity),
where every index is a plain one. That is n^2 steps, so more elements are blocks of c:
the elements before i are those of the blocks before its own, and those before it there,
n * (c + n / c / c + ...) steps. A dim that ranks have parts of is cut where blocks begin,
so that the ranks exchange a number for each block.
"""

from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir

from weft.jax import _regions
from weft.jax._builder import element_of, is_float, shape_of

# Longer ones are cut into blocks of SHORTEST to LONGEST elements.
WHOLE, SHORTEST, LONGEST = 256, 16, 256
# Parts of a dim are nearly always for a number of ranks that divides this.
RANKS = 256
# What an initial value may be any number of times without a change, and of the others the one that changes nothing.
_IDEMPOTENT = ("maximum", "minimum", "and", "or")
_NEUTRAL = {"add": 0, "multiply": 1}


def window(op, rank):
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
    found = window(op, len(shape_of(operands[0])))
    if found is None:
        return None
    source, start = operands
    dim, reverse = found
    element, name = element_of(source), _regions.single(op.regions[0].blocks[0])
    if not _may_begin_blocks(name, start, shape_of(source)[dim]):
        return Combination(build, op.regions[0].blocks[0], reverse).over(source, start, dim)
    # The sum of a block is a number on its way, and not rounded to few bits.
    if name in _NEUTRAL and is_float(element) and element.width < 32 and shape_of(source)[dim] > WHOLE:
        wide = ir.F32Type.get()
        made = Reduction(build, name, build.convert(start, wide), reverse).over(build.convert(source, wide), dim)
        return build.convert(made, element)
    return Reduction(build, name, start, reverse).over(source, dim)


def _may_begin_blocks(name, start, length):
    """Whether each block may begin with the initial value, and what is left out be that value."""
    if name not in _NEUTRAL:
        return name in _IDEMPOTENT
    if length <= WHOLE:  # as often as it stands in the window's padding
        return True
    if isinstance(start.owner, ir.Block) or start.owner.name != "stablehlo.constant":
        return False
    number = ir.DenseElementsAttr(start.owner.attributes["value"]).get_splat_value()
    return float(number.value) == _NEUTRAL[name]


@dataclass
class Reduction:
    """The op `name` from the first element on, or (reverse) to the last."""
    build: Any
    name: str
    identity: Any
    reverse: bool

    def over(self, source, dim, inclusive=True):
        n = shape_of(source)[dim]
        if n <= WHOLE:
            return self._masked(source, dim, inclusive)
        size = block_size(n)
        return self._in_blocks(source, dim, size, inclusive) if size else self._padded(source, dim, inclusive)

    def _masked(self, source, dim, inclusive):
        build, shape = self.build, shape_of(source)
        n, rank = shape[dim], len(shape)
        wide = shape[:dim] + [n] + shape[dim:]          # ..., i, j, ...
        index = build.iota(n, ir.IntegerType.get_signless(32))
        i, j = (build.broadcast(index, [n, n], [d]) for d in (0, 1))
        direction = ("G" if self.reverse else "L") + ("E" if inclusive else "T")
        inside = build.broadcast(build.compare(direction, j, i), wide, [dim, dim + 1])
        spread = build.broadcast(source, wide, [d if d < dim else d + 1 for d in range(rank)])
        only = build.select(inside, spread, build.broadcast(self.identity, wide, []))
        return build.reduce(self.name, only, dim + 1, self.identity)

    def _in_blocks(self, source, dim, size, inclusive):
        build, shape = self.build, shape_of(source)
        cut = [*shape[:dim], shape[dim] // size, size, *shape[dim + 1:]]
        blocks = build.reshape(source, cut)
        totals = build.reduce(self.name, blocks, dim + 1, self.identity)
        before = self.over(totals, dim, inclusive=False)
        spread = build.broadcast(before, cut, [d for d in range(len(cut)) if d != dim + 1])
        inner = self._masked(blocks, dim + 1, inclusive)
        return build.reshape(build.binary(self.name, spread, inner), shape)

    def _padded(self, source, dim, inclusive):
        """Of a length that no block divides: elements that change nothing are added at its end."""
        build, shape = self.build, shape_of(source)
        more = -shape[dim] % (4 * SHORTEST)
        edge = [more if d == dim else 0 for d in range(len(shape))]
        none = [0] * len(shape)
        array = ir.DenseI64ArrayAttr.get
        wide = build.value("stablehlo.pad", build.tensor([a + b for a, b in zip(shape, edge)], element_of(source)),
                           [source, self.identity], {"edge_padding_low": array(none), "edge_padding_high": array(edge),
                                                     "interior_padding": array(none)})
        return build.slice(self.over(wide, dim, inclusive), none, shape)


@dataclass
class Combination:
    """Any region, and any initial value: it may change what it is combined with, so that it stands in a result as often
    as in the window, at its beginning and where it is outside. Elements are combined with each other only."""
    build: Any
    region: Any
    reverse: bool

    def over(self, source, start, dim):
        build, shape = self.build, shape_of(source)
        n = shape[dim]
        starts = build.broadcast(start, [n], [])
        made = self._running(source, dim, self.reverse)
        if not self.reverse:  # n, n - 1, ..., 1 initial values come first
            return self._combined(build.broadcast(self._running(starts, 0, True), shape, [dim]), made)
        made = self._combined(build.broadcast(start, shape, []), made)
        after = self._moved(self._running(starts, 0, False), 0, False)  # 1, 1, 2, ..., n - 1
        more = self._combined(made, build.broadcast(after, shape, [dim]))
        return build.select(self._is_first(n, False, shape, dim), made, more)

    def _running(self, source, dim, reverse):
        size = block_size(shape_of(source)[dim]) if shape_of(source)[dim] > WHOLE else None
        return self._in_blocks(source, dim, size, reverse) if size else self._doubled(source, dim, reverse)

    def _doubled(self, source, dim, reverse):
        """Of 1, 2, 4, ... neighbors."""
        n, step = shape_of(source)[dim], 1
        while step < n:
            first, second = self._part(source, dim, 0, n - step), self._part(source, dim, step, n)
            both = self._combined(first, second)
            rest = self._part(source, dim, n - step, n) if reverse else self._part(source, dim, 0, step)
            source = self.build.concatenate([both, rest] if reverse else [rest, both], dim)
            step *= 2
        return source

    def _in_blocks(self, source, dim, size, reverse):
        build, shape = self.build, shape_of(source)
        count = shape[dim] // size
        cut = [*shape[:dim], count, size, *shape[dim + 1:]]
        inner = self._doubled(build.reshape(source, cut), dim + 1, reverse)
        end = 0 if reverse else size - 1
        totals = build.reshape(self._part(inner, dim + 1, end, end + 1), cut[:dim + 1] + cut[dim + 2:])
        before = self._moved(self._running(totals, dim, reverse), dim, reverse)
        spread = build.broadcast(before, cut, [d for d in range(len(cut)) if d != dim + 1])
        both = self._combined(inner, spread) if reverse else self._combined(spread, inner)
        made = build.select(self._is_first(count, reverse, cut, dim), inner, both)
        return build.reshape(made, shape)

    def _combined(self, a, b):
        made, = _regions.apply(self.build, self.region, [a, b], shape_of(a))
        return made

    def _part(self, value, dim, first, end):
        shape = shape_of(value)
        return self.build.slice(value, [first if d == dim else 0 for d in range(len(shape))],
                                [end if d == dim else size for d, size in enumerate(shape)])

    def _moved(self, value, dim, reverse):
        """By one place; the first one stays, too."""
        n = shape_of(value)[dim]
        if reverse:
            return self.build.concatenate([self._part(value, dim, 1, n), self._part(value, dim, n - 1, n)], dim)
        return self.build.concatenate([self._part(value, dim, 0, 1), self._part(value, dim, 0, n - 1)], dim)

    def _is_first(self, n, reverse, shape, dim):
        i32 = ir.IntegerType.get_signless(32)
        first = self.build.splat(n - 1 if reverse else 0, [n], i32)
        return self.build.broadcast(self.build.compare("EQ", self.build.iota(n, i32), first), shape, [dim])


def block_size(n):
    """A divisor of n, so that as many ranks as may be have whole blocks, and of those the
    one that takes the fewest steps; None if there is none."""
    sizes = [c for c in range(SHORTEST, LONGEST + 1) if n % c == 0]
    ranks = lambda c: (n // c) & -(n // c)
    return min(sizes, key=lambda c: (-min(ranks(c), RANKS), c + n // c / c, c), default=None)
