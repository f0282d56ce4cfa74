#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""How long weft-compile's proofs take, from the global to the planned phase.

    bench/steps.py build/steps --step llama-70b llama-405b
    bench/proofs.py build/steps [--case llama-70b:fsdp=8 ...] [--times 3] [--json FILE]

A case is a step and a mesh. Each is compiled on one core, so many times. Prints
the least seconds of the processor of each proof, of all proofs, of the copies
that they need, and of the whole compilation; and what all proofs would take for
36,000 ops of the local phase.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from scaling import OPERATION

ROOT = Path(__file__).resolve().parent.parent
CASES = ["llama-70b:fsdp=8", "llama-70b:fsdp=64,tp=8", "llama-405b:fsdp=64,tp=8"]
# As --timing names them.
PROOFS = {
    "proof of canonicalization": "canonicalization",
    "proof of partitioning": "partitioning",
    "proof of scheduling": "scheduling",
    "proof of planning": "planning",
    "VerifyPlanPass": "plan",
    "VerifyRacesPass": "races",
    "VerifyFreshnessPass": "freshness",
    "VerifyDeadlockPass": "deadlock",
}
OPS = 36000


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="with the steps")
    parser.add_argument("--case", nargs="+", default=CASES, metavar="STEP:MESH")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--machine", default="h100-cluster")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def compile_step(case, phase, output, options, *more):
    step, mesh = case.split(":")
    sizes = dict(axis.split("=") for axis in mesh.split(","))
    sizes = {"dp": 1, "fsdp": 1, "tp": 1, **sizes}
    command = [options.build / "bin" / "weft-compile", options.folder / f"{step}.mlir",
               "--mesh", ",".join(f"{axis}={size}" for axis, size in sizes.items()),
               "--to", phase, "-o", output, "--machine", options.machine,
               "--memory-limit", "none", *more]
    core = min(os.sched_getaffinity(0))
    run = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                         preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    if run.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))}\n{run.stderr[:2000]}")
    return run.stderr


def measure(case, options, folder):
    output = Path(folder) / "out.mlir"
    compile_step(case, "local", output, options, "--no-proofs")
    ops = len(OPERATION.findall(output.read_text()))
    least = {}
    for _ in range(options.times):
        report = compile_step(case, "planned", output, options, "--timing")
        times = {name: float(seconds)
                 for seconds, name in re.findall(r"^ +([\d.]+)  (.+)$", report, re.M)}
        row = {short: times[name] for name, short in PROOFS.items()}
        row["all proofs"] = sum(row.values())
        row[f"of {OPS:,} ops"] = row["all proofs"] * OPS / ops
        row["copies for proofs"] = times["copies for proofs"]
        row["compilation"] = times["total"]
        for name, seconds in row.items():
            least[name] = min(seconds, least.get(name, seconds))
    return {"case": case, "ops": ops, "seconds": least}


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(case, options, folder) for case in options.case]
    print("| s | " + " | ".join(f"{row['case']}, {row['ops']:,} ops" for row in rows) + " |")
    print("|---|" + "--:|" * len(rows))
    for name in rows[0]["seconds"]:
        print(f"| {name} | " + " | ".join(f"{row['seconds'][name]:.2f}" for row in rows) + " |")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
