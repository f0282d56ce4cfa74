# SPDX-License-Identifier: Apache-2.0

"""StableHLO's own test data as functions with arguments and expected results.

Two kinds of files: testdata/*.mlir, one case each, which JAX wrote, and
tests/interpret/**/*.mlir, several cases each, with checks in a dialect of their own.
"""

import re
from dataclasses import dataclass, field

import jax
import ml_dtypes
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

FLOATS = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
          "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
          "f8E8M0FNU": ml_dtypes.float8_e8m0fnu}
_TYPE = r"(tensor<(?:[^<>]|<[^<>]*>)*>)"
_CHECK = re.compile(r"check\.expect_(eq|almost_eq|close)(_const)? (%[\w#]+), "
                    r"(?:(dense<.*?>|%[\w#]+))(?:, max_ulp_difference = (\d+))?(?:,[^:]*?)?\s*(\{[^}]*\})?"
                    rf"\s*:\s*{_TYPE}(?:, tensor<(?:[^<>]|<[^<>]*>)*>)?", re.S)


class Unreadable(Exception):
    """A case that is not about what a program computes, or is not text of these dialects."""


@dataclass
class Check:
    """A result and what it has to be: equal, or at most some floats away."""
    expected: np.ndarray
    ulps: int | None
    tolerance: float | None


@dataclass
class Case:
    """A module whose function @main has arguments and returns what is checked."""
    name: str
    module: object
    types: list
    arguments: list
    checks: list = field(default_factory=list)


def context():
    """One in which StableHLO is known."""
    made = jax.jit(lambda x: x).lower(1.0).compiler_ir("stablehlo").context
    made.allow_unregistered_dialects = True
    return made


def find(checkout):
    """The names of all cases of a checkout: files, with a number for each part."""
    names = [f"testdata/{path.name}" for path in sorted((checkout / "stablehlo/testdata").glob("*.mlir"))]
    folder = checkout / "stablehlo/tests/interpret"
    for path in sorted(folder.rglob("*.mlir")):
        count = path.read_text().count("// -----") + 1
        names += [f"interpret/{path.relative_to(folder)}:{part}" for part in range(count)]
    return names


def load(checkout, name, is_constant=False):
    """The case of that name; `is_constant`: its inputs stay constants of the module."""
    if name.startswith("testdata/"):
        text = (checkout / "stablehlo" / name).read_text()
    else:
        path, part = name.removeprefix("interpret/").split(":")
        text = (checkout / "stablehlo/tests/interpret" / path).read_text().split("// -----")[int(part)]
    try:
        return _Reader(_without_check_dialect(text), name).read(is_constant)
    except ir.MLIRError as error:
        raise Unreadable(str(error).splitlines()[1][:120]) from None


def _without_check_dialect(text):
    """The checks of the interpreter's tests in the form that JAX's files have."""
    count = 0

    def rewrite(match):
        nonlocal count
        kind, is_const, actual, expected, ulps, attributes, type = match.groups()
        lines, count = "", count + 1
        if is_const:
            lines, expected = f"%expected_{count} = stablehlo.constant {expected} : {type}\n", f"%expected_{count}"
        given = re.search(r"tolerance\s*=\s*([\d.eE+-]+)", attributes or "")
        note = f'{{limit = "{ulps or (given and given.group(1)) or ""}"}}'
        return f"{lines}stablehlo.custom_call @check.expect_{kind}({actual}, {expected}) {note} : ({type}, {type}) -> ()"

    return _CHECK.sub(rewrite, text)


def evaluate(module):
    """The arrays that @main of a module without arguments returns, by StableHLO's interpreter.
    None for types that numpy does not have, or complex ones."""
    main = _functions(module)["main"]
    end = list(main.regions[0].blocks[0].operations)[-1].operation
    types = [v.type for v in end.operands]
    with ir.InsertionPoint(end), ir.Location.unknown():
        values = [_as_bits(v) for v in end.operands if _has_array(v.type)]
        ir.Operation.create("func.return", operands=values)
    end.erase()
    _retype(main, [], [v.type for v in values])
    found = iter(stablehlo.eval_module(module, []) if values else [])
    return [_as_array(ir.DenseIntElementsAttr(next(found)), t) if _has_array(t) else None for t in types]


def _has_array(type):
    return bool(re.fullmatch("u?i(1|8|16|32|64)", str(type.element_type)) or str(type.element_type) in FLOATS)


def _as_bits(value):
    """Floats as integers: arrays of all types can be had of these."""
    element = value.type.element_type
    if isinstance(element, ir.IntegerType):
        return value
    bits = ir.RankedTensorType.get(value.type.shape, ir.IntegerType.get_signless(element.width))
    return ir.Operation.create("stablehlo.bitcast_convert", [bits], [value]).results[0]


def _as_array(attribute, type):
    array = np.array(attribute).reshape(type.shape)
    text = str(type.element_type)
    return array.view(FLOATS[text]) if text in FLOATS else array


def _functions(module):
    return {op.operation.attributes["sym_name"].value: op.operation for op in module.body.operations
            if op.operation.name == "func.func"}


def _retype(function, inputs, results):
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    for kind in ("arg_attrs", "res_attrs"):
        if kind in function.attributes:
            del function.attributes[kind]


class _Reader:
    def __init__(self, text, name):
        self._text, self._name = text, name
        self._module = ir.Module.parse(text)

    def read(self, is_constant):
        main = self._find_main()
        block = main.regions[0].blocks[0]
        case = Case(self._name, self._module, [], [])
        if len(block.arguments):
            raise Unreadable("takes arguments that the file does not give")
        returned = self._take_checks(block, case)
        if not case.checks:
            raise Unreadable("checks nothing")
        end = list(block.operations)[-1].operation
        with ir.InsertionPoint(end), ir.Location.unknown():
            ir.Operation.create("func.return", operands=returned)
        end.erase()
        _erase_unused(block)
        if not is_constant:
            self._make_arguments(block, case)
        returned = list(list(block.operations)[-1].operation.operands)
        case.types = [a.type for a in block.arguments]
        _retype(main, case.types, [v.type for v in returned])
        return case

    def _find_main(self):
        functions = _functions(self._module)
        if "main" not in functions:
            named = [op for op in functions.values() if "check.expect" in str(op)]
            if len(named) != 1:
                raise Unreadable("has no function that checks")
            named[0].attributes["sym_name"] = ir.StringAttr.get("main")
            return named[0]
        return functions["main"]

    def _take_checks(self, block, case):
        """Removes the checks; returns what they look at."""
        returned, computed = [], []
        for op in [view.operation for view in block.operations]:
            if op.name.startswith("interpreter."):
                raise Unreadable("runs several programs of the interpreter")
            if op.name != "stablehlo.custom_call" or not _target(op).startswith("check."):
                continue
            actual, expected = op.operands
            returned.append(actual)
            computed.append(expected)
            limit = ir.StringAttr(op.attributes["limit"]).value if "limit" in op.attributes else ""
            kind = _target(op).removeprefix("check.expect_")
            case.checks.append(Check(None, int(limit or 1) if kind == "close" else None,
                                     float(limit or 1e-4) if kind == "almost_eq" else None))
            op.erase()
        for check, value in zip(case.checks, computed):
            check.expected = self._value_of(value)
        return returned

    def _value_of(self, value):
        """What a value of the function is, of the module as it was."""
        owner, number = value.owner, ir.OpResult(value).result_number
        if owner.name == "func.call":
            fresh = ir.Module.parse(self._text)
            self._keep(fresh, owner.attributes["callee"].value)
            return evaluate(fresh)[number]
        if len(owner.operands):
            raise Unreadable("computes what it expects")
        fresh = ir.Module.parse("func.func @main() { return }")
        block = _functions(fresh)["main"].regions[0].blocks[0]
        end = block.operations[0].operation
        with ir.InsertionPoint(end), ir.Location.unknown():
            copy = owner.clone()
            ir.Operation.create("func.return", operands=[copy.operation.results[number]])
        end.erase()
        return evaluate(fresh)[0]

    def _keep(self, module, name):
        functions = _functions(module)
        if "main" in functions:
            functions["main"].erase()
        functions[name].attributes["sym_name"] = ir.StringAttr.get("main")
        functions[name].attributes["sym_visibility"] = ir.StringAttr.get("public")

    def _make_arguments(self, block, case):
        """What comes from @inputs or is a constant of the function becomes an argument."""
        is_data = case.name.startswith("testdata/")
        for op in [view.operation for view in block.operations]:
            if is_data and not (op.name == "func.call" and op.attributes["callee"].value == "inputs"):
                continue
            if not is_data and op.name != "stablehlo.constant":
                continue
            for result in op.results:
                case.arguments.append(self._value_of(result))
                argument = block.add_argument(result.type, ir.Location.unknown())
                result.replace_all_uses_with(argument)
            op.erase()


def _target(op):
    return ir.StringAttr(op.attributes["call_target_name"]).value


def _erase_unused(block):
    """Calls and constants that nothing uses."""
    for op in reversed([view.operation for view in block.operations]):
        if op.name in ("func.call", "stablehlo.constant") and not any(True for r in op.results for _ in r.uses):
            op.erase()
