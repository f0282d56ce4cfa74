#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps by the cuda backend, emulated, against the host's.

    examples.py PROGRAM INPUTS FOLDER STAND-INS MESH... [--invariant] [--gpus]

Compiles the program for each mesh with weft-compile's default options, but for the effort. In fast
mode, results have to be close to those of the host on the same mesh; with
--invariant, two steps have the same bits as on the host. With --gpus each rank
has a GPU of its own, else all share one.
"""

import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def output_of(*command, **environment):
    made = subprocess.run([str(word) for word in command], env={**os.environ, **environment}, text=True,
                          capture_output=True)
    if made.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{made.stderr}")
    return made.stdout


def ranks_of(mesh):
    ranks = 1
    for axis in mesh.split(","):
        ranks *= int(axis.split("=")[1])
    return ranks


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("program", "inputs", "folder", "stand_ins"):
        parser.add_argument(name)
    parser.add_argument("meshes", nargs="+")
    parser.add_argument("--invariant", action="store_true")
    parser.add_argument("--gpus", action="store_true")
    parser.add_argument("--tolerance", default="1e-5")
    arguments = parser.parse_args()
    for mesh in arguments.meshes:
        compare(arguments, mesh, ["--mesh", mesh, *(["--invariant"] if arguments.invariant else [])])
        print(f"{mesh}: the same")


def compare(arguments, mesh, options):
    folder = pathlib.Path(arguments.folder, mesh)
    folder.mkdir(parents=True, exist_ok=True)
    output_of(sys.executable, HERE / "emulate.py", arguments.program, folder, "--effort", "quick", *options)
    output_of("weft-compile", arguments.program, "--effort", "quick", *options, "-o", folder / "host.so")
    device = {"LD_LIBRARY_PATH": arguments.stand_ins, "WEFT_EMULATED_IMAGES": str(folder.resolve()),
              "EMULATED_GPUS": str(ranks_of(mesh) if arguments.gpus else 1)}

    def run(program, environment):
        run = ["weft-run", folder / program, "--inputs", arguments.inputs, "--quiet"]
        if arguments.invariant:
            return output_of(*run, "--steps", 2, "--digest", **environment)
        output_of(*run, "--outputs", folder / f"{program}.out", **environment)
        return ""

    on_device, on_host = run("step.so", device), run("host.so", {})
    if on_device != on_host:
        sys.exit(f"{mesh}: the device has\n{on_device}the host\n{on_host}")
    if not arguments.invariant:
        output_of(sys.executable, HERE.parents[1] / "Inputs" / "close.py", folder / "step.so.out", folder / "host.so.out",
                  arguments.tolerance)


if __name__ == "__main__":
    main()
