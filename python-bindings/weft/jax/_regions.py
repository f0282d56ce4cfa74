# SPDX-License-Identifier: Apache-2.0

"""Regions of operations: what one combines, what it uses, and one that is written for elements
applied to whole tensors."""

from jaxlib.mlir import ir

from weft.jax._builder import element_of, shape_of


def attribute_names(op):
    """Of any version of the bindings: some iterate over names, some over names with attributes."""
    return [a.name if hasattr(a, "name") else a for a in op.attributes]


def apply(build, block, arguments, shape):
    """What the block returns, for arguments of one shape."""
    env = dict(zip(block.arguments, arguments))
    for view in block.operations:
        inner = view.operation
        if inner.name == "stablehlo.return":
            return [env[v] for v in inner.operands]
        if len(inner.results) != 1 or inner.regions or shape_of(inner.results[0]) \
                or any(v not in env for v in inner.operands):
            raise ValueError(f"has a region with '{inner.name}'")
        env[inner.results[0]] = _widened(build, inner, [env[v] for v in inner.operands], shape)
    return []


def rename(copy, values):
    """Lets a copied operation use these values in place of others, also where its regions do."""
    def visit(op):
        for i, operand in enumerate(op.operands):
            if operand in values:
                op.operands[i] = values[operand]
        return ir.WalkResult.ADVANCE
    copy.walk(visit)


def single(block):
    """The name, without its dialect, of the op that a block applies to its arguments and returns; None if it does more."""
    first, *rest = [view.operation for view in block.operations]
    is_single = len(rest) == 1 and list(first.operands) == list(block.arguments) and list(rest[0].operands) == list(first.results)
    return first.name.split(".", 1)[1] if is_single else None


def _widened(build, inner, operands, shape):
    type = build.tensor(shape, element_of(inner.results[0]))
    attributes = {name: inner.attributes[name] for name in attribute_names(inner)}
    if inner.name == "stablehlo.constant":
        scalar = ir.DenseElementsAttr(attributes["value"]).get_splat_value()
        attributes = {"value": ir.DenseElementsAttr.get_splat(type, scalar)}
    return build.value(inner.name, type, operands, attributes)
