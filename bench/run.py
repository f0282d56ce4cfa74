#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures weft's compiled step beside JAX and PyTorch, in turn.

  bench/run.py --jax-python PYTHON --torch-python PYTHON
               [--config S,M,Q06] [--dtype f32,bf16] [--mesh MESH...]
               [--rounds 3] [--steps 5] [--json FILE]

docs/benchmarks.md says what the figures mean. For each case, weft and its peers run
in turn, a process each, for some rounds; a figure is the median of the rounds. A
peer without a python is left out. Needs a finished build.
"""
import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from yardstick import bytes_of_everything_else, flops_of

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench" / "peers"
ONE = "fsdp=1"
MESHES = [ONE, "fsdp=8", "fsdp=4,tp=2", "fsdp=4", "tp=4"]
# The most that weft's step may take of a peer's.
BARS = {"jax": {"f32": {"one": 0.7, "ranks": 0.6}, "bf16": {"one": 0.5, "ranks": 0.4}},
        "torch": {"f32": {"one": 0.9, "ranks": 0.75}, "bf16": {"one": 0.9, "ranks": 0.75}}}
# How torch runs a mesh: mode and processes.
TORCH = {ONE: ("compile", 1), "fsdp=4": ("fsdp", 4), "tp=4": ("tp", 4)}
WITH_JAX = {ONE, "fsdp=8", "fsdp=4,tp=2"}


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="S,M,Q06")
    parser.add_argument("--dtype", default="f32,bf16")
    parser.add_argument("--mesh", nargs="+", default=MESHES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5, help="timed, after 2 others")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--json", type=Path, help="default: bench/results.json in the build")
    parser.add_argument("--jax-python", default=sys.executable,
                        help="a python with JAX; it also exports the steps")
    parser.add_argument("--torch-python", help="a python with PyTorch")
    parser.add_argument("--jax-peer", type=Path, default=PEERS / "jax_step.py",
                        help="a script that takes --config, --dtype, --mesh, --steps and "
                        "prints a JSON object with step_ms_median, compile_s, peak_rss_mb")
    parser.add_argument("--no-jax", action="store_true", help="export with JAX, but do not time it")
    options = parser.parse_args()
    options.work = options.build / "bench"
    options.json = options.json or options.work / "results.json"
    return options


# -- processes

def busy_seconds():
    """Processor time that the whole machine has spent so far."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    idle = int(fields[3]) + int(fields[4])
    return (sum(map(int, fields)) - idle) / os.sysconf("SC_CLK_TCK")


class Run:
    """A command that has run: what it printed, its time and memory, and how many
    cores others were using meanwhile."""
    def __init__(self, command, environment=None):
        before, start = busy_seconds(), time.perf_counter()
        with subprocess.Popen([str(word) for word in command], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, **(environment or {})}) as process:
            self.output, self.errors = process.communicate()
            self.code = process.returncode
        self.seconds = time.perf_counter() - start
        self.busy = busy_seconds() - before

    def json(self):
        return json.loads(self.output.strip().splitlines()[-1])


class Failed(Exception):
    """A command failed; the text says which, and what it said."""


def must(command, environment=None):
    run = Run(command, environment)
    if run.code != 0:
        raise Failed(f"{' '.join(map(str, command))} ended with {run.code}\n{run.errors}")
    return run


def peak_of(command):
    """Runs the command under a shell of its own; its peak memory in MB."""
    code = ("import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024); "
            "print(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])); sys.exit(code)")
    run = must([sys.executable, "-c", code, *command])
    *_, peak, cpu = run.output.split()
    return run, float(peak), max(0.0, run.busy - float(cpu)) / run.seconds


def ranks_of(mesh):
    ranks = 1
    for size in re.findall(r"=(\d+)", mesh):
        ranks *= int(size)
    return ranks


def whole_mesh(mesh):
    sizes = {"dp": 1, "fsdp": 1, "tp": 1}
    sizes.update((name, int(size)) for name, size in re.findall(r"(\w+)=(\d+)", mesh))
    return ",".join(f"{name}={size}" for name, size in sizes.items())


# -- the machine

def measure_machine(options):
    """GFLOP/s by type and GB/s of copying, with all cores busy; the products of
    torch count too, where they are faster."""
    folder = options.work / "machine"
    if not (folder / "build.ninja").exists():
        must(["cmake", "-S", ROOT / "bench" / "machine", "-B", folder, "-G", "Ninja"])
    must(["ninja", "-C", folder])
    machine = must([folder / "weft-machine-bench"]).json()
    if options.torch_python:
        for dtype in machine["gflop_per_s"]:
            other = must([options.torch_python, PEERS / "torch_step.py", "--gemm", "--dtype",
                          dtype], options.torch_environment).json()["gflop_per_s"]
            machine["gflop_per_s"][dtype] = max(machine["gflop_per_s"][dtype], other)
    return machine


def torch_environment(options):
    """What torch needs to run here. Its kernels for AMX are killed on machines
    that announce AMX and do not have all of it."""
    if not options.torch_python:
        return {}
    command = [options.torch_python, PEERS / "torch_step.py", "--gemm", "--dtype", "bf16"]
    for environment in ({}, {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}):
        run = Run(command, environment)
        if run.code == 0:
            return environment
        if run.code != -signal.SIGILL:
            break
    sys.exit(f"bench: torch does not run\n{run.errors}")


# -- one side, once

def export(config, dtype, options):
    """The exported step and its inputs, made once."""
    step, inputs = (options.work / f"{config}-{dtype}.mlir", options.work / f"{config}.safetensors")
    if not step.exists() or not inputs.exists():
        must([options.jax_python, ROOT / "examples" / "qwen3" / "export.py", "--size", config,
              "--dtype", dtype, "--mesh", "fsdp=8", "--step", step, "--inputs", inputs],
             {"PYTHONPATH": str(ROOT / "python-bindings"), "JAX_PLATFORMS": "cpu"})
    return step, inputs


def run_weft(case, options):
    step, inputs = export(case["config"], case["dtype"], options)
    library, stats = options.work / f"{step.stem}.so", options.work / f"{step.stem}.json"
    library.unlink(missing_ok=True)
    tools, ranks = options.build / "bin", ranks_of(case["mesh"])
    compiled, compile_peak, _ = peak_of([
        tools / "weft-compile", step, "-o", library, "--mesh", whole_mesh(case["mesh"]),
        "--ranks", ranks])
    _, peak, others = peak_of([
        tools / "weft-run", library, "--ranks", ranks, "--inputs", inputs, "--steps",
        options.steps + 2, "--quiet", "--stats", stats])
    times = json.loads(stats.read_text())["step_ms"][2:]
    return {"compile_s": compiled.seconds, "compile_peak_mb": compile_peak,
            "step_ms_median": statistics.median(times), "peak_rss_mb": peak,
            "others_cores": others}


def run_jax(case, options):
    return must([options.jax_python, options.jax_peer, "--config", case["config"], "--dtype",
                 case["dtype"], "--mesh", whole_mesh(case["mesh"]), "--steps",
                 options.steps]).json()


def run_torch(case, options):
    mode, ranks = TORCH[case["mesh"]]
    return must([options.torch_python, PEERS / "torch_step.py", "--config", case["config"],
                 "--dtype", case["dtype"], "--mode", mode, "--ranks", ranks, "--steps",
                 options.steps], options.torch_environment).json()


def sides_of(case, options):
    """What runs for a case: a name and a function each, weft first."""
    sides = {"weft": run_weft}
    if case["mesh"] in WITH_JAX and not options.no_jax:
        sides["jax"] = run_jax
    # Tensor parallelism by hand needs a key head for each rank.
    if options.torch_python and case["mesh"] in TORCH and (
            case["config"], case["mesh"]) != ("S", "tp=4"):
        sides["torch"] = run_torch
    return sides


# -- a case

def machine_ms(case, machine, options):
    """The yardstick: products at the best rate, and all other bytes at the
    bandwidth of copying."""
    step, _ = export(case["config"], case["dtype"], options)
    planned = options.work / "planned.mlir"
    must([options.build / "bin" / "weft-compile", step, "-o", planned, "--to", "planned",
          "--mesh", whole_mesh(case["mesh"])])
    ranks = ranks_of(case["mesh"])
    gflop = flops_of(step.read_text()) / 1e9
    gigabytes = ranks * bytes_of_everything_else(planned.read_text(), ranks) / 1e9
    return {"gflop": gflop, "gigabytes": gigabytes,
            "gemm_ms": gflop / machine["gflop_per_s"][case["dtype"]] * 1e3,
            "copy_ms": gigabytes / machine["copy_gb_per_s"] * 1e3}


def median_of(runs):
    figures = {key: statistics.median(run[key] for run in runs) for key in runs[0]
               if key.endswith(("_s", "_mb", "_median", "_cores"))}
    return {**figures, "step_ms_of_rounds": [run["step_ms_median"] for run in runs]}


def measure(case, machine, options):
    sides = sides_of(case, options)
    runs = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, run in list(sides.items()):
            try:
                runs[name].append(run(case, options))
            except Failed as failure:
                if name == "weft":
                    raise
                print(f"bench: left out {name}: {failure}", file=sys.stderr)
                del sides[name], runs[name]
    row = {**case, "machine": machine_ms(case, machine, options)}
    row.update((name, median_of(of_side)) for name, of_side in runs.items())
    row["machine"]["ratio"] = row["weft"]["step_ms_median"] / (
        row["machine"]["gemm_ms"] + row["machine"]["copy_ms"])
    kind = "one" if case["mesh"] == ONE else "ranks"
    for peer in sides.keys() - {"weft"}:
        row[peer]["ratio"] = row["weft"]["step_ms_median"] / row[peer]["step_ms_median"]
        row[peer]["bar"] = BARS[peer][case["dtype"]][kind]
    return row


HEAD = (f"{'config':6} {'type':5} {'mesh':12} {'weft ms':>9} {'peer':>6} {'ms':>9} "
        f"{'ratio':>6} {'bar':>5} {'machine':>8} {'compile s':>15} {'peak MB':>15} {'others':>7}")


def print_row(row):
    weft = row["weft"]
    peers = [name for name in ("jax", "torch") if name in row] or [None]
    for name in peers:
        peer = row.get(name)
        figure = lambda key, form: form.format(peer[key]) if peer else "-"
        print(f"{row['config']:6} {row['dtype']:5} {row['mesh']:12} "
              f"{weft['step_ms_median']:9.1f} {name or '-':>6} "
              f"{figure('step_ms_median', '{:.1f}'):>9} {figure('ratio', '{:.2f}'):>6} "
              f"{figure('bar', '{:.2f}'):>5} {row['machine']['ratio']:8.2f} "
              f"{weft['compile_s']:6.1f} / {figure('compile_s', '{:.1f}'):>6} "
              f"{weft['peak_rss_mb']:6.0f} / {figure('peak_rss_mb', '{:.0f}'):>6} "
              f"{weft['others_cores']:7.2f}", flush=True)


def main():
    options = arguments()
    if not shutil.which(options.jax_python):
        sys.exit(f"bench: no program '{options.jax_python}'")
    options.work.mkdir(parents=True, exist_ok=True)
    options.torch_environment = torch_environment(options)
    machine = measure_machine(options)
    print(f"{machine['threads']} threads: {machine['gflop_per_s']['f32']:.0f} GFLOP/s in f32, "
          f"{machine['gflop_per_s']['bf16']:.0f} in bf16; "
          f"copying reads and writes {machine['copy_gb_per_s']:.1f} GB/s\n{HEAD}", flush=True)
    result = {"machine": machine, "rounds": options.rounds, "steps": options.steps,
              "torch_environment": options.torch_environment, "rows": []}
    for config in options.config.split(","):
        for dtype in options.dtype.split(","):
            for mesh in options.mesh:
                case = {"config": config, "dtype": dtype, "mesh": mesh}
                row = measure(case, machine, options)
                print_row(row)
                result["rows"].append(row)
                options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"bench: {failure}")
