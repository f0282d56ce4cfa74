#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the simulator against runs: compiles a step under each scheduling
policy, runs it on the host backend with a model of the links (a collective takes
latency + bytes / bandwidth without using a core), simulates it on a machine with
the same links and the kernels' durations from the run's trace, and compares the
step times.

  sim_vs_run.py STEP.mlir --inputs IN.safetensors --mesh fsdp=2
      --link fsdp=200,0.5 [--policies sync,next-layer,greedy,best]
      [--steps 12] [--rounds 3] [--build build] [--tolerance 2]

Of several rounds the one whose steps differ least counts: the machine was
quietest then. Needs as many cores as ranks. Ends with 1 if a step time differs
by more than the tolerance, in percent."""
import argparse
import collections
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("step")
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--mesh", required=True)
    parser.add_argument("--link", action="append", required=True, metavar="AXIS=US,GB/S")
    parser.add_argument("--shared-link", action="store_true")
    parser.add_argument("--policies", default="sync,next-layer,greedy,best")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--build", default="build", type=Path)
    parser.add_argument("--prefix", default="", help="command to run weft-run with, as in nice -n -20")
    parser.add_argument("--tolerance", type=float, default=2)
    return parser.parse_args()


def machine(links, is_shared):
    """A description with these links. Kernels' durations are measured, so its
    rates hardly matter."""
    axes = {}
    for link in links:
        axis, figures = link.split("=")
        microseconds, gigabytes = figures.split(",")
        axes[axis] = {"latency_ns": float(microseconds) * 1e3,
                      "bytes_per_s": float(gigabytes) * 1e9}
    level = {"name": "none", "latency_ns": 0, "bytes_per_s": 1e18, "shared_link": is_shared}
    return {"name": "links of the run", "memory": {"bytes_per_s": 1e10},
            "compute": {"kernel_overhead_ns": 0, "elementwise_per_s": 1e10,
                        "flops": {"f32": {"per_s": 1e11}, "bf16": {"per_s": 2e11}}},
            "levels": [level], "axes": axes}


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def step_times(trace):
    """Milliseconds of each step but the first, from when the first rank begins to
    when the last is done."""
    steps = collections.defaultdict(list)
    for event in json.load(open(trace))["traceEvents"]:
        if event["ph"] == "X" and event.get("cat") == "step":
            steps[event["pid"]].append((event["ts"], event["ts"] + event["dur"]))
    return [(max(end for _, end in step) - min(begin for begin, _ in step)) / 1e3
            for step in list(zip(*steps.values()))[1:]]


def compare(options, policy, machine_file, folder):
    """Compiles, runs and simulates under a policy; the figures of the round whose
    steps differ least."""
    binaries = options.build / "bin"
    compiling = [options.step, "--mesh", options.mesh, "--machine", machine_file, "--schedule", policy]
    run(binaries / "weft-compile", *compiling, "-o", folder / "step.so")
    ranks = 1
    for axis in options.mesh.split(","):
        ranks *= int(axis.split("=")[1])
    running = ["--ranks", ranks, "--threads", ranks, "--inputs", options.inputs, "--steps", options.steps]
    for link in options.link:
        running += ["--link", link]
    if options.shared_link:
        running.append("--shared-link")
    best = None
    for _ in range(options.rounds):
        trace = folder / "run.json"
        run(*options.prefix.split(), binaries / "weft-run", folder / "step.so", *running, "--trace", trace)
        times = step_times(trace)
        text = run(binaries / "weft-sim", *compiling, "--durations", trace)
        spread = statistics.pstdev(times) / statistics.mean(times)
        if best is None or spread < best[0]:
            best = spread, statistics.mean(times), text
    return best


def figure(text, name):
    line = next(line for line in text.splitlines() if line.startswith(name))
    return float(line[len(name):].split()[0])


def main():
    options = parse_arguments()
    worst = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        machine_file = folder / "machine.json"
        machine_file.write_text(json.dumps(machine(options.link, options.shared_link)))
        print(f"{'policy':12} {'run':>10} {'simulated':>10} {'differs':>8} {'compute':>10} {'exposed':>10} {'spread':>7}")
        for policy in options.policies.split(","):
            spread, measured, text = compare(options, policy, machine_file, folder)
            step = figure(text, "step time")
            difference = 100 * (step - measured) / measured
            worst = max(worst, abs(difference))
            print(f"{policy:12} {measured:7.2f} ms {step:7.2f} ms {difference:+6.2f} % "
                  f"{figure(text, 'compute'):7.2f} ms {figure(text, 'exposed'):7.2f} ms {100 * spread:5.1f} %",
                  flush=True)
    sys.exit(1 if worst > options.tolerance else 0)


if __name__ == "__main__":
    main()
