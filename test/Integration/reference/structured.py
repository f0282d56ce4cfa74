# SPDX-License-Identifier: Apache-2.0
"""What linalg ops compute: a body for each point of their loops.

Reductions take one point after the other, all results at once. What of a body
depends on no result so far is computed for many points at once, which gives the
same values: it is elementwise.
"""

import functools
import itertools
import math
import re

import numpy as np

import orders
from elements import Fault

# Of so many points values are held at once.
POINTS = 1 << 20
# Joined in numpy's `accumulate`, which takes one term after the other.
JOINS = {"arith.addf": np.add, "arith.mulf": np.multiply, "arith.addi": np.add}


@functools.cache
def compiled(expr):
    return eval(f"lambda d: {expr}", {})


def mapped(map, d):
    """Returns the indices that the map gives: numbers, or arrays over the loops."""
    return [compiled(expr)(d) for expr in map.results]


def index_into(array, indices):
    for dim, index in enumerate(indices):
        size = array.shape[dim]
        # Most are numbers, for which numpy takes long.
        inside = 0 <= index < size if isinstance(index, int) else np.all((index >= 0) & (index < size))
        if not inside:
            raise Fault(f"element outside dim {dim} of {array.shape}")
    return array[tuple(indices)]


def load(map, operand, d):
    return index_into(operand, mapped(map, d)) if np.ndim(operand) else operand


def loop_sizes(maps, operands):
    sizes = [None] * maps[0].num_dims
    for map, operand in zip(maps, operands):
        for dim, expr in enumerate(map.results):
            plain = re.fullmatch(r"d\[(\d+)\]", expr)
            if plain:
                sizes[int(plain.group(1))] = operand.shape[dim]
    return sizes


def run(evaluate, op, operands, env):
    """`evaluate(op, operands, env)` gives the results of an op of the body."""
    if op.name == "linalg.fill":
        return [np.full(operands[1].shape, operands[0], operands[1].dtype)]
    return Loops(evaluate, op, operands, env).run()


class Loops:
    def __init__(self, evaluate, op, operands, env):
        self.evaluate, self.op, self.env = evaluate, op, env
        self.maps = op.attrs["indexing_maps"]
        self.num_ins = op.attrs["operandSegmentSizes"][0]
        self.ins, self.outs = operands[: self.num_ins], [np.array(o) for o in operands[self.num_ins :]]
        self.sizes = loop_sizes(self.maps, operands)
        self.reduced = [dim for dim, kind in enumerate(op.attrs["iterator_types"]) if "reduction" in kind.text]
        self.parallel = [dim for dim in range(len(self.sizes)) if dim not in self.reduced]
        self.sums = None
        if "weft.order" in op.attrs and orders.joins_of(op) and self.reduced:
            self.sums = orders.Sums(op, [self.sizes[dim] for dim in self.reduced], self.outs)
        self.split_body()

    def split_body(self):
        """Ops that depend on results so far are computed for each point."""
        *ops, self.terminator = self.op.regions[0].ops
        names = [name for name, _ in self.op.regions[0].args]
        self.in_names, self.out_names = names[: self.num_ins], names[self.num_ins :]
        self.early, self.late, changing = [], [], set(self.out_names)
        for inner in ops:
            if inner.regions or changing.intersection(inner.operands):
                self.late.append(inner)
                changing.update(inner.results)
            else:
                self.early.append(inner)

    def run(self):
        # The outer reductions one point after the other, the inner ones at once.
        outer, inner = 0, self.reduced
        while inner and math.prod(self.sizes[dim] for dim in [*self.parallel, *inner]) > POINTS:
            outer, inner = outer + 1, self.reduced[outer + 1 :]
        self.inner = inner
        for point in itertools.product(*(range(self.sizes[dim]) for dim in self.reduced[:outer])):
            self.take(point)
        return [self.sums.join(i) for i in range(len(self.outs))] if self.sums else self.outs

    def indices(self, dims, point):
        """Of each loop an array over `dims`, or its number in the point of the reductions."""
        d = dict(zip(self.reduced, point))
        d.update(zip(dims, np.indices([self.sizes[dim] for dim in dims], sparse=True) if dims else []))
        return d

    def take(self, point):
        self.grid = sorted([*self.parallel, *self.inner])
        d = self.indices(self.grid, point)
        values = {name: load(m, o, d) for name, m, o in zip(self.in_names, self.maps, self.ins)}
        values = self.body(self.early, d, values)
        if self.accumulate(point, values):
            return
        wanted = {name for inner in [*self.late, self.terminator] for name in inner.operands}
        if any(inner.regions for inner in self.late):
            wanted = values.keys()
        values = {name: value for name, value in values.items() if name in wanted}
        places = self.indices(self.parallel, point)
        for last in itertools.product(*(range(self.sizes[dim]) for dim in self.inner)):
            self.take_one((*point, *last), places, {name: self.at(last, value) for name, value in values.items()})

    def take_one(self, point, places, values):
        d = {**places, **dict(zip(self.reduced, point))}
        outs = self.sums.at(point) if self.sums else self.outs
        maps = self.maps[self.num_ins :]
        values.update({name: load(m, o, d) for name, m, o in zip(self.out_names, maps, outs)})
        values = {**self.env, **self.body(self.late, d, values)}
        for out, map, name in zip(outs, maps, self.terminator.operands):
            self.store(out, mapped(map, d), values[name])

    @staticmethod
    def store(out, where, value):
        shape = np.broadcast_shapes(*(np.shape(w) for w in where), np.shape(value))
        out[tuple(where)] = np.broadcast_to(value, shape) if where else value

    def at(self, last, value):
        """The values of a point of the inner reductions, over the parallel loops."""
        if np.ndim(value) == 0:
            return value
        places = dict(zip(self.inner, last))
        return value[tuple(
            slice(None) if dim not in places else places[dim] if size > 1 else 0
            for dim, size in zip(self.grid, value.shape))]  # fmt: skip

    def accumulate(self, point, values):
        """Takes all points if each result is one plain join of what it was and a term."""
        makers = {name: inner for inner in self.late for name in inner.results}
        if not self.inner or self.sums or len(makers) != len(self.outs):
            return False
        terms = []
        maps = self.maps[self.num_ins :]
        for out, array, map, name in zip(self.out_names, self.outs, maps, self.terminator.operands):
            maker = makers.get(name)
            if maker is None or maker.name not in JOINS or maker.operands.count(out) != 1 or array.dtype.kind not in "if":
                return False
            if any(f"d[{dim}]" in expr for dim in self.inner for expr in map.results):
                return False
            terms += [operand for operand in maker.operands if operand != out]
        if len(terms) != len(self.outs) or not all(term in values or term in self.env for term in terms):
            return False
        places = self.indices(self.parallel, point)
        shape = [self.sizes[dim] for dim in self.parallel]
        count = math.prod(self.sizes[dim] for dim in self.inner)
        order = [self.grid.index(dim) for dim in [*self.inner, *self.parallel]]
        for out, map, name, term in zip(self.outs, maps, self.terminator.operands, terms):
            value = values[term] if term in values else self.env[term]
            value = np.broadcast_to(value, [self.sizes[dim] for dim in self.grid]).transpose(order)
            first = np.broadcast_to(load(map, out, places), shape)[None]
            steps = np.concatenate([first, value.reshape(count, *shape)])
            total = JOINS[makers[name].name].accumulate(steps, axis=0, dtype=out.dtype)[-1]
            self.store(out, mapped(map, places), total)
        return True

    def body(self, ops, d, values):
        env = {**self.env, **values}
        for inner in ops:
            if inner.name == "linalg.index":
                made = [np.asarray(d[inner.attrs["dim"]])]
            else:
                made = self.evaluate(inner, [env[v] for v in inner.operands], env)
            for known in (env, values):
                known.update(zip(inner.results, made))
        return values
