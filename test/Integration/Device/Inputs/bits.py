# SPDX-License-Identifier: Apache-2.0
"""Runs a program on the host, and as kernels of a GPU that is emulated: results have to be the same bits, but for
those of a NaN.
"""

import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.append(str(ROOT / "test" / "Integration" / "reference"))

from equivalence import read_safetensors, write_safetensors  # noqa: E402


def run(*command):
    subprocess.run([str(word) for word in command], check=True)


def compare(program, folder, arch, inputs):
    """`inputs`: arrays with their element types, by name."""
    write_safetensors(folder / "in.safetensors", inputs)
    run("weft-compile", program, "-o", folder / "host.so")
    run(ROOT / "test" / "lib" / "TestOps" / "compile-emulated.sh", program, folder / "device.so", "--target-options", f"arch={arch}")
    results = []
    for name in ("host", "device"):
        run("weft-run", folder / f"{name}.so", "--quiet", "--inputs", folder / "in.safetensors", "--outputs", folder / f"{name}.safetensors")
        results.append(read_safetensors(folder / f"{name}.safetensors"))
    for name, expected in results[0].items():
        got = results[1][name]
        one, other = (array.view(f"u{array.dtype.itemsize}") for array in (expected, got))
        bad = (one != other) & ~((expected != expected) & (got != got))
        if bad.any():
            at = np.argwhere(bad)[0]
            sys.exit(f"{name}{list(at)} is {other[tuple(at)]:#x} on the device, {one[tuple(at)]:#x} on the host; {bad.sum()} differ")
    return results[0]
