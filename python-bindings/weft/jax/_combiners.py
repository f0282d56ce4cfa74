# SPDX-License-Identifier: Apache-2.0

"""What regions that combine elements call becomes part of them: a function that a user
calls there, and those that JAX makes of `%` or `jnp.clip`."""

from jaxlib.mlir import ir

from weft.jax import _regions

_WITH_COMBINERS = {"stablehlo.all_reduce", "stablehlo.map", "stablehlo.reduce", "stablehlo.reduce_scatter", "stablehlo.reduce_window",
                   "stablehlo.scatter", "stablehlo.select_and_scatter", "stablehlo.sort"}  # fmt: skip


def inline_calls(functions, check_size):
    """In place. `check_size(op, name)` refuses a call of what is too large."""
    def visit(op):
        if op.name in _WITH_COMBINERS:
            for region in op.regions:
                _inline_in(region, functions, check_size)
        return ir.WalkResult.ADVANCE
    for function in functions.values():
        function.walk(visit, ir.WalkOrder.POST_ORDER)


def _inline_in(region, functions, check_size):
    pending = [op.operation for block in region.blocks for op in block.operations]
    while pending:
        op = pending.pop()
        for inner in op.regions:
            _inline_in(inner, functions, check_size)
        if op.name == "func.call":
            name = op.attributes["callee"].value
            check_size(op, name)
            pending += _inline(op, functions[name].regions[0].blocks[0])


def _inline(call, callee):
    """Puts copies of what is called before the call, which they replace."""
    *body, returned = (op.operation for op in callee.operations)
    values = dict(zip(callee.arguments, call.operands))
    copies = []
    for op in body:
        copy = op.clone(ir.InsertionPoint(call)).operation
        _regions.rename(copy, values)
        values.update(zip(op.results, copy.results))
        copies.append(copy)
    for result, value in zip(call.results, returned.operands):
        result.replace_all_uses_with(values[value])
    call.erase()
    return copies
