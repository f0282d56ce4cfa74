# SPDX-License-Identifier: Apache-2.0
"""Compares what the tools say of a step on random machine descriptions: odd ones, with links that take
no time or very long, groups that do not hold whole nodes, and collectives that take all of the compute.

    test/fuzz/machines.py --seeds 0:20 [--no-run]

A seed is a machine, an example and a mesh. --stats, the planned program, the report, weft-sim and a run
have to agree to the byte and the microsecond; no figure is negative or no number; no bound is above its
plan; `best` is no slower than another policy, without a limit, at the least one and between them.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

import seeds

ROOT = Path(__file__).resolve().parent.parent.parent
FIGURES = ROOT / "test" / "Integration" / "Schedule" / "figures.py"
STEPS = [("qwen3", {"dp": 1, "fsdp": 8, "tp": 1}), ("qwen3", {"dp": 2, "fsdp": 2, "tp": 2}),
         ("qwen3", {"dp": 1, "fsdp": 2, "tp": 2}), ("qwen3_scan", {"dp": 1, "fsdp": 4, "tp": 1}),
         ("qwen3_scan", {"dp": 1, "fsdp": 2, "tp": 4})]
POLICIES = ["sync", "next-layer", "greedy", "best"]
FIELDS = ["step_ns", "compute_ns", "communication_ns", "exposed_ns", "hideable_ns", "bound_ns",
          "bound_within_limit_ns", "peak_bytes", "fixed_bytes", "kept_gathers"]


def draw_link(random):
    """The fields that each way over a link has."""
    link = {"latency_ns": random.choice([0, 1, 700, 14000, 10**7]),
            "latency_ns_per_step": random.choice([0, 0, 5, 2000, 10**6]),
            "bytes_per_s": random.choice([10**6, 10**8, 5 * 10**9, 4 * 10**11, 10**15, 10**18])}
    if random.random() < 0.3:
        link["efficiency_by_bytes"] = [[1000, 0.01], [10**6, 0.9], [10**9, 1]]
    return link


def draw_level(random, number, ranks, multiprocessors):
    """Collectives take some of the multiprocessors, or all but one."""
    level = {"name": f"level{number}", **draw_link(random), "shared_link": random.random() < 0.5,
             "multiprocessors": random.choice([0, 0, min(4, multiprocessors - 1), multiprocessors - 1]),
             "memory_bytes_per_byte": random.choice([0, 0, 1, 3, 1000])}
    if ranks:
        level["ranks"] = ranks
    if number > 0:
        level["rails"] = random.random() < 0.5
    for way in ("ring_ll", "tree"):
        if random.random() < 0.3:
            level[way] = draw_link(random)
    if random.random() < 0.3:
        level["nvls"] = {**draw_link(random), "collectives": ["all_reduce", "all_gather"]}
    return level


def draw_machine(random):
    rate = random.choice([10**9, 10**12, 10**15])
    sizes = random.choice([[0], [3, 0], [2, 0], [2, 4, 0], [3, 6, 0], [8, 0]])
    multiprocessors = random.choice([1, 16, 132])
    return {"name": "random",
            "memory": {"bytes_per_s": random.choice([10**8, 10**10, 3 * 10**12, 10**16])},
            "compute": {"kernel_overhead_ns": random.choice([0, 1, 2000, 10**6]),
                        "multiprocessors": multiprocessors,
                        "elementwise_per_s": random.choice([10**9, 3 * 10**13]),
                        "flops": {"f32": {"per_s": rate}, "bf16": {"per_s": 2 * rate}}},
            "levels": [draw_level(random, i, ranks, multiprocessors) for i, ranks in enumerate(sizes)]}


class Wrong(Exception):
    """What is wrong."""


def run(*command):
    return subprocess.run([str(word) for word in command], text=True, capture_output=True)


def plan(options, policy, limit):
    """The figures of a plan, or None if nothing fits; the least that does, then, as text."""
    done = run("weft-compile", *options, "--schedule", policy, "--memory-limit", limit, "--no-proofs",
               "--recompute", "marked", "--to", "planned", "-o", "-")
    if done.returncode != 0:
        least = re.search(r"needs (\d+) bytes at least", done.stderr)
        if done.returncode != 1 or not least:
            raise Wrong(f"{policy} within {limit}: {done.returncode}, {done.stderr[:500]}")
        return None, int(least.group(1))
    text = done.stdout[done.stdout.index("weft.schedule = {"):]
    figures = {}
    for name in FIELDS:
        number = re.search(rf"\b{name} = (\S+) : i64", re.sub(r"exposed = \[\{.*?\}\]", "", text))
        if not number or not re.fullmatch(r"\d+", number.group(1)):
            raise Wrong(f"{policy} within {limit}: {name} is {number and number.group(1)}")
        figures[name] = int(number.group(1))
    if figures["bound_ns"] > figures["step_ns"]:
        raise Wrong(f"{policy} within {limit}: bound {figures['bound_ns']}, step {figures['step_ns']}")
    return figures, 0


def check_policies(options, limit):
    plans = {policy: plan(options, policy, limit)[0] for policy in POLICIES}
    best = plans["best"]
    for policy, other in plans.items():
        if other and (not best or other["step_ns"] < best["step_ns"]):
            raise Wrong(f"within {limit}: {policy} takes {other['step_ns']}, best {best}")
    return best


def check(seed, options):
    random = Random(seed)
    example, mesh = random.choice(STEPS)
    step = ROOT / "examples" / example / "step.mlir"
    ranks = 1
    for size in mesh.values():
        ranks *= size
    with tempfile.TemporaryDirectory() as folder:
        machine = Path(folder) / "machine.json"
        machine.write_text(json.dumps(draw_machine(random), indent=1))
        given = [step, "--mesh", ",".join(f"{k}={v}" for k, v in mesh.items()), "--machine", machine]
        try:
            free = check_policies(given, "none")
            least = plan(given, "best", "1KiB")[1]
            for part in (0, random.uniform(0.05, 0.9)):
                check_policies(given, f"{int((least + part * (free['peak_bytes'] - least)) // 1024) + 1}KiB")
        except Wrong as wrong:
            return f"{example} {mesh}: {wrong}"
        if not options.run:
            return None
        inputs = step.parent / "inputs.safetensors"
        done = run(sys.executable, FIGURES, step, ranks, inputs, Path(folder) / "out", *given[1:])
        return None if done.returncode == 0 else f"{example} {mesh}: {done.stdout}{done.stderr[:500]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-run", dest="run", action="store_false", help="compares plans only")
    seeds.add_options(parser, "0:20")
    options = parser.parse_args()
    seeds.run(options, lambda seed: check(seed, options))


if __name__ == "__main__":
    main()
