# SPDX-License-Identifier: Apache-2.0
"""Random JAX programs of floats that hold small integers, so that sums, products and casts are exact in any order, and all can be
compared to the last bit: gradients of lookups, sorts and pools, running sums, windows at places from data, loops whose
carries change places, reshapes and concatenations of what is cut, and narrow types.

`rough` values come from functions that round; nothing is decided by them, and they are compared by tolerance.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
from integer_program import WORLD, IntegerProgram
from jax import lax
from jax.sharding import PartitionSpec as P

SIZES = [1, 2, 3, 4, 6, 8, 12]
AXES = ["a", "b", "c"]
NARROW = ["bfloat16", "float16", "float8_e4m3fn"]


def squash(x):
    """What is near to zero again, and still an integer."""
    return x - 9 * jnp.round(x / 9)


def pool(x, window, how):
    """Of a matrix, windows that overlap or do not."""
    size, stride, padding = window
    start, op = {"max": (-jnp.inf, lax.max), "min": (jnp.inf, lax.min), "add": (0.0, lax.add)}[how]
    return lax.reduce_window(x, jnp.asarray(start, x.dtype), op, size, stride, padding)


HELPERS = {"squash": squash, "pool": pool}


class NumberProgram(IntegerProgram):
    """Writes one program, as IntegerProgram does."""

    AXES = AXES
    NAME = "numbers"

    def __init__(self, seed):
        self.rough: set[str] = set()
        super().__init__(seed, most=6)

    # ---- the whole

    def world(self):
        return WORLD | HELPERS

    def kinds(self):
        return KINDS

    def is_kept(self, made):
        return made.dtype == jnp.float32

    def add(self, text):
        before = len(self.lines)
        super().add(text)
        if len(self.lines) > before:
            name, line = self.lines[-1].split(" = ", 1)
            if ROUGH.search(line) or self.rough & set(re.findall(r"\b[vx]\d+", line)):
                self.rough.add(name)

    # ---- values

    def argument(self, shape, dtype="float32"):
        low, high = self.rng.choice([(-4, 5), (-4, 5), (0, 2), (-1, 2)])
        name = f"x{len(self.arguments)}"
        self.arguments[name] = self.draw.integers(low, high, shape).astype(dtype)
        self.specs[name] = self.spec(shape)
        self.values[name] = jax.ShapeDtypeStruct(shape, np.dtype(dtype))
        return name

    def is_number(self, name):
        return self.values[name].dtype == jnp.float32

    def pick(self, min_rank=0, max_rank=4, exact=True):
        """A value of floats, rather a late one; of those that may decide something."""
        fit = [name for name, value in self.values.items() if min_rank <= len(value.shape) <= max_rank
               and self.is_number(name) and not (exact and name in self.rough)]  # fmt: skip
        if not fit:
            return self.argument(self.shape(min_rank, min(3, max_rank)))
        fit.sort(key=lambda name: name not in self.arguments)
        return fit[max(self.rng.randrange(len(fit)), self.rng.randrange(len(fit)))]

    def like(self, shape, exact=True):
        fit = [name for name, value in self.values.items()
               if value.shape == shape and self.is_number(name) and not (exact and name in self.rough)]  # fmt: skip
        return self.rng.choice(fit) if fit and self.rng.random() < 0.7 else self.argument(shape)

    def places(self, shape, size):
        """Arguments of integers to look up with."""
        name = self.argument(shape, "int32")
        return f"({name} % {size})"

    def place(self):
        return self.argument((), "int32")

    def gradient(self, x, line):
        """Of what `line` makes of `t`, at `x`: each element counts as often as it says."""
        return f"jax.grad(lambda t: jnp.vdot(y := ({line}), lax.stop_gradient(y)))({x})"

    def plain_or_gradient(self, x, line):
        """What `line` makes of `t`, or its gradient."""
        if self.rng.random() < 0.5:
            return "squash(" + re.sub(r"\bt\b", x, line) + ")"
        return f"squash({self.gradient(x, line)})"

    # ---- element by element

    def binary(self):
        x = self.pick(exact=False)
        return f"squash({x} {self.rng.choice('+-*')} {self.like(self.of(x), exact=False)})"

    def spread(self):
        """What is repeated meets what is not."""
        x = self.pick(1)
        axis, shape = self.axis(x), self.of(x)
        other = self.like(tuple(n for d, n in enumerate(shape) if d != axis))
        return f"squash({x} {self.rng.choice('+-*')} jnp.expand_dims({other}, {axis}))"

    def narrow(self):
        x = self.pick()
        low = self.rng.choice(NARROW)
        other = self.like(self.of(x))
        return self.rng.choice([f"{x}.astype(jnp.{low}).astype(jnp.float32)",
                                f"jnp.maximum({x}.astype(jnp.bfloat16), {other}.astype(jnp.bfloat16)).astype(jnp.float32)",
                                f"squash(({x}.astype(jnp.float16) * {other}.astype(jnp.float16)).astype(jnp.float32))",
                                f"jnp.where({x} > 0, {x}.astype(jnp.bfloat16), {other}.astype(jnp.bfloat16)).astype(jnp.float32)"])  # fmt: skip

    def smooth(self):
        x = self.pick(exact=False)
        return self.rng.choice(["jnp.tanh({})", "jnp.exp(-jnp.abs({}))", "jax.nn.sigmoid({})", "jax.nn.gelu({})"]).replace("{}", x)

    def rounded(self):
        """Along a dimension, with rounding."""
        x = self.pick(1, exact=False)
        axis = self.axis(x)
        return self.rng.choice([f"jax.nn.softmax({x}, {axis})", f"jax.nn.logsumexp({x}, {axis})", f"lax.cumlogsumexp({x}, {axis})",
                                f"jnp.mean({x}, {axis})", f"jnp.var({x}, {axis})", f"jax.nn.log_softmax({x}, {axis})"])  # fmt: skip

    def integers(self):
        x = self.pick()
        by = self.rng.choice(["3", "-2", f"jnp.where({x} > 0, 2, 3)"])
        return self.rng.choice([f"({x}.astype(jnp.int32) // {by}).astype(jnp.float32)", f"({x}.astype(jnp.int32) % {by}).astype(jnp.float32)",
                                f"({x}.astype(jnp.int8) << 1).astype(jnp.float32)", f"jnp.floor({x} / 2.0)",
                                f"({x}.astype(jnp.int32) & 5).astype(jnp.float32)"])  # fmt: skip

    def bits(self):
        """Random bits by a key that is an argument."""
        name = f"x{len(self.arguments)}"
        self.arguments[name] = self.draw.integers(0, 1 << 31, (2,)).astype(np.uint32)
        self.specs[name] = P()
        self.values[name] = jax.ShapeDtypeStruct((2,), np.dtype(np.uint32))
        x = self.pick()
        return self.rng.choice([f"jnp.where(jax.random.bits({name}, {self.of(x)}) % 3 == 0, 0.0, {x})",
                                f"jnp.where(jax.random.bernoulli({name}, 0.5, {self.of(x)}), {x}, 1.0)",
                                f"jax.random.randint({name}, {self.of(x)}, -3, 4).astype(jnp.float32) + {x}"])  # fmt: skip

    def positions(self):
        """Several iotas at once."""
        x = self.pick(2)
        rank, shape = len(self.of(x)), self.of(x)
        i, j = self.rng.sample(range(rank), 2)
        first, second = (f"lax.broadcasted_iota(jnp.int32, {shape}, {d})" for d in (i, j))
        return self.rng.choice([f"jnp.where({first} > {second}, {x}, 0.0)", f"jnp.where({first} == {second}, {x}, 1.0)",
                                f"{x} + (({first} * {shape[j]} + {second}) % 5).astype(jnp.float32)",
                                f"jnp.where(({first} + {second}) % 2 == 0, {x}, -{x})",
                                f"jnp.where({first} + {self.place()} >= {second}, {x}, 0.0)"])  # fmt: skip

    # ---- along a dimension

    def reduction(self):
        x = self.pick(1, exact=False)
        axis = self.rng.choice([self.axis(x), self.axis(x), None])
        call = self.rng.choice(["sum", "sum", "max", "min", "sum"])
        exact = self.rng.choice(["{}", "jnp.nanmax({})", "jnp.argmax({}).astype(jnp.float32)", "jnp.any({} > 1, {axis}).astype(jnp.float32)"])
        if self.rng.random() < 0.7 or x in self.rough:
            return f"squash(jnp.{call}({x}, {axis}))"
        return exact.replace("{axis}", str(axis)).replace("{}", f"{x}" if "any" in exact else f"{x}, {axis}") if exact != "{}" else None

    def starts(self):
        """Extrema that begin with something else than nothing, and joins of several."""
        x = self.pick(1)
        axis = self.axis(x)
        other = self.like(self.of(x))
        call = self.rng.choice(["max", "min"])
        return self.rng.choice([f"jnp.{call}({x}, {axis}, initial={self.rng.choice([0, -1, 2])}.0)",
                                f"jnp.{call}imum(jnp.{call}({x}, {axis}), jnp.{call}({other}, {axis}))",
                                f"squash(jnp.sum({x}, {axis}) + jnp.sum({other}, {axis}))",
                                f"squash(jnp.sum({x}, {axis}) - 2 * jnp.sum({other}, {axis}))",
                                f"squash(jnp.sum(jnp.broadcast_to(jnp.sum({x}, {axis}, keepdims=True), {self.of(x)}), {axis}))"])  # fmt: skip

    def running(self):
        x = self.pick(1)
        axis, reverse = self.axis(x), self.rng.random() < 0.4
        line = self.rng.choice(["lax.cumsum(t, %d, reverse=%s)", "lax.cummax(t, %d, reverse=%s)", "squash(lax.cumsum(t, %d, reverse=%s))"])
        return self.plain_or_gradient(x, line % (axis, reverse)) if "squash" not in line else \
            "squash(" + (line % (axis, reverse)).replace("(t,", f"({x},") + ")"  # fmt: skip

    def sort(self):
        x = self.pick(1)
        axis = self.axis(x)
        k = self.rng.randint(1, self.of(x)[-1])
        line = self.rng.choice([f"jnp.sort(t, {axis})", f"lax.top_k(t, {k})[0]", f"jnp.take_along_axis(t, jnp.argsort(t, {axis}), {axis})",
                                f"jnp.flip(jnp.sort(t, {axis}), {axis})"])  # fmt: skip
        return self.plain_or_gradient(x, line)

    def product(self):
        x = self.pick(2, 3)
        shape = self.of(x)
        other = self.like((*shape[:-2], shape[-1], self.rng.choice(SIZES)))
        return self.plain_or_gradient(x, self.rng.choice([f"t @ {other}", f"jnp.einsum('...ij,...kj->...ik', t, {self.like(shape)})",
                                                          f"jnp.tensordot(t, {self.like((shape[-1], 2))}, 1)"]))  # fmt: skip

    # ---- movement

    def slice(self):
        x = self.pick(1)
        cuts = []
        for n in self.of(x):
            begin = self.rng.randrange(n)
            cuts.append(self.rng.choice([":", ":", "::2", "::-1", f"{begin}:", f":{begin + 1}", f"{begin}::3"]))
        return self.plain_or_gradient(x, f"t[{', '.join(cuts)}]")

    def join(self):
        x = self.pick(1)
        axis, shape = self.axis(x), list(self.of(x))
        shape[axis] = self.rng.choice(SIZES)
        return self.plain_or_gradient(x, self.rng.choice([
            f"jnp.concatenate([t, {self.like(tuple(shape))}], {axis})", f"jnp.concatenate([t, t * 2], {axis})",
            f"jnp.stack([t, {self.like(self.of(x))}], {axis})", f"jnp.roll(t, {self.rng.choice([1, 2, -1])}, {axis})",
            f"jnp.concatenate([t, t, t], {axis})"]))  # fmt: skip

    def reshape(self):
        """Dimensions become one, and another one is cut out of that."""
        x = self.pick(2)
        shape = self.of(x)
        at = self.rng.randrange(len(shape) - 1)
        joined = shape[at] * shape[at + 1]
        part = self.rng.choice([k for k in range(1, joined + 1) if joined % k == 0])
        lines = [f"t.reshape({(*shape[:at], joined, *shape[at + 2:])})", f"t.reshape({(*shape[:at], part, joined // part, *shape[at + 2:])})",
                 f"jnp.swapaxes(t, {at}, {at + 1}).reshape({(*shape[:at], joined, *shape[at + 2:])})",
                 f"t.reshape({(*shape[:at], part, joined // part, *shape[at + 2:])}).sum({at})",
                 f"jnp.repeat(t, 2, {at}).reshape({(*shape[:at], 2 * joined, *shape[at + 2:])})"]  # fmt: skip
        return self.plain_or_gradient(x, self.rng.choice(lines))

    def pad(self):
        x = self.pick(1)
        amounts = [self.rng.choice([(0, 0, 0), (0, 0, 0), (1, 0, 0), (0, 2, 0), (1, 1, 1), (-1, 1, 0)]) for _ in self.of(x)]
        return self.plain_or_gradient(x, f"lax.pad(t, {self.rng.choice([0, 1])}.0, {amounts})")

    def turn(self):
        x = self.pick(2)
        order = tuple(self.rng.sample(range(len(self.of(x))), len(self.of(x))))
        return f"jnp.transpose({x}, {order})"

    def shard(self):
        x = self.pick(1, exact=False)
        return f"shard({x}, {self.spec(self.of(x))})".replace("PartitionSpec", "P")

    # ---- places from data

    def take(self):
        x = self.pick(1)
        axis, shape = self.axis(x), self.of(x)
        where = self.places(self.shape(1, 2), shape[axis])
        along = self.places(tuple(1 if d == axis else n for d, n in enumerate(shape)), shape[axis])
        return self.plain_or_gradient(x, self.rng.choice([f"jnp.take(t, {where}, {axis})", f"jnp.take_along_axis(t, {along}, {axis})",
                                                          f"jnp.take(t, {where} - 1, {axis}, mode='fill', fill_value=0)"]))  # fmt: skip

    def scatter(self):
        x = self.pick(1)
        shape, count = self.of(x), self.rng.choice(SIZES)
        where, how = self.places((count,), shape[0]), self.rng.choice(["add", "max", "min", "add"])
        updates = self.like((count, *shape[1:]))
        return "squash(" + self.rng.choice([
            f"{x}.at[{where}].{how}({updates})", f"{x}.at[{where} - 1].add({updates}, mode='drop')",
            f"{x}.at[{self.place()} % {shape[0]}].set({self.like(shape[1:])})",
            f"jax.grad(lambda t: jnp.vdot(y := {x}.at[{where}].add(t), lax.stop_gradient(y)))({updates})",
            f"jax.ops.segment_sum({updates}, {where}, {shape[0]})", f"jax.ops.segment_max({updates}, {where}, {shape[0]}, indices_are_sorted=False)"
            .replace("jax.ops.segment_max(", "jnp.maximum(-5.0, jax.ops.segment_max(") + ")"]) + ")"  # fmt: skip

    def window(self):
        x = self.pick(1)
        shape = self.of(x)
        sizes = tuple(self.rng.choice([n, self.rng.randint(1, n)]) for n in shape)
        begins = ", ".join(self.rng.choice([self.place(), "0", "1"]) for _ in shape)
        line = f"lax.dynamic_slice(t, ({begins},), {sizes})" if self.rng.random() < 0.5 else \
            f"lax.dynamic_update_slice(t, {self.like(sizes)}, ({begins},))"
        return self.plain_or_gradient(x, line)

    def ring(self):
        """A cache that is written at a place, and read from there."""
        x = self.pick(2)
        shape = self.of(x)
        at, row = self.place(), self.like((1, *shape[1:]))
        return (f"squash(jnp.cumsum(lax.dynamic_update_slice({x}, {row}, ({at} % {shape[0]}, {'0, ' * (len(shape) - 1)})), 0)"
                f" * lax.dynamic_slice_in_dim({x}, {at}, 1, 0))")  # fmt: skip

    # ---- windows

    def pooled(self):
        x = self.pick(2, 2)
        n, m = self.of(x)
        size = (self.rng.choice([1, min(2, n)]), self.rng.choice([1, min(2, m), min(3, m)]))
        stride = tuple(self.rng.choice([1, s]) for s in size)
        how = self.rng.choice(["max", "add", "min"])
        line = f"pool(t, ({size}, {stride}, '{self.rng.choice(['VALID', 'SAME'])}'), '{how}')"
        return self.plain_or_gradient(x, line)

    # ---- loops

    def swap(self):
        """Carries that change places."""
        x = self.pick(1)
        rest = self.of(x)[1:]
        first, second = self.like(rest), self.like(rest)
        body = self.rng.choice(["((c[1], squash(c[0] + t)), c[0] - c[1])", "((c[1] + 1, c[0]), squash(c[0] * t))",
                                "((squash(c[1] - t), c[0]), t)", "((t, c[0]), c[1])", "((c[1], c[0]), c[0] + t)"])  # fmt: skip
        out = self.rng.choice(["[0][0]", "[0][1]", "[1]"])
        return f"lax.scan(lambda c, t: {body}, ({first}, {second}), {x}){out}"

    def whiled(self):
        x = self.pick(1)
        other, passes = self.like(self.of(x)), self.rng.choice([4, 5])
        body = self.rng.choice(["(c[0] + 1, c[2], squash(c[1] + c[2]))", "(c[0] + 1, c[2], c[1])",
                                f"(c[0] + 1, squash(c[1] + lax.dynamic_index_in_dim({x}, c[0], 0, True)), c[1])",
                                "(c[0] + 1, squash(c[1] - jnp.sum(c[2])), c[2] * -1)"])  # fmt: skip
        return f"lax.while_loop(lambda c: c[0] < {passes}, lambda c: {body}, (0, {x}, {other}))[{self.rng.choice([1, 2])}]"

    def scanned(self):
        """The gradient of a scan over rows with weights that are not scanned."""
        x = self.pick(2, 2)
        n = self.of(x)[1]
        w = self.like((n, n))
        return f"squash(jax.grad(lambda w: jnp.sum(lax.scan(lambda c, t: (squash(t @ w), squash(t @ w) * 1.0), {x}[0], {x})[1]))({w}))"

    def branch(self):
        x = self.pick()
        other = self.like(self.of(x))
        ways = self.rng.sample(["p + q", "p - q", "p", "q", "jnp.flip(p)", "p * 0 + 3"], 2)
        return f"lax.cond({self.place()} > 4, lambda p, q: {ways[0]}, lambda p, q: {ways[1]}, {x}, {other})"

    def mapped(self):
        """Heads that are looped over by vmap, with what they share."""
        x = self.pick(3, 3)
        a, b, c = self.of(x)
        other = self.like((a, c, 2))
        return self.rng.choice([f"squash(jax.vmap(lambda p: p @ {self.like((c, 2))}, 1, 1)({x}))",
                                f"squash(jax.vmap(lambda p: jnp.einsum('ac,acd->ad', p, {other}), in_axes=1, out_axes=1)({x}))",
                                f"jax.vmap(lambda p: jnp.max(p, 0), in_axes=2, out_axes=1)({x})",
                                f"squash(jnp.einsum('abc,acd->bd', {x}, jnp.repeat({self.like((1, c, 2))}, {a}, 0)))"])  # fmt: skip


ROUGH = re.compile(r"tanh|jnp\.exp\(|sumexp|sigmoid|gelu|softmax|mean|jnp\.var")
KINDS = [kind for name, kind in vars(NumberProgram).items() if not name.startswith("_") and name not in (
    "AXES", "NAME", "world", "is_kept", "kinds", "add", "argument", "is_number", "pick", "like", "places", "place", "gradient", "plain_or_gradient")]  # fmt: skip
