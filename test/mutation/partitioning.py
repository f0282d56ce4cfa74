#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the proof of partitioning against wrong programs of fast mode.

  partitioning.py [--per-kind N] [--seconds N] [MODULE...]

For each example and mesh: the local program itself must be accepted, and so must
harmless edits of it. Then the program of a rank is edited (the global program
stays), each edit one that could be a bug of the partitioner. A mutant that is
accepted must give the numbers of the program, but for rounding, when both run on
the host backend; some kinds are never accepted. Prints what became of each kind;
the last line is `N passed, N failed`.
"""
import argparse
import collections
import concurrent.futures
import gzip
import json
import math
import os
import re
import struct
import sys
import tempfile
import time
from pathlib import Path

import invariance
from invariance import HARMLESS, INPUTS, Mutator
from run import BIN, ROOT, call, write_inputs

MESHES = ["dp=2,fsdp=2,tp=2", "dp=1,fsdp=2,tp=4", "dp=2,fsdp=1,tp=1"]
NEVER_ACCEPTED = {"no_collective", "doubled_collective"}
FORMATS = {"F32": "f", "F64": "d", "I32": "i", "I64": "q", "U8": "B", "I8": "b", "BOOL": "?"}
# Of the greatest number of a result; sums of f32 in other orders differ by less.
TOLERANCE = 1e-4


class LocalMutator(Mutator):
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


KINDS = ["renamed", "reordered", "no_collective", "doubled_collective", "swapped_axes",
         "other_axis", "swapped_collectives", "other_kind", "other_part", "moved_slice",
         "other_offset", "scattered", "other_constant", "other_op", "swapped_operands",
         "other_function", "other_operand", "added_op"]


def read_numbers(path):
    """The tensors of a safetensors file, as lists of numbers."""
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    tensors = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        code = FORMATS[entry["dtype"]]
        tensors[name] = struct.unpack(f"<{(end - begin) // struct.calcsize(code)}{code}",
                                      raw[begin:end])
    return tensors


def are_close(one, other):
    """Whether two runs gave the same numbers, but for rounding."""
    if one.keys() != other.keys():
        return False
    for name, numbers in one.items():
        scale = max((abs(x) for x in numbers if math.isfinite(x)), default=0) or 1
        for a, b in zip(numbers, other[name], strict=True):
            if a != b and not abs(a - b) <= TOLERANCE * scale and not (a != a and b != b):
                return False
    return True


class Example:
    """A local program with the global program that it was made from."""

    def __init__(self, module, mesh, folder):
        self.name = f"{module.name.split('.')[0]} {mesh}"
        self.folder = folder
        plain = folder / "step.mlir"
        plain.write_bytes(gzip.decompress(module.read_bytes())
                          if module.suffix == ".gz" else module.read_bytes())
        self.canonical, self.local = folder / "global.mlir", folder / "local.mlir"
        for path, pipeline in ((self.canonical, "canonicalize-global"),
                               (self.local, "global-to-local")):
            result = call(BIN / "weft-opt", plain, "-o", path, f"--weft-{pipeline}=mesh={mesh}")
            if result.returncode != 0:
                raise RuntimeError(result.stdout)
        self.text = self.local.read_text()
        self.inputs = None
        self.right = None

    def is_accepted(self, path):
        """None: not a program."""
        if call(BIN / "weft-opt", path, "-o", os.devnull).returncode != 0:
            return None
        result = call(BIN / "weft-opt", path,
                      f"--weft-verify-partitioning=global={self.canonical}", "-o", os.devnull)
        if result.returncode not in (0, 1):
            raise RuntimeError(f"weft-opt ended with {result.returncode}: {result.stdout}")
        return result.returncode == 0

    def run(self, local):
        """What a step gives, or None if it does not run."""
        program = local.with_suffix(".so")
        if call(BIN / "weft-compile", local, "-o", program).returncode != 0:
            return None
        outputs = local.with_suffix(".out")
        call(BIN / "weft-run", program, "--inputs", self.inputs, "--outputs", outputs,
             "--quiet", "--deadline", 10)
        return read_numbers(outputs) if outputs.exists() else None

    def gives_the_same(self, path):
        if self.right is None:
            planned = self.folder / "planned.mlir"
            call(BIN / "weft-compile", self.local, "--to", "planned", "-o", planned)
            self.inputs = self.folder / "in.safetensors"
            write_inputs(planned.read_text(), self.inputs)
            self.right = self.run(self.local)
        other = self.run(path)
        return self.right is not None and other is not None and are_close(self.right, other)


def check_mutant(example, kind, path):
    """Returns what became of it, and what is wrong with that."""
    accepted = example.is_accepted(path)
    if accepted is None:
        return "no program", None
    if kind in HARMLESS or kind == "itself":
        return ("accepted", None) if accepted else ("rejected", "is rejected")
    if accepted and kind in NEVER_ACCEPTED:
        return "accepted", "is accepted"
    return "accepted" if accepted else "rejected", None


def make_mutants(example, per_kind):
    made = [("itself", example.local)]
    for kind in KINDS:
        mutator = LocalMutator(example.text, f"{example.name} {kind}")
        for i, text in zip(range(per_kind), getattr(mutator, "make_" + kind)()):
            path = example.folder / f"{kind}{i}.mlir"
            path.write_text(text)
            made.append((kind, path))
    return made


def check_example(example, options, pool, counts, until):
    failed = []
    made = make_mutants(example, options.per_kind)
    outcomes = pool.map(lambda mutant: check_mutant(example, *mutant), made)
    for (kind, path), (outcome, wrong) in zip(made, outcomes, strict=True):
        counts[kind][outcome] += 1
        if outcome == "accepted" and kind not in HARMLESS + ["itself"] and not wrong:
            if time.monotonic() > until:
                continue
            same = example.gives_the_same(path)
            counts[kind]["same" if same else "different"] += 1
            wrong = None if same else "is accepted, but gives other numbers"
        if wrong:
            kept = ROOT / "build" / "test-reports" / f"{example.name.split()[0]}-{path.name}"
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(path.read_text())
            failed.append(f"{example.name}: {kind} {wrong}: {kept}")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--per-kind", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("modules", nargs="*", type=Path, default=INPUTS)
    options = parser.parse_args()
    counts = collections.defaultdict(collections.Counter)
    failed = []
    settings = [(module, MESHES[(i + j) % len(MESHES)])
                for i, module in enumerate(options.modules) for j in range(2)]
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for i, (module, mesh) in enumerate(settings):
            with tempfile.TemporaryDirectory() as folder:
                example = Example(module, mesh, Path(folder))
                failed += check_example(example, options, pool, counts,
                                        begin + options.seconds * (i + 1) / len(settings))
    invariance.KINDS = ["itself"] + KINDS
    tested = invariance.print_counts(counts)
    for line in failed:
        print("FAILED", line)
    print(f"{tested - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
