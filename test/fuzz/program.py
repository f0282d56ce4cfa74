# SPDX-License-Identifier: Apache-2.0
"""Random programs: a DAG of ops with random shapes, types, shardings, mesh.

Values stay near 1, and no op jumps: a comparison is made of integers or of
arguments only, so that what differs in the last bit stays near.
"""

import math
import random

MESHES = [[2], [3], [4], [6], [2, 2], [2, 3], [4, 2], [3, 2], [3, 3], [2, 2, 2],
          [2, 2, 3], [3, 1, 2], [2, 3, 2]]  # fmt: skip
FLOATS = ["f32", "f32", "f32", "bf16", "f64"]
INTEGERS = ["i32", "i32", "i64", "i8"]


def tensor(shape, element):
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


def affine(count, dims):
    loops = ", ".join(f"d{i}" for i in range(count))
    return f"affine_map<({loops}) -> ({', '.join(f'd{d}' for d in dims)})>"


def is_float(element):
    return element in ("f16", "bf16", "f32", "f64")


class Program:
    """Writes one program."""

    SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16]
    MAX_ELEMENTS = 4096

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.sizes = self.rng.choice(MESHES)
        self.names = ["x", "y", "z"][: len(self.sizes)]
        self.lines, self.args, self.values = [], [], []
        self.count = 0

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def emit(self, shape, element, text):
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        self.values.append((name, tuple(shape), element))
        return name

    def pick(self, elements=None, min_rank=0):
        fit = [v for v in self.values
               if (elements is None or v[2] in elements) and len(v[1]) >= min_rank]  # fmt: skip
        return self.rng.choice(fit) if fit else self.argument(self.rng.choice(elements or FLOATS), min_rank)

    def number(self, min_rank=0):
        return self.pick(FLOATS + INTEGERS, min_rank)

    def same(self, shape, element):
        """Returns a value of that type: one that is there, or an argument."""
        fit = [v for v in self.values if v[1:] == (tuple(shape), element)]
        return self.rng.choice(fit) if fit else self.argument(element, shape=shape)

    def argument(self, element, min_rank=0, shape=None):
        if shape is None:
            rank = self.rng.randint(max(min_rank, 0), 3)
            shape = tuple(self.rng.choice(self.SIZES) for _ in range(rank))
        value = (f"%arg{len(self.args)}", tuple(shape), element)
        self.args.append(value)
        self.values.append(value)
        return value

    def axes(self):
        """Returns the mesh's axes, some cut in two, in random order."""
        result = []
        for name, size in zip(self.names, self.sizes):
            if size in (4, 6) and self.rng.random() < 0.4:
                result += [f'"{name}":(1)2', f'"{name}":(2){size // 2}']
            else:
                result.append(f'"{name}"')
        self.rng.shuffle(result)
        return result

    def sharding(self, shape, storage=False, may_be_open=False):
        dims = [[] for _ in shape]
        for axis in self.axes():
            wide = [d for d, n in zip(dims, shape) if n > 1]
            if wide and self.rng.random() < 0.6:
                self.rng.choice(wide).append(axis)
        used = [a for d in dims for a in d]
        if may_be_open:
            dims = [d + ["?"] if self.rng.random() < 0.3 else d for d in dims]
        text = ", ".join("{" + ", ".join(d) + "}" for d in dims)
        at_rest = [a for a in used if self.rng.random() < 0.3] if storage else []
        tail = f", storage = {{{', '.join(at_rest)}}}" if at_rest else ""
        return f"<@mesh, [{text}]{tail}>"

    def generic(self, maps, kinds, ins, out, body, init=None):
        """Emits a linalg.generic; maps are lists of loops, ins are values."""
        count = len(kinds)
        shape, element = out
        if init is None:
            init = self.fresh()
            self.lines.append(f"  {init} = tensor.empty() : {tensor(shape, element)}")
        maps = ", ".join(affine(count, m) for m in maps)
        kinds = ", ".join(f'"{k}"' for k in kinds)
        clause = ""
        if ins:
            types = ", ".join(tensor(s, e) for _, s, e in ins)
            clause = f"ins({', '.join(n for n, _, _ in ins)} : {types}) "
        args = "".join(f"%i{i}: {e}, " for i, (_, _, e) in enumerate(ins))
        text = (f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
                f"{clause}outs({init} : {tensor(shape, element)}) {{\n  ^bb0({args}%o: {element}):\n")  # fmt: skip
        text += "".join(f"    {line}\n" for line in body)
        return self.emit(shape, element, text + f"    linalg.yield %r : {element}\n  }} -> {tensor(shape, element)}")

    def elementwise(self, ins, out, body):
        """Emits a generic over values of one shape."""
        loops = range(len(out[0]))
        self.generic([loops] * (len(ins) + 1), ["parallel"] * len(out[0]), ins, out, body)

    def splat(self, shape, element, value):
        return self.emit(shape, element, f"arith.constant dense<{value}> : {tensor(shape, element)}")

    def bound(self, source, element):
        """Returns the lines that make %r of a number: a smooth one near 1, or a
        small integer."""
        if is_float(element):
            return [f"%r = math.tanh {source} : {element}"]
        return [f"%seven = arith.constant 7 : {element}", f"%r = arith.remsi {source}, %seven : {element}"]

    def unary(self):
        name, shape, element = self.number()
        order = list(range(len(shape)))
        self.rng.shuffle(order)
        out = [shape[order.index(loop)] for loop in range(len(shape))]
        self.generic([order, range(len(shape))], ["parallel"] * len(shape),
                     [(name, shape, element)], (out, element), self.bound("%i0", element))  # fmt: skip

    def binary(self):
        name, shape, element = self.number(min_rank=1)
        kept = [d for d in range(len(shape)) if self.rng.random() < 0.6]
        other = self.same([shape[d] for d in kept], element)
        ops = ["addf", "mulf", "subf", "maximumf"] if is_float(element) else ["addi", "muli", "minsi", "xori"]
        body = [f"%t = arith.{self.rng.choice(ops)} %i0, %i1 : {element}"] + self.bound("%t", element)
        full = range(len(shape))
        self.generic([full, kept, full], ["parallel"] * len(shape),
                     [(name, shape, element), other], (shape, element), body)  # fmt: skip

    def linear(self):
        """What contributions may pass: scaling, sums and differences."""
        value = self.number()
        _, shape, element = value
        if is_float(element) and self.rng.random() < 0.4:
            body = [f"%s = arith.constant 0.5 : {element}", f"%r = arith.mulf %i0, %s : {element}"]
            return self.elementwise([value], (shape, element), body)
        other = self.same(shape, element)
        op = self.rng.choice(["add", "sub"]) + ("f" if is_float(element) else "i")
        if self.rng.random() < 0.3:
            return self.emit(shape, element, f"arith.{op} {value[0]}, {other[0]} : {tensor(shape, element)}")
        self.elementwise([value, other], (shape, element), [f"%r = arith.{op} %i0, %i1 : {element}"])

    def convert(self):
        value = self.pick()
        _, shape, element = value
        ways = {"f32": [("bf16", "truncf"), ("f64", "extf")], "bf16": [("f32", "extf")], "f16": [("f32", "extf")],
                "f64": [("f32", "truncf")], "i32": [("i64", "extsi"), ("i8", "trunci"), ("f32", "sitofp")],
                "i64": [("i32", "trunci")], "i8": [("i32", "extsi")], "i1": [("i32", "extui")]}  # fmt: skip
        to, op = self.rng.choice(ways[element])
        self.elementwise([value], (shape, to), [f"%r = arith.{op} %i0 : {element} to {to}"])

    def compare(self):
        value = self.pick(INTEGERS)
        _, shape, element = value
        body = [f"%c = arith.constant 3 : {element}", f"%r = arith.cmpi slt, %i0, %c : {element}"]
        self.elementwise([value], (shape, "i1"), body)

    def select(self):
        value = self.pick(FLOATS + INTEGERS)
        _, shape, element = value
        ins = [self.same(shape, "i1"), value, self.same(shape, element)]
        self.elementwise(ins, (shape, element), [f"%r = arith.select %i0, %i1, %i2 : {element}"])

    def wild_integers(self):
        """Shifts by the width and more, and divisions that have no quotient."""
        name, shape, element = self.pick(INTEGERS)
        other = self.same(shape, element)
        width = int(element[1:])
        op = self.rng.choice(["shli", "shrsi", "shrui", "divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui"])
        factor = self.rng.choice([1, -1, 3, width // 2, (1 << (width - 2)) - 1])
        least = -(1 << (width - 1))
        body = [f"%f = arith.constant {factor} : {element}", f"%p = arith.muli %i1, %f : {element}",
                f"%h = arith.constant {self.rng.choice([0, least])} : {element}",
                f"%n = arith.addi %i0, %h : {element}", f"%t = arith.{op} %n, %p : {element}"]
        self.elementwise([(name, shape, element), other], (shape, element), body + self.bound("%t", element))

    def wild_floats(self):
        """Integers of floats that are too large for them, infinite, or NaN. Of
        arguments: elsewhere the last bit may differ."""
        element = self.rng.choice(FLOATS)
        value, to = self.argument(element, 1), self.rng.choice(INTEGERS)
        scale = self.rng.choice(["1.0", "1.0e3", "1.0e10", "1.0e19", "1.0e30"])
        body = [f"%s = arith.constant {scale} : {element}", f"%p = arith.mulf %i0, %s : {element}"]
        if self.rng.random() < 0.3:
            body += [f"%z = arith.constant 0.0 : {element}", f"%q = arith.divf %p, %z : {element}"]
        elif self.rng.random() < 0.3:
            body += [f"%q = math.sqrt %p : {element}"]
        else:
            body += [f"%q = arith.negf %p : {element}"]
        op = self.rng.choice(["fptosi", "fptoui"])
        body.append(f"%t = arith.{op} %q : {element} to {to}")
        self.elementwise([value], (value[1], to), body + self.bound("%t", to))

    def iota(self):
        shape = tuple(self.rng.choice(self.SIZES) for _ in range(self.rng.randint(1, 3)))
        dim = self.rng.randrange(len(shape))
        self.elementwise([], (shape, "i32"), [f"%k = linalg.index {dim} : index",
                                              "%r = arith.index_cast %k : index to i32"])  # fmt: skip

    def reduce(self):
        name, shape, element = self.pick(min_rank=1)
        gone = [d for d in range(len(shape)) if self.rng.random() < 0.5] or [0]
        kept = [d for d in range(len(shape)) if d not in gone]
        self.rng.shuffle(kept)
        ways = {"f32": [("addf", "0.0"), ("maximumf", "0xFF800000"), ("minimumf", "0x7F800000"), ("addf", "1.0")],
                "f64": [("addf", "0.0"), ("maximumf", "-9.0")], "bf16": [("maximumf", "0xFF80"), ("minimumf", "0x7F80")], "f16": [("maximumf", "-9.0")],
                "i1": [("andi", "true"), ("ori", "false")]}  # fmt: skip
        integer = [("addi", "0"), ("maxsi", "-100"), ("minsi", "100"), ("andi", "-1"), ("ori", "0")]
        op, start = self.rng.choice(ways.get(element, integer))
        out = tuple(shape[d] for d in kept)
        init = self.splat(out, element, start)
        kinds = ["reduction" if d in gone else "parallel" for d in range(len(shape))]
        order = self.rng.choice(["%i0, %o", "%o, %i0"])
        body = [f"%r = arith.{op} {order} : {element}"]
        self.generic([range(len(shape)), kept], kinds, [(name, shape, element)], (out, element), body, init)

    def matmul(self):
        name, shape, element = self.pick(["f32", "f32", "bf16"], 1)
        roles = [self.rng.choice("bmk") for _ in shape]
        num_n = self.rng.randint(0, 2)
        dims = list(range(len(shape) + num_n))
        sizes = list(shape) + [self.rng.choice(self.SIZES) for _ in range(num_n)]
        rhs = [d for d in dims if d >= len(shape) or roles[d] in "bk"]
        out = [d for d in dims if d >= len(shape) or roles[d] in "bm"]
        self.rng.shuffle(rhs)
        self.rng.shuffle(out)
        other = self.same([sizes[d] for d in rhs], element)
        maps = ", ".join(affine(len(dims), m) for m in (range(len(shape)), rhs, out))
        out_shape = tuple(sizes[d] for d in out)
        self.emit(out_shape, "f32",
                  f"weft.matmul {name}, {other[0]} {{indexing_maps = [{maps}]}} : "
                  f"{tensor(shape, element)}, {tensor(other[1], element)} -> {tensor(out_shape, 'f32')}")  # fmt: skip

    def lookup_parts(self, table):
        axis = self.rng.randrange(len(table))
        rest = [n for d, n in enumerate(table) if d != axis]
        batch = [d for d in range(len(rest)) if self.rng.random() < 0.4]
        extra = [self.rng.choice(self.SIZES) for _ in range(self.rng.randint(0 if batch else 1, 1))]
        sizes = rest + extra
        index = batch + list(range(len(rest), len(sizes)))
        indices = self.argument(self.rng.choice(["i32", "i64"]), shape=tuple(sizes[d] for d in index))
        attrs = (f"{{axis = {axis} : i64, table_map = {affine(len(sizes), range(len(rest)))}, "
                 f"index_map = {affine(len(sizes), index)}}}")  # fmt: skip
        return indices, tuple(sizes), attrs

    def take(self):
        name, shape, element = self.pick(min_rank=1)
        indices, out, attrs = self.lookup_parts(shape)
        self.emit(out, element, f"weft.take {name}, {indices[0]} {attrs} : {tensor(shape, element)}, "
                                f"{tensor(*indices[1:])} -> {tensor(out, element)}")  # fmt: skip

    def scatter(self):
        shape = tuple(self.rng.choice(self.SIZES) for _ in range(self.rng.randint(1, 3)))
        element = self.rng.choice(["f32", "f32", "i32"])
        indices, sizes, attrs = self.lookup_parts(shape)
        updates = self.argument(element, shape=sizes)
        start = self.rng.choice(["0", "1"]) + (".0" if is_float(element) else "")
        init = self.splat(shape, element, start)
        self.emit(shape, element, f"weft.scatter_add {init}, {indices[0]}, {updates[0]} {attrs} : {tensor(shape, element)}, "
                                  f"{tensor(*indices[1:])}, {tensor(sizes, element)}")  # fmt: skip

    # ---- shapes

    def reshape(self):
        name, shape, element = self.pick(min_rank=1)
        if len(shape) > 1 and self.rng.random() < 0.5:
            at = self.rng.randrange(len(shape) - 1)
            groups = [[d] for d in range(at)] + [[at, at + 1]] + [[d] for d in range(at + 2, len(shape))]
            out = shape[:at] + (shape[at] * shape[at + 1],) + shape[at + 2 :]
            text = f"tensor.collapse_shape {name} {groups}"
        else:
            at = self.rng.randrange(len(shape))
            divisor = self.rng.choice([d for d in range(1, shape[at] + 1) if shape[at] % d == 0])
            out = shape[:at] + (divisor, shape[at] // divisor) + shape[at + 1 :]
            groups = [[d] for d in range(at)] + [[at, at + 1]] + [[d + 1] for d in range(at + 1, len(shape))]
            text = f"tensor.expand_shape {name} {groups} output_shape {list(out)}"
        self.emit(out, element, f"{text} : {tensor(shape, element)} into {tensor(out, element)}")

    def window(self, shape):
        """Returns offsets, sizes and strides of a part, and its shape: dims of
        one element may be dropped."""
        offsets, sizes, strides, out = [], [], [], []
        for n in shape:
            stride = self.rng.choice([1, 1, 1, 2])
            size = n if self.rng.random() < 0.5 else self.rng.randint(1, n)
            stride = stride if (size - 1) * stride < n else 1
            offsets.append(self.rng.randint(0, n - 1 - (size - 1) * stride))
            sizes.append(size)
            strides.append(stride)
            if size > 1 or self.rng.random() < 0.5:
                out.append(size)
        return f"{offsets} {sizes} {strides}", tuple(out)

    def slice(self):
        name, shape, element = self.pick(min_rank=1)
        where, out = self.window(shape)
        self.emit(out, element, f"tensor.extract_slice {name}{where} : "
                                f"{tensor(shape, element)} to {tensor(out, element)}")  # fmt: skip

    def insert(self):
        name, shape, element = self.pick(min_rank=1)
        where, part = self.window(shape)
        source = self.same(part, element)
        self.emit(shape, element, f"tensor.insert_slice {source[0]} into {name}{where} : "
                                  f"{tensor(part, element)} into {tensor(shape, element)}")  # fmt: skip

    def concat(self):
        name, shape, element = self.pick(min_rank=1)
        dim = self.rng.randrange(len(shape))
        sizes = [shape[dim], self.rng.choice([shape[dim], self.rng.choice(self.SIZES)])]
        shapes = [shape[:dim] + (n,) + shape[dim + 1 :] for n in sizes]
        other = self.same(shapes[1], element)
        out = shape[:dim] + (sum(sizes),) + shape[dim + 1 :]
        self.emit(out, element, f"tensor.concat dim({dim}) {name}, {other[0]} : "
                                f"({tensor(shape, element)}, {tensor(shapes[1], element)}) -> {tensor(out, element)}")  # fmt: skip

    def pad(self):
        name, shape, element = self.number(min_rank=1)
        low = [self.rng.choice([0, 0, 1]) for _ in shape]
        high = [self.rng.choice([0, 0, 2]) for _ in shape]
        out = tuple(n + a + b for n, a, b in zip(shape, low, high))
        value = self.fresh()
        self.lines.append(f"  {value} = arith.constant {'0.5' if is_float(element) else '5'} : {element}")
        args = ", ".join(f"%p{d}: index" for d in range(len(shape)))
        self.emit(out, element, f"tensor.pad {name} low{low} high{high} {{\n  ^bb0({args}):\n"
                                f"    tensor.yield {value} : {element}\n  }} : {tensor(shape, element)} to {tensor(out, element)}")  # fmt: skip

    def shard(self):
        name, shape, element = self.pick(min_rank=1)
        self.emit(shape, element, f"weft.shard {name} to {self.sharding(shape, may_be_open=True)} : {tensor(shape, element)}")

    def barrier(self):
        passed, name = [self.pick() for _ in range(self.rng.randint(1, 3))], self.fresh()
        types = ", ".join(tensor(*v[1:]) for v in passed)
        self.lines.append(f"  {name}:{len(passed)} = weft.optimization_barrier {', '.join(v[0] for v in passed)} : {types}")
        self.values += [(f"{name}#{i}", *v[1:]) for i, v in enumerate(passed)]

    # ---- the whole

    def build(self):
        ops = [self.unary, self.binary, self.binary, self.linear, self.linear, self.convert,
               self.compare, self.select, self.wild_integers, self.wild_floats, self.iota, self.reduce, self.reduce,
               self.matmul, self.matmul, self.take, self.scatter, self.reshape, self.slice,
               self.insert, self.concat, self.pad, self.shard, self.shard, self.barrier]  # fmt: skip
        self.argument("f32", 2)
        for _ in range(self.rng.randint(2, 12)):
            self.rng.choice(ops)()
            if math.prod(self.values[-1][1]) > self.MAX_ELEMENTS:
                self.values.pop()
        self.unary()  # at least one result

    def borders(self, results):
        """Returns the attributes of arguments and of results. Some results
        take the place of an argument of their type."""
        args = [self.sharding(s, storage=is_float(e)) for _, s, e in self.args]
        free = dict(enumerate(self.args))
        outs = []
        for _, shape, element in results:
            same = [i for i, a in free.items() if a[1:] == (shape, element)]
            if same and self.rng.random() < 0.5:
                del free[same[0]]
                outs.append(f"weft.alias = {same[0]} : index")
            else:
                outs.append(f"weft.sharding = #weft.sharding{self.sharding(shape, storage=is_float(element))}")
        return [f"weft.sharding = #weft.sharding{a}" for a in args], outs

    def text(self):
        self.build()
        results = [v for v in self.values if v[0].startswith("%v")][-3:]
        mesh = ", ".join(f'"{n}"={s}' for n, s in zip(self.names, self.sizes))
        arg_attrs, out_attrs = self.borders(results)
        args = ", ".join(f'{n}: {tensor(s, e)} {{weft.name = "{n[1:]}", {a}}}'
                         for (n, s, e), a in zip(self.args, arg_attrs))  # fmt: skip
        outs = ", ".join(f'{tensor(s, e)} {{weft.name = "r{i}", {a}}}'
                         for i, ((_, s, e), a) in enumerate(zip(results, out_attrs)))  # fmt: skip
        end = f"  return {', '.join(n for n, _, _ in results)} : {', '.join(tensor(s, e) for _, s, e in results)}"
        body = "\n".join(self.lines + [end])
        return f"weft.mesh @mesh = <[{mesh}]>\nfunc.func @main({args}) -> ({outs}) {{\n{body}\n}}\n"
