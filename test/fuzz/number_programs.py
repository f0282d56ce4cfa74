#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random JAX programs of floats that hold integers (number_program.py) must give what
jax.jit gives, on any mesh and with microbatches, and no proof may refuse them.

    number_programs.py --seeds 0:200 [--seconds 60] [--keep DIR]

A seed is a program and some ways to compile it: for one rank and for meshes of up to
three axes, in fast and in invariant mode, one axis as microbatches, with a limit of
memory. Values that are exact are compared to the last bit, others by tolerance, and in
invariant mode all to the last bit, from mesh to mesh. A seed that fails is named, and
its program written to --keep. Ends with `N passed, N failed`.
"""

import argparse
import functools
import pathlib
import random
import subprocess
import tempfile
import warnings

import seeds
from integers import REPO, SCHEDULES, Wrong, keep

import jax
import numpy as np
import weft
from jax import lax
from number_program import NumberProgram

MESHES = {"fast": [(2, 1, 1), (3, 1, 1), (3, 2, 1), (4, 2, 1), (2, 2, 2), (1, 3, 2), (2, 3, 1), (1, 1, 4)],
          "invariant": [(2, 1, 1), (4, 2, 1), (2, 2, 2), (1, 4, 1), (1, 2, 4)]}  # whose sizes divide the leaves
TOLERANCE = 2e-5


def export(program):
    step = program.function(lax.with_sharding_constraint)
    # The mesh is given when it is compiled; this one divides nothing.
    return weft.jax.export(step, *program.arguments.values(), mesh={"a": 1, "b": 1, "c": 1},
                           in_shardings=tuple(program.specs[name] for name in program.arguments),
                           out_shardings=program.out_specs)  # fmt: skip


def draw_settings(seed):
    """Options of weft.build, for each time that the program is compiled."""
    rng = random.Random(f"settings {seed}")
    settings: list[dict] = [{"mesh": {"a": 1, "b": 1, "c": 1}}, {"mesh": {"a": 1, "b": 1, "c": 1}, "invariant": True}]
    for mode in ("fast", "fast", "invariant", "invariant"):
        a, b, c = rng.choice(MESHES[mode])
        one: dict = {"mesh": {"a": a, "b": b, "c": c}, "schedule": rng.choice(SCHEDULES)}
        if mode == "invariant":
            one["invariant"] = True
        if rng.random() < 0.15:
            one["cpu"] = "x86-64-v3"
        if rng.random() < 0.1:
            one["memory_limit"] = "1MiB"
        settings.append(one)
    # Drawn by themselves, so that all else of a seed is as it was.
    rng = random.Random(f"microbatches {seed}")
    for mode in ("fast", "invariant"):
        a, b, c = rng.choice(MESHES[mode])
        one = {"mesh": {"a": a, "b": b, "c": c}, "accumulate": rng.choice("abc")}
        settings.append(one | ({"invariant": True} if mode == "invariant" else {}))
    return settings


def is_said_to_be_uneven(problem):
    """Parts of what ranks and microbatches cut must lie one after the other: the compiler says where they do not."""
    return any(part in problem for part in (" do not divide", " has none"))


def compare(program, expected, given, setting, one_rank):
    """`one_rank`: what one rank gives in the same mode, to the last bit; None if nothing is known."""
    for i, name in enumerate(program.results):
        right, own = np.asarray(expected[i]), np.asarray(given[i])
        if right.dtype != own.dtype or right.shape != own.shape:
            raise Wrong(f"{setting}: {name} is {own.dtype}{own.shape}, expected {right.dtype}{right.shape}")
        tolerance = TOLERANCE if name in program.rough else 0
        differs = ~np.isclose(own, right, rtol=tolerance, atol=tolerance, equal_nan=True)
        if one_rank is not None:
            differs |= ~np.equal(own, one_rank[i]) & ~(np.isnan(own) & np.isnan(one_rank[i]))
        if differs.any():
            at = tuple(int(k) for k in np.argwhere(np.atleast_1d(differs))[0])
            raise Wrong(f"{setting}: {name}{list(at)} is {np.atleast_1d(own)[at]}, expected {np.atleast_1d(right)[at]}"
                        + (f", on one rank {np.atleast_1d(one_rank[i])[at]}" if one_rank is not None else ""))  # fmt: skip


def check(seed, kept=None):
    """Says what is wrong with a seed, or None."""
    program = NumberProgram(seed)
    expected = jax.jit(program.function())(*program.arguments.values())
    certified, one_rank = [], None
    try:
        module = export(program)
        with tempfile.TemporaryDirectory(prefix="weft-fuzz-") as folder:
            for number, setting in enumerate(draw_settings(seed)):
                path = pathlib.Path(folder, f"{number}.so")
                try:
                    weft.build(module, path, **setting)
                except weft.CompileError as problem:
                    if "accumulate" in setting and is_said_to_be_uneven(str(problem)):
                        continue
                    raise Wrong(f"{setting}: {problem}") from None
                given = weft.load(path, module=module, threads=2)(*program.arguments.values())
                is_invariant = "invariant" in setting
                compare(program, expected, given, setting, one_rank if is_invariant else None)
                if is_invariant:
                    one_rank = one_rank or [np.array(value) for value in given]
                    certified.append(path)
            for other in certified[1:]:
                done = subprocess.run([REPO / "build/bin/weft-compile", "--diff-order", certified[0], other],
                                      capture_output=True, text=True)  # fmt: skip
                if done.returncode:
                    raise Wrong(f"certificates differ: {done.stdout}{done.stderr}")
    except (Wrong, weft.jax.ExportError) as problem:
        if kept:
            keep(kept, seed, str(problem), program)
        return str(problem)[:1500]
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    seeds.add_options(parser, "0:20")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for programs that fail")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # JAX's, of types that it narrows
    seeds.run(options, functools.partial(check, kept=options.keep))


if __name__ == "__main__":
    main()
