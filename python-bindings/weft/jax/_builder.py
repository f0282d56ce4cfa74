# SPDX-License-Identifier: Apache-2.0

"""Builds operations at the end of a block, each at the location in force.

Also remembers what is known about values: integers that are constant (`known`)
and tensors that were joined from parts (`parts`). Unrolled loops index with
constants and stack what they compute, so this knowledge turns dynamic slices
into static ones and lets slices of stacked tensors find their part.
"""

import numpy as np
from jaxlib.mlir import ir

# Constants are followed through integer arithmetic up to this many elements:
# enough for the index vectors of a batch, too few for attention masks.
KNOWN_LIMIT = 1 << 16
# Known values up to this size are written as constants.
WRITE_LIMIT = 64


class Parts:
    """A tensor that is the concatenation of `pieces` (offset -> value) along `dim`."""

    def __init__(self, dim, pieces):
        self.dim, self.pieces = dim, pieces


def shape_of(value):
    return list(value.type.shape)


def element_of(value):
    return value.type.element_type


def is_unsigned(element):
    return isinstance(element, ir.IntegerType) and element.is_unsigned


def is_float(element):
    return isinstance(element, ir.FloatType)


def is_integer(element):
    return isinstance(element, ir.IntegerType)


def numpy_type(element):
    """The numpy type of an integer element type."""
    if element.width == 1:
        return np.dtype(bool)
    width = max(8, element.width)
    return np.dtype(f"{'u' if element.is_unsigned else ''}int{width}")


class Builder:
    def __init__(self, block):
        self.ip = ir.InsertionPoint(block)
        self.location = ir.Location.unknown()
        self.known = {}
        self.parts = {}

    # -- general

    def create(self, name, types, operands, attributes=None, regions=0):
        op = ir.Operation.create(
            name, results=types, operands=operands, attributes=attributes or {},
            regions=regions, loc=self.location, ip=self.ip)
        return op

    def value(self, name, type, operands, attributes=None):
        return self.create(name, [type], operands, attributes).results[0]

    def know(self, value, array):
        if array is not None and array.size <= KNOWN_LIMIT:
            self.known[value] = array
        return value

    def tensor(self, shape, element):
        return ir.RankedTensorType.get(shape, element)

    # -- constants

    def constant(self, array, element):
        """An integer or boolean constant."""
        array = np.asarray(array, numpy_type(element))
        type = self.tensor(array.shape, element)
        if element.width == 1:
            values = str(array.tolist()).lower()
            attribute = ir.Attribute.parse(f"dense<{values if array.size else ''}> : {type}")
        else:
            attribute = ir.DenseElementsAttr.get(np.ascontiguousarray(array), type=type)
        made = self.value("stablehlo.constant", type, [], {"value": attribute})
        return self.know(made, array)

    def floats(self, array, element):
        """A constant of floats."""
        type = self.tensor(array.shape, element)
        array = np.ascontiguousarray(array, np.dtype(f"float{element.width}"))
        return self.value("stablehlo.constant", type, [], {"value": ir.DenseElementsAttr.get(array, type=type)})

    def splat(self, number, shape, element):
        """A tensor of one number, which is written without type suffix."""
        type = self.tensor(shape, element)
        if is_float(element):
            attribute = ir.DenseElementsAttr.get_splat(type, ir.FloatAttr.get(element, float(number)))
        elif element.width == 1:
            attribute = ir.Attribute.parse(f"dense<{'true' if number else 'false'}> : {type}")
        else:
            # The bits of what is above the largest signed number.
            bits = int(number) - (1 << 64) * (int(number) >= 1 << 63)
            attribute = ir.DenseElementsAttr.get_splat(type, ir.IntegerAttr.get(element, bits))
        made = self.value("stablehlo.constant", type, [], {"value": attribute})
        if is_integer(element):
            self.know(made, np.full(shape, number, numpy_type(element)))
        return made

    # -- shape

    def reshape(self, value, shape):
        shape = list(shape)
        if shape == shape_of(value):
            return value
        made = self.value("stablehlo.reshape", self.tensor(shape, element_of(value)), [value])
        known = self.known.get(value)
        return self.know(made, None if known is None else known.reshape(shape))

    def signless(self, move, value):
        """Moves an unsigned tensor as a signless one: linalg's named ops have no other."""
        element = element_of(value)
        plain = ir.IntegerType.get_signless(element.width)
        cast = lambda v, e: self.value("stablehlo.bitcast_convert", self.tensor(shape_of(v), e), [v])
        return cast(move(cast(value, plain)), element)

    def transpose(self, value, permutation):
        permutation = list(permutation)
        if permutation == sorted(permutation):
            return value
        if is_unsigned(element_of(value)):
            return self.signless(lambda v: self.transpose(v, permutation), value)
        shape = [shape_of(value)[p] for p in permutation]
        return self.value("stablehlo.transpose", self.tensor(shape, element_of(value)), [value],
                          {"permutation": ir.DenseI64ArrayAttr.get(permutation)})

    def broadcast(self, value, shape, dims):
        """`dims[i]` is the dimension of the result that dimension i becomes."""
        if list(shape) == shape_of(value) and list(dims) == list(range(len(shape))):
            return value
        if is_unsigned(element_of(value)):
            return self.signless(lambda v: self.broadcast(v, shape, dims), value)
        return self.value("stablehlo.broadcast_in_dim", self.tensor(shape, element_of(value)),
                          [value], {"broadcast_dimensions": ir.DenseI64ArrayAttr.get(list(dims))})

    def slice(self, value, starts, limits, strides=None):
        strides = list(strides or [1] * len(starts))
        part = self._part_at(value, starts, limits, strides)
        if part is not None:
            return part
        shape = [-(-(l - s) // t) for s, l, t in zip(starts, limits, strides)]
        if shape == shape_of(value):
            return value
        array = ir.DenseI64ArrayAttr.get
        made = self.value(
            "stablehlo.slice", self.tensor(shape, element_of(value)), [value],
            {"start_indices": array(list(starts)), "limit_indices": array(list(limits)),
             "strides": array(strides)})
        known = self.known.get(value)
        if known is not None:
            index = tuple(slice(s, l, t) for s, l, t in zip(starts, limits, strides))
            self.know(made, known[index])
        return made

    def _part_at(self, value, starts, limits, strides):
        """The part of a joined tensor that a slice is exactly, if it is one."""
        joined = self.parts.get(value)
        if joined is None or any(s != 1 for s in strides):
            return None
        shape = shape_of(value)
        for d, size in enumerate(shape):
            if d != joined.dim and (starts[d], limits[d]) != (0, size):
                return None
        piece = joined.pieces.get(starts[joined.dim])
        size = limits[joined.dim] - starts[joined.dim]
        return piece if piece is not None and shape_of(piece)[joined.dim] == size else None

    def concatenate(self, values, dim):
        if len(values) == 1:
            return values[0]
        shape = shape_of(values[0])
        shape[dim] = sum(shape_of(v)[dim] for v in values)
        index = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim)
        made = self.value("stablehlo.concatenate", self.tensor(shape, element_of(values[0])),
                          values, {"dimension": index})
        self.remember_parts(made, values, dim)
        return made

    def remember_parts(self, joined, values, dim):
        pieces, offset = {}, 0
        for v in values:
            pieces[offset] = v
            offset += shape_of(v)[dim]
        self.parts[joined] = Parts(dim, pieces)

    # -- elementwise

    def binary(self, name, a, b):
        return self.value(f"stablehlo.{name}", a.type, [a, b])

    def unary(self, name, a):
        return self.value(f"stablehlo.{name}", a.type, [a])

    def reduce(self, name, value, dim, start):
        """Combines along one dimension; `start` is a number, or a tensor of one."""
        element, shape = element_of(value), shape_of(value)
        if not isinstance(start, ir.Value):
            start = self.splat(start, [], element)
        made = self.create("stablehlo.reduce", [self.tensor(shape[:dim] + shape[dim + 1:], element)], [value, start],
                           {"dimensions": ir.DenseI64ArrayAttr.get([dim])}, regions=1)
        block = made.regions[0].blocks.append(start.type, start.type)
        with ir.InsertionPoint(block), self.location:
            combined = ir.Operation.create(f"stablehlo.{name}", results=[start.type], operands=list(block.arguments))
            ir.Operation.create("stablehlo.return", operands=[combined.results[0]])
        return made.results[0]

    def pick(self, chosen, value, dims):
        """Along `dims` the one element that is chosen, as a sum with zeros; zero if none is."""
        shape, element = shape_of(value), element_of(value)
        if is_float(element) and element.width == 8:  # not each of them has a zero
            bits = self.pick(chosen, self.bitcast(value, ir.IntegerType.get_signless(8)), dims)
            return self.bitcast(bits, element)
        zero = -0.0 if is_float(element) else 0
        made = self.select(chosen, value, self.splat(zero, shape, element))
        for dim in sorted(dims, reverse=True):
            made = self.reduce("or" if element == ir.IntegerType.get_signless(1) else "add", made, dim, zero)
        return made

    def convert(self, value, element):
        if element_of(value) == element:
            return value
        made = self.value("stablehlo.convert", self.tensor(shape_of(value), element), [value])
        known = self.known.get(value)
        if known is not None and is_integer(element):
            self.know(made, known.astype(numpy_type(element)))
        return made

    def bitcast(self, value, element):
        return self.value("stablehlo.bitcast_convert", self.tensor(shape_of(value), element), [value])

    def compare(self, direction, a, b):
        element = element_of(a)
        kind = "FLOAT" if is_float(element) else "UNSIGNED" if is_unsigned(element) or element.width == 1 else "SIGNED"
        i1 = ir.IntegerType.get_signless(1)
        return self.value(
            "stablehlo.compare", self.tensor(shape_of(a), i1), [a, b],
            {"comparison_direction": ir.Attribute.parse(f"#stablehlo<comparison_direction {direction}>"),
             "compare_type": ir.Attribute.parse(f"#stablehlo<comparison_type {kind}>")})

    def select(self, condition, a, b):
        return self.value("stablehlo.select", a.type, [condition, a, b])

    def iota(self, size, element):
        zero = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
        made = self.value("stablehlo.iota", self.tensor([size], element), [],
                          {"iota_dimension": zero})
        return self.know(made, np.arange(size, dtype=numpy_type(element)))
