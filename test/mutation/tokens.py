#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the proofs of all steps against any edit of any program's text.

  tokens.py [--programs KIND,...] [--seeds 0:4] [--kinds KIND,...] [--per-kind N] [--seconds N] [MODULE...]

Programs are modules, or else those of programs.py: random ones of integers, training
steps with attention and with narrow operands, loops. Each goes on one mesh, in fast
or invariant mode, from step to step. What a step made must be accepted, then
tokens and lines of it are changed (token_edits.py), or properties, operands and
arguments in generic form (generic_edits.py), or what is said beside these
(attribute_edits.py), or two places at once, and `weft-verify --from` is asked again. What it accepts runs without further proofs, and must give the same bytes, or
over the reals the same numbers. See driver.py.
"""
import argparse
import concurrent.futures
import itertools
import os
import random
import tempfile
import time
from pathlib import Path

import attribute_edits
import generic_edits
import token_edits
from attribute_edits import AttributeEdits
from driver import HALF_TOLERANCE, TOLERANCE, Check, Example, are_close
from generic_edits import GenericEdits
from programs import MAKERS, Program
from run import BIN, call
from token_edits import TokenEdits

KINDS = [*token_edits.KINDS, *generic_edits.KINDS, *attribute_edits.KINDS, "two_edits"]
PHASES = ["source", "global", "local", "scheduled", "planned"]


class Step(Example):
    """What one step of the chain made, with what it was made from. A setting is the
    phase before, a mesh and a mode."""

    def __init__(self, program, setting, folder):
        module = program.path
        super().__init__(module, setting, folder)
        self.phase, mesh, mode = setting.split()
        after = PHASES.index(self.phase) + 1
        own = module.with_suffix(".safetensors")
        self.given = own if own.exists() else None
        asked = {"source": program.plain_options} if self.phase == "source" else program.options
        options = ["--mesh", mesh, *(["--invariant=mesh"] if mode == "invariant" else [])]
        made = self.step
        for before, phase in itertools.pairwise(PHASES[:after + 1]):
            self.before, made = made, folder / f"{phase}.mlir"
            self.make("weft-compile", self.before, made, "--to", phase, *options, *asked.get(before, []))
            options = []
        self.program = made
        self.text = self.print_plain(made), self.print_generic()
        self.COMPILE = ["--no-proofs"]

    def print_plain(self, path):
        """With attributes in their places, so that one edit is one of one op."""
        if self.phase == "scheduled":
            return path.read_text()
        plain = path.with_suffix(".plain.mlir")
        self.make("weft-opt", path, plain, "--mlir-print-local-scope")
        return plain.read_text()

    def print_generic(self):
        """With all properties of each op."""
        generic = self.folder / "generic.mlir"
        self.make("weft-opt", self.program, generic, "--mlir-print-op-generic", "--mlir-print-local-scope")
        return generic.read_text()

    def is_accepted(self, path):
        """None: not a program."""
        if not self.is_program(path):
            return None
        result = call(BIN / "weft-verify", "--from", self.phase, self.before, path, seconds=300)
        if result.returncode not in (0, 1):
            raise RuntimeError(f"weft-verify ended with {result.returncode}: {result.stdout}")
        return result.returncode == 0

    def make_inputs(self):
        if self.given:
            self.inputs = self.given
        else:
            super().make_inputs()

    def are_same(self, one, other):
        if self.phase not in ("source", "global"):
            return one == other
        return are_close(one, other, HALF_TOLERANCE if "bf16" in self.text[0] else TOLERANCE)


class Edits:
    """Of both forms of a program."""

    def __init__(self, text, seed):
        self.plain, self.generic = text
        self.random = random.Random(seed)
        self.makers = [TokenEdits(self.plain, seed), GenericEdits(self.generic, seed), AttributeEdits(self.generic, seed)]

    def __getattr__(self, name):
        return next(getattr(maker, name) for maker in self.makers if hasattr(maker, name))

    def make_two_edits(self):
        """One after the other, mostly of one kind: what is wrong with the one may hide what is with the other."""
        while True:
            maker, kinds, text = self.random.choice([(TokenEdits, token_edits.KINDS, self.plain),
                                                     (GenericEdits, generic_edits.KINDS, self.generic)])  # fmt: skip
            first = self.random.choice(kinds)
            for kind in (first, first if self.random.random() < 0.7 else self.random.choice(kinds)):
                text = next(getattr(maker(text, self.random.random()), "make_" + kind)(), text)
            yield text


def draw_settings(program):
    rng = random.Random(program.path.name)
    mode = rng.choice(["fast", "fast", "invariant"])
    first = 1 if program.plain_options is None else 0
    return [f"{phase} {rng.choice(program.meshes[mode])} {mode}" for phase in PHASES[first:-1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", default=",".join(MAKERS), help="kinds of programs, if no module is given")
    parser.add_argument("--seeds", default="0:4", help="of programs of each kind")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of edits")
    parser.add_argument("--per-kind", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=90, help="begin no program after this")
    parser.add_argument("modules", nargs="*", type=Path)
    options = parser.parse_args()
    check, begin = Check(Step, Edits, options.kinds.split(",")), time.monotonic()
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        first, end = map(int, options.seeds.split(":"))
        made = (MAKERS[kind](seed, Path(work)) for seed in range(first, end) for kind in options.programs.split(","))
        for program in map(Program, options.modules) if options.modules else made:
            for setting in draw_settings(program):
                if time.monotonic() - begin < options.seconds:
                    with tempfile.TemporaryDirectory() as folder:
                        try:
                            example = Step(program, setting, Path(folder))
                        except RuntimeError as problem:
                            check.failed.append(f"{program.path.name} {setting} is not compiled: {problem}")
                            continue
                        check.check(example, options.per_kind, pool, float("inf"))
    check.finish()


if __name__ == "__main__":
    main()
