# SPDX-License-Identifier: Apache-2.0
"""Random programs whose places, conditions and numbers of passes come from data:
slices and insertions at them, branches, loops, lookups by numbers that are
computed, and products of integers.

Data is integers that are arguments: what is one off in the last bit of a float
must not decide anything.
"""

from program import Program, affine, tensor


class DataProgram(Program):
    """Writes one program."""

    SIZES = [1, 2, 3, 4, 6, 8, 9, 12]
    MAX_ELEMENTS = 1024

    def __init__(self, seed):
        super().__init__(f"data {seed}")

    # ---- numbers from data

    def line(self, text):
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def constant(self, number, type="index"):
        return self.line(f"arith.constant {number} : {type}")

    def number(self, min_rank=0):
        return self.pick(["f32", "f32", "i32"], min_rank)

    def integer(self):
        """An element of an argument."""
        given = [v for v in self.args if v[2] == "i32" and len(v[1]) < 2]
        if not given or self.rng.random() < 0.3:
            given = [self.argument("i32", shape=self.rng.choice([(), (), (4,)]))]
        name, shape, _ = self.rng.choice(given)
        at = ", ".join(self.constant(self.rng.randrange(n)) for n in shape)
        return self.line(f"tensor.extract {name}[{at}] : {tensor(shape, 'i32')}")

    def place(self, counter=None):
        """An index: of data, of a loop's counter, or of both. Some lie outside."""
        kind = self.rng.choice(["data", "data", "scaled", "counter", "both"]) if counter else self.rng.choice(
            ["data", "data", "scaled"])  # fmt: skip
        index = counter
        if kind in ("data", "scaled", "both"):
            index = self.line(f"arith.index_cast {self.integer()} : i32 to index")
        if kind in ("scaled", "both"):
            index = self.line(f"arith.muli {index}, {self.constant(self.rng.choice([2, 3, -1]))} : index")
            other = counter if kind == "both" else self.constant(self.rng.choice([-3, 1, 5]))
            index = self.line(f"arith.addi {index}, {other} : index")
        return index

    def condition(self):
        predicate = self.rng.choice(["sgt", "slt", "eq", "ne", "ule"])
        return self.line(f"arith.cmpi {predicate}, {self.integer()}, {self.constant(self.rng.randint(0, 8), 'i32')} : i32")

    # ---- places

    def window_at(self, shape, counter=None):
        """As `window`, with offsets of which some come from data."""
        offsets, sizes, strides, out = [], [], [], []
        for n in shape:
            is_data = self.rng.random() < 0.5
            size = self.rng.randint(1, n) if is_data or self.rng.random() < 0.4 else n
            stride = 2 if (size - 1) * 2 < n and self.rng.random() < 0.2 else 1
            offsets.append(self.place(counter) if is_data else str(self.rng.randint(0, n - 1 - (size - 1) * stride)))
            sizes.append(size)
            strides.append(stride)
            if size > 1 or self.rng.random() < 0.5:
                out.append(size)
        return f"[{', '.join(offsets)}] {sizes} {strides}", tuple(out)

    def slice_at(self):
        name, shape, element = self.number(min_rank=1)
        where, out = self.window_at(shape)
        self.emit(out, element, f"tensor.extract_slice {name}{where} : {tensor(shape, element)} to {tensor(out, element)}")

    def insert_at(self):
        name, shape, element = self.number(min_rank=1)
        where, part = self.window_at(shape)
        source = self.same(part, element)
        self.emit(shape, element, f"tensor.insert_slice {source[0]} into {name}{where} : "
                                  f"{tensor(part, element)} into {tensor(shape, element)}")  # fmt: skip

    # ---- branches and loops

    def nested(self, make):
        """The lines of a block, and what it gives: nothing in it is seen outside."""
        lines, values, self.lines = self.lines, list(self.values), []
        given = make()
        inner, self.lines, self.values = self.lines, lines, values
        # Arguments that were met inside stay.
        self.values += [a for a in self.args if a not in self.values]
        return inner, given

    def step(self, value, others):
        """A small step from a value: smooth, or of integers."""
        name, shape, element = value
        other = self.rng.choice(others)
        ops = ["addf", "mulf", "subf"] if element == "f32" else ["addi", "muli", "xori"]
        type = tensor(shape, element)
        made = self.line(f"arith.{self.rng.choice(ops)} {name}, {other} : {type}")
        if element == "f32":
            return self.line(f"math.tanh {made} : {type}")
        seven = self.line(f"arith.constant dense<7> : {type}")
        return self.line(f"arith.remsi {made}, {seven} : {type}")

    def way(self, value, others, conditions, depth):
        """What one way of a branch gives."""
        if depth < 2 and self.rng.random() < 0.3:
            return self.choose(value, others, conditions, depth + 1)
        if self.rng.random() < 0.4:
            return self.rng.choice(others)
        return self.step(value, others)

    def choose(self, value, others, conditions, depth):
        condition = self.rng.choice(conditions)
        type = tensor(*value[1:])
        ways = [self.nested(lambda: self.way(value, others, conditions, depth)) for _ in range(2)]
        text = [f"scf.if {condition} -> {type} {{"]
        for lines, given in ways:
            text += [*lines, f"  scf.yield {given} : {type}", "  } else {"]
        return self.line("\n".join(text[:-1] + ["  }"]))

    def branch(self):
        """One branch, or two, of which the second may know how the first went."""
        value = self.number()
        other = self.same(*value[1:])
        conditions = [self.condition(), self.condition()]
        if self.rng.random() < 0.3:
            true = self.line("arith.constant true")
            conditions.append(self.line(f"arith.xori {conditions[0]}, {true} : i1"))
        others = [value[0], other[0]]
        for _ in range(self.rng.randint(1, 2)):
            others.append(self.choose(value, others, conditions, 0))
        self.values.append((others[-1], *value[1:]))

    def loop(self):
        """Rows of a table at the counter's place, or at data's, into a carry."""
        table, shape, _ = self.pick(["f32"], 1)
        row, type = shape[1:], tensor(shape[1:], "f32")
        start = self.same(row, "f32")[0]
        zero, one = self.constant(0), self.constant(1)
        end = self.rng.choice([self.constant(self.rng.choice([0, 1, 2, 5])), self.constant(300),
                               self.line(f"arith.index_cast {self.integer()} : i32 to index")])  # fmt: skip
        counter, carry = self.fresh(), self.fresh()

        def body():
            where = f"[{', '.join([self.place(counter)] + ['0'] * len(row))}] {[1, *row]} {[1] * len(shape)}"
            part = self.line(f"tensor.extract_slice {table}{where} : {tensor(shape, 'f32')} to {type}")
            return self.step((carry, row, "f32"), [part])

        lines, given = self.nested(body)
        text = [f"scf.for {counter} = {zero} to {end} step {one} iter_args({carry} = {start}) -> ({type}) {{",
                *lines, f"  scf.yield {given} : {type}", "  }"]  # fmt: skip
        self.emit(row, "f32", "\n".join(text))

    # ---- products and repeats

    def integer_product(self):
        """Of a batch, which may be one, or none."""
        b, m, n, k = (self.rng.choice(s) for s in ([1, 1, 2, 3], *[self.SIZES] * 3))
        lhs, rhs = self.same((b, m, k), "i32"), self.same((b, k, n), "i32")
        init = self.splat((b, m, n), "i32", "0")
        body = ["%p = arith.muli %i0, %i1 : i32", "%r = arith.addi %o, %p : i32"]
        return self.generic([[0, 1, 3], [0, 3, 2], [0, 1, 2]], ["parallel"] * 3 + ["reduction"], [lhs, rhs],
                            ((b, m, n), "i32"), body, init)  # fmt: skip

    def tile(self):
        """A tensor several times along a dimension, whole or element by element."""
        name, shape, element = self.number(min_rank=1)
        dim, times, inner = self.rng.randrange(len(shape)), self.rng.choice([2, 3, 4]), self.rng.randint(0, 1)
        at = dim + inner
        wide = [*shape[:at], times, *shape[at:]]
        loops = [d for d in range(len(wide)) if d != at]
        name = self.generic([loops, range(len(wide))], ["parallel"] * len(wide), [(name, shape, element)],
                            (tuple(wide), element), ["%c = arith.constant true", "%r = arith.select %c, %i0, %i0 : " + element])  # fmt: skip
        out = (*shape[:dim], times * shape[dim], *shape[dim + 1 :])
        groups = [[d] for d in range(dim)] + [[dim, dim + 1]] + [[d] for d in range(dim + 2, len(wide))]
        self.emit(out, element, f"tensor.collapse_shape {name} {groups} : {tensor(wide, element)} into {tensor(out, element)}")

    def looked_product(self):
        """Rows of a product, as a lookup finds them."""
        m, n, k = (self.rng.choice(self.SIZES) for _ in range(3))
        element = self.rng.choice(["f32", "i32"])
        lhs, rhs = self.same((m, k), element), self.same((k, n), element)
        if element == "f32":
            maps = ", ".join(affine(3, dims) for dims in ([0, 2], [2, 1], [0, 1]))
            made = self.emit((m, n), "f32", f"weft.matmul {lhs[0]}, {rhs[0]} {{indexing_maps = [{maps}]}} : "
                             f"{tensor((m, k), 'f32')}, {tensor((k, n), 'f32')} -> {tensor((m, n), 'f32')}")  # fmt: skip
        else:
            body = ["%p = arith.muli %i0, %i1 : i32", "%r = arith.addi %o, %p : i32"]
            made = self.generic([[0, 2], [2, 1], [0, 1]], ["parallel"] * 2 + ["reduction"], [lhs, rhs],
                                ((m, n), "i32"), body, self.splat((m, n), "i32", "0"))  # fmt: skip
        rows, out, attrs = self.lookup_parts((m, n))
        self.emit(out, element, f"weft.take {made}, {rows[0]} {attrs} : {tensor((m, n), element)}, "
                                f"{tensor(*rows[1:])} -> {tensor(out, element)}")  # fmt: skip

    # ---- the whole

    def build(self):
        ops = [self.slice_at, self.slice_at, self.insert_at, self.insert_at, self.branch, self.loop,
               self.integer_product, self.tile, self.looked_product, self.reduce, self.matmul, self.reshape,
               self.binary, self.unary, self.shard, self.concat]  # fmt: skip
        self.argument("f32", 2)
        self.argument("i32", shape=())
        for _ in range(self.rng.randint(2, 8)):
            self.rng.choice(ops)()
            if len(self.values) > 1 and self.count_elements(self.values[-1]) > self.MAX_ELEMENTS:
                self.values.pop()
        self.unary()

    @staticmethod
    def count_elements(value):
        count = 1
        for size in value[1]:
            count *= size
        return count
