# SPDX-License-Identifier: Apache-2.0

"""Complex numbers as pairs of real ones.

weft has no complex types. Where a step computes with complex numbers inside, as rotary
embeddings and linear recurrences do, each value is imported as two: what only moves
elements is imported once for each of them, and arithmetic by the formulas below.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from weft.jax import _barrier, _fourier, _regions
from weft.jax._builder import shape_of
from weft.jax._terms import FORMULAS, Pair, Term, magnitude, parts_of

# What passes on its operands, or calls what does.
_PASSING = {"func.call", "sdy.named_computation", "stablehlo.case", "stablehlo.composite", "stablehlo.custom_call", "stablehlo.if",
            "stablehlo.while"}


def is_complex(type):
    return isinstance(getattr(type, "element_type", None), ir.ComplexType)


def computes(op):
    """Whether the op itself has to be imported in pairs."""
    return op.name not in _PASSING and any(is_complex(v.type) for v in [*op.results, *op.operands])


def flatten(values):
    return [part for value in values for part in (parts_of(value) if isinstance(value, Pair) else [value])]


def unflatten(parts, like):
    """Values in pairs as `like` has them."""
    parts = iter(parts)
    return [Pair(next(parts), next(parts)) if isinstance(value, Pair) else next(parts) for value in like]


def each(convert, value):
    """What `convert` makes of a value, or of each part of a pair."""
    return Pair(*map(convert, parts_of(value))) if isinstance(value, Pair) else convert(value)


def choose(select, yes, no):
    """`select` of two values, or of the parts of two pairs."""
    return Pair(*map(select, parts_of(yes), parts_of(no))) if isinstance(yes, Pair) else select(yes, no)


def _numbers(text, dtype):
    """The numbers of a constant in turn, or those of the one element that all are: its data cannot be had otherwise."""
    value = text[text.index("dense<") + len("dense<"):]
    if value.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(value[3:value.index('"', 3)]), dtype)
    number = lambda word: np.frombuffer(int(word, 16).to_bytes(dtype.itemsize, "little"), dtype)[0] if word.startswith("0x") else dtype.type(word)
    return np.array([number(word) for word in re.findall(r"[-+\w.]+", value[:value.index(">")])], dtype)


@dataclass
class Import:
    """Imports one op. `again` imports an op of real numbers: its operands are those of the new function."""
    build: Any
    again: Callable[[Any, list], list]
    _APART = ("abs", "compare", "complex", "constant", "convert", "dot_general", "fft", "imag", "iota", "is_finite", "real")

    def run(self, op, operands):
        """The op's results, each a value or a Pair; None if there is no rule for it."""
        name = op.name.split(".", 1)[1]
        if name == "optimization_barrier":
            return unflatten(_barrier.place(self.build, flatten(operands)), operands)
        if name in self._APART:
            return [getattr(self, "_" + name)(op, operands)]
        if name in FORMULAS:
            return [FORMULAS[name](*map(self._term, operands)).values()]
        return self._parts(op, operands) if name in _MOVING else None

    def _term(self, pair):
        return Pair(*(Term(self.build, part) for part in parts_of(pair)))

    # -- what moves elements, adds them up, or chooses

    def _parts(self, op, operands):
        real = self._again(op, [v.real if isinstance(v, Pair) else v for v in operands])
        imag = self._again(op, [v.imag if isinstance(v, Pair) else v for v in operands])
        return None if real is None or imag is None else \
            [Pair(a, b) if is_complex(r.type) else a for r, a, b in zip(op.results, real, imag)]

    def _again(self, op, operands):
        """The results of the op on real numbers; None if its region does more than add or replace."""
        types = [self.build.tensor(r.type.shape, r.type.element_type.element_type) if is_complex(r.type) else r.type
                 for r in op.results]
        attributes = {name: op.attributes[name] for name in _regions.attribute_names(op)}
        made = self.build.create(op.name, types, operands, attributes, len(op.regions))
        try:
            return self.again(made, operands) if self._write_regions(op, made) else None
        finally:
            made.erase()

    def _write_regions(self, op, made):
        for source, target in zip(op.regions, made.regions):
            block = source.blocks[0]
            terminator = list(block.operations)[-1].operation
            replaces = list(terminator.operands) == [block.arguments[-1]]
            if not replaces and _regions.single(block) != "add":
                return False
            types = [self.build.tensor([], a.type.element_type.element_type) for a in block.arguments]
            copy = target.blocks.append(*types)
            with ir.InsertionPoint(copy), self.build.location:
                value = copy.arguments[-1] if replaces else ir.Operation.create(
                    "stablehlo.add", results=types[:1], operands=list(copy.arguments)).results[0]
                ir.Operation.create("stablehlo.return", operands=[value])
        return True

    # -- what makes pairs, and takes them apart

    def _complex(self, op, operands):
        return Pair(*operands)

    def _real(self, op, operands):
        return operands[0].real

    def _imag(self, op, operands):
        return operands[0].imag

    def _iota(self, op, operands):
        real, = self._again(op, [])
        return Pair(real, self.build.splat(0, shape_of(real), real.type.element_type))

    def _abs(self, op, operands):
        return magnitude(self._term(operands[0])).value

    def _is_finite(self, op, operands):
        return self.build.binary("and", *(self.build.value("stablehlo.is_finite", op.results[0].type, [part])
                                          for part in parts_of(operands[0])))

    def _convert(self, op, operands):
        operand, = operands
        wanted = op.results[0].type.element_type
        if not isinstance(wanted, ir.ComplexType):
            return self.build.convert(operand.real, wanted)
        if not isinstance(operand, Pair):
            operand = Pair(operand, self.build.splat(0, shape_of(operand), wanted.element_type))
        return Pair(*(self.build.convert(part, wanted.element_type) for part in parts_of(operand)))

    def _constant(self, op, operands):
        type = op.results[0].type
        element = type.element_type.element_type
        numbers = _numbers(op.get_asm(), np.dtype(f"float{element.width}"))
        make = lambda part: self.build.splat(float(part[0]), type.shape, element) if len(part) == 1 else \
            self.build.floats(part.reshape(type.shape), element)
        return Pair(make(numbers[0::2]), make(numbers[1::2]))

    def _compare(self, op, operands):
        direction = str(op.attributes["comparison_direction"]).strip(">").split()[-1]
        equal = [self.build.compare(direction, *both) for both in zip(*map(parts_of, operands))]
        return self.build.binary("and" if direction == "EQ" else "or", *equal)

    def _dot_general(self, op, operands):
        a, b = operands
        times = lambda x, y: Term(self.build, *self._again(op, [x, y]))
        return Pair(times(a.real, b.real) - times(a.imag, b.imag), times(a.real, b.imag) + times(a.imag, b.real)).values()

    def _fft(self, op, operands):
        return _fourier.transform(self.build, op, operands[0])


# Imported once for each part.
_MOVING = {"broadcast_in_dim", "concatenate", "dynamic_slice", "dynamic_update_slice", "gather",
           "pad", "propagation_barrier", "reduce", "reduce_window", "reshape", "reverse", "scatter", "select", "sharding_constraint", "slice", "transpose"}  # fmt: skip
