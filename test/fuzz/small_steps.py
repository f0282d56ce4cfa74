#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small training steps of each kind (small_step.py) are right programs, which no proof may refuse.

  small_steps.py [--kinds KIND,...] [--seeds A:B] [--seconds N]

A seed is one step of each kind. It is compiled to its plan with all proofs, in fast and in invariant
mode, on one mesh, without a limit of memory and with the least that it can do with. Ends with
`N passed, N failed`.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "build/python"))

import seeds  # noqa: E402
import small_step  # noqa: E402

COMPILER = Path(__file__).resolve().parents[2] / "build/bin/weft-compile"


def compile_plan(path, *options):
    """What is wrong, or ""."""
    command = [COMPILER, path, "--to", "planned", "-o", path.with_suffix(".planned.mlir"), *options]
    result = subprocess.run(command, text=True, capture_output=True)
    return result.stderr if result.returncode else ""


def find_problem(seed, kind, folder):
    step = small_step.SmallStep(seed, kind)
    path = folder / f"{kind}.mlir"
    step.export().save(path)
    options = ["--mesh", step.meshes[seed % len(step.meshes)], *(word for words in step.options.values() for word in words)]
    for mode in ([], ["--invariant=mesh"]):
        problem = compile_plan(path, *options, *mode)
        if problem:
            return f"{kind} {options} {mode}: {problem}"
        # The best order of a step that hardly fits takes minutes.
        small = [*options, *mode, "--schedule", "sync"]
        least = re.search(r"needs (\d+) bytes at least", compile_plan(path, *small, "--memory-limit", "1B"))
        if not least:
            return f"{kind} {small} does not say what it needs"
        problem = compile_plan(path, *small, "--memory-limit", f"{least[1]}B")
        if problem:
            return f"{kind} {small} with {least[1]} bytes: {problem}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kinds", default=",".join(small_step.KINDS))
    seeds.add_options(parser, "0:4")
    options = parser.parse_args()

    def check(seed):
        with tempfile.TemporaryDirectory() as folder:
            found = (find_problem(seed, kind, Path(folder)) for kind in options.kinds.split(","))
            return next((problem for problem in found if problem), None)

    seeds.run(options, check)


if __name__ == "__main__":
    main()
