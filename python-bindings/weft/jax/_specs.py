# SPDX-License-Identifier: Apache-2.0

"""The exported function's signature: names, types, shardings, donation."""

import re
import warnings

import numpy as np
from jax.interpreters import mlir
from jaxlib.mlir import ir

import ml_dtypes
from weft.jax import _names, _sharding
from weft.jax._errors import ExportError
from weft.module import TensorSpec

_FLOATS = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
           "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
           "f8E8M0FNU": ml_dtypes.float8_e8m0fnu}


def _dtype(element, place):
    text = str(element)
    if text in _FLOATS:
        return np.dtype(_FLOATS[text])
    integer = re.fullmatch(r"u?i(1|8|16|32|64)", text)
    if not integer:
        raise ExportError(f"{place} has elements of {text}, which weft does not have")
    width = int(integer.group(1))
    return np.dtype(bool if width == 1 else f"{'u' if text.startswith('u') else ''}int{width}")


def _entries(main, kind, count):
    """The attribute dictionaries of the arguments or results."""
    if kind not in main.attributes:
        return [None] * count
    return [ir.DictAttr(entry) for entry in ir.ArrayAttr(main.attributes[kind])]


def _sharding_of(entry, meshes):
    if entry is None or "sdy.sharding" not in entry or not meshes.sizes:
        return None
    return tuple(_sharding.sharding_text(entry["sdy.sharding"]))


def _check_hosts(lowered, entries, names, alias):
    """A result stays in the host's memory in the place of an argument that lies there."""
    for r, (entry, name) in enumerate(zip(entries, names)):
        kind = None if entry is None or "mhlo.memory_kind" not in entry else ir.StringAttr(entry["mhlo.memory_kind"])
        is_host = lowered.results_on_host[r] or (kind and kind.value == _sharding.HOST_KIND)
        if is_host and not (r in alias and lowered.arguments_on_host[alias[r]]):
            raise ExportError(f"result '{name}' is to lie in the host's memory, where a result lies only in the place of "
                              "a donated argument that lies there")


def argument_specs(lowered, main, meshes):
    """One spec per leaf of the call's arguments, also those JAX dropped."""
    names = _names.unique([".".join(path) for path in lowered.argument_paths])
    types = ir.FunctionType(main.attributes["function_type"].value).inputs
    entries = _entries(main, "arg_attrs", len(types))
    place = {leaf: k for k, leaf in enumerate(lowered.kept)}
    specs = []
    for i, (name, (shape, dtype)) in enumerate(zip(names, lowered.argument_types)):
        sharding = lowered.argument_shardings[i]
        if i in place:
            type = types[place[i]]
            sharding = sharding or _sharding_of(entries[place[i]], meshes)
            shape, dtype = tuple(type.shape), _dtype(type.element_type, f"argument '{name}'")
        specs.append(TensorSpec(name, shape, np.dtype(dtype), sharding, key=lowered.argument_keys[i]))
    return specs


def result_specs(lowered, main, meshes, arguments):
    """One spec per result; a donated argument's name and sharding go to its result."""
    types = ir.FunctionType(main.attributes["function_type"].value).results
    entries = _entries(main, "res_attrs", len(types))
    kinds = [(tuple(t.shape), _dtype(t.element_type, f"result '{'.'.join(path)}'"))
             for t, path in zip(types, lowered.result_paths)]
    donated = {i: (lowered.argument_paths[i], (arguments[i].shape, arguments[i].dtype))
               for i, is_donated in enumerate(lowered.donated) if is_donated}
    alias = _names.match_donated(donated, list(zip(lowered.result_paths, kinds)))
    _warn_unmatched(set(donated) - set(alias.values()), arguments)
    taken = {arguments[a].name for a in alias.values()}
    names = [arguments[alias[r]].name if r in alias else _free(".".join(path), taken)
             for r, path in enumerate(lowered.result_paths)]
    names = _names.unique(names)
    _check_hosts(lowered, entries, names, alias)
    specs = []
    for r, (name, (shape, dtype)) in enumerate(zip(names, kinds)):
        sharding = lowered.result_shardings[r] or _sharding_of(entries[r], meshes)
        if sharding is None and r in alias:
            sharding = arguments[alias[r]].sharding
        specs.append(TensorSpec(name, shape, dtype, sharding, alias.get(r), lowered.result_keys[r]))
    return specs


def _free(name, taken):
    return f"{name}_2" if name in taken else name


def _warn_unmatched(unmatched, arguments):
    if unmatched:
        names = ", ".join(arguments[i].name for i in sorted(unmatched))
        warnings.warn(f"no result has the type of these donated arguments: {names}", stacklevel=5)


# -- writing

def declare_mesh(module, meshes):
    if not meshes.sizes:
        return
    with ir.InsertionPoint(module.body):
        ir.Operation.create("weft.mesh", attributes={
            "sym_name": ir.StringAttr.get(_sharding.MESH_SYMBOL),
            "mesh": _sharding.mesh_attribute(meshes)})


def declare_function(module, lowered, main):
    """A function without operations, with an argument for every leaf."""
    source = ir.FunctionType(main.attributes["function_type"].value)
    inputs = [ir.RankedTensorType.get(shape, mlir.dtype_to_ir_type(np.dtype(dtype)))
              if i not in lowered.kept else None
              for i, (shape, dtype) in enumerate(lowered.argument_types)]
    for i, type in zip(lowered.kept, source.inputs):
        inputs[i] = type
    name = re.sub(r"\W", "_", lowered.name).strip("_") or "step"
    with ir.InsertionPoint(module.body):
        function = ir.Operation.create("func.func", regions=1, attributes={
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, source.results))})
    function.regions[0].blocks.append(*inputs)
    return function


def describe(function, arguments, results, on_host):
    """Puts names, shardings and aliases on the function, and which arguments lie in the host's memory."""
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([_dictionary(*pair) for pair in zip(arguments, on_host)])
    function.attributes["res_attrs"] = ir.ArrayAttr.get([_dictionary(spec, False) for spec in results])


def _dictionary(spec, on_host):
    entries = {"weft.name": ir.StringAttr.get(spec.name)}
    if on_host:
        entries["weft.host"] = ir.UnitAttr.get()
    if spec.alias is not None:
        entries["weft.alias"] = ir.IntegerAttr.get(ir.IndexType.get(), spec.alias)
    if spec.sharding is not None:
        dims = ", ".join(spec.sharding)
        entries["weft.sharding"] = ir.Attribute.parse(
            f"#weft.sharding<@{_sharding.MESH_SYMBOL}, [{dims}]>")
    return ir.DictAttr.get(entries)
