#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the proof of partitioning against wrong programs of fast mode.

  partitioning.py [--per-kind N] [--seconds N] [MODULE...]

For each example and mesh: the local program itself must be accepted, and so must
harmless edits of it. Then the program of a rank is edited (the global program
stays), each edit one that could be a bug of the partitioner. A mutant that is
accepted must give the numbers of the program, but for rounding, when both run on
the host backend; some kinds are never accepted. See driver.py.
"""
import re

from driver import Check, Example, are_close
from invariance import RankEdits

NEVER_ACCEPTED = {"no_collective", "doubled_collective"}
KINDS = ["renamed", "reordered", "no_collective", "doubled_collective", "swapped_axes",
         "other_axis", "swapped_collectives", "other_kind", "other_part", "moved_slice",
         "other_offset", "scattered", "other_constant", "other_op", "swapped_operands",
         "other_function", "other_operand", "added_op"]


class LocalEdits(RankEdits):
    def make_doubled_collective(self):
        """What is summed is summed again, over the same ranks."""
        for site in self.sites(r"= weft\.all_reduce +sum %\w+ "):
            line = self.lines[site]
            name = re.match(r"\s*(%\w+) = ", line)[1]
            first = line.replace(name + " = ", "%doubled = ", 1)
            second = re.sub(r"sum %\w+ ", "sum %doubled ", line, count=1)
            yield self.text(self.lines[:site] + [first, second] + self.lines[site + 1:])

    def make_moved_slice(self):
        """Each rank takes the part of its neighbour."""
        for site in self.sites(r"weft\.axis_index"):
            name = re.match(r"\s*(%\w+) = ", self.lines[site])[1]
            added = ["    %moved_one = arith.constant 1 : index",
                     f"    %moved = arith.xori {name}, %moved_one : index"]
            rest = [re.sub(name + r"\b", "%moved", line) for line in self.lines[site + 1:]]
            yield self.text(self.lines[:site + 1] + added + rest)

    def make_scattered(self):
        """A result of a sum is scattered where it was reduced, or gathered otherwise."""
        return self.substituted(r"split \[(\d)\] concat \[(\d)\]", r"split [\2] concat [\1]")


class Partitioned(Example):
    """A local program with the global program that it was made from."""

    def __init__(self, module, mesh, folder):
        super().__init__(module, mesh, folder)
        self.canonical, self.program = folder / "global.mlir", folder / "local.mlir"
        for path, pipeline in ((self.canonical, "canonicalize-global"),
                               (self.program, "global-to-local")):
            self.make("weft-opt", self.step, path, f"--weft-{pipeline}=mesh={mesh}")
        self.text = self.program.read_text()

    def is_accepted(self, path):
        """None: not a program."""
        if not self.is_program(path):
            return None
        proof = f"--weft-verify-partitioning=global={self.canonical}"
        return self.prove(path, proof).returncode == 0

    def are_same(self, one, other):
        return are_close(one, other)


if __name__ == "__main__":
    Check(Partitioned, LocalEdits, KINDS, NEVER_ACCEPTED).main()
