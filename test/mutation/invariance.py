#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the proof of invariance against wrong programs.

  invariance.py [--per-kind N] [--seconds N] [MODULE...]

For each example and mesh: the local program itself must be accepted, and so must
harmless edits of it. Then the program of a rank is edited (the one-rank program
stays), each edit one that could be a bug of the partitioner. A mutant that is
accepted must give the same bytes as the program when both run on the host
backend; some kinds are never accepted. See driver.py.
"""
import re

from driver import Check, Example
from edits import Edits

# What is wrong whatever the numbers are. (An order is, too, but for a collective
# after a lookup, which adds zeros to one part.)
NEVER_ACCEPTED = {"fast_math", "no_collective"}
KINDS = ["fewer_leaves", "more_leaves", "lanes", "rounded", "no_order", "swapped_axes",
         "other_axis", "swapped_collectives", "other_kind", "no_collective", "other_part",
         "other_offset", "other_constant", "other_op", "swapped_operands", "other_function",
         "other_operand", "added_op", "fast_math", "renamed", "reordered"]


class RankEdits(Edits):
    """Edits of the program of a rank."""

    def make_swapped_collectives(self):
        """Of two reductions, one after the other, the axes are exchanged."""
        for site in self.sites(r"weft\.(all_reduce|reduce_scatter) +sum"):
            first = self.lines[site]
            for later in range(site + 1, min(site + 3, len(self.lines))):
                axes = [re.search(r"weft\.(?:all_reduce|reduce_scatter).* (<\{.*?\}>)", line)
                        for line in (first, self.lines[later])]
                if all(axes) and axes[0][1] != axes[1][1]:
                    lines = list(self.lines)
                    lines[site] = first.replace(axes[0][1], axes[1][1])
                    lines[later] = self.lines[later].replace(axes[1][1], axes[0][1])
                    yield self.text(lines)

    def make_no_collective(self):
        """What a reduction of contributions gives is one of them."""
        for site in self.sites(r"weft\.all_reduce +sum %\w+ "):
            match = re.search(r"(%\w+) = weft\.all_reduce +sum (%\w+) ", self.lines[site])
            rest = [re.sub(match[1] + r"\b", match[2], line) for line in self.lines[site + 1:]]
            yield self.text(self.lines[:site] + rest)

    def make_other_part(self):
        """A slice or base at another place."""
        for text in self.substituted(r"(tensor\.extract_slice %\w+\[)%\w+", r"\g<1>0"):
            yield text
        for text in self.substituted(r" base %\w+", ""):
            yield text
        for text in self.edited(r"arith\.muli .* : index", lambda line:
                                line.replace("arith.muli", "arith.addi")):
            yield text
        for text in self.edited(r'weft\.axis_index.*"(\w+)", "(\w+)"', lambda line: re.sub(
                r'"(\w+)", "(\w+)"', r'"\2", "\1"', line)):
            yield text

    def make_other_offset(self):
        return self.substituted(r"(tensor\.extract_slice %\w+\[(?:\d+, )*)0(.*\] \[(?:\d+, )*1\b)",
                                r"\g<1>1\2")

    def make_other_op(self):
        swaps = {"addf": "subf", "subf": "addf", "mulf": "addf", "maximumf": "minimumf",
                 "divf": "mulf", "slt": "sle", "cmpi eq": "cmpi ne"}
        pattern = "|".join(swaps)
        return self.edited(rf"arith\.({pattern}|cmpi slt)\b", lambda line:
                           re.sub(pattern, lambda m: swaps[m[0]], line, count=1))

    def make_added_op(self):
        """A part is scaled on its way to a collective."""
        for site in self.sites(r"weft\.(all_reduce|reduce_scatter) +sum %\w+ "):
            match = re.search(r"sum (%\w+) .*: \((tensor<[^>]*>)\)", self.lines[site])
            rank = match[2].count("x")
            dims = ", ".join(f"d{i}" for i in range(rank))
            element = match[2][:-1].split("x")[-1].split("<")[-1]
            same = f"affine_map<({dims}) -> ({dims})>"
            iterators = ", ".join(['"parallel"'] * rank)
            added = f"""    %added_e = tensor.empty() : {match[2]}
    %added = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = [{iterators}]}} ins({match[1]} : {match[2]}) outs(%added_e : {match[2]}) {{
    ^bb0(%added_in: {element}, %added_out: {element}):
      %added_x = arith.addf %added_in, %added_in : {element}
      linalg.yield %added_x : {element}
    }} -> {match[2]}"""
            line = self.lines[site].replace(match[1] + " ", "%added ", 1)
            yield self.text(self.lines[:site] + added.split("\n") + [line]
                            + self.lines[site + 1:])

    def make_renamed(self):
        name = self.random.choice(list(self.types))
        yield self.text([re.sub(re.escape(name) + r"\b", "%renamed", line)
                         for line in self.lines])

    def make_reordered(self):
        """Two ops of one line that have nothing to do with each other."""
        for site in self.sites(r"^    %\w+ = [^{]*$|^    %\w+ = weft\..*$"):
            if site + 1 == len(self.lines):
                continue
            first, second = self.lines[site], self.lines[site + 1]
            name = re.match(r"\s*(%\w+) ", first)[1]
            is_line = re.match(r"    %\w+ = (?!linalg|tensor\.pad)", second)
            is_op = not re.search(r"linalg\.generic|tensor\.pad", first)
            if is_line and is_op and not re.search(name + r"\b", second):
                yield self.text(self.lines[:site] + [second, first] + self.lines[site + 2:])


class Invariant(Example):
    """A local program with its one-rank program."""

    def __init__(self, module, mesh, folder):
        super().__init__(module, mesh, folder)
        self.program = folder / "local.mlir"
        # Leaves of few elements: the examples are small.
        self.make("weft-opt", self.step, self.program,
                  f"--weft-global-to-local=invariant=mesh mesh={mesh} leaves=8 min-leaf=2")
        self.text = self.program.read_text()

    def is_accepted(self, path):
        """None: not a program."""
        if not self.is_program(path):
            return None
        return self.prove(path, "--weft-verify-invariance").returncode == 0


if __name__ == "__main__":
    Check(Invariant, RankEdits, KINDS, NEVER_ACCEPTED).main(per_kind=4, seconds=90)
