#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Published training runs beside what weft plans for them.

    bench/runs.py [--run r001 ...] [--folder DIR] [--machine FILE] [--json FILE]

runs.json has the settings, tokens per second and memory of each run, and where they are
published. Each is exported with these settings (llama.py) and planned for its machine in
the memory that the run had, or that the machine has: as long as there is room, a schedule
uses it. Printed are times, and the memory that weft needs. A run of several microbatches
is planned with one and with two, and each of the others takes what the second one does.
"""

import argparse
import json
import re
import statistics
import subprocess
from pathlib import Path

import jax
import llama

ROOT = Path(__file__).resolve().parent.parent
RUNS = json.loads((ROOT / "bench" / "runs.json").read_text())
# Machines that are like a shipped one, but for these. The H100 of Grand Teton have 96 GB of
# HBM2e at 2.4 TB/s, of which as much is reached as of the 3.35 TB/s of other H100, and 500 W:
# the part of the clock that is left is that at which r009 takes the time that it took.
LIKE: dict[str, dict] = {
    "h100-500w": {"like": "h100-cluster", "clock": 0.68,
                  "memory": {"bytes": 96 * 10**9, "bytes_per_s": 2_080_000_000_000}},
}
CALIBRATED = {"r009"}


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", nargs="+", choices=[run["id"] for run in RUNS])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "runs")
    parser.add_argument("--machine", help="instead of the run's own")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def find_machine(name, folder):
    """The name or the file of a machine's description."""
    if name not in LIKE:
        return name
    changes = LIKE[name]
    machine = json.loads((ROOT / "machines" / f"{changes['like']}.json").read_text())
    machine["name"] = name
    machine["memory"] = changes["memory"]
    for rate in machine["compute"]["flops"].values():
        rate["per_s"] *= changes["clock"]
    machine["compute"]["elementwise_per_s"] *= changes["clock"]
    path = folder / f"{name}.json"
    path.write_text(json.dumps(machine))
    return path


def export(run, microbatches, folder):
    """The step's file; its batch is that of so many microbatches."""
    c = llama.Config(*run["dims"], seq=run["sequence"], batch=run["batch"] * microbatches,
                     kept=run["kept"], qk_norm="Qwen3" in run["model"])
    mesh = {"mb": microbatches, "dp": 1, "fsdp": 1, "tp": 1, **run["mesh"]}
    path = folder / f"{run['id']}-{microbatches}.mlir"
    llama.export(c, mesh).save(path)
    return path


def plan(run, microbatches, options):
    """Seconds of a step, and bytes of a rank."""
    path = export(run, microbatches, options.folder)
    command = [options.build / "bin" / "weft-compile", path, "--to", "planned",
               "-o", path.with_suffix(".planned.mlir"), "--stats",
               "--no-proofs", "--machine",
               options.machine or find_machine(run["machine"], options.folder)]
    if "memory_gib" in run:
        command += ["--memory-limit", f"{int(run['memory_gib'] * 1024)}MiB"]
    if run["quantize"]:
        command += ["--quantize", run["quantize"]]
    if microbatches > 1:
        command += ["--accumulate", "mb"]
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr.splitlines()[0][:300])
    seconds = float(re.search(r"^  step +([\d.]+) ms", done.stderr, re.M)[1]) / 1000
    needs = done.stderr.split("bytes that each rank needs:")[1]
    return seconds, int(re.search(r"^  total +(\d+) B$", needs, re.M)[1])


def predict(run, options):
    seconds, memory = plan(run, 1, options)
    if run["microbatches"] > 1:
        two, memory = plan(run, 2, options)
        seconds += (two - seconds) * (run["microbatches"] - 1)
    ranks = 1
    for size in run["mesh"].values():
        ranks *= size
    tokens = run["batch"] * run["microbatches"] * run["sequence"] / ranks
    published = tokens / run["tokens_per_s_per_gpu"]
    row = {"id": run["id"], "seconds": seconds, "published_seconds": published,
           "time_error": seconds / published - 1, "gib": memory / 2 ** 30}
    if "memory_gib" in run:
        row["published_gib"] = run["memory_gib"]
        row["memory_error"] = row["gib"] / run["memory_gib"] - 1
    return row


def main():
    options = arguments()
    options.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    print("run   model            machine       mesh            type      s: planned published  error "
          "  GiB: planned published  error")
    for run in RUNS:
        if options.run and run["id"] not in options.run:
            continue
        try:
            row = predict(run, options)
        except RuntimeError as error:
            print(f"{run['id']:5} {run['model']:16} {run['machine']:13} {error}", flush=True)
            continue
        rows.append(row)
        mesh = ",".join(f"{axis}={size}" for axis, size in run["mesh"].items())
        memory = (f"{row['published_gib']:9.1f} {row['memory_error']:+6.1%}"
                  if "published_gib" in row else "        -")
        print(f"{run['id']:5} {run['model']:16} {run['machine']:13} {mesh:15} "
              f"{run['quantize'] or 'bf16':9} {row['seconds']:10.3f} {row['published_seconds']:9.3f} "
              f"{row['time_error']:+6.1%} {row['gib']:14.1f} {memory}", flush=True)
    errors = [abs(row["time_error"]) for row in rows if row["id"] not in CALIBRATED]
    if errors:
        print(f"time without {', '.join(sorted(CALIBRATED))}: median error {statistics.median(errors):.1%}, largest {max(errors):.1%}, "
              f"{sum(error <= 0.1 for error in errors)} of {len(errors)} within 10 %")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    main()
