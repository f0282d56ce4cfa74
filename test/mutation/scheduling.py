#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the proof of fusion and scheduling against wrong programs.

  scheduling.py [--per-kind N] [--seconds N] [MODULE...]

For each example, mesh and mode: the scheduled program must be accepted, and so
must harmless edits of it. Then it is edited, each edit one that could be a bug of
fusion or scheduling, or of whoever edits a dump, and compared with the local
program that it was made from. A mutant that is accepted must give the same bytes
as the program when both run on the host backend. See driver.py.
"""
import re

from driver import MESHES, Check, Example
from edits import Edits

# What stands in the errors of the proof, and in none of the parser.
SAID = ["than before scheduling", "what it was made from", "that it was made from", "was made from one of type",
        "calls loop"]
KINDS = ["other_op", "other_function", "other_predicate", "other_constant",
         "swapped_operands", "swapped_choice", "no_op", "other_map", "other_iterator",
         "other_index",
         "swapped_inputs", "swapped_yields", "other_value", "other_result", "other_offset",
         "swapped_parts", "other_extract", "other_axis_index", "other_kind", "other_axis",
         "swapped_axes", "other_moved_dim", "no_collective", "swapped_futures",
         "fewer_leaves", "more_leaves", "lanes", "rounded", "no_order", "fast_math",
         "renamed", "reordered"]


class ScheduledEdits(Edits):
    def make_no_collective(self):
        """What a wait gives is what was sent."""
        for site in self.sites(r"= weft\.wait %\w+ :"):
            match = re.match(r" +(%\w+) = weft\.wait (%\w+) :", self.lines[site])
            start = next((line for line in self.lines
                          if re.match(rf" +{match[2]} = weft\.\w+ ", line)), "") if match else ""
            sent = re.search(r"= weft\.\w+ +(?:sum |max )?(%[\w#]+) ", start)
            if not sent:
                continue
            rest = [re.sub(match[1] + r"\b", sent[1], line) for line in self.lines[site + 1:]]
            yield self.text(self.lines[:site + 1] + rest)

    def make_swapped_futures(self):
        for site in self.sites(r" = weft\.wait"):
            later = [i for i in self.sites(r" = weft\.wait") if i > site]
            for other in later[:3]:
                names = [re.match(r" +(%\w+)(?::\d+)? =", self.lines[i]) for i in (site, other)]
                a, b = (name[1] for name in names)
                rest = [re.sub(rf"({a}|{b})\b", lambda m: b if m[1] == a else a, line)
                        for line in self.lines[other + 1:]]
                yield self.text(self.lines[:other + 1] + rest)

    def make_reordered(self):
        """A start and the line before it that has nothing to do with it."""
        for site in self.sites(r"^    %\w+ = weft\.(all|reduce)_\w+ "):
            first, second = self.lines[site - 1], self.lines[site]
            name = re.match(r"    (%\w+)(?::\d)? = weft\.(?:all|reduce|wait|matmul)", first)
            if name and not re.search(name[1] + r"\b", second):
                yield self.text(self.lines[:site - 1] + [second, first] + self.lines[site + 1:])


class Scheduled(Example):
    """A scheduled program and the local one that it was made from."""

    def __init__(self, module, setting, folder):
        super().__init__(module, setting, folder)
        mesh, mode = setting.split()
        self.make("weft-compile", self.step, folder / "local.mlir", "--mesh", mesh, "--to", "local",
                  *(["--invariant=mesh"] if mode == "invariant" else []))
        self.program = folder / "scheduled.mlir"
        self.make("weft-compile", folder / "local.mlir", self.program, "--to", "scheduled")
        local = self.read_plain(folder / "local.mlir")
        # Inside of another module; the one-rank program has nothing to do here.
        local = re.sub(r"\n  module @one_rank .*\n  }\n", "\n", local, flags=re.S)
        self.local = re.sub(r"\Amodule( @\w+)?", "module @local", local)
        self.text = self.read_plain(self.program)

    def read_plain(self, path):
        plain = path.with_suffix(".plain.mlir")
        self.make("weft-opt", path, plain, "--mlir-print-local-scope")
        return plain.read_text()

    def is_accepted(self, path):
        """None: not a program."""
        both = path.with_suffix(".both.mlir")
        both.write_text(path.read_text().rstrip()[:-1] + self.local + "}\n")
        result = self.prove(both, "--weft-verify-scheduling")
        both.unlink()
        if result.returncode == 0:
            return True
        return False if any(said in result.stdout for said in SAID) else None


if __name__ == "__main__":
    Check(Scheduled, ScheduledEdits, KINDS).main(
        lambda i: [f"{MESHES[i % 3]} fast", f"{MESHES[(i + 1) % 3]} invariant"], seconds=90)
