# SPDX-License-Identifier: Apache-2.0

"""Turns dot_general into weft.matmul, whose sums are f32 whatever the inputs."""

import math

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from weft.jax._builder import element_of, is_float, shape_of


def projection(num_dims, results):
    """The affine map (d0, ..., dn) -> (d_r0, d_r1, ...)."""
    return ir.AffineMap.get(num_dims, 0, [ir.AffineExpr.get_dim(r) for r in results])


def map_attribute(num_dims, results):
    return ir.AffineMapAttr.get(projection(num_dims, results))


def dot_general(build, op, lhs, rhs):
    """Returns the contraction: weft.matmul of floats, else a form that linalg has."""
    result = op.results[0].type
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    if 0 in shape_of(lhs) + shape_of(rhs):
        return build.splat(0, result.shape, result.element_type)
    element = _sum_type(element_of(lhs), element_of(rhs), result.element_type)
    lhs, rhs = (v if is_float(element_of(v)) else build.convert(v, element) for v in (lhs, rhs))
    if not is_float(element):
        return _of_integers(build, op, lhs, rhs, numbers, result)
    lhs_dims, rhs_dims, count = _iteration_dims(
        shape_of(lhs), shape_of(rhs),
        list(zip(numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions)),
        list(zip(numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions)))
    kind = result if is_float(result.element_type) else build.tensor(result.shape, element)
    made = contract(build, lhs, rhs, lhs_dims, rhs_dims, list(range(len(result.shape))), count, kind)
    return build.convert(made, result.element_type)


def _sum_type(lhs, rhs, result):
    """What integers are converted to: linalg's own conversion takes all of them for signed ones."""
    if not any(map(is_float, (lhs, rhs, result))):
        return result
    return ir.F64Type.get() if ir.F64Type.get() in (lhs, rhs, result) else ir.F32Type.get()


def _of_integers(build, op, lhs, rhs, numbers, result):
    if list(numbers.lhs_batching_dimensions):
        return _batched(build, lhs, rhs, numbers, result)
    copy = op.clone(build.ip).operation
    copy.operands[0], copy.operands[1] = lhs, rhs
    copy.location = build.location
    return copy.results[0]


def _batched(build, lhs, rhs, numbers, result):
    """A product of batches of matrices, the one form with batches that linalg has."""
    left = merged(build, lhs, numbers.lhs_batching_dimensions, numbers.lhs_contracting_dimensions)
    right = merged(build, rhs, numbers.rhs_batching_dimensions, numbers.rhs_contracting_dimensions)
    return build.reshape(multiply_batches(build, left, right, result.element_type), result.shape)


def multiply_batches(build, left, right, element):
    """Of (batch, rows, summed) and (batch, columns, summed)."""
    right = build.transpose(right, [0, 2, 1])
    shape = [shape_of(left)[0], shape_of(left)[1], shape_of(right)[2]]
    form = stablehlo.DotDimensionNumbers.get([0], [0], [2], [1])
    return build.value("stablehlo.dot_general", build.tensor(shape, element), [left, right],
                       {"dot_dimension_numbers": form})


def merged(build, value, batching, contracting):
    """The operand as batch, rows and contracted columns, each one dimension."""
    batching, contracting = list(batching), list(contracting)
    rest = [d for d in range(len(shape_of(value))) if d not in batching + contracting]
    sizes = [math.prod(shape_of(value)[d] for d in dims) for dims in (batching, rest, contracting)]
    return build.reshape(build.transpose(value, batching + rest + contracting), sizes)


def _iteration_dims(lhs_shape, rhs_shape, batch, contracting):
    """Numbers the iteration space as dot_general orders its result, contracted dims last."""
    lhs_dims: list = [None] * len(lhs_shape)
    rhs_dims: list = [None] * len(rhs_shape)
    count = 0
    for l, r in batch:
        lhs_dims[l] = rhs_dims[r] = count
        count += 1
    contracted = {l for l, _ in contracting}, {r for _, r in contracting}
    for dims, skip in zip((lhs_dims, rhs_dims), contracted):
        for i, dim in enumerate(dims):
            if dim is None and i not in skip:
                dims[i] = count
                count += 1
    for l, r in contracting:
        lhs_dims[l] = rhs_dims[r] = count
        count += 1
    return lhs_dims, rhs_dims, count


def contract(build, lhs, rhs, lhs_dims, rhs_dims, result_dims, count, result):
    """weft.matmul; f64 inputs and results are made to agree, as the op demands."""
    f64 = ir.F64Type.get()
    if result.element_type == f64:
        lhs, rhs = build.convert(lhs, f64), build.convert(rhs, f64)
    both_f64 = element_of(lhs) == f64 and element_of(rhs) == f64
    element = f64 if both_f64 else result.element_type
    maps = [map_attribute(count, dims) for dims in (lhs_dims, rhs_dims, result_dims)]
    made = build.value("weft.matmul", build.tensor(result.shape, element), [lhs, rhs],
                       {"indexing_maps": ir.ArrayAttr.get(maps)})
    return build.convert(made, result.element_type)
