#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""How long scheduling, planning and proving take on modules of 1,000 to 100,000 ops.

    bench/scaling.py [--ops 1000 4000 ...] [--module FILE ...] [--machine h100x8]
                     [--memory-limit BYTES] [--json FILE]

Each module of the local phase is brought to the planned phase on one core.
Without --module they are those of bench/layers.py. Prints seconds of each pass,
of reading and writing the module, and of the processor altogether, and how the
latter grows with the number of ops.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import layers
from schedule import NO_LIMIT, TO_NAMED

ROOT = Path(__file__).resolve().parent.parent
SIZES = [1000, 4000, 12000, 36000, 100000]
OPERATION = re.compile(r"^    (%\S+ = )?(?!\^|return|\})[a-z_]+\.", re.MULTILINE)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", type=int, nargs="+", default=SIZES)
    parser.add_argument("--module", type=Path, nargs="+", help="of the local phase")
    parser.add_argument("--machine", default="h100x8")
    parser.add_argument("--memory-limit", type=int, default=NO_LIMIT,
                        help="of the schedule, in bytes")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(module, options):
    """Seconds of the processor, and of each pass by the clock."""
    passes = (f"{TO_NAMED},weft-schedule{{machine={options.machine} "
              f"memory-limit={options.memory_limit}}},weft-scheduled-to-planned,"
              "weft-verify-planned")
    command = [options.build / "bin" / "weft-opt", module, "-o", os.devnull,
               f"--pass-pipeline=builtin.module({passes})",
               "--mlir-timing", "--mlir-disable-threading", "--verify-each=false"]
    core = min(os.sched_getaffinity(0))
    before = processor_seconds()
    run = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                         preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    if run.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))}\n{run.stderr[:2000]}")
    passes = {}
    for seconds, name in re.findall(r"^ +([\d.]+) \( *[\d.]+%\)  ([^ (].*?) *$", run.stderr, re.M):
        passes[name] = passes.get(name, 0) + float(seconds)
    passes.pop("Total", None)
    return {"seconds": processor_seconds() - before, "passes": passes}


def main():
    options = arguments()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for item in options.module or options.ops:
            module = item
            if not options.module:
                module = Path(folder) / f"{item}.mlir"
                with open(module, "w") as file:
                    layers.write_ops(item, file)
            ops = len(OPERATION.findall(module.read_text()))
            rows.append({"module": module.name, "ops": ops, **measure(module, options)})
    names = list(dict.fromkeys(name for row in rows for name in row["passes"]))
    print("| | " + " | ".join(f"{row['ops']:,} ops" for row in rows) + " |")
    print("|---|" + "--:|" * len(rows))
    for name in names:
        print(f"| {name} | " + " | ".join(f"{row['passes'].get(name, 0):.3f}" for row in rows) + " |")
    print("| processor, s | " + " | ".join(f"{row['seconds']:.2f}" for row in rows) + " |")
    print("| µs per op | " + " | ".join(f"{row['seconds'] / row['ops'] * 1e6:.0f}" for row in rows) + " |")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
