# SPDX-License-Identifier: Apache-2.0

"""Rewrites JAX's StableHLO into StableHLO without control flow, plus weft ops.

The function is interpreted, operation by operation, while a new one is written:
calls and loops are entered, integers that are constant are followed, sharding
marks become weft.shard, and the operations that linalg has no good word for
become weft ops. What is left has a plain conversion to linalg.
"""

import math

import numpy as np
from jaxlib.mlir import ir

from weft.jax import _attention, _barrier, _combiners, _complex, _contract, _convolution, _cumulative, _fold, _lookup, _placement, _regions, _scaled, _slices, _sorting, _windows
from weft.jax._builder import WRITE_LIMIT, Builder, element_of, is_unsigned, shape_of
from weft.jax._errors import ExportError, signature
from weft.jax._locations import UserLocations
from weft.jax._sharding import weft_sharding

# Copies of loop bodies that one export may make.
UNROLL_LIMIT = 4096

# Operations that a function may be, with those of the functions that it calls, each time that it calls them.
INLINE_LIMIT = 2**18

# Custom calls and marks that say nothing about values.
_MARKS = {"LayoutConstraint", "xla.sdy.FuncResultSharding"}
_PASS_THROUGH = {"sdy.propagation_barrier"}
_REJECTED = {
    "sdy.manual_computation": "is a shard_map; weft partitions the global program itself",
    "stablehlo.rng_bit_generator": "draws random bits; use a threefry key or pass the bits in",
    "stablehlo.rng": "draws random numbers; pass them in as an argument",
}

_FLOAT8 = "f8E4M3FN, f8E5M2 and f8E8M0FNU are the floats of 8 bits that it has"
_NARROW = "i8 is the narrowest number that it has"
_FOREIGN_TYPES = {
    **dict.fromkeys(["f8E4M3", "f8E3M4", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ"], _FLOAT8),
    **dict.fromkeys(["i2", "i4", "ui2", "ui4", "f4E2M1FN", "f6E2M3FN", "f6E3M2FN"], _NARROW),
}


def _is_empty(op):
    """Whether the operation has results, and none of them has an element."""
    types = [r.type for r in op.results]
    return bool(types) and all(isinstance(t, ir.RankedTensorType) and 0 in t.shape for t in types)


class Importer:
    def __init__(self, functions, meshes, keep_locations):
        self._functions = functions
        self._meshes = meshes
        self._locations = UserLocations(keep_locations)
        self._copies = 0
        self._loops = 0
        self._unmarked = {}
        self._sizes = {}
        self.build = None

    def run(self, source, target_block, arguments):
        """Writes the body of `source` to the block; returns what it returns."""
        self.build = Builder(target_block)
        _combiners.inline_calls(self._functions, self._check_size)
        return self._block(source.regions[0].blocks[0], arguments, {})

    # -- walking

    def _block(self, block, arguments, outer):
        """Imports a block; returns what its terminator passes on."""
        env = dict(outer)
        env.update(zip(block.arguments, arguments))
        for view in block.operations:
            op = view.operation
            operands = [env[v] for v in op.operands]
            if op.name in ("func.return", "stablehlo.return", "sdy.return"):
                return operands
            for old, new in zip(op.results, self._operation(op, operands, env)):
                env[old] = new
        return []

    def _operation(self, op, operands, env):
        self.build.location = self._locations.get(op.location)
        handler = getattr(self, "_" + op.name.replace(".", "_"), None)
        if op.name in _PASS_THROUGH:
            return operands
        if op.name in _REJECTED:
            raise self.error(op, _REJECTED[op.name])
        self._check_types(op)
        if _is_empty(op):
            return [self._empty(r.type) for r in op.results]
        if _complex.computes(op):
            return self._in_pairs(op, operands, env)
        results = handler(op, operands, env) if handler else None
        if results is None:
            results = self._plain(op, operands, env)
        return self._marked(op, results)

    def _in_pairs(self, op, operands, env):
        again = lambda real, operands: self._operation(real, operands, env)
        results = self._checked(op, lambda: _complex.Import(self.build, again).run(op, operands))
        if results is None:
            raise self.error(op, "computes with complex numbers, for which weft has no formula; write them as pairs of real ones")
        return results

    def _check_types(self, op):
        for value in [*op.results, *op.operands]:
            element = str(getattr(value.type, "element_type", value.type))
            if element in _FOREIGN_TYPES:
                raise self.error(op, f"computes with {element}, which weft does not have; {_FOREIGN_TYPES[element]}")

    def _marked(self, op, results):
        """Turns a sharding that JAX put on the operation itself into weft.shard."""
        if "sdy.sharding" not in op.attributes or len(results) != 1:
            return results
        attribute = weft_sharding(op.attributes["sdy.sharding"], self._meshes, per_value=True)
        return [self._shard(results[0], attribute)] if attribute is not None else results

    def _shard(self, value, attribute):
        return self.build.value("weft.shard", value.type, [value], {"sharding": attribute})

    def _plain(self, op, operands, env):
        """Evaluates the operation, or copies it."""
        known = self._known(op, operands)
        if known is not None and known.size <= WRITE_LIMIT:
            return [self.build.constant(known, op.results[0].type.element_type)]
        copy = op.clone(self.build.ip).operation
        for i, operand in enumerate(operands):
            copy.operands[i] = operand
        copy.location = self.build.location
        for name in _regions.attribute_names(copy):
            if name.startswith(("sdy.", "mhlo.", "jax.")):
                del copy.attributes[name]
        _regions.rename(copy, env)
        if known is not None:
            self.build.know(copy.results[0], known)
        return list(copy.results)

    def _known(self, op, operands):
        return _fold.evaluate(op, [self.build.known.get(v) for v in operands])

    def _written_small(self, op, operands):
        """Whether _plain will write the result as a constant."""
        known = self._known(op, operands)
        return known is not None and known.size <= WRITE_LIMIT

    def error(self, op, message):
        return ExportError(message, op.name, signature(op), self._locations.describe(op.location))

    # -- calls

    def _call(self, op, name, operands):
        self._check_size(op, name)
        self._locations.enter_call(op.location)
        callee = self._functions[name]
        if self._loops and self._recomputes_unmarked(name):
            operands = _complex.unflatten(_barrier.place(self.build, _complex.flatten(operands)), operands)
        results = self._block(callee.regions[0].blocks[0], operands, {})
        self._locations.leave_call()
        return results

    def _check_size(self, op, name):
        if self._size(name) > INLINE_LIMIT:
            raise self.error(op, f"calls '{name}', which is more than {INLINE_LIMIT} operations with all that it calls")

    def _size(self, name):
        """Operations of a function, with those of what it calls, once for each call."""
        if name not in self._sizes:
            callees = []

            def visit(op):
                callee = op.attributes["callee"].value if op.name == "func.call" else None
                callees.append(callee)
                return ir.WalkResult.ADVANCE
            self._functions[name].walk(visit)
            self._sizes[name] = len(callees) + sum(self._size(c) for c in callees if c)
        return self._sizes[name]

    def _recomputes_unmarked(self, name):
        if name not in self._unmarked:
            self._unmarked[name] = _barrier.recomputes_unmarked(self._functions[name])
        return self._unmarked[name]

    def _func_call(self, op, operands, env):
        return self._call(op, op.attributes["callee"].value, operands)

    def _stablehlo_optimization_barrier(self, op, operands, env):
        return _barrier.place(self.build, operands)

    def _stablehlo_composite(self, op, operands, env):
        name = ir.StringAttr(op.attributes["name"]).value
        if name in ("weft.attention", "weft.attention_grad"):
            return _attention.attention(self.build, op, operands)
        if name == _scaled.NAME:
            return _scaled.scaled_matmul(self.build, op, operands)
        if name == "chlo.top_k":
            k = shape_of(op.results[0])[-1]
            return self._checked(op, lambda: _sorting.top_k(self.build, operands[0], k))
        return self._call(op, ir.FlatSymbolRefAttr(op.attributes["decomposition"]).value, operands)

    def _sdy_named_computation(self, op, operands, env):
        return self._block(op.regions[0].blocks[0], operands, env)

    # -- control flow

    def _stablehlo_while(self, op, operands, env):
        """Unrolls the loop; its condition has to be known each time."""
        condition, body = (region.blocks[0] for region in op.regions)
        while True:
            proceed, = self._block(condition, operands, env)
            known = self.build.known.get(proceed)
            if known is None:
                raise self.error(op, "is a loop whose trip count is not static "
                                     "(lax.scan and lax.fori_loop with constant bounds are unrolled)")
            if not known:
                return operands
            self._copies += 1
            if self._copies > UNROLL_LIMIT:
                raise self.error(op, f"needs more than {UNROLL_LIMIT} unrolled iterations")
            self._loops += 1
            operands = self._block(body, operands, env)
            self._loops -= 1

    def _stablehlo_case(self, op, operands, env):
        """lax.cond and lax.switch: the branch if it is known, else a choice of results."""
        index = operands[0]
        known = self.build.known.get(index)
        count = len(op.regions)
        if known is not None:
            branch = int(known) if 0 <= int(known) < count else count - 1
            return self._block(op.regions[branch].blocks[0], [], env)
        chosen = self._block(op.regions[count - 1].blocks[0], [], env)
        for branch in reversed(range(count - 1)):
            results = self._block(op.regions[branch].blocks[0], [], env)
            here = self.build.compare("EQ", index, self.build.splat(branch, [], element_of(index)))
            chosen = [self._choose(here, a, b) for a, b in zip(results, chosen)]
        return chosen

    def _stablehlo_if(self, op, operands, env):
        known = self.build.known.get(operands[0])
        if known is not None:
            return self._block(op.regions[0 if known else 1].blocks[0], [], env)
        yes, no = (self._block(region.blocks[0], [], env) for region in op.regions)
        return [self._choose(operands[0], a, b) for a, b in zip(yes, no)]

    def _choose(self, condition, a, b):
        return _complex.choose(lambda a, b: self.build.select(self.build.broadcast(condition, shape_of(a), []), a, b), a, b)

    # -- sharding

    def _sdy_sharding_constraint(self, op, operands, env):
        attribute = weft_sharding(op.attributes["sharding"], self._meshes)
        return operands if attribute is None else [self._shard(operands[0], attribute)]

    def _sdy_sharding_group(self, op, operands, env):
        return []

    def _stablehlo_custom_call(self, op, operands, env):
        target = ir.StringAttr(op.attributes["call_target_name"]).value
        if target in _MARKS or target == "Sharding":
            return operands
        if target == _placement.CALL:
            place = lambda value: _placement.place(self.build, op, value)
            return [self._checked(op, lambda: _complex.each(place, operands[0]))]
        raise self.error(op, f"calls '{target}', which has no StableHLO meaning")

    # -- compute

    def _empty(self, type):
        """A tensor without elements; how it was computed does not matter."""
        zeros = self.build.splat(0, type.shape, getattr(type.element_type, "element_type", type.element_type))
        return _complex.Pair(zeros, zeros) if _complex.is_complex(type) else zeros

    def _stablehlo_pad(self, op, operands, env):
        """Padding around nothing is the padding value."""
        if math.prod(shape_of(operands[0])):
            return None
        return [self.build.broadcast(operands[1], op.results[0].type.shape, [])]

    def _stablehlo_constant(self, op, operands, env):
        """Large masks travel as i8: MLIR versions differ in how they print i1 data."""
        value = ir.DenseElementsAttr(op.attributes["value"])
        type = op.results[0].type
        if str(type.element_type) != "i1" or value.is_splat or math.prod(type.shape) <= WRITE_LIMIT:
            return None
        array = np.array(ir.DenseIntElementsAttr(value))
        narrow = self.build.constant(array, ir.IntegerType.get_signless(8))
        return [self.build.know(self.build.convert(narrow, type.element_type), array)]

    def _stablehlo_dot_general(self, op, operands, env):
        return [_contract.dot_general(self.build, op, *operands)]

    def _stablehlo_gather(self, op, operands, env):
        return self._lookup(op, lambda: _lookup.gather(self.build, op, *operands))

    def _stablehlo_scatter(self, op, operands, env):
        if len(op.results) != 1:
            raise self.error(op, "scatters several tensors at once")
        return self._lookup(op, lambda: _lookup.scatter(self.build, op, *operands))

    def _lookup(self, op, convert):
        return [self._checked(op, convert)]

    def _checked(self, op, convert):
        """What `convert` makes; the reason why it cannot becomes an error at the operation."""
        try:
            return convert()
        except ValueError as reason:
            raise self.error(op, str(reason)) from None

    def _stablehlo_sort(self, op, operands, env):
        return self._checked(op, lambda: _sorting.sort(self.build, op, operands))

    def _chlo_top_k(self, op, operands, env):
        k = op.attributes["k"].value
        return self._checked(op, lambda: _sorting.top_k(self.build, operands[0], k))

    def _stablehlo_dynamic_slice(self, op, operands, env):
        sizes = list(op.attributes["slice_sizes"])
        return [_slices.dynamic_slice(self.build, operands[0], operands[1:], sizes)]

    def _stablehlo_dynamic_update_slice(self, op, operands, env):
        return [_slices.dynamic_update_slice(self.build, operands[0], operands[1], operands[2:])]

    def _stablehlo_slice(self, op, operands, env):
        bounds = (op.attributes[k] for k in ("start_indices", "limit_indices", "strides"))
        return [self.build.slice(operands[0], *(list(b) for b in bounds))]

    def _stablehlo_broadcast_in_dim(self, op, operands, env):
        """A broadcast that only adds dimensions of size one is a reshape: a view."""
        operand, = operands
        shape = list(op.results[0].type.shape)
        dims = list(op.attributes["broadcast_dimensions"])
        if dims == sorted(dims) and math.prod(shape) == math.prod(shape_of(operand)):
            return [self.build.reshape(operand, shape)]
        if not is_unsigned(element_of(operand)) or self._written_small(op, operands):
            return None
        return [self.build.know(self.build.broadcast(operand, shape, dims), self._known(op, operands))]

    def _stablehlo_transpose(self, op, operands, env):
        operand, = operands
        if not is_unsigned(element_of(operand)) or self._written_small(op, operands):
            return None
        moved = self.build.transpose(operand, op.attributes["permutation"])
        return [self.build.know(moved, self._known(op, operands))]

    def _stablehlo_reshape(self, op, operands, env):
        return [self.build.reshape(operands[0], op.results[0].type.shape)]

    def _stablehlo_select(self, op, operands, env):
        """A mask that is known to be all true (or all false) chooses one side."""
        mask, yes, no = operands
        known = self.build.known.get(mask)
        if known is None or known.size == 0 or known.min() != known.max():
            return None
        return [yes if known.flat[0] else no]

    def _stablehlo_is_finite(self, op, operands, env):
        """A type without infinities has none to compare with: what is not finite there is NaN."""
        if not str(element_of(operands[0])).endswith(("FN", "FNU")):
            return None
        number = self.build.convert(operands[0], ir.F32Type.get())
        return [self.build.compare("EQ", number, number)]

    def _stablehlo_concatenate(self, op, operands, env):
        dim = op.attributes["dimension"].value
        operands = [v for v in operands if shape_of(v)[dim]]
        known = self._known(op, operands)
        return [self.build.know(self.build.concatenate(operands, dim), known)]

    def _stablehlo_reduce(self, op, operands, env):
        """Over no dimension each element is its own result, for initial values are neutral;
        of no elements they are the result."""
        count = len(operands) // 2
        if not list(op.attributes["dimensions"]):
            return operands[:count]
        if 0 not in shape_of(operands[0]):
            return None
        return [self.build.broadcast(start, r.type.shape, []) for start, r in zip(operands[count:], op.results)]

    def _stablehlo_reduce_window(self, op, operands, env):
        made = self._checked(op, lambda: _cumulative.cumulative(self.build, op, operands))
        if made is not None:
            return [made]
        return self._checked(op, lambda: _windows.small(self.build, op, operands))

    def _stablehlo_select_and_scatter(self, op, operands, env):
        return [self._checked(op, lambda: _windows.select_and_scatter(self.build, op, *operands))]

    def _stablehlo_convolution(self, op, operands, env):
        return [self._checked(op, lambda: _convolution.convolution(self.build, op, *operands))]
