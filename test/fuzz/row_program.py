# SPDX-License-Identifier: Apache-2.0
"""Random programs of rows and blocks whose sizes are those of vector registers, or
a little beside them: few rows of 8 and 16, short rows beside wide ones, parts of
what was padded, and narrow types. Arguments are updated in place.

Values are rounded to f8 where all ranks have the same ones: an argument, or an
integer.
"""

from data_program import DataProgram
from program import is_float, tensor

NARROW = ["f8E4M3FN", "f8E5M2"]
WIDTHS = {"f8E4M3FN": 8, "f8E5M2": 8, "bf16": 16, "f16": 16, "f32": 32, "f64": 64}


class RowProgram(DataProgram):
    """Writes one program."""

    ROWS = [1, 2, 3, 4, 5, 6]
    COLUMNS = [8, 16, 16, 15, 17, 32, 24, 1, 3, 6]
    SIZES = [*ROWS, 8, 16]
    MAX_ELEMENTS = 4096

    def __init__(self, seed):
        super().__init__(f"rows {seed}")

    def draw_shape(self):
        shape = (self.rng.choice(self.ROWS), self.rng.choice(self.COLUMNS))
        return (self.rng.choice([1, 2, 3]), *shape) if self.rng.random() < 0.3 else shape

    def argument(self, element, min_rank=0, shape=None):
        return super().argument(element, shape=self.draw_shape() if shape is None else shape)

    def number(self, min_rank=0):
        return self.pick(["f32", "f32", "bf16", "f64", "i8", "i32"], min_rank)

    # ---- rows

    def short_beside_wide(self):
        """A row, a column, or both, with a whole tensor: `[6, 8] * [6]`."""
        name, shape, element = self.number(2)
        full = list(range(len(shape)))
        kept = self.rng.choice([full[:-1], full[-1:], full[:1], [d for d in full if d != len(full) - 2]])
        ins = [(name, shape, element), self.same([shape[d] for d in kept], element)]
        maps, ops = [full, kept], ["addf", "mulf", "subf"] if is_float(element) else ["addi", "muli", "subi"]
        body = [f"%t = arith.{self.rng.choice(ops)} %i0, %i1 : {element}"]
        last = "%t"
        if self.rng.random() < 0.4:
            ins.append(self.same([shape[-1]], element))
            maps.append(full[-1:])
            body.append(f"%u = arith.{self.rng.choice(ops)} {last}, %i2 : {element}")
            last = "%u"
        self.generic([*maps, full], ["parallel"] * len(full), ins, (shape, element), body + self.bound(last, element))

    def row_sum(self):
        """Of rows, which may take what the sum of others gave."""
        name, shape, _ = self.pick(["f32"], 2)
        kept, loops = list(range(len(shape) - 1)), range(len(shape))
        init = self.splat(shape[:-1], "f32", "0.0")
        self.generic([loops, kept], ["parallel"] * len(kept) + ["reduction"], [(name, shape, "f32")],
                     (shape[:-1], "f32"), ["%r = arith.addf %i0, %o : f32"], init)  # fmt: skip
        total = self.values[-1]
        self.generic([loops, kept, loops], ["parallel"] * len(shape), [(name, shape, "f32"), total], (shape, "f32"),
                     ["%t = arith.subf %i0, %i1 : f32", "%r = math.tanh %t : f32"])  # fmt: skip

    # ---- parts

    def part_of_padded(self):
        """Some of it is what was there, some is padding; and once more."""
        for _ in range(self.rng.choice([1, 1, 2])):
            self.pad()
            name, shape, element = self.values[-1]
            where, out = self.window(shape)
            self.emit(out, element, f"tensor.extract_slice {name}{where} : {tensor(shape, element)} to {tensor(out, element)}")

    def joined_parts(self):
        """A tensor is cut in two, and put together, maybe the other way round."""
        name, shape, element = self.number(2)
        dim = self.rng.choice([d for d, n in enumerate(shape) if n > 1] or [None])
        if dim is None:
            return
        cut, parts = self.rng.randint(1, shape[dim] - 1), []
        for begin, end in ((0, cut), (cut, shape[dim])):
            sizes = [*shape[:dim], end - begin, *shape[dim + 1 :]]
            offsets = [begin if d == dim else 0 for d in range(len(shape))]
            part = self.emit(sizes, element, f"tensor.extract_slice {name}{offsets} {sizes} {[1] * len(shape)} : "
                                             f"{tensor(shape, element)} to {tensor(sizes, element)}")  # fmt: skip
            parts.append((part, tensor(sizes, element)))
        self.rng.shuffle(parts)
        self.emit(shape, element, f"tensor.concat dim({dim}) {', '.join(p for p, _ in parts)} : "
                                  f"({', '.join(t for _, t in parts)}) -> {tensor(shape, element)}")  # fmt: skip

    # ---- types

    def cast(self, value, to):
        _, shape, element = value
        if is_float(element) or element in NARROW:
            op = ("fptosi" if to[0] == "i" else "extf" if WIDTHS[to] > WIDTHS[element] else "truncf")
        else:
            op = "sitofp" if to[0] != "i" else "extsi" if int(to[1:]) > int(element[1:]) else "trunci"
        self.elementwise([value], (shape, to), [f"%r = arith.{op} %i0 : {element} to {to}"])
        return self.values[-1]

    def casts(self):
        """Of an argument, to narrow types and back to a wide one."""
        value = self.argument(self.rng.choice(["f32", "bf16", "i8", *NARROW]))
        for _ in range(self.rng.randint(1, 3)):
            element = value[2]
            to = self.rng.choice([e for e in ["f32", "bf16", "f64", "i8", *NARROW] if e != element
                                  and WIDTHS.get(e) != WIDTHS.get(element)])  # fmt: skip
            value = self.cast(value, to)
        wide = value if value[2] in ("f32", "i8") else self.cast(value, "f32" if value[2] != "f32" else "f64")
        self.elementwise([wide], wide[1:], self.bound("%i0", wide[2]))

    # ---- the whole

    def build(self):
        ops = [self.short_beside_wide, self.short_beside_wide, self.row_sum, self.part_of_padded, self.part_of_padded,
               self.joined_parts, self.casts, self.slice_at, self.insert_at, self.take, self.scatter, self.looked_product,
               self.matmul, self.concat, self.reduce, self.reshape, self.unary, self.linear, self.shard]  # fmt: skip
        self.argument("f32", shape=self.draw_shape())
        for _ in range(self.rng.randint(3, 9)):
            self.rng.choice(ops)()
            if self.count_elements(self.values[-1]) > self.MAX_ELEMENTS:
                self.values.pop()
        # One for each argument that is updated in place: `borders` gives results their places.
        for name, shape, element in [a for a in self.args if a[2] in ("f32", "i32")][:2]:
            self.elementwise([(name, shape, element), self.same(shape, element)], (shape, element),
                             [f"%t = arith.{'addf' if is_float(element) else 'addi'} %i0, %i1 : {element}"]
                             + self.bound("%t", element))  # fmt: skip
        self.unary()
