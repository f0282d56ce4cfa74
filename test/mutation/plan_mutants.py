# SPDX-License-Identifier: Apache-2.0
"""Edits of a planned module that leave its memory alone and change what it
computes: ops, regions, attributes, constants, views, orders and numbers."""
import random
import re

from mutants import TOKEN, WORK, Program, Statement, is_valid, with_exchanged_places

OPS = [("arith.addf", "arith.subf"), ("arith.mulf", "arith.addf"), ("arith.subf", "arith.addf"),
       ("arith.divf", "arith.mulf"), ("arith.maximumf", "arith.minimumf"),
       ("arith.maxnumf", "arith.minnumf"), ("arith.addi", "arith.subi"), ("arith.muli", "arith.addi"),
       ("math.exp ", "math.sqrt "), ("math.rsqrt", "math.sqrt"), ("math.tanh", "math.exp"),
       ("arith.negf", "math.absf"), ("olt,", "oge,"), ("slt,", "sge,"), ("eq,", "ne,")]
VALUES = re.compile(r"weft_rt\.values = array<i64(?:: ([-\d, ]*))?>")


def ids_of(statement):
    """The numbers of a statement's own buffers: the last list in its text."""
    found = list(VALUES.finditer(statement.text))
    return [int(i) for i in found[-1].group(1).split(", ")] if found and found[-1].group(1) else []


def with_ids(text, ids):
    found = list(VALUES.finditer(text))[-1]
    new = f"weft_rt.values = array<i64: {', '.join(map(str, ids))}>"
    return text[:found.start()] + new + text[found.end():]


class PlanMutator:
    """Each `make_*` yields texts of mutants of one kind, at all sites."""

    def __init__(self, program, seed):
        self.program = program
        self.body = program.body
        self.random = random.Random(seed)

    def at(self, *kinds):
        sites = [i for i, s in enumerate(self.body) if s.kind in kinds]
        self.random.shuffle(sites)
        return sites

    def edited(self, site, text):
        body = list(self.body)
        body[site] = Statement(text.split("\n"))
        return body

    def replaced_at(self, site, pattern, new):
        """One of the places in a statement at which `pattern` stands."""
        text = self.body[site].text
        found = list(re.finditer(pattern, text))
        if found:
            match = self.random.choice(found)
            yield self.edited(site, text[:match.start()] + match.expand(new) + text[match.end():])

    def make_changed_op(self):
        for site in self.at("weft_rt.fused", "scf.for"):
            pairs = [p for p in OPS if p[0] in self.body[site].text]
            if pairs:
                old, new = self.random.choice(pairs)
                yield from self.replaced_at(site, re.escape(old), new)

    def make_changed_number(self):
        """A constant in a kernel, or a scalar of the step."""
        for site in self.at("weft_rt.fused", "scf.for", "arith.constant"):
            yield from self.replaced_at(site, r"arith\.constant (\d)\.(\d+)", r"arith.constant 3.\2")
            yield from self.replaced_at(site, r"arith\.constant (\d+) : (i32|index)",
                                        r"arith.constant 3 : \2")

    def make_changed_constant(self):
        """A constant tensor of the module."""
        sites = [i for i, line in enumerate(self.program.before) if "memref.global" in line]
        self.random.shuffle(sites)
        for site in sites:
            before = list(self.program.before)
            line = re.sub(r"dense<(\[*)(-?)(\d)", r"dense<\g<1>\g<2>7", before[site], count=1)
            if line != before[site] and '"0x' not in line:
                yield self.program.text(before=before[:site] + [line] + before[site + 1:])

    def make_exchanged_operands(self):
        """Two inputs of one type, with their numbers."""
        for site in self.at("weft_rt.fused"):
            head, *rest = self.body[site].text.split("\n")
            match = re.search(r"ins\(([^:()]*) : (.*?)\) (?:scalars|outs)", head)
            if not match:
                continue
            names = match.group(1).split(", ")
            types = re.findall(r"memref<[^<>]*(?:<[^>]*>[^>]*)?>", match.group(2))
            pairs = [(a, b) for a in range(len(names)) for b in range(a)
                     if types[a] == types[b] and names[a] != names[b]]
            if pairs:
                a, b = self.random.choice(pairs)
                names[a], names[b] = names[b], names[a]
                ids = ids_of(self.body[site])
                ids[a], ids[b] = ids[b], ids[a]
                text = "\n".join([head.replace(match.group(1), ", ".join(names), 1), *rest])
                yield self.edited(site, with_ids(text, ids))

    def scalars_like(self, name):
        """Other scalars of the type of the scalar `name`, defined by single ops."""
        types = {next(iter(s.defines)): re.sub(r"^memref<(\d+x)*|[,>].*$", "", re.split(" : | to ", s.text)[-1])
                 for s in self.body
                 if len(s.defines) == 1 and s.kind.startswith(("arith.", "weft_rt.read_scalar"))}
        return [n for n in types if n != name and types[n] == types.get(name)]

    def make_changed_scalar(self):
        """A kernel, or a scatter, gets another scalar with its launch."""
        for site in self.at("weft_rt.fused", "weft_rt.scatter_add"):
            text = self.body[site].text
            match = re.search(r"(?:scalars\(| base )(%\w+)", self.body[site].head)
            others = self.scalars_like(match.group(1)) if match else []
            if others:
                yield self.edited(site, text[:match.start(1)] + self.random.choice(others)
                                  + text[match.end(1):])

    def make_dropped_scalar(self):
        for site in self.at("weft_rt.scatter_add"):
            text = self.body[site].text
            if " base " in text:
                yield self.edited(site, re.sub(r" base %\w+", "", text, count=1))

    def make_changed_read(self):
        """Another element is read, or one of another buffer of its type."""
        for site in self.at("weft_rt.read_scalar"):
            text = self.body[site].text
            match = re.search(r"read_scalar (%\w+)\[(.*?)\].* : (memref<.*>)$", text)
            buffers = [next(iter(s.defines)) for s in self.body[:site]
                       if s.kind in ("weft_rt.buffer", "weft_rt.view")
                       and s.text.endswith(match.group(3)) and match.group(1) not in s.defines]
            if buffers:
                yield self.edited(site, text.replace(match.group(1) + "[", self.random.choice(buffers) + "["))
            for name in TOKEN.findall(match.group(2)):
                others = self.scalars_like(name)
                if others:
                    yield self.edited(site, text[:match.start(2)] + match.group(2).replace(
                        name, self.random.choice(others)) + text[match.end(2):])

    def make_moved_read(self):
        """A scalar is read before the op before it that does work, or after the next."""
        for site in self.at("weft_rt.read_scalar"):
            for step in (-1, 1):
                other = site + step
                while 0 <= other < len(self.body) and self.body[other].kind not in (*WORK, "weft_rt.wait"):
                    other += step
                if 0 <= other < len(self.body):
                    body = list(self.body)
                    statement = body.pop(site)
                    body.insert(other, statement)
                    yield body

    def make_changed_copy(self):
        """A constant of the same type, or to where another value is to be."""
        for site in self.at("weft_rt.copy"):
            text = self.body[site].text
            match = re.search(r"copy (%\w+) to (%\w+).* : (memref<.*>) to (memref<.*>)$", text)
            for number in (1, 2):
                kinds = ("memref.get_global",) if number == 1 else ("weft_rt.buffer", "weft_rt.view")
                others = [next(iter(s.defines)) for s in self.body[:site] if s.kind in kinds
                          and s.text.endswith(match.group(number + 2)) and match.group(number) not in s.defines]
                if others:
                    yield self.edited(site, text[:match.start(number)] + self.random.choice(others)
                                      + text[match.end(number):])

    def make_exchanged_factors(self):
        for site in self.at("weft_rt.gemm"):
            text = self.body[site].text
            match = re.search(r"gemm (%\w+), (%\w+) into(.*) : (memref<.*>), (memref<.*>) into", text)
            if match and match.group(4) == match.group(5) and match.group(1) != match.group(2):
                ids = ids_of(self.body[site])
                new = text.replace(f"{match.group(1)}, {match.group(2)}",
                                   f"{match.group(2)}, {match.group(1)}", 1)
                yield self.edited(site, with_ids(new, [ids[1], ids[0], *ids[2:]]))

    def make_changed_map(self):
        for site in self.at("weft_rt.gemm", "weft_rt.fused"):
            yield from self.replaced_at(site, r"indexing_maps = \[(#\w+), (#\w+)(, #\w+)?",
                                        r"indexing_maps = [\2, \1\3")

    def make_changed_attribute(self):
        for site in self.at("weft_rt.start"):
            for old, new in ((r"reduce = *sum", "reduce = max"), (r"dims = \[0", "dims = [1"),
                             (r"dims = \[1", "dims = [0"), (r"order = <[^>]*>, ", "")):
                yield from self.replaced_at(site, old, new)

    def make_changed_axes(self):
        for site in self.at("weft_rt.start"):
            axes = sorted(set(re.findall(r"axes = <(\{[^}]*\})>", self.program.text())))
            text = self.body[site].text
            match = re.search(r"axes = <(\{[^}]*\})>", text)
            others = [a for a in axes if match and a != match.group(1)]
            if others:
                yield self.edited(site, text.replace(match.group(1), self.random.choice(others), 1))

    def wait_of(self, start):
        ticket = next(iter(self.body[start].defines))
        return next(i for i, s in enumerate(self.body)
                    if s.kind == "weft_rt.wait" and ticket in s.used)

    def make_dropped_with_numbers(self):
        """A collective is left out, and who reads what it gives says that it
        reads what it takes."""
        for site in self.at("weft_rt.start"):
            ids, wait = ids_of(self.body[site]), self.wait_of(site)
            ins, outs = self.body[site].operands("ins"), self.body[site].operands("outs")
            if ins != outs:
                continue
            renamed = dict(zip(ids[len(ins):], ids[:len(ins)]))
            body = []
            for i, statement in enumerate(self.body):
                if i not in (site, wait):
                    body.append(Statement(VALUES.sub(lambda m: self.rename(m, renamed), statement.text).split("\n")))
            before = [re.sub(r"value = (\d+)", lambda m: f"value = {renamed.get(int(m.group(1)), m.group(1))}", line)
                      for line in self.program.before]
            yield self.program.text(body, before)

    @staticmethod
    def rename(match, renamed):
        ids = [renamed.get(int(i), int(i)) for i in match.group(1).split(", ")] if match.group(1) else []
        return f"weft_rt.values = array<i64{': ' if ids else ''}{', '.join(map(str, ids))}>"

    def make_dropped_work(self):
        for site in self.at(*WORK):
            yield [s for i, s in enumerate(self.body) if i != site]

    def make_doubled_work(self):
        for site in self.at(*WORK):
            yield self.body[:site] + [self.body[site]] + self.body[site:]

    def make_swapped_work(self):
        for site in self.at(*WORK, "weft_rt.start"):
            for other in range(site + 1, len(self.body)):
                if self.body[other].kind in WORK:
                    body = list(self.body)
                    statement = body.pop(other)
                    body.insert(site, statement)
                    yield body
                    break

    def make_shifted_view(self):
        for site in self.at("weft_rt.view"):
            match = re.search(r" at (\d+)", self.body[site].text)
            step = self.random.choice([-4, -1, 1, 4])
            if int(match.group(1)) + step >= 0:
                yield self.edited(site, self.body[site].text.replace(
                    match.group(0), f" at {int(match.group(1)) + step}", 1))

    def make_shifted_view_in_loop(self):
        for site in self.at("scf.for", "scf.if"):
            text = self.body[site].text
            for match in re.finditer(r"weft_rt\.view %\w+ at (\d+)", text):
                yield self.edited(site, text[:match.start(1)] + str(int(match.group(1)) + 1)
                                  + text[match.end(1):])

    def make_other_view(self):
        """An op reads another part of the same value."""
        views = {}
        for s in self.body:
            if s.kind == "weft_rt.view":
                views[next(iter(s.defines))] = (self.program.root[next(iter(s.defines))],
                                                s.text.split(" to ")[-1])
        for site in self.at(*WORK, "weft_rt.start"):
            names = [n for n in TOKEN.findall(self.body[site].head) if n in views]
            if not names:
                continue
            name = self.random.choice(names)
            others = [n for n in views if views[n] == views[name] and n != name]
            if others:
                yield self.edited(site, re.sub(re.escape(name) + r"\b", self.random.choice(others),
                                               self.body[site].text, count=1))

    def make_changed_strides(self):
        """A part is read as if it lay in rows of another length."""
        for site in self.at("weft_rt.view"):
            text = self.body[site].text
            match = re.search(r" to memref<(\d+)x(\d+)x(\w+)(, strided<\[(\d+), 1\]>)?>$", text)
            if match:
                stride = int(match.group(5) or match.group(2)) + self.random.choice([1, 2])
                new = text[:match.start()] + f" to memref<{match.group(1)}x{match.group(2)}x{match.group(3)}, strided<[{stride}, 1]>>"
                old = text.split(" to ")[-1]
                body = self.edited(site, new)
                name = next(iter(self.body[site].defines))
                for i, s in enumerate(body):
                    if name in s.used and s.kind != "weft_rt.view":
                        body[i] = Statement(s.text.replace(old, new.split(" to ")[-1]).split("\n"))
                yield body

    def make_changed_id(self):
        for site in self.at(*WORK, "weft_rt.start"):
            ids = ids_of(self.body[site])
            if ids:
                i = self.random.randrange(len(ids))
                ids[i] = max(0, ids[i] + self.random.choice([-2, -1, 1, 2]))
                yield self.edited(site, with_ids(self.body[site].text, ids))

    def make_renamed_value(self):
        """A number is another one everywhere: nothing is wrong."""
        ids = sorted({i for s in self.body for i in ids_of(s)} - set(range(20)))
        if not ids:
            return
        old, new = self.random.choice(ids), 900000
        text = re.sub(r"(values = array<i64: |reads = array<i64: |from \[|value )([-\d, ]+)",
                      lambda m: m.group(1) + re.sub(rf"\b{old}\b", str(new), m.group(2)),
                      self.program.text())
        yield re.sub(rf"value = {old}>", f"value = {new}>", text)

    def make_exchanged_results(self):
        found = re.findall(r"(local = (tensor<[^>]*>)(?:(?!#weft_rt).)*?value = (\d+))", self.program.text())
        for a in found:
            for b in found:
                if a[1] == b[1] and a[2] != b[2] and "alias" not in a[0] + b[0]:
                    text = self.program.text()
                    yield text.replace(f"value = {a[2]}>", "value = X>").replace(
                        f"value = {b[2]}>", f"value = {a[2]}>").replace("value = X>", f"value = {b[2]}>")
                    return

    def make_changed_buffer(self):
        """A result has the memory of another one of its type."""
        yield from with_exchanged_places(self, "result")

    def make_other_channel(self):
        channels = sorted(set(re.findall(r"channel = (@[\w.]+)", self.program.text())))
        for site in self.at("weft_rt.start"):
            match = re.search(r"channel = (@[\w.]+)", self.body[site].text)
            others = [c for c in channels if match and c != match.group(1)]
            if others:
                yield self.edited(site, self.body[site].text.replace(
                    match.group(0), "channel = " + self.random.choice(others)))

    def make_changed_bound(self):
        """A loop goes through its body another number of times."""
        for site in self.at("scf.for"):
            head = self.body[site].head
            match = re.search(r" = (%\w+) to (%\w+) step (%\w+)", head)
            if match:
                yield self.edited(site, self.body[site].text.replace(
                    match.group(0), f" = {match.group(3)} to {match.group(2)} step {match.group(3)}", 1))

    def make_dropped_in_loop(self):
        for site in self.at("scf.for", "scf.if"):
            text = self.body[site].text
            for match in re.finditer(r"\n +weft_rt\.(gemm|scatter_add)[^\n]*", text):
                yield self.edited(site, text[:match.start()] + text[match.end():])


KINDS = [name[len("make_"):] for name in vars(PlanMutator) if name.startswith("make_")]


def make_plan_mutants(text, seed, per_kind):
    """Yields (kind, text) of up to `per_kind` mutants of each kind."""
    program = Program(text)
    known = set().union(*(s.defines for s in program.body))
    for kind in KINDS:
        made = 0
        for mutant in getattr(PlanMutator(program, f"{seed} {kind}"), "make_" + kind)():
            if made == per_kind:
                break
            if not isinstance(mutant, str):
                if not is_valid(mutant, known):
                    continue
                mutant = program.text(mutant)
            if mutant != text:
                made += 1
                yield kind, mutant
