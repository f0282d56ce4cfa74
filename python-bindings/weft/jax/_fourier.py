# SPDX-License-Identifier: Apache-2.0

"""Discrete Fourier transforms as products.

A transform of n = r * m elements is m of r elements, a factor for each number, and r of m
(Cooley and Tukey, 1965). Those of few elements, and of prime numbers, are products with the
matrix of all factors.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from weft.jax._builder import element_of, shape_of
from weft.jax._contract import contract
from weft.jax._terms import Pair, Term, parts_of

# Elements of a transform that is one product, where they have factors.
PRODUCT_LIMIT = 64
# Elements of one that is a product since they have none.
PRIME_LIMIT = 512


def transform(build, op, value):
    """The result of a stablehlo.fft of one or more of the last dims; ValueError says that there is a factor too large."""
    kind = str(stablehlo.FftTypeAttr(op.attributes["fft_type"])).strip(">").split()[-1]
    lengths = list(op.attributes["fft_length"])
    rank = len(op.results[0].type.shape)
    dims = list(range(rank - len(lengths), rank))
    if kind == "RFFT":
        made = _along(build, Pair(value, None), dims.pop(), -1)
        value = _each(made, lambda part: _cut(build, part, rank - 1, 0, lengths[-1] // 2 + 1))
    inverse = kind in ("IFFT", "IRFFT")
    for dim in dims[:-1] if kind == "IRFFT" else dims:
        value = _along(build, value, dim, 1 if inverse else -1)
    if kind == "IRFFT":
        return _along(build, _mirrored(build, value, rank - 1, lengths[-1]), rank - 1, 1).real
    return value


def _factor(n):
    """The largest factor that a product may have, or the least one if it is as large as a prime may be."""
    if n <= PRODUCT_LIMIT:
        return n
    large = max(r for r in range(1, PRODUCT_LIMIT + 1) if n % r == 0)
    factor = large if large > 1 else next((r for r in range(2, PRIME_LIMIT + 1) if n % r == 0), None)
    if factor is None:
        raise ValueError(f"is a Fourier transform of {n} elements, a number without factors up to {PRIME_LIMIT}")
    return factor


def _each(pair, convert):
    return Pair(*(part if part is None else convert(part) for part in parts_of(pair)))


def _cut(build, value, dim, start, limit):
    starts, limits = [0] * len(shape_of(value)), shape_of(value)
    starts[dim], limits[dim] = start, limit
    return build.slice(value, starts, limits)


def _mirrored(build, value, dim, length):
    """All elements of what half of them say; imaginary parts of the first, and of the one in the middle, do not count."""
    half = _each(value, lambda part: _cut(build, part, dim, 0, length // 2 + 1))
    counts = np.ones(length // 2 + 1)
    counts[[0, -1] if length % 2 == 0 else [0]] = 0
    table = build.broadcast(build.floats(counts, element_of(half.imag)), shape_of(half.imag), [dim])
    half.imag = build.binary("multiply", half.imag, table)
    if length < 3:
        return half

    def mirror(part):
        part = _cut(build, part, dim, 1, (length + 1) // 2)
        return build.value("stablehlo.reverse", part.type, [part], {"dimensions": ir.DenseI64ArrayAttr.get([dim])})

    return Pair(build.concatenate([half.real, mirror(half.real)], dim),
                build.concatenate([half.imag, build.unary("negate", mirror(half.imag))], dim))


def _along(build, value, dim, sign):
    """The transform along one dim; with the sign of an inverse it is divided by its length."""
    order = [d for d in range(len(shape_of(value.real))) if d != dim] + [dim]
    moved = _each(value, lambda part: build.transpose(part, order))
    made = _LastDim(build, sign).run(moved)
    if sign == 1:
        made = _each(made, lambda part: (Term(build, part) * (1 / shape_of(part)[-1])).value)
    back = sorted(range(len(order)), key=order.__getitem__)
    return _each(made, lambda part: build.transpose(part, back))


@dataclass
class _LastDim:
    """Transforms along the last dim. An imaginary part that is None is zero."""
    build: Any
    sign: int

    def run(self, value):
        shape = shape_of(value.real)
        n = shape[-1]
        first = _factor(n)
        if first == n:
            return self._product(value, len(shape) - 1)
        split = shape[:-1] + [first, n // first]
        rank = len(split)
        value = _each(value, lambda part: self.build.reshape(part, split))
        value = self._turned(self._product(value, rank - 2), first, n // first)
        value = self.run(value)
        swapped = [*range(rank - 2), rank - 1, rank - 2]
        return _each(value, lambda part: self.build.reshape(self.build.transpose(part, swapped), shape))

    def _factors(self, rows, columns, n):
        """exp(i sign 2 pi row column / n) for each of them."""
        angles = 2 * np.pi * (np.outer(np.arange(rows), np.arange(columns)) % n) / n
        return np.cos(angles), self.sign * np.sin(angles)

    def _product(self, value, dim):
        shape = shape_of(value.real)
        element = element_of(value.real)
        tables = Pair(*(self.build.floats(table, element) for table in self._factors(shape[dim], shape[dim], shape[dim])))
        dims = list(range(len(shape)))
        kept = dims[:dim] + [len(shape)] + dims[dim + 1:]

        def times(part, table):
            return Term(self.build, contract(self.build, part, table, dims, [len(shape), dim], kept, len(shape) + 1,
                                             self.build.tensor(shape, element)))

        real, imag = times(value.real, tables.real), times(value.real, tables.imag)
        if value.imag is None:
            return Pair(real, imag).values()
        return Pair(real - times(value.imag, tables.imag), imag + times(value.imag, tables.real)).values()

    def _turned(self, value, rows, columns):
        shape, element = shape_of(value.real), element_of(value.real)
        spread = lambda table: Term(self.build, self.build.broadcast(
            self.build.floats(table, element), shape, [len(shape) - 2, len(shape) - 1]))
        factors = Pair(*map(spread, self._factors(rows, columns, rows * columns)))
        return (Pair(Term(self.build, value.real), Term(self.build, value.imag)) * factors).values()
