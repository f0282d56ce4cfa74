# SPDX-License-Identifier: Apache-2.0
"""Makes wrong programs from a right one: edits of the text of a planned module,
each of which could be a bug of a scheduler or a planner. A mutant is text that
parses; whether it is wrong is for the proofs to say, and for a run."""
import random
import re

from value_edits import WORK, ValueEdits

TOKEN = re.compile(r"%[A-Za-z0-9_]+")
BUFFER = re.compile(r'(%\w+) = weft_rt\.buffer +(\w+) (\d+)(?: "([^"]*)")? : memref<([^>]*)>')


class Statement:
    """An op of the function's body, with its regions."""

    def __init__(self, lines):
        self.text = "\n".join(lines)
        head = lines[0].strip()
        match = re.match(r"((?:%\w+(?::\d+)?(?:, )?)+) = ", head)
        self.defines = set(TOKEN.findall(match.group(1))) if match else set()
        self.used = set(TOKEN.findall(self.text)) - self.defines
        self.head = lines[0]
        self.kind = (re.search(r"(?:^| = )([a-z_]+\.[a-z_]+)", head) or [head, head])[1]

    def operands(self, which):
        """The names in `ins(...)` or `outs(...)` of the op itself."""
        match = re.search(which + r"\(([^:)]*):", self.head)
        return TOKEN.findall(match.group(1)) if match else []


class Program:
    """A planned module: what stands before the body, the body, what follows."""

    def __init__(self, text):
        lines = text.split("\n")
        begin = next(i for i, line in enumerate(lines) if line.startswith("  func.func"))
        self.before = lines[:begin + 1]
        self.body, current, depth = [], [], 0
        for end, line in enumerate(lines[begin + 1:], begin + 1):  # noqa: B007
            if line == "  }":
                break
            current.append(line)
            bare = re.sub(r'"[^"]*"', "", line)
            depth += bare.count("{") - bare.count("}")
            if depth == 0:
                self.body.append(Statement(current))
                current = []
        self.after = lines[end:]
        self.root = {}
        for statement in self.body:
            if statement.kind == "weft_rt.buffer":
                self.root |= {name: name for name in statement.defines}
            elif statement.kind == "weft_rt.view":
                source = TOKEN.findall(statement.head)[1]
                self.root |= {name: self.root[source] for name in statement.defines}

    def text(self, body=None, before=None):
        return "\n".join((before or self.before) + [s.text for s in body or self.body]
                         + self.after)

    def roots(self, names):
        return {self.root[name] for name in names if name in self.root}

    def written(self, statement):
        if statement.kind in ("weft_rt.fused", "weft_rt.start"):
            return self.roots(statement.operands("outs"))
        if statement.kind == "weft_rt.gemm":
            return self.roots(TOKEN.findall(statement.head)[2:3])
        if statement.kind == "weft_rt.scatter_add":
            return self.roots(TOKEN.findall(statement.head)[:1])
        if statement.kind == "weft_rt.copy":
            return self.roots(TOKEN.findall(statement.head)[1:2])
        return set()

    def touched(self, statement):
        return self.roots(statement.used)


def is_valid(body, known):
    """Says whether each of the `known` values is defined before it is used."""
    seen = set()
    for statement in body:
        if (statement.used & known) - seen:
            return False
        seen |= statement.defines
    return True


def replaced(statement, old, new, count=1):
    return Statement(statement.text.replace(old, new, count).split("\n"))


def with_exchanged_places(mutator, space):
    """Bodies in which two arguments, or results, of one type have each other's place."""
    sites = [i for i in mutator.at("weft_rt.buffer") if f" {space} " in mutator.body[i].text]
    for a, b in zip(sites, sites[1:]):
        first, second = BUFFER.search(mutator.body[a].text), BUFFER.search(mutator.body[b].text)
        if first.group(5) == second.group(5):
            body = list(mutator.body)
            body[a] = replaced(body[a], f"{space} {first.group(3)}", f"{space} {second.group(3)}")
            body[b] = replaced(body[b], f"{space} {second.group(3)}", f"{space} {first.group(3)}")
            yield body


class Mutator(ValueEdits):
    """Each `make_*` yields the bodies of mutants of one kind, at all sites."""

    def __init__(self, program, seed):
        self.program = program
        self.random = random.Random(seed)
        self.body = program.body

    def at(self, *kinds):
        sites = [i for i, s in enumerate(self.body) if s.kind in kinds]
        self.random.shuffle(sites)
        return sites

    def with_text(self, site, text):
        return [*self.body[:site], Statement(text.split("\n")), *self.body[site + 1:]]

    def wait_of(self, start):
        ticket = next(iter(self.body[start].defines))
        return next(i for i, s in enumerate(self.body)
                    if s.kind == "weft_rt.wait" and ticket in s.used)

    def without(self, *sites):
        return [s for i, s in enumerate(self.body) if i not in sites]

    def moved(self, site, to):
        """The statement at `site` stands before the one at `to`."""
        body = list(self.body)
        statement = body.pop(site)
        body.insert(to - (to > site), statement)
        return body

    def make_deleted_wait(self):
        for site in self.at("weft_rt.wait"):
            yield self.without(site)

    def make_late_wait(self):
        for start in self.at("weft_rt.start"):
            wait = self.wait_of(start)
            roots = self.program.touched(self.body[start])
            for i in range(wait + 1, len(self.body)):
                if self.body[i].kind in WORK and self.program.touched(self.body[i]) & roots:
                    yield self.moved(wait, i + 1)
                    break

    def make_early_start(self):
        for start in self.at("weft_rt.start"):
            sent = self.program.roots(self.body[start].operands("ins"))
            for i in range(start - 1, -1, -1):
                if self.program.written(self.body[i]) & sent:
                    yield self.moved(start, i)
                    break

    def make_dropped_collective(self):
        for start in self.at("weft_rt.start"):
            yield self.without(start, self.wait_of(start))

    def make_second_start(self):
        for start in self.at("weft_rt.start"):
            ticket = next(iter(self.body[start].defines))
            again = replaced(self.body[start], ticket, "%again")
            wait = replaced(self.body[self.wait_of(start)], ticket, "%again")
            yield self.body[:start + 1] + [again, wait] + self.body[start + 1:]

    def make_second_wait(self):
        for site in self.at("weft_rt.wait"):
            yield self.body[:site + 1] + [self.body[site]] + self.body[site + 1:]

    def make_swapped_work(self):
        for site in self.at(*WORK):
            for other in range(site + 1, len(self.body)):
                if self.body[other].kind in WORK:
                    yield self.moved(other, site)
                    break

    def make_dropped_work(self):
        for site in self.at(*WORK):
            yield self.without(site)

    def make_early_update(self):
        """An argument is written before the last op that reads it."""
        arguments = {name for s in self.body if s.kind == "weft_rt.buffer"
                     and " argument " in s.text for name in s.defines}
        for site in self.at(*WORK):
            target = self.program.written(self.body[site]) & arguments
            for i in range(site - 1, -1, -1):
                if target & self.program.touched(self.body[i]):
                    yield self.moved(site, i)
                    break

    def make_moved_work(self):
        for site in self.at(*WORK):
            yield self.moved(site, self.random.randrange(len(self.body)))

    def arena_buffers(self):
        return [i for i in self.at("weft_rt.buffer") if " arena " in self.body[i].text]

    def with_offset(self, site, offset):
        return self.with_text(site, re.sub(r"arena \d+", f"arena {offset}", self.body[site].text))

    def offset(self, site):
        return int(BUFFER.search(self.body[site].text).group(3))

    def make_overlapped_buffers(self):
        sites = self.arena_buffers()
        for site in sites:
            other = self.random.choice(sites)
            if self.offset(other) != self.offset(site):
                yield self.with_offset(site, self.offset(other))

    def make_shortened_life(self):
        """A buffer is put where another one is needed once more."""
        buffers = {name: i for i in self.arena_buffers() for name in self.body[i].defines}
        for site in self.at(*WORK):
            for target in self.program.written(self.body[site]) & buffers.keys():
                later = set().union(*(self.program.touched(s) for s in self.body[site:site + 40]))
                victims = sorted((later & buffers.keys()) - {target})
                victims = [v for v in victims if any(
                    v in self.program.written(s) for s in self.body[:site])]
                if victims:
                    victim = self.random.choice(victims)
                    yield self.with_offset(buffers[target], self.offset(buffers[victim]))

    def make_shifted_buffer(self):
        for site in self.arena_buffers():
            yield self.with_offset(site, max(0, self.offset(site)
                                             + 64 * self.random.choice([-3, -1, 1, 2, 7])))

    def make_shifted_view(self):
        for site in self.at("weft_rt.view"):
            match = re.search(r" at (\d+)", self.body[site].text)
            step = self.random.choice([-1, 1])
            if int(match.group(1)) + step >= 0:
                yield self.with_text(site, self.body[site].text.replace(match[0], f" at {int(match[1]) + step}", 1))

    def make_iterator(self):
        """A loop of a kernel is a reduction where all outputs have it, or is none where one does not."""
        others = {"parallel": "reduction", "reduction": "parallel"}
        for site in self.at("weft_rt.fused"):
            parts = re.split(r"\b(parallel|reduction)\b", self.body[site].text)
            if len(parts) > 1:
                i = self.random.randrange(1, len(parts), 2)
                yield self.with_text(site, "".join([*parts[:i], others[parts[i]], *parts[i + 1:]]))

    def make_wrong_buffer(self):
        """An op reads another buffer of the same type, or another part of its own."""
        types = {}
        for s in self.body:
            if s.kind in ("weft_rt.buffer", "weft_rt.view"):
                types[next(iter(s.defines))] = s.text.split(" : ")[-1].split(" to ")[-1]
        for site in self.at(*WORK, "weft_rt.start"):
            names = [n for n in self.body[site].operands("ins") if n in types]
            if not names:
                continue
            name = self.random.choice(names)
            others = [n for n in types if types[n] == types[name] and n != name]
            if others:
                yield self.with_text(site, re.sub(re.escape(name) + r"\b", self.random.choice(others),
                                                  self.body[site].text, count=1))

    def make_in_place(self):
        """A kernel writes over what it reads."""
        for site in self.at("weft_rt.fused"):
            statement = self.body[site]
            head = statement.text.split("\n")[0]
            match = re.search(r"ins\(([^:]*) : (.*?)\) outs\(([^:]*) : (.*?)\) \{", head)
            if not match:
                continue
            ins, outs = match.group(1).split(", "), match.group(3).split(", ")
            in_types = re.findall(r"memref<[^<>]*(?:<[^>]*>[^>]*)?>", match.group(2))
            out_types = re.findall(r"memref<[^<>]*(?:<[^>]*>[^>]*)?>", match.group(4))
            pairs = [(a, b) for a, s in zip(ins, in_types) for b, t in zip(outs, out_types)
                     if s == t and a != b and a not in outs]
            if pairs:
                name, out = self.random.choice(pairs)
                new = match.group(3).replace(out, name)
                body = list(self.body)
                body[site] = replaced(statement, f"outs({match.group(3)} :", f"outs({new} :")
                yield body

    def kernels_from(self, site):
        """Where the kernels are that may be one launch: nothing else that does anything lies between them."""
        sites = []
        for i in range(site, len(self.body)):
            kind = self.body[i].kind
            if kind == "weft_rt.fused":
                sites.append(i)
            elif not kind.startswith(("weft_rt.buffer", "weft_rt.view", "weft_rt.assemble", "arith.")):
                break
        return sites

    def depend(self, first, second):
        """Whether one of two kernels writes what the other one takes, or writes."""
        a, b = self.body[first], self.body[second]
        return any(set(x.operands("outs")) & set(y.operands("ins") + y.operands("outs")) for x, y in ((a, b), (b, a)))

    def with_launches(self, depends):
        """One launch of kernels in a row of which the last one depends on another one, or none does."""
        for site in self.at("weft_rt.fused"):
            sites = self.kernels_from(site)[:4]
            for end in range(2, len(sites) + 1):
                run = sites[:end]
                pairs = [self.depend(a, b) for i, b in enumerate(run) for a in run[:i]]
                if any(pairs) == depends:
                    body = list(self.body)
                    for i in run:
                        alone = re.sub(r"weft_rt\.together = \d+ : i64, ", "", body[i].text)
                        body[i] = replaced(Statement(alone.split("\n")), "weft_rt.values = ",
                                           "weft_rt.together = 99 : i64, weft_rt.values = ")
                    yield body
                    break

    def make_dependent_launch(self):
        yield from self.with_launches(True)

    def make_shared_launch(self):
        yield from self.with_launches(False)

    def make_swapped_arguments(self):
        yield from with_exchanged_places(self, "argument")

    # On one rank only.

    def make_rank_swapped_collectives(self):
        """Two collectives in the other order."""
        for first in self.at("weft_rt.start"):
            for second in range(first + 1, len(self.body)):
                if self.body[second].kind == "weft_rt.start":
                    pair = {second, self.wait_of(second)}
                    rest = [s for i, s in enumerate(self.body) if i not in pair]
                    yield (rest[:first] + [self.body[i] for i in sorted(pair)] + rest[first:])
                    break

    def make_rank_dropped_collective(self):
        yield from self.make_dropped_collective()

    def make_rank_other_channel(self):
        channels = sorted(set(re.findall(r"channel = (@[\w.]+)", self.program.text())))
        for site in self.at("weft_rt.start"):
            match = re.search(r"channel = (@[\w.]+)", self.body[site].text)
            others = [c for c in channels if match and c != match.group(1)]
            if others:
                body = list(self.body)
                body[site] = replaced(body[site], match.group(0),
                                      "channel = " + self.random.choice(others))
                yield body

    def make_rank_exchanged_slices(self):
        """Two views of one buffer and type, each at the other's place."""
        first = {}
        for site in self.at("weft_rt.view"):
            match = re.search(r"view (%\w+) at (\d+)( plus %\w+)? (:.*)", self.body[site].text)
            key = (match.group(1), match.group(3), match.group(4))
            other = first.setdefault(key, (site, match.group(2)))
            if other[1] != match.group(2):
                body = list(self.body)
                for at, old, new in ((site, match.group(2), other[1]), (*other, match.group(2))):
                    body[at] = replaced(body[at], f" at {old} ", f" at {new} ")
                yield body

    def make_rank_other_slice(self):
        """An op takes another view of the same buffer."""
        views = [(next(iter(s.defines)), s.text.split(" = ")[1].split(" at ")[0],
                  s.text.split(" : ")[-1]) for s in self.body if s.kind == "weft_rt.view"]
        for site in self.at(*WORK, "weft_rt.start"):
            names = self.body[site].operands("ins") or TOKEN.findall(self.body[site].head)[:2]
            for name, source, types in views:
                others = [v[0] for v in views if v[1:] == (source, types) and v[0] != name]
                if name in names and others:
                    yield self.with_text(site, re.sub(name + r"\b", self.random.choice(others), self.body[site].text, count=1))

    def make_rank_shifted_view(self):
        yield from self.make_shifted_view()


KINDS = [name[len("make_"):] for name in [*vars(ValueEdits), *vars(Mutator)] if name.startswith("make_")]


def make_mutants(text, seed, per_kind):
    """Yields (kind, text) of up to `per_kind` mutants of each kind."""
    program = Program(text)
    known = set().union(*(s.defines for s in program.body)) | {"%again"}
    for kind in KINDS:
        mutator = Mutator(program, f"{seed} {kind}")
        made = 0
        for body in getattr(mutator, "make_" + kind)():
            if made == per_kind:
                break
            if is_valid(body, known):
                made += 1
                yield kind, program.text(body)
