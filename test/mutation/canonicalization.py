#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the proof of canonicalization against wrong programs.

  canonicalization.py [--per-kind N] [--seconds N] [MODULE...]

For each example: its canonical form must be accepted, and so must harmless edits of
it. Then the canonical form is edited, each edit one that could be a bug of the
passes that bring a user's module there. A mutant that is accepted must give the
numbers of the program when both run on the host backend. See driver.py.
"""
import re

from driver import HERE, INPUTS, ROOT, Check, Example, are_close
from edits import Edits

MODULES = [HERE / "Inputs/spelled.global.mlir", ROOT / "examples/qwen3_scan/step.mlir", *INPUTS]
NEVER_ACCEPTED = {"other_border"}
KINDS = ["other_op", "other_function", "other_predicate", "other_constant", "swapped_operands",
         "swapped_choice", "no_op", "other_map", "other_iterator", "other_index", "swapped_inputs",
         "swapped_yields", "other_operand", "other_result", "other_offset", "swapped_parts",
         "other_extract", "other_lookup", "no_clamp", "other_cast", "other_border", "fewer_ops",
         "renamed", "reordered"]


class CanonicalEdits(Edits):
    def make_other_lookup(self):
        """Along another axis, or at other indices."""
        yield from self.substituted(r"(weft\.(?:take|scatter_add) .*axis = )(\d)",
                                    lambda m: m[1] + str(1 - int(m[2])))
        yield from self.substituted(r"(index_map = affine_map<\([^)]*\) -> \()d(\d)",
                                    lambda m: f"{m[1]}d{1 - int(m[2])}")

    def make_no_clamp(self):
        """A slice begins where the data says, or elsewhere."""
        yield from self.substituted(r"arith\.maxsi", "arith.minsi")
        yield from self.substituted(r"((?:extract|insert)_slice [^\[]*\[(?:\d+, )*)%\w+", r"\g<1>0")

    def make_other_cast(self):
        swaps = {"extsi": "extui", "extui": "extsi", "sitofp": "uitofp", "uitofp": "sitofp",
                 "fptosi": "fptoui", "divsi": "divui", "maxsi": "maxui", "minsi": "minui"}
        return self.substituted(rf"arith\.({'|'.join(swaps)})\b",
                                lambda m: "arith." + swaps[m[1]])

    def make_fewer_ops(self):
        """What a kernel or product makes is one of its inputs."""
        for site in self.sites(r"^    (%\w+) = (linalg\.generic|weft\.matmul|tensor\.pad)"):
            line = self.lines[site]
            result = re.match(r" +(%\w+) =", line)[1]
            used = re.findall(r"(?:ins\(|matmul |, )(%\w+)", line)
            for name in used[:2]:
                rest = [re.sub(re.escape(result) + r"\b", name, other)
                        for other in self.lines[site + 1:]]
                yield self.text(self.lines[:site + 1] + rest)

    def make_other_border(self):
        """Of arguments and results."""
        at = len(self.before) - 1
        for pattern, replacement in (
                (r"(weft\.alias = )(\d+)", lambda m: m[1] + str(int(m[2]) + 1)),
                (r'(weft\.name = "\w)', r"\1x"),
                (r'(sharding<@mesh, \[.*?)\{"\w+"\}', r"\1{}")):
            line = re.sub(pattern, replacement, self.before[at], count=1)
            if line != self.before[at]:
                yield "\n".join(self.before[:at] + [line] + self.lines + self.after) + "\n"

    def make_reordered(self):
        """Two ops of one line that have nothing to do with each other."""
        for site in self.sites(r"^    (%\w+) = (?:tensor\.\w+|weft\.\w+|arith\.\w+) .*[^{]$"):
            if site + 1 == len(self.lines):
                continue
            first, second = self.lines[site], self.lines[site + 1]
            name = re.match(r"    (%\w+) ", first)[1]
            if re.match(r"    %\w+ = .*[^{]$", second) and not re.search(name + r"\b", second):
                yield self.text(self.lines[:site] + [second, first] + self.lines[site + 2:])


class Canonical(Example):
    """A user's module and its canonical form."""

    COMPILE = ["--mesh", "dp=1,fsdp=2,tp=1"]

    def __init__(self, module, setting, folder):
        super().__init__(module, setting, folder)
        self.program = folder / "global.mlir"
        # The proof compares with what is raised to attention later.
        options = "attention=false"
        if setting == "invariant":
            options += " invariant=mesh leaves=8 min-leaf=2"
        self.make("weft-opt", self.step, self.program, f"--weft-canonicalize-global={options}",
                  "--mlir-print-local-scope")
        self.text = self.program.read_text()

    def is_accepted(self, path):
        """None: not a program."""
        if not self.is_program(path):
            return None
        proof = f"--weft-verify-canonicalization=source={self.step}"
        return self.prove(path, proof).returncode == 0

    def are_same(self, one, other):
        return are_close(one, other)


if __name__ == "__main__":
    # The first has branches, which invariant mode refuses later on.
    Check(Canonical, CanonicalEdits, KINDS, NEVER_ACCEPTED).main(
        lambda i: ["fast", "invariant"] if i in (2, 4) else ["fast"], MODULES)
