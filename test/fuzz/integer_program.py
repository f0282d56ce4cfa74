# SPDX-License-Identifier: Apache-2.0
"""Random JAX programs of integers: places and choices come from data, and no result depends on the order of a sum, so that all can be compared
exactly. A program is lines of Python, each of which makes one value.
"""

import math
import random
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12]
MOST_ELEMENTS = 240
AXES = ["a", "b"]
# `shard` says how a value lies where a mesh is at hand, and is nothing to JAX on one device.
WORLD = {"jax": jax, "jnp": jnp, "lax": lax, "P": P, "shard": lambda x, spec: x}
# What one pass of a scan makes of its carry `c` and its row `t`, both of one shape.
PASSES = ["(c * 2 - t, c)", "(c + t, c * t)", "(jnp.maximum(c, t), c - t)", "(t, c)", "(c ^ t, jnp.sum(c))",
          "(jnp.where(c > t, c, t - 1), c & 3)", "(c + 1, t[::-1] if t.ndim else t)", "(jnp.cumsum(c + t, -1), c)",
          "(jnp.sort(c, -1) + t, t)", "(c.at[jnp.sum(t) % c.shape[0]].add(1), c[0])", "(c, jnp.argmax(t + c))"]  # fmt: skip


class IntegerProgram:
    """Writes one program. `arguments` are its arrays, `specs` how they rest."""

    AXES = AXES

    def __init__(self, seed, most=10):
        self.rng = random.Random(f"{self.NAME} {seed}")
        self.draw = np.random.default_rng(self.rng.randrange(1 << 30))
        self.arguments, self.specs, self.lines, self.values = {}, {}, [], {}
        for _ in range(self.rng.randint(1, 2)):
            self.argument(self.shape(1))
        wanted = self.rng.randint(3, most)
        for _ in range(4 * wanted):
            if len(self.lines) < wanted:
                self.add(self.rng.choice(self.kinds())(self))
        used = re.findall(r"\b[vx]\d+", "\n".join(line.split(" = ", 1)[1] for line in self.lines))
        self.results = [name for name in self.values if name not in self.arguments and name not in used]
        self.out_specs = [self.spec(self.values[name].shape) for name in self.results]
        self.arguments = {name: array for name, array in self.arguments.items() if name in used}

    # ---- the whole

    NAME = "integers"

    def kinds(self):
        return KINDS

    def world(self):
        """What lines may call."""
        return WORLD

    def is_kept(self, made):
        return made.dtype.kind in "iub"

    def add(self, text):
        """Takes a line if it makes a value that is small enough."""
        try:
            made = jax.eval_shape(lambda values: eval(text, self.world() | values), dict(self.values))
        except (TypeError, ValueError, IndexError, ZeroDivisionError):
            return
        if not isinstance(made, jax.ShapeDtypeStruct) or math.prod(made.shape) > MOST_ELEMENTS or len(made.shape) > 4:
            return
        if not self.is_kept(made) or 0 in made.shape:
            return
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.values[name] = made

    def text(self):
        """The program as it could stand in a file."""
        lines = [f"    {line}" for line in self.lines]
        head = f"def step({', '.join(self.arguments)}):"
        return "\n".join([head, *lines, f"    return [{', '.join(self.results)}]"]) + "\n"

    def function(self, shard=WORLD["shard"]):
        world = self.world() | {"shard": shard}
        exec(self.text(), world)
        return world["step"]

    # ---- values

    def shape(self, min_rank=0, max_rank=3):
        while True:
            shape = tuple(self.rng.choice(SIZES) for _ in range(self.rng.randint(min_rank, max_rank)))
            if math.prod(shape) <= MOST_ELEMENTS:
                return shape

    def spec(self, shape):
        """How a tensor lies: each axis along one dimension, or none."""
        dims = [None] * len(shape)
        for axis in self.AXES:
            free = [d for d, taken in enumerate(dims) if taken is None and shape[d] > 1]
            if free and self.rng.random() < 0.6:
                dims[self.rng.choice(free)] = axis
        if shape and shape[0] > 3 and self.rng.random() < 0.1:
            dims = [tuple(self.AXES)] + [None] * (len(shape) - 1)
        return P(*dims)

    def argument(self, shape, dtype=None):
        dtype = np.dtype(dtype or self.rng.choice(["int32"] * 5 + ["int8", "uint8", "uint32", "int16"]))
        low, high = self.rng.choice([(-9, 10), (-9, 10), (0, 3), (-100, 100)])
        array = self.draw.integers(max(low, 0) if dtype.kind == "u" else low, high, shape)
        if self.rng.random() < 0.2 and array.size:
            edges = np.iinfo(dtype)
            array.flat[self.draw.integers(0, array.size)] = self.rng.choice([edges.min, edges.max])
        name = f"x{len(self.arguments)}"
        self.arguments[name] = np.asarray(array).astype(dtype)
        self.specs[name] = self.spec(shape)
        self.values[name] = jax.ShapeDtypeStruct(shape, dtype)
        return name

    def pick(self, min_rank=0, max_rank=4):
        """A value of integers, rather a late one."""
        fit = [name for name, value in self.values.items()
               if min_rank <= len(value.shape) <= max_rank and value.dtype.kind in "iu"]  # fmt: skip
        if not fit:
            return self.argument(self.shape(min_rank, min(3, max_rank)))
        fit.sort(key=lambda name: name not in self.arguments)
        return fit[max(self.rng.randrange(len(fit)), self.rng.randrange(len(fit)))]

    def of(self, name):
        return self.values[name].shape

    def like(self, shape):
        """A value of this shape: one that is there, or an argument."""
        fit = [name for name, value in self.values.items() if value.shape == shape and value.dtype.kind in "iu"]
        return self.rng.choice(fit) if fit and self.rng.random() < 0.7 else self.argument(shape)

    def fitting(self, shape):
        """What may stand beside a value of this shape."""
        way = self.rng.randrange(4)
        if way == 0:
            return str(self.rng.choice([1, 2, 3, 7, -1, 11]))
        if way == 1 and shape:
            return self.like(tuple(self.rng.choice([n, 1]) for n in shape))
        return self.like(shape) if way < 3 or not shape else self.like(shape[1:])

    def scalar(self):
        """A number from data."""
        name = self.pick()
        shape = self.of(name)
        if self.rng.random() < 0.5:
            return f"jnp.{self.rng.choice(['max', 'sum', 'min'])}({name})"
        return f"{name}[{', '.join(str(self.rng.randrange(n)) for n in shape)}]" if shape else name

    def axis(self, name, least=1):
        fit = [d for d, n in enumerate(self.of(name)) if n >= least]
        return self.rng.choice(fit) if fit else 0

    # ---- element by element

    def binary(self):
        x = self.pick()
        return f"{x} {self.rng.choice('+-*^&|')} {self.fitting(self.of(x))}"

    def bounds(self):
        x = self.pick()
        return f"jnp.{self.rng.choice(['minimum', 'maximum'])}({x}, {self.fitting(self.of(x))})"

    def division(self):
        x = self.pick()
        other = self.fitting(self.of(x))
        return self.rng.choice([f"{x} // {other}", f"{x} % {other}", f"lax.rem(*jnp.broadcast_arrays({x}, {x} & 3))"])

    def shift(self):
        x = self.pick()
        call = self.rng.choice(["left_shift", "right_shift"])
        return f"jnp.{call}({x}, {self.rng.choice([f'{x} & 7', '3', f'{x}'])})"

    def unary(self):
        x = self.pick()
        return self.rng.choice(["~{}", "-{}", "jnp.abs({})", "jnp.sign({})", "lax.population_count({})", "lax.clz({})",
                                "jnp.clip({}, -3, 5)", "{} * {}", "({} != 0).astype(jnp.int32)"]).replace("{}", x)  # fmt: skip

    def choice(self):
        x = self.pick()
        other = self.fitting(self.of(x))
        condition = self.rng.choice([f"{x} > {other}", f"{x} == 0", f"{self.scalar()} > 1", f"({x} < 3) & ({x} != {other})"])
        return f"jnp.where({condition}, {x}, {self.rng.choice([other, '0', f'{x} + 1'])})"

    def cast(self):
        x = self.pick()
        types = ["int8", "int16", "int32", "uint8", "uint32"]
        return self.rng.choice([
            f"{x}.astype(jnp.{self.rng.choice(types)})", f"({x}.astype(jnp.float32) < 2.5).astype(jnp.{self.rng.choice(types)})",
            f"(({x} & 63).astype(jnp.float32) * 0.5).astype(jnp.{self.rng.choice(types)})",
            f"jnp.float32({x}).astype(jnp.int8)"])  # fmt: skip

    def positions(self):
        x = self.pick(1)
        axis = self.axis(x)
        return self.rng.choice([f"lax.broadcasted_iota(jnp.int32, {self.of(x)}, {axis}) + {x}",
                                f"jnp.where(lax.broadcasted_iota(jnp.int32, {self.of(x)}, {axis}) < {self.scalar()}, {x}, 0)",
                                f"jnp.arange({self.rng.choice(SIZES)}) * {self.scalar()}",
                                f"jnp.tril(jnp.ones(({self.rng.choice(SIZES)}, {self.rng.choice(SIZES)}), jnp.int32))"])  # fmt: skip

    # ---- along a dimension

    def reduction(self):
        x = self.pick(1)
        call = self.rng.choice(["sum", "sum", "max", "min", "prod", "any", "all", "argmax", "argmin"])
        axis = self.rng.choice([self.axis(x), self.axis(x), None])
        keep = ", keepdims=True" if self.rng.random() < 0.3 else ""
        cast = ".astype(jnp.int32)" if call in ("any", "all") else ""
        return f"jnp.{call}({x}, {axis}{keep}){cast}"

    def running(self):
        x = self.pick(1)
        call = self.rng.choice(["cumsum", "cummax", "cummin", "cumsum"])
        return f"lax.{call}({x}, {self.axis(x)}, reverse={self.rng.random() < 0.4})"

    def sort(self):
        x = self.pick(1)
        axis = self.axis(x, 2)
        keys = self.like(self.of(x))
        return self.rng.choice([f"jnp.sort({x}, {axis})", f"jnp.sort({x}, {axis})", f"jnp.argsort({x}, {axis})",
                                f"lax.sort(({keys}, {x}), dimension={axis}, num_keys=1)[1]",
                                f"lax.top_k({x}, {self.rng.randint(1, self.of(x)[-1])})[{self.rng.randrange(2)}]",
                                f"jnp.sort({x}, {axis}, descending=True)"])  # fmt: skip

    def product(self):
        x = self.pick(2, 3)
        shape = self.of(x)
        other = self.like((*shape[:-2], shape[-1], self.rng.choice(SIZES)))
        same = self.like(shape)
        return self.rng.choice([f"{x} @ {other}", f"jnp.einsum('...ij,...ij->...i', {x}, {same})",
                                f"jnp.einsum('...ij,...kj->...ik', {x}, {same})"])  # fmt: skip

    # ---- movement

    def slice(self):
        x = self.pick(1)
        cuts = []
        for n in self.of(x):
            begin = self.rng.randrange(n)
            cuts.append(self.rng.choice([":", ":", "::2", "::-1", f"{begin}:", f":{begin + 1}", str(begin), f"{begin}::3"]))
        return f"{x}[{', '.join(cuts)}]"

    def join(self):
        x = self.pick(1)
        axis, shape = self.axis(x), list(self.of(x))
        shape[axis] = self.rng.choice(SIZES)
        return self.rng.choice([f"jnp.concatenate([{x}, {self.like(tuple(shape))}], {axis})",
                                f"jnp.concatenate([{x}, {x}], {axis})", f"jnp.stack([{x}, {self.like(self.of(x))}], {axis})"])  # fmt: skip

    def reshape(self):
        x = self.pick(1)
        shape = self.of(x)
        last = shape[-1]
        cut = [k for k in range(1, last + 1) if last % k == 0]
        return self.rng.choice([f"{x}.reshape(-1)", f"{x}.reshape(*{shape[:-1]}, {self.rng.choice(cut)}, -1)",
                                f"jnp.expand_dims({x}, {self.rng.randint(0, len(shape))})", f"jnp.squeeze({x})",
                                f"jnp.transpose({x}, {tuple(self.rng.sample(range(len(shape)), len(shape)))})",
                                f"{x}.reshape({self.rng.choice(cut)}, -1)"])  # fmt: skip

    def spread(self):
        x = self.pick()
        shape, times = self.of(x), self.rng.choice([2, 3, 4])
        axis = self.axis(x)
        return self.rng.choice([f"jnp.broadcast_to({x}, ({times}, *{shape}))", f"jnp.repeat({x}, {times}, {axis})",
                                f"jnp.tile({x}, {times})", f"jnp.broadcast_to({x}[..., None], (*{shape}, {times}))"])  # fmt: skip

    def turn(self):
        x = self.pick(1)
        axis = self.axis(x)
        return self.rng.choice([f"jnp.roll({x}, {self.rng.choice([1, 2, -1])}, {axis})", f"jnp.flip({x}, {axis})",
                                f"jnp.roll({x}, {self.scalar()} & 3, {axis})", f"jnp.diff({x}, axis={axis})"])  # fmt: skip

    def pad(self):
        x = self.pick(1)
        amounts = [self.rng.choice([(0, 0, 0), (0, 0, 0), (1, 0, 0), (0, 2, 0), (1, 1, 1), (-1, 1, 0)]) for _ in self.of(x)]
        return f"lax.pad({x}, {x}.dtype.type({self.rng.choice([0, 1, 3])}), {amounts})"

    def shard(self):
        x = self.pick(1)
        return f"shard({x}, {self.spec(self.of(x))})".replace("PartitionSpec", "P")

    # ---- places from data

    def indices(self, size):
        """Integers to look up with, of any shape; some lie outside."""
        x = self.pick()
        return self.rng.choice([x, f"{x} % {size}", f"{x} & 3"])

    def take(self):
        x = self.pick(1)
        axis = self.axis(x)
        mode = self.rng.choice(["clip", "wrap", "fill"])
        return f"jnp.take({x}, {self.indices(self.of(x)[axis])}, {axis}, mode='{mode}')"

    def take_along(self):
        x = self.pick(1)
        axis, shape = self.axis(x), list(self.of(x))
        shape[axis] = self.rng.choice([1, shape[axis], 3])
        mode = self.rng.choice(["clip", "fill"])
        return f"jnp.take_along_axis({x}, {self.like(tuple(shape))} % {self.of(x)[axis]}, {axis}, mode='{mode}')"

    def scatter(self):
        x = self.pick(1)
        shape = self.of(x)
        count = self.rng.choice(SIZES)
        where, how = self.like((count,)), self.rng.choice(["add", "max", "min", "add"])
        return self.rng.choice([
            f"{x}.at[{where} % {shape[0]}].{how}({self.like((count, *shape[1:]))}.astype({x}.dtype))",
            f"{x}.at[{where}].{how}({self.rng.choice([1, 3])})",
            f"{x}.at[{self.scalar()} % {shape[0]}].set({self.like(shape[1:])}.astype({x}.dtype))",
            f"{x}.at[jnp.argsort({self.like((shape[0],))})].set({self.like(shape)}.astype({x}.dtype))"])  # fmt: skip

    def mapped(self):
        """Of each row: lookups, insertions and slices at places of its own."""
        x = self.pick(2, 3)
        rows, n = self.of(x)[:2]
        count = self.rng.choice([1, 2, 3, n])
        where = self.like((rows, count))
        return self.rng.choice([
            f"jax.vmap(lambda t, i: t.at[i % {n}].add(1))({x}, {where})",
            f"jax.vmap(lambda t, i: t[i % {n}])({x}, {where})",
            f"jax.vmap(lambda t, i: lax.dynamic_slice_in_dim(t, i, {self.rng.randint(1, n)}, 0))({x}, {where}[:, 0])",
            f"jax.vmap(lambda t, i: lax.dynamic_update_index_in_dim(t, t[0] + 1, i, 0))({x}, {where}[:, 0])",
            f"jax.vmap(lambda t, i: t.at[i].max(i[0].astype(t.dtype)))({x}, {where})"])  # fmt: skip

    def window(self):
        x = self.pick(1)
        shape = self.of(x)
        sizes = tuple(self.rng.choice([n, self.rng.randint(1, n)]) for n in shape)
        begins = ", ".join(self.rng.choice([self.scalar(), "0", "1"]) for _ in shape)
        if self.rng.random() < 0.5:
            return f"lax.dynamic_slice({x}, ({begins},), {sizes})"
        return f"lax.dynamic_update_slice({x}, {self.like(sizes)}.astype({x}.dtype), ({begins},))"

    def counted(self):
        x = self.pick(1)
        return self.rng.choice([f"jnp.bincount({x}.reshape(-1) & 7, length={self.rng.choice(SIZES)})",
                                f"jax.nn.one_hot({x} & 3, {self.rng.choice(SIZES)}, dtype=jnp.int32)",
                                f"jax.ops.segment_sum({x}, {self.like(self.of(x)[:1])} % 5, 5)",
                                f"jnp.searchsorted(jnp.sort({x}.reshape(-1)), {self.like(self.shape(0, 2))})",
                                f"jnp.nonzero({x}.reshape(-1) > 1, size=4, fill_value=0)[0]"])  # fmt: skip

    # ---- loops and branches

    def scan(self):
        x = self.pick(1)
        start = self.rng.choice([f"{x}[0] * 0 + 1", f"{x}[-1]", f"{self.like(self.of(x)[1:])}.astype({x}.dtype)"])
        line = self.rng.choice(PASSES)
        return (f"lax.scan(lambda c, t: {line}, {start}, {x}, reverse={self.rng.random() < 0.3})"
                f"[{self.rng.randrange(2)}]")  # fmt: skip

    def scan_rows(self):
        """A scan of each row: the loop's body works on all of them."""
        x = self.pick(2)
        line = self.rng.choice(PASSES)
        return f"jax.vmap(lambda r: lax.scan(lambda c, t: {line}, r[0], r)[{self.rng.randrange(2)}])({x})"

    def loop(self):
        x = self.pick(1)
        n = self.of(x)[0]
        start = self.like(self.of(x)[1:])
        passes = self.rng.choice([0, 1, 3])
        body = self.rng.choice([f"c + lax.dynamic_index_in_dim({x}, i, 0, False)", f"(c * 3 + i) % 101 + {x}[{n - 1}]",
                                f"jnp.where(c > i, c - 1, {x}[i % {n}])"])  # fmt: skip
        return f"lax.fori_loop(0, {passes}, lambda i, c: ({body}).astype(c.dtype), {start})"

    def branch(self):
        x = self.pick()
        other = self.like(self.of(x))
        ways = self.rng.sample(["p + q", "p - q", "p", "q", "jnp.flip(p)", "p * 0 + 3", "jnp.cumsum(q.reshape(-1)).reshape(q.shape)"], 3)
        ways = [f"lambda p, q: ({way}).astype(p.dtype)" for way in ways]
        if self.rng.random() < 0.5:
            return f"lax.cond({self.scalar()} > 0, {ways[0]}, {ways[1]}, {x}, {other})"
        return f"lax.switch({self.scalar()}, [{', '.join(ways)}], {x}, {other})"


KINDS = [IntegerProgram.binary, IntegerProgram.binary, IntegerProgram.bounds, IntegerProgram.division, IntegerProgram.shift,
         IntegerProgram.unary, IntegerProgram.choice, IntegerProgram.cast, IntegerProgram.positions,
         IntegerProgram.reduction, IntegerProgram.reduction, IntegerProgram.running, IntegerProgram.sort,
         IntegerProgram.product, IntegerProgram.slice, IntegerProgram.slice, IntegerProgram.join, IntegerProgram.reshape,
         IntegerProgram.spread, IntegerProgram.turn, IntegerProgram.pad, IntegerProgram.shard, IntegerProgram.shard,
         IntegerProgram.take, IntegerProgram.take_along, IntegerProgram.scatter, IntegerProgram.scatter,
         IntegerProgram.mapped, IntegerProgram.window, IntegerProgram.counted, IntegerProgram.scan,
         IntegerProgram.scan_rows, IntegerProgram.loop, IntegerProgram.branch]  # fmt: skip
