# SPDX-License-Identifier: Apache-2.0

"""From StableHLO without control flow to linalg on signless tensors."""

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.passmanager import PassManager

from weft.jax._errors import ExportError, display_path, signature
from weft.jax._locations import frame

_PIPELINE = ("builtin.module(func.func(chlo-legalize-to-stablehlo,canonicalize,cse,"
             "stablehlo-legalize-to-linalg{enable-primitive-ops=true}),canonicalize,cse)")
_FOREIGN = ("stablehlo.", "chlo.", "sdy.", "mhlo.", "shape.")
_registered = []


def _register_passes():
    if not _registered:
        stablehlo.register_stablehlo_passes()
        _registered.append(True)


def erase_dead(block):
    """Erases what nothing uses; all that is left here is free of effects."""
    for op in reversed(list(block.operations)):
        op = op.operation
        if op.name != "func.return" and all(not any(True for _ in r.uses) for r in op.results):
            op.erase()


def run(module, function):
    """Legalizes in place."""
    _register_passes()
    block = function.regions[0].blocks[0]
    erase_dead(block)
    _or_truths(module)
    try:
        PassManager.parse(_PIPELINE).run(module.operation)
    except ir.MLIRError as error:
        raise _refusal(error) from None
    _drop_signs(function, block)
    erase_dead(block)
    _check_left(module)


def _refusal(error):
    """What the conversion says, at the operation of which it speaks."""
    first = next(iter(error.error_diagnostics), None)
    found = frame(first.location) if first else None
    where = f"{display_path(found[0])}:{found[1]}" if found else None
    said = first.message if first else str(error)
    return ExportError(f"conversion to linalg failed: {said}", None, None, where)


def _or_truths(module):
    """A sum of truth values is true if one of them is: additions, also those of regions, become `or`."""
    found = []

    def visit(op):
        if op.name == "stablehlo.add" and str(op.results[0].type.element_type) == "i1":
            found.append(op)
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit)
    for op in found:
        with ir.InsertionPoint(op), op.location:
            made = ir.Operation.create("stablehlo.or", results=[op.results[0].type], operands=list(op.operands))
        op.results[0].replace_all_uses_with(made.results[0])
        op.erase()


def _drop_signs(function, block):
    """Makes unsigned tensors signless: the conversion left casts at weft ops."""
    for value in _values(block):
        signless = _signless(value.type)
        if signless != value.type:
            value.set_type(signless)
    for op in list(block.operations):
        op = op.operation
        if op.name == "builtin.unrealized_conversion_cast":
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
    results = [v.type for v in block.operations[len(block.operations) - 1].operands]
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([a.type for a in block.arguments], results))


def _values(block):
    yield from block.arguments
    for op in block.operations:
        yield from op.operation.results


def _signless(type):
    if not isinstance(type, ir.RankedTensorType):
        return type
    element = type.element_type
    if not isinstance(element, ir.IntegerType) or element.is_signless:
        return type
    return ir.RankedTensorType.get(type.shape, ir.IntegerType.get_signless(element.width))


def _check_left(module):
    """Every operation of StableHLO must be gone. The outermost that is left is named."""
    left = []

    def visit(op):
        if not op.name.startswith(_FOREIGN):
            return ir.WalkResult.ADVANCE
        left.append(op)
        return ir.WalkResult.INTERRUPT
    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for op in left:
        found = frame(op.location)
        where = f"{display_path(found[0])}:{found[1]}" if found else None
        raise ExportError("has no conversion to linalg", op.name, signature(op), where)
