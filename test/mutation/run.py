#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the proofs against wrong programs.

  run.py [--per-kind N] [--runs N] [--seconds N] [MODULE...]

For each example, mesh and schedule: the program itself must be accepted. Then
mutants (mutants.py) are put to the proofs, and accepted ones and a sample of
the rejected are run on the host backend with small random delays: who was
accepted must give the same bytes as the program. Prints what became of each
kind; the last line is `N passed, N failed`.
"""
import argparse
import array
import collections
import concurrent.futures
import gzip
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mutants import KINDS, make_mutants

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BIN = ROOT / "build" / "bin"
# Exports of the models in python-bindings/tests/families*.py, and Qwen3.
INPUTS = [*sorted((HERE / "Inputs").glob("*.mlir.gz")), ROOT / "examples/qwen3/step.mlir"]
MESHES = ["dp=1,fsdp=2,tp=2", "dp=2,fsdp=2,tp=1"]
POLICIES = ["sync", "next-layer", "greedy", "best"]
SAFETENSORS = {"f32": "F32", "f64": "F64", "bf16": "BF16", "f16": "F16", "i1": "BOOL",
               "i8": "I8", "i16": "I16", "i32": "I32", "i64": "I64"}
BYTES = {"F32": 4, "F64": 8, "BF16": 2, "F16": 2, "BOOL": 1, "I8": 1, "I16": 2, "I32": 4,
         "I64": 8}
# The host has no launches of several kernels, and loops of one element are the same as a reduction,
# so that a run says nothing of them.
NEVER_ACCEPTED = {"dependent_launch", "iterator"}


def call(*command, seconds=None):
    """With a limit, a process that is not done by then ends with 124."""
    try:
        return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, f"is not done after {seconds} s")


def fill(kind, count, rng):
    """Random bytes of `count` elements: small numbers, of any type."""
    if kind == "F32":
        return array.array("f", (rng.uniform(0.1, 1) for _ in range(count))).tobytes()
    if kind == "F64":
        return array.array("d", (rng.uniform(0.1, 1) for _ in range(count))).tobytes()
    if kind in ("BF16", "F16"):  # 0.5, 0.25, ...
        values = (0x3F00, 0x3E80, 0x3E00) if kind == "BF16" else (0x3800, 0x3400, 0x3000)
        return array.array("H", (rng.choice(values) for _ in range(count))).tobytes()
    return b"".join(rng.randrange(2).to_bytes(BYTES[kind], "little") for _ in range(count))


def write_inputs(text, path):
    """Random arguments of a planned program, as a safetensors file."""
    args = re.search(r"weft_rt\.args = \[(.*?)\], weft_rt\.(?:host_bytes|results)", text, re.S).group(1)
    header, data, rng = {}, bytearray(), random.Random(1)
    for name, tensor in re.findall(r'<name = "([^"]*)", local = \S*, global = tensor<([^>]*)>', args):
        *shape, element = tensor.split("x")
        kind = SAFETENSORS[element]
        shape = [int(size) for size in shape]
        count = 1
        for size in shape:
            count *= size
        begin = len(data)
        data += fill(kind, count, rng)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, len(data)]}
    raw = json.dumps(header).encode()
    raw += b" " * (-len(raw) % 8)
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + data)


class Example:
    """A planned program, its inputs, and what it gives."""

    def __init__(self, module, mesh, policy, folder):
        name = module.parent.name if module.stem == "step" else module.name.split(".")[0]
        self.name = f"{name} {mesh} {policy}"
        self.folder = folder
        if module.suffix == ".gz":
            plain = folder / "step.mlir"
            plain.write_bytes(gzip.decompress(module.read_bytes()))
            module = plain
        self.scheduled, self.planned = folder / "scheduled.mlir", folder / "right.mlir"
        self.make(module, mesh, policy)
        # One hash for all: ranks refuse to run different programs otherwise.
        module, func = self.planned.read_text().split("func.func", 1)
        self.text = module + "func.func" + func.replace(
            " attributes {", f' attributes {{weft_rt.plan_hash = "{"5a" * 32}", ', 1)
        self.planned.write_text(self.text)
        sizes = re.search(r"weft\.mesh @\w+ = <\[(.*?)\]>", self.text)
        self.ranks = 1
        for size in re.findall(r"=(\d+)", sizes.group(1)) if sizes else []:
            self.ranks *= int(size)
        self.inputs = folder / "in.safetensors"
        write_inputs(self.text, self.inputs)
        self.program = self.compile(self.planned)
        self.right = self.run(self.program, None)

    def make(self, module, mesh, policy):
        """Writes the scheduled program, and the planned one."""
        for phase, source, target, options in [
                ("scheduled", module, self.scheduled, ["--mesh", mesh, "--schedule", policy]),
                ("planned", self.scheduled, self.planned, [])]:
            result = call(BIN / "weft-compile", source, "--to", phase, "-o", target, *options)
            if result.returncode != 0:
                raise RuntimeError(result.stdout)

    def compile(self, planned):
        program = planned.with_suffix(".so")
        result = call(BIN / "weft-compile", planned, "--no-proofs", "-o", program)
        return program if result.returncode == 0 else None

    def run(self, program, other):
        """What two steps give: bytes, or what went wrong. `other`: rank 1's program."""
        outputs = program.with_suffix(".out")
        outputs.unlink(missing_ok=True)
        command = [BIN / "weft-run", program, "--inputs", self.inputs, "--outputs", outputs,
                   "--steps", 2, "--deadline", 3, "--poison", "--perturb", 7, "--quiet"]
        if other:
            command += ["--rank-program", f"1={other}"]
        result = call(*command)
        if result.returncode != 0:
            late = "deadline" in result.stdout or "missing" in result.stdout
            return "hang" if late else "failure"
        return outputs.read_bytes()


class Mutant:
    def __init__(self, example, kind, text, number):
        self.example, self.kind = example, kind
        self.path = example.folder / f"m{number}.mlir"
        self.path.write_text(text)
        self.is_for_rank = kind.startswith("rank_")

    @staticmethod
    def is_proved(*command):
        result = call(BIN / "weft-verify", *command)
        if result.returncode not in (0, 1):
            raise RuntimeError(f"weft-verify ended with {result.returncode}: {result.stdout}")
        return result.returncode == 0

    def verify(self):
        """Says whether the proofs accept it."""
        if self.is_for_rank:
            others = ",".join(str(r) for r in range(self.example.ranks) if r != 1)
            self.accepted = self.is_proved(f"{self.example.planned}={others}", f"{self.path}=1")
        else:
            self.accepted = self.is_proved(self.path)
        return self

    def run(self):
        """`same`, `different`, `hang`, `failure`, or `no code`."""
        program = self.example.compile(self.path)
        if program is None:
            return "no code"
        result = (self.example.run(self.example.program, program) if self.is_for_rank
                  else self.example.run(program, None))
        program.unlink()
        if isinstance(result, str):
            return result
        return "same" if result == self.example.right else "different"


class Tally:
    """What became of the mutants of each kind."""

    def __init__(self):
        self.counts = collections.defaultdict(collections.Counter)
        self.failed = []

    def keep(self, example, mutant, problem):
        kept = ROOT / "build" / "test-reports" / f"mutant-{len(self.failed)}.mlir"
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(mutant.path.read_text())
        self.failed.append(f"{example.name}: {problem}: {kept}")

    def print(self):
        columns = ["made", "rejected", "accepted", "run", "same", "different", "hang", "failure", "no code"]
        print(f"{'':26}" + "".join(f"{c:>10}" for c in columns))
        total = collections.Counter()
        for kind in KINDS:
            total.update(self.counts[kind])
            print(f"{kind.replace('_', ' '):26}"
                  + "".join(f"{self.counts[kind][c]:10}" for c in columns))
        print(f"{'all':26}" + "".join(f"{total[c]:10}" for c in columns))
        for line in self.failed:
            print("FAILED", line)
        print(f"{total['made'] - len(self.failed)} passed, {len(self.failed)} failed")


def check_example(example, options, tally, pool, until):
    if (not Mutant.is_proved(example.planned)
            or not Mutant.is_proved("--from", "scheduled", example.scheduled, example.planned)):
        tally.failed.append(f"{example.name}: the program itself is rejected")
        return
    if isinstance(example.right, str):
        tally.failed.append(f"{example.name}: the program itself ends in {example.right}")
        return
    made = [Mutant(example, kind, text, i) for i, (kind, text) in
            enumerate(make_mutants(example.text, example.name, options.per_kind))]
    mutants = list(pool.map(Mutant.verify, made))
    for mutant in mutants:
        if mutant.accepted and mutant.kind in NEVER_ACCEPTED:
            tally.keep(example, mutant, f"accepted a {mutant.kind}")
        tally.counts[mutant.kind]["made"] += 1
        tally.counts[mutant.kind]["accepted" if mutant.accepted else "rejected"] += 1
    # Accepted ones first: if they are wrong, so are the proofs. Then one of each
    # kind, and so on.
    random.Random(example.name).shuffle(mutants)
    turn = collections.Counter()
    for mutant in mutants:
        turn[mutant.kind] += 1
        mutant.turn = turn[mutant.kind]
    mutants.sort(key=lambda mutant: (not mutant.accepted, mutant.turn))
    num_accepted = sum(mutant.accepted for mutant in mutants)
    for i, mutant in enumerate(mutants):
        if (i >= options.runs + num_accepted // 4 or time.monotonic() > until):
            break
        outcome = mutant.run()
        tally.counts[mutant.kind]["run"] += 1
        tally.counts[mutant.kind][outcome] += 1
        if mutant.accepted and outcome != "same":
            tally.keep(example, mutant, f"accepted a {mutant.kind} that ends in {outcome}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--per-kind", type=int, default=4)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("modules", nargs="*", type=Path, default=INPUTS)
    options = parser.parse_args()
    tally = Tally()
    settings = [(module, MESHES[i % len(MESHES)], POLICIES[(i + j) % len(POLICIES)])
                for i, module in enumerate(options.modules) for j in range(2)]
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for i, (module, mesh, policy) in enumerate(settings):
            with tempfile.TemporaryDirectory() as folder:
                example = Example(module, mesh, policy, Path(folder))
                check_example(example, options, tally, pool,
                              begin + options.seconds * (i + 1) / len(settings))
    tally.print()
    sys.exit(1 if tally.failed else 0)


if __name__ == "__main__":
    main()
