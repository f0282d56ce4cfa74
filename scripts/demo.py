#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the shipped example on 8 ranks, on one rank, and beside JAX's numbers.

Prints the loss of each step, the largest difference in any weight after the
last step, the step time, and the bytes that a rank receives by collective.
Exits with 1 if the runs disagree by more than rounding explains.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "qwen3"
BIN = ROOT / "build" / "bin"
STEPS = 5
MESHES = {"8 ranks": ("dp=2,fsdp=2,tp=2", 8), "1 rank": ("dp=1,fsdp=1,tp=1", 1)}
# One AdamW step moves a weight by about the learning rate, 1e-3, whichever way
# a gradient near zero points: compare losses, and weights loosely.
LOSS_BAR, WEIGHT_BAR = 2e-5, 5e-3


def call(*command):
    result = subprocess.run([str(word) for word in command], text=True,
                            stdout=subprocess.PIPE)
    if result.returncode != 0:
        sys.exit(f"demo: {' '.join(str(word) for word in command)} "
                 f"ended with {result.returncode}")
    return result.stdout


def run(folder, label, mesh, ranks):
    """Compiles and runs the step; returns losses, weights and statistics."""
    tag = label.replace(" ", "")
    library, stats = folder / f"step-{tag}.so", folder / f"stats-{tag}.json"
    output = folder / f"out-{tag}.safetensors"
    call(BIN / "weft-compile", EXAMPLE / "step.mlir", "-o", library,
         "--mesh", mesh, "--ranks", ranks)
    printed = call(BIN / "weft-run", library, "--ranks", ranks, "--inputs",
                   EXAMPLE / "inputs.safetensors", "--outputs", output,
                   "--steps", STEPS, "--print", "loss", "--stats", stats)
    losses = [float(line.split()[-1]) for line in printed.splitlines()
              if "loss" in line]
    return losses, load_file(output), json.loads(stats.read_text())


def largest_difference(left, right):
    """(difference, name) over the weights that both hold."""
    names = sorted(name for name in left
                   if name in right and name.startswith("params"))
    return max((float(np.abs(np.asarray(left[name], np.float64)
                             - np.asarray(right[name], np.float64)).max()), name)
               for name in names)


def main():
    reference = load_file(EXAMPLE / "reference.safetensors")
    columns, weights, stats = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for label, (mesh, ranks) in MESHES.items():
            columns[label], weights[label], stats[label] = run(
                Path(folder), label, mesh, ranks)
    columns["JAX"] = [float(x) for x in reference["loss"][:STEPS]]
    weights["JAX"] = reference

    print(f"Qwen3-style step, AdamW, mesh {MESHES['8 ranks'][0]}")
    print("step   " + "".join(f"{label:>14}" for label in columns))
    for step in range(STEPS):
        print(f"{step + 1:4}   " + "".join(f"{values[step]:14.7f}"
                                           for values in columns.values()))
    worst = 0.0
    for other in ("1 rank", "JAX"):
        difference, name = largest_difference(weights["8 ranks"], weights[other])
        worst = max(worst, difference)
        print(f"largest weight difference, 8 ranks against {other}: "
              f"{difference:.2e} ({name})")
    loss_gap = max(abs(a - b) / abs(b) for label in ("8 ranks", "1 rank")
                   for a, b in zip(columns[label], columns["JAX"]))
    print(f"largest relative loss difference against JAX: {loss_gap:.1e}")
    for label in MESHES:
        times = sorted(stats[label]["step_ms"])
        print(f"step time, {label}: {times[len(times) // 2]:.2f} ms")
    print("bytes received per rank and step, 8 ranks:")
    for row in stats["8 ranks"]["traffic"]:
        print(f"  {row['kind']:15} {row['channel']:28} {row['count']:4} x"
              f" {row['bytes']:12,} B")
    if not (worst <= WEIGHT_BAR and loss_gap <= LOSS_BAR):
        sys.exit("demo: the runs do not agree")


if __name__ == "__main__":
    main()
