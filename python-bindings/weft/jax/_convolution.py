# SPDX-License-Identifier: Apache-2.0

"""Turns a convolution into contractions of parts of its input.

Along a spatial dim the output's element o reads the input's elements o * stride + w * dilation
for the places w of the window. Where each element is read once, as by patches, that is a dim
that is split in two. Else there is a slice for each place of the window, and these are put side
by side; or, if the output is shorter than the window, as where the gradient of a kernel is
taken, a contraction for each element of the output.
"""

import itertools
import math
from dataclasses import dataclass

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from weft.jax import _windows
from weft.jax._builder import element_of, is_float, shape_of
from weft.jax._contract import contract, merged, multiply_batches

# Slices that are made of one convolution.
SLICE_LIMIT = 1024
# Loops that a product may have.
LOOP_LIMIT = 8


@dataclass
class Spatial:
    """One spatial dim: where it is, and how long window and output are."""
    source: int
    kernel: int
    result: int
    window: int
    output: int
    stride: int
    dilation: int

    @property
    def split(self):
        """The order of the two in a dim that is split, or None."""
        if self.dilation == 1 and self.stride == self.window:
            return "output", "window"
        if self.stride == 1 and self.dilation == self.output:
            return "window", "output"
        return None

    @property
    def unrolled(self):
        """Of which there is one slice for each place, or None."""
        if self.split or 1 in (self.window, self.output):
            return None
        return "window" if self.window <= self.output else "output"

    def bounds(self, window, output):
        """Start, limit and stride of what is read; a place, or None for all places."""
        start = (window or 0) * self.dilation + (output or 0) * self.stride
        if window is None and output is None and self.split:
            return start, self.window * self.output, 1
        count, step = (self.output, self.stride) if output is None and self.output > 1 else (1, 1)
        if window is None and self.window > 1:
            count, step = self.window, self.dilation
        return start, start + (count - 1) * step + 1, step


def convolution(build, op, source, kernel):
    """The convolution as products; ValueError says that there would be too many."""
    result = op.results[0].type
    if 0 in shape_of(source) + shape_of(kernel):
        return build.splat(0, result.shape, result.element_type)
    numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    dims = _spatial_dims(op, numbers, shape_of(kernel), result.shape)
    slices = math.prod(getattr(d, d.unrolled) for d in dims if d.unrolled)
    if slices > SLICE_LIMIT:
        raise ValueError(f"is a convolution of {slices} slices of its input, more than {SLICE_LIMIT}")
    source = _padded(build, op, source, dims)
    backward = [d.kernel for d, turned in zip(dims, _flags(op, "window_reversal", len(dims))) if turned]
    if backward:
        kernel = build.value("stablehlo.reverse", kernel.type, [kernel],
                             {"dimensions": ir.DenseI64ArrayAttr.get(backward)})
    return _Contractions(build, op, numbers, dims, kernel, result).run(source)


def _flags(op, name, rank):
    return list(op.attributes[name]) if name in op.attributes else [False] * rank


def _spatial_dims(op, numbers, kernel_shape, result_shape):
    places = list(zip(numbers.input_spatial_dimensions, numbers.kernel_spatial_dimensions,
                      numbers.output_spatial_dimensions))
    strides, dilations = (_windows.ones_or(op, name, len(places)) for name in ("window_strides", "rhs_dilation"))
    return [Spatial(s, k, r, kernel_shape[k], result_shape[r], stride, dilation)
            for (s, k, r), stride, dilation in zip(places, strides, dilations)]


def _padded(build, op, source, dims):
    """The input with zeros around and between its elements; negative padding cuts off."""
    rank = len(shape_of(source))
    low, high, between = ([0] * rank for _ in range(3))
    pads = zip(*_windows.padding(op, len(dims)))
    for d, (before, after), factor in zip(dims, pads, _windows.ones_or(op, "lhs_dilation", len(dims))):
        low[d.source], high[d.source], between[d.source] = before, after, factor - 1
    zero = build.splat(0, [], element_of(source))
    more = lambda sizes: [max(size, 0) for size in sizes]
    made = _windows.pad(build, source, zero, more(low), more(high), between)
    starts = [max(-size, 0) for size in low]
    limits = [n - max(-size, 0) for n, size in zip(shape_of(made), high)]
    return build.slice(made, starts, limits)


class _Contractions:
    """Loops are named: of groups, batches, channels in and out, and for each spatial dim."""

    def __init__(self, build, op, numbers, dims, kernel, result):
        self.build, self.numbers, self.dims, self.result = build, numbers, dims, result
        self.features = op.attributes["feature_group_count"].value
        self.batches = op.attributes["batch_group_count"].value
        self.kernel, self.kernel_loops = self._name_kernel(kernel)

    def run(self, source):
        """Along the dims of which the output is unrolled, one contraction each, put together."""
        unrolled = [d for d in self.dims if d.unrolled == "output"]
        return self._join(source, unrolled, {})

    def _join(self, source, left, places):
        if not left:
            return self._contraction(source, places)
        d = left[0]
        parts = [self._join(source, left[1:], {**places, d.source: place}) for place in range(d.output)]
        return self.build.concatenate(parts, d.result)

    # -- operands, with a name for each dim

    def _split(self, value, dim, sizes):
        shape = shape_of(value)
        return self.build.reshape(value, [*shape[:dim], *sizes, *shape[dim + 1:]])

    def _name_kernel(self, kernel):
        numbers, groups = self.numbers, self.features * self.batches
        loops: list = [None] * len(shape_of(kernel))
        loops[numbers.kernel_input_feature_dimension] = ["in"]
        loops[numbers.kernel_output_feature_dimension] = ["group", "out"]
        for d in self.dims:
            loops[d.kernel] = [("window", d.source)]
        dim = numbers.kernel_output_feature_dimension
        kernel = self._split(kernel, dim, [groups, shape_of(kernel)[dim] // groups])
        return kernel, list(itertools.chain(*loops))

    def _name_source(self, source, places):
        """The slices for each place of the window, side by side."""
        unrolled = [d for d in self.dims if d.unrolled == "window"]
        parts = [self._part(source, places, dict(zip([d.source for d in unrolled], window)))
                 for window in itertools.product(*(range(d.window) for d in unrolled))]
        loops = parts[0][1]
        if not unrolled:
            return parts[0]
        stacked = self.build.concatenate([self._split(value, 0, [1, shape_of(value)[0]]) for value, _ in parts], 0)
        stacked = self._split(stacked, 0, [d.window for d in unrolled])
        return stacked, [*(("window", d.source) for d in unrolled), *loops]

    def _part(self, source, outputs, windows):
        build, numbers, rank = self.build, self.numbers, len(shape_of(source))
        bounds = [(0, n, 1) for n in shape_of(source)]
        for d in self.dims:
            bounds[d.source] = d.bounds(windows.get(d.source), outputs.get(d.source))
        part = build.slice(source, *zip(*bounds))
        loops: list = [None] * rank
        sizes: list = [None] * rank
        shape = shape_of(part)
        batch, feature = numbers.input_batch_dimension, numbers.input_feature_dimension
        loops[batch], sizes[batch] = ["batch"], [shape[batch]]
        loops[feature], sizes[feature] = ["in"], [shape[feature]]
        if self.batches > 1:
            loops[batch], sizes[batch] = ["group", "batch"], [self.batches, shape[batch] // self.batches]
        elif self.features > 1:
            loops[feature], sizes[feature] = ["group", "in"], [self.features, shape[feature] // self.features]
        for d in self.dims:
            names = self._loops_of(d)
            loops[d.source] = [(name, d.source) for name in names]
            sizes[d.source] = [getattr(d, name) for name in names]
        return build.reshape(part, list(itertools.chain(*sizes))), list(itertools.chain(*loops))

    @staticmethod
    def _loops_of(d):
        """What a dim of a slice consists of."""
        if d.unrolled:
            return ["output" if d.unrolled == "window" else "window"]
        return [name for name in d.split or ("output", "window") if getattr(d, name) > 1]

    # -- the product

    def _contraction(self, source, places):
        source, source_loops = self._name_source(source, places)
        numbers, result = self.numbers, self.result
        named: list = [None] * len(result.shape)
        named[numbers.output_batch_dimension] = ["batch"]
        named[numbers.output_feature_dimension] = ["group", "out"]
        for d in self.dims:
            named[d.result] = [("output", d.source)] if ("output", d.source) in source_loops else []
        result_loops = list(itertools.chain(*named))
        sizes = {**dict(zip(source_loops, shape_of(source))), **dict(zip(self.kernel_loops, shape_of(self.kernel)))}
        source, source_loops = self._drop(source, source_loops, sizes)
        kernel, kernel_loops = self._drop(self.kernel, self.kernel_loops, sizes)
        kept = [name for name in result_loops if sizes[name] > 1]
        summed = [name for name in kernel_loops if name in source_loops and name not in kept]
        made = self._of_floats if is_float(result.element_type) else self._of_integers
        made = made(source, source_loops, kernel, kernel_loops, summed, kept, sizes)
        whole = [1 if d in [s.result for s in self.dims if s.source in places] else size
                 for d, size in enumerate(result.shape)]
        return self.build.reshape(made, whole)

    def _of_floats(self, source, source_loops, kernel, kernel_loops, summed, kept, sizes):
        if len({*source_loops, *kernel_loops}) > LOOP_LIMIT:
            source, source_loops = self._merge(source, source_loops, summed)
            kernel, kernel_loops = self._merge(kernel, kernel_loops, summed)
        order = list(dict.fromkeys([*kept, *source_loops, *kernel_loops]))
        numbered = lambda loops: [order.index(name) for name in loops]
        type = self.build.tensor([sizes[name] for name in kept], self.result.element_type)
        return contract(self.build, source, kernel, numbered(source_loops), numbered(kernel_loops), numbered(kept),
                        len(order), type)

    def _of_integers(self, source, source_loops, kernel, kernel_loops, summed, kept, sizes):
        build, element = self.build, self.result.element_type
        batch = [name for name in kept if name in source_loops and name in kernel_loops]
        left, right = (merged(build, build.convert(value, element), *([loops.index(name) for name in names]
                                                                   for names in (batch, summed)))
                       for value, loops in ((source, source_loops), (kernel, kernel_loops)))
        made = multiply_batches(build, left, right, element)
        loops = batch + [name for name in [*source_loops, *kernel_loops] if name not in [*batch, *summed]]
        made = build.reshape(made, [sizes[name] for name in loops])
        return build.transpose(made, [loops.index(name) for name in kept])

    def _drop(self, value, loops, sizes):
        """Without dims of one element, but for channels, so that there is something to sum over."""
        kept = [name for name in loops if sizes[name] > 1 or name == "in"]
        return self.build.reshape(value, [sizes[name] for name in kept]), kept

    def _merge(self, value, loops, summed):
        """With one dim, the last, for all that is summed over."""
        kept = [name for name in loops if name not in summed]
        moved = self.build.transpose(value, [loops.index(name) for name in [*kept, *summed]])
        shape = shape_of(moved)
        return self.build.reshape(moved, [*shape[:len(kept)], math.prod(shape[len(kept):])]), [*kept, "sum"]
