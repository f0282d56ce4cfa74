#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random JAX programs of integers (integer_program.py) must give what jax.jit gives,
to the last bit, on any mesh, and no proof may refuse them.

    integers.py --seeds 0:200 [--seconds 60] [--keep DIR]

A seed is a program and some ways to compile it: for one rank, and for meshes that
divide few of its dimensions, with shardings, schedules and instruction sets, in fast
and in invariant mode. Programs of invariant mode must have one certificate. A seed
that fails is named, and its program written to --keep. Ends with `N passed, N failed`.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import warnings

REPO = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "build/python"))
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# XLA's passes change numbers: a product along a dimension that is fused with an update in place.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

import jax
import numpy as np
import weft
from integer_program import IntegerProgram
from jax import lax

MESHES = {"fast": [(2, 1), (3, 1), (1, 4), (2, 2), (3, 2), (2, 3), (5, 1), (4, 2), (1, 7)],
          "invariant": [(2, 1), (1, 4), (2, 2), (4, 2), (1, 8)]}  # whose sizes divide the leaves
SCHEDULES = ["best", "best", "sync", "next-layer", "greedy"]


class Wrong(Exception):
    """Results or certificates differ."""


def export(program):
    step = program.function(lax.with_sharding_constraint)
    # The mesh is given when it is compiled; this one divides nothing.
    return weft.jax.export(step, *program.arguments.values(), mesh={"a": 1, "b": 1},
                           in_shardings=tuple(program.specs[name] for name in program.arguments),
                           out_shardings=program.out_specs)  # fmt: skip


def draw_settings(seed):
    """Options of weft.build, for each time that the program is compiled."""
    rng = random.Random(f"settings {seed}")
    settings: list[dict] = [{"mesh": {"a": 1, "b": 1}}]
    for mode in ("fast", "fast", "invariant", "invariant"):
        a, b = rng.choice(MESHES[mode])
        one: dict = {"mesh": {"a": a, "b": b}, "schedule": rng.choice(SCHEDULES)}
        if mode == "invariant":
            one["invariant"] = True
        if rng.random() < 0.15:
            one["cpu"] = "x86-64-v3"
        if rng.random() < 0.15:
            one["merge_channels"] = True
        settings.append(one)
    return settings


def compare(program, expected, given, setting):
    for name, right, own in zip(program.results, expected, given, strict=True):
        right, own = np.asarray(right), np.asarray(own)
        if right.dtype != own.dtype or right.shape != own.shape:
            raise Wrong(f"{setting}: {name} is {own.dtype}{own.shape}, expected {right.dtype}{right.shape}")
        if not np.array_equal(right, own):
            at = tuple(int(i) for i in np.argwhere(np.atleast_1d(right != own))[0])
            raise Wrong(f"{setting}: {name}{list(at)} is {np.atleast_1d(own)[at]}, expected {np.atleast_1d(right)[at]}")


def check(seed):
    """Raises what is wrong with a seed."""
    program = IntegerProgram(seed)
    expected = jax.jit(program.function())(*program.arguments.values())
    module, certified = export(program), []
    with tempfile.TemporaryDirectory(prefix="weft-fuzz-") as folder:
        for number, setting in enumerate(draw_settings(seed)):
            path = pathlib.Path(folder, f"{number}.so")
            try:
                weft.build(module, path, **setting)
            except weft.CompileError as problem:
                raise Wrong(f"{setting}: {problem}") from None
            given = weft.load(path, module=module, threads=2)(*program.arguments.values())
            compare(program, expected, given, setting)
            if "invariant" in setting:
                certified.append(path)
        done = subprocess.run([REPO / "build/bin/weft-compile", "--diff-order", *certified], capture_output=True, text=True)
        if done.returncode:
            raise Wrong(f"certificates differ: {done.stdout}{done.stderr}")


def keep(folder, seed, problem, program):
    arguments = [f"# {name} = {array.dtype}{array.tolist()}, {program.specs[name]}" for name, array in program.arguments.items()]
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"# {line}" for line in problem.splitlines()]
    (folder / f"{seed}.py").write_text("\n".join([*lines, *arguments, f"# results: {program.out_specs}", program.text()]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="0:40", help="first:end")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop starting programs after this")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for programs that fail")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # JAX's, of types that it narrows
    first, end = map(int, options.seeds.split(":"))
    begin, good, bad = time.monotonic(), 0, 0
    for seed in range(first, end):
        if time.monotonic() - begin > options.seconds:
            break
        try:
            check(seed)
            good += 1
        except Wrong as problem:
            bad += 1
            print(f"seed {seed}: {str(problem)[:1500]}", file=sys.stderr, flush=True)
            if options.keep:
                keep(options.keep, seed, str(problem), IntegerProgram(seed))
    print(f"{good} passed, {bad} failed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
