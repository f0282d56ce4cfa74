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
# Of the ops that count an element twice; a maximum of one element and itself is that element.
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
    source, identity = operands
    dim, reverse = found
    element, name = element_of(source), _regions.single(op.regions[0].blocks[0])
    if shape_of(source)[dim] > WHOLE and not _is_neutral(name, identity):
        raise ValueError(f"begins a cumulative '{name}' of more than {WHOLE} elements with another number than {_NEUTRAL[name]}")
    # The sum of a block is a number on its way, and not rounded to few bits.
    if name in ("add", "multiply") and is_float(element) and element.width < 32 and shape_of(source)[dim] > WHOLE:
        wide = ir.F32Type.get()
        made = Reduction(build, op, build.convert(identity, wide), reverse, name).over(build.convert(source, wide), dim)
        return build.convert(made, element)
    return Reduction(build, op, identity, reverse).over(source, dim)


def _is_neutral(name, start):
    """Whether blocks may each begin with it: what counts more than once may change nothing."""
    if name not in _NEUTRAL:
        return True
    if isinstance(start.owner, ir.Block) or start.owner.name != "stablehlo.constant":
        return False
    number = ir.DenseElementsAttr(start.owner.attributes["value"]).get_splat_value()
    return float(number.value) == _NEUTRAL[name]


@dataclass
class Reduction:
    """The region of `op`, or the op `name`, from the first element on, or (reverse) to the last."""
    build: Any
    op: Any
    identity: Any
    reverse: bool
    name: str | None = None

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
        return self._reduced(build.select(inside, spread, build.broadcast(self.identity, wide, [])), dim + 1)

    def _reduced(self, source, dim):
        shape = shape_of(source)
        if self.name:
            return self.build.reduce(self.name, source, dim, self.identity)
        type = self.build.tensor(shape[:dim] + shape[dim + 1:], element_of(source))
        reduce = self.build.create("stablehlo.reduce", [type], [source, self.identity],
                                   {"dimensions": ir.DenseI64ArrayAttr.get([dim])}, regions=1)
        copy = self.op.clone(self.build.ip).operation
        copy.regions[0].blocks[0].append_to(reduce.regions[0])
        copy.erase()
        return reduce.results[0]

    def _in_blocks(self, source, dim, size, inclusive):
        build, shape = self.build, shape_of(source)
        cut = [*shape[:dim], shape[dim] // size, size, *shape[dim + 1:]]
        blocks = build.reshape(source, cut)
        before = self.over(self._reduced(blocks, dim + 1), dim, inclusive=False)
        spread = build.broadcast(before, cut, [d for d in range(len(cut)) if d != dim + 1])
        inner = self._masked(blocks, dim + 1, inclusive)
        return build.reshape(self._combined(spread, inner), shape)

    def _combined(self, a, b):
        if self.name:
            return self.build.binary(self.name, a, b)
        made, = _regions.apply(self.build, self.op.regions[0].blocks[0], [a, b], shape_of(a))
        return made

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


def block_size(n):
    """A divisor of n, so that as many ranks as may be have whole blocks, and of those the
    one that takes the fewest steps; None if there is none."""
    sizes = [c for c in range(SHORTEST, LONGEST + 1) if n % c == 0]
    ranks = lambda c: (n // c) & -(n // c)
    return min(sizes, key=lambda c: (-min(ranks(c), RANKS), c + n // c / c, c), default=None)
