#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the bytes that a plan says with those that are alive, and with a run.

    memory.py STEP.mlir --mesh dp=2,fsdp=2,tp=2 [--mesh ...] [--inputs IN.safetensors]

For each mesh the arena is at most 1.02 of the bytes in it that are alive at one
time: of those that the planner counts, and of those that the planned program
itself tells. With inputs the step runs, and each rank uses what the plan says.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

FACTOR = 1.02


def plan(step, mesh, planned):
    """Compiles to the planned phase; returns the bytes that are printed."""
    command = ["weft-compile", step, "--mesh", mesh, "--effort", "quick", "--to", "planned", "--stats", "-o", planned]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    text = text[text.index("bytes that each rank needs") :]
    figures = {}
    for name in ("arguments", "results", "arena", "total", "all at the peak"):
        figures[name] = int(re.search(rf"^  {name} +(\d+) B$", text, re.MULTILINE)[1])
    attributes = dict(re.findall(r"weft_rt\.(arena_\w+) = (\d+)", planned.read_text()))
    figures["bound"] = int(attributes["arena_bound"])
    return figures


def run(planned, inputs, folder):
    library, stats = folder / "step.so", folder / "stats.json"
    subprocess.run(["weft-compile", planned, "-o", library], check=True)
    command = ["weft-run", library, "--inputs", inputs, "--stats", stats, "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return json.loads(stats.read_text())


def check_plan(figures):
    """Returns what is wrong."""
    for name in ("bound", "all at the peak"):
        if figures["arena"] > FACTOR * figures[name]:
            yield f"arena of {figures['arena']} bytes, more than {FACTOR} of {name}: {figures[name]}"
    if figures["all at the peak"] > figures["bound"]:
        yield f"{figures['all at the peak']} bytes alive, more than the planner counts: {figures['bound']}"
    parts = sum(figures[name] for name in ("arguments", "results", "arena"))
    if figures["total"] != parts:
        yield f"total of {figures['total']} bytes, the parts have {parts}"


def check_run(figures, stats):
    for name in ("argument", "result", "arena"):
        planned = figures[name if name == "arena" else name + "s"]
        if stats[name + "_bytes"] != planned:
            yield f"{name}: planned {planned} bytes, used {stats[name + '_bytes']}"
    if stats["total_bytes"] != stats["ranks"] * figures["total"]:
        yield f"total of all ranks: {stats['total_bytes']} bytes, a rank's plan has {figures['total']}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("step")
    parser.add_argument("--mesh", action="append", required=True)
    parser.add_argument("--inputs")
    arguments = parser.parse_args()
    failed = False
    for mesh in arguments.mesh:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            planned = folder / "planned.mlir"
            figures = plan(arguments.step, mesh, planned)
            problems = list(check_plan(figures))
            if arguments.inputs:
                problems += check_run(figures, run(planned, arguments.inputs, folder))
        print(f"{mesh}: arena {figures['arena']} bytes, {figures['arena'] / figures['bound']:.4f} of the bound")
        for problem in problems:
            failed = True
            print(f"{mesh}: {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
