#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ring attention by the cuda backend, emulated, against the host's.

    ring.py FOLDER STAND-INS

Runs test/Integration/Equivalence/ring-attention.mlir, with keys that travel, in rings that are
balanced and not, in f32 and in bf16, whose kernels are those of tensor cores.
"""

import os
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
sys.path.append(str(ROOT / "python-bindings"))

from weft import safetensors  # noqa: E402

PROGRAM = HERE.parents[1] / "Equivalence" / "ring-attention.mlir"
MESH = "cp=4"


def make_inputs(element):
    random = np.random.default_rng(1)
    shapes = {"q": (2, 16, 2, 3, 4), "k": (2, 16, 2, 4), "v": (2, 16, 2, 5), "dout": (2, 16, 2, 3, 5)}
    inputs = {name: random.normal(size=shape).astype(element) for name, shape in shapes.items()}
    inputs["mask"] = random.random((2, 16)) > 0.2
    inputs["rows"] = np.sort(random.integers(0, 2, (2, 16)), 1).astype(np.int32)
    return inputs


def run(*command, **environment):
    subprocess.run([str(word) for word in command], env={**os.environ, **environment}, check=True)


def compare(folder, stand_ins, ring, name, element, tolerance):
    folder.mkdir(parents=True)
    text = PROGRAM.read_text()
    for last in (4, 5):  # tensors of queries, keys and values
        text = text.replace(f"x{last}xf32>", f"x{last}x{name}>")
    program, inputs = folder / "step.mlir", folder / "inputs.safetensors"
    program.write_text(text)
    safetensors.save(inputs, make_inputs(element))
    options = ["--mesh", MESH, "--ring-attention", ring, "--effort", "quick"]
    run(sys.executable, HERE / "emulate.py", program, folder, *options)
    run("weft-compile", program, *options, "-o", folder / "host.so")
    device = {"LD_LIBRARY_PATH": stand_ins, "WEFT_EMULATED_IMAGES": str(folder.resolve()), "EMULATED_GPUS": "1"}
    for compiled, environment in (("step", device), ("host", {})):
        run("weft-run", folder / f"{compiled}.so", "--inputs", inputs, "--quiet",
            "--outputs", folder / f"{compiled}.out", **environment)
    run(sys.executable, HERE.parents[1] / "Inputs" / "close.py", folder / "step.out", folder / "host.out", tolerance)
    print(f"{ring} {name}: close")


def main():
    folder, stand_ins = pathlib.Path(sys.argv[1]), sys.argv[2]
    for ring in ("always", "balanced"):
        compare(folder / ring / "f32", stand_ins, ring, "f32", np.float32, 1e-5)
        compare(folder / ring / "bf16", stand_ins, ring, "bf16", ml_dtypes.bfloat16, 3e-2)


if __name__ == "__main__":
    main()
