#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the proof of planning against plans of another computation.

  planning.py [--per-kind N] [--runs N] [--seconds N] [MODULE...]

For each example, mesh and schedule: the plan must be accepted as one of the
scheduled program. Mutants (plan_mutants.py) change what it computes, and only
seldom its memory. They are put to the proof with the scheduled program as it
was. Accepted ones, and a sample of the rejected, are run on the host backend:
who was accepted must give the same bytes. Prints what became of each kind; the
last line is `N passed, N failed`.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from plan_mutants import KINDS, make_plan_mutants
from run import BIN, HERE, INPUTS, MESHES, POLICIES, ROOT, Example, call

# Programs of phase `local`, with loops and branches.
LOCAL = sorted((HERE / "Inputs").glob("*.local.mlir"))
# What these change is what another op or nothing at all depends on.
HARMLESS = {"renamed_value"}


class Planned(Example):
    """A scheduled program, and its plan."""

    def __init__(self, module, mesh, policy, folder):
        self.is_local = module.name.endswith(".local.mlir")
        super().__init__(module, mesh, policy, folder)

    def make(self, module, mesh, policy):
        self.scheduled = self.folder / "scheduled.mlir"
        command = [BIN / "weft-compile", module, "--to", "scheduled", "--schedule", policy,
                   "-o", self.scheduled]
        result = call(*command, *([] if self.is_local else ["--mesh", mesh]))
        if result.returncode == 0:
            result = call(BIN / "weft-compile", self.scheduled, "--to", "planned", "-o", self.planned)
        if result.returncode != 0:
            raise RuntimeError(result.stdout)


class PlanMutant:
    is_for_rank = False

    def __init__(self, example, kind, text, number):
        self.example, self.kind = example, kind
        self.path = example.folder / f"p{number}.mlir"
        self.path.write_text(text)

    def verify(self):
        result = call(BIN / "weft-verify", "--from", "scheduled", self.example.scheduled, self.path)
        if result.returncode not in (0, 1):
            raise RuntimeError(f"weft-verify ended with {result.returncode}: {result.stdout}")
        self.accepted = result.returncode == 0
        return self

    def run(self):
        program = self.example.compile(self.path)
        if program is None:
            return "no code"
        result = self.example.run(program, None)
        program.unlink()
        if isinstance(result, str):
            return result
        return "same" if result == self.example.right else "different"


def keep(mutant, number):
    path = ROOT / "build" / "test-reports" / f"plan-mutant-{number}.mlir"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(mutant.path.read_text())
    return path


def check_example(example, options, counts, failed, pool, until):
    result = call(BIN / "weft-verify", "--from", "scheduled", example.scheduled, example.planned)
    if result.returncode != 0:
        failed.append(f"{example.name}: the program itself is rejected: {result.stdout[:400]}")
        return
    made = [PlanMutant(example, kind, text, i) for i, (kind, text) in
            enumerate(make_plan_mutants(example.text, example.name, options.per_kind))]
    mutants = list(pool.map(PlanMutant.verify, made))
    for mutant in mutants:
        counts[mutant.kind]["made"] += 1
        counts[mutant.kind]["accepted" if mutant.accepted else "rejected"] += 1
        if mutant.kind in HARMLESS and not mutant.accepted:
            failed.append(f"{example.name}: rejected a {mutant.kind}: {keep(mutant, len(failed))}")
    random.Random(example.name).shuffle(mutants)
    turn = collections.Counter()
    for mutant in mutants:
        turn[mutant.kind] += 1
        mutant.turn = turn[mutant.kind]
    # All that were accepted; of the others one of each kind, and so on.
    mutants.sort(key=lambda mutant: (not mutant.accepted, mutant.turn))
    for i, mutant in enumerate(mutants):
        if not mutant.accepted and (i >= options.runs or time.monotonic() > until):
            break
        outcome = mutant.run()
        counts[mutant.kind]["run"] += 1
        counts[mutant.kind][outcome] += 1
        if mutant.accepted and outcome != "same":
            failed.append(f"{example.name}: accepted a {mutant.kind} that ends in {outcome}: "
                          f"{keep(mutant, len(failed))}")


def report(counts, failed):
    columns = ["made", "rejected", "accepted", "run", "same", "different", "hang", "failure", "no code"]
    print(f"{'':26}" + "".join(f"{c:>10}" for c in columns))
    total = collections.Counter()
    for kind in KINDS:
        total.update(counts[kind])
        print(f"{kind.replace('_', ' '):26}" + "".join(f"{counts[kind][c]:10}" for c in columns))
    print(f"{'all':26}" + "".join(f"{total[c]:10}" for c in columns))
    for line in failed:
        print("FAILED", line)
    print(f"{max(0, total['made'] - len(failed))} passed, {len(failed)} failed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--per-kind", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=50)
    parser.add_argument("modules", nargs="*", type=Path, default=[*LOCAL, *INPUTS])
    options = parser.parse_args()
    counts, failed = collections.defaultdict(collections.Counter), []
    begin, count = time.monotonic(), len(options.modules)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for i, module in enumerate(options.modules):
            with tempfile.TemporaryDirectory() as folder:
                example = Planned(module, MESHES[i % len(MESHES)], POLICIES[i % len(POLICIES)], Path(folder))
                check_example(example, options, counts, failed, pool,
                              begin + options.seconds * (i + 1) / count)
    report(counts, failed)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
