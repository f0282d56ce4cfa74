# SPDX-License-Identifier: Apache-2.0

"""weft.jax.export: traces a function, imports it, and names what goes in and out."""

import contextlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, use_abstract_mesh
from jax.tree_util import tree_flatten, tree_flatten_with_path, tree_map_with_path, tree_structure
from jaxlib.mlir import ir

from weft.jax import _keys, _legalize, _names, _placement, _scaled, _sharding, _specs
from weft.jax._errors import ExportError
from weft.jax._import import Importer
from weft.module import Module
from weft.trees import RegisteredTree, Tree


@dataclass
class Lowered:
    """A function in StableHLO, with what is known about its leaves.

    Paths are lists of texts, a root name first. `kept` are the leaves that the
    lowered function still has as arguments: JAX drops those that it does not use.
    Shardings are those that the caller of export gave, a text for each dimension.
    """
    module: object
    name: str
    argument_paths: list
    argument_types: list
    donated: list
    kept: list
    result_paths: list
    output: object
    argument_shardings: list = field(default_factory=list)
    result_shardings: list = field(default_factory=list)
    arguments_on_host: list = field(default_factory=list)
    results_on_host: list = field(default_factory=list)
    argument_keys: list = field(default_factory=list)
    result_keys: list = field(default_factory=list)


def export(fn: Callable[..., Any], *args: Any, mesh: Any = None, in_shardings: Any = None,
           out_shardings: Any = None, donate_argnums: int | Sequence[int] | None = (),
           locations: bool = True) -> Module:
    """Exports `fn`, called with `args`, to weft's input form.

    fn: a function or what jax.jit made of it. args: arrays, numbers or
    jax.ShapeDtypeStruct, in pytrees. mesh: axis sizes as a dict, or a JAX mesh;
    no devices are needed. in_shardings, out_shardings: as for jax.jit, with
    PartitionSpecs or NamedShardings. donate_argnums: arguments whose memory the
    results take over. locations: keep the user's file and line on each operation.
    """
    mesh = _sharding.abstract_mesh(mesh) or _sharding.find_mesh((in_shardings, out_shardings, args))
    roots = _names.parameter_names(fn, len(args))
    shapes = tree_map_with_path(lambda path, leaf: _shape(roots, path, leaf, mesh), args)
    jitted = _jitted(fn, donate_argnums)
    lowered = _lower(fn, jitted, shapes, mesh, roots)
    lowered.argument_shardings = _sharding.given_texts("in_shardings", in_shardings, shapes, mesh)
    lowered.result_shardings = _sharding.given_texts("out_shardings", out_shardings, lowered.output, mesh)
    lowered.arguments_on_host = [a or b for a, b in zip(
        _sharding.given_hosts(in_shardings, shapes),
        [_sharding.on_host(getattr(leaf, "sharding", None)) for leaf in jax.tree.leaves(args)])]
    lowered.results_on_host = _sharding.given_hosts(out_shardings, lowered.output)
    return _assemble(lowered, mesh, locations, _tree(args), _tree(lowered.output))


def _path(roots, path):
    """The texts of a path in the call's arguments."""
    return [roots[path[0].idx], *map(_names.key_text, path[1:])]


def _shape(roots, path, leaf, mesh):
    """The leaf without data; Python numbers stay, for JAX types them weakly."""
    if isinstance(leaf, (bool, int, float, complex)):
        return leaf
    if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
        raise ExportError(
            f"'{'.'.join(_path(roots, path))}' is of type {type(leaf).__name__}, expected an array, a number "
            "or a jax.ShapeDtypeStruct: export a function that closes over what is no array, "
            "as in lambda x: step(x, activation)")
    sharding = getattr(leaf, "sharding", None)
    if isinstance(sharding, NamedSharding) and sharding.mesh.size > 1:
        sharding = _sharding.named(sharding, mesh)
    else:
        sharding = None
    if _keys.is_key(leaf):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)
    if not any(jax.dtypes.issubdtype(leaf.dtype, kind) for kind in (np.number, np.bool_)):
        raise ExportError(f"'{'.'.join(_path(roots, path))}' has elements of type {leaf.dtype}, expected numbers")
    return jax.ShapeDtypeStruct(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype), sharding=sharding)


def _jitted(fn, donate_argnums):
    """The function for tracing. Shardings stay out: jax.jit wants sizes that divide.
    What other libraries' jit made is a function like any other."""
    if isinstance(fn, type(jax.jit(lambda: None))) and donate_argnums in ((), None):
        return fn
    return jax.jit(fn, keep_unused=True, donate_argnums=() if donate_argnums is None else donate_argnums)


def _lowering_parameters():
    """What JAX is to lower in another way than for a CPU; None where it cannot be told."""
    try:
        from jax._src.interpreters.mlir import LoweringParameters
        return LoweringParameters(override_lowering_rules=(*_scaled.lowering_rules(), *_placement.lowering_rules()))
    except (ImportError, TypeError):
        return None


def _lower(fn, jitted, shapes, mesh, roots):
    context = use_abstract_mesh(mesh) if mesh is not None else contextlib.nullcontext()
    with warnings.catch_warnings(), context:
        # JAX pairs donated arguments by type alone; _result_specs says what is left over.
        warnings.filterwarnings("ignore", message="Some donated buffers were not usable")
        low = jitted.trace(*shapes).lower(lowering_platforms=("cpu",),
                                          _private_parameters=_lowering_parameters())
    if low.in_tree != tree_structure((shapes, {})):
        raise ExportError("the function has static arguments, expected arguments that are all traced: export "
                          "a function that closes over them, as in lambda x: step(x, 2)")
    infos = jax.tree.leaves(low.args_info, is_leaf=lambda x: hasattr(x, "donated"))
    kept = low._lowering.compile_args.get("kept_var_idx")
    return Lowered(
        module=low.compiler_ir("stablehlo"),
        name=getattr(fn, "__name__", "step"),
        argument_paths=[_path(roots, p) for p, _ in tree_flatten_with_path(shapes)[0]],
        argument_types=[_keys.data_type(i) for i in infos],
        donated=[i.donated for i in infos],
        kept=sorted(kept) if kept is not None else list(range(len(infos))),
        result_paths=_names.result_paths(
            [p for p, _ in tree_flatten_with_path(low.out_info)[0]], _names.returned_names(fn)),
        output=low.out_info,
        argument_keys=[_keys.kind(i) for i in infos],
        result_keys=[_keys.kind(leaf) for leaf in jax.tree.leaves(low.out_info)])


# -- the module

def _assemble(lowered, mesh, locations, in_tree, out_tree):
    context = lowered.module.context
    allowed = context.allow_unregistered_dialects
    with context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        try:
            return _import(lowered, mesh, locations, in_tree, out_tree)
        finally:
            context.allow_unregistered_dialects = allowed


def _import(lowered, mesh, locations, in_tree, out_tree):
    operations = [op.operation for op in lowered.module.body.operations]
    functions = {op.attributes["sym_name"].value: op for op in operations if op.name == "func.func"}
    main = functions["main"]
    meshes = _sharding.ModuleMeshes(operations, mesh)
    arguments = _specs.argument_specs(lowered, main, meshes)
    module = ir.Module.create()
    _specs.declare_mesh(module, meshes)
    function = _specs.declare_function(module, lowered, main)
    block = function.regions[0].blocks[0]
    kept = [block.arguments[i] for i in lowered.kept]
    returned = Importer(functions, meshes, locations).run(main, block, kept)
    results = _specs.result_specs(lowered, main, meshes, arguments)
    with ir.InsertionPoint(block):
        ir.Operation.create("func.return", operands=returned)
    _legalize.run(module, function)
    _specs.describe(function, arguments, results, lowered.arguments_on_host)
    text = module.operation.get_asm(enable_debug_info=locations)
    return Module(text, dict(meshes.sizes), arguments, results, in_tree, out_tree)


def _tree(value):
    """The structure without JAX if it is made of plain containers, else JAX's own."""
    plain, (leaves, structure) = Tree.of(value), tree_flatten(value)
    found = plain.flatten(value)
    if len(found) == len(leaves) and all(a is b for a, b in zip(found, leaves)):
        return plain
    return RegisteredTree(structure)
