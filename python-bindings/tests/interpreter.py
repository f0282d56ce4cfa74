# SPDX-License-Identifier: Apache-2.0

"""Runs exported programs with numpy, to compare them with JAX.

Slow and plain on purpose: each operation by its definition, reductions element
by element. Knows what exports contain and fails on anything else.
"""

import re

from jax.interpreters import mlir
import ml_dtypes
import numpy as np
from jaxlib.mlir import ir

from interpreter_values import FOLDS, SCALAR, dtype_of
from weft.jax import _legalize


def _positions(attribute):
    text = str(attribute).split("->")[1]
    names = [n.strip() for n in str(attribute).split("(")[1].split(")")[0].split(",")]
    inner = text[text.index("(") + 1:text.rindex(")")]
    return [names.index(e.strip()) for e in inner.split(",") if e.strip()]


def bfloat_constant(text, shape):
    """A bf16 constant from its text, for numpy cannot see the attribute's memory."""
    body = text[text.index("<") + 1:text.rindex("> : ")]
    words = re.findall(r"0x[0-9A-F]+|-?[0-9.]+(?:[eE][-+]?[0-9]+)?", body)
    if '"' in body:
        raw = bytes.fromhex(words[0][2:])
        return np.frombuffer(raw, ml_dtypes.bfloat16).reshape(shape)
    values = [np.uint16(int(w, 16)).view(ml_dtypes.bfloat16) if w.startswith("0x")
              else ml_dtypes.bfloat16(float(w)) for w in words]
    return np.broadcast_to(np.array(values).reshape(shape if len(values) > 1 else ()), shape)


class Machine:
    """Evaluates one function."""

    def __init__(self):
        self.env = {}

    def run(self, function, arguments):
        block = function.regions[0].blocks[0]
        for a, value in zip(block.arguments, arguments):
            value = np.asarray(value)
            assert list(a.type.shape) == list(value.shape), (a.type, value.shape)
            self.env[a] = value.astype(dtype_of(a.type))
        for view in block.operations:
            op = view.operation
            if op.name == "func.return":
                return [self.env[v] for v in op.operands]
            for r, value in zip(op.results, self.evaluate(op)):
                if isinstance(r.type, ir.RankedTensorType):
                    assert list(r.type.shape) == list(value.shape), (str(op)[:300], value.shape)
                    assert dtype_of(r.type) == value.dtype, (str(op)[:300], value.dtype)
                self.env[r] = value

    def evaluate(self, op):
        if op.name in SCALAR:
            with np.errstate(all="ignore"):
                return [np.asarray(SCALAR[op.name](op, *(self.env[v] for v in op.operands)))]
        handler = getattr(self, op.name.replace(".", "_"), None)
        if handler is None:
            raise NotImplementedError(str(op)[:400])
        result = handler(op, *(self.env.get(v) for v in op.operands))
        return result if isinstance(result, list) else [result]

    # -- constants and tensor

    def arith_constant(self, op):
        value, type = op.attributes["value"], op.results[0].type
        if isinstance(type, ir.RankedTensorType):
            if str(type.element_type) == "bf16":
                return bfloat_constant(str(value), type.shape)
            return np.array(value).reshape(type.shape).astype(dtype_of(type))
        number = value.value
        return np.array(number).astype(dtype_of(type))

    def tensor_empty(self, op):
        type = op.results[0].type
        return np.full(type.shape, 77, dtype_of(type))

    def tensor_cast(self, op, a):
        return a

    def tensor_concat(self, op, *parts):
        return np.concatenate(parts, op.attributes["dim"].value)

    def tensor_collapse_shape(self, op, a):
        return a.reshape(op.results[0].type.shape)

    def tensor_expand_shape(self, op, a, *sizes):
        return a.reshape(op.results[0].type.shape)

    def tensor_extract(self, op, a, *index):
        if not index:
            return a.reshape(())
        return a[tuple(index)]

    def tensor_from_elements(self, op, *elements):
        return np.array(elements).astype(dtype_of(op.results[0].type)).reshape(op.results[0].type.shape)

    def tensor_splat(self, op, a):
        return np.full(op.results[0].type.shape, a)

    def _window(self, op):
        lists = (op.attributes[k] for k in ("static_offsets", "static_sizes", "static_strides"))
        return tuple(slice(o, o + (n - 1) * s + 1, s) for o, n, s in zip(*lists))

    def tensor_extract_slice(self, op, a):
        return a[self._window(op)].reshape(op.results[0].type.shape)

    def tensor_insert_slice(self, op, source, target):
        target = target.copy()
        window = self._window(op)
        target[window] = source.reshape(target[window].shape)
        return target

    def tensor_pad(self, op, a, *_):
        low, high = (list(op.attributes[k]) for k in ("static_low", "static_high"))
        body = op.regions[0].blocks[0]
        value = self.env[body.operations[len(body.operations) - 1].operands[0]]
        return np.pad(a, list(zip(low, high)), constant_values=value)

    # -- linalg

    def linalg_fill(self, op, value, out):
        return np.full(out.shape, value, out.dtype)

    def linalg_broadcast(self, op, a, out):
        return np.broadcast_to(np.expand_dims(a, tuple(op.attributes["dimensions"])), out.shape)

    def linalg_transpose(self, op, a, out):
        return a.transpose(list(op.attributes["permutation"]))

    def linalg_map(self, op, *operands):
        *inputs, out = operands
        result, = self._body(op, [*inputs, out], out.shape)
        return np.broadcast_to(result, out.shape).astype(out.dtype)

    def _body(self, op, values, space):
        block = op.regions[0].blocks[0]
        self.env.update(zip(block.arguments, values))
        for view in block.operations:
            inner = view.operation
            if inner.name == "linalg.yield":
                return [self.env[v] for v in inner.operands]
            if inner.name == "linalg.index":
                dim = inner.attributes["dim"].value
                along = [1] * len(space)
                along[dim] = space[dim]
                self.env[inner.results[0]] = self._indices[dim] if self._indices else \
                    np.arange(space[dim]).reshape(along)
            else:
                self.env.update(zip(inner.results, self.evaluate(inner)))

    _indices = None

    def linalg_reduce(self, op, *operands):
        half = len(operands) // 2
        dims = sorted(op.attributes["dimensions"])
        inputs = [np.moveaxis(a, dims, range(len(dims))) for a in operands[:half]]
        inputs = [a.reshape(-1, *a.shape[len(dims):]) for a in inputs]
        acc = list(operands[half:])
        names = [o.operation.name for o in op.regions[0].blocks[0].operations]
        if len(names) == 2 and names[0] in FOLDS:
            return [FOLDS[names[0]](acc[0], FOLDS[names[0]].reduce(inputs[0], axis=0, dtype=acc[0].dtype))]
        for k in range(inputs[0].shape[0]):
            acc = self._body(op, [*(a[k] for a in inputs), *acc], acc[0].shape)
        return acc

    def linalg_generic(self, op, *operands):
        maps = list(ir.ArrayAttr(op.attributes["indexing_maps"]))
        kinds = [str(k) for k in ir.ArrayAttr(op.attributes["iterator_types"])]
        outputs = len(op.results)
        space = self._space(maps, operands, len(kinds))
        reductions = [d for d, k in enumerate(kinds) if "reduction" in k]
        acc = [o.copy() for o in operands[-outputs:]]
        grids = np.meshgrid(*(np.arange(1) if d in reductions else np.arange(n)
                              for d, n in enumerate(space)), indexing="ij", sparse=False)
        for point in np.ndindex(*(space[d] for d in reductions)):
            at = list(grids)
            for d, p in zip(reductions, point):
                at[d] = at[d] + p
            self._indices = at
            places = [self._place(m, at) for m in maps]
            values = [a[p] for a, p in zip([*operands[:-outputs], *acc], places)]
            for a, p, v in zip(acc, places[-outputs:], self._body(op, values, space)):
                a[p] = v
            self._indices = None
        return acc

    def _space(self, maps, operands, count):
        sizes = [None] * count
        for m, a in zip(maps, operands):
            names, exprs = _map_text(m)
            for e, n in zip(exprs, a.shape):
                if e in names:
                    sizes[names.index(e)] = n
        assert None not in sizes
        return sizes

    def _place(self, m, at):
        names, exprs = _map_text(m)
        place = tuple(eval(e, {}, dict(zip(names, at))) for e in exprs)
        return tuple(np.broadcast_to(p, at[0].shape) for p in place) if place else ()

    def linalg_matmul(self, op, a, b, out):
        return out + a @ b

    linalg_batch_matmul = linalg_matvec = linalg_vecmat = linalg_dot = linalg_matmul

    # -- weft

    def weft_optimization_barrier(self, op, *values):
        return list(values)

    def weft_shard(self, op, a):
        return a

    def weft_matmul(self, op, a, b):
        maps = [_positions(m) for m in ir.ArrayAttr(op.attributes["indexing_maps"])]
        accumulate = np.float64
        made = np.einsum(a.astype(accumulate), maps[0], b.astype(accumulate), maps[1], maps[2])
        return made.astype(dtype_of(op.results[0].type))

    def _lookup_index(self, op, shape, indices):
        """Per table dimension an index array over the iteration space."""
        grids = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
        table_map, index_map = (_positions(op.attributes[k]) for k in ("table_map", "index_map"))
        place = [grids[d] for d in table_map]
        looked = indices[tuple(grids[d] for d in index_map)]
        place.insert(op.attributes["axis"].value, np.broadcast_to(looked, shape).astype(np.int64))
        return place, place[op.attributes["axis"].value]

    def weft_take(self, op, table, indices):
        shape, axis = op.results[0].type.shape, op.attributes["axis"].value
        place, looked = self._lookup_index(op, shape, indices)
        inside = (looked >= 0) & (looked < table.shape[axis])
        place[axis] = np.where(inside, looked, 0)
        return np.where(inside, table[tuple(place)], np.zeros((), table.dtype))

    def weft_scatter_add(self, op, table, indices, updates):
        axis = op.attributes["axis"].value
        place, looked = self._lookup_index(op, updates.shape, indices)
        inside = (looked >= 0) & (looked < table.shape[axis])
        place = tuple(p[inside] for p in place)
        wide = table.astype(np.float64) if table.dtype.kind in "fV" else table.copy()
        np.add.at(wide, place, updates[inside].astype(wide.dtype))
        return wide.astype(table.dtype)


def _map_text(attribute):
    text = str(attribute)
    names = [n.strip() for n in text[text.index("(") + 1:text.index(")")].split(",") if n.strip()]
    right = text.split("->")[1]
    inner = right[right.index("(") + 1:right.rindex(")")]
    inner = inner[:-1] if inner.endswith(")") and inner.count("(") < inner.count(")") else inner
    return names, [e.strip() for e in inner.split(",") if e.strip()]


def run(module, *args):
    """Calls an exported module with pytrees, as the JAX function is called."""
    context = mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    with context, ir.Location.unknown():
        _load_dialects()
        parsed = ir.Module.parse(module.text)
        function = next(o.operation for o in parsed.body.operations if o.operation.name == "func.func")
        inputs = [_signless(np.asarray(a)) for a in module.in_tree.flatten(args)]
        outputs = Machine().run(function, inputs)
        return module.out_tree.unflatten(
            [o.view(spec.dtype) for o, spec in zip(outputs, module.results)])


def _signless(array):
    return array.view(np.dtype(str(array.dtype)[1:])) if array.dtype.kind == "u" else array


def _load_dialects():
    """The linalg dialect comes along with the pass that makes it."""
    empty = ir.Module.parse("func.func @f() { return }")
    _legalize.run(empty, next(iter(empty.body.operations)).operation)
