# SPDX-License-Identifier: Apache-2.0
"""Random programs to be compiled for many meshes and compared bit for bit.

Sizes are so large that reductions are cut, and what is made of a sum passes
differences of one bit on. Shardings are not part of a program: `text` draws
them for a mesh.
"""

import json
import math
import random
import re

import program
from program import INTEGERS, affine, is_float, tensor

FLOATS = ["f32", "f32", "f32", "f32", "bf16", "bf16", "bf16", "f64", "f16"]
# Functions that are smooth and stay near 1, of %x.
SMOOTH = [
    ["%r = math.sin %x"],
    ["%r = math.cos %x"],
    ["%a = math.absf %x", "%d = arith.addf %a, %one", "%r = arith.divf %x, %d"],
    ["%s = arith.mulf %x, %x", "%d = arith.addf %s, %one", "%r = math.rsqrt %d"],
    ["%s = arith.mulf %x, %x", "%d = arith.addf %s, %one", "%r = math.log %d"],
    ["%a = math.absf %x", "%n = arith.negf %a", "%r = math.exp %n"],
    ["%h = arith.mulf %x, %half", "%r = math.tanh %h"],
    ["%h = arith.mulf %x, %half", "%r = math.erf %h"],
    ["%r = arith.mulf %x, %half"],
    ["%s = arith.mulf %x, %x", "%d = arith.addf %s, %one", "%q = math.sqrt %d", "%r = arith.divf %x, %q"],
    ["%r = math.atan %x"],
    ["%a = math.absf %x", "%r = math.log1p %a"],
    ["%a = math.absf %x", "%n = arith.negf %a", "%r = math.expm1 %n"],
    ["%a = math.absf %x", "%n = arith.negf %a", "%r = math.exp2 %n"],
    ["%a = math.absf %x", "%d = arith.addf %a, %one", "%r = math.log2 %d"],
    ["%r = math.cbrt %x"],
    ["%a = math.absf %x", "%d = arith.addf %a, %half", "%r = math.powf %d, %half"],
]  # fmt: skip
# How a reduction combines, with its start: %i0 is the element, %o the sum.
SUMS = [
    (["%r = arith.addf %o, %i0"], "0.0"),
    (["%r = arith.addf %i0, %o"], "0.0"),
    (["%r = arith.addf %o, %i0"], "1.5"),
    (["%t = arith.mulf %i0, %i0", "%r = arith.addf %o, %t"], "0.0"),
    (["%t = math.absf %i0", "%r = arith.addf %t, %o"], "0.0"),
    (["%t = math.sin %i0", "%r = arith.addf %o, %t"], "0.0"),
    (["%h = arith.constant 0.5", "%t = math.fma %i0, %i0, %h", "%r = arith.addf %o, %t"], "0.0"),
    (["%t = math.cos %i0", "%r = arith.mulf %o, %t"], "1.0"),
    (["%h = arith.constant 0.5", "%t = arith.mulf %o, %h", "%r = arith.addf %t, %i0"], "0.0"),
    (["%r = math.fma %i0, %i0, %o"], "0.0"),
    (["%t = arith.negf %i0", "%r = arith.addf %o, %t"], "0.0"),
    (["%r = arith.subf %o, %i0"], "0.0"),
    (["%h = arith.constant 0.5", "%t = arith.mulf %o, %h", "%r = arith.maximumf %t, %i0"], "0.0"),
    (["%r = arith.maximumf %o, %i0"], "-9.0"),
    (["%r = arith.minnumf %o, %i0"], "9.0"),
]  # fmt: skip


# What has no declared result in f64.
NOT_WIDE = re.compile(r"math\.(sin|cos|erf|atan|cbrt)\b")


def is_declared(lines, element):
    return element != "f64" or not NOT_WIDE.search(" ".join(lines))


def typed(lines, element):
    return [f"{line} : {element}" for line in lines]


class MeshProgram(program.Program):
    SIZES = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 100, 128, 192, 256, 384, 512, 640,
             768, 1000, 1024, 1536, 2048]  # fmt: skip
    MAX_ELEMENTS = 1 << 16

    def __init__(self, seed, max_ops=8):
        super().__init__(seed)
        self.names, self.max_ops = ["x", "y", "z"], max_ops

    # ---- pieces

    def shape(self, low, high):
        while True:
            result = tuple(self.rng.choice(self.SIZES) for _ in range(self.rng.randint(low, high)))
            if math.prod(result) <= self.MAX_ELEMENTS:
                return result

    def argument(self, element, min_rank=0, shape=None):
        return super().argument(element, shape=self.shape(min_rank, 3) if shape is None else shape)

    def number(self, min_rank=0):
        kinds = FLOATS if self.rng.random() < 0.9 else INTEGERS
        return self.pick(kinds, min_rank)

    def bound(self, source, element):
        if not is_float(element):
            return super().bound(source, element)
        body = ["%one = arith.constant 1.0", "%half = arith.constant 0.5", *self.rng.choice([way for way in SMOOTH if is_declared(way, element)])]
        return [line.replace("%x", source) for line in typed(body, element)]

    def last(self):
        return self.values[-1]

    def apply(self, ins, out, lines):
        """Elementwise over values of one shape; lines without their type."""
        self.elementwise(ins, out, typed(lines, out[1]))
        return self.last()

    def smooth(self, value):
        self.elementwise([value], value[1:], self.bound("%i0", value[2]))
        return self.last()

    def scale(self, value, factor):
        return self.apply([value], value[1:], [f"%c = arith.constant {factor:e}", "%r = arith.mulf %i0, %c"])

    def spread(self, op, value, other, kept):
        """value op other, which has only the dims `kept`."""
        full = range(len(value[1]))
        self.generic([full, kept, full], ["parallel"] * len(value[1]), [value, other], value[1:],
                     [f"%r = arith.{op} %i0, %i1 : {value[2]}"])  # fmt: skip
        return self.last()

    def fold(self, value, gone, body, start, kept=None):
        """Reduces the dims `gone`; the rest in the order of `kept`."""
        _, shape, element = value
        kept = [d for d in range(len(shape)) if d not in gone] if kept is None else kept
        out = tuple(shape[d] for d in kept)
        init = self.splat(out, element, start)
        self.values.pop()
        kinds = ["reduction" if d in gone else "parallel" for d in range(len(shape))]
        # Loops in another order than the dims cut K elsewhere.
        loops = list(range(len(shape)))
        if self.rng.random() < 0.3:
            self.rng.shuffle(loops)
        maps = [[loops.index(d) for d in dims] for dims in (range(len(shape)), kept)]
        self.generic(maps, [kinds[d] for d in loops], [value], (out, element), typed(body, element), init)
        return self.last()

    def total(self, value, gone):
        return self.fold(value, gone, ["%r = arith.addf %o, %i0"], "0.0")

    def floating(self, min_rank=1):
        return self.pick(FLOATS, min_rank)

    def some_dims(self, shape):
        return [d for d in range(len(shape)) if self.rng.random() < 0.5] or [self.rng.randrange(len(shape))]

    # ---- reductions

    def reduce(self):
        value = self.number(1)
        if not is_float(value[2]):
            return super().reduce()
        gone = self.some_dims(value[1])
        kept = [d for d in range(len(value[1])) if d not in gone]
        self.rng.shuffle(kept)
        body, start = self.rng.choice([way for way in SUMS if is_declared(way[0], value[2])])
        result = self.fold(value, gone, body, start, kept)
        if self.rng.random() < 0.5:
            self.smooth(result)

    def scalar(self):
        value = self.floating()
        self.scale(self.total(value, list(range(len(value[1])))), 1 / math.prod(value[1]))

    def sums_of_sums(self):
        """Partial sums that meet before they are used."""
        value = self.floating(2)
        gone = self.some_dims(value[1])
        first = self.total(value, gone)
        second = self.total(self.same(value[1], value[2]), gone)
        if self.rng.random() < 0.5:
            first = self.scale(first, 0.25)
        op = self.rng.choice(["addf", "subf", "mulf"])
        self.apply([first, second], first[1:], [f"%r = arith.{op} %i0, %i1"])

    def greatest(self):
        """Index and value of the greatest element: two results of one op."""
        name, shape, element = self.floating()
        dim = self.rng.randrange(len(shape))
        kept = [d for d in range(len(shape)) if d != dim]
        out = tuple(shape[d] for d in kept)
        inits = [self.splat(out, element, "-9.0"), self.splat(out, "i32", "0")]
        del self.values[-2:]
        maps = ", ".join(affine(len(shape), m) for m in (range(len(shape)), kept, kept))
        kinds = ", ".join('"reduction"' if d == dim else '"parallel"' for d in range(len(shape)))
        types = f"{tensor(out, element)}, {tensor(out, 'i32')}"
        result = self.fresh()
        self.lines.append(
            f"  {result}:2 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
            f"ins({name} : {tensor(shape, element)}) outs({', '.join(inits)} : {types}) {{\n"
            f"  ^bb0(%i: {element}, %v: {element}, %n: i32):\n"
            f"    %k = linalg.index {dim} : index\n    %j = arith.index_cast %k : index to i32\n"
            f"    %c = arith.cmpf ogt, %i, %v : {element}\n"
            f"    %a = arith.select %c, %i, %v : {element}\n    %b = arith.select %c, %j, %n : i32\n"
            f"    linalg.yield %a, %b : {element}, i32\n  }} -> ({types})")  # fmt: skip
        self.values += [(f"{result}#0", out, element), (f"{result}#1", out, "i32")]

    def moments(self):
        """Two sums, or a sum and a product, in one op."""
        name, shape, element = self.floating()
        gone = self.some_dims(shape)
        kept = [d for d in range(len(shape)) if d not in gone]
        out = tuple(shape[d] for d in kept)
        second, start = self.rng.choice([("addf", "0.0"), ("mulf", "1.0"), ("maximumf", "-9.0")])
        inits = [self.splat(out, element, "0.0"), self.splat(out, element, start)]
        del self.values[-2:]
        maps = ", ".join(affine(len(shape), m) for m in (range(len(shape)), kept, kept))
        kinds = ", ".join('"reduction"' if d in gone else '"parallel"' for d in range(len(shape)))
        types = ", ".join([tensor(out, element)] * 2)
        result = self.fresh()
        self.lines.append(
            f"  {result}:2 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
            f"ins({name} : {tensor(shape, element)}) outs({', '.join(inits)} : {types}) {{\n"
            f"  ^bb0(%i: {element}, %a: {element}, %b: {element}):\n"
            f"    %c = math.tanh %i : {element}\n    %s = arith.addf %a, %i : {element}\n"
            f"    %t = arith.{second} %b, %c : {element}\n"
            f"    linalg.yield %s, %t : {element}, {element}\n  }} -> ({types})")  # fmt: skip
        self.values += [(f"{result}#0", out, element), (f"{result}#1", out, element)]

    # ---- contractions

    def contract(self, lhs, rhs, maps, out_shape, out):
        count = 1 + max(d for m in maps for d in m)
        if self.rng.random() < 0.4:  # K is flattened in the order of the loops
            order = list(range(count))
            self.rng.shuffle(order)
            maps = [[order[d] for d in m] for m in maps]
        text = ", ".join(affine(count, m) for m in maps)
        self.emit(out_shape, out, f"weft.matmul {lhs[0]}, {rhs[0]} {{indexing_maps = [{text}]}} : "
                  f"{tensor(*lhs[1:])}, {tensor(*rhs[1:])} -> {tensor(out_shape, out)}")  # fmt: skip
        return self.last()

    def result_type(self, element):
        return {"f64": "f64", "f32": "f32"}.get(element) or self.rng.choice(["f32", "f32", element])

    def matmul(self):
        lhs = self.floating()
        _, shape, element = lhs
        roles = [self.rng.choice("bmkkk") for _ in shape]
        dims, sizes = list(range(len(shape))), list(shape)
        for _ in range(self.rng.randint(0, 2)):
            dims.append(len(sizes))
            sizes.append(self.rng.choice([n for n in self.SIZES if n <= 64]))
        rhs = [d for d in dims if d >= len(shape) or roles[d] in "bk"]
        out = [d for d in dims if d >= len(shape) or roles[d] in "bm"]
        too_large = any(math.prod(sizes[d] for d in m) > self.MAX_ELEMENTS for m in (rhs, out))
        if too_large or math.prod(sizes) > 1 << 24:
            return self.reduce()
        self.rng.shuffle(rhs)
        self.rng.shuffle(out)
        other = self.same([sizes[d] for d in rhs], element)
        result = self.contract(lhs, other, [list(range(len(shape))), rhs, out],
                               tuple(sizes[d] for d in out), self.result_type(element))  # fmt: skip
        if self.rng.random() < 0.5:
            depth = math.prod(n for n, r in zip(shape, roles) if r == "k")
            self.scale(result, depth**-0.5)

    def layer(self):
        """y = f(x w), and the gradients of both."""
        x = self.floating(2)
        rows, k = x[1][:-1], x[1][-1]
        n = self.rng.choice([s for s in self.SIZES if s <= 256])
        if math.prod(rows) * n > self.MAX_ELEMENTS or k * n > self.MAX_ELEMENTS:
            return self.matmul()
        w = self.same((k, n), x[2])
        r = len(rows)
        row, in_, out_ = list(range(r)), r, r + 1
        full = lambda *last: row + list(last)
        narrow = self.result_type(x[2])
        y = self.scale(self.contract(x, w, [full(in_), [in_, out_], full(out_)], rows + (n,), narrow), k**-0.5)
        y = self.smooth(y)
        if self.rng.random() < 0.5:
            y = self.apply([y, self.same(y[1], y[2])], y[1:], ["%r = arith.addf %i0, %i1"])
        self.contract(y, w, [full(out_), [in_, out_], full(in_)], x[1], self.result_type(y[2]) if y[2] == x[2] else "f32")
        self.contract(x, y, [full(in_), full(out_), [in_, out_]], (k, n), "f64" if x[2] == "f64" else "f32")

    # ---- parts of models

    def residual(self):
        value = self.floating()
        other = self.smooth(value)
        self.apply([value, other], value[1:], ["%r = arith.addf %i0, %i1"])

    def norm(self):
        value = self.floating()
        gone = [len(value[1]) - 1] if self.rng.random() < 0.7 else self.some_dims(value[1])
        kept = [d for d in range(len(value[1])) if d not in gone]
        count = math.prod(value[1][d] for d in gone)
        if self.rng.random() < 0.5:
            value = self.spread("subf", value, self.scale(self.total(value, gone), 1 / count), kept)
        square = self.fold(value, gone, ["%t = arith.mulf %i0, %i0", "%r = arith.addf %o, %t"], "0.0")
        root = self.apply([square], square[1:], [f"%n = arith.constant {1 / count:e}", "%e = arith.constant 1.0e-3",
                          "%m = arith.mulf %i0, %n", "%p = arith.addf %m, %e", "%r = math.rsqrt %p"])  # fmt: skip
        self.spread("mulf", value, root, kept)

    def softmax(self):
        value = self.floating()
        gone = [self.rng.randrange(len(value[1]))]
        kept = [d for d in range(len(value[1])) if d not in gone]
        peak = self.fold(value, gone, ["%r = arith.maximumf %o, %i0"], "-9.0")
        power = self.smooth(self.spread("subf", value, peak, kept))
        power = self.apply([power], power[1:], ["%r = math.exp %i0"])
        self.spread("divf", power, self.total(power, gone), kept)

    def named(self):
        """linalg's own ops, and a product that is added to something."""
        lhs = self.floating(2)
        (m, k), n = lhs[1][-2:], self.rng.choice([s for s in self.SIZES if s <= 64])
        if len(lhs[1]) != 2 or max(k, m) * n > self.MAX_ELEMENTS or lhs[2] == "bf16":
            return self.layer()
        element = lhs[2]
        rhs, init = self.same((k, n), element), self.same((m, n), element)
        self.emit((m, n), element, f"linalg.matmul ins({lhs[0]}, {rhs[0]} : {tensor((m, k), element)}, "
                  f"{tensor((k, n), element)}) outs({init[0]} : {tensor((m, n), element)}) -> {tensor((m, n), element)}")  # fmt: skip

    def scatter(self):
        """Rows that are added up: the gradient of a lookup."""
        table = self.shape(1, 2)
        indices, sizes, attrs = self.lookup_parts(table)
        if math.prod(sizes) > self.MAX_ELEMENTS:
            return self.take()
        element = self.rng.choice(["f32", "f32", "f64"])
        updates, init = self.same(sizes, element), self.splat(table, element, self.rng.choice(["0.0", "1.0"]))
        self.emit(table, element, f"weft.scatter_add {init}, {indices[0]}, {updates[0]} {attrs} : {tensor(table, element)}, "
                                  f"{tensor(*indices[1:])}, {tensor(sizes, element)}")  # fmt: skip

    def axes(self):
        """Axes are cut in two only where programs need not be written alike."""
        if self.may_cut_axes:
            return super().axes()
        names = [f'"{name}"' for name in self.names]
        self.rng.shuffle(names)
        return names

    def shard(self):
        name, shape, element = self.pick(min_rank=1)
        self.emit(shape, element, f"weft.shard {name} to §{list(shape)}§ : {tensor(shape, element)}")

    # ---- the whole

    def build(self):
        common = [self.reduce, self.reduce, self.matmul, self.matmul, self.layer, self.norm, self.softmax,
                  self.residual, self.unary, self.binary, self.linear, self.scalar, self.sums_of_sums]  # fmt: skip
        rare = [self.convert, self.greatest, self.moments, self.take, self.scatter, self.reshape, self.slice, self.insert,
                self.concat, self.pad, self.shard, self.named, self.iota, self.select, self.compare]  # fmt: skip
        self.argument(self.rng.choice(FLOATS), 2)
        for _ in range(self.rng.randint(1, self.max_ops)):
            self.rng.choice(common if self.rng.random() < 0.7 else rare)()
            self.values = [v for v in self.values if math.prod(v[1]) <= self.MAX_ELEMENTS]
        self.residual()
        self.finish()

    def finish(self):
        """Draws the results; some take the place of an argument."""
        made = [v for v in self.values if v[0].startswith("%v")]
        picked = set(made[-3:] + self.rng.sample(made, min(4, len(made))))
        self.results = [v for v in made if v in picked]
        free, self.aliases = dict(enumerate(self.args)), []
        for result in self.results:
            same = [i for i, a in free.items() if a[1:] == result[1:]]
            self.aliases.append(same[0] if same and self.rng.random() < 0.6 else None)
            if self.aliases[-1] is not None:
                del free[same[0]]

    def text(self, sizes, order, seed, may_cut_axes=False):
        """The program on a mesh: sizes of its axes, declared in this order, and
        shardings of this seed, which need not mention an axis as a whole."""
        self.may_cut_axes = may_cut_axes
        keep, self.rng = self.rng, random.Random(seed)
        self.sizes = [sizes[name] for name in self.names]
        layout = lambda shape, **options: self.sharding(shape, **options)
        attrs = [f"weft.sharding = #weft.sharding{layout(s, storage=is_float(e))}" for _, s, e in self.args]
        outs = [f"weft.sharding = #weft.sharding{layout(s, storage=is_float(e))}" for _, s, e in self.results]
        body = re.sub(r"§(\[.*?\])§", lambda m: layout(tuple(json.loads(m[1])), may_be_open=True), "\n".join(self.lines))
        self.rng = keep
        outs = [out if at is None else f"weft.alias = {at} : index" for out, at in zip(outs, self.aliases)]
        args = ", ".join(f'{n}: {tensor(s, e)} {{weft.name = "{n[1:]}", {a}}}'
                         for (n, s, e), a in zip(self.args, attrs))  # fmt: skip
        results = ", ".join(f'{tensor(s, e)} {{weft.name = "r{i}", {a}}}'
                            for i, ((_, s, e), a) in enumerate(zip(self.results, outs)))  # fmt: skip
        values = ", ".join(n for n, _, _ in self.results)
        types = ", ".join(tensor(s, e) for _, s, e in self.results)
        mesh = ", ".join(f'"{n}"={sizes[n]}' for n in order)
        return (f"weft.mesh @mesh = <[{mesh}]>\nfunc.func @main({args}) -> ({results}) {{\n"
                f"{body}\n  return {values} : {types}\n}}\n")  # fmt: skip
