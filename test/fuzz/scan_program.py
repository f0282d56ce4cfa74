# SPDX-License-Identifier: Apache-2.0
"""Random scans over chunks, unrolled, as linear attention and state-space models
have them: a carry that decays from chunk to chunk, outputs that read it, and a
backward pass that goes over the chunks the other way, reads what the forward
pass kept, and has a carry of its own.

What makes them hard for fusion and for updates in place: values live across
many ops, and each is read by ops over other loops, some of them reductions.
"""

from program import Program, affine, tensor


class ScanProgram(Program):
    """Writes one program. Loops: b (rows), i (places of a chunk), d, e (state)."""

    def __init__(self, seed):
        super().__init__(f"scan {seed}")
        pick = self.rng.choice
        self.chunks = self.rng.randint(2, 5)
        self.loops = {"b": pick([1, 2, 2, 3, 4, 8]), "i": pick([1, 2, 3, 4, 8]), "d": pick([1, 2, 3, 4, 8, 16]),
                      "e": pick([2, 3, 4])}  # fmt: skip
        self.state = pick(["bd", "bd", "bd", "bde", "bed"])
        self.kept = []
        self.kernels = pick([0, 0, 0.4])  # how many contractions are kernels

    # ---- pieces over named loops

    def shape(self, loops):
        return tuple(self.loops[loop] for loop in loops)

    def over(self, ins, out, body, reduced="", init="0.0"):
        """A generic: `ins` are pairs of a value and its loops."""
        loops = out + reduced
        maps = [[loops.index(loop) for loop in names] for _, names in ins] + [range(len(out))]
        kinds = ["parallel"] * len(out) + ["reduction"] * len(reduced)
        values = [(name, self.shape(names), "f32") for name, names in ins]
        start = self.splat(self.shape(out), "f32", init) if reduced else None
        return self.generic(maps, kinds, values, (self.shape(out), "f32"), body, start)

    def product(self, a, a_loops, b, b_loops, out):
        """A contraction, as one op or as a kernel of its own."""
        reduced = "".join(dict.fromkeys(loop for loop in a_loops + b_loops if loop not in out))
        if not reduced or self.rng.random() < self.kernels:
            body = ["%r = arith.mulf %i0, %i1 : f32"]
            if reduced:
                body = ["%t = arith.mulf %i0, %i1 : f32", "%r = arith.addf %o, %t : f32"]
            return self.over([(a, a_loops), (b, b_loops)], out, body, reduced)
        order = "".join(dict.fromkeys(a_loops + b_loops))
        maps = ", ".join(affine(len(order), [order.index(x) for x in loops]) for loops in (a_loops, b_loops, out))
        return self.emit(self.shape(out), "f32", f"weft.matmul {a}, {b} {{indexing_maps = [{maps}]}} : "
                         f"{tensor(self.shape(a_loops), 'f32')}, {tensor(self.shape(b_loops), 'f32')} -> "
                         f"{tensor(self.shape(out), 'f32')}")  # fmt: skip

    def combine(self, op, a, b, loops, small):
        """a op b, where b has only some of a's loops."""
        return self.over([(a, loops), (b, small)], loops, [f"%r = arith.{op} %i0, %i1 : f32"])

    def chunk(self, stacked, loops, at):
        shape = self.shape(loops)
        whole, zeros, ones = (self.chunks, *shape), [0] * len(shape), [1] * (len(shape) + 1)
        return self.emit(shape, "f32", f"tensor.extract_slice {stacked}{[at, *zeros]} {[1, *shape]} {ones} : "
                                       f"{tensor(whole, 'f32')} to {tensor(shape, 'f32')}")  # fmt: skip

    def place(self, value, at):
        """One place of a chunk [b, i], as [b]."""
        b, i = self.shape("bi")
        return self.emit((b,), "f32", f"tensor.extract_slice {value}[0, {at}] [{b}, 1] [1, 1] : "
                                      f"{tensor((b, i), 'f32')} to {tensor((b,), 'f32')}")  # fmt: skip

    def at_place(self, value, at):
        """[b] as one place of a chunk [b, i] of zeros, or of all of it."""
        b, i = self.shape("bi")
        if self.rng.random() < 0.2:
            return self.over([(value, "b")], "bi", ["%r = arith.mulf %i0, %i0 : f32"])
        zeros = self.splat((b, i), "f32", "0.0")
        return self.emit((b, i), "f32", f"tensor.insert_slice {value} into {zeros}[0, {at}] [{b}, 1] [1, 1] : "
                                        f"{tensor((b,), 'f32')} into {tensor((b, i), 'f32')}")  # fmt: skip

    def stack(self, values, loops):
        shape = self.shape(loops)
        rows = []
        groups = [[0, 1]] + [[d] for d in range(2, len(shape) + 1)]
        for value in values:
            rows.append(self.emit((1, *shape), "f32", f"tensor.expand_shape {value} {groups} output_shape {[1, *shape]} : "
                                  f"{tensor(shape, 'f32')} into {tensor((1, *shape), 'f32')}"))  # fmt: skip
        types = ", ".join([tensor((1, *shape), "f32")] * len(rows))
        whole = (len(rows), *shape)
        return self.emit(whole, "f32", f"tensor.concat dim(0) {', '.join(rows)} : ({types}) -> {tensor(whole, 'f32')}")

    def stacked(self, loops):
        return self.argument("f32", shape=(self.chunks, *self.shape(loops)))[0]

    # ---- the two passes

    def decay(self, g):
        """What a carry is multiplied by: between 0 and 1, of the chunk's last place, or of all."""
        body = self.rng.choice([
            ["%a = math.absf %i0 : f32", "%n = arith.negf %a : f32", "%r = math.exp %n : f32"],
            ["%r = math.tanh %i0 : f32"],
            ["%c = arith.constant 0.5 : f32", "%r = arith.mulf %i0, %c : f32"]])  # fmt: skip
        if self.rng.random() < 0.3:
            summed = self.over([(g, "bi")], "b", ["%r = arith.addf %o, %i0 : f32"], reduced="i")
            return self.over([(summed, "b")], "b", body)
        return self.over([(self.place(g, self.loops["i"] - 1), "b")], "b", body)

    def output(self, o, loops, v):
        """What a chunk gives of what it read."""
        kind = self.rng.choice(["plain", "shifted", "scaled", "smooth", "normed"])
        if kind == "shifted":
            return self.over([(o, loops)], loops, ["%c = arith.constant 1.0 : f32", "%r = arith.addf %i0, %c : f32"])
        if kind == "scaled":
            return self.combine("mulf", o, v, loops, "bi")
        if kind == "smooth":
            return self.over([(o, loops)], loops, ["%r = math.tanh %i0 : f32"])
        if kind == "normed":
            norm = self.over([(o, loops)], "b", ["%t = arith.mulf %i0, %i0 : f32", "%r = arith.addf %o, %t : f32"],
                             reduced=loops[1:], init="1.0")  # fmt: skip
            return self.combine("divf", o, norm, loops, "b")
        return o

    def forward(self, start):
        z, state, out = start, self.state, self.out
        q, k, g = self.stacked("bid"), self.stacked("bid"), self.stacked("bi")
        grows, v = self.rng.random() < 0.6, self.stacked("bie") if "e" in state else None
        style, outputs = self.rng.getstate(), []
        for n in range(self.chunks):
            self.rng.setstate(style)  # each chunk does the same
            q_n, g_n = self.chunk(q, "bid", n), self.chunk(g, "bi", n)
            read = self.product(q_n, "bid", z, state, out)
            o, a = self.output(read, out, g_n), self.decay(g_n)
            self.kept.append((q_n, g_n, z, a, o))
            outputs.append(o)
            z = self.combine("mulf", z, a, state, "b")
            if grows:
                k_n = self.chunk(k, "bid", n)
                if v:
                    more = self.product(k_n, "bid", self.chunk(v, "bie", n), "bie", state)
                else:
                    more = self.over([(k_n, "bid")], state, ["%r = arith.addf %o, %i0 : f32"], reduced="i")
                z = self.combine("addf", z, more, state, state)
        return z, outputs

    def backward(self):
        state, out = self.state, self.out
        dz = self.splat(self.shape(state), "f32", "0.0") if self.rng.random() < 0.5 else None
        keeps_shift, style, grads = self.rng.random() < 0.5, self.rng.getstate(), []
        for q_n, g_n, z, a, o in reversed(self.kept):
            self.rng.setstate(style)
            do = self.over([(o, out)], out, ["%r = arith.addf %i0, %i0 : f32"])
            if keeps_shift:
                do = self.combine("mulf", do, g_n, out, "bi")
            dq = self.product(do, out, z, state, "bid")
            more = self.product(q_n, "bid", do, out, state)
            if dz is None:  # nobody reads the last carry
                dz, dg = more, self.splat(self.shape("bi"), "f32", "0.0")
            else:
                da = self.over([(dz, state), (z, state)], "b",
                               ["%t = arith.mulf %i0, %i1 : f32", "%r = arith.addf %o, %t : f32"], reduced=state[1:])  # fmt: skip
                dz = self.combine("addf", self.combine("mulf", dz, a, state, "b"), more, state, state)
                dg = self.at_place(self.combine("mulf", da, a, "b", "b"), self.loops["i"] - 1)
            grads.append((dq, dg))
        return dz, grads[::-1]

    def build(self):
        self.out = "bie" if "e" in self.state else "bi"
        start = self.argument("f32", shape=self.shape(self.state))[0]
        if self.rng.random() < 0.5:
            start = self.splat(self.shape(self.state), "f32", self.rng.choice(["0.0", "1.0"]))
        z, outputs = self.forward(start)
        if self.rng.random() < 0.3:
            self.stack(outputs, self.out)
            return self.over([(z, self.state)], self.state, ["%r = math.tanh %i0 : f32"])
        dz, grads = self.backward()
        last = self.rng.choice([dz, z])
        self.stack([dg for _, dg in grads], "bi")
        if self.rng.random() < 0.7:
            self.stack([dq for dq, _ in grads], "bid")
        self.over([(last, self.state)], self.state, ["%r = math.tanh %i0 : f32"])
