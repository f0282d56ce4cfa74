#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Schedules steps of real sizes for several machines and compares policies.

    bench/steps.py build/steps
    bench/schedule.py build/steps [--case qwen3-8b:fsdp=8 ...] [--machine h100x8 ...]
                      [--json FILE]
    bench/schedule.py build/random --random SEED COUNT     # those of bench/steps.py --random

For each case and machine, each policy runs under three limits of memory: none;
what program order needs and three layers of gathered weights; and what program
order needs. Prints a table as Markdown, and what misses a bar. A case is a step
and a mesh; docs/benchmarks.md says what the columns mean. As weft-compile does
for steps of up to 1,000 kernels and collectives, `best` takes the orders that were made for other
limits as well, if they fit and are faster.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import shapes

ROOT = Path(__file__).resolve().parent.parent
POLICIES = ["sync", "next-layer", "greedy", "best"]
ONE_NODE, CLUSTER = ["h100x8", "b200x8"], ["h100-cluster", "b200-cluster", "nvl72"]
CASES = {
    "qwen3-0.6b:fsdp=8": ONE_NODE + ["nvl72"],
    "qwen3-8b:fsdp=8": ONE_NODE + ["nvl72"],
    "qwen3-8b:fsdp=4,tp=2": ONE_NODE,
    "qwen3-8b:dp=2,fsdp=8": CLUSTER,
    "qwen3-32b:fsdp=8": ["b200x8"],
    "b64/qwen3-32b:fsdp=8,tp=8": CLUSTER,
    "moe-8x7b:fsdp=4,ep=2": ONE_NODE,
    "b64/moe-30b-a3b:fsdp=8,ep=8": CLUSTER,
}
# Layers of gathered weights that the second limit has room for.
LAYERS_AHEAD = 3
# The most that `best` may take over the bound, and the least that it hides of
# what can be hidden, both where the second limit holds.
GAP_BAR, HIDDEN_BAR = 0.01, 0.99
TO_NAMED = ("weft-prepare-kernels,canonicalize{region-simplify=disabled},cse,"
            "weft-assign-channels,weft-fuse-kernels,weft-name-ops")
# Of steps of more kernels and collectives, weft-compile makes no orders for other limits.
MAX_SMALL = 1000
# More than any step needs.
NO_LIMIT = 1 << 60
BYTES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "bf16": 2, "f16": 2}


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="with the steps")
    parser.add_argument("--case", nargs="+", default=list(CASES), metavar="STEP:MESH")
    parser.add_argument("--machine", nargs="+", help="instead of those that fit a case")
    parser.add_argument("--policy", nargs="+", default=POLICIES)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--json", type=Path, help="where the figures go as well")
    parser.add_argument("--random", type=int, nargs=2, metavar=("SEED", "COUNT"),
                        help="steps of random shapes, each on its machine, instead of cases")
    return parser.parse_args()


def cases_of(options):
    """Pairs of a case and its machines."""
    if options.random:
        first, count = options.random
        drawn = {seed: shapes.draw(seed) for seed in range(first, first + count)}
        return [(f"random-{seed}:{shape.mesh}", options.machine or [shape.machine])
                for seed, shape in drawn.items()]
    return [(case, options.machine or CASES[case]) for case in options.case]


def must(command):
    run = subprocess.run([str(word) for word in command], text=True, capture_output=True)
    if run.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} ended with {run.returncode}\n"
                 f"{run.stderr[:2000]}")
    return run.stdout


def prepare(case, options, folder):
    """The step in the form that is scheduled, for all machines and policies."""
    name, _, mesh = case.partition(":")
    local, named = folder / "local.mlir", folder / "named.mlir"
    must([options.build / "bin" / "weft-compile", options.folder / f"{name}.mlir", "--mesh", mesh,
          "-o", local, "--to", "local"])
    must([options.build / "bin" / "weft-opt", local, "-o", named,
          f"--pass-pipeline=builtin.module({TO_NAMED})"])
    return named


def tensor_bytes(type):
    *shape, element = type.split("x")
    size = BYTES[element]
    for dim in shape:
        size *= int(dim)
    return size


def layer_bytes(named):
    """The gathered weights of the largest layer."""
    layers = {}
    gather = re.compile(r'weft\.all_gather .*weft\.op = "all_gather [\w.]*?\.(\d+)\..*-> \(?(.*)$',
                        re.MULTILINE)
    for layer, types in gather.findall(named.read_text()):
        size = sum(map(tensor_bytes, re.findall(r"tensor<(.*?)>", types)))
        layers.setdefault(layer, []).append(size)
    # Forward and backward gather the same.
    return max((sum(sizes) // 2 for sizes in layers.values()), default=0)


def schedule(named, machine, policy, limit, options):
    """The figures of a schedule; None if the limit cannot be kept."""
    command = [options.build / "bin" / "weft-opt", named, "--verify-each=false",
               f"--weft-schedule=policy={policy} machine={machine} memory-limit={limit}"]
    run = subprocess.run([str(word) for word in command], text=True, capture_output=True)
    if run.returncode != 0:
        if "memory limit" in run.stderr:
            return None
        sys.exit(f"bench: {' '.join(map(str, command))}\n{run.stderr[:2000]}")
    # Each collective's own `exposed_ns` stands before the step's.
    figures = re.search(r"weft\.schedule = \{(.*)$", run.stdout, re.MULTILINE).group(1)
    return {key: int(value) for key, value in re.findall(r"(\w+) = (-?\d+) : i64", figures)}


def schedule_all(named, machine, limits, options):
    """The figures by limit and policy."""
    figures = {(name, policy): schedule(named, machine, policy, limit, options)
               for name, limit in limits for policy in options.policy}
    # What a kernel consists of stands farther to the right.
    if len(re.findall(r"^    \S", named.read_text(), re.MULTILINE)) > MAX_SMALL:
        return figures
    made = [figures[name, "best"] for name, _ in limits if figures.get((name, "best"))]
    for name, limit in limits:
        if own := figures.get((name, "best")):
            # Of an order for another limit, the bound within that says nothing.
            fitting = [{**other, "bound_within_limit_ns": other["bound_ns"]} for other in made
                       if other["peak_bytes"] <= limit]
            figures[name, "best"] = min([own, *fitting], key=lambda one: one["step_ns"])
    return figures


def row_of(case, machine, limit_name, policy, figures):
    row = {"case": case, "machine": machine, "limit": limit_name, "policy": policy}
    if figures is None:
        return {**row, "fits": False}
    bound = figures["bound_within_limit_ns"]
    # Less can be hidden where there is little memory.
    hideable = figures["hideable_ns"] - (bound - figures["bound_ns"])
    figures = {**figures, "bound_ns": bound}
    avoidable = figures["step_ns"] - bound
    return {**row, "fits": True, **figures, "gap": avoidable / bound if bound else 0,
            "hidden": 1 - avoidable / hideable if hideable else 1}


HEAD = ("| case | machine | memory | policy | step ms | bound ms | gap | exposed ms | hidden "
        "| peak GB |\n|---|---|---|---|--:|--:|--:|--:|--:|--:|")


def print_row(row):
    text = f"| {row['case']} | {row['machine']} | {row['limit']} | {row['policy']} | "
    if row["fits"]:
        text += (f"{row['step_ns'] / 1e6:.3f} | {row['bound_ns'] / 1e6:.3f} | "
                 f"{row['gap']:.2%} | {row['exposed_ns'] / 1e6:.3f} | {row['hidden']:.2%} | "
                 f"{row['peak_bytes'] / 1e9:.2f} |")
    else:
        text += "does not fit | | | | | |"
    print(text, flush=True)


def limits_of(named, machine, options):
    tight = schedule(named, machine, "sync", NO_LIMIT, options)["peak_bytes"]
    ahead = tight + LAYERS_AHEAD * layer_bytes(named)
    return [("none", NO_LIMIT), (f"{LAYERS_AHEAD} layers", ahead), ("tight", tight)]


def misses_of(rows):
    """What misses a bar, as text."""
    for row in rows:
        name = f"{row['case']} on {row['machine']}, memory {row['limit']}"
        if row["policy"] != "best":
            continue
        if not row["fits"]:
            yield f"{name}: no schedule"
            continue
        other = next((r for r in rows if r["policy"] == "next-layer" and r["fits"] and
                      all(r[k] == row[k] for k in ("case", "machine", "limit"))), None)
        if other and other["step_ns"] < row["step_ns"]:
            yield f"{name}: next-layer takes {other['step_ns']} ns, best {row['step_ns']} ns"
        if row["limit"] == "tight":
            continue
        if row["gap"] > GAP_BAR:
            yield f"{name}: gap {row['gap']:.2%}"
        if row["hidden"] < HIDDEN_BAR:
            yield f"{name}: {row['hidden']:.2%} hidden"


def main():
    options = arguments()
    rows = []
    print(HEAD)
    for case, machines in cases_of(options):
        with tempfile.TemporaryDirectory() as folder:
            named = prepare(case, options, Path(folder))
            for machine in machines:
                figures = schedule_all(named, machine, limits_of(named, machine, options), options)
                for (limit_name, policy), of_policy in figures.items():
                    rows.append(row_of(case, machine, limit_name, policy, of_policy))
                    print_row(rows[-1])
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    misses = list(misses_of(rows))
    for miss in misses:
        print(f"miss: {miss}")
    sys.exit(1 if misses else 0)


if __name__ == "__main__":
    main()
