#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures weft's compiled step beside JAX/XLA, in turn.

  bench/run.py [--config M,Q06] [--dtype f32,bf16] [--mesh fsdp=8 ...]
               [--rounds 3] [--steps 5] [--json FILE]
               [--jax-peer SCRIPT] [--no-peer]

For each case, rounds of (weft, peer) processes alternate, and each figure is
the median over the rounds of the round's median, so that a drift of the machine
meets both sides. Needs a finished build and the packages of
scripts/install-deps.sh --jax. A peer script takes --config, --dtype, --mesh and
--steps, and prints one JSON object with step_ms_median, compile_s and
peak_rss_mb.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "bin"
WORK = ROOT / "build" / "bench"
BARS = {"f32": {"ranks": 0.6, "one": 0.7}, "bf16": {"ranks": 0.4, "one": 0.5}}


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="M,Q06")
    parser.add_argument("--dtype", default="f32,bf16")
    parser.add_argument("--mesh", nargs="+",
                        default=["fsdp=1", "fsdp=8", "fsdp=4,tp=2"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--json", type=Path, default=WORK / "results.json")
    parser.add_argument("--jax-peer", type=Path,
                        default=ROOT / "bench" / "peers" / "jax_step.py")
    parser.add_argument("--no-peer", action="store_true", help="weft alone")
    return parser.parse_args()


def timed(command, **environment):
    """(stdout, wall seconds, peak MB) of a command that must succeed."""
    start = time.perf_counter()
    with subprocess.Popen([str(word) for word in command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, **environment)) as process:
        output = process.stdout.read()
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} ended with "
                 f"{process.returncode}\n{errors}")
    return output, time.perf_counter() - start, usage.ru_maxrss / 1024


def ranks_of(mesh):
    ranks = 1
    for size in re.findall(r"=(\d+)", mesh):
        ranks *= int(size)
    return ranks


def whole_mesh(mesh):
    sizes = {"dp": 1, "fsdp": 1, "tp": 1}
    sizes.update((name, int(size)) for name, size in re.findall(r"(\w+)=(\d+)", mesh))
    return ",".join(f"{name}={size}" for name, size in sizes.items())


def export(config, dtype):
    """The exported step and its inputs, made once."""
    step, inputs = WORK / f"{config}-{dtype}.mlir", WORK / f"{config}.safetensors"
    if not step.exists() or not inputs.exists():
        timed([sys.executable, ROOT / "examples" / "qwen3" / "export.py", "--size",
               config, "--dtype", dtype, "--step", step, "--inputs", inputs],
              PYTHONPATH=str(ROOT / "python-bindings"), JAX_PLATFORMS="cpu")
    return step, inputs


def flops(step):
    """Multiply-adds times two of the step's contractions, from its text."""
    maps = {name: re.findall(r"d\d+", body.split("->")[1]) for name, body in
            re.findall(r"(#map\d*) = affine_map<(.*)>", step.read_text())}
    total = 0
    pattern = re.compile(r'"weft\.matmul"\(.*indexing_maps = \[(#map\d*), (#map\d*), '
                         r'(#map\d*)\].*: \(tensor<([\dx]*)x\w+>, tensor<([\dx]*)x\w+>\)')
    for lhs, rhs, _, left, right in pattern.findall(step.read_text()):
        sizes = dict(zip(maps[lhs], map(int, left.split("x"))))
        sizes.update(zip(maps[rhs], map(int, right.split("x"))))
        product = 2
        for size in sizes.values():
            product *= size
        total += product
    return total


def run_weft(step, inputs, mesh, options):
    library, stats = WORK / f"{step.stem}.so", WORK / f"{step.stem}.json"
    ranks = ranks_of(mesh)
    _, compile_s, _ = timed([BIN / "weft-compile", step, "-o", library, "--mesh",
                             whole_mesh(mesh), "--ranks", ranks])
    _, _, rss = timed([BIN / "weft-run", library, "--ranks", ranks, "--inputs", inputs,
                       "--outputs", WORK / "out.safetensors", "--steps",
                       options.steps + 2, "--stats", stats])
    times = json.loads(stats.read_text())["step_ms"][2:]
    return {"compile_s": compile_s, "step_ms_median": statistics.median(times),
            "peak_rss_mb": rss}


def run_jax(config, dtype, mesh, options):
    output, _, _ = timed([sys.executable, options.jax_peer, "--config", config, "--dtype",
                          dtype, "--mesh", whole_mesh(mesh), "--steps", options.steps])
    return json.loads(output.strip().splitlines()[-1])


def medians(rows):
    return {key: statistics.median(row[key] for row in rows)
            for key in ("compile_s", "step_ms_median", "peak_rss_mb")}


def measure(config, dtype, mesh, options):
    step, inputs = export(config, dtype)
    ours, peer = [], []
    for _ in range(options.rounds):
        ours.append(run_weft(step, inputs, mesh, options))
        if not options.no_peer:
            peer.append(run_jax(config, dtype, mesh, options))
    row = {"config": config, "dtype": dtype, "mesh": mesh, "weft": medians(ours),
           "gflop": flops(step) / 1e9}
    row["gflop_per_s"] = row["gflop"] / row["weft"]["step_ms_median"] * 1e3
    if peer:
        row["jax"] = medians(peer)
        row["ratio"] = row["weft"]["step_ms_median"] / row["jax"]["step_ms_median"]
        row["bar"] = BARS[dtype]["ranks" if ranks_of(mesh) > 1 else "one"]
    return row


HEAD = (f"{'config':6} {'type':5} {'mesh':12} {'weft ms':>9} {'GFLOP/s':>8} {'jax ms':>9} "
        f"{'ratio':>6} {'bar':>5}  {'compile s':>15}  {'peak MB':>15}")


def print_row(row):
    weft, jax = row["weft"], row.get("jax")
    line = (f"{row['config']:6} {row['dtype']:5} {row['mesh']:12} "
            f"{weft['step_ms_median']:9.1f} {row['gflop_per_s']:8.0f} ")
    if jax:
        line += (f"{jax['step_ms_median']:9.1f} {row['ratio']:6.2f} {row['bar']:5.2f}  "
                 f"{weft['compile_s']:6.1f} /{jax['compile_s']:6.1f}  "
                 f"{weft['peak_rss_mb']:7.0f} /{jax['peak_rss_mb']:7.0f}")
    print(line, flush=True)


def main():
    options = arguments()
    WORK.mkdir(parents=True, exist_ok=True)
    rows = []
    print(HEAD)
    for config in options.config.split(","):
        for dtype in options.dtype.split(","):
            for mesh in options.mesh:
                rows.append(measure(config, dtype, mesh, options))
                print_row(rows[-1])
                options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
