#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the proofs of all steps against any edit of any program's text.

  tokens.py [--seeds 0:4] [--per-kind N] [--seconds N] [MODULE...]

Programs are modules, or else those of test/fuzz/integers.py. Each goes on one mesh,
in fast or invariant mode, from step to step. What a step made must be accepted, then
tokens and lines of it are changed (token_edits.py), and `weft-verify --from` is asked
again. What it accepts runs without further proofs, and must give the same bytes, or
over the reals the same numbers. See driver.py.
"""
import argparse
import concurrent.futures
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from driver import Check, Example, are_close
from run import BIN, ROOT, call
from token_edits import KINDS, TokenEdits

PHASES = ["source", "global", "local", "scheduled", "planned"]
MESHES = {"fast": ["a=2,b=1", "a=3,b=1", "a=2,b=2", "a=1,b=4"], "invariant": ["a=2,b=1", "a=2,b=2", "a=1,b=4"]}


class Step(Example):
    """What one step of the chain made, with what it was made from. A setting is the
    phase before, a mesh and a mode."""

    def __init__(self, module, setting, folder):
        super().__init__(module, setting, folder)
        self.phase, mesh, mode = setting.split()
        after = PHASES.index(self.phase) + 1
        own = module.with_suffix(".safetensors")
        self.given = own if own.exists() else None
        options = ["--mesh", mesh, *(["--invariant=mesh"] if mode == "invariant" else [])]
        made = self.step
        for phase in PHASES[1:after + 1]:
            self.before, made = made, folder / f"{phase}.mlir"
            self.make("weft-compile", self.before, made, "--to", phase, *options)
            options = []
        self.program, self.text = made, self.print_plain(made)
        self.COMPILE = ["--no-proofs"]

    def print_plain(self, path):
        """With attributes in their places, so that one edit is one of one op."""
        if self.phase == "scheduled":
            return path.read_text()
        plain = path.with_suffix(".plain.mlir")
        self.make("weft-opt", path, plain, "--mlir-print-local-scope")
        return plain.read_text()

    def is_accepted(self, path):
        """None: not a program."""
        if not self.is_program(path):
            return None
        result = call(BIN / "weft-verify", "--from", self.phase, self.before, path)
        if result.returncode not in (0, 1):
            raise RuntimeError(f"weft-verify ended with {result.returncode}: {result.stdout}")
        return result.returncode == 0

    def make_inputs(self):
        if self.given:
            self.inputs = self.given
        else:
            super().make_inputs()

    def are_same(self, one, other):
        return are_close(one, other) if self.phase in ("source", "global") else one == other


def export(seeds, folder):
    """The fuzz's programs, as files."""
    sys.path.insert(0, str(ROOT / "test/fuzz"))
    import integers
    for seed in seeds:
        program = integers.IntegerProgram(seed)
        module, path = integers.export(program), folder / f"integers{seed}.mlir"
        module.save(path)
        module.save_inputs(path.with_suffix(".safetensors"), *program.arguments.values())
        yield path


def draw_settings(module):
    rng = random.Random(module.name)
    mode = rng.choice(["fast", "fast", "invariant"])
    return [f"{phase} {rng.choice(MESHES[mode])} {mode}" for phase in PHASES[:-1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="0:4", help="of programs, if no module is given")
    parser.add_argument("--per-kind", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60, help="begin no program after this")
    parser.add_argument("modules", nargs="*", type=Path)
    options = parser.parse_args()
    check, begin = Check(Step, TokenEdits, KINDS), time.monotonic()
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        first, end = map(int, options.seeds.split(":"))
        for module in options.modules or export(range(first, end), Path(work)):
            for setting in draw_settings(module):
                if time.monotonic() - begin < options.seconds:
                    with tempfile.TemporaryDirectory() as folder:
                        try:
                            example = Step(module, setting, Path(folder))
                        except RuntimeError as problem:
                            check.failed.append(f"{module.name} {setting} is not compiled: {problem}")
                            continue
                        check.check(example, options.per_kind, pool, float("inf"))
    check.finish()


if __name__ == "__main__":
    main()
