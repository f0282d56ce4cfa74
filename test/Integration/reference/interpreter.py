# SPDX-License-Identifier: Apache-2.0
"""The meaning of weft's modules, in numpy: all ranks in lockstep.

Plain and slow, to be compared with. A module of phase `global` runs on one
rank; one of phase `local` on all ranks of its mesh, where a collective sees the
values of all ranks at once. An element that a map of a linalg op says does not
exist is an error here; one that a computed index says is zero.
"""

import itertools
import re

import numpy as np

import attention
import structured
from elements import (BF16, BINARY, CMPI, CONVERSIONS, UNARY, compare_floats,
                      convert, dtype_of, maximum, minimum)  # fmt: skip
from mlir_text import Dense, Tensor

DYNAMIC = -(2**63)

# ---- mesh


class Mesh:
    def __init__(self, axes):
        self.names = [name for name, _ in axes]
        self.sizes = [size for _, size in axes]
        self.ranks = int(np.prod(self.sizes)) if axes else 1

    def refs(self, text):
        """Reads `"tp", "dp":(2)4` as (axis, pre, size) triples."""
        refs = []
        for name, pre, size in re.findall(r'"([^"]*)"(?::\((\d+)\)(\d+))?', text):
            axis = self.names.index(name)
            refs.append((axis, int(pre or 1), int(size or self.sizes[axis])))
        return refs

    def coordinate(self, rank, ref):
        axis, pre, size = ref
        stride = int(np.prod(self.sizes[axis + 1 :], dtype=int))
        whole = rank // stride % self.sizes[axis]
        return whole // (self.sizes[axis] // (pre * size)) % size

    def index(self, rank, refs):
        result = 0
        for ref in refs:
            result = result * ref[2] + self.coordinate(rank, ref)
        return result

    def groups(self, refs):
        """Returns the members of each group, in group order."""

        def others(rank):
            rest = rank
            for axis, pre, size in refs:
                stride = int(np.prod(self.sizes[axis + 1 :], dtype=int))
                post = self.sizes[axis] // (pre * size)
                rest -= self.coordinate(rank, (axis, pre, size)) * post * stride
            return rest

        ranks = sorted(range(self.ranks), key=lambda r: (others(r), self.index(r, refs)))
        return [list(g) for _, g in itertools.groupby(ranks, key=others)]


# ---- tensors


def constant(attr, type):
    dtype = dtype_of(type)
    if not isinstance(attr, Dense):
        return scalar(attr, dtype)
    shape = attr.type.shape
    if isinstance(attr.values, tuple) and attr.values[0] == "hex":
        raw = np.frombuffer(bytes.fromhex(attr.values[1][2:]), dtype)
        return np.broadcast_to(raw if raw.size != 1 else raw[0], shape).reshape(shape)
    if isinstance(attr.values, list):
        return np.array(attr.values).astype(dtype).reshape(shape)
    return np.full(shape, scalar(attr.values, dtype), dtype)


def scalar(value, dtype):
    if isinstance(value, tuple):
        bits = np.array(value[1], np.uint64)
        return bits.astype(f"u{dtype.itemsize}").view(dtype)[()]
    return np.array(value).astype(dtype)[()]


def extract(array, indices):
    """The element, or what lookups give if there is none."""
    indices, inside = [np.asarray(i) for i in indices], np.True_
    for i, n in zip(indices, array.shape):
        inside = inside & (i >= 0) & (i < n)
    if array.size == 0:
        return np.full(np.shape(inside), missing_element(array.dtype))
    found = array[tuple(np.clip(i, 0, n - 1) for i, n in zip(indices, array.shape))]
    return np.where(inside, found, missing_element(array.dtype))


def matmul(op, lhs, rhs):
    letters = "abcdefghijklmnopqrstuvwxyz"
    subscripts = [
        "".join(letters[int(re.fullmatch(r"d\[(\d+)\]", e).group(1))] for e in m.results)
        for m in op.attrs["indexing_maps"]
    ]
    text = f"{subscripts[0]},{subscripts[1]}->{subscripts[2]}"
    wide = np.float64 if lhs.dtype == np.float64 else np.float32
    result = np.einsum(text, lhs.astype(wide), rhs.astype(wide))
    return result.astype(dtype_of(op.result_types[0]))


def lookup_indices(op, shape, table_shape, indices, base):
    """Returns where each iteration finds its element, and if it exists."""
    loops = np.indices(shape, sparse=True) if shape else []
    axis = op.attrs["axis"]
    row = indices[tuple(structured.mapped(op.attrs["index_map"], loops))].astype(np.int64) - base
    valid = np.broadcast_to((row >= 0) & (row < table_shape[axis]), shape)
    where = structured.mapped(op.attrs["table_map"], loops)
    where.insert(axis, np.clip(row, 0, table_shape[axis] - 1))
    return [np.broadcast_to(w, shape) for w in where], valid


def take(op, table, indices, base=0):
    shape = op.result_types[0].shape
    if table.size == 0:
        return np.full(shape, missing_element(table.dtype))
    where, valid = lookup_indices(op, shape, table.shape, indices, base)
    return np.where(valid, table[tuple(where)], missing_element(table.dtype))


def missing_element(dtype):
    """What a lookup outside the table gives: what no sum changes by."""
    return np.zeros((), dtype) if dtype.kind in "iub" else np.array(-0.0).astype(dtype)


def scatter_add(op, init, indices, updates, base=0):
    where, valid = lookup_indices(op, updates.shape, init.shape, indices, base)
    wide = init.dtype if init.dtype.kind == "i" or init.dtype == np.float64 else np.float32
    result = init.astype(wide)
    np.add.at(result, tuple(w[valid] for w in where), updates[valid].astype(wide))
    return result.astype(init.dtype)


def combine(kind, values):
    dtype = values[0].dtype
    if kind == "sum":
        total = sum((v.astype(np.float32) if dtype == BF16 else v for v in values[1:]),
                    values[0].astype(np.float32) if dtype == BF16 else values[0])
        return np.asarray(total).astype(dtype)
    function = {"max": np.maximum, "min": np.minimum, "prod": np.multiply,
                "and": np.bitwise_and, "or": np.bitwise_or}[kind]  # fmt: skip
    result = values[0]
    for value in values[1:]:
        result = function(result, value)
    return result


# ---- running


class Interpreter:
    def __init__(self, module, poison=None):
        """`poison` makes an array of unspecified values (shape, dtype)."""
        ops = module.regions[0].ops
        meshes = [op for op in ops if op.name == "weft.mesh"]
        text = meshes[0].attrs["mesh"].text if meshes else ""
        axes = [(n, int(s)) for n, s in re.findall(r'"([^"]*)"=(\d+)', text)]
        self.mesh = Mesh(axes)
        self.func = next(op for op in ops if op.name == "func.func")
        self.poison = poison or (lambda shape, dtype: np.zeros(shape, dtype))

    def run(self, inputs):
        """`inputs`: per rank a list of arrays. Returns the results likewise."""
        block = self.func.regions[0]
        envs = [
            {name: value for (name, _), value in zip(block.args, args)} for args in inputs
        ]
        with np.errstate(all="ignore"):
            for op in block.ops:
                if op.name == "func.return":
                    return [[env[v] for v in op.operands] for env in envs]
                self.step(op, envs)
        raise AssertionError("function without a return")

    def step(self, op, envs):
        operands = [[env[v] for v in op.operands] for env in envs]
        if op.name.startswith("weft.") and "axes" in op.attrs:
            results = self.communicate(op, operands)
        else:
            results = [self.evaluate(op, o, env) for o, env in zip(operands, envs)]
        for env, values in zip(envs, results):
            for name, value, type in zip(op.results, values, op.result_types):
                if isinstance(type, Tensor) and value.shape != type.shape:
                    raise AssertionError(f"{op.name} made {value.shape}, not {type}")
                env[name] = value

    def communicate(self, op, operands):
        refs = self.mesh.refs(op.attrs["axes"].text)
        if op.name == "weft.axis_index":
            return [[np.int64(self.mesh.index(r, refs))] for r in range(self.mesh.ranks)]
        results = [[None] * len(op.operands) for _ in operands]
        for group in self.mesh.groups(refs):
            for i in range(len(op.operands)):
                parts = self.collective(op, i, [operands[r][i] for r in group])
                for rank, part in zip(group, parts):
                    results[rank][i] = part
        return results

    def collective(self, op, i, values):
        count = len(values)
        if op.name == "weft.all_gather":
            return [np.concatenate(values, op.attrs["dims"][i])] * count
        if op.name == "weft.permute":
            return [values[s] if s >= 0 else np.zeros_like(values[0])
                    for s in op.attrs["sources"]]  # fmt: skip
        if op.name == "weft.all_to_all":
            split, concat = op.attrs["split_dims"][i], op.attrs["concat_dims"][i]
            pieces = [np.split(v, count, split) for v in values]
            return [np.concatenate([p[j] for p in pieces], concat) for j in range(count)]
        kind = re.search(r"\b(sum|max|min|prod|and|or)\b", op.attrs["kind"].text).group(1)
        total = combine(kind, values)
        if op.name == "weft.all_reduce":
            return [total] * count
        assert op.name == "weft.reduce_scatter", op.name
        return np.split(total, count, op.attrs["dims"][i])

    def evaluate(self, op, operands, env):
        name, attrs = op.name, op.attrs
        if name in BINARY:
            return [np.asarray(BINARY[name](*operands)).astype(dtype_of(op.result_types[0]))]
        if name in UNARY:
            wide = np.asarray(operands[0])
            return [np.asarray(UNARY[name](wide)).astype(dtype_of(op.result_types[0]))]
        if name in CONVERSIONS:
            return [convert(name, operands[0], dtype_of(op.result_types[0]))]
        if name == "arith.select":
            return [np.where(*operands).astype(dtype_of(op.result_types[0]))]
        if name == "math.clampf":
            return [minimum(maximum(operands[0], operands[1]), operands[2])]
        if name == "arith.cmpi":
            return [CMPI[attrs["predicate"]](*operands)]
        if name == "arith.cmpf":
            return [compare_floats(attrs["predicate"], *operands)]
        if name == "arith.constant":
            return [constant(attrs["value"], op.result_types[0])]
        if name in ("linalg.generic", "linalg.fill"):
            return structured.run(self.evaluate, op, operands, env)
        if name in ("weft.optimization_barrier", "weft.part_offset"):
            return operands
        if name == "weft.matmul":
            return [matmul(op, *operands)]
        if name in ("weft.attention", "weft.attention_grad"):
            return attention.evaluate(op, operands)
        if name == "weft.take":
            return [take(op, *operands)]
        if name == "weft.scatter_add":
            return [scatter_add(op, *operands)]
        if name == "scf.for":
            return self.loop(op, operands, env)
        if name == "scf.if":
            return self.block(op.regions[0 if operands[0] else 1], [], env)
        return [self.shape_op(op, operands, env)]

    def loop(self, op, operands, env):
        *numbers, carried = *operands[:3], operands[3:]
        dtype = np.asarray(numbers[0]).dtype
        if "unsignedCmp" in op.attrs:
            numbers = [np.asarray(number).view(dtype.str.replace("i", "u")) for number in numbers]
        first, end, stride = (int(number) for number in numbers)
        for i in range(first, end, stride) if stride > 0 else []:
            carried = self.block(op.regions[0], [np.array(i).astype(dtype)[()], *carried], env)
        return carried

    def block(self, block, args, outer):
        """Runs the ops of a block; returns what its terminator gives."""
        env = dict(outer)
        env.update({name: value for (name, _), value in zip(block.args, args)})
        for op in block.ops[:-1]:
            values = self.evaluate(op, [env[v] for v in op.operands], env)
            env.update(zip(op.results, values))
        return [env[v] for v in block.ops[-1].operands]

    def shape_op(self, op, operands, env):
        name, attrs = op.name, op.attrs
        shape = op.result_types[0].shape if isinstance(op.result_types[0], Tensor) else ()
        if name in ("tensor.expand_shape", "tensor.collapse_shape"):
            return operands[0].reshape(shape)
        if name in ("weft.shard", "weft.reshard", "tensor.cast"):
            return operands[0]
        if name == "tensor.empty":
            return self.poison(shape, dtype_of(op.result_types[0]))
        if name == "tensor.splat":
            return np.full(shape, operands[0], dtype_of(op.result_types[0]))
        if name == "tensor.from_elements":
            return np.array(operands, dtype_of(op.result_types[0])).reshape(shape)
        if name == "tensor.concat":
            return np.concatenate(operands, attrs["dim"])
        if name == "tensor.extract":
            return extract(operands[0], operands[1:])
        if name == "tensor.extract_slice":
            return operands[0][self.slices(attrs, operands[1:], operands[0].shape)].reshape(shape)
        if name == "tensor.insert_slice":
            result = operands[1].copy()
            region = result[self.slices(attrs, operands[2:], result.shape)]
            region[...] = operands[0].reshape(region.shape)
            return result
        if name == "tensor.pad":
            value = env[op.regions[0].ops[-1].operands[0]]
            widths = list(zip(attrs["static_low"], attrs["static_high"]))
            return np.pad(operands[0], widths, constant_values=value)
        raise NotImplementedError(name)

    @staticmethod
    def slices(attrs, dynamic, shape):
        dynamic = list(dynamic)
        offsets = [int(dynamic.pop(0)) if o == DYNAMIC else o for o in attrs["static_offsets"]]
        lasts = [n - (m - 1) * t - 1 for n, m, t in zip(shape, attrs["static_sizes"], attrs["static_strides"])]
        offsets = [max(0, min(o, last)) for o, last in zip(offsets, lasts)]
        return tuple(
            slice(o, o + (n - 1) * s + 1, s)
            for o, n, s in zip(offsets, attrs["static_sizes"], attrs["static_strides"])
        )
