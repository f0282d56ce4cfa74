#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random programs with random shardings on random meshes: sharded against
unsharded, in the interpreter or compiled (for one rank, too).

    random_programs.py --seeds 0:200 [--seconds 60] [--backend host] [--kind scan] [--keep DIR]

A seed is a program: the same on every machine. One that fails is named, and
written to --keep. Ends with `N passed, N failed`; the exit code says whether
any failed.
"""

import argparse
import pathlib
import sys
import time

REPO = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "test/Integration/reference"))

import elements
import equivalence
import mlir_text
from data_program import DataProgram
from program import Program
from row_program import RowProgram
from scan_program import ScanProgram

KINDS = {"any": Program, "data": DataProgram, "scan": ScanProgram, "rows": RowProgram}
PROBLEMS = (equivalence.Mismatch, elements.Fault, mlir_text.ParseError, AssertionError)


def run_seed(seed, kind, backend):
    """Returns the program, and what is wrong with it."""
    program = KINDS[kind](seed)
    text = program.text()
    meshes = [dict(zip(program.names, program.sizes))]
    if backend == "host" and '":(' not in text:
        meshes.append({})  # one rank; sub-axes need their axis
    try:
        equivalence.check(text, meshes, backend, seed)
    except PROBLEMS as problem:
        return text, f"{type(problem).__name__}: {problem}"
    return text, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="0:100", help="first:end")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop starting programs after this")
    parser.add_argument("--backend", choices=equivalence.BACKENDS, default="interpreter")
    parser.add_argument("--kind", choices=KINDS, default="any", help="of programs")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for programs that fail")
    args = parser.parse_args()
    first, end = map(int, args.seeds.split(":"))
    begin, good, bad = time.monotonic(), 0, 0
    for seed in range(first, end):
        if time.monotonic() - begin > args.seconds:
            break
        text, problem = run_seed(seed, args.kind, args.backend)
        good, bad = good + (problem is None), bad + (problem is not None)
        if problem:
            print(f"seed {seed}: {problem}", file=sys.stderr)
            if args.keep:
                args.keep.mkdir(parents=True, exist_ok=True)
                (args.keep / f"{seed}.mlir").write_text(text)
    print(f"{good} passed, {bad} failed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
