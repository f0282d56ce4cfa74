#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random programs, compiled for many meshes, must give the same bits on all.

    invariance.py --seeds 0:200 [--seconds 60] [--meshes 5] [--keep DIR] [--control 8]

A seed is a program, a number of leaves, and a list of builds: the first has one
rank (or, if only some axes are to be invariant, one along those), the others
have other meshes, shardings, schedules, instruction sets and numbers of
threads; in some, ranks compute the parts of an axis one after the other. A seed
whose results or certificates differ is named, and its files are written to
--keep with the commands that made them. The first programs are compiled in fast
mode as well, --control many, where some results have to differ: else the
comparison could not fail. Ends with `N passed, N failed`.
"""

import argparse
import concurrent.futures
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

REPO = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "test/Integration/reference"))

import equivalence
import mlir_text
import numpy as np
from mesh_program import MeshProgram

LEAVES = [4, 8, 8, 8, 8, 12, 16, 6]
MAX_RANKS = 16
TIMEOUT = 300


class Failed(Exception):
    """A tool failed, or results differ."""


class Refused(Failed):
    """A program is not compiled."""


def may_be_refused(build, problem):
    """A batch in more parts than there are leaves; microbatches of which the
    compiler cannot see that they are parts of sums."""
    return bool(build.serial) or "cannot be invariant with" in str(problem)


@dataclass
class Build:
    """How a program is compiled and run."""

    sizes: dict
    order: list
    layout: int
    may_cut_axes: bool = False
    serial: str = ""
    compile_flags: list = field(default_factory=list)
    run_flags: list = field(default_factory=list)
    environment: dict = field(default_factory=dict)

    @property
    def name(self):
        mesh = ",".join(f"{axis}={self.sizes[axis]}" for axis in self.order)
        serial = [f"--accumulate {self.serial}"] if self.serial else []
        extra = [*serial, *self.compile_flags, *self.run_flags, *(f"{k}={v}" for k, v in self.environment.items())]
        return " ".join([mesh, *map(str, extra)])


def sizes_of_axes(leaves):
    """Which sizes an axis can have."""
    return [t for t in range(1, leaves + 1)
            if t == 1 or leaves % t == 0 and (leaves // t) & (leaves // t - 1) == 0]  # fmt: skip


def random_mesh(rng, names, leaves, fixed):
    """Sizes of all axes; those of `fixed` are given."""
    allowed = sizes_of_axes(leaves)
    while True:
        sizes = {name: fixed.get(name) or rng.choice(allowed) for name in names}
        if rng.random() < 0.3:  # one long axis
            one = rng.choice([n for n in names if n not in fixed])
            sizes = {name: fixed.get(name, 1) for name in names}
            sizes[one] = rng.choice(allowed)
        ranks = math.prod(sizes.values())
        if 1 < ranks <= MAX_RANKS and any(sizes[n] > 1 for n in names if n not in fixed):
            return sizes


def random_build(rng, program, leaves, fixed, layout):
    sizes = random_mesh(rng, program.names, leaves, fixed)
    order = rng.sample(program.names, len(program.names))
    # Programs of one layout are equal up to the mesh.
    build = Build(sizes, order, rng.randrange(1 << 30), True) if layout is None else Build(sizes, order, layout)
    if rng.random() < 0.3:
        build.compile_flags += ["--schedule", rng.choice(["sync", "next-layer", "greedy"])]
    if rng.random() < 0.15:
        build.compile_flags.append("--merge-channels")
    # It changes the layout of a program, which axes that may change bits see.
    if rng.random() < 0.15 and layout is None:
        build.compile_flags.append("--no-infer-storage")
    if rng.random() < 0.15:
        build.compile_flags += ["--cpu", "x86-64-v3"]
    if rng.random() < 0.25:
        build.environment["WEFT_GEMM_ISA"] = rng.choice(["avx2", "scalar"])
    if rng.random() < 0.2:
        build.run_flags += ["--threads", str(rng.choice([1, 3]))]
    return build


@dataclass
class Mode:
    """What is to be invariant, and how: options of weft-compile, or, where the
    least length of a leaf is set, of the passes."""

    axes: str
    leaves: int
    partials: str
    min_leaf: int

    def __str__(self):
        text = f"invariant={self.axes} leaves={self.leaves} partials={self.partials}"
        return text + (f" min-leaf={self.min_leaf}" if self.min_leaf else "")

    def flags(self):
        return [f"--invariant={self.axes}", "--leaves", self.leaves, "--partials", self.partials]


def plan(seed, count):
    """The program of a seed, its mode, and its builds."""
    rng = random.Random(seed)
    program = MeshProgram(seed)
    program.build()
    leaves = rng.choice(LEAVES)
    fixed, invariant = {}, "mesh"
    if rng.random() < 0.2:
        axes = rng.sample(program.names, rng.choice([1, 2]))
        fixed = {name: rng.choice([1, 2, 3]) for name in program.names if name not in axes}
        if math.prod(fixed.values()) * sizes_of_axes(leaves)[1] > MAX_RANKS:  # no room for another axis
            fixed[max(fixed)] = 1
        invariant = ",".join(axes)
    mode = Mode(invariant, leaves, rng.choice(["f32"] * 4 + ["bf16"]), rng.choice([None, None, None, 4, 16]))
    layout = rng.randrange(1 << 30) if rng.random() < 0.5 or fixed else None
    first = Build({name: fixed.get(name, 1) for name in program.names}, program.names, layout or 0)
    builds = [first] + [random_build(rng, program, leaves, fixed, layout) for _ in range(count)]
    add_microbatches(random.Random(f"{seed} serial"), builds, fixed)
    return program, mode, builds


def add_microbatches(rng, builds, fixed):
    """Lets ranks of some builds compute the parts of an axis one after the other."""
    for build in builds[1:]:
        axes = [name for name, size in build.sizes.items() if size > 1 and name not in fixed]
        if axes and rng.random() < 0.2:
            build.serial = rng.choice(axes)


# ---- running


class Workplace:
    """The files of one program, and the commands that made them."""

    def __init__(self, folder, seed):
        self.folder, self.seed, self.commands = folder, seed, []

    def call(self, *words, environment=None):
        words = [str(w) for w in words]
        self.commands.append(" ".join([f"{k}={v}" for k, v in (environment or {}).items()] + words))
        try:
            done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT,
                                  env={**os.environ, **(environment or {})})  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.commands[-1]} takes too long") from None
        if done.returncode:
            failure = Failed if words[0] == "weft-run" else Refused
            raise failure(f"{self.commands[-1]} ended with {done.returncode}:\n{(done.stdout + done.stderr)[:1500]}")

    def write_inputs(self, program):
        rng = np.random.default_rng(self.seed)
        named = {}
        for name, shape, element in program.args:
            array = equivalence.random_array(rng, mlir_text.Tensor(shape, element))
            named[name[1:]] = array, element
        equivalence.write_safetensors(self.folder / "in.safetensors", named)

    def compile(self, tag, mode, build):
        """Compiles in this mode; in fast mode without one."""
        source, flags = f"{tag}.mlir", build.compile_flags
        if mode and mode.min_leaf:
            options = str(mode) + (" infer-storage=false" if "--no-infer-storage" in flags else "")
            options += f" accumulate={build.serial}" if build.serial else ""
            self.call("weft-opt", source, f"--weft-global-to-local={options}", "-o", f"{tag}.local.mlir")
            source, flags = f"{tag}.local.mlir", [f for f in flags if f != "--no-infer-storage"]
        else:
            flags = [*flags, "--accumulate", build.serial] if build.serial else flags
            flags = [*mode.flags(), *flags] if mode else flags
        self.call("weft-compile", source, "-o", f"{tag}.so", *flags)

    def run(self, program, build, tag, mode, steps):
        """The results of a build, by name."""
        (self.folder / f"{tag}.mlir").write_text(program.text(build.sizes, build.order, build.layout, build.may_cut_axes))
        self.compile(tag, mode, build)
        self.call("weft-run", f"{tag}.so", "--inputs", "in.safetensors", "--outputs", f"{tag}.safetensors",
                  "--steps", steps, "--poison", "--quiet", *build.run_flags, environment=build.environment)  # fmt: skip
        return equivalence.read_safetensors(self.folder / f"{tag}.safetensors")


def bits(array):
    """The bits of an array's elements; those of any NaN are the same."""
    if array.dtype.kind not in "ib":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def difference(expected, actual):
    """Says where results differ; None if nowhere."""
    for name, left in expected.items():
        bad = np.atleast_1d(bits(left) != bits(actual[name]))
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            values = [np.atleast_1d(side)[at] for side in (left, actual[name])]
            return (f"{name}{list(at)} is {values[1]!r}, not {values[0]!r};"
                    f" {int(bad.sum())} of {bad.size} differ, type {left.dtype}")  # fmt: skip
    return None


def check(seed, count, folder, is_fast):
    """Raises Failed if builds of the seed's program differ."""
    program, mode, builds = plan(seed, count)
    mode = None if is_fast else mode
    place = Workplace(folder, seed)
    place.write_inputs(program)
    steps = random.Random(seed).choice([1, 2, 3])
    expected = None
    try:
        for number, build in enumerate(builds):
            try:
                actual = place.run(program, build, f"build{number}", mode, steps)
            except Refused as problem:
                if number and may_be_refused(build, problem):
                    continue
                raise
            if expected is None:
                expected = actual
            elif where := difference(expected, actual):
                raise Failed(f"{mode}, build {number}, {build.name}: {where}")
            elif mode:
                place.call("weft-compile", "--diff-order", "build0.so", f"build{number}.so")
    finally:
        (folder / "commands").write_text("\n".join(place.commands) + "\n")


def run_seed(seed, options, deadline, is_fast=False):
    """What is wrong with a seed; None if nothing is, False if there was no time."""
    if time.monotonic() > deadline:
        return False
    with tempfile.TemporaryDirectory(prefix="weft-fuzz-") as folder:
        folder = pathlib.Path(folder)
        try:
            check(seed, options.meshes, folder, is_fast)
        except Failed as problem:
            if options.keep and not is_fast:
                keep(folder, options.keep / str(seed))
            return str(problem)
    return None


def keep(folder, target):
    target.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.suffix != ".so":
            (target / path.name).write_bytes(path.read_bytes())


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="0:100", help="first:end")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop starting programs after this")
    parser.add_argument("--meshes", type=int, default=5, help="besides one rank")
    parser.add_argument("--control", type=int, default=0, help="how many are compiled in fast mode as well")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=pathlib.Path, help="folder for programs that fail")
    return parser.parse_args()


def main():
    options = arguments()
    first, end = map(int, options.seeds.split(":"))
    deadline = time.monotonic() + options.seconds
    good = bad = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        # However slow the machine is, these run.
        control = [pool.submit(run_seed, seed, options, float("inf"), True)
                   for seed in range(first, first + options.control)]  # fmt: skip
        runs = {seed: pool.submit(run_seed, seed, options, deadline) for seed in range(first, end)}
        for seed, run in runs.items():
            problem = run.result()
            good, bad = good + (problem is None), bad + bool(problem)
            if problem:
                print(f"seed {seed}: {problem}", file=sys.stderr, flush=True)
    if options.control:
        differ = sum(bool(run.result()) for run in control)
        print(f"in fast mode {differ} of {options.control} programs differ")
        good, bad = good + (differ > 0), bad + (differ == 0)
    print(f"{good} passed, {bad} failed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
